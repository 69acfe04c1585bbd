"""A sweep on a cluster: batches go out, come back in any order, and are given on in the order in which runs were put.

A batch whose worker dies is made again by the library. One that has used up its tries is sent once more run by run, so
that the run that ends workers is known; it is refused, and the runs before it are kept.
"""

import json
import time
from collections.abc import Iterable
from typing import Any, Protocol

import polars as pl

from schedlab import _core
from schedlab.errors import UsageError
from schedlab.executors.batches import BATCH_SECONDS, Batch, Queue
from schedlab.executors.executor import AHEAD
from schedlab.executors.outcome import COLUMNS, Garbage, Outcome, checked
from schedlab.executors.work import Part
from schedlab.results import frames

#: Batches that a worker has before it: the one that it makes and the one that is next.
FOR_EACH = 2
#: Seconds between two counts of the workers, which may come and go.
COUNT_SECONDS = 2.0
#: Seconds that a cluster may be without any worker.
WITHOUT_WORKERS_SECONDS = 60.0


class Died(Exception):
    """The workers that had a batch died, each time."""


class Library(Protocol):
    """What is asked of Ray or Dask. What it cannot do is a UsageError."""

    #: What the user calls it.
    name: str

    def connect(self) -> None:
        """Find the cluster, or start one; within a bounded time."""

    def engines(self) -> dict[str, str]:
        """The engine of each worker."""

    def workers(self) -> int:
        """How many batches can be made at the same time."""

    def submit(self, engine: str, parts: list[Part]) -> Any:
        """Have a batch made; see `work.make`."""

    def finished(self, given: list[Any], seconds: float) -> Iterable[Any]:
        """Those that are finished, after at most that long."""

    def result(self, one: Any) -> Any:
        """What a finished one gave. `Died` if its workers died."""

    def cancel(self, given: list[Any]) -> None:
        """They are not wanted any more."""

    def abandon(self) -> None:
        """Leave it half connected, at once: this process ends, and what it has started ends with it."""

    def close(self) -> None:
        """Leave the cluster; a cluster that was started ends, and nothing is left of it."""


class ClusterSweep:
    """As `executor.Sweep`, with the workers of a cluster."""

    def __init__(self, library: Library):
        """The library is connected."""
        self._library, self._engine = library, _core.version()
        self._queue = Queue()
        self._again: list[Batch] = []
        self._given: dict[Any, Batch] = {}
        #: By the number of the first run: what came back, or how many runs need not be made.
        self._finished: dict[int, Outcome | int] = {}
        #: Why a run cannot be made, by its number.
        self._failed: dict[int, Exception] = {}
        self._taken = 0
        self._workers, self._counted, self._seen = 0, -COUNT_SECONDS, time.monotonic()

    @property
    def ahead(self) -> int:
        """As many runs as keep all workers busy while what is finished is taken."""
        runs = BATCH_SECONDS / self._queue.pace if self._queue.pace else 1
        return max(AHEAD, int(2 * FOR_EACH * self._count() * runs))

    def put(self, scenario_json: str, seeds: list[int]) -> None:
        """Queue a run of a scenario for each seed."""
        self._leave_out(self._queue.put(scenario_json, seeds))

    def wait(self, seconds: float) -> tuple[int, int]:
        """Send what there is, and wait for something to come back, at most that long.

        Where the next run cannot be made, nothing is waited for: `take` gives the runs before it, then says why.
        """
        if self._first_missing() not in self._failed:
            try:
                self._exchange(seconds)
            except UsageError as why:
                self._failed[self._first_missing()] = why
        ready = self._first_missing() - self._taken
        if self._first_missing() in self._failed:
            return ready + 1, ready + 1
        return ready, self._queue.put_in - self._taken

    def take(self) -> tuple[int, bytes]:
        """Take what is finished up to the first run that is not, or cannot be made; then its failure."""
        if self._taken in self._failed:
            raise self._failed[self._taken]
        parts, count = [pl.DataFrame(schema=COLUMNS)], 0
        for found in self._in_order():
            if isinstance(found, Outcome):
                parts.append(found.rows.with_columns((pl.col("run") + count).cast(pl.UInt32)))
            del self._finished[self._taken + count]
            count += _runs(found)
        self._taken += count
        return count, frames.stream(pl.concat(parts))

    def close(self) -> None:
        """Nothing of it is wanted any more."""
        self._library.cancel(list(self._given))
        self._given.clear()

    def _in_order(self) -> list[Outcome | int]:
        """What is finished, up to the first run that is not."""
        found, at = [], self._taken
        while at in self._finished:
            found.append(self._finished[at])
            at += _runs(found[-1])
        return found

    def _first_missing(self) -> int:
        """The number of the first run that is not finished."""
        return self._taken + sum(_runs(found) for found in self._in_order())

    def _exchange(self, seconds: float) -> None:
        self._send()
        if self._given:
            for one in list(self._library.finished(list(self._given), seconds)):
                self._receive(one, self._given.pop(one))
            self._send()

    def _send(self) -> None:
        """Give the workers what they can make, and what is next."""
        workers = self._count()
        while len(self._given) < FOR_EACH * workers:
            batch = self._again.pop() if self._again else self._queue.next(workers)
            if batch is None:
                return
            self._given[self._library.submit(self._engine, batch.texts())] = batch

    def _receive(self, one: Any, batch: Batch) -> None:
        """A batch is back, or cannot be made."""
        try:
            found = checked(self._library.result(one), self._engine, batch.texts())
        except Died as why:
            if batch.count > 1:
                self._again += reversed(list(batch.singles()))
            else:
                self._failed[batch.first] = UsageError(_deadly(batch, why))
            return
        except Garbage as why:
            text, seed = batch.run(0)
            self._failed[batch.first] = UsageError(
                f"{self._library.name}: a worker gave what is no result ({why}), for seed {seed} of {_named(text)}"
            )
            return
        self._leave_out(self._queue.learn(batch, found.alike, found.seconds))
        if found.refused is not None:
            self._failed[batch.first + found.runs] = _core.ScenarioError(found.refused)
        elif found.fault is not None:
            self._failed[batch.first + found.runs] = RuntimeError(found.fault)
        if found.alike[0] and batch.is_continued:
            # The first run of the scenario stands for these.
            self._finished[batch.first] = batch.count
        elif found.runs:
            self._finished[batch.first] = found

    def _leave_out(self, numbers: list[int]) -> None:
        """These runs need not be made."""
        self._finished.update(dict.fromkeys(numbers, 1))

    def _count(self) -> int:
        """The number of workers, of late."""
        now = time.monotonic()
        if now - self._counted >= COUNT_SECONDS:
            self._workers, self._counted = self._library.workers(), now
            self._seen = now if self._workers else self._seen
            if now - self._seen >= WITHOUT_WORKERS_SECONDS:
                raise UsageError(f"{self._library.name}: no worker is left; finished runs are kept")
        return self._workers


def _runs(found: Outcome | int) -> int:
    return found if isinstance(found, int) else found.runs


def _deadly(batch: Batch, why: Exception) -> str:
    text, seed = batch.run(0)
    return f"seed {seed} of {_named(text)} ends each worker that is to make it ({why}); other runs are not affected"


def _named(text: str) -> str:
    """A scenario in a few words, and enough of it to find it."""
    scenario = json.loads(text)
    names = [str(scenario.get(part, {}).get("name", "?")) for part in ("machine", "scheduler")]
    jobs = ", ".join(list(scenario.get("workload", {}))[:8])
    return f"the scenario with machine {names[0]}, scheduler {names[1]} and jobs {jobs}"
