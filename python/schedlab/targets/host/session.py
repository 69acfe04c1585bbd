"""A live host at work: one run after the other, each on a quiet machine or marked.

    each run
        wait until the processors are quiet                   else the run is marked
        run the plan; the agent sets, measures, puts back
        disturbed?  keep what was measured apart, and repeat, at most ATTEMPTS times
        void?       the same; if it stays so, its numbers are no results

A run is *void* when one of its settings was changed from outside meanwhile: it is of no setting at all. The same
command tries it again. One that others only slowed down is *disturbed*: it is kept, marked, if all attempts were.

Every attempt, disturbed or not, is a line of `attempts.jsonl` in the folder of the results: nothing measured is lost.
"""

import json
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from schedlab.errors import UsageError
from schedlab.specification import Cell
from schedlab.system import reading, writing
from schedlab.targets.host import preflight
from schedlab.targets.host.cell import processors, settings, volume
from schedlab.targets.host.conditions import Conditions
from schedlab.targets.host.place import Place
from schedlab.targets.host.seal import encoded
from schedlab.targets.linux import SLICE
from schedlab.targets.rows import rows
from schedlab.targets.target import LOG, cautions

#: A run is repeated so often, at most, when it was disturbed.
ATTEMPTS = 3
#: How long a host must have been quiet.
QUIET_FOR = "700ms"
QUIET_SECONDS = 0.7
#: What a person gave a run.
SCORE = "score"


