"""The order of runs that depend on the moment in which they are made: one for all targets and cells, run by run.

    for each repeat (seed):  all cells of all targets, shuffled      drift hits every cell of every target alike

If one target makes all its runs before the next, the two are compared across that time, and under lasting noise equal
targets differ. So each target opens a *session* at the beginning, and the runner says which one makes the next run.
"""

import json
import os
import random
import threading
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from schedlab.results.frames import stream
from schedlab.system import writing
from schedlab.system.interrupt import result
from schedlab.targets.target import LOG, Chunk, Run, Session, Target

if TYPE_CHECKING:
    import polars as pl


def blocked(pending: Sequence[Run], rng: random.Random) -> list[Run]:
    """The runs, repeat by repeat, the cells of each in an order of its own."""
    order = []
    for seed in sorted({seed for _, seed in pending}):
        block = [run for run in pending if run[1] == seed]
        rng.shuffle(block)
        order += block
    return order


def interleaved(
    targets: Sequence[Target], pending: Sequence[Run], folder: Path, stop: threading.Event
) -> Generator[Chunk, None, None]:
    """Make the runs of all these targets in one order, and yield each when it has ended.

    `stop` ends it by KeyboardInterrupt.
    """
    with ExitStack() as stack:
        of = {target.name: [run for run in pending if run[0].on == target.name] for target in targets}
        sessions = {
            target.name: stack.enter_context(target.session(of[target.name], folder, stop))
            for target in targets
            if of[target.name]
        }
        order = blocked(pending, random.Random(folder.name))
        for made, rows in _made(sessions, _noted(order, folder / LOG), stop):
            yield made, stream(rows)


def _noted(order: list[Run], log: Path) -> Iterator[Run]:
    """The runs; each is a line of the log as it begins."""
    for number, (cell, seed) in enumerate(order, 1):
        line = {"time": time.time(), "order": number, "of": len(order), "on": cell.on, "seed": seed}
        writing.extend(log, json.dumps(line | {"scenario": cell.hash, "factors": cell.factors}).encode() + b"\n")
        yield cell, seed


def _made(
    sessions: Mapping[str, Session], order: Iterable[Run], stop: threading.Event
) -> Generator[tuple[list[Run], "pl.DataFrame"], None, None]:
    """The runs, begun one after the other, each as soon as it fits next to those that have not ended."""
    room = len(os.sched_getaffinity(0))
    pool = ThreadPoolExecutor(room, "run")
    under_way: deque[tuple[Run, int, Future]] = deque()

    def oldest() -> tuple[list[Run], "pl.DataFrame"]:
        run, _, future = under_way.popleft()
        return [run], result(future, stop)

    try:
        for run in order:
            session = sessions[run[0].on]
            takes = min(session.processors, room)
            while under_way and sum(taken for _, taken, _ in under_way) + takes > room:
                yield oldest()
            if takes == room:
                # Alone, so in this thread: only here can a person be asked something.
                yield [run], session.run(*run)
            else:
                under_way.append((run, takes, pool.submit(session.run, *run)))
        while under_way:
            yield oldest()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
