"""A chart of means with their intervals over what was swept, with published values.

Numbers have an axis to scale, and a curve joins them. Names are rows, in the order of the experiment: nothing lies
between two names, so no line joins them. Every point stands at its own place; series differ by colour and by shape.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from html import escape
from math import isfinite
from typing import TypeVar

from schedlab.pictures import axes
from schedlab.pictures.axes import Axis, Level
from schedlab.pictures.style import CHART, DARK, LIGHT, SERIES, variables
from schedlab.units import digits

T = TypeVar("T")

#: Of a chart on a page, in units of its drawing: it can be read at this width in pixels.
WIDTH = 330
#: Of the plot itself.
HEIGHT = 176
#: As many series have colours of their own.
COLOURS = len(SERIES)
#: Shapes of marks, one for each colour: a path around (0, 0).
SHAPES = (
    "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0z",
    "M-3.3 -3.3h6.6v6.6h-6.6z",
    "M0 -4.4l4.2 7.2h-8.4z",
    "M0 4.4l4.2 -7.2h-8.4z",
    "M-4 -1.3h2.7v-2.7h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7z",
    "M-4.2 -1.6h8.4v3.2h-8.4z",
)
#: The shape of a published value.
DIAMOND = "M0 -6l6 6l-6 6l-6 -6z"
#: Height of a line of text, and of a series in a row.
LINE, BAND = 15.0, 11.0
#: Height of a title above its axis.
TITLE = 22.0
#: How far the shade of acceptable levels reaches beyond the first and the last of them.
MARGIN = 5.0


@dataclass(frozen=True)
class Point:
    """A mean at the place `x` (an index into the levels), with its bounds, and of how many values, if that is known."""

    x: int
    mean: float
    low: float
    high: float
    n: int = 0


@dataclass(frozen=True)
class Series:
    """Points of one kind, and published values (x, y) of the same quantity."""

    name: str
    points: list[Point]
    published: list[tuple[int, float]] = field(default_factory=list)
    #: The places of acceptable points; None where that is not known.
    accepted: Collection[int] | None = None


@dataclass(frozen=True)
class Drawing:
    """What is drawn, and how much room it takes."""

    name: str
    inner: str
    width: float
    height: float

    def embedded(self) -> str:
        """To stand in a page, whose style sheet has the colours."""
        return (
            f'<svg class="chart" viewBox="0 0 {self.width:g} {self.height:g}" role="img" '
            f'aria-label="{escape(self.name)}">{self.inner}</svg>'
        )

    def document(self) -> str:
        """A file of its own, or a picture in a notebook: light and dark by itself."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chart schedlab" width="{2 * self.width:g}" '
            f'viewBox="-12 -10 {self.width + 24:g} {self.height + 20:g}" role="img" style="max-width: 100%">\n'
            f"<title>{escape(self.name)}</title>\n"
            f"<style>.schedlab {{ {variables(LIGHT)} }}\n"
            f"@media (prefers-color-scheme: dark) {{ .schedlab {{ {variables(DARK)} }} }}\n{CHART}"
            ".schedlab .card { fill: var(--card); }</style>\n"
            f'<rect class="card" x="-12" y="-10" width="{self.width + 24:g}" height="{self.height + 20:g}" rx="8"/>'
            f"{self.inner}\n</svg>\n"
        )


def stacked(drawings: Sequence[Drawing], gap: float = 24.0) -> Drawing:
    """Drawings one below the other."""
    parts, y = [], 0.0
    for one in drawings:
        parts.append(f'<g transform="translate(0 {y:g})">{one.inner}</g>')
        y += one.height + gap
    name = "; ".join(one.name for one in drawings)
    return Drawing(name, "".join(parts), max((one.width for one in drawings), default=0.0), max(0.0, y - gap))


def panels(series: Sequence[T]) -> list[list[T]]:
    """As many series a chart as there are colours, or what there is for each of them."""
    return [list(series[place : place + COLOURS]) for place in range(0, len(series), COLOURS)] or [[]]


