"""Tables on standard output. Where that is no terminal, nothing is drawn, and no library is imported to draw it."""

from __future__ import annotations

import os
import sys

from schedlab.system import escaped
from schedlab.tables.layout import MARGIN, Line, lines, text, wrapped
from schedlab.tables.table import Column, Table
from schedlab.tables.width import cell_len, of_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import Any


def print_table(header: list[str], rows: list[list], title: str = "", numeric: Collection[int] = ()) -> None:
    """Print a table of texts or cells; the columns whose index is in `numeric` are set to the right."""
    columns = [Column(name, numeric=place in numeric, prose=place not in numeric) for place, name in enumerate(header)]
    print_laid_out(Table.of_texts(columns, rows, title), first=bool(title))
    print()


def print_notes(notes: Iterable[str]) -> None:
    """Print what belongs below a table, wrapped to the same width; what does not fit in a line goes on indented."""
    width = of_output(escaped.raw(sys.stdout))
    for note in notes:
        print(f"\n{' ' * MARGIN}".join(wrapped(note, max(1, width - MARGIN))) if cell_len(note) > width else note)


def print_laid_out(table: Table, others: Sequence[Sequence[Table]] = (), first: bool = False) -> None:
    """Print a table for the width of the terminal, below an empty line unless it is the first of the output."""
    if not first:
        print()
    stream = escaped.raw(sys.stdout)
    found = lines(table, of_output(stream), others)
    if stream.isatty() or os.environ.get("FORCE_COLOR"):
        _draw(found)
    else:
        sys.stdout.writelines(f"{text(line)}\n" for line in found)


def _draw(found: Iterable[Line]) -> None:
    from rich.text import Text

    out = console()
    for line in found:
        out.print(Text.assemble(*line), soft_wrap=True)


def console(width: int | None = None) -> Any:
    """Standard output for what is drawn; its texts are to be escaped before."""
    import errno

    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> None:
            # The caller of all verbs knows what to do; the library would end the process.
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    stream = escaped.raw(sys.stdout)
    # A terminal may become wider while something is drawn on it.
    return Output(file=stream, width=width or (None if stream.isatty() else of_output(stream)))
