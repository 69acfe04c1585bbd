"""What `schedlab watch` does: the counters of this host, live, as rows, or as means with a command's times."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from schedlab.observe.watch import Means, Request, Rows

#: Plain lines after which the headings are printed again.
HEADER_EVERY = 20


def run(
    command: list[str] | None = None,
    every: str = "1s",
    lasting: str | None = None,
    csv: str | None = None,
    json: bool = False,
    nice: bool = False,
    tasks: int = 0,
    by: str = "cpu",
    cgroup: list[str] | None = None,
    once: bool = False,
) -> int:
    """Carry the verb out; gives the exit status."""
    from schedlab.errors import UsageError
    from schedlab.observe.watch import Request

    if by not in ("cpu", "memory", "disk"):
        raise UsageError(f"--by {by}: there is cpu, memory, disk")
    if json and csv == "-":
        raise UsageError("--json and --csv - both want standard output; write --csv FILE")
    if once and command:
        raise UsageError("--once and a command: leave out one of them")
    request = Request(every, lasting, 1 if once else None, nice, tasks, by, tuple(cgroup or ()))
    if command:
        return _time(command, request, csv, json)
    if json and not csv:
        _pass_through(request)
    else:
        _watch(request, csv, json, once)
    return 0


def _pass_through(request: Request) -> None:
    """Print the agent's lines as they are, until there are no more or Ctrl-C; only what a terminal obeys is escaped."""
    from schedlab.observe.watch import texts
    from schedlab.system import escaped

    out, lines = escaped.raw(sys.stdout), texts(request)
    try:
        for line in lines:
            out.write(escaped.of_json(line))
            out.flush()
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:
        # Who read has seen enough; nothing is left to be flushed there.
        sys.stdout = None
    finally:
        lines.close()


def _watch(request: Request, csv: str | None, json: bool, once: bool) -> None:
    import time
    from contextlib import ExitStack, closing

    from schedlab.observe.watch import Means, Rows, samples
    from schedlab.targets import agent

    header, lines = samples(request)
    rows, means = Rows(header, agent.ask(["sample", "--schema"]), request), Means()
    began = time.process_time()
    with closing(lines), ExitStack() as stack:
        shows = [stack.enter_context(show) for show in _shows(header, rows, csv, json, once, request)]
        try:
            _follow(lines, rows, means, shows)
        except BrokenPipeError:
            # Who read has seen enough; nothing is left to be flushed there.
            sys.stdout = None
            return
    if not (json or csv == "-" or once):
        _summary(means, sys.stdout, time.process_time() - began)


def _follow(lines: Iterable[dict], rows: Rows, means: Means, shows: list) -> None:
    """Show every sample, until there are no more or Ctrl-C."""
    try:
        for line in lines:
            row = rows.row(line)
            means.add(row)
            for show in shows:
                show.show(line, row)
    except KeyboardInterrupt:
        pass


def _shows(header: dict, rows: Rows, csv: str | None, json: bool, once: bool, request: Request) -> list:
    shows: list = [_Csv(csv, rows)] if csv else []
    if json:
        shows.append(_JsonLines(header))
    elif csv != "-":
        panels = once or sys.stdout.isatty()
        shows.append(_Panels(header, live=not once) if panels else _Plain())
    return shows


def _time(command: list[str], request: Request, csv: str | None, json: bool) -> int:
    """Run a command while sampling, and print its times and the means on standard error, as `time` does."""
    from contextlib import ExitStack, closing

    from schedlab.observe.watch import Means, PausedCommand, Rows, samples
    from schedlab.system.printing import print_json
    from schedlab.targets import agent

    schema = agent.ask(["sample", "--schema"])
    paused = PausedCommand(command, to_stderr=json or csv == "-")
    try:
        header, lines = samples(request.but(until=paused.pid))
        rows, means = Rows(header, schema, request), Means()
        with closing(lines), ExitStack() as stack:
            shows = [stack.enter_context(_Csv(csv, rows))] if csv else []
            paused.start()
            # Ctrl-C reaches the command, too, which decides how it ends.
            _follow(lines, rows, means, shows)
    except BaseException:
        paused.drop()
        raise
    timed = paused.end()
    if json:
        print_json({"command": command, "times": timed.as_dict(), "samples": means.samples, "missed": means.missed,
                    "own_ns": means.own_ns, "means": means.means()})  # fmt: skip
    else:
        sys.stdout.flush()
        for name in ("real", "user", "sys"):
            print(f"{name:5} {getattr(timed, name):10.3f} s", file=sys.stderr)
        print(
            f"switches {timed.voluntary_switches} waiting, {timed.involuntary_switches} pushed aside; "
            f"faults {timed.major_faults} major, {timed.minor_faults} minor",
            file=sys.stderr,
        )
        _summary(means, sys.stderr)
    return timed.status