def chart(
    levels: Sequence[str | Level],
    series: Sequence[Series],
    x_title: str,
    y_title: str,
    width: float = WIDTH,
    among: Sequence[Series] = (),
    heading: str = "",
) -> Drawing:
    """Draw at most `COLOURS` series over levels; texts are read as numbers where all of them are.

    The axis has room for the series `among` which they are, so that several charts have the same; `heading` then says
    which one this is. Acceptable points are shaded, and the levels that are acceptable in all series.
    """
    texts = [one for one in levels if isinstance(one, str)]
    places = axes.levels(texts) if len(texts) == len(levels) else [one for one in levels if isinstance(one, Level)]
    name = f"{y_title} over {x_title}" if x_title else y_title
    above = text("heading", 0, 11, heading, room=width) if heading else ""
    legend, below = legend_of(series, width, 11.0 + (LINE if heading else 0.0))
    below = below or (LINE if heading else 0.0)
    draw = _curves if places and all(one.value is not None for one in places) else _rows
    inner, height = draw(places, series, scale(among or series), x_title, y_title, width, below)
    return Drawing(f"{heading}: {name}" if heading else name, above + legend + inner, width, height)


def scale(series: Sequence[Series]) -> tuple[Axis, list[float]]:
    """The axis of the measured and published values."""
    points = [point for one in series for point in one.points]
    shown = [value for point in points for value in (point.mean, point.high)]
    return axes.measured(
        [*shown, *(value for one in series for _, value in one.published)], [point.low for point in points]
    )


def _curves(
    levels: list[Level],
    series: Sequence[Series],
    scaled: tuple[Axis, list[float]],
    x_title: str,
    y_title: str,
    width: float,
    top: float,
) -> tuple[str, float]:
    y_axis, marks = scaled
    texts = [digits(mark) for mark in marks]
    left, right = axes.width(max(texts, key=len)) + 10, width - 8
    top += TITLE
    bottom = top + HEIGHT
    x_axis = axes.swept([level.value for level in levels])

    def x(index: int) -> float:
        return left + (right - left) * x_axis.at(levels[index].value)

    def y(value: float) -> float:
        return bottom - HEIGHT * y_axis.at(value)

    parts = [text("title", 0, top - 11, y_title + (", log scale" if y_axis.log else ""), room=width)]
    for mark, words in zip(marks, texts, strict=True):
        parts.append(line("grid", left, y(mark), right, y(mark)))
        parts.append(text("tick", left - 6, y(mark) + 4, words, "end"))
    parts += below_axis([one.label for one in levels], [x(i) for i in range(len(levels))], left, right, bottom)
    order = sorted(range(len(levels)), key=lambda i: levels[i].value)
    shared = common(series)
    for run in runs(order, shared) if len(shared) < len(levels) else ():
        begin, end = x(run[0]) - MARGIN, x(run[-1]) + MARGIN
        parts.append(f'<rect class="shade" x="{begin:.1f}" y="{top:.1f}" width="{end - begin:.1f}" height="{HEIGHT}"/>')
    words = x_title + (", log scale" if x_axis.log else "")
    parts.append(text("title", width / 2, bottom + 34, words, "middle", width))
    for index, one in enumerate(series):
        points = sorted(one.points, key=lambda point: levels[point.x].value)
        curve = " ".join(f"{x(p.x):.1f},{y(p.mean):.1f}" for p in points)
        drawn = [f'<polyline class="join" points="{curve}"/>'] if len(points) > 1 else []
        at = {p.x: p for p in points}
        for run in runs(order, [place for place in one.accepted or () if place in at]):
            drawn.append(halo([(x(place), y(at[place].mean)) for place in run]))
        for p in points:
            bar = upright(x(p.x), y(max(p.low, min(y_axis.low, y_axis.high))), y(p.high)) if isfinite(p.low) else ""
            drawn.append(marked(bar, x(p.x), y(p.mean), index, _tip(one.name, levels[p.x].label, p)))
        drawn += [diamond(x(i), y(value), _published(one.name, levels[i].label, value)) for i, value in one.published]
        parts.append(group(index, drawn))
    return "".join(parts), bottom + 40


