"""The live host as a target: one run after the other, each on a quiet machine or marked. The runner orders them
(`run/order.py`).

    before anything is measured            what this host cannot do is refused
    look at the noise, do pieces of work   what these repeats can show is reported first
    each run
        wait until the processors are quiet                   else the run is marked
        run the plan; the agent sets, measures, puts back
        disturbed?  keep what was measured apart, and repeat, at most ATTEMPTS times
        void?       the same; if it stays so, its numbers are no results

A run is *void* when one of its settings was changed from outside meanwhile: it is of no setting at all. The same
command tries it again. One that others only slowed down is *disturbed*: it is kept, marked, if all attempts were.

Every attempt, disturbed or not, is a line of `attempts.jsonl` in the folder of the results: nothing measured is lost.
"""

import hashlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from schedlab.errors import UsageError
from schedlab.results.manifest import read_manifest
from schedlab.specification import Cell, Specification, has_limited_group, plain, swap_area, treatments
from schedlab.system import reading, writing
from schedlab.targets import agent, ignored
from schedlab.targets.host import preflight
from schedlab.targets.host.conditions import LOOP, Conditions
from schedlab.targets.host.seal import encoded
from schedlab.targets.linux import (
    ELEVATOR,
    ELEVATORS,
    KERNEL_WORDS,
    REQUEST_TIME,
    SCHED_EXT,
    SLICE,
)
from schedlab.targets.names import HOST
from schedlab.targets.rows import rows
from schedlab.targets.target import LOG, Run, cautions
from schedlab.units import seconds, size

#: A run is repeated so often, at most, when it was disturbed.
ATTEMPTS = 3
#: How long a host must have been quiet.
QUIET_FOR = "700ms"
QUIET_SECONDS = 0.7
DROP_CACHES = "/proc/sys/vm/drop_caches"
#: Processor time of real-time tasks in a period; at most this share of it may be theirs.
RT_RUNTIME, UNLIMITED, REAL_TIME_SHARE = "rt_runtime", "unlimited", 0.99
#: What a person gave a run.
SCORE = "score"


@dataclass
class Host:
    """The Linux of this computer."""

    conditions: Conditions = field(default_factory=Conditions)
    #: Asks a person about the run just done: letter or factors, and the number of the session; gives a score.
    judge: Callable[[dict[str, str], int], float] | None = None
    #: Gets a line for each observation made before the first run.
    tell: Callable[[str], None] = field(default=lambda line: None, repr=False)
    name: str = HOST
    repeatable: ClassVar[bool] = False
    _engine: str = field(default="", repr=False)
    _seen: dict = field(default_factory=dict, repr=False)

    @property
    def engine(self) -> str:
        """Kernel and agent: results of another kernel, or of another agent, are never taken for these."""
        if not self._engine:
            release = os.uname().release
            digest = hashlib.sha256(agent.program().read_bytes()).hexdigest()[:8]
            self._engine = f"host {os.uname().nodename} {release} agent+{digest}"
        return self._engine

    def cells(self, cells: list[Cell]) -> list[Cell]:
        """The cells with the host's settings, which decide results too. Settings that only a guest has are refused."""
        for name in (KERNEL_WORDS, REQUEST_TIME):
            if any(name in cell.host["tunables"] for cell in cells):
                raise UsageError(
                    f"tunables.{name}: a running kernel has no such setting; run it in a guest, as with --on guest:6.1"
                )
        if any(SCHED_EXT in cell.host["tunables"] for cell in cells):
            raise UsageError(
                f"tunables.{SCHED_EXT}: a scheduler that errs stops everybody, so only guests' kernels are given one: "
                "run it --on guest:6.17"
            )
        cells = [_capped(cell) for cell in cells]
        ignored.refuse_alike(cells, self.name, ignored.of_kernel)
        return [cell.but(hash=self._hash(cell)) for cell in cells]

    def ignores(self, experiment: Specification) -> list[str]:
        """What its kernel and its machine have of their own."""
        capped = [
            f"{RT_RUNTIME} = {cell.host['tunables'][RT_RUNTIME]}: a real-time task that never sleeps would take its "
            f"processor from everything else for good; {_capped(cell).host['tunables'][RT_RUNTIME]} is set instead"
            for cell in experiment.cells()
            if _capped(cell) is not cell
        ]
        return [*dict.fromkeys(capped), *ignored.by_kernel(experiment, preflight.scheduler())]

    def _hash(self, cell: Cell) -> str:
        text = f"{self.engine}\n{cell.hash}\n{json.dumps(cell.host, sort_keys=True)}"
        return hashlib.sha256(text.encode()).hexdigest()

    def describe(self) -> dict:
        """Who ran it, and under which conditions."""
        system = os.uname()
        conditions = {k: str(v) if isinstance(v, Path) else v for k, v in vars(self.conditions).items()}
        return {"engine": self.engine, "kernel": f"{system.release} {system.version}", "conditions": conditions}

    def seen(self) -> dict:
        """What was seen before the first run."""
        return self._seen

    def ahead(self, pending: list[Run]) -> list:
        """Refuse what this host cannot do, before any target measures. Else nothing: what is done at once disturbs."""
        if pending:
            refuse_impossible(_once_each(pending), self.conditions)
        return []

    @contextmanager
    def session(self, pending: list[Run], folder: Path, stop: threading.Event) -> Iterator["_Session"]:
        """Measure what a second's work is, look at the noise, and do what comes before the runs that count."""
        session = _Session(self.conditions, folder, stop, self.judge)
        seen = session.preflight([cell for cell, _ in pending], _repeats(pending, folder))
        self._seen["preflight"] = seen.document()
        for line in seen.lines():
            self.tell(line)
        for cell in _once_each(pending) * self.conditions.warm_up:
            session.attempt(cell, 0)
        yield session


