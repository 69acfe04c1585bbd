"""Switch for switch: whether a policy takes the same scheduling decisions as a guest's kernel, for a minute.

    task set   tasks that compute, in some task sets with sleepers, on one processor
    warm-up    each runs alone for a while, one after the other, and a last one after them; then all sleep
    measured   they wake one after the other, and compute to the end

After it all tasks are alike: a task that wakes afterwards has no lag (`eevdf`), and is where sleepers are
placed (`cfs`), whatever it did before. The guest reports each reading of the clock by its kernel, and what each task
was charged. The policy is led through that recording (`_core.follow`): it is charged the same, gets the same ticks and
wakeups at the same times, kernel threads' too, and everything that is decided it decides itself:

    request    at a tick or a wakeup, for a new choice
    choice     of a task: at each moment when the kernel chose, also if it chose the running task
    agrees     as long as both the requests and the choices are the kernel's

At the first difference it ends. Kernel threads are as few as words of the command line make them; those left are part
of the recording.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedlab import _core
from schedlab.errors import UsageError, nearest
from schedlab.experiment import Experiment
from schedlab.parity import guests
from schedlab.specification import Cell
from schedlab.targets.linux import KERNEL_WORDS

#: Length of a task's part in the warm-up, and from one to the next, ms: far longer than any sleeper's credit.
ALONE_MS, APART_MS = 20, 30
#: From the wakeup of one task to that of the next, ms: no divisor of a tick, so that no two share a phase of the tick.
WAKES_APART_MS = 1.3
#: Between the warm-up and the measured phase, ms: long enough that kernel threads with a period of up to two seconds
#: wake once alone, after which they have no lag either. The clock ticks meanwhile (`guests.QUIET`), or
#: they would wait.
PAUSE_MS = 2500
#: The recording is followed from this time before the first measured wakeup, to this time before the end, ns: outside
#: of that the agent acts.
MARGIN_NS = 1_000_000
#: The key of the steps that a task repeats in the measured phase, and their default.
MEASURED = "measured"
HOG = ({"compute": "10000s"},)
#: The one that runs after all others and never again.
LAST = "last"
ROUND_ROBIN = {"policy": "rr", "priority": 10}
#: With real-time tasks: how long the processor is idle before the last task, and how long that computes, ms. Both are
#: longer than the budget of the kernel's server of fair tasks (50 ms): idle time uses up what is left of it, and then
#: the task begins the server's periods.
IDLE_MS, LAST_MS = 100, 100
#: Length of the measured phase, guest seconds.
SECONDS = 60
#: By how much longer real-time tasks compute in the warm-up, ms: a tick between becoming a real-time task and falling
#: asleep is one of its slice. No whole number, since tasks may wake as ticks do, a whole number of ms from any of them.
OFF_TICKS_MS = 1.7


@dataclass(frozen=True)
class TaskSet:
    """Tasks that only compute, and in some task sets with sleepers."""

    name: str
    #: What each of them asks for; with `MEASURED`, the steps that a sleeper repeats.
    tasks: Sequence[dict[str, Any]]
    #: Policy and priority of the tasks, if these are real-time ones. Each becomes one as its part in the warm-up ends,
    #: so that its slice is whole in the measured phase.
    real_time: dict[str, Any] | None = None

    @property
    def measured_ms(self) -> float:
        """When the first task wakes for the measured phase."""
        return self._last_ms + APART_MS + PAUSE_MS + (LAST_MS if self.real_time else 0)

    @property
    def _last_ms(self) -> float:
        """When the last task's part in the warm-up begins."""
        return APART_MS * len(self.tasks) + (IDLE_MS if self.real_time else 0)

    @property
    def begin_ns(self) -> int:
        """From when on the recording is followed; with real-time tasks, from the last task's part in the warm-up on."""
        return round((self._last_ms if self.real_time else self.measured_ms) * 1e6) - MARGIN_NS

    def experiment(self, scheduler: dict[str, Any], seconds: float = SECONDS, followed: bool = False) -> Experiment:
        """The task set's experiment; `followed`: as the policy sees it that is led through a recording."""
        workload = {f"t{number:02}": self._job(number, task, followed) for number, task in enumerate(self.tasks)}
        last_ms = LAST_MS if self.real_time else ALONE_MS
        workload[LAST] = _job(self._last_ms, [{"compute": f"{last_ms}ms"}, {"sleep": "10000s"}])
        return Experiment.from_dict(
            {
                "question": "Do policy and kernel switch alike?",
                "machine": {"preset": "uniform", "clock": {"hz": "250/s"}},
                "scheduler": scheduler | {"autogroup": False},
                "duration": f"{self.measured_ms + seconds * 1000:g}ms",
                "seeds": 1,
                "workload": workload,
            },
            self.name,
        )

    def _job(self, number: int, settings: dict[str, Any], followed: bool) -> dict[str, Any]:
        wakes_ms = self.measured_ms + WAKES_APART_MS * number
        alone_ms = ALONE_MS + (OFF_TICKS_MS if self.real_time else 0)
        asleep_ms = wakes_ms - APART_MS * number - alone_ms
        measured = {"repeat": {"times": "forever", "steps": settings.get(MEASURED, HOG)}}
        becomes = [{"set": self.real_time}] if self.real_time and not followed else []
        steps = [{"compute": f"{alone_ms}ms"}, *becomes, {"sleep": f"{asleep_ms:g}ms"}, measured]
        treated = {name: value for name, value in settings.items() if name != MEASURED}
        return _job(APART_MS * number, steps) | treated | (self.real_time or {} if followed else {})


