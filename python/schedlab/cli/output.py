"""What the verbs share: JSON for programs, tables for people, progress on stderr, and where files may be written."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from schedlab.cli.forms import Form
from schedlab.system import escaped
from schedlab.system.printing import print_json, refuse_unwritable
from schedlab.tables.printed import console, print_laid_out, print_notes, print_table

if TYPE_CHECKING:
    from schedlab.tables import Table

__all__ = [
    "console",
    "print_compared",
    "print_json",
    "print_notes",
    "print_result",
    "print_table",
    "progress_bar",
    "progress_lines",
    "refuse_unwritable",
]


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
        return
    table, left = table.shortened()
    others = [[part.shortened()[0] for part in parts] for parts in others]
    notes = [*([f"{left}: --csv or --json prints all of them"] if left else []), *notes]
    if form is Form.MARKDOWN:
        print(formats.markdown(table))
        for note in notes:
            print(f"- {formats.meant_as_text(note)}")
        if notes:
            print()
    else:
        print_laid_out(table, others, first)
        if notes:
            print()
            print_notes(notes)


def print_compared(form: Form, table: "Table", words: Sequence[str], notes: Sequence[str], first: bool = False) -> None:
    """Print a comparison: its title and verdicts in words, then its table with notes below."""
    from schedlab.system.terminal import say
    from schedlab.tables import formats

    if form is Form.CSV:
        for line in words:
            say(line)
    elif form is Form.MARKDOWN:
        print(
            "\n".join([formats.meant_as_text(table.title), "", *(f"- {formats.meant_as_text(line)}" for line in words)])
        )
        print()
    else:
        print(f"{'' if first else chr(10)}{table.title}\n")
        print_notes(words)
    print_result(form, table.but(title="") if form is not Form.CSV else table, notes)


#: Seconds between two lines of progress, at least.
LINES_EVERY = 0.2


def progress_lines() -> Callable[[int, int], None]:
    """A function that prints how many runs are finished, of (done, total): five lines a second at most."""
    from time import monotonic

    from schedlab.system.terminal import say

    printed = 0.0

    def advance(done: int, total: int) -> None:
        nonlocal printed
        if done == total or monotonic() - printed >= LINES_EVERY:
            printed = monotonic()
            say(f"{done} of {total} runs")

    return advance


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[..., None]]:
    """A progress bar on stderr if that is a terminal; yields the function that advances it to (done, total).

    A third argument, a text, is shown below the bar, each of its lines cut to the width of the terminal.
    """
    from rich.console import Console, RenderableType
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.text import Text

    from schedlab.system.terminal import is_quiet

    class WithLines(Progress):
        """A bar with lines below it."""

        lines: Sequence[str] = ()

        def get_renderables(self) -> Iterator[RenderableType]:
            yield from super().get_renderables()
            for one in self.lines:
                yield Text(one, no_wrap=True, overflow="ellipsis")

    shown = TextColumn("{task.description}", markup=False)
    columns = (shown, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(file=escaped.raw(sys.stderr))
    with WithLines(*columns, console=console, transient=True, disable=is_quiet() or not sys.stderr.isatty()) as bar:
        task = bar.add_task(escaped.escaped(title), total=None)

        def advance(done: int, total: int, said: str = "") -> None:
            bar.lines = escaped.escaped(said).splitlines()
            bar.update(task, completed=done, total=total)

        yield advance
