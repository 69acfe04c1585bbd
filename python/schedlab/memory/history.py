"""What is in a database: runs, counted together by class or by program."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import accumulate
from math import ceil
from pathlib import Path
from typing import NamedTuple

from schedlab.errors import UsageError, nearest
from schedlab.memory import store

#: The program that control groups are stored under.
GROUP = "[cgroup]"
#: What runs are counted together by.
BY = ("class", "program")


class Run(NamedTuple):
    """A process that ended: when, of which version, its peak in bytes, and how long it lived."""

    time_ns: int
    version: int
    peak: int
    elapsed_ns: int
    polled: bool


@dataclass
class Group:
    """Runs that are counted together."""

    program: str
    #: The class of arguments; empty for a whole program.
    text: str
    n: int = 0
    #: Of them those whose peak is a lower bound, and those that ended with a status other than 0.
    polled: int = 0
    failed: int = 0
    peak: int = 0
    #: Largest mapped memory.
    mapped: int = 0
    first_ns: int = 0
    last_ns: int = 0
    #: Those that are kept one by one, in order of time.
    runs: list[Run] = field(default_factory=list)
    #: Numbers of runs by version and by bucket of the peak.
    histogram: dict[tuple[int, int], int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As people know it."""
        return f"{self.program} {self.text}".strip()

    @property
    def versions(self) -> list[int]:
        """The numbers of its versions, in order; unknown ones are 0."""
        return sorted({version for version, _ in self.histogram})

    @property
    def kept(self) -> list[int]:
        """The peaks of the kept runs, least first."""
        return sorted(run.peak for run in self.runs)

    def quantile(self, share: float) -> int:
        """The least peak that this share of all runs does not exceed. If not all are kept it is the histogram's, too
        high by one bucket at most.
        """
        if len(self.runs) == self.n:
            return self.kept[rank(self.n, share) - 1]
        buckets: dict[int, int] = {}
        for (_, bucket), n in sorted(self.histogram.items(), key=lambda entry: entry[0][1]):
            buckets[bucket] = buckets.get(bucket, 0) + n
        sums = list(accumulate(buckets.values()))
        at = bisect_left(sums, rank(sums[-1], share))
        return min(store.upper(list(buckets)[at]), self.peak)

    def add(self, other: "Group") -> None:
        """Count those of another one, too."""
        self.n += other.n
        self.polled += other.polled
        self.failed += other.failed
        self.peak, self.mapped = max(self.peak, other.peak), max(self.mapped, other.mapped)
        self.first_ns = min(self.first_ns or other.first_ns, other.first_ns)
        self.last_ns = max(self.last_ns, other.last_ns)
        self.runs += other.runs
        for place, n in other.histogram.items():
            self.histogram[place] = self.histogram.get(place, 0) + n


def rank(n: int, share: float) -> int:
    """Which of n ordered values is the quantile. Rounded first: 0.99 * 100 is a little more than 99."""
    return min(max(ceil(round(share * n, 9)), 1), n)


class Recording(NamedTuple):
    """A recording: when, how, how many processes, how many of unknown arguments, how often messages of the kernel were
    lost, and of these how often those about programs that begin.
    """

    begin_ns: int
    end_ns: int
    how: str
    every_ns: int | None
    processes: int
    unknown: int
    gaps: int
    program_gaps: int
    own_ns: int | None


def lost(gaps: int, program_gaps: int) -> list[str]:
    """What losses mean: without the end of a process it is missing, without the beginning of its program unknown."""
    found = []
    if ends := gaps - program_gaps:
        found.append(f"the kernel's records of ends were lost {_times(ends)}: some processes are missing")
    if program_gaps:
        unknown = "no process is missing by that, but programs or arguments of some are unknown"
        found.append(f"the kernel's process events were lost {_times(program_gaps)}: {unknown}")
    return found


def _times(n: int) -> str:
    return f"{n:,} {'time' if n == 1 else 'times'}"


