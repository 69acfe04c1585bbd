"""Switch for switch: whether the simulated processor goes from task to task as a guest's does, tick by tick.

    crew       tasks that only compute, on one processor
    prelude    each runs alone for a while, one after the other, and a last one after them; then all sleep
    play       they wake one after the other, and compute to the end

    strangers  whoever else woke in the guest, mostly kernel threads

The prelude is for equal beginnings: whoever wakes afterwards has no lag (`eevdf`), and stands where sleepers are placed
(`cfs`), whatever it did before. The simulated clock ticks when the guest's did (`clock.phase`), and everybody wakes
as it did there: strangers, too, who then work as long as they did. Nothing costs time: costs are in what was measured.

    turn       a task has the processor; what kernel threads interrupt is one turn, if the same task goes on
    length     the turn's length in ticks, rounded
    agrees     as long as turn by turn both the task and the length are the same
    alike      share of the turns that are the same in the same order, with some left out on either side

Where weights are no simple ratio, some choice of thousands hangs on a microsecond, and no model has the interrupts of a
kernel to the microsecond: two turns change places, and the schedules agree again. Hence the second number.
"""

import io
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import groupby, takewhile
from pathlib import Path
from typing import Any

import polars as pl

from schedlab import _core
from schedlab.errors import UsageError, nearest
from schedlab.experiment import Cell, Experiment

#: A tick of the kernels' clocks (HZ = 250), ns.
TICK_NS = 4_000_000
#: Length of a task's part in the prelude, and from one to the next, ms: far longer than any sleeper's credit.
ALONE_MS, APART_MS = 20, 30
#: From the wakeup of one task to that of the next, ms: no divisor of a tick, so that no two stand in the same place.
WAKES_APART_MS = 1.3
#: Between prelude and play, ms: so long that kernel threads with a period of up to two seconds wake once alone, after
#: which they have no lag either.
PAUSE_MS = 2500
#: From a tick to the switch that it brings about, ns: its interrupt, and the choice.
SWITCH_NS = 30_000
#: What the name of a job begins with that does what somebody of no job did.
STRANGER = "stranger"
#: The one that runs after all others and never again.
LAST = "last"
#: Guest seconds of the play.
SECONDS = 60


@dataclass(frozen=True)
class Crew:
    """Tasks that only compute."""

    name: str
    #: What each of them asks for beside the work.
    tasks: Sequence[dict[str, Any]]
    groups: dict[str, Any] = field(default_factory=dict)

    @property
    def play_ms(self) -> float:
        """When the first task wakes for the play."""
        return APART_MS * (len(self.tasks) + 1) + PAUSE_MS

    def experiment(
        self, scheduler: dict[str, Any], seconds: float = SECONDS, clock: "Clock | None" = None
    ) -> Experiment:
        """The crew's experiment; with a guest's clock, what is simulated beside that guest."""
        workload = {f"t{number:02}": self._job(number, wishes) for number, wishes in enumerate(self.tasks)}
        workload[LAST] = _job(APART_MS * len(self.tasks), [{"compute": f"{ALONE_MS}ms"}, {"sleep": "10000s"}])
        machine: dict[str, Any] = {"preset": "uniform", "clock": {"hz": "250/s"}}
        if clock:
            workload = {name: deeds | self._wishes(name) for name, deeds in clock.deeds.items()}
            machine["clock"] |= {"phase": f"{clock.phase_ns}ns"}
        return Experiment.from_dict(
            {
                "question": "Do simulator and kernel switch alike?",
                "machine": machine,
                "scheduler": scheduler | {"autogroup": False},
                "duration": f"{self.play_ms + seconds * 1000:g}ms",
                "seeds": 1,
                "workload": workload,
                **({"groups": self.groups} if self.groups else {}),
            },
            self.name,
        )

    def _wishes(self, name: str) -> dict[str, Any]:
        return next((wishes for number, wishes in enumerate(self.tasks) if name == f"t{number:02}"), {})

    def _job(self, number: int, wishes: dict[str, Any]) -> dict[str, Any]:
        wakes_ms = self.play_ms + WAKES_APART_MS * number
        asleep_ms = wakes_ms - APART_MS * number - ALONE_MS
        steps = [{"compute": f"{ALONE_MS}ms"}, {"sleep": f"{asleep_ms:g}ms"}, {"compute": "10000s"}]
        return _job(APART_MS * number, steps) | wishes


def _nice(*levels: int) -> list[dict[str, Any]]:
    return [{"nice": level} for level in levels]


def _slices(*lengths: str) -> list[dict[str, Any]]:
    return [{"slice": length} for length in lengths]


