"""Dask as a cluster: its scheduler sends batches to workers, which are processes anywhere."""

import logging
import queue
import shutil
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import dask
import distributed
from distributed.comm import CommClosedError

from schedlab.errors import UsageError
from schedlab.executors import work
from schedlab.executors.sweep import Died
from schedlab.executors.work import Part
from schedlab.system import leftovers
from schedlab.system.interrupt import deaf

#: Seconds after which a scheduler counts as unreachable, one without workers as useless, and an answer as lost.
PATIENCE_SECONDS = 10.0
#: Above every level of Dask's messages: what matters is in its exceptions.
SILENT = logging.CRITICAL + 1
#: What folders of clusters that are started here are called.
FOLDER = "schedlab-dask-"
#: What the scheduler and workers of this computer do without: pages for browsers, profiles of what they do, and looks
#: at themselves ten and fifty times a second.
PLAIN = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "5s",
    "distributed.admin.system-monitor.interval": "5s",
}


class Dask:
    """The cluster at an address, or one of some workers on this computer. TLS is as Dask's configuration says."""

    name = "dask"

    def __init__(self, address: str | None, workers: int):
        """Nothing is started yet."""
        self._address, self._count = address, workers
        self._client: distributed.Client | None = None
        self._local: distributed.LocalCluster | None = None
        self._folder: Path | None = None
        self._done: queue.SimpleQueue[distributed.Future] = queue.SimpleQueue()

    def connect(self) -> None:
        """Find the scheduler, or start one."""
        _silence()
        self._refuse_without_certificates()
        try:
            address = self._address or self._start()
            self._client = distributed.Client(address, timeout=PATIENCE_SECONDS, set_as_default=False)
            self._client.wait_for_workers(1, timeout=PATIENCE_SECONDS)
        except (OSError, TimeoutError, ValueError, RuntimeError, CommClosedError) as why:
            found = "it has no workers" if self._client else f"no scheduler of Dask answers there ({_first_line(why)})"
            raise UsageError(f"--executor dask: {self._address or 'this computer'}: {found}") from None

    def _refuse_without_certificates(self) -> None:
        """TLS needs those of Dask's configuration; without, a client fails in the middle of its making."""
        is_tls = (self._address or "").startswith("tls://")
        if is_tls and not distributed.Security().get_connection_args("client").get("ssl_context"):
            raise UsageError(
                f"--address {self._address}: TLS needs certificates: give distributed.comm.tls.ca-file and "
                "distributed.comm.tls.client in Dask's configuration"
            )

    def _start(self) -> distributed.LocalCluster:
        """A scheduler in this process and workers in others, all of them for this computer alone."""
        # Where this process is killed, Python's process that counts semaphores removes them; it need not say so.
        sys.warnoptions.append("ignore::UserWarning:multiprocessing.resource_tracker")
        resource_tracker.ensure_running()
        sys.warnoptions.pop()
        # Where that was started, Ctrl-C is heard again.
        deaf()
        leftovers.remove_left(Path(tempfile.gettempdir()).glob(f"{FOLDER}*"))
        self._folder = Path(tempfile.mkdtemp(prefix=FOLDER))
        leftovers.mark(self._folder)
        dask.config.set({**PLAIN, "temporary-directory": str(self._folder)})
        self._local = distributed.LocalCluster(
            n_workers=self._count,
            threads_per_worker=1,
            memory_limit=None,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            local_directory=str(self._folder),
            silence_logs=SILENT,
        )
        return self._local

    def engines(self) -> dict[str, str]:
        """The engine of each worker."""
        found = self._asked(lambda: self._client.run(work.engine, on_error="return"))
        for worker, answer in found.items():
            if isinstance(answer, Exception):
                raise UsageError(
                    f"--executor dask: {worker} cannot run schedlab; is it installed there? ({_first_line(answer)})"
                )
        return {worker: str(answer) for worker, answer in found.items()}

    def workers(self) -> int:
        """The threads of all workers."""
        return sum(self._asked(lambda: self._client.nthreads()).values())

    def submit(self, engine: str, parts: list[Part]) -> distributed.Future:
        """Have a batch made."""
        one = self._asked(lambda: self._client.submit(work.make, engine, parts, pure=False))
        one.add_done_callback(self._done.put)
        return one

    def finished(self, given: list[distributed.Future], seconds: float) -> Iterable[distributed.Future]:
        """Those that are finished."""
        found: list[distributed.Future] = []
        with suppress(queue.Empty):
            found.append(self._done.get(timeout=seconds))
            while True:
                found.append(self._done.get_nowait())
        # What was cancelled is finished, too.
        return [one for one in found if one in given]

    def result(self, one: distributed.Future) -> Any:
        """What a batch gave."""
        try:
            return one.result(timeout=PATIENCE_SECONDS)
        except distributed.KilledWorker as why:
            raise Died(f"Dask tried {why.allowed_failures + 1} times") from None
        except (distributed.client.FutureCancelledError, CommClosedError, OSError, TimeoutError) as why:
            raise self._lost(why) from None
        except Exception as why:
            raise UsageError(f"--executor dask: a worker cannot take a batch ({_first_line(why)})") from None

    def cancel(self, given: list[distributed.Future]) -> None:
        """They are not wanted any more. A batch that a worker has begun is ended by it, and forgotten."""
        if given and self._client and self._client.status == "running":
            self._client.cancel(given, force=True)

    def abandon(self) -> None:
        """No file stays."""
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def close(self) -> None:
        """Leave; end what was started."""
        if self._client:
            self._client.close(timeout=PATIENCE_SECONDS)
        if self._local:
            self._local.close(timeout=PATIENCE_SECONDS)
        self.abandon()

    def _asked(self, question: Any) -> Any:
        try:
            return question()
        except (OSError, TimeoutError, CommClosedError, RuntimeError) as why:
            raise self._lost(why) from None

    def _lost(self, why: BaseException) -> UsageError:
        where = self._address or "this computer"
        return UsageError(
            f"--executor dask: the scheduler of {where} is lost ({_first_line(why)}); finished runs are kept"
        )


def _silence() -> None:
    """No message of Dask's; its parts have levels of their own."""
    for name in [*logging.root.manager.loggerDict, "distributed"]:
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(SILENT)


def _first_line(why: BaseException) -> str:
    return str(why).strip().partition("\n")[0][:200] or type(why).__name__