def _nice(*levels: int) -> list[dict[str, Any]]:
    return [{"nice": level} for level in levels]


#: Sleeps that fall nowhere in particular within a tick.
AT_RANDOM = {"uniform": ["4ms", "8ms"]}


def _sleepers(*times: tuple[Any, str], **settings: Any) -> list[dict[str, Any]]:
    return [{MEASURED: [{"sleep": sleep}, {"compute": compute}], **settings} for sleep, compute in times]


def _slices(*lengths: str) -> list[dict[str, Any]]:
    return [{"slice": length} for length in lengths]


#: The task sets that are compared.
TASK_SETS = (
    TaskSet("two_equal", _nice(0, 0)),
    TaskSet("three_equal", _nice(0, 0, 0)),
    TaskSet("five_equal", _nice(0, 0, 0, 0, 0)),
    TaskSet("ten_equal", _nice(*[0] * 10)),
    TaskSet("nice_0_and_1", _nice(0, 1)),
    TaskSet("nice_0_and_5", _nice(0, 5)),
    TaskSet("nice_0_and_10", _nice(0, 10)),
    TaskSet("nice_0_and_19", _nice(0, 19)),
    TaskSet("nice_minus_5_and_0", _nice(-5, 0)),
    TaskSet("nice_minus_20_and_0", _nice(-20, 0)),
    TaskSet("three_nice_levels", _nice(-3, 0, 4)),
    TaskSet("nice_ladder", _nice(0, 3, 6, 9, 12)),
    TaskSet("slices_3_and_22", _slices("3ms", "22ms")),
    TaskSet("slices_10_and_99", _slices("10ms", "99ms")),
    TaskSet("short_among_three_long", _slices("3ms", "42ms", "42ms", "42ms")),
    TaskSet("four_slices", _slices("1ms", "6ms", "15ms", "50ms")),
    TaskSet("slices_and_nice", [{"slice": "5ms", "nice": 3}, {"slice": "30ms"}, {"nice": -2}]),
    TaskSet("batch_and_other", [{"policy": "batch"}, {}]),
    TaskSet("idle_and_two_others", [{"policy": "idle"}, {}, {}]),
    TaskSet("three_sleepers_and_two_hogs", [{}, {}, *_sleepers(("3ms", "200us"), ("11ms", "1ms"), ("31ms", "5ms"))]),
    TaskSet("eight_short_sleepers_and_two_hogs", [{}, {}, *_sleepers(*[(AT_RANDOM, "300us")] * 8)]),
    TaskSet("niced_sleeper_and_a_hog", [{}, *_sleepers(("9ms", "1ms"), nice=5)]),
    TaskSet("favoured_sleeper_and_two_hogs", [{}, {}, *_sleepers(("9ms", "1ms"), nice=-5)]),
    TaskSet(
        "sleepers_of_two_slices", [{}, *_sleepers((AT_RANDOM, "2ms"), slice="1ms"), *_sleepers((AT_RANDOM, "1ms"))]
    ),
    TaskSet("batch_sleeper_and_a_hog", [{}, *_sleepers((AT_RANDOM, "1ms"), policy="batch")]),
    TaskSet("round_robin", [{}] * 2, ROUND_ROBIN),
    TaskSet("three_round_robin", [{}] * 3, ROUND_ROBIN),
)