@dataclass
class History:
    """All that was asked for."""

    groups: list[Group]
    recordings: list[Recording]

    @property
    def notes(self) -> list[str]:
        """What makes the numbers worth less than they look."""
        found = lost(sum(one.gaps for one in self.recordings), sum(one.program_gaps for one in self.recordings))
        if polled := sum(group.polled for group in self.groups):
            found.append(f"{polled} runs were polled: their peaks are lower bounds, and short runs are missing")
        gone = sum(group.n - len(group.runs) for group in self.groups)
        if gone:
            found.append(
                f"{gone} older runs are in histograms only: their peaks are known to 4.4 %, their order is not"
            )
        return found


def load(path: Path, program: str | None = None, by: str = "class") -> History:
    """The history of all programs, of the one of that name, or else of those that fit it. UsageError if none does."""
    if program == "":
        raise UsageError("PROGRAM: is empty; without it, all programs are meant")
    if by not in BY:
        raise UsageError(f"--by {by}: there are {' and '.join(BY)}")
    with store.read(path) as connection, closing(connection.cursor()) as cursor:
        names = {int(one): str(name) for one, name in cursor.execute("SELECT id, name FROM program")}
        exact = program in names.values()
        wanted = {
            one: name
            for one, name in names.items()
            if program is None or (name == program if exact else fnmatchcase(name, program))
        }
        if not wanted:
            hint = nearest(program, names.values()) if program else "schedlab memory record records some"
            raise UsageError(f"{path}: no runs of {program!r}; {hint}" if program else f"{path}: has no runs; {hint}")
        groups = _groups(cursor, wanted)
        columns = "begin_ns, end_ns, how, every_ns, processes, unknown, gaps, program_gaps, own_ns"
        recordings = [Recording(*row) for row in cursor.execute(f"SELECT {columns} FROM recording ORDER BY begin_ns")]
    found = list(groups.values()) if by == "class" else _summed(groups.values())
    for group in found:
        group.runs.sort()
    return History(sorted(found, key=lambda group: (group.program, group.text)), recordings)


def _groups(cursor, names: dict[int, str]) -> dict[int, Group]:
    columns = "id, program, text, n, polled, failed, peak, mapped, first_ns, last_ns"
    groups = {
        int(one): Group(names[program], str(text), *map(int, numbers))
        for one, program, text, *numbers in cursor.execute(f"SELECT {columns} FROM class WHERE n > 0")
        if program in names
    }
    for one, *values, polled in cursor.execute("SELECT class, time_ns, version, peak, elapsed_ns, polled FROM run"):
        if one in groups:
            groups[one].runs.append(Run(*map(int, values), bool(polled)))
    for one, *place, n in cursor.execute("SELECT class, version, bucket, n FROM histogram"):
        if one in groups:
            version, bucket = map(int, place)
            groups[one].histogram[version, bucket] = int(n)
    _refuse_inconsistent(groups.values())
    return groups


def _refuse_inconsistent(groups: Iterable[Group]) -> None:
    for group in groups:
        counted = sum(group.histogram.values())
        least = min([*group.histogram.values(), *(min(run.peak, run.elapsed_ns) for run in group.runs)], default=0)
        if counted != group.n or len(group.runs) > group.n or not group.runs or least < 0:
            raise ValueError(f"the sums of class {group.text!r} do not agree")


def _summed(groups: Iterable[Group]) -> list[Group]:
    found: dict[str, Group] = {}
    for group in groups:
        found.setdefault(group.program, Group(group.program, "")).add(group)
    return list(found.values())


def processes(history: History, asked: str | None) -> list[Group]:
    """The groups of runs without control groups, unless these were asked for: they hold processes, and each other."""
    return [group for group in history.groups if asked or group.program != GROUP]


def runs_in_order(groups: Sequence[Group]) -> list[tuple[Run, Group]]:
    """All kept runs with their groups, in order of time."""
    return sorted(((run, group) for group in groups for run in group.runs), key=lambda pair: pair[0].time_ns)
