"""Settings by two counters of a goal: the front, what lies behind it, the present and the chosen setting.

Settings of the front have the intervals of both counters. With two counters a line of steps joins those that are on
it: between two of them nothing was measured, so that only the corner, which both are better than, is known to be
reached. With more counters there is a picture for each pair, and a counter has the same axis in all of them; no line
is drawn there, since a setting of the front may be behind others in two of its counters. Under several loads the pairs
are those of each load; with a single goal, of the loads.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import combinations, pairwise
from math import isfinite

from schedlab.pictures import axes
from schedlab.pictures.axes import Axis
from schedlab.pictures.chart import (
    DIAMOND,
    SHAPES,
    TITLE,
    WIDTH,
    Drawing,
    below_axis,
    group,
    keys,
    level_bar,
    line,
    stacked,
    text,
    upright,
)
from schedlab.units import convert, digits, readable_unit

#: Height of a plot.
HEIGHT = 220.0
#: Pairs of counters that are drawn.
MOST_PAIRS = 15
#: Kinds of settings, as they are drawn: later ones above earlier ones.
MISSING, BEHIND, LUCKY, MEMBER, KNEE, PRESENT, CHOSEN = range(7)
#: Of each kind the place of its colour, its mark around (0, 0), and what it is.
KINDS = {
    MISSING: (4, '<path class="bar" d="M-2.5 -2.5l5 5m0 -5l-5 5"/>', "misses a condition"),
    BEHIND: (4, '<circle class="mark" r="2"/>', "behind the front"),
    LUCKY: (3, '<circle class="published" r="4"/>', "on it perhaps by luck"),
    MEMBER: (0, f'<path class="mark" d="{SHAPES[0]}"/>', "on the front"),
    KNEE: (0, f'<path class="published" d="{DIAMOND}"/><circle class="mark" r="2"/>', "its knee"),
    PRESENT: (1, f'<path class="mark" d="{SHAPES[1]}"/>', "the present setting"),
    CHOSEN: (2, f'<path class="mark" d="{DIAMOND}"/>', "the chosen setting"),
}


@dataclass(frozen=True)
class Counter:
    """An axis: what it is called, its unit, whether less is better, and the load under which it was measured."""

    name: str
    unit: str
    less: bool
    load: str = ""

    @property
    def text(self) -> str:
        """With its load."""
        return f"{self.name} ({self.load})" if self.load else self.name


@dataclass(frozen=True)
class Dot:
    """A setting: for each counter its mean with its bounds (NaN if there are none); `link` is where it is described."""

    label: str
    kind: int
    means: Sequence[float]
    lows: Sequence[float]
    highs: Sequence[float]
    on_front: bool
    link: str = ""


@dataclass(frozen=True)
class _Scale:
    """A counter's axis: its title, its marks, and how its values become those of the readable unit."""

    title: str
    axis: Axis
    marks: list[float]
    labels: list[str]
    own: str
    unit: str

    @classmethod
    def of(cls, counter: Counter, values: Sequence[float]) -> "_Scale":
        largest = max((abs(value) for value in values if isfinite(value)), default=0.0)
        unit = readable_unit(counter.unit, largest)
        axis, marks, labels = axes.around([convert(value, counter.unit, unit) for value in values])
        of = "" if unit in ("", "1") else f" [{unit}]"
        title = f"{counter.name}{of}{', log scale' if axis.log else ''}"
        return cls(title, axis, marks, labels, counter.unit, unit)

    def at(self, value: float) -> float:
        """The place of a value, 0 to 1; beyond these it is out of the picture."""
        value = convert(value, self.own, self.unit)
        if self.axis.log and value <= 0:
            return -1.0
        return self.axis.at(value) if not self.axis.log or value >= self.axis.low else -1.0

    def within(self, value: float) -> float:
        """The place of a bound, at most at the edge."""
        return min(max(self.at(value), 0.0), 1.0)


def front(counters: Sequence[Counter], dots: Sequence[Dot], width: float = WIDTH) -> list[Drawing]:
    """The key, then a picture for each pair of counters; nothing where there is only one counter."""
    scales = [_scale(counter, dots, at) for at, counter in enumerate(counters)]
    shown = pairs(counters)[:MOST_PAIRS]
    return [_key(dots, width), *(_panel(counters, scales, dots, *pair, width) for pair in shown)] if shown else []


def pairs(counters: Sequence[Counter]) -> list[tuple[int, int]]:
    """The places of the counters that are drawn against each other."""
    found = list(combinations(range(len(counters)), 2))
    return [(i, j) for i, j in found if counters[i].load == counters[j].load] or found


def single(counters: Sequence[Counter], dots: Sequence[Dot], width: float = WIDTH) -> Drawing:
    """All of it as one drawing."""
    return stacked(front(counters, dots, width), 6.0)


def outside(counters: Sequence[Counter], dots: Sequence[Dot]) -> int:
    """How many settings lie so far behind the front that they are out of some picture."""
    scales = [_scale(counter, dots, at) for at, counter in enumerate(counters)]
    return sum(not all(_inside(scale, mean) for scale, mean in zip(scales, one.means, strict=True)) for one in dots)


def _scale(counter: Counter, dots: Sequence[Dot], at: int) -> _Scale:
    """Around the front, the present and the chosen setting: others may be many times worse."""
    shown = [one for one in dots if one.kind not in (MISSING, BEHIND)] or dots
    return _Scale.of(counter, [value for one in shown for value in (one.means[at], one.lows[at], one.highs[at])])


