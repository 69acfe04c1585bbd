"""Which processes belong together: equal tasks of a program are one user of a resource, as is what ends below one task.

Ten equal hogs have a tenth each. A list of tasks would put one larger task before all of them, so tasks of a program
are summed. Tasks are of the same program if their names are equal, and their sessions or their command lines as well.
"""

from __future__ import annotations

import os

from schedlab.system.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

#: Share of what ended below a task from which one program is named for it; else the task itself is.
MOST_OF_IT = 0.5
#: Programs that are listed for a task below which many ended.
MOST_LISTED = 3
INIT = 1


class Use(Record):
    """How much of a resource a process had, or tasks of one program that ended below it."""

    #: Of the process that lives.
    pid: int
    program: str
    amount: float
    #: How many ended; 0: this is the process itself.
    ended: int = 0
    note: str = ""


class Total(Record):
    """A program and all that its tasks had."""

    program: str
    amount: float
    #: The living task that had most, or the one below which most ended.
    pid: int
    #: Its living tasks, those with most first.
    members: tuple[int, ...]
    ended: int
    #: The living tasks below which they ended, those with most first.
    under: tuple[int, ...]
    note: str


def of_process(pid: int) -> tuple[int | None, bytes]:
    """Session and command line of a process that lives; kernel threads have no command line."""
    try:
        session = os.getsid(pid)
    except OSError:
        session = None
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return session, file.read(4096)
    except OSError:
        return session, b""


class Grouping:
    """Sessions and command lines of the processes seen, each read once."""

    def __init__(self, ask: Callable[[int], tuple[int | None, bytes]] = of_process):
        """`ask` gives both of a process."""
        self._ask = ask
        self._known: dict[int, tuple[int | None, bytes]] = {}
        #: The first session that was seen with a command line.
        self._first: dict[bytes, int | None] = {}

    def see(self, pid: int) -> None:
        """Ask while it lives."""
        if pid not in self._known:
            session, words = self._known[pid] = self._ask(pid)
            if words:
                self._first.setdefault(words, session)

    def is_kernel(self, pid: int) -> bool:
        """Whether it is a thread of the kernel: those are in session 0, and have no command line."""
        self.see(pid)
        return self._known[pid] == (0, b"")

    def group(self, pid: int) -> Hashable:
        """Equal for processes of one session, and for those of one command line."""
        self.see(pid)
        session, words = self._known[pid]
        return self._first.get(words, session) if session is not None else ("alone", pid)


def totals(uses: Iterable[Use], grouping: Grouping, name: Callable[[int], str]) -> list[Total]:
    """By program, largest first; `name` gives a living process's."""
    of: dict[Hashable, list[Use]] = {}
    for use in _by_parent(list(uses), grouping, name):
        of.setdefault((use.program, grouping.group(use.pid)), []).append(use)
    return sorted(map(_total, of.values()), key=lambda it: -it.amount)


def _total(uses: list[Use]) -> Total:
    uses = sorted(uses, key=lambda use: -use.amount)
    members = tuple(dict.fromkeys(use.pid for use in uses if not use.ended))
    under = tuple(dict.fromkeys(use.pid for use in uses if use.ended))
    notes = dict.fromkeys(use.note for use in uses if use.note)
    return Total(
        program=uses[0].program,
        amount=sum(use.amount for use in uses),
        pid=(members or under)[0],
        members=members,
        ended=sum(use.ended for use in uses),
        under=under,
        note=", ".join(notes),
    )


def _by_parent(uses: list[Use], grouping: Grouping, name: Callable[[int], str]) -> list[Use]:
    """Where no program is most of what ended below a task, that task is what they have in common: a build, a script.
    Not so the first process of all, which only inherits them.
    """
    below: dict[Hashable, list[Use]] = {}
    for use in uses:
        if use.ended and use.pid != INIT:
            below.setdefault((name(use.pid), grouping.group(use.pid)), []).append(use)
    groups = [group for group in below.values() if _largest(group) < MOST_OF_IT * sum(use.amount for use in group)]
    gone = {id(use) for group in groups for use in group}
    found = [use for use in uses if id(use) not in gone]
    for group in groups:
        programs = list(dict.fromkeys(use.program for use in sorted(group, key=lambda use: -use.amount)))
        listed = ", ".join(programs[:MOST_LISTED]) + (" ..." if len(programs) > MOST_LISTED else "")
        note = f"of {len(programs)} programs: {listed}"
        found += [use.but(program=name(use.pid), note=note) for use in group]
    return found


def _largest(group: list[Use]) -> float:
    sums: dict[str, float] = {}
    for use in group:
        sums[use.program] = sums.get(use.program, 0.0) + use.amount
    return max(sums.values())
