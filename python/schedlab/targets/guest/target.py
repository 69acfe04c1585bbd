"""A guest kernel as a target: `--on guest:6.1`. The same experiment, and the same agent.

    for each setup of a guest    boot once, and keep the machine when it is ready
    for each run (cell, seed)    go on from it twice, as many guests at once as have room on the host's processors
        the answers are equal    the result
        they differ              a third guest votes, and the result is marked

`--on guest:6.1@2` has two processors, which cannot be counted: such a guest is noisy, as a live host is. Its runs are
made once each, in the runner's order (`order`), and every result of it says so. The two of `--on guest:6.1@2-counted`
take turns: its runs are made and compared as those of one processor, and differ now and then if the host is busy; every
result says what taking turns costs, and how many guests agreed where not all did.

Emulation has no caches, no TLB and no branch costs: what asks for them is refused.
"""

import base64
import binascii
import hashlib
import json
import os
import threading
import time
import zlib
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

import polars as pl

from schedlab.errors import UsageError
from schedlab.results.frames import stream
from schedlab.specification import Cell, Specification, plain
from schedlab.system import reading, writing
from schedlab.system.interrupt import result
from schedlab.targets import ignored
from schedlab.targets.guest import build, cache, ext, machine, qemu, setup, volume
from schedlab.targets.guest.apt import Say
from schedlab.targets.guest.emulation import Panicked
from schedlab.targets.guest.machine import Machine, Report
from schedlab.targets.guest.qemu import Processors
from schedlab.targets.guest.refused import refuse_impossible
from schedlab.targets.guest.volume import Volume, elevators
from schedlab.targets.guest.vote import Vote
from schedlab.targets.linux import BASE_SLICE, HZ, KERNEL_WORDS, REQUEST_TIME, SCHED_EXT, SLICE, scheduler
from schedlab.targets.names import GUEST
from schedlab.targets.rows import rows
from schedlab.targets.target import HERE, Chunk, Run, cautions

#: Each run is done so often before its answers are compared, where instructions are counted.
TIMES = 2
#: Said with every figure.
NOTE = "an emulated processor, without caches, TLB or branch costs"
#: And of several that are counted.
TURNS = (
    "{count} processors take turns: each computes at a share of the speed while others do; order and counts, not speed"
)
#: And first of all, where they are not.
NOISY = "noisy: {count} processors in the host's time, each run made once, and all that the host does is in the numbers"
#: A tick of the kernels' clocks, and by how much of it each seed begins later than the one before, ns. It is
#: the golden section, by which any number of seeds spreads evenly: tasks without random numbers, too, have replicates.
TICK_NS, PHASE_NS = 10**9 // HZ, 2_472_136
#: Where tasks have their files in the guest: in its memory.
SCRATCH = "/tmp"
#: A run that takes longer, by the guest's clock, is ended with a warning.
AT_MOST = "600s"
#: Buffer of the scheduler's events, KiB, and how often it is emptied. Emptying it preempts
#: the running task, so it is done rarely: at some two hundred bytes a switch, there is room for 60 000 a second.
BUFFER_KIB, DRAIN_EVERY = 64 << 10, "5s"
#: It is at most this part of a small guest's memory.
BUFFER_SHARE = 8
#: Largest recording that comes out of a guest, bytes, compressed and as it is then kept.
LARGEST_PACKED, LARGEST_RECORDING = 24 << 20, 1 << 30
#: The log of all runs, in the folder of the results.
LOG = "guests.jsonl"
#: Settings that decide what a guest is, and are no settings of its kernel's.
OF_THE_SETUP = (KERNEL_WORDS, REQUEST_TIME, SCHED_EXT)
#: In place of one, where nothing runs.
NO_CALIBRATION = {"rounds_per_second": 1e9, "calls_per_second": 1e6, "spread": 0.0}