def _rows(
    levels: list[Level],
    series: Sequence[Series],
    scaled: tuple[Axis, list[float]],
    x_title: str,
    y_title: str,
    width: float,
    top: float,
) -> tuple[str, float]:
    """Names from top to bottom; a line of its own in a row for each series."""
    axis, marks = scaled
    longest = max((axes.width(level.label) for level in levels), default=0.0)
    above = longest > 0.36 * width
    left, right = (10.0 if above else longest + 12), width - 10
    band = BAND * max(len(series), 1)
    step = band + 8 + (LINE if above else 0)
    top += 8 + (LINE if x_title else 0)
    bottom = top + step * len(levels)

    def x(value: float) -> float:
        return left + (right - left) * axis.at(value)

    def y(place: int, index: int) -> float:
        return top + step * place + (LINE if above else 0) + 4 + BAND * (index + 0.5)

    parts = [text("title", 0, top - 8, x_title, room=width)] if x_title else []
    parts += [line("grid", x(mark), top, x(mark), bottom) for mark in marks]
    for place, level in enumerate(levels):
        begin = top + step * place
        parts.append(line("grid", 0, begin, width, begin))
        if above:
            parts.append(text("level", 0, begin + 12, level.label, room=width))
        else:
            parts.append(text("level", left - 8, begin + 4 + band / 2 + 4, level.label, "end"))
    parts.append(line("grid", 0, bottom, width, bottom))
    parts += below_axis([digits(mark) for mark in marks], [x(mark) for mark in marks], left - 10, width, bottom)
    words = y_title + (", log scale" if axis.log else "")
    parts.append(text("title", width / 2, bottom + 34, words, "middle", width))
    for index, one in enumerate(series):
        drawn = [halo([(x(p.mean), y(p.x, index))]) for p in one.points if p.x in (one.accepted or ())]
        for p in one.points:
            bar = ""
            if isfinite(p.low):
                bar = level_bar(y(p.x, index), x(max(p.low, min(axis.low, axis.high))), x(p.high))
            drawn.append(marked(bar, x(p.mean), y(p.x, index), index, _tip(one.name, levels[p.x].label, p)))
        drawn += [
            diamond(x(value), y(i, index), _published(one.name, levels[i].label, value)) for i, value in one.published
        ]
        parts.append(group(index, drawn))
    return "".join(parts), bottom + 40


def legend_of(series: Sequence[Series], width: float, top: float) -> tuple[str, float]:
    """A mark and a name for each series, as many a line as fit; and where the lines end."""
    entries = [(index, one.name) for index, one in enumerate(series) if one.name]
    if any(one.published for one in series):
        entries.append((-1, "published"))
    parts, x, y = [], 0.0, top
    for index, name in entries:
        wide = 16 + axes.width(axes.shortened(name, width - 16)) + 12
        if x and x + wide - 12 > width:
            x, y = 0.0, y + LINE
        shape = (
            f'<path class="published" transform="translate({x + 6:.1f} {y - 4:.1f})" d="{DIAMOND}"/>'
            if index < 0
            else f'<path class="mark" transform="translate({x + 6:.1f} {y - 4:.1f})" d="{SHAPES[index]}"/>'
        )
        parts.append(group(index, [shape]) if index >= 0 else shape)
        parts.append(text("name", x + 16, y, name, room=width - 16))
        x += wide
    return "".join(parts), (y + 6 if entries else 0.0)