def _capped(cell: Cell) -> Cell:
    """The cell, with a little of every period left to tasks that are not real time."""
    tunables = cell.host["tunables"]
    runtime = tunables.get(RT_RUNTIME)
    if runtime is None:
        return cell
    period = tunables.get("rt_period")
    period_s = (seconds(period) if period else None) or _rt_period_s()
    most_s = REAL_TIME_SHARE * period_s
    if runtime != UNLIMITED and (seconds(runtime) or 0) <= most_s:
        return cell
    capped = tunables | {RT_RUNTIME: f"{round(most_s * 1e6)}us"}
    return cell.but(host=cell.host | {"tunables": capped})


def _rt_period_s() -> float:
    try:
        return int(Path("/proc/sys/kernel/sched_rt_period_us").read_text()) / 1e6
    except (OSError, ValueError):
        return 1.0


def refuse_impossible(cells: list[Cell], conditions: Conditions) -> None:
    """Have the host check every cell's settings, and what the runs need besides, before anything is touched."""
    if conditions.drop_caches and not os.access(DROP_CACHES, os.W_OK):
        raise UsageError(f"--drop-caches: {DROP_CACHES} cannot be written; it needs root")
    if (wanted := conditions.loop_size) is not None:
        try:
            size(wanted)
        except (KeyError, ValueError):
            raise UsageError(f"--scratch {LOOP}{wanted}: is no size; write loop:2GiB") from None
    requests = [settings(cell) if volume(cell, conditions) is None else _of_a_loop(settings(cell)) for cell in cells]
    for wanted in {json.dumps(request, sort_keys=True): request for request in requests if request}.values():
        agent.ask(["apply", "--dry-run", "--", *(f"{name}={value}" for name, value in wanted.items())])


def _of_a_loop(request: dict[str, str]) -> dict[str, str]:
    """What is set on a volume's own device is judged by another of its kind; not at all, where there is none."""
    loop = next((path.name for path in sorted(Path("/sys/block").glob("loop*"))), None)
    known = agent.ask(["tunables"]) or [] if request else []
    of_devices = {name for name, at, _ in (one["name"].partition("@") for one in known) if at}
    return {
        f"{name}@{loop}" if name in of_devices else name: value
        for name, value in request.items()
        if loop or name not in of_devices
    }


def settings(cell: Cell) -> dict[str, str]:
    """What a cell sets on the host, as its kernel spells it."""
    given = {name: value for name, value in cell.host["tunables"].items() if name != SLICE}
    return {name: ELEVATORS.get(value, value) if name == ELEVATOR else value for name, value in given.items()}


def _repeats(pending: list[Run], folder: Path) -> int:
    """Repeats of each cell when all is done, those of earlier calls included."""
    asked = read_manifest(folder).get("seeds", [])
    return max(asked if isinstance(asked, int) else len(asked), len({seed for _, seed in pending}))


def _once_each(pending: list[Run]) -> list[Cell]:
    return list({cell.hash: cell for cell, _ in pending}.values())