class HostSession:
    """All runs of one call on one host: what they share."""

    #: All of the host: a run is measured alone.
    processors = sys.maxsize

    def __init__(
        self, place: Place, conditions: Conditions, folder: Path, stop: threading.Event, judge: Callable | None = None
    ):
        """Measure what a second's work is there, unless that is known. `judge` is a person's, see `Host`."""
        self.place, self.machine = place, place.machine
        self.conditions = conditions
        self.judge = judge
        self.folder = folder
        self.stop = stop
        self.scratch = place.scratch(folder, None if conditions.loop_size else conditions.scratch)
        self.calibration = self._calibration()

    def _calibration(self) -> dict:
        """How much work a second is: measured once, then the same for every run of the folder, resumed ones too."""
        path = self.folder / self.place.calibration
        if path.exists():
            return reading.json(path, reading.SMALL, "remove that file, and it is measured again")
        measured = self.place.ask(["calibrate"], stop=self.stop)
        writing.replace(path, json.dumps(measured).encode())
        return measured

    def preflight(self, cells: list[Cell], repeats: int) -> preflight.Preflight:
        """Look at the noise, refuse a machine that never becomes quiet, and find out what can be seen on it.

        `cells` has one for each run ahead.
        """
        used = sorted({cpu for cell in cells for cpu in self._processors(cell)})
        seen = self._quiet(used)
        if not seen["quiet"] and not self.conditions.dirty:
            self._log({"noise": seen})
            limit, patience = self.conditions.quiet_below, self.conditions.patience
            raise UsageError(
                f"{self.place.title} is not quiet: after {patience:g} s other tasks use {_worst(seen):.0f} % of a "
                f"processor and less than {limit:g} % is wanted; stop them, allow more with --quiet-below, or measure "
                "all the same with --dirty"
            )
        found = preflight.look(self._run, seen, self.calibration, cells, repeats, used[0], QUIET_SECONDS)
        self._log({"preflight": found.document(), "noise": seen})
        return found

    def run(self, cell: Cell, seed: int) -> pl.DataFrame:
        """The rows of one run: of the first attempt that was not disturbed, or else of the last that is not void.

        A session with a person is not repeated because it was disturbed, only if it is void.
        """
        kept, reasons = None, []
        for number in range(1, ATTEMPTS + 1):
            outcome, reasons = self.attempt(cell, seed, number)
            if changed(outcome):
                continue
            kept = outcome, reasons
            if not reasons or self.judge:
                break
        if kept is None:
            return rows([], [_void(reasons)])
        outcome, reasons = kept
        if self.judge:
            score = self.judge(cell.factors, seed)
            outcome["rows"].append({"metric": SCORE, "unit": "1", "value": score})
            self._log({"scenario": cell.hash, "seed": seed, "score": score})
            reasons = []
        return rows(outcome["rows"], [*cautions(outcome), *_disturbed(reasons)])

    def attempt(self, cell: Cell, seed: int, number: int = 0) -> tuple[dict, list[str]]:
        """Run once; the outcome, and what disturbed it. Number 0 is a warm-up."""
        before = self._quiet(self._processors(cell))
        if self.conditions.drop_caches:
            self.place.drop_caches()
        outcome = self._run(self._plan(cell, seed))
        reasons = self._disturbances(before, outcome)
        self._log(
            {
                "scenario": cell.hash,
                "factors": cell.factors,
                "seed": seed,
                "attempt": number,
                "disturbed": reasons,
                "before": before,
                "outcome": outcome,
            }
        )
        return outcome, reasons

    def _run(self, plan: dict) -> dict:
        return self.place.run(plan, self.stop)

    def _processors(self, cell: Cell) -> list[int]:
        return processors(cell, self.place.facts.processors)

    def _plan(self, cell: Cell, seed: int) -> dict[str, Any]:
        slice_ = cell.host["tunables"].get(SLICE)
        own = volume(cell, self.conditions)
        return {
            "scenario": cell.scenario,
            "seed": seed,
            "calibration": self.calibration,
            "tunables": settings(cell),
            "options": {"scratch": self.scratch, "trace": self.conditions.trace}
            | ({} if own is None else {"volume": own}),
        } | ({"slice": slice_} if slice_ else {})

    def _quiet(self, cpus: list[int]) -> dict:
        # Where a busy machine is accepted, one look is enough.
        patience = QUIET_SECONDS if self.conditions.dirty else self.conditions.patience
        limits = ["--quiet-below", str(self.conditions.quiet_below), "--at-most", f"{patience}s"]
        where = ["--processors", ",".join(map(str, cpus))]
        return self.place.ask(["noise", "--for", QUIET_FOR, *limits, *where], stop=self.stop)

    def _disturbances(self, before: dict, outcome: dict) -> list[str]:
        seen = outcome["environment"]
        limit = self.conditions.quiet_below
        reasons = changed(outcome)
        if not before["quiet"]:
            reasons.append(f"the host was not quiet before the run ({_worst(before):.0f} % of a processor)")
        if seen["foreign_percent"] > limit:
            reasons.append(f"tasks of others used {seen['foreign_percent']:.1f} % of the processors")
        if (seen.get("steal_percent") or 0) > limit:
            reasons.append(f"the hypervisor took {seen['steal_percent']:.1f} % of the processors")
        return reasons

    def _log(self, what: dict) -> None:
        """A line of the log, on the disk before the next run begins."""
        line = {"time": time.time(), "on": self.place.name} | what
        path = self.folder / LOG
        writing.extend(path, (encoded(line) if self.conditions.sealed else json.dumps(line).encode()) + b"\n")


def _worst(seen: dict) -> float:
    """The busiest processor of the last look, percent."""
    looks = seen["windows"][-1:]
    return max((one["foreign_percent"] for look in looks for one in look["processors"]), default=0.0)


def changed(outcome: dict) -> list[str]:
    """What was set from outside during the run, in words; an attempt with any is void."""
    return [
        f"{one['setting']} was {one['expected']} and became {one['actual']} during the run ({one['path']})"
        for one in outcome.get("changed", [])
    ]


def _disturbed(reasons: Sequence[str]) -> list[str]:
    if not reasons:
        return []
    return [f"disturbed in {ATTEMPTS} of {ATTEMPTS} attempts, one of them stands all the same: {'; '.join(reasons)}"]


def _void(reasons: Sequence[str]) -> str:
    return (
        f"void in {ATTEMPTS} of {ATTEMPTS} attempts, so there are no numbers of it: {'; '.join(reasons)}; find out who "
        "sets it and end it, then the same command tries again"
    )
