"""Predicted values as shares of what was published, on a logarithmic axis: a row for each, misses with their names.

Each row has its own tolerance as a shaded bar around 1. A value that is met takes a thin row, so that a page has room
for all of them. The axis is as long as the misses need: a small value that is met may be many times what was published,
and lies at the edge as an arrow then.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite

from schedlab.pictures import axes
from schedlab.pictures.axes import Axis
from schedlab.pictures.chart import Drawing, below_axis, group, keys, line, text

#: Of the picture; of a value that is met, of a miss with its name, and of the name of a group.
WIDTH, MET, MISSED, NAME = 330, 3.4, 11.5, 15.0
#: Where the axis begins, after the names.
LEFT = 186.0
#: The axis has at least these ends, and at most those.
NEAR, FAR = (0.5, 2.0), (0.1, 10.0)
#: Names are of small letters, narrower than others: the factor by which a name may be longer.
NARROW = 1.13
#: The place of a series' colour: of what is met, and of what is missed.
BLUE, RED = 0, 2
_BAR = '<rect class="mark" opacity=".3" x="-6" y="-3" width="12" height="6"/>'
_DOT = '<circle class="mark" r="1.8"/>'
_LOWER, _HIGHER = (f'<path class="mark" d="M{side}4 0l{back}5 -2.5v5z"/>' for side, back in (("-", ""), ("", "-")))
_MISS = '<path class="mark" d="M0 -4l4 4l-4 4l-4 -4z"/>'


@dataclass(frozen=True)
class Value:
    """A predicted value divided by the published one (NaN if there is none), and the bounds within which it is met."""

    label: str
    ratio: float
    low: float
    high: float
    met: bool
    tip: str


@dataclass(frozen=True)
class Group:
    """Values of one origin."""

    name: str
    values: Sequence[Value]


def judged(groups: Sequence[Group], title: str, width: float = WIDTH) -> Drawing:
    """Draw all groups, one below the other."""
    axis, marks = _scale([value for one in groups for value in one.values])
    right = width - 10

    def x(ratio: float) -> float:
        return LEFT + (right - LEFT) * axis.at(min(max(ratio, axis.low), axis.high))

    key, top = keys([(BLUE, _BAR, "tolerance"), (BLUE, _DOT, "within it"), (RED, _MISS, "missed")], width)
    parts, y = [], top + 2
    for one in groups:
        parts += [line("grid", 0, y, width, y), text("title", 0, y + 11, one.name, room=LEFT)]
        y += NAME
        for value in one.values:
            height = MET if value.met else MISSED
            parts.append(_row(value, axis, x, y + height / 2))
            y += height
        y += 2
    grid = [line("grid", x(mark), top + 2, x(mark), y) for mark in marks]
    grid.append(f'<path class="join" d="M{x(1.0):.1f} {top + 2:.1f}V{y:.1f}"/>')
    below = below_axis([f"{mark:g}" for mark in marks], [x(mark) for mark in marks], LEFT - 10, width, y)
    below.append(text("title", width, y + 32, title, "end", width))
    return Drawing(title, "".join([*key, *grid, *parts, *below]), width, y + 38)


def _scale(values: Sequence[Value]) -> tuple[Axis, list[float]]:
    """The axis of all misses."""
    missed = [value.ratio for value in values if not value.met and isfinite(value.ratio)]
    low, high = max(min([NEAR[0], *missed]), FAR[0]), min(max([NEAR[1], *missed]), FAR[1])
    marks = axes.log_ticks(low, high)
    return Axis(marks[0], marks[-1], True), marks


def _row(value: Value, axis: Axis, x, y: float) -> str:
    """The tolerance, the value, and the name of a miss; what has no value has no mark."""
    begin, end = x(value.low), x(value.high)
    bar = f'<rect class="mark" opacity=".3" x="{begin:.1f}" y="{y - 1.5:.1f}" width="{end - begin:.1f}" height="3"/>'
    tip = f"<title>{escape(value.tip)}</title>"
    mark = _DOT if value.met else _MISS
    if isfinite(value.ratio) and not axis.low <= value.ratio <= axis.high:
        mark = _LOWER if value.ratio < axis.low else _HIGHER
    at = f'<g transform="translate({x(value.ratio):.1f} {y:.1f})">{mark}</g>' if isfinite(value.ratio) else ""
    drawn = f"<g>{group(BLUE, [bar])}{group(BLUE if value.met else RED, [at])}{tip}</g>"
    if value.met:
        return drawn
    return drawn + text("tick", LEFT - 8, y + 4, value.label, "end", NARROW * (LEFT - 8))