def keys(entries: Sequence[tuple[int, str, str]], width: float) -> tuple[list[str], float]:
    """What each mark means, as many a line as fit; and where the lines end. An entry is the place of its colour, the
    mark around (0, 0), and the words.
    """
    parts, x, y = [], 0.0, 11.0
    for index, shape, words in entries:
        wide = 16 + axes.width(words) + 12
        if x and x + wide - 12 > width:
            x, y = 0.0, y + LINE
        parts.append(f'<g transform="translate({x + 6:.1f} {y - 4:.1f})">{group(index, [shape])}</g>')
        parts.append(text("name", x + 16, y, words))
        x += wide
    return parts, y + 8


def below_axis(labels: Sequence[str], places: Sequence[float], left: float, right: float, bottom: float) -> list[str]:
    """A mark under the axis for each place, and those labels that fit."""
    parts = [line("grid", place, bottom, place, bottom + 4) for place in places]
    for index in axes.fitting(labels, places, left, right):
        begin, end = axes.extent(labels[index], places[index], left, right)
        parts.append(text("tick", (begin + end) / 2, bottom + 17, labels[index], "middle"))
    return parts


def text(kind: str, x: float, y: float, words: str, anchor: str = "start", room: float = float("inf")) -> str:
    """Words at a place; what has no room is shortened, and shown whole on hovering."""
    shown = words if axes.width(words) <= room else axes.shortened(words, room)
    tip = f"<title>{escape(words)}</title>" if shown != words else ""
    at = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}"{at}>{escape(shown)}{tip}</text>'


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    """A straight line."""
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def group(index: int, parts: Sequence[str]) -> str:
    """What has the colour of a series."""
    return f'<g class="{SERIES[index % COLOURS]}">{"".join(parts)}</g>'


def upright(x: float, low: float, high: float) -> str:
    """An interval of a value that is drawn upwards."""
    return f'<path class="bar" d="M{x - 3:.1f} {high:.1f}h6m-3 0V{low:.1f}m-3 0h6"/>'


def level_bar(y: float, low: float, high: float) -> str:
    """An interval of a value that is drawn to the right."""
    return f'<path class="bar" d="M{low:.1f} {y - 3:.1f}v6m0 -3H{high:.1f}m0 -3v6"/>'


def marked(bar: str, x: float, y: float, index: int, tip: str) -> str:
    """A point with its interval."""
    mark = f'<path class="mark" transform="translate({x:.1f} {y:.1f})" d="{SHAPES[index % COLOURS]}"/>'
    return f"<g>{bar}{mark}<title>{escape(tip)}</title></g>"


def common(series: Sequence[Series]) -> set[int]:
    """The places that all series accept of which that is known."""
    known = [set(one.accepted) for one in series if one.accepted is not None]
    return set.intersection(*known) if known else set()


def runs(order: Sequence[int], accepted: Collection[int]) -> list[list[int]]:
    """Accepted places that are next to each other in that order."""
    found: list[list[int]] = []
    for before, place in zip([None, *order], order, strict=False):
        if place in accepted:
            if before in accepted and found:
                found[-1].append(place)
            else:
                found.append([place])
    return found


def halo(places: Sequence[tuple[float, float]]) -> str:
    """A shade around acceptable points."""
    first, *others = (f"{x:.1f} {y:.1f}" for x, y in places)
    return f'<path class="halo" d="M{first}{"".join(f"L{one}" for one in others) or "h0"}"/>'


def diamond(x: float, y: float, tip: str) -> str:
    """A published value."""
    return (
        f'<path class="published" transform="translate({x:.1f} {y:.1f})" d="{DIAMOND}">'
        f"<title>{escape(tip)}</title></path>"
    )


def _tip(name: str, level: str, point: Point) -> str:
    bounds = f" [{digits(point.low)}, {digits(point.high)}]" if isfinite(point.low) else ""
    return f"{', '.join(filter(None, [name, level]))}: {digits(point.mean)}{bounds}"


def _published(name: str, level: str, value: float) -> str:
    return f"{', '.join(filter(None, [name, level]))}: published {digits(value)}"
