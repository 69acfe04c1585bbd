"""The agent's lines into the database: what comes until a line `until` is one transaction.

While another program has the database locked, the lines of several of these are kept, for `PATIENCE_SECONDS` and up to
`MOST_KEPT`; they are one transaction then.

A version of a program is its file's device, inode, size and time of the last change; they are numbered in the order in
which they appear. The `(other)` of a bound (`store`) is a program, class or version like any other.
"""

import sqlite3
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

from schedlab.memory import store
from schedlab.memory.classes import OTHER, Rules, named, of_group
from schedlab.memory.history import GROUP

#: What a gap says in which process events were lost: beginnings of programs, and no end.
PROGRAMS = "programs"
#: How long and how many lines are kept while the database is locked: a minute, and some 2 KiB each.
PATIENCE_SECONDS, MOST_KEPT = 60.0, 1 << 16


class Recorder:
    """Takes lines, and stores them when a line says that they belong together."""

    def __init__(self, connection: sqlite3.Connection, rules: Rules):
        """Read what is known already."""
        self._connection, self._rules = connection, rules
        self._programs: dict[str, int] = dict(connection.execute("SELECT name, id FROM program"))
        found = connection.execute("SELECT program, text, id, n FROM class")
        self._classes = {(program, text): (one, n) for program, text, one, n in found}
        self._versions: dict[tuple[int, str], int] = {}
        self._newest: Counter[int] = Counter()
        for program, identity, number in connection.execute("SELECT program, identity, number FROM version"):
            self._versions[program, identity] = number
            self._newest[program] = max(self._newest[program], number)
        self._of_program = Counter(program for program, _ in self._classes)
        self._counts = {one: n for one, n in self._classes.values()}
        self._gaps = connection.execute("SELECT count(*) FROM gap").fetchone()[0]
        self._recording: int | None = None
        self.processes = self.unknown = self.gaps = self.program_gaps = 0
        self.begun: dict[str, Any] = {}
        self.own_ns: int | None = None
        #: Lines of the second that goes on, and of whole ones that are not stored yet; when the last of these ended.
        self._held: list[dict[str, Any]] = []
        self._due: list[dict[str, Any]] = []
        self._due_ns = 0
        #: Since when the database is locked.
        self._locked: float | None = None

    def take(self, line: dict[str, Any]) -> None:
        """Take a line of the agent's."""
        if line["kind"] != "until":
            self._held.append(line)
            return
        self._due += self._held
        self._held, self._due_ns = [], line["time_ns"]
        self._try()

    def finish(self) -> None:
        """Store what a lock has kept from it: no more lines come."""
        while self._locked is not None:
            self._try()

    def _try(self) -> None:
        """Store what is due, unless the database is locked: then it is kept. Raises store.Locked if that has no end."""
        if not store.begun(self._connection):
            now = time.monotonic()
            self._locked = now if self._locked is None else self._locked
            if now - self._locked >= PATIENCE_SECONDS or len(self._due) > MOST_KEPT:
                ended = sum(line["kind"] == "process" for line in self._due)
                raise store.Locked(
                    f"another program has kept it locked for {now - self._locked:.0f} s; "
                    f"processes that ended meanwhile and are not stored: {ended:,}"
                )
            return
        try:
            self._store(self._due, self._due_ns)
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        self._due, self._locked = [], None

    def _store(self, lines: Iterable[dict[str, Any]], time_ns: int) -> None:
        runs, sums, histogram = [], [], Counter()
        for line in lines:
            match line["kind"]:
                case "begin":
                    self._begin(line)
                case "process" | "group":
                    run, total, place = self._run(line)
                    runs.append(run)
                    sums.append(total)
                    histogram[place] += 1
                case "gap":
                    self._gap(line)
                case "finish":
                    self.own_ns = line["own_ns"]
        execute = self._connection.executemany
        execute("INSERT OR REPLACE INTO run VALUES (?, ?, ?, ?, ?, ?, ?)", runs)
        execute(
            "UPDATE class SET n = n + 1, polled = polled + ?, failed = failed + ?, peak = max(peak, ?), "
            "mapped = max(mapped, ?), last_ns = ? WHERE id = ?",
            sums,
        )
        execute(
            "INSERT INTO histogram VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
            [(*place, n) for place, n in histogram.items()],
        )
        counts = (self.processes, self.unknown, self.gaps, self.program_gaps, self.own_ns)
        columns = ("end_ns", "processes", "unknown", "gaps", "program_gaps", "own_ns")
        change = f"UPDATE recording SET {', '.join(f'{name} = ?' for name in columns)} WHERE id = ?"
        self._connection.execute(change, (time_ns, *counts, self._recording))

    def _begin(self, line: dict[str, Any]) -> None:
        self.begun = line
        values = (line["time_ns"], line["time_ns"], line["how"], line["every_ns"])
        made = "INSERT INTO recording VALUES (NULL, ?, ?, ?, ?, 0, 0, 0, 0, NULL)"
        self._recording = self._connection.execute(made, values).lastrowid

    def _gap(self, line: dict[str, Any]) -> None:
        self.gaps += 1
        self.program_gaps += line["what"] == PROGRAMS
        values = (self._gaps % store.GAPS, self._recording, line["time_ns"], line["what"])
        self._connection.execute("INSERT OR REPLACE INTO gap VALUES (?, ?, ?, ?)", values)
        self._gaps += 1

    def _run(self, line: dict[str, Any]) -> tuple[tuple, tuple, tuple]:
        """A process or group as a row of runs, as what it adds to its class, and its place in the histogram."""
        time_ns, peak = line["time_ns"], line["peak_bytes"]
        if line["kind"] == "group":
            name, text = GROUP, of_group(line["path"])
            identity, polled, failed, mapped = "", False, False, 0
        else:
            name, text = named(line["path"], line["name"], line["arguments"], line["forked"], self._rules)
            file = line["file"]
            identity = (
                "" if file is None else ":".join(str(file[key]) for key in ("device", "inode", "size", "modified_ns"))
            )
            polled, failed, mapped = line["how"] == "polled", bool(line["status"]), line["peak_virtual_bytes"]
            self.processes += 1
            self.unknown += line["arguments"] is None
        program = self._program(name)
        one = self._class(program, text, time_ns)
        version = self._version(program, identity, time_ns)
        n = self._counts[one]
        self._counts[one] = n + 1
        run = (one, n % store.KEPT, time_ns, version, peak, line["elapsed_ns"], int(polled))
        return run, (int(polled), int(failed), peak, mapped, time_ns, one), (one, version, store.bucket(peak))

    def _program(self, name: str) -> int:
        if name not in self._programs and len(self._programs) >= store.PROGRAMS:
            name = OTHER
        if name not in self._programs:
            made = self._connection.execute("INSERT INTO program VALUES (NULL, ?)", (name,))
            self._programs[name] = made.lastrowid
        return self._programs[name]

    def _class(self, program: int, text: str, time_ns: int) -> int:
        full = self._of_program[program] >= store.CLASSES or len(self._classes) >= store.ALL_CLASSES
        if (program, text) not in self._classes and full:
            text = OTHER
        if (program, text) not in self._classes:
            made = self._connection.execute(
                "INSERT INTO class (program, text, first_ns, last_ns) VALUES (?, ?, ?, ?)",
                (program, text, time_ns, time_ns),
            )
            self._classes[program, text] = made.lastrowid, 0
            self._of_program[program] += 1
            self._counts[made.lastrowid] = 0
        return self._classes[program, text][0]

    def _version(self, program: int, identity: str, time_ns: int) -> int:
        """The number of a version; 0 where the file is not known, and the last number for all beyond the bound."""
        if not identity:
            return 0
        if (program, identity) not in self._versions:
            if self._newest[program] >= store.VERSIONS:
                return store.VERSIONS
            self._newest[program] += 1
            values = (program, identity, self._newest[program], time_ns)
            self._connection.execute("INSERT INTO version VALUES (NULL, ?, ?, ?, ?)", values)
            self._versions[program, identity] = self._newest[program]
        return self._versions[program, identity]
