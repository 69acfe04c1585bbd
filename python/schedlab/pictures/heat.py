"""A heat map: a value for each pair of two swept factors, as a number on a colour.

The colours are seven steps of one scale, logarithmic where values are far apart; several maps may share it. The best
tile has a frame, and those that are not shown to be worse a dot. More columns than fit are drawn below the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite, nan

from schedlab.pictures import axes
from schedlab.pictures.axes import Axis, Level
from schedlab.pictures.chart import LINE, WIDTH, Drawing, line, text
from schedlab.pictures.style import HEAT, INK
from schedlab.units import digits

#: Columns next to each other, and the height of a row.
COLUMNS, ROW = 8, 24.0
#: Digits of a number.
DIGITS = 3
#: What is said of a tile.
BEST, ACCEPTABLE = "best", "acceptable"


@dataclass(frozen=True)
class Tile:
    """A value at a column and a row, and what is said of it; its bounds, and of how many values it is the mean."""

    column: int
    row: int
    value: float
    tip: str
    mark: str = ""
    low: float = nan
    high: float = nan
    n: int = 0


@dataclass(frozen=True)
class Scale:
    """From the least to the largest value."""

    axis: Axis

    @classmethod
    def of(cls, values: Sequence[float]) -> "Scale":
        """The scale of values: logarithmic where they are far apart."""
        low, high = min(values), max(values)
        if low == high:
            return cls(Axis(low, low + (abs(low) or 1.0)))
        return cls(Axis(low, high, low > axes.LEAST and high >= axes.SPREAD * low))

    def step(self, value: float) -> int:
        """The colour of a value."""
        return min(max(int(self.axis.at(value) * len(HEAT)), 0), len(HEAT) - 1)


def heat(
    columns: Sequence[Level],
    rows: Sequence[Level],
    tiles: Sequence[Tile],
    titles: tuple[str, str, str],
    scale: Scale,
    heading: str = "",
    width: float = WIDTH,
) -> Drawing:
    """Draw the tiles; titles are of the columns, the rows and the values. Numbers rise to the right and up."""
    x_title, y_title, name = titles
    places = _order(columns)
    own = [places[at : at + COLUMNS] for at in range(0, len(places), COLUMNS)]
    down = _order(rows)
    down = down[::-1] if all(level.value is not None for level in rows) else down
    parts, top = [], 0.0
    for words, kind in ((heading, "heading"), (f"{name}{', log scale' if scale.axis.log else ''}", "title")):
        if words:
            parts.append(text(kind, 0, top + 11, words, room=width))
            top += LINE
    legend, top = _legend(scale, tiles, top, width)
    parts += legend
    parts.append(text("title", 0, top + 11, y_title, room=width))
    top += LINE + 3
    for strip in own:
        drawn, top = _strip(strip, down, columns, rows, tiles, scale, top, width)
        parts += drawn
    parts.append(text("title", width / 2, top + 11, x_title, "middle", width))
    return Drawing(f"{name} by {x_title} and {y_title}", "".join(parts), width, top + 18)


def _order(levels: Sequence[Level]) -> list[int]:
    """The places of numbers in order; names stay in theirs."""
    places = list(range(len(levels)))
    return sorted(places, key=lambda at: levels[at].value) if all(one.value is not None for one in levels) else places


def _legend(scale: Scale, tiles: Sequence[Tile], top: float, width: float) -> tuple[list[str], float]:
    """The steps with the values at their ends, and the marks that there are."""
    low, high = digits(scale.axis.low, DIGITS), digits(scale.axis.high, DIGITS)
    at = axes.width(low) + 6
    parts = [text("tick", 0, top + 12, low)]
    for place, colour in enumerate(HEAT):
        parts.append(f'<rect class="{colour}" x="{at + 13 * place:.1f}" y="{top + 3:.1f}" width="13" height="11"/>')
    at += 13 * len(HEAT) + 6
    parts.append(text("tick", at, top + 12, high))
    at += axes.width(high) + 14
    marks = {tile.mark for tile in tiles}
    for mark, words in ((BEST, "best"), (ACCEPTABLE, "acceptable")):
        if mark in marks:
            if at + 18 + axes.width(words) > width:
                at, top = 0.0, top + LINE
            parts.append(_frame(at, top + 2, 12, 12) if mark == BEST else _dot(at + 6, top + 8, "tick"))
            parts.append(text("name", at + 18, top + 12, words))
            at += 18 + axes.width(words) + 14
    return parts, top + LINE + 6


def _strip(
    strip: Sequence[int],
    down: Sequence[int],
    columns: Sequence[Level],
    rows: Sequence[Level],
    tiles: Sequence[Tile],
    scale: Scale,
    top: float,
    width: float,
) -> tuple[list[str], float]:
    """Some of the columns next to each other, with all rows."""
    left = min(0.36 * width, max(axes.width(level.label) for level in rows) + 8)
    wide = min((width - left) / len(strip), 64.0)
    x = {place: left + wide * at for at, place in enumerate(strip)}
    y = {place: top + ROW * at for at, place in enumerate(down)}
    parts = [text("level", left - 6, y[place] + 16, rows[place].label, "end", left - 6) for place in down]
    for tile in tiles:
        if tile.column in x and tile.row in y and isfinite(tile.value):
            parts.append(_tile(tile, x[tile.column], y[tile.row], wide, scale))
    bottom = top + ROW * len(down)
    labels = [columns[place].label for place in strip]
    middles = [x[place] + wide / 2 for place in strip]
    end = left + wide * len(strip)
    if len(axes.fitting(labels, middles, 0.0, width)) == len(labels):
        pairs = [(axes.extent(label, at, 0.0, width), label) for label, at in zip(labels, middles, strict=True)]
        parts += [text("tick", (begin + stop) / 2, bottom + 14, label, "middle") for (begin, stop), label in pairs]
        return [*parts, line("grid", left, bottom, end, bottom)], bottom + LINE + 8
    # Labels without room are numbered and listed.
    numbers = range(1, len(labels) + 1)
    parts += [text("tick", at, bottom + 14, str(n), "middle") for n, at in zip(numbers, middles, strict=True)]
    bottom += LINE + 4
    for number, label in zip(numbers, labels, strict=True):
        parts.append(text("level", left, bottom + 11, f"{number}  {label}", room=width - left))
        bottom += LINE
    return parts, bottom + 6


def _tile(tile: Tile, x: float, y: float, wide: float, scale: Scale) -> str:
    step = scale.step(tile.value)
    words = digits(tile.value, DIGITS)
    inner = (
        f'<rect class="{HEAT[step]}" x="{x + 0.5:.1f}" y="{y + 0.5:.1f}" width="{wide - 1:.1f}" height="{ROW - 1:g}"/>'
    )
    if axes.width(words) <= wide:
        at = f'x="{x + wide / 2:.1f}" y="{y + 16:.1f}" text-anchor="middle"'
        inner += f'<text class="{INK[step]}" {at} style="fill: var(--{INK[step]})">{escape(words)}</text>'
    if tile.mark == BEST:
        inner += _frame(x + 1.5, y + 1.5, wide - 3, ROW - 3)
    elif tile.mark == ACCEPTABLE:
        inner += _dot(x + wide - 5, y + 5, INK[step])
    return f"<g>{inner}<title>{escape(tile.tip)}</title></g>"


def _frame(x: float, y: float, wide: float, high: float) -> str:
    return f'<rect class="best" x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}"/>'


def _dot(x: float, y: float, ink: str) -> str:
    return f'<circle class="dot {ink}" cx="{x:.1f}" cy="{y:.1f}" r="2.4"/>'
