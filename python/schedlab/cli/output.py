"""What the verbs share: JSON for programs, tables for people, progress on stderr, and where files may be written."""

import errno
import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedlab.cli.forms import Form
from schedlab.system import escaped

if TYPE_CHECKING:
    from schedlab.tables import Table

#: What every JSON document begins with, before the verb; and the version of all of them. It changes when a field is
#: removed or changes its meaning. Fields may be added in any version.
FORMATS, VERSION = "schedlab", 1


def print_json(value: Any, fixed: bool = True, name: str | None = None) -> None:
    """Print one JSON document, of that name; by default the verb's.

    An object says what it is and in which version, unless its keys are names (`fixed` is false); a list cannot.
    """
    if isinstance(value, dict) and fixed:
        value = {"schema": f"{FORMATS}/{name or _verb()}/{VERSION}"} | value
    print(escaped.json(value, indent=2))


def error_document(kind: str, status: int, message: str) -> str:
    """An error as a line of JSON, for standard error."""
    return escaped.json({"schema": f"{FORMATS}/error/{VERSION}", "kind": kind, "status": status, "message": message})


def _verb() -> str:
    """The verb at work, as a schema's file is named: "host-check"."""
    from schedlab.cli import verbs

    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    return "-".join(words[: 2 if words[:1] and words[0] in verbs.GROUPS else 1]) or "schedlab"


def refuse_unwritable(**files: Path | None) -> None:
    """Refuse files that cannot be written, by their options, before hours of work go into them."""
    from schedlab.errors import UsageError
    from schedlab.system.writing import is_stream

    for option, path in files.items():
        if path is None:
            continue
        known = f"--{option} {path}"
        if is_stream(path) and not path.is_dir():
            if not os.access(path, os.W_OK):
                raise UsageError(f"{known}: permission denied")
            continue
        path = Path(os.path.realpath(path))
        if not path.parent.is_dir():
            raise UsageError(f"{known}: there is no folder {path.parent}")
        if path.is_dir():
            raise UsageError(f"{known}: is a folder")
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise UsageError(f"{known}: nothing may be written in the folder {path.parent}")


def print_table(header: list[str], rows: list[list], title: str = "", numeric: Collection[int] = ()) -> None:
    """Print a table of texts or cells; the columns whose index is in `numeric` are set to the right."""
    from schedlab.tables import Column, Table

    columns = [Column(name, numeric=place in numeric, prose=place not in numeric) for place, name in enumerate(header)]
    _print_laid_out(Table.of_texts(columns, rows, title), first=bool(title))
    print()


def _print_laid_out(table: "Table", others: "Sequence[Sequence[Table]]" = (), first: bool = False) -> None:
    """Print a table for the width of the terminal, below an empty line unless it is the first of the output."""
    from rich.text import Text

    from schedlab.tables.layout import lines
    from schedlab.tables.width import of_output

    out = console()
    if not first:
        print()
    for line in lines(table, of_output(escaped.raw(sys.stdout)), others):
        out.print(Text.assemble(*line), soft_wrap=True)


def print_result(
    form: Form,
    table: "Table",
    notes: Sequence[str] = (),
    others: "Sequence[Sequence[Table]]" = (),
    first: bool = False,
) -> None:
    """Print a table of results in a form that is not JSON, and notes on it: with CSV on standard error.

    `others` hold the same numbers in other forms. `first`: nothing was printed before.
    """
    from schedlab.system.terminal import say
    from schedlab.tables import formats

    if form is Form.CSV:
        print(formats.csv(table), end="")
        for note in notes:
            say(note)
    elif form is Form.MARKDOWN:
        print(formats.markdown(table))
        for note in notes:
            print(f"- {formats.meant_as_text(note)}")
        if notes:
            print()
    else:
        _print_laid_out(table, others, first)
        if notes:
            print("\n" + "\n".join(notes))


def console(width: int | None = None) -> Any:
    """Standard output for what is drawn; its texts are to be escaped before."""
    from rich.console import Console

    from schedlab.tables.width import of_output

    class Output(Console):
        def on_broken_pipe(self) -> None:
            # The caller of all verbs knows what to do; the library would end the process.
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    stream = escaped.raw(sys.stdout)
    # A terminal may become wider while something is drawn on it.
    return Output(file=stream, width=width or (None if stream.isatty() else of_output(stream)))


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr if that is a terminal; yields the function that advances it to (done, total)."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from schedlab.system.terminal import is_quiet

    shown = TextColumn("{task.description}", markup=False)
    columns = (shown, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(file=escaped.raw(sys.stderr))
    with Progress(*columns, console=console, transient=True, disable=is_quiet() or not sys.stderr.isatty()) as bar:
        task = bar.add_task(escaped.escaped(title), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
