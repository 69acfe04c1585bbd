"""How far a field may move: a curve for each counter over its levels, and which levels each counter accepts.

All curves share one axis of levels, to scale where the levels are quantities. Under a curve is a bar over the levels
that its counter accepts, and at the bottom a bar over those that all counters accept. Differences of a few per cent
decide here, so the axis of a counter begins near its least value and not at zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from math import inf, isfinite

from schedlab.pictures import axes
from schedlab.pictures.axes import Axis
from schedlab.pictures.chart import (
    DIAMOND,
    LINE,
    SHAPES,
    Drawing,
    below_axis,
    diamond,
    group,
    keys,
    line,
    marked,
    text,
    upright,
)
from schedlab.units import convert, digits, readable_unit

#: Of a picture; of the plot of a counter, of the words above it, and of a row with a bar.
WIDTH, HEIGHT, TITLE, ROW = 480, 84.0, 27.0, 20.0
#: How far letters reach below their line.
DESCENT = 4.0
#: Height of a bar, and how far it reaches beyond the first and the last level that it covers.
THICK, BEYOND = 8.0, 5.0
#: Space between the edges of a plot and its first and last level, as a share of its width.
MARGIN = 0.05
#: The place of a series' colour: of means, of limits, and of the levels that all counters accept.
MEAN, LIMIT, COMMON = 0, 2, 1


@dataclass(frozen=True)
class Curve:
    """A counter: a mean with its bounds (NaN if there are none) for each level, in `unit`."""

    counter: str
    unit: str
    means: Sequence[float]
    lows: Sequence[float]
    highs: Sequence[float]
    #: The place of the best level, and the value that is still acceptable.
    best: int
    limit: float
    acceptable: Sequence[bool]

    @property
    def relation(self) -> str:
        """How a value has to lie to the limit."""
        best = self.means[self.best]
        others = [mean for mean in self.means if isfinite(mean)]
        less = self.limit > best if self.limit != best else max(others, default=best) > best
        return "≤" if less else "≥"

    def readable(self) -> "Curve":
        """The same in the unit in which it is read most easily."""
        unit = readable_unit(self.unit, max((abs(mean) for mean in self.means if isfinite(mean)), default=0.0))
        means, lows, highs = (
            [convert(value, self.unit, unit) for value in values] for values in (self.means, self.lows, self.highs)
        )
        limit = convert(self.limit, self.unit, unit)
        return Curve(self.counter, unit, means, lows, highs, self.best, limit, self.acceptable)


@dataclass(frozen=True)
class Field:
    """A field with its levels, the curve of each counter, and which levels all of them accept."""

    path: str
    #: The levels as they are spelled, in order.
    labels: Sequence[str]
    #: The quantities that they denote; None of names.
    positions: Sequence[float] | None
    logarithmic: bool
    #: The place of the chosen level, and of the level that costs least.
    chosen: int
    least: int
    curves: Sequence[Curve]
    common: Sequence[bool]
    #: What stands below: the cost at both ends of the range, or which counters accept no level in common.
    notes: Sequence[str] = ()

    @property
    def text(self) -> str:
        """The field, its acceptable levels and the chosen one in words."""
        ends = [dict.fromkeys((self.labels[low], self.labels[high])) for low, high in self.runs(self.common)]
        accepted = " or ".join(" to ".join(run) for run in ends) or "none"
        return f"acceptable levels of {self.path}: {accepted}; chosen: {self.labels[self.chosen]}"

    def runs(self, accepted: Sequence[bool]) -> list[tuple[int, int]]:
        """The first and the last of accepted levels that are next to each other; of names, each by itself."""
        places = [at for at, fine in enumerate(accepted) if fine]
        if self.positions is None:
            return [(at, at) for at in places]
        runs = [[at for _, at in run] for _, run in groupby(enumerate(places), lambda one: one[1] - one[0])]
        return [(run[0], run[-1]) for run in runs]


@dataclass(frozen=True)
class _Levels:
    """The common axis: where each level stands, the edges of the plots, and half the width of the bar of one level."""

    x: list[float]
    left: float
    right: float
    half: float

    @classmethod
    def of(cls, field: Field, left: float, right: float) -> "_Levels":
        count = len(field.labels)
        if field.positions is None or len(set(field.positions)) < 2:
            step = (right - left) / max(count, 1)
            return cls([left + step * (at + 0.5) for at in range(count)], left, right, min(0.3 * step, 24.0))
        low, high = min(field.positions), max(field.positions)
        axis = Axis(low, high, field.logarithmic and low > 0)
        first, length = left + MARGIN * (right - left), (1 - 2 * MARGIN) * (right - left)
        return cls([first + length * axis.at(value) for value in field.positions], left, right, BEYOND)


def ranges(field: Field, width: float = WIDTH) -> Drawing:
    """Draw a field: its counters one below the other, then the levels that all of them accept."""
    curves = [curve.readable() for curve in field.curves]
    scales = [_scale(curve) for curve in curves]
    longest = max((axes.width(label) for _, _, labels in scales for label in labels), default=0.0)
    levels = _Levels.of(field, longest + 10, width - 8)
    parts, top = _legend(width)
    names, top = _named(field, levels, top)
    parts += names
    for curve, scale in zip(curves, scales, strict=True):
        top = _heading(parts, field, levels, top, width, *_words(curve, scale[0]))
        parts += _panel(field, curve, scale, levels, top)
        top += HEIGHT + ROW
        parts += _uprights(field, levels, top - HEIGHT - ROW, top)
    accepted = "acceptable to all counters" if any(field.common) else "no level is acceptable to all counters"
    top = _heading(parts, field, levels, top, width, accepted, "") + ROW
    parts.append(group(COMMON, _bars(field, field.common, levels, top - ROW / 2, "all counters")))
    parts += _uprights(field, levels, top - ROW, top)
    below, top = _below(field, levels, top, width)
    parts += below
    for row in [row for note in field.notes for row in wrapped(note, width)]:
        parts.append(text("note", 0, top + 12, row))
        top += LINE
    described = f"<desc>{escape('. '.join([field.text, *field.notes]))}</desc>"
    return Drawing(field.text, described + "".join(parts), width, top + 6)


def _scale(curve: Curve) -> tuple[Axis, list[float], list[str]]:
    """The axis of a counter around all that is drawn of it, with its marks and their labels."""
    return axes.around([*curve.means, *curve.lows, *curve.highs, curve.limit])


def _words(curve: Curve, axis: Axis) -> tuple[str, str]:
    """What stands above a plot: the counter to the left, what is acceptable to the right."""
    unit = "" if curve.unit in ("", "1") else curve.unit
    name = curve.counter + (f" [{unit}]" if unit else "") + (", log scale" if axis.log else "")
    limit = f"acceptable: {curve.relation} {digits(curve.limit)} {unit}".strip()
    return name, limit if isfinite(curve.limit) else ""


def _heading(parts: list[str], field: Field, levels: _Levels, top: float, width: float, name: str, limit: str) -> float:
    """Words above a plot, and the lines of marked levels where no words are; where the plot begins.

    The limit stands in a row of its own where the name leaves no room for it.
    """
    wide = axes.width(axes.shortened(name, width))
    free = width - axes.width(limit) - 4
    apart = bool(limit) and wide + 12 > free
    end = top + TITLE + (LINE if apart else 0.0)
    parts.append(text("title", 0, top + LINE, name, room=width))
    if limit:
        parts.append(text("tick", width, end - TITLE + LINE, limit, "end"))
    if apart:
        between = top + LINE + DESCENT
        parts += _uprights(field, levels, top, between, (wide + 4, inf))
        parts += _uprights(field, levels, between, end, (-inf, free))
    else:
        parts += _uprights(field, levels, top, end, (wide + 4, free if limit else inf))
    return end


def _panel(
    field: Field, curve: Curve, scale: tuple[Axis, list[float], list[str]], levels: _Levels, top: float
) -> list[str]:
    """A counter: its means with their intervals, the limit, and the bar over the levels that it accepts."""
    axis, marks, labels = scale
    bottom = top + HEIGHT

    def y(value: float) -> float:
        return bottom - HEIGHT * min(max(axis.at(value), 0.0), 1.0)

    parts = []
    for mark, words in zip(marks, labels, strict=True):
        parts += [
            line("grid", levels.left, y(mark), levels.right, y(mark)),
            text("tick", levels.left - 6, y(mark) + 4, words, "end"),
        ]
    if isfinite(curve.limit):
        parts.append(group(LIMIT, [_dashed(f"M{levels.left:.1f} {y(curve.limit):.1f}H{levels.right:.1f}")]))
    shown = [at for at, mean in enumerate(curve.means) if isfinite(mean)]
    drawn = []
    if field.positions is not None and len(shown) > 1:
        places = " ".join(f"{levels.x[at]:.1f},{y(curve.means[at]):.1f}" for at in shown)
        drawn.append(f'<polyline class="join" points="{places}"/>')
    for at in shown:
        bounds = (curve.lows[at], curve.highs[at])
        bounded = all(map(isfinite, bounds)) and bounds[0] < bounds[1]
        label = f"{field.labels[at]}: {digits(curve.means[at])}"
        label += f" [{', '.join(map(digits, bounds))}]" if bounded else ""
        bar = upright(levels.x[at], *map(y, bounds)) if bounded else ""
        drawn.append(marked(bar, levels.x[at], y(curve.means[at]), MEAN, label))
    if curve.best in shown:
        label = f"best: {field.labels[curve.best]}"
        drawn.append(diamond(levels.x[curve.best], y(curve.means[curve.best]), label))
    drawn += _bars(field, curve.acceptable, levels, bottom + ROW / 2, curve.counter)
    return [*parts, group(MEAN, drawn)]


def _bars(field: Field, accepted: Sequence[bool], levels: _Levels, y: float, whose: str) -> list[str]:
    """A track with a bar over each run of accepted levels and a ring at every other level that was measured."""
    parts = [line("grid", levels.left, y, levels.right, y)]
    for low, high in field.runs(accepted):
        begin, end = levels.x[low] - levels.half, levels.x[high] + levels.half
        label = " to ".join(dict.fromkeys((field.labels[low], field.labels[high])))
        parts.append(
            f'<rect class="mark" x="{begin:.1f}" y="{y - THICK / 2:.1f}" width="{end - begin:.1f}" '
            f'height="{THICK:g}" rx="2"><title>{escape(f"acceptable to {whose}: {label}")}</title></rect>'
        )
    for at, fine in enumerate(accepted):
        if not fine:
            name = escape(f"not acceptable to {whose}: {field.labels[at]}")
            parts.append(
                f'<circle class="published" cx="{levels.x[at]:.1f}" cy="{y:.1f}" r="2.6"><title>{name}</title></circle>'
            )
    return parts


def _marked(field: Field) -> list[tuple[int, str]]:
    """The levels that are marked through all panels, with what is said of them."""
    chosen, least = field.labels[field.chosen], field.labels[field.least]
    if any(field.common):
        return [(field.chosen, f"chosen: {chosen}")]
    if field.chosen == field.least:
        return [(field.chosen, f"chosen, of least cost: {chosen}")]
    return [(field.chosen, f"chosen: {chosen}"), (field.least, f"of least cost: {least}")]


def _named(field: Field, levels: _Levels, top: float) -> tuple[list[str], float]:
    """The names of the marked levels above their places, in one line if they fit, and where the lines end."""
    parts: list[str] = []
    taken: tuple[float, float] | None = None
    for at, words in _marked(field):
        begin, end = axes.extent(axes.shortened(words, levels.right), levels.x[at], 0.0, levels.right)
        if taken is None or (begin < taken[1] + axes.APART and taken[0] < end + axes.APART):
            top += LINE
        parts.append(text("name", (begin + end) / 2, top - 4, words, "middle", levels.right))
        taken = begin, end
    return parts, top


def _uprights(
    field: Field, levels: _Levels, top: float, bottom: float, room: tuple[float, float] = (-inf, inf)
) -> list[str]:
    """A line at each marked level that is in the room, the first whole and the second dashed."""
    parts = []
    for number, (at, _) in enumerate(_marked(field)):
        path = f"M{levels.x[at]:.1f} {top:.1f}V{bottom:.1f}"
        if room[0] <= levels.x[at] <= room[1]:
            parts.append(_dashed(path) if number else f'<path class="join" d="{path}"/>')
    return parts


def _dashed(path: str) -> str:
    return f'<path class="bar" stroke-dasharray="5 3" d="{path}"/>'


def _below(field: Field, levels: _Levels, bottom: float, width: float) -> tuple[list[str], float]:
    """The labels of the common axis and its title; names without room are numbered and listed."""
    parts = [line("grid", levels.left, bottom, levels.right, bottom)]
    scaled = ", log scale" if field.logarithmic and field.positions is not None and min(field.positions) > 0 else ""
    numbered = field.positions is None and not _fit(field.labels, levels, width)
    labels = [str(at + 1) for at in range(len(field.labels))] if numbered else field.labels
    parts += below_axis(labels, levels.x, 0.0, width, bottom)
    parts.append(text("title", width / 2, bottom + 34, field.path + scaled, "middle", width))
    top = bottom + 40
    for at, label in enumerate(field.labels if numbered else ()):
        parts.append(text("tick", 16, top + 12, str(at + 1), "end"))
        parts.append(text("level", 22, top + 12, label, room=width - 22))
        top += LINE
    return parts, top


def _fit(labels: Sequence[str], levels: _Levels, width: float) -> bool:
    return len(axes.fitting(labels, levels.x, 0.0, width)) == len(labels)


def wrapped(words: str, room: float) -> list[str]:
    """A text in rows of at most this width."""
    rows = [""]
    for word in words.split():
        longer = f"{rows[-1]} {word}".strip()
        if axes.width(longer) <= room or not rows[-1]:
            rows[-1] = axes.shortened(longer, room)
        else:
            rows.append(axes.shortened(word, room))
    return rows


def _legend(width: float) -> tuple[list[str], float]:
    """What each mark means, as many a line as fit; and where the lines end."""
    bar = '<rect class="mark" x="-6" y="-4" width="12" height="8" rx="2"/>'
    ring = '<circle class="published" r="2.6"/>'
    entries = [
        (MEAN, f'<path class="mark" d="{SHAPES[MEAN]}"/>', "mean, 95 % interval"),
        (MEAN, f'<path class="published" d="{DIAMOND}"/>', "best level"),
        (LIMIT, _dashed("M-6 0h12"), "limit"),
        (MEAN, bar, "acceptable"),
        (MEAN, ring, "not acceptable"),
    ]
    return keys(entries, width)
