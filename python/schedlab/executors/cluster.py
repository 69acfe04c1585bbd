"""A cluster as an executor: found by its address, or started on this computer for a while.

::

    with cluster("dask", "tcp://10.0.0.1:8786") as workers:
        results = experiment.run(executor=workers)
"""

import importlib.util
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from schedlab import _core
from schedlab.errors import UsageError, nearest
from schedlab.executors.address import KINDS, knock, refuse_malformed
from schedlab.executors.executor import AHEAD
from schedlab.executors.outcome import another_engine
from schedlab.executors.sweep import ClusterSweep, Library
from schedlab.system.interrupt import HEARD_SECONDS, deaf

#: Seconds in which a cluster has to be ready: the library's own limits are shorter, but not all of its steps have one.
READY_SECONDS = 90.0


def cluster(name: str, address: str | None = None, workers: int = 1) -> "Cluster":
    """The cluster of Ray or Dask at an address; without one, that many workers on this computer, once they are needed.

    UsageError if there is no such library, or the address is none.
    """
    if name not in KINDS:
        raise UsageError(f"--executor {name}: {nearest(name, KINDS)}")
    if address is not None:
        refuse_malformed(name, address)
    if importlib.util.find_spec(KINDS[name].module) is None:
        raise UsageError(f"--executor {name}: its library is not installed: pip install 'schedlab[{name}]'")
    return Cluster(name, address, lambda: _library(name, address, workers))


def _library(name: str, address: str | None, workers: int) -> Library:
    if name == "ray":
        from schedlab.executors.ray import Ray

        return Ray(address, workers)
    from schedlab.executors.dask import Dask

    return Dask(address, workers)


class Cluster:
    """The workers of a cluster. It is connected when runs are to be made, and left by `close`."""

    def __init__(self, name: str, address: str | None, library: Callable[[], Library]):
        """`library` makes what talks to the cluster."""
        self.name, self.address = name, address
        self._make = library
        self._library: Library | None = None
        self._sweep: ClusterSweep | None = None
        self._aside: Aside | None = None

    def __enter__(self) -> "Cluster":
        """Nothing is connected yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave it."""
        self.close()

    @contextmanager
    def sweep(self, stop: threading.Event) -> Iterator[ClusterSweep]:
        """Connect if that was not done yet, and begin."""
        if self._library is None:
            self._library = self._connected(stop)
        self._sweep = ClusterSweep(self._library)
        try:
            yield self._sweep
        finally:
            self._sweep.close()
            self._sweep = None

    @property
    def ahead(self) -> int:
        """How many runs should be before the workers."""
        return self._sweep.ahead if self._sweep else AHEAD

    def close(self) -> None:
        """Leave the cluster. It is connected again when it is needed again."""
        library, self._library = self._library, None
        aside, self._aside = self._aside, None
        if library:
            library.close()
        if aside:
            aside.end()

    def _connected(self, stop: threading.Event) -> Library:
        """Find the cluster and compare engines, before anything is computed."""
        self._aside = Aside()
        if self.address is not None:
            self._aside.do(lambda: knock(self.name, self.address), stop)
        library = self._aside.do(self._make, stop)
        try:
            engines = self._aside.do(lambda: (library.connect(), library.engines())[1], stop)
            others = {worker: engine for worker, engine in engines.items() if engine != _core.version()}
            if others:
                raise UsageError(another_engine(others, _core.version()))
        except TimeoutError:
            where = self.address or "this computer"
            raise UsageError(f"--executor {self.name}: {where}: not ready after {READY_SECONDS:.0f} s") from None
        except KeyboardInterrupt:
            library.abandon()
            raise
        except Exception:
            library.close()
            raise
        return library


class Aside:
    """A thread for what may take long and cannot be interrupted; where it is no longer waited for, it is left alone.

    It does not hear Ctrl-C, nor does anything that it starts: a terminal sends it to all processes of a command. It
    stays until the cluster is left, since processes of Ray end with the thread that started them.
    """

    def __init__(self) -> None:
        """Start it. It does not keep the process from ending."""
        self._work: queue.SimpleQueue[Callable | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name="cluster", daemon=True).start()

    def do(self, work: Callable, stop: threading.Event, seconds: float = READY_SECONDS) -> Any:
        """What comes of it. KeyboardInterrupt as soon as `stop` is set; TimeoutError after that many seconds."""
        self._work.put(work)
        for _ in range(int(seconds / HEARD_SECONDS)):
            if stop.is_set():
                raise KeyboardInterrupt
            try:
                done, why = self._done.get(timeout=HEARD_SECONDS)
            except queue.Empty:
                continue
            if why:
                raise why
            return done
        raise TimeoutError

    def end(self) -> None:
        """After the work in hand."""
        self._work.put(None)

    def _serve(self) -> None:
        deaf()
        while work := self._work.get():
            try:
                self._done.put((work(), None))
            except BaseException as why:
                self._done.put((None, why))
