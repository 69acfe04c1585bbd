"""The simulator as a target: workers take pending runs one by one, and what is finished is saved in chunks.

No worker waits for a chunk to end. The interpreter is released, so Ctrl-C takes effect at once.
"""

import json
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import ClassVar

from schedlab import _core
from schedlab.specification import Cell, Specification
from schedlab.system.interrupt import HEARD_SECONDS
from schedlab.targets.names import SIM
from schedlab.targets.target import Chunk, Run

#: Seconds that a chunk should take: short compared with a person's patience, long compared with the cost of saving it.
CHUNK_SECONDS = 0.5
#: Runs that are before the workers at a time. They are in memory until the ones before them are finished.
AHEAD = 512


@dataclass(frozen=True)
class Simulator:
    """The simulated machines, on some processors of the real one."""

    threads: int
    name: str = SIM
    #: What is simulated in place of the requested cells: the same ones, translated.
    translated: Specification | None = None
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
        return _compute(pending, self.threads, stop)

    def describe(self) -> dict:
        """The engine."""
        return {"engine": self.engine}

    def seen(self) -> dict:
        """Nothing: nothing disturbs a simulated machine."""
        return {}


def _compute(pending: list[Run], threads: int, stop: threading.Event) -> Generator[Chunk, None, None]:
    """Yield finished runs in order, while the workers go on. `stop` ends it by KeyboardInterrupt."""
    sweep = _core.Sweep(threads)
    queue = _Queue(sweep, pending)
    taken = 0
    while taken < len(pending):
        queue.fill(taken + AHEAD)
        _await_a_chunk(sweep, stop)
        count, rows = sweep.take()
        yield pending[taken : taken + count], rows
        taken += count


class _Queue:
    """Puts runs before the workers, those of one cell together."""

    def __init__(self, sweep: _core.Sweep, pending: list[Run]):
        self._sweep, self._pending, self._put = sweep, pending, 0

    def fill(self, until: int) -> None:
        """Put in the runs before this place that are not yet."""
        for _, runs in groupby(self._pending[self._put : until], key=lambda run: id(run[0])):
            cells, seeds = zip(*runs, strict=True)
            self._sweep.put(json.dumps(cells[0].scenario), list(seeds))
        self._put = max(self._put, min(until, len(self._pending)))


def _await_a_chunk(sweep: _core.Sweep, stop: threading.Event) -> None:
    """Wait until a chunk is worth being saved: all that is queued, some of it after a while, or many runs."""
    began = time.monotonic()
    while not stop.is_set():
        ready, under_way = sweep.wait(HEARD_SECONDS)
        late = time.monotonic() - began >= CHUNK_SECONDS
        if ready and (late or ready == under_way or ready >= AHEAD // 2):
            return
    raise KeyboardInterrupt
