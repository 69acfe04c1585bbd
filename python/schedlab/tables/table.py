"""A table: columns with their units, and rows of cells."""

from __future__ import annotations

from collections.abc import Sequence

from schedlab.system.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


#: A table of more rows is shortened for the eye: the second number is how many of them are shown at either end.
MOST_ROWS, END_ROWS = 200, 20


class Column(Record):
    """A column. Its unit is stated in the heading, and in no cell."""

    name: str
    #: The unit of the cells' texts; empty where there is none, or where each row has its own in another column.
    unit: str = ""
    #: Set to the right. The texts are never wrapped.
    numeric: bool = False
    #: Names the row: repeated in every part of a table that is split.
    key: bool = False
    #: Sentences: the texts may be wrapped between words.
    prose: bool = False
    #: The heading has its own line ends, and is broken at no other place.
    solid: bool = False
    #: The heading may also be broken after the dots of a name.
    dotted: bool = False
    #: Headings of the plain values behind a cell, with their units; the heading alone if left out.
    plain: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        """Name and unit."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name

    @property
    def plain_headings(self) -> tuple[str, ...]:
        """The headings of this column in a CSV file."""
        return self.plain or (self.heading,)


class Cell(Record):
    """A text to read, and the plain values that a CSV file has in its place: one for each plain heading."""

    text: str
    plain: tuple[Any, ...] | None = None
    #: How a terminal shows it, such as "bold red".
    style: str = ""


def rows_of(things: Sequence[Any], make: Callable[[Any], Sequence[Cell]]) -> Sequence[Sequence[Cell]]:
    """A row for each of the things; of a large table, of which few rows are shown, made when they are read."""
    return [make(one) for one in things] if len(things) <= MOST_ROWS else _Later(things, make)


class _Later(Sequence):
    """Rows that are made when they are read."""

    def __init__(self, things: Sequence[Any], make: Callable[[Any], Sequence[Cell]]):
        self._things, self._make = things, make

    def __len__(self) -> int:
        return len(self._things)

    def __getitem__(self, place: Any) -> Any:
        found = self._things[place]
        return [self._make(one) for one in found] if isinstance(place, slice) else self._make(found)


class Table(Record):
    """Columns, rows and a title."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    title: str = ""

    @classmethod
    def of_texts(cls, columns: Sequence[Column], rows: Sequence[Sequence[Any]], title: str = "") -> Table:
        """A table of texts, or of cells among them."""
        return cls(columns, [[one if isinstance(one, Cell) else Cell(str(one)) for one in row] for row in rows], title)

    def shortened(self) -> tuple[Table, str]:
        """The table as people read it, and in words what it leaves out: of many rows all but the first and last."""
        if len(self.rows) <= MOST_ROWS:
            return self, ""
        gap = [Cell("…")] * len(self.columns)
        rows = [*self.rows[:END_ROWS], gap, *self.rows[-END_ROWS:]]
        return self.but(rows=rows), f"{len(self.rows) - 2 * END_ROWS:,} of {len(self.rows):,} rows are not shown"

    def chosen(self, places: Sequence[int]) -> Table:
        """The same rows with some of the columns."""
        rows = [[row[place] for place in places] for row in self.rows]
        return Table([self.columns[place] for place in places], rows, self.title)