class _Session:
    """All runs of one call: what they share."""

    #: All of the host: a run is measured alone.
    processors = sys.maxsize

    def __init__(self, conditions: Conditions, folder: Path, stop: threading.Event, judge: Callable | None):
        self.conditions = conditions
        self.judge = judge
        self.folder = folder
        self.stop = stop
        own = folder / "scratch"
        self.scratch = own if conditions.scratch is None or conditions.loop_size else conditions.scratch
        self.scratch.mkdir(parents=True, exist_ok=True)
        self.calibration = self._calibration()

    def _calibration(self) -> dict:
        """How much work a second is: measured once, then the same for every run of the folder, resumed ones too."""
        path = self.folder / "calibration.json"
        if path.exists():
            return reading.json(path, reading.SMALL, "remove that file, and it is measured again")
        measured = agent.ask(["calibrate"], stop=self.stop)
        writing.replace(path, json.dumps(measured).encode())
        return measured

    def preflight(self, cells: list[Cell], repeats: int) -> preflight.Preflight:
        """Look at the noise, refuse a machine that never becomes quiet, and find out what can be seen on it.

        `cells` has one for each run ahead.
        """
        used = sorted({cpu for cell in cells for cpu in processors(cell)})
        seen = self._quiet(used)
        if not seen["quiet"] and not self.conditions.dirty:
            self._log({"noise": seen})
            limit, patience = self.conditions.quiet_below, self.conditions.patience
            raise UsageError(
                f"the host is not quiet: after {patience:g} s other tasks use {_worst(seen):.0f} % of a processor "
                f"and less than {limit:g} % is wanted; stop them, allow more with --quiet-below, or measure all the "
                "same with --dirty"
            )
        found = preflight.look(self._ask_run, seen, self.calibration, cells, repeats, used[0], QUIET_SECONDS)
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
        before = self._quiet(processors(cell))
        if self.conditions.drop_caches:
            drop_caches()
        outcome = self._ask_run(self._plan(cell, seed))
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

    def _ask_run(self, plan: dict) -> dict:
        """Should this process be killed, the agent ends the run and puts everything back."""
        return agent.ask(["run", "--parent", str(os.getpid())], plan, self.stop)

    def _plan(self, cell: Cell, seed: int) -> dict[str, Any]:
        slice_ = cell.host["tunables"].get(SLICE)
        own = volume(cell, self.conditions)
        return {
            "scenario": cell.scenario,
            "seed": seed,
            "calibration": self.calibration,
            "tunables": settings(cell),
            "options": {"scratch": str(self.scratch), "trace": self.conditions.trace}
            | ({} if own is None else {"volume": own}),
        } | ({"slice": slice_} if slice_ else {})

    def _quiet(self, cpus: list[int]) -> dict:
        # Where a busy machine is accepted, one look is enough.
        patience = QUIET_SECONDS if self.conditions.dirty else self.conditions.patience
        limits = ["--quiet-below", str(self.conditions.quiet_below), "--at-most", f"{patience}s"]
        where = ["--processors", ",".join(map(str, cpus))]
        return agent.ask(["noise", "--for", QUIET_FOR, *limits, *where], stop=self.stop)

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
        line = {"time": time.time()} | what
        path = self.folder / LOG
        writing.extend(path, (encoded(line) if self.conditions.sealed else json.dumps(line).encode()) + b"\n")


def volume(cell: Cell, conditions: Conditions) -> dict[str, Any] | None:
    """A cell's own file system: if its machine has a drive, if its memory is limited, or if one is requested.

    Without a size it is as large as the drive, or as the run's files need.
    """
    machine = cell.scenario["machine"]
    limited = has_limited_group(cell.scenario)
    disk, size = machine.get("disk"), conditions.loop_size
    if not (disk or limited or size):
        return None
    wanted = {"disk": disk, "size": None if disk else size, "swap": swap_area(machine) if limited else None}
    return {name: value for name, value in wanted.items() if value}


def processors(cell: Cell) -> list[int]:
    """Those of the host that the cell's tasks use: its first, second, ... is that of those we may use."""
    may = sorted(os.sched_getaffinity(0))
    jobs = cell.scenario["workload"].values()
    if all(job.get("cpus") for job in jobs):
        named = [given for job in jobs for given in (job, *treatments(job)) if given.get("cpus")]
        wanted = sorted({cpu for given in named for cpu in given["cpus"]})
    else:
        wanted = range(plain(cell.scenario["machine"]["processors"]))
    # If there are too few, the agent says so, and what to do.
    return [may[cpu] for cpu in wanted if cpu < len(may)] or may


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


def drop_caches() -> None:
    """Have the kernel forget its clean caches, after writing the changed ones back."""
    os.sync()
    try:
        Path(DROP_CACHES).write_text("3")
    except OSError as why:
        raise UsageError(f"--drop-caches: {why.filename}: {why.strerror}; it needs root") from None