def _job(start_ms: float, steps: list) -> dict[str, Any]:
    return {"start": f"{start_ms:g}ms", "session": "one", "cpus": [0], "passes": "forever", "steps": steps}


@dataclass(frozen=True)
class Agreement:
    """How far a policy goes with a kernel."""

    #: Choices that agree, those of the running task too, and how many of them are switches.
    choices: int
    switches: int
    #: Time in the measured phase of the last of them, s.
    seconds: float
    #: The first difference: when (seconds of the measured phase), what, the running task, and the choice of either.
    difference: dict[str, Any] | None

    @property
    def whole(self) -> bool:
        """Whether there is no difference."""
        return self.difference is None

    @property
    def verdict(self) -> str:
        """In words."""
        if self.difference is None:
            return "alike to the end"
        named = {name: self.difference[name] or "no task" for name in ("running", "policy", "kernel")}
        return "{what} while {running} runs: policy {policy}, kernel {kernel}".format(**self.difference | named)


def task_sets(only: Sequence[str] | None = None) -> list[TaskSet]:
    """All task sets, or those named."""
    known = {task_set.name: task_set for task_set in TASK_SETS}
    for name in only or []:
        if name not in known:
            raise UsageError(f"--only {name}: there is no such task set; {nearest(name, known)}")
    return [known[name] for name in only or known]


def cell(task_set: TaskSet, seconds: float = SECONDS) -> Cell:
    """What a guest runs: with as few kernel threads as can be."""
    (plain,) = task_set.experiment({"name": "cfs"}, seconds).cells()
    tunables = plain.host["tunables"] | {KERNEL_WORDS: guests.QUIET}
    return plain.but(host=plain.host | {"tunables": tunables})


def compare(
    task_set: TaskSet, guest: Any, scheduler: dict[str, Any], folder: Path, seconds: float = SECONDS
) -> Agreement:
    """Run a task set in a guest, and lead the policy through what its kernel did."""
    recording = folder / f"{task_set.name}-{guest.kernel}.recording"
    (placed,) = guest.cells([cell(task_set, seconds)])
    guest.record(placed, 1, recording)
    return follow_recording(task_set, recording, scheduler, seconds)


def follow_recording(
    task_set: TaskSet, recording: Path, scheduler: dict[str, Any], seconds: float = SECONDS
) -> Agreement:
    """Lead the policy through a recording of a task set."""
    measured_ns = round(task_set.measured_ms * 1e6)
    end_ns = measured_ns + round(seconds * 1e9) - MARGIN_NS
    (led,) = task_set.experiment(scheduler, seconds, followed=True).cells()
    run = json.dumps({"scenario": led.scenario, "seed": 1})
    found = json.loads(_core.follow(run, str(recording), task_set.begin_ns, end_ns))
    difference = found["difference"]
    if difference:
        difference |= {"seconds": (difference.pop("at_ns") - measured_ns) / 1e9}
    return Agreement(found["choices"], found["switches"], (found["last_ns"] - measured_ns) / 1e9, difference)