class _Csv:
    """Rows as text, the columns' names first."""

    def __init__(self, place: str, rows: Rows):
        self._place, self._columns = place, rows.columns

    def __enter__(self):
        import csv

        self._file = sys.stdout if self._place == "-" else open(self._place, "w", newline="")
        self._rows = csv.DictWriter(self._file, self._columns)
        self._rows.writeheader()
        return self

    def show(self, line: dict, row: dict) -> None:
        self._rows.writerow(row)
        self._file.flush()

    def __exit__(self, *_) -> None:
        if self._place != "-":
            self._file.close()


class _JsonLines:
    """The agent's own lines."""

    def __init__(self, header: dict):
        self._header = header

    def __enter__(self):
        self.show(self._header, {})
        return self

    def show(self, line: dict, row: dict) -> None:
        from schedlab.system.escaped import json

        print(json(line), flush=True)

    def __exit__(self, *_) -> None:
        pass


#: Columns of the plain lines: heading, column of a row, width, divided by.
PLAIN = (
    *((kind, f"cpu.{kind}", 4, 1) for kind in ("usr", "nice", "sys", "idl", "wai", "hiq", "siq", "stl")),
    ("r", "system.r", 4, 1),
    ("b", "system.b", 3, 1),
    ("int", "system.int", 7, 1),
    ("csw", "system.csw", 7, 1),
    ("freeM", "memory.free", 7, 1024),
    ("cachM", "memory.cach", 7, 1024),
    ("pgin", "paging.pgpgin", 7, 1),
    ("pgout", "paging.pgpgout", 7, 1),
    ("swin", "paging.pswpin", 6, 1),
    ("swout", "paging.pswpout", 6, 1),
    ("load1", "load.load1", 6, 0),
    ("pcpu", "pressure.cpu.some", 5, 1),
    ("pmem", "pressure.memory.some", 5, 1),
    ("pio", "pressure.io.some", 5, 1),
)


def _plain(row: dict, name: str, width: int, scale: int) -> str:
    value = row.get(name)
    if value is None:
        return "–".rjust(width)
    return (f"{value / scale:.0f}" if scale else f"{value:.2f}").rjust(width)


class _Plain:
    """One line a sample, as vmstat and dstat print them."""

    def __enter__(self):
        self._lines = 0
        return self

    def show(self, line: dict, row: dict) -> None:
        if self._lines % HEADER_EVERY == 0:
            print(" ".join(heading.rjust(width) for heading, _, width, _ in PLAIN))
        self._lines += 1
        print(" ".join(_plain(row, name, width, scale) for _, name, width, scale in PLAIN), flush=True)

    def __exit__(self, *_) -> None:
        pass


class _Panels:
    """Panels that are drawn anew with each sample, or once."""

    def __init__(self, header: dict, live: bool):
        self._header, self._live = header, live

    def __enter__(self):
        from rich.live import Live

        from schedlab.tables.printed import console

        self._console = console(width=None if sys.stdout.isatty() else 120)
        if self._live:
            self._display = Live(console=self._console, auto_refresh=False, vertical_overflow="crop")
            self._display.__enter__()
        return self

    def show(self, line: dict, row: dict) -> None:
        from schedlab.report.watched import panels

        drawn = panels(self._header, line, self._console.width)
        if self._live:
            self._display.update(drawn, refresh=True)
        else:
            self._console.print(drawn)

    def __exit__(self, *reason) -> None:
        if self._live:
            self._display.__exit__(*reason)


def _summary(means: Means, out, shown: float = 0.0) -> None:
    """The means of what the plain lines show."""
    found = means.means()
    print(means.story(shown), file=out)
    if found:
        print(" ".join(heading.rjust(width) for heading, _, width, _ in PLAIN), file=out)
        print(" ".join(_plain(found, name, width, scale) for _, name, width, scale in PLAIN), file=out)
