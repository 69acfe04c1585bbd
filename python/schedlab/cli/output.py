"""What the verbs share: JSON for programs, tables for people, progress on stderr, and where files may be written."""

import errno
import os
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from schedlab.system import escaped


def print_json(value: Any) -> None:
    """Print one JSON document."""
    print(escaped.json(value, indent=2))


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
    """Print a table; the columns whose index is in `numeric` are set to the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    def shown(cell: Any, style: str = "") -> Text:
        return Text(escaped.escaped(str(cell)), style=cell.style if isinstance(cell, Text) else style)

    table = Table(box=box.SIMPLE_HEAD, title=shown(title, "bold") if title else None, title_justify="left")
    for index, name in enumerate(header):
        table.add_column(shown(name), justify="right" if index in numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(shown, row))
    console(width=None if sys.stdout.isatty() else 160).print(table)


def console(width: int | None = None) -> Any:
    """Standard output for what is drawn; its texts are to be escaped before."""
    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> None:
            # The caller of all verbs knows what to do; the library would end the process.
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    return Output(file=escaped.raw(sys.stdout), width=width)


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr if that is a terminal; yields the function to tell it (done, total)."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    shown = TextColumn("{task.description}", markup=False)
    columns = (shown, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(file=escaped.raw(sys.stderr))
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(escaped.escaped(title), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