#: The crews that are compared. No slice is a multiple of a tick: whether a turn of exactly ten ticks ends at the tenth
#: or the eleventh is a matter of nanoseconds in the interrupt of the tick.
CREWS = (
    Crew("two_equal", _nice(0, 0)),
    Crew("three_equal", _nice(0, 0, 0)),
    Crew("five_equal", _nice(0, 0, 0, 0, 0)),
    Crew("ten_equal", _nice(*[0] * 10)),
    Crew("nice_0_and_1", _nice(0, 1)),
    Crew("nice_0_and_5", _nice(0, 5)),
    Crew("nice_0_and_10", _nice(0, 10)),
    Crew("nice_0_and_19", _nice(0, 19)),
    Crew("nice_minus_5_and_0", _nice(-5, 0)),
    Crew("nice_minus_20_and_0", _nice(-20, 0)),
    Crew("three_nice_levels", _nice(-3, 0, 4)),
    Crew("nice_ladder", _nice(0, 3, 6, 9, 12)),
    Crew("slices_3_and_22", _slices("3ms", "22ms")),
    Crew("slices_10_and_99", _slices("10ms", "99ms")),
    Crew("short_among_three_long", _slices("3ms", "42ms", "42ms", "42ms")),
    Crew("four_slices", _slices("1ms", "6ms", "15ms", "50ms")),
    Crew("slices_and_nice", [{"slice": "5ms", "nice": 3}, {"slice": "30ms"}, {"nice": -2}]),
    Crew("batch_and_other", [{"policy": "batch"}, {}]),
    Crew("idle_and_two_others", [{"policy": "idle"}, {}, {}]),
    Crew("round_robin", [{"policy": "rr", "priority": 10}] * 2),
)


def _job(start_ms: float, steps: list) -> dict[str, Any]:
    return {"start": f"{start_ms:g}ms", "session": "one", "cpus": [0], "passes": "forever", "steps": steps}


@dataclass(frozen=True)
class Turn:
    """A stretch in which a task had the processor."""

    task: str
    begin_ns: int
    end_ns: int
    #: Times that somebody else had it for a moment.
    interrupted: int

    @property
    def ticks(self) -> int:
        """Its length, rounded."""
        return round((self.end_ns - self.begin_ns) / TICK_NS)


@dataclass(frozen=True)
class Clock:
    """When a guest's clock ticked, and what everybody did there: the jobs that are simulated beside it."""

    phase_ns: int
    deeds: dict[str, Any]


@dataclass(frozen=True)
class Agreement:
    """How far two recordings agree."""

    #: Turns, and time in the play, until the first that differs, or the end.
    turns: int
    seconds: float
    #: Whether there is no difference.
    whole: bool
    #: Share of the turns that are the same, %.
    alike: float
    #: The first that differ; what came before them.
    simulated: Sequence[Turn]
    measured: Sequence[Turn]
    #: Whether somebody of no job ran just before.
    disturbed: bool

    @property
    def verdict(self) -> str:
        """In words."""
        if self.whole:
            return "alike"
        return "differs after a kernel thread ran" if self.disturbed else "differs"

    @property
    def first_difference(self) -> tuple[str, str]:
        """The turns around it, both ways."""
        return ("", "") if self.whole else (spell(self.simulated), spell(self.measured))


def crews(only: Sequence[str] | None = None) -> list[Crew]:
    """All crews, or those named."""
    known = {crew.name: crew for crew in CREWS}
    for name in only or []:
        if name not in known:
            raise UsageError(f"--only {name}: there is no such crew; {nearest(name, known)}")
    return [known[name] for name in only or known]


def turns(recording: Path, begin_ns: int) -> list[Turn]:
    """The turns of a recording that begin from then on."""
    table = pl.read_ipc_stream(io.BytesIO(_core.turns(str(recording)))).filter(pl.col("begin_ns") >= begin_ns)
    rows = table.select("job", "begin_ns", "end_ns").iter_rows()
    return joined((job, Turn(job or "", begin, end, 0)) for job, begin, end in rows)


def joined(turns: Iterable[tuple[str | None, Turn]]) -> list[Turn]:
    """Turns by job, none for a stranger's: what strangers interrupted is one turn."""
    found: list[Turn] = []
    strangers = 0
    for job, turn in turns:
        if job is None:
            strangers += 1
            continue
        if found and found[-1].task == job:
            last = found.pop()
            turn = replace(turn, begin_ns=last.begin_ns, interrupted=last.interrupted)
        found.append(replace(turn, interrupted=turn.interrupted + strangers))
        strangers = 0
    return found


