"""The order of runs that depend on the moment in which they are made: one for all targets and cells, run by run.

    for each repeat (seed):  all cells of all targets, shuffled      drift hits every cell of every target alike

If one target makes all its runs before the next, the two are compared across that time, and under lasting noise equal
targets differ. So each target opens a *session* at the beginning, and the runner says which one makes the next run.

Each computer has a *lane*: its part of the order. What runs on one computer takes turns, or fits next to each other;
what runs on different ones goes on at the same time.
"""

import json
import os
import random
import threading
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from itertools import takewhile
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from schedlab.results.frames import stream
from schedlab.system import writing
from schedlab.system.interrupt import result
from schedlab.targets.target import LOG, Chunk, Run, Session, Target

if TYPE_CHECKING:
    import polars as pl

#: A finished run, alone in a list as in a chunk, and its rows.
Made = tuple[list[Run], "pl.DataFrame"]


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
    if not pending:
        return
    with ExitStack() as stack:
        of = {target.name: [run for run in pending if run[0].on == target.name] for target in targets}
        sessions = {
            target.name: stack.enter_context(target.session(of[target.name], folder, stop))
            for target in targets
            if of[target.name]
        }
        order = blocked(pending, random.Random(folder.name))
        with closing(_lanes(sessions, order, folder / LOG, stop)) as found:
            for made, rows in found:
                yield made, stream(rows)


def _lanes(
    sessions: Mapping[str, Session], order: Sequence[Run], log: Path, stop: threading.Event
) -> Generator[Made, None, None]:
    """The runs of each computer in their order, those of different ones at the same time."""
    of: dict[str, list[tuple[int, Run]]] = {}
    for number, run in enumerate(order, 1):
        of.setdefault(sessions[run[0].on].machine, []).append((number, run))
    over = threading.Event()
    noted = [takewhile(lambda _: not over.is_set(), _noted(runs, len(order), log)) for runs in of.values()]
    lanes = [_made(sessions, runs, stop) for runs in noted]
    # A single one stays in this thread: only here can a person be asked something.
    return _merged(lanes, over) if len(lanes) > 1 else lanes[0]


def _merged(lanes: Sequence[Generator[Made, None, None]], over: threading.Event) -> Generator[Made, None, None]:
    """What comes of all lanes, as it comes. When one fails, `over` has the others end with the runs that they have
    begun, and these count, too."""
    made: SimpleQueue[Made | None] = SimpleQueue()

    def drain(lane: Generator[Made, None, None]) -> None:
        try:
            for one in lane:
                made.put(one)
        except BaseException:
            over.set()
            raise
        finally:
            made.put(None)

    pool = ThreadPoolExecutor(len(lanes), "lane")
    try:
        futures = [pool.submit(drain, lane) for lane in lanes]
        left = len(lanes)
        while left:
            one = made.get()
            if one is None:
                left -= 1
            else:
                yield one
    finally:
        over.set()
        pool.shutdown(wait=True)
    for future in futures:
        future.result()


def _noted(runs: Sequence[tuple[int, Run]], total: int, log: Path) -> Iterator[Run]:
    """The runs, each with its number among all; each is a line of the log as it begins."""
    for number, (cell, seed) in runs:
        line = {"time": time.time(), "order": number, "of": total, "on": cell.on, "seed": seed}
        writing.extend(log, json.dumps(line | {"scenario": cell.hash, "factors": cell.factors}).encode() + b"\n")
        yield cell, seed


def _made(sessions: Mapping[str, Session], order: Iterable[Run], stop: threading.Event) -> Generator[Made, None, None]:
    """The runs, begun one after the other, each as soon as it fits next to those that have not ended."""
    room = len(os.sched_getaffinity(0))
    pool = ThreadPoolExecutor(room, "run")
    under_way: deque[tuple[Run, int, Future]] = deque()

    def oldest() -> Made:
        run, _, future = under_way.popleft()
        return [run], result(future, stop)

    try:
        for run in order:
            session = sessions[run[0].on]
            takes = min(session.processors, room)
            while under_way and sum(taken for _, taken, _ in under_way) + takes > room:
                yield oldest()
            if takes == room:
                # Alone, so in this thread; see `_lanes`.
                yield [run], session.run(*run)
            else:
                under_way.append((run, takes, pool.submit(session.run, *run)))
        while under_way:
            yield oldest()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
