"""Where the time of a command goes, several times over, and of two commands against each other.

The agent measures one run at a time; here runs are put in order and summed up.
"""

from __future__ import annotations

import os

from schedlab.errors import Stopped
from schedlab.system.record import Record
from schedlab.system.status import STOPPED
from schedlab.targets import agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from schedlab.stats import Interval
    from schedlab.stats.comparison import Difference

#: The parts of an elapsed time as the agent names them, and in words.
PARTS = {
    "elapsed_ns": "elapsed",
    "user_ns": "user",
    "system_ns": "system",
    "processor_ns": "waiting for a processor",
    "disk_ns": "waiting for a disk",
    "memory_ns": "waiting for memory",
    "asleep_ns": "asleep",
}
#: Exit statuses above this one name a signal.
SIGNALS = 128


class NotTimed(Exception):
    """The command could not be started, or the agent could not work; it has said why. `status` is what to end with."""

    def __init__(self, status: int):
        """Keep the status."""
        super().__init__(f"not timed: status {status}")
        self.status = status


class Timing(Record):
    """The runs of one command, in the order of the blocks they were done in; each as the agent reported it."""

    command: tuple[str, ...]
    runs: list[dict[str, Any]]

    def interval(self, part: str, whose: str = "main") -> Interval | None:
        """A part, ns, of the first task (`main`) or of all (`whole`); None where it is not known. That of a wait while
        asleep is an estimate: of one run its interval is that of the looks, whose number is `n`.
        """
        from schedlab.observe import waits

        if part in waits.WAITS and len(self.runs) == 1:
            return waits.waited(self.runs[0], part, whose)
        return _interval([_part(run, part, whose) for run in self.runs])

    @property
    def remotes(self) -> list[dict[str, Any]]:
        """The remote ends of its connections, means over the runs."""
        from schedlab.observe import waits

        return waits.remotes(self.runs)

    def count(self, name: str) -> Interval | None:
        """One of the counts; None where it is not known."""
        return _interval([run["counts"][name] for run in self.runs])

    @property
    def unknown(self) -> list[str]:
        """What is not known, and why, each once."""
        return list(dict.fromkeys(line for run in self.runs for line in run["unknown"]))

    @property
    def foreign_percent(self) -> float | None:
        """The most that others used of the processors during a run."""
        return max((run["foreign_percent"] for run in self.runs if run["foreign_percent"] is not None), default=None)

    @property
    def outlived(self) -> list[dict[str, Any]]:
        """Processes that lived on when the command had ended: number, program, processor time up to then."""
        return [process for run in self.runs for process in run["outlived"]]

    @property
    def status(self) -> int:
        """What the last run ended with."""
        return self.runs[-1]["status"]


def measure(
    commands: Sequence[Sequence[str]],
    repeat: int = 1,
    warm_up: int = 0,
    touch_nothing: bool = False,
    seed: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    aside: bool = False,
) -> list[Timing]:
    """Run each command `repeat` times. Every repeat is a block of all commands, in random order, so that what drifts
    meets all of them. Warm-up runs come first and do not count. With `aside`, the commands' standard output goes to
    standard error.
    """
    runs: list[list[dict]] = [[] for _ in commands]
    order = _random(seed) if len(commands) > 1 else None
    total = (warm_up + repeat) * len(commands)
    for done, (block, which) in enumerate(_blocks(len(commands), warm_up + repeat, order)):
        progress(done, total)
        run = _run(commands[which], touch_nothing, aside)
        if run["status"] == STOPPED and total > 1:
            raise Stopped(f"stopped in run {done + 1} of {total}")
        if block >= warm_up:
            runs[which].append(run)
    return [Timing(tuple(command), of) for command, of in zip(commands, runs, strict=True)]


def difference(first: Timing, second: Timing, part: str, whose: str = "main") -> Difference | None:
    """The second's part less the first's, ns, block by block; None where either is not known.

    Judged alone, so it is real if the interval of 95 % leaves out zero.
    """
    from schedlab.stats.comparison import difference as paired

    pairs = [(_part(a, part, whose), _part(b, part, whose)) for a, b in zip(first.runs, second.runs, strict=True)]
    if any(a is None or b is None for a, b in pairs):
        return None
    return paired([b for _, b in pairs], [a for a, _ in pairs])


def _random(seed: int | None) -> random.Random:
    import random

    return random.Random(seed)


def _blocks(commands: int, blocks: int, order: random.Random | None) -> Iterator[tuple[int, int]]:
    for block in range(blocks):
        for which in order.sample(range(commands), commands) if order else range(commands):
            yield block, which


def _run(command: Sequence[str], touch_nothing: bool, aside: bool) -> dict[str, Any]:
    # In memory, and no descriptor of the command's: the agent opens it by the name that it has in this process.
    answer = os.memfd_create("answer")
    try:
        options = ["--output", f"/proc/{os.getpid()}/fd/{answer}", *(["--touch-nothing"] if touch_nothing else [])]
        status = agent.through(["time", *options, "--", *command], aside)
        text = os.pread(answer, os.fstat(answer).st_size, 0)
    finally:
        os.close(answer)
    if not text.strip():
        raise NotTimed(status if status > 0 else SIGNALS - status)
    from json import loads

    return loads(text)


def _part(run: dict[str, Any], part: str, whose: str) -> float | None:
    from schedlab.observe import waits

    if part in waits.WAITS:
        found = waits.waited(run, part, whose)
        return found and found.mean
    parts = run[whose]
    return None if parts is None else parts[part]


def _interval(values: list[float | None]) -> Interval | None:
    from schedlab.stats import mean_interval

    return None if any(value is None for value in values) else mean_interval(values)
