"""One self-contained page: the frame that every report shares. No network; light and dark by the reader's choice; no
script but that of a recording's timeline, and of a live report."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedlab import _core
from schedlab.errors import UsageError
from schedlab.pictures.schedule import Stretch, drawn
from schedlab.pictures.style import CHART, DARK, LIGHT, variables
from schedlab.specification import spelled
from schedlab.system.escaped import escaped
from schedlab.system.writing import replace
from schedlab.tables import Table

#: A caption names this many scenarios at most; the page's table of scenarios has all.
NAMED = 3
#: It names them by this many characters.
SHORT = 12
#: Widths in rem below which a table becomes a block for each row; the last is wider than any page.
BREAKS = (20, 24, 28, 32, 36, 40, 46, 52, 60, 64, 68, 72, 76, 84, 999)
#: About how wide a character of a table is, and the space after a column, in rem.
CHARACTER, SPACE = 0.56, 0.95
#: Prose takes this much at least, in characters.
PROSE = 28
#: The style of a column that is wrapped like prose and keeps its heading in a block.
WRAPPED = "wrapped"


@dataclass(frozen=True)
class Column:
    """A column of a table on a page: `key` names the row, `prose` is wrapped."""

    heading: str
    numeric: bool = False
    key: bool = False
    prose: bool = False
    style: str = ""


@dataclass(frozen=True)
class Cell:
    """A cell, with its column's heading for where it stands in a block of its row."""

    text: str
    heading: str
    kind: str


@dataclass(frozen=True)
class Grid:
    """A table, and the width in rem below which it is shown as blocks."""

    columns: Sequence[Column]
    rows: list[list[Cell]]
    rem: int
    #: Which rows are not shown, in words.
    left: str = ""
    #: The address of each row in the page; empty where rows have none.
    addresses: Sequence[str] = ()


def grid(columns: Sequence[Column], rows: Sequence[Sequence[Any]], left: str = "", name: str = "") -> Grid:
    """A table of texts; a text may come with a style of its own, as a pair. With a name its rows have addresses."""
    cells = [[_cell(value, column) for value, column in zip(row, columns, strict=True)] for row in rows]
    need = sum(CHARACTER * _widest(column, place, cells) + SPACE for place, column in enumerate(columns))
    return Grid(columns, cells, rem(need), left, _addresses(columns, cells, name) if name else ())


def of_table(table: Table, name: str = "") -> Grid:
    """A table as it is shown on a page: shortened if it is long."""
    shown, left = table.shortened()
    columns = [Column(one.heading, one.numeric, one.key, style=WRAPPED if one.prose else "") for one in shown.columns]
    return grid(columns, [[cell.text for cell in row] for row in shown.rows], left, name)


def _addresses(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], name: str) -> list[str]:
    """An address for each row by what names it: the same as long as that is so; numbered where two are the same."""
    seen: dict[str, int] = {}
    found = []
    for row in rows:
        keys = [cell.text for cell, column in zip(row, columns, strict=True) if column.key]
        address = anchor(" ".join([name, *keys]))
        seen[address] = seen.get(address, 0) + 1
        # No text gives an underscore, so that what is numbered is never another row's.
        found.append(address if seen[address] == 1 else f"{address}_{seen[address]}")
    return found


def rem(need: float) -> int:
    """The width below which a table that needs so much is shown as blocks."""
    return next(width for width in BREAKS if width >= need or width == BREAKS[-1])


def _cell(value: Any, column: Column) -> Cell:
    text, style = value if isinstance(value, tuple) else (value, "")
    kinds = [column.numeric and "n", column.key and "k", column.prose and "p", column.style, style]
    return Cell(str(text), column.heading, " ".join(filter(None, kinds)))


def _widest(column: Column, place: int, rows: Sequence[Sequence[Cell]]) -> int:
    """Characters of the widest thing in a column that is not broken."""
    heading = max(map(len, re.split(rf"{BREAK}|(?<= )", column.heading)), default=0)
    if column.prose:
        return max(heading, PROSE)
    if column.style in ("id", WRAPPED) and not column.key:
        return max([heading, *(min(len(row[place].text), PROSE) for row in rows)])
    return max([heading, *(len(row[place].text) for row in rows)])


#: Where names of metrics may be broken: after their dots and underscores. Numbers are not.
BREAK = r"(?<=[._])(?=\D)"


def breakable(heading: str) -> Any:
    """A text with names of metrics, which may be broken after their dots and underscores; options are not broken."""
    from markupsafe import Markup, escape

    whole = Markup("<wbr>").join(escape(part) for part in re.split(BREAK, heading))
    return Markup(re.sub(r"--[a-z][a-z-]*", r'<span class="whole">\g<0></span>', str(whole)))


def breakable_heading(heading: str) -> str:
    """The same for an attribute, which has no elements: with blanks of no width."""
    return re.sub(BREAK, "\u200b", heading)


def write(template: str, path: Path, most: int | None = None, **values: Any) -> None:
    """Fill a template of the `templates` folder and put the page under `path`, whole or not at all.

    Every page has its `basis`: what its numbers are means of, and what its intervals are. Refused are pages of more
    than `most` bytes.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("schedlab.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.globals.update(breakable=breakable, breakable_heading=breakable_heading)
    style = {"light": variables(LIGHT), "dark": variables(DARK), "chart_style": CHART, "breaks": BREAKS}
    text = environment.get_template(template).render(engine=_core.version(), **style, **values)
    content = escaped(text).encode()
    if most is not None and len(content) > most:
        raise UsageError(
            f"{path}: the page would have {len(content):,} bytes, and with the simulator in it at most {most:,} are "
            "allowed: leave out --live, or name fewer metrics in the experiment"
        )
    replace(Path(path), content)


def origin(name: str, scenarios: list[str], seeds: str) -> str:
    """The origin of a figure: experiment, scenarios and seeds."""
    short = [scenario[:SHORT] for scenario in dict.fromkeys(scenarios)]
    more = f" and {len(short) - NAMED} more" if len(short) > NAMED else ""
    return f"{name}: scenario {', '.join(short[:NAMED])}{more}; {seeds}"


def over_seeds(seeds: int, noun: str = "seed") -> str:
    """What a page says of its means and intervals."""
    if seeds < 2:
        return f"Each number is of one {noun}: there is no interval."
    return f"Numbers are means over {seeds} {noun}s; intervals are 95 % by Student's t."


def machine_table(machine: dict[str, Any]) -> Grid:
    """Every value of a machine: field, value, source."""
    columns = [Column("field", key=True, style="id"), Column("value", style="id"), Column("source", prose=True)]
    return grid(columns, list(_leaves(machine, "")))


def anchor(words: str) -> str:
    """A title as the address of its place in the page."""
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-") or "part"


def _leaves(tree: Any, path: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(tree, dict) and {"value", "source"} <= tree.keys():
        yield path, spelled(tree["value"]), tree["source"]
    elif isinstance(tree, dict):
        for name, value in tree.items():
            yield from _leaves(value, f"{path}.{name}" if path else name)
    elif tree is not None and path not in ("name", "title"):
        yield path, spelled(tree), ""


def schedule(run: Mapping[str, Any], stretch: Stretch) -> str:
    """The simulator's drawing of a stretch of a run, as SVG to be embedded in a page.

    Its style sheet is nested into a class, or it would restyle the whole page.
    """
    text = drawn(run, stretch)
    drawing = text[text.index("<svg") :]
    styled = drawing.replace("<style>", "<style>.schedule{", 1).replace("</style>", "}</style>", 1)
    return f'<div class="schedule">{styled}</div>'
