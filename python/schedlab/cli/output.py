"""What the verbs share: JSON for programs, tables for people, and progress on stderr."""

import json
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any


def print_json(value: Any) -> None:
    """Print one JSON document."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    print()


def say(line: str) -> None:
    """Tell the person at work something that is not part of the result."""
    print(line, file=sys.stderr, flush=True)


def print_table(header: list[str], rows: list[list], title: str = "", numeric: Collection[int] = ()) -> None:
    """Print a table; the columns whose index is in `numeric` are set to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, title=Text(title, style="bold") if title else None, title_justify="left")
    for index, name in enumerate(header):
        table.add_column(Text(name), justify="right" if index in numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row))
    Console(width=None if sys.stdout.isatty() else 160).print(table)


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr if that is a terminal; yields the function to tell it (done, total)."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
