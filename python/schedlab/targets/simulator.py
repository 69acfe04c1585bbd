"""The simulator as a target: pending runs in chunks, each computed while the one before is being saved.

A chunk is computed in a second thread, with the interpreter released, so Ctrl-C takes effect at once.
"""

import io
import json
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import ClassVar

import polars as pl

from schedlab import _core
from schedlab.specification import Cell, Specification
from schedlab.system.interrupt import HEARD_SECONDS
from schedlab.targets.names import SIM
from schedlab.targets.target import Chunk, Run

#: Seconds that a chunk should take: short compared with a person's patience, long compared with the cost of saving it.
CHUNK_SECONDS = 0.5


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
        return [
            replace(cell, scenario=new.scenario, hash=new.hash)
            for cell, new in zip(cells, self.translated.cells(), strict=True)
        ]

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


class _Pace:
    """How many runs to put into the next chunk, from how long the last one took."""

    def __init__(self, threads: int):
        self.least = self.size = threads

    def took(self, seconds: float) -> None:
        ideal = self.size * CHUNK_SECONDS / max(seconds, 1e-6)
        self.size = max(self.least, round(min(ideal, self.size * 4) / self.least) * self.least)


def _compute(pending: list[Run], threads: int, stop: threading.Event) -> Generator[Chunk, None, None]:
    """Yield finished chunks in order; the next one is being computed meanwhile. `stop` ends it by KeyboardInterrupt."""
    pace = _Pace(threads)
    worker = ThreadPoolExecutor(1, "schedlab")
    rest = iter(pending)

    def submit():
        chunk = list(islice(rest, pace.size))
        return (chunk, worker.submit(_timed_batch, chunk, threads)) if chunk else None

    try:
        job = submit()
        while job:
            chunk, future = job
            while not stop.is_set() and not wait([future], timeout=HEARD_SECONDS).done:
                pass
            if stop.is_set():
                raise KeyboardInterrupt
            seconds, table = future.result()
            pace.took(seconds)
            job = submit()
            yield chunk, table
    finally:
        worker.shutdown(wait=False, cancel_futures=True)


def _timed_batch(chunk: list[Run], threads: int) -> tuple[float, pl.DataFrame]:
    start = time.perf_counter()
    runs = [{"scenario": cell.scenario, "seed": seed} for cell, seed in chunk]
    table = pl.read_ipc_stream(io.BytesIO(_core.run_batch(json.dumps(runs), threads)))
    return time.perf_counter() - start, table
