"""Which tasks use a resource up: those that live, and programs whose tasks ended before they could be sampled."""

from __future__ import annotations

import os

from schedlab.observe.grouping import Grouping, Total, Use, totals
from schedlab.system.record import Record
from schedlab.targets.linux import HZ, REAL_TIME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import TypeVar

    T = TypeVar("T")

#: Programs that are named for a resource at most, and their entries: one program in many sessions hides no other.
MOST_NAMES, MOST_TASKS = 5, 10
#: Tasks of a program that the kernel is asked about at most.
MOST_ASKED = 64
#: Processor time of a task that its record may lack, ns: what ran since the last clock tick is not yet added up.
UNRECORDED_NS = 10**9 // HZ


class Task(Record):
    """A task, or a program below a task, and how much of a resource it had."""

    pid: int
    name: str
    amount: float
    group: str | None
    #: What else makes it remarkable.
    note: str = ""
    #: All living tasks of a program whose amounts were summed, those with most first.
    members: tuple[int, ...] = ()
    #: Of the amount, where it is not the finding's.
    unit: str = ""

    def __str__(self) -> str:
        """For a line of text."""
        about = ", ".join(filter(None, (str(self.pid), self.note, self.group and f"in {self.group}")))
        return f"{self.name} ({about})"


class Usage:
    """What each task used, over all lines of samples, and the programs that ended meanwhile."""

    def __init__(self, but: Collection[int] = (), grouping: Grouping | None = None):
        """Of no lines; `but` are our own, `grouping` knows which belong together."""
        self._grouping = grouping or Grouping()
        self._lines = 0
        self._but = {*but, os.getpid()}
        self._tasks: dict[int, dict] = {}
        self.programs: list[dict] | None = None

    @property
    def lines(self) -> int:
        """How many it has seen."""
        return self._lines

    def add(self, line: dict) -> None:
        """One more line."""
        self._lines += 1
        for task in line["tasks"] or []:
            sums = self._tasks.setdefault(task["pid"], {"name": task["name"]})
            sums["policy"] = task["policy"]
            self._grouping.see(task["pid"])
            for column in ("cpu", "ended", "rkB/s", "wkB/s", "rss", "nvcsw"):
                sums[column] = sums.get(column, 0.0) + (task.get(column) or 0.0)

    def take(self, seen: dict) -> None:
        """What the agent's `suspects` saw: programs that ended, and the number of the agent itself."""
        self._but |= {seen["pid"]} if "pid" in seen else set()
        if (ended := seen.get("ended")) is None:
            return
        seconds = max(seen["seconds"], 1e-9)
        percent = 100 / seconds / 1e9
        self.programs = [
            {
                **program,
                "per_s": program["tasks"] / seconds,
                "least": program["ran_ns"] * percent,
                "most": (program["ran_ns"] + program["tasks"] * UNRECORDED_NS) * percent,
            }
            for program in ended
            if program["under"] not in self._but
        ]

    def processor(self) -> list[Task]:
        """By processor time, percent of a processor: programs, with their tasks that live and those that ended."""
        return self._most([*self._by("cpu"), *self._children()])

    def alone(self) -> list[Task]:
        """Living tasks by processor time, each for itself, percent of a processor."""
        uses = sorted(self._by("cpu"), key=lambda use: -use.amount)[:MOST_TASKS]
        return [Task(it.pid, it.program, it.amount, group_of(it.pid), tied([it.pid])) for it in uses if it.amount > 0]

    def _children(self) -> list[Use]:
        if self.programs is None:
            # A number of its own: how many ended is not known.
            return [use.but(note="with its children that have ended") for use in self._by("ended")]
        below: dict[int, list[dict]] = {}
        for program in self.programs:
            below.setdefault(program["under"], []).append(program)
        return [use for pid, programs in below.items() for use in self._shared(pid, programs)]

    def _shared(self, pid: int, programs: list[dict]) -> list[Use]:
        """What a task's ended children used. Their parent's credit says more than their own records, which lack what
        ran since the last clock tick. But a parent that waits for no child is credited with nothing, and the credit
        for a long life comes at once, though most of it was used before the while began.
        """
        least, most = (sum(program[bound] for program in programs) for bound in ("least", "most"))
        used = min(max(self.of(pid, "ended"), least), most)
        weights = [program["ran_ns"] + program["tasks"] * UNRECORDED_NS for program in programs]
        return [
            self._ended(program, used * weight / sum(weights))
            for program, weight in zip(programs, weights, strict=True)
        ]

    def disk(self) -> list[Task]:
        """By what was read from and sent to drives, KiB/s. A parent's counters hold those of children it waited for."""
        programs = [program for program in self.programs or [] if program["disk_kib_per_s"] > 0]
        below: dict[int, float] = {}
        for program in programs:
            below[program["under"]] = below.get(program["under"], 0.0) + program["disk_kib_per_s"]
        own = [use.but(amount=use.amount - below.get(use.pid, 0.0)) for use in self._by("rkB/s", "wkB/s")]
        # A parent whose children moved nearly all of it is not reported.
        own = [use for use in own if use.amount > 0.1 * below.get(use.pid, 0.0)]
        return self._most([*own, *(self._ended(program, program["disk_kib_per_s"]) for program in programs)])

    def begun(self) -> list[Task]:
        """Programs that ended, by how many a second of the while; where they are not known, by their processor time."""
        if self.programs:
            return self._most(self._ended(program, program["per_s"]) for program in self.programs)
        uses = [use.but(note="its children that have ended") for use in self._by("ended")]
        return [task.but(unit="% of a processor") for task in self._most(uses)]

    def memory(self) -> list[Task]:
        """By memory present, KiB; what tasks of a program share is counted in each."""
        return self._most(self._by("rss"))

    def switching(self) -> list[Task]:
        """By how often they waited, 1/s. Threads of the kernel work for others."""
        return self._most(use for use in self._by("nvcsw") if not self._grouping.is_kernel(use.pid))

    def realtime(self) -> list[Task]:
        """Real-time tasks by processor time, percent of a processor."""
        policies = {pid: sums["policy"] for pid, sums in self._tasks.items() if sums["policy"] in REAL_TIME}
        found = [use for use in self._by("cpu") if use.pid in policies]
        return self._most(use.but(note=policies[use.pid]) for use in found)

    def members(self, pids: Iterable[int], column: str) -> list[Task]:
        """Of these tasks those that had most."""
        wanted = set(pids)
        found = [use.but(amount=use.amount + 1e-9) for use in self._by(column) if use.pid in wanted]
        return self._most(found)

    def named(self, amounts: dict[int, float], note: str = "") -> list[Task]:
        """These, each with its amount."""
        found = [Use(pid, self.name(pid), amount, note=note) for pid, amount in amounts.items()]
        return self._most(use for use in found if use.pid not in self._but)

    def of(self, pid: int, column: str) -> float:
        """The mean of a task's column."""
        return self._tasks.get(pid, {}).get(column, 0.0) / max(1, self._lines)

    def name(self, pid: int) -> str:
        """Of a process that lives."""
        return self._tasks.get(pid, {}).get("name") or _name(pid)

    def _by(self, *columns: str) -> list[Use]:
        return [
            Use(pid, sums["name"], sum(self.of(pid, column) for column in columns))
            for pid, sums in self._tasks.items()
            if pid not in self._but
        ]

    def _ended(self, program: dict, amount: float) -> Use:
        return Use(program["under"], program["name"], amount, program["tasks"])

    def _most(self, uses: Iterable[Use]) -> list[Task]:
        """The first few programs, with what is asked of the kernel only for those that are named."""
        found = totals((use for use in uses if use.amount > 0), self._grouping, self.name)
        names = list(dict.fromkeys(total.program for total in found))[:MOST_NAMES]
        entries = {name: [total for total in found if total.program == name] for name in names}
        # The largest of each, then what is larger of the rest.
        rest = [total for name in names for total in entries[name][1:]]
        rest = sorted(rest, key=lambda total: -total.amount)[: MOST_TASKS - len(names)]
        shown = sorted([entries[name][0] for name in names] + rest, key=lambda total: -total.amount)
        return [self._task(total) for total in shown]

    def _task(self, total: Total) -> Task:
        about = [total.note]
        if len(total.members) > 1:
            about.append(f"{len(total.members)} tasks of this program")
        if total.ended:
            more = f" and {len(total.under) - 1} more" if len(total.under) > 1 else ""
            about.append(f"{total.ended:,} ended below {self.name(total.under[0])}{more}")
        shown = (total.members or total.under)[:MOST_ASKED]
        groups = {group_of(pid) for pid in shown}
        about.append(tied(shown))
        note = ", ".join(filter(None, about))
        return Task(total.pid, total.program, total.amount, one(groups), note, total.members)