def _inside(scale: _Scale, mean: float) -> bool:
    return isfinite(mean) and -1e-9 <= scale.at(mean) <= 1 + 1e-9


def _key(dots: Sequence[Dot], width: float) -> Drawing:
    there = {one.kind for one in dots}
    entries = [KINDS[kind] for kind in sorted(KINDS, reverse=True) if kind in there]
    parts, bottom = keys(entries, width)
    return Drawing("what the marks mean", "".join(parts), width, bottom)


def _panel(
    counters: Sequence[Counter], scales: Sequence[_Scale], dots: Sequence[Dot], i: int, j: int, width: float
) -> Drawing:
    across, up = scales[i], scales[j]
    left, right, top = axes.width(max(up.labels, key=len)) + 10, width - 10, TITLE
    bottom = top + HEIGHT

    def x(place: float) -> float:
        return left + (right - left) * place

    def y(place: float) -> float:
        return bottom - HEIGHT * place

    loads = counters[i].load == counters[j].load
    across_title, up_title = (_titled(counters[at], scales[at], not loads) for at in (i, j))
    parts = [text("title", 0, top - 11, up_title, room=width)]
    for mark, words in zip(up.marks, up.labels, strict=True):
        at = y(up.axis.at(mark))
        parts += [line("grid", left, at, right, at), text("tick", left - 6, at + 4, words, "end")]
    places = [x(across.axis.at(mark)) for mark in across.marks]
    parts += [line("grid", place, top, place, bottom) for place in places]
    parts += below_axis(across.labels, places, left - 10, width, bottom)
    parts.append(text("title", width / 2, bottom + 34, across_title, "middle", width))
    parts.append(_better(counters[i].less, counters[j].less, left, right, top, bottom))
    if len(counters) == 2:
        parts += _steps(counters, scales, dots, x, y)
    for one in sorted(dots, key=lambda dot: dot.kind):
        if _inside(across, one.means[i]) and _inside(up, one.means[j]):
            parts.append(_dot(one, counters, scales, i, j, x, y))
    return Drawing(f"settings by {counters[i].text} and {counters[j].text}", "".join(parts), width, bottom + 40)


def _titled(counter: Counter, scale: _Scale, with_load: bool) -> str:
    return f"{counter.load}: {scale.title}" if with_load and counter.load else scale.title


def _better(left_is: bool, low_is: bool, left: float, right: float, top: float, bottom: float) -> str:
    """In the corner where both counters are best: which way is better."""
    arrow = {(True, True): "↙", (True, False): "↖", (False, True): "↘", (False, False): "↗"}[left_is, low_is]
    words = f"{arrow} better" if left_is else f"better {arrow}"
    place, anchor = (left + 6, "start") if left_is else (right - 6, "end")
    return text("tick", place, bottom - 8 if low_is else top + 14, words, anchor)


def _steps(counters: Sequence[Counter], scales: Sequence[_Scale], dots: Sequence[Dot], x, y) -> list[str]:
    """The line of the settings that are on the front, from the best in the first counter to the worst."""
    members = sorted((one for one in dots if one.on_front), key=lambda dot: dot.means[0], reverse=not counters[0].less)
    if len(members) < 2:
        return []
    places = [[scale.within(mean) for scale, mean in zip(scales, one.means, strict=True)] for one in members]
    path = f"M{x(places[0][0]):.1f} {y(places[0][1]):.1f}"
    path += "".join(f"H{x(then[0]):.1f}V{y(then[1]):.1f}" for _, then in pairwise(places))
    return [group(0, [f'<path class="join" d="{path}"/>'])]


def _dot(one: Dot, counters: Sequence[Counter], scales: Sequence[_Scale], i: int, j: int, x, y) -> str:
    """A mark with its intervals, its numbers on hovering, and its link."""
    colour, mark, what = KINDS[one.kind]
    at = x(scales[i].within(one.means[i])), y(scales[j].within(one.means[j]))
    bars = ""
    if one.kind not in (MISSING, BEHIND):
        if isfinite(one.lows[i]) and one.lows[i] < one.highs[i]:
            bars += level_bar(at[1], *(x(scales[i].within(end)) for end in (one.lows[i], one.highs[i])))
        if isfinite(one.lows[j]) and one.lows[j] < one.highs[j]:
            bars += upright(at[0], *(y(scales[j].within(end)) for end in (one.lows[j], one.highs[j])))
    values = "; ".join(_value(one, counters, scales, at) for at in (i, j))
    tip = f"<title>{escape(f'{one.label}: {values}; {what}')}</title>"
    drawn = f'{bars}<g transform="translate({at[0]:.1f} {at[1]:.1f})">{mark}</g>{tip}'
    coloured = group(colour, [drawn])
    # The table of the front has the same links: the picture need not be another way through all of them by keyboard.
    return f'<a href="#{escape(one.link)}" tabindex="-1">{coloured}</a>' if one.link else coloured


def _value(one: Dot, counters: Sequence[Counter], scales: Sequence[_Scale], at: int) -> str:
    mean, low, high = (
        convert(v, counters[at].unit, scales[at].unit) for v in (one.means[at], one.lows[at], one.highs[at])
    )
    bounds = f" [{digits(low)}, {digits(high)}]" if isfinite(low) else ""
    unit = "" if scales[at].unit in ("", "1") else f" {scales[at].unit}"
    return f"{counters[at].text} {digits(mean)}{unit}{bounds}"
