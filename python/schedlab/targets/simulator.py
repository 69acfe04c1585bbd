"""The simulator as a target: workers take pending runs, and what is finished is saved in chunks.

The workers are an executor's: threads of this process, or a cluster. None waits for a chunk to end. The interpreter is
released, so Ctrl-C takes effect at once.
"""

import json
import threading
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import ClassVar

from schedlab import _core
from schedlab.errors import UsageError
from schedlab.executors.executor import AHEAD, Executor, Sweep
from schedlab.executors.local import Local
from schedlab.specification import Cell, Specification
from schedlab.system.interrupt import HEARD_SECONDS
from schedlab.targets.names import SIM
from schedlab.targets.target import Chunk, Run, Target

#: Seconds that a chunk should take: short compared with a person's patience.
CHUNK_SECONDS = 0.5
#: And how often the time that saving the last one took: a file is written anew until it is full.
SAVING = 20


@dataclass(frozen=True)
class Simulator:
    """The simulated machines, on some processors of the real one, or on a cluster."""

    threads: int
    name: str = SIM
    #: What is simulated in place of the requested cells: the same ones, translated.
    translated: Specification | None = None
    #: The workers in place of those of this computer; what comes out is the same.
    executor: Executor | None = None
    #: Nothing disturbs a simulated machine.
    repeatable: ClassVar[bool] = True

    @property
    def engine(self) -> str:
        """Version and digest of the engine's sources."""
        return _core.version()

    def cells(self, cells: list[Cell]) -> list[Cell]:
        """The cells, translated if need be: the hash of a scenario covers all that decides its results."""
        if self.translated is None:
            return cells
        return [cell.with_scenario_of(new) for cell, new in zip(cells, self.translated.cells(), strict=True)]

    def ignores(self, experiment: Specification) -> list[str]:
        """Nothing: what it cannot simulate is refused."""
        return []

    def ahead(self, pending: list[Run]) -> list:
        """Nothing is to be done before."""
        return []

    def runs(self, pending: list[Run], folder: Path, stop: threading.Event) -> Generator[Chunk, None, None]:
        """Yield finished chunks in order."""
        return _compute(pending, self.executor or Local(self.threads), stop)

    def describe(self) -> dict:
        """The engine."""
        return {"engine": self.engine}

    def seen(self) -> dict:
        """Nothing: nothing disturbs a simulated machine."""
        return {}


def on_cluster(targets: Sequence[Target], executor: Executor) -> list[Target]:
    """The same targets, with the workers of `executor`. Only simulated runs can be made elsewhere."""
    for target in targets:
        if not isinstance(target, Simulator):
            raise UsageError(refusal(target.name))
    return [replace(target, executor=executor) for target in targets]


def refusal(name: str) -> str:
    """What to say of a target that is no simulator, where an executor is asked for."""
    return f"--executor is for simulated runs: those on {name} are made where it is; leave out one of them"


def _compute(pending: list[Run], executor: Executor, stop: threading.Event) -> Generator[Chunk, None, None]:
    """Yield finished runs in order, while the workers go on. `stop` ends it by KeyboardInterrupt."""
    if not pending:
        return
    with executor.sweep(stop) as sweep:
        queue = _Queue(sweep, pending)
        taken, saving = 0, 0.0
        while taken < len(pending):
            queue.fill(taken + executor.ahead)
            if _await_a_chunk(sweep, stop, max(CHUNK_SECONDS, SAVING * saving)):
                count, rows = sweep.take()
                began = time.monotonic()
                yield pending[taken : taken + count], rows
                taken, saving = taken + count, time.monotonic() - began
            if stop.is_set() and taken < len(pending):
                raise KeyboardInterrupt


class _Queue:
    """Puts runs before the workers, those of one cell together."""

    def __init__(self, sweep: Sweep, pending: list[Run]):
        self._sweep, self._pending, self._put = sweep, pending, 0

    def fill(self, until: int) -> None:
        """Put in the runs before this place that are not yet."""
        for _, runs in groupby(self._pending[self._put : until], key=lambda run: id(run[0])):
            cells, seeds = zip(*runs, strict=True)
            self._sweep.put(json.dumps(cells[0].scenario), list(seeds))
        self._put = max(self._put, min(until, len(self._pending)))


def _await_a_chunk(sweep: Sweep, stop: threading.Event, seconds: float) -> int:
    """Wait until a chunk is worth being saved: all that is queued, some of it after a while, or many runs.

    Gives how many runs can be taken, at once on `stop`.
    """
    began = time.monotonic()
    while True:
        ready, under_way = sweep.wait(HEARD_SECONDS)
        late = time.monotonic() - began >= seconds
        if stop.is_set() or (ready and (late or ready == under_way or ready >= AHEAD // 2)):
            return ready