def _text(pid: int, name: str) -> str:
    with open(f"/proc/{pid}/{name}") as file:
        return file.read()


def _name(pid: int) -> str:
    try:
        return _text(pid, "comm").strip()
    except OSError:
        return "?"


def tied(pids: Collection[int]) -> str:
    """In words, if these tasks may use only some of the processors, all the same."""
    affinities = {_affinity(pid) for pid in pids}
    own = one(affinities)
    if not own or len(own) >= (os.cpu_count() or 1):
        return ""
    return "tied to processor " + ",".join(map(str, sorted(own)[:4]))


def _affinity(pid: int) -> frozenset[int]:
    try:
        return frozenset(os.sched_getaffinity(pid))
    except OSError:
        return frozenset()


def one(found: Collection[T]) -> T | None:
    """The only one; None if there are several."""
    return next(iter(found)) if len(found) == 1 else None


def group_of(pid: int) -> str | None:
    """The control group of a task, of the controller in which it is deepest; None if it has ended or is in no group."""
    try:
        lines = _text(pid, "cgroup").splitlines()
    except OSError:
        return None
    paths = [line.split(":", 2)[2] for line in lines if line.count(":") >= 2]
    deepest = max(paths, key=lambda path: path.count("/") if path != "/" else 0, default="/")
    return deepest if deepest != "/" else None