@dataclass
class Guest:
    """A real kernel on an emulated machine."""

    #: The kernel, as the user named it: a version, or a path; with @N behind it, it has N processors that are noisy.
    kernel: str
    #: Whether the experiment's machine is "host", of which a guest has as many processors as itself.
    of_host: bool = False
    trace: str = "auto"
    say: Say = print
    #: Where the paths in the experiment begin.
    folder: Path = Path()
    #: How often the recorder's buffer is emptied.
    drain_every: str = DRAIN_EVERY
    #: Guests whose answers are compared, for each run, if they are not noisy.
    times: int = TIMES
    #: Processors of the host that guests have at once.
    at_once: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    _machine: Machine | None = field(default=None, repr=False)
    #: By the hash of a cell that was placed.
    _prepared: "dict[str, Prepared]" = field(default_factory=dict, repr=False)
    #: Schedulers by their paths, as they were when they were first requested.
    _schedulers: dict[str, dict[str, bytes]] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """What the user calls it."""
        return GUEST + self.kernel

    @property
    def processors(self) -> Processors:
        """Its own."""
        return qemu.processors(self.kernel)[1]

    @property
    def machine(self) -> Machine:
        """What boots; fetched at first use."""
        if self._machine is None:
            self._machine = machine.ready(self.kernel, self.say)
        return self._machine

    @property
    def engine(self) -> str:
        """Kernel, emulator and agent."""
        return self.machine.engine

    def cells(self, cells: list[Cell]) -> list[Cell]:
        """The cells with a guest's processors. What cannot be asked of a guest is refused."""
        placed = []
        ignored.refuse_alike(cells, self.name, partial(ignored.of_kernel, takes=ignored.OF_A_GUEST))
        for cell in cells:
            refuse_impossible(cell, self.of_host, self.processors)
            scenario = deepcopy(cell.scenario)
            scenario["machine"]["processors"] = self._of_the_guest(scenario["machine"]["processors"])
            prepared = self._prepare(cell.but(scenario=scenario))
            decides = [prepared.machine.engine, *(json.dumps(one, sort_keys=True) for one in (scenario, cell.host))]
            digest = hashlib.sha256("\n".join(decides).encode()).hexdigest()
            self._prepared[digest] = prepared
            placed.append(cell.but(scenario=scenario, hash=digest))
        return placed

    def ignores(self, experiment: Specification) -> list[str]:
        """What its kernel and its machine have of their own."""
        return ignored.by_kernel(experiment, scheduler(self.machine.kernel.release), ignored.OF_A_GUEST)

    def _of_the_guest(self, processors: object) -> object:
        """How many an experiment's machine has in the guest."""
        count = self.processors.count if self.of_host else min(plain(processors), self.processors.count)
        return processors | {"value": count} if isinstance(processors, dict) else count

    def describe(self) -> dict:
        """What the manifest says of it."""
        about = self.machine
        names = {"kernel": about.kernel.release, "package": about.kernel.version}
        if self.processors.counted:
            turns = TURNS.format(count=self.processors.count) if self.processors.take_turns else None
            return {"engine": self.engine, **names, "note": "; ".join(filter(None, (turns, NOTE)))}
        noisy = NOISY.format(count=self.processors.count)
        return {"engine": self.engine, **names, "noisy": True, "note": f"{noisy}; {NOTE}"}

    def seen(self) -> dict:
        """Nothing: nothing is looked at but the guests."""
        return {}

    def ahead(self, pending: list[Run]) -> list[Callable[[threading.Event], None]]:
        """The machines that the runs go on from, each to be kept."""
        if not pending:
            return []
        machines = (self.machine, *(self._prepared_for(run[0]).machine for run in pending))
        return [one.keep for one in {one.engine: one for one in machines}.values()]

    @property
    def repeatable(self) -> bool:
        """Whether instructions are counted, so that no run is to depend on its moment."""
        return self.processors.counted

    def runs(self, pending: list[Run], folder: Path, stop: threading.Event) -> Generator[Chunk, None, None]:
        """Yield one run at a time, in order; guests of the next ones are at work meanwhile."""
        if not pending:
            return
        over = threading.Event()
        pool = ThreadPoolExecutor(max(1, self.at_once // self.processors.threads), "guest")
        try:
            calibration = result(pool.submit(self.machine.calibration, over), stop)
            votes = [Vote(partial(self.ask, *run, calibration, over), self.times) for run in pending]
            asked = [[pool.submit(vote.run_guest, guest) for guest in range(self.times)] for vote in votes]
            for run, vote, futures in zip(pending, votes, asked, strict=True):
                for future in futures:
                    result(future, stop)
                chosen, doubt = vote.outcome()
                yield [run], stream(self.rows_of(run, folder, calibration, chosen, doubt, vote.reports))
        finally:
            over.set()
            pool.shutdown(wait=True, cancel_futures=True)

    @contextmanager
    def session(self, pending: list[Run], folder: Path, stop: threading.Event) -> Iterator["_Noisy"]:
        """A noisy guest at work: each run is made once."""
        yield _Noisy(self, folder, self._calibration(folder, stop), stop)

    def rows_of(
        self, run: Run, folder: Path, calibration: dict, chosen: Report, doubt: str | None, reports: list[Report]
    ) -> pl.DataFrame:
        """The rows of a run; the guests that made it are a line of the log."""
        _log_run(folder, self.name, run, reports)
        answer = chosen.answer
        return rows(
            answer["rows"],
            [*cautions(answer), *filter(None, (doubt, _unsteady(calibration), self._caveat(run[0])))],
        )

    def _calibration(self, folder: Path, over: threading.Event) -> dict:
        """How much work a second is to a noisy guest: once for a folder of results, the same for resumed runs."""
        digest = hashlib.sha256(self.engine.encode()).hexdigest()[: setup.DIGITS]
        path = folder / f"calibration-{digest}.json"
        if not path.exists():
            writing.replace(path, json.dumps(self.machine.steadiest_calibration(over)).encode())
        return reading.json(path, reading.SMALL, "remove that file, and it is measured again")

    def _caveat(self, cell: Cell) -> str | None:
        """A limitation that holds for every run of a cell."""
        own = self._prepared_for(cell).drive
        return own.caveat if own else None

    def ask(
        self, cell: Cell, seed: int, calibration: dict, stop: threading.Event | None = None, record: bool = False
    ) -> Report:
        """Run once; with `record`, the answer has the recording in it."""
        settle_ns = machine.SETTLE_NS + (seed - 1) * PHASE_NS % TICK_NS
        prepared = self._prepared_for(cell)
        plan = _plan(cell, seed, calibration, self.trace, prepared.drive)
        plan["options"] |= {
            "buffer_kib": min(BUFFER_KIB, (prepared.machine.setup.memory_mib << 10) // BUFFER_SHARE),
            "drain_every": self.drain_every,
            "enclose": LARGEST_PACKED if record else None,
        }
        return prepared.machine.ask(["run"], plan, settle_ns, stop)

    def record(self, cell: Cell, seed: int, path: Path) -> dict:
        """Run once, write the scheduler's events to `path` as a recording, and give the answer without them."""
        measure = self.machine.calibration if self.processors.counted else self.machine.steadiest_calibration
        answer = self.ask(cell, seed, measure(), record=True).answer
        text = answer.pop("recording", None)
        if text is None:
            seen = "; ".join(warning["seen"] for warning in answer["warnings"])
            raise UsageError(f"{self.name}: there is no recording of the run: {seen or 'the agent sent none'}")
        cache.write(path, unpacked(text, self.name))
        return answer

    def _prepared_for(self, cell: Cell) -> "Prepared":
        """What was found when the cell was placed."""
        return self._prepared.get(cell.hash) or self._prepare(cell)

    def _prepare(self, cell: Cell) -> "Prepared":
        """The machine as a cell wants it."""
        tunables = cell.host["tunables"]
        request = volume.requested(cell.scenario, tunables)
        own = volume.sized(_plan(cell, 1, NO_CALIBRATION, self.trace, None), request) if request else None
        of_cell = setup.of(cell.scenario, tunables, own)
        whole = replace(of_cell, extra={**of_cell.extra, **self._scheduler(tunables)})
        return Prepared(replace(self.machine, setup=whole), own)

    def _scheduler(self, tunables: dict[str, str]) -> dict[str, bytes]:
        """The files of the scheduler that the tunables name."""
        named = tunables.get(SCHED_EXT, ext.NONE)
        if named not in self._schedulers:
            self._schedulers[named] = ext.files(
                named, self.folder, self.machine.kernel, self.say, lambda: build.enumerators(self.machine, self.say)
            )
        return self._schedulers[named]


@dataclass(frozen=True)
class _Noisy:
    """A guest at work in the host's time."""

    guest: Guest
    folder: Path
    calibration: dict
    stop: threading.Event
    machine: ClassVar[str] = HERE

    @property
    def processors(self) -> int:
        """Each of its own takes one of the host's."""
        return self.guest.processors.threads

    def run(self, cell: Cell, seed: int) -> pl.DataFrame:
        """Make one run, and once more if its kernel gives up.

        With several processors at once an emulated kernel does so now and then, and a sweep of hours goes on.
        """
        doubt = None
        try:
            report = self._ask(cell, seed)
        except Panicked as why:
            doubt = f"the guest's kernel gave up, and the run was made again: {why.line}"
            self.guest.say(f"{self.guest.name}: {doubt}")
            report = self._ask(cell, seed)
        return self.guest.rows_of((cell, seed), self.folder, self.calibration, report, doubt, [report])

    def _ask(self, cell: Cell, seed: int) -> Report:
        return self.guest.ask(cell, seed, self.calibration, self.stop)


@dataclass(frozen=True)
class Prepared:
    """A machine as a cell wants it, and the cell's drive if it has one."""

    machine: Machine
    drive: Volume | None


def _plan(cell: Cell, seed: int, calibration: dict, trace: str, drive: Volume | None) -> dict:
    """What the agent in the guest is asked to do."""
    tunables = {name: value for name, value in cell.host["tunables"].items() if name not in OF_THE_SETUP}
    if SLICE in tunables:
        # On a host each task of a run asks for it, and the kernel's own setting stays; a guest has the setting.
        tunables[BASE_SLICE] = tunables.pop(SLICE)
    named = elevators(tunables)
    tunables |= named or (drive.usual if drive else {})
    return {
        "scenario": cell.scenario,
        "seed": seed,
        "calibration": calibration,
        "tunables": tunables,
        "options": {"scratch": SCRATCH, "trace": trace, "at_most": AT_MOST, "strict": True}
        | ({"volume": drive.volume} if drive else {}),
    }


def unpacked(text: str, name: str) -> bytes:
    """The recording that came as text: base 64 of what zlib has compressed."""
    try:
        unpacker = zlib.decompressobj()
        recording = unpacker.decompress(base64.b64decode(text, validate=True), LARGEST_RECORDING)
    except (binascii.Error, zlib.error) as why:
        raise UsageError(f"{name}: the recording of the run came damaged: {why}") from None
    if not unpacker.eof:
        raise UsageError(f"{name}: the recording of the run is cut off, or longer than {LARGEST_RECORDING} bytes")
    return recording


def _unsteady(calibration: dict) -> str | None:
    """What is to be said where a second's work could not be measured well; nothing where instructions are counted."""
    if calibration["spread"] <= machine.STEADY:
        return None
    return (
        f"how much work a second is was measured to {100 * calibration['spread']:.0f} % only; the host had other work: "
        "times that tasks compute are off by as much"
    )


def _log_run(folder: Path, name: str, run: Run, reports: list[Report]) -> None:
    """A line of the log."""
    guests = [
        {"digest": report.digest, "seconds": round(report.ended.seconds, 3), **_of_the_agent(report.answer)}
        for report in reports
    ]
    line = {"time": time.time(), "on": name, "scenario": run[0].hash, "seed": run[1], "guests": guests}
    with open(folder / LOG, "a") as log:
        log.write(json.dumps(line) + "\n")


def _of_the_agent(answer: dict) -> dict:
    """What the agent took to make a task and to take it away, ns, mean."""
    return {name: answer.get("environment", {}).get(name) for name in ("making_ns", "unmaking_ns")}