def deeds(recording: Path, crew: Collection[str]) -> dict[str, Any]:
    """What everybody did, as jobs: they sleep until they were woken, and work as long as they had the processor.

    Those of the crew work to the end after their last wakeup. Whoever is of no job is called a stranger.
    """
    table = pl.read_ipc_stream(io.BytesIO(_core.turns(str(recording))))
    jobs = {}
    for (task,), rows in table.group_by("task", maintain_order=True):
        name = rows["job"][0] or f"{STRANGER}{task:04}"
        steps = _steps(rows)
        if name in crew:
            last = max(index for index, step in enumerate(steps) if "sleep" in step)
            steps = [*steps[: last + 1], {"compute": "10000s"}]
        jobs[name] = {"nice": max(rows["nice"][0], -20), "session": "none", "steps": [*steps, {"sleep": "10000s"}]}
    return jobs


def _steps(rows: pl.DataFrame) -> list[dict[str, str]]:
    steps: list[dict[str, str]] = []
    last_ns = 0
    for woken, begin, end in rows.select("woken_ns", "begin_ns", "end_ns").iter_rows():
        if woken is not None:
            steps.append({"sleep": f"{max(woken - last_ns, 1)}ns"})
        steps.append({"compute": f"{max(end - begin, 1)}ns"})
        last_ns = end
    return steps


def phase_ns(turns: Sequence[Turn]) -> int:
    """When within a tick tasks are switched most often, to 10 us: the tick's phase, but for its interrupt."""
    within = sorted(turn.end_ns % TICK_NS for turn in turns[:-1])
    bins = [(len(list(same)), place) for place, same in groupby(value // 10_000 for value in within)]
    return max(bins)[1] * 10_000


def agreement(simulated: Sequence[Turn], measured: Sequence[Turn], begin_ns: int) -> Agreement:
    """How far the turns agree. The last turn of either is cut off by the end, and not looked at."""
    pairs = list(zip(simulated[:-1], measured[:-1], strict=False))
    same = len(list(takewhile(lambda pair: _same(*pair), pairs)))
    whole = same == len(pairs)
    end_ns = measured[same - 1].end_ns if same else begin_ns
    around = slice(max(same - 2, 0), same + 3)
    disturbed = not whole and any(turn.interrupted for turn in measured[max(same - 2, 0) : same + 1])
    return Agreement(
        same, (end_ns - begin_ns) / 1e9, whole, _alike(pairs), simulated[around], measured[around], disturbed
    )


def _alike(pairs: Sequence[tuple[Turn, Turn]]) -> float:
    one, other = (
        ([(turn.task, turn.ticks) for turn in side] for side in zip(*pairs, strict=True)) if pairs else ([], [])
    )
    return 100 * SequenceMatcher(None, one, other, autojunk=False).ratio()


def _same(one: Turn, other: Turn) -> bool:
    return (one.task, one.ticks) == (other.task, other.ticks)


def cell(crew: Crew, seconds: float = SECONDS) -> Cell:
    """What a guest runs."""
    return crew.experiment({"name": "cfs"}, seconds).cells()[0]


def compare(crew: Crew, guest: Any, scheduler: dict[str, Any], folder: Path, seconds: float = SECONDS) -> Agreement:
    """Run a crew in a guest and in the simulator, with its clock, and compare."""
    measured_at = folder / f"{crew.name}-{guest.kernel}.recording"
    (placed,) = guest.cells([cell(crew, seconds)])
    guest.record(placed, 1, measured_at)
    return beside(crew, measured_at, scheduler, folder / f"{crew.name}-{scheduler['name']}.recording", seconds)


def beside(crew: Crew, measured_at: Path, scheduler: dict[str, Any], simulated_at: Path, seconds: float) -> Agreement:
    """Simulate a crew with the clock of the guest that was recorded, and compare."""
    begin_ns = round(crew.play_ms * 1e6) - TICK_NS // 4
    measured = turns(measured_at, begin_ns)
    names = [f"t{number:02}" for number in range(len(crew.tasks))]
    clock = Clock((phase_ns(measured) - SWITCH_NS) % TICK_NS, deeds(measured_at, names))
    crew.experiment(scheduler, seconds, clock).record(simulated_at, "recording")
    return agreement(_of_crew(turns(simulated_at, begin_ns)), measured, begin_ns)


def _of_crew(turns: Sequence[Turn]) -> list[Turn]:
    """The turns of a simulated crew, where strangers are jobs: they interrupt, as in a guest."""
    return joined((None if turn.task.startswith(STRANGER) else turn.task, turn) for turn in turns)


def spell(turns: Sequence[Turn]) -> str:
    """Turns in a line: task and ticks."""
    return " ".join(f"{turn.task}:{turn.ticks}" + "'" * bool(turn.interrupted) for turn in turns)
