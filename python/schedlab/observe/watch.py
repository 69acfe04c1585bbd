"""The counters of a live host, reported by `schedlab-agent sample`: rows of constant columns, and means over time."""

from __future__ import annotations

import os
import time

from schedlab.errors import UsageError
from schedlab.system.record import Record
from schedlab.targets import agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

#: Sections of a line that are one object each, by the path to them.
SINGLE = ("cpu", "system", "load", "memory", "paging", "tcp", "pressure.cpu", "pressure.memory", "pressure.io")
#: Every level of which tasks can be; the last one is for real-time tasks.
LEVELS = (*range(-20, 20), None)
NOTHING = "schedlab-agent reported nothing"


class Request(Record):
    """What to sample besides the system's counters, how often and how long; durations as the agent reads them."""

    every: str = "1s"
    lasting: str | None = None
    count: int | None = None
    nice: bool = False
    tasks: int = 0
    by: str = "cpu"
    groups: Sequence[str] = ()
    until: int | None = None

    def arguments(self) -> list[str]:
        """The agent's arguments."""
        more = ["nice"] * self.nice + [f"tasks={self.tasks}"] * (self.tasks > 0)
        more += [f"cgroup={group}" for group in self.groups]
        options = {"--for": self.lasting, "--count": self.count, "--until": self.until}
        given = [word for name, value in options.items() if value is not None for word in (name, str(value))]
        # A list would be split at the commas of a group's path.
        wanted = [word for what in more for word in ("--with", what)]
        return ["sample", "--every", self.every, "--by", self.by, *given, *wanted]


def samples(request: Request) -> tuple[dict, Iterator[dict]]:
    """The header, and the lines as they come; closing the iterator ends the agent."""
    stream = agent.lines(request.arguments())
    header = next(stream, None)
    if header is None:
        raise UsageError(NOTHING)
    return header, stream


def texts(request: Request) -> Iterator[str]:
    """The same lines as text; closing the iterator ends the agent."""
    reported = False
    for line in agent.texts(request.arguments()):
        yield line
        reported = True
    if not reported:
        raise UsageError(NOTHING)


class Rows:
    """Lines as rows of numbers, always with the same columns: those of the schema, for the processors, drives,
    interfaces and groups that the header names. A drive that comes later is in the lines only.
    """

    def __init__(self, header: dict, schema: dict, request: Request):
        """Settle the columns."""
        of = {section["name"]: [column["name"] for column in section["columns"]] for section in schema["sections"]}
        self._paths: dict[str, tuple] = {name: (name,) for name in ("at_ns", "seconds", "missed", "own_ns")}
        for section in SINGLE:
            self._add(section, tuple(section.split(".")), of[section])
        for number in range(header["processors"]):
            self._add(f"cpu{number}", ("cpus", number), of["cpus"])
        for section, label, names in (
            ("disks", "name", header["disks"]),
            ("net", "name", header["links"]),
            ("groups", "path", header["groups"]),
            ("nice", "nice", LEVELS if request.nice else ()),
        ):
            for name in names:
                shown = "realtime" if name is None else name
                self._add(f"{section}.{shown}", (section, (label, name)), of[section])

    def _add(self, prefix: str, path: tuple, columns: list[str]) -> None:
        self._paths |= {f"{prefix}.{column}": (*path, column) for column in columns}

    @property
    def columns(self) -> list[str]:
        """Their names."""
        return list(self._paths)

    def row(self, line: dict) -> dict[str, float | None]:
        """The numbers of a line; None for what is not known."""
        return {name: _at(line, path) for name, path in self._paths.items()}


def _at(value: Any, path: tuple) -> float | None:
    for step in path:
        if isinstance(step, tuple):
            label, name = step
            value = next((entry for entry in value or [] if entry[label] == name), None)
        elif isinstance(step, int):
            value = value[step] if step < len(value) else None
        else:
            value = value[step]
        if value is None:
            return None
    return value


class Means:
    """Means of rows, each weighted with the time that it covers."""

    def __init__(self):
        """Of no rows."""
        self.seconds, self.samples, self.missed, self.own_ns = 0.0, 0, 0, 0
        self._sums: dict[str, float] = {}
        self._times: dict[str, float] = {}

    def add(self, row: dict[str, float | None]) -> None:
        """One more row."""
        self.seconds += row["seconds"]
        self.samples += 1
        self.missed += row["missed"]
        self.own_ns += row["own_ns"]
        for name, value in row.items():
            if value is not None and name not in ("at_ns", "seconds", "missed", "own_ns"):
                self._sums[name] = self._sums.get(name, 0.0) + value * row["seconds"]
                self._times[name] = self._times.get(name, 0.0) + row["seconds"]

    def means(self) -> dict[str, float]:
        """The mean of every column that was known at least once."""
        return {name: total / self._times[name] for name, total in self._sums.items() if self._times[name] > 0}

    def story(self, shown: float = 0.0) -> str:
        """How long, how many, and what it cost, in words; `shown` is the processor time, s, that showing them took."""
        if not self.samples:
            return "ended before the first sample"
        cost = self.own_ns / self.samples / 1e6
        share = 100 * self.own_ns / 1e9 / self.seconds if self.seconds else 0.0
        return (
            f"means over {self.seconds:.2f} s, {self.samples} samples, {self.missed} missed; "
            f"sampling cost {cost:.2f} ms of processor time a sample, {share:.2f} % of one processor"
            + (f", showing it {1000 * shown / self.samples:.1f} ms" if shown else "")
        )


class Timed(Record):
    """What a command used, its children included, as the kernel reported it to its parent when it ended."""

    real: float
    user: float
    sys: float
    status: int
    voluntary_switches: int
    involuntary_switches: int
    major_faults: int
    minor_faults: int


#: A shell that becomes the command when a pipe says so: quickly made, so that what it needs itself is hardly seen.
_HOLD = 'read -r go <&9 && exec "$@" 9<&-'


class PausedCommand:
    """A command that is created paused, so that the first sample is taken before it runs."""

    def __init__(self, command: Sequence[str], to_stderr: bool):
        """Create it; with `to_stderr`, its standard output goes to our standard error."""
        import shutil

        if not shutil.which(command[0]):
            raise UsageError(f"{command[0]}: there is no such program")
        reader, self._go = os.pipe()
        actions = [(os.POSIX_SPAWN_DUP2, reader, 9), *([(os.POSIX_SPAWN_DUP2, 2, 1)] if to_stderr else [])]
        self.pid = os.posix_spawn("/bin/sh", ["sh", "-c", _HOLD, "sh", *command], os.environ, file_actions=actions)
        os.close(reader)
        self._began = None

    def start(self) -> None:
        """Start it."""
        self._began = time.monotonic()
        os.write(self._go, b"go\n")
        os.close(self._go)

    def end(self) -> Timed:
        """Wait for its end."""
        _, status, used = os.wait4(self.pid, 0)
        real = time.monotonic() - self._began
        code = os.waitstatus_to_exitcode(status)
        return Timed(
            real=real,
            user=used.ru_utime,
            sys=used.ru_stime,
            status=code if code >= 0 else 128 - code,
            voluntary_switches=used.ru_nvcsw,
            involuntary_switches=used.ru_nivcsw,
            major_faults=used.ru_majflt,
            minor_faults=used.ru_minflt,
        )

    def drop(self) -> None:
        """End it if it was not started: the shell reads end of file and exits."""
        if self._began is None:
            os.close(self._go)
            os.waitpid(self.pid, 0)
