"""The tail of a distribution: which share of the values is no longer than what, as far as it was measured.

The vertical axis is logarithmic in the share that is longer, so p90, p99 and p99.9 are equally far apart, and the
largest value stands at one in as many as there were. Both axes are numbers; a curve joins the percentiles of a cell.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from schedlab.pictures import axes
from schedlab.pictures.axes import Axis
from schedlab.pictures.chart import (
    HEIGHT,
    TITLE,
    WIDTH,
    Drawing,
    Series,
    below_axis,
    group,
    legend_of,
    level_bar,
    line,
    marked,
    text,
)
from schedlab.units import digits


@dataclass(frozen=True)
class Percentile:
    """A value (a mean over seeds, with its bounds), and which share of all is longer."""

    name: str
    longer: float
    mean: float
    low: float
    high: float


def longer(statistic: str, count: float) -> float | None:
    """Which share of the values is longer than a statistic of that name; None for another kind of statistic."""
    if statistic == "min":
        return 1.0
    if statistic == "max":
        return 1.0 / max(count, 1.0)
    if statistic.startswith("p") and statistic[1:].isdigit():
        # Beyond the last of so few values there is nothing but the largest.
        return max(1.0 - float(f"0.{statistic[1:]}"), 1.0 / max(count, 1.0))
    return None


def spelled(statistic: str) -> str:
    """The name of a percentile as people write it: p99.9."""
    digits = statistic[1:]
    return f"p{digits[:2]}.{digits[2:]}" if statistic.startswith("p") and len(digits) > 2 else statistic


#: A curve: its name, and its percentiles.
Curve = tuple[str, Sequence[Percentile]]


def tail(curves: Sequence[Curve], x_title: str, width: float = WIDTH, among: Sequence[Curve] = ()) -> Drawing:
    """Draw at most as many curves as there are colours; the axes have room for those `among` which they are."""
    every = [one for _, curve in among or curves for one in curve]
    positive = [value for one in every for value in (one.mean, one.high) if isfinite(value) and value > 0]
    x_axis, x_marks = _values(positive)
    least = min((one.longer for one in every), default=0.1)
    y_axis = Axis(1.0, min(least, 0.1), True)
    series = [Series(name, []) for name, _ in curves]
    legend, top = legend_of(series, width, 11.0)
    marks = [(1.0, "min"), *((share, name) for share, name in MARKS if share >= y_axis.high * 0.999)]
    left, right = axes.width(max((name for _, name in marks), key=len)) + 10, width - 10
    top += TITLE
    bottom = top + HEIGHT

    def x(value: float) -> float:
        return left + (right - left) * x_axis.at(value)

    def y(share: float) -> float:
        return bottom - HEIGHT * y_axis.at(share)

    parts = [legend, text("title", 0, top - 11, "percentile, log tail", room=width)]
    for share, name in marks:
        parts += [line("grid", left, y(share), right, y(share)), text("tick", left - 6, y(share) + 4, name, "end")]
    parts += [line("grid", x(mark), top, x(mark), bottom) for mark in x_marks]
    parts += below_axis([digits(mark) for mark in x_marks], [x(mark) for mark in x_marks], left - 12, width, bottom)
    words = x_title + (", log scale" if x_axis.log else "")
    parts.append(text("title", width / 2, bottom + 34, words, "middle", width))
    for index, (name, curve) in enumerate(curves):
        shown = [one for one in sorted(curve, key=lambda one: -one.longer) if isfinite(one.mean)]
        # A value of zero has no place on a logarithmic axis but its edge.
        places = " ".join(f"{x(max(one.mean, x_axis.low)):.1f},{y(one.longer):.1f}" for one in shown)
        drawn = [f'<polyline class="join" points="{places}"/>'] if len(shown) > 1 else []
        for one in shown:
            bounds = isfinite(one.low)
            bar = level_bar(y(one.longer), x(max(one.low, x_axis.low)), x(one.high)) if bounds else ""
            tip = f"{', '.join(filter(None, [name, one.name]))}: {digits(one.mean)}"
            tip += f" [{digits(one.low)}, {digits(one.high)}]" if bounds else ""
            drawn.append(marked(bar, x(max(one.mean, x_axis.low)), y(one.longer), index, tip))
        parts.append(group(index, drawn))
    return Drawing(f"percentiles of {x_title}", "".join(parts), width, bottom + 40)


#: Marks of the vertical axis: the share that is longer, and its name.
MARKS = (
    (0.5, "p50"),
    (0.1, "p90"),
    (0.01, "p99"),
    (1e-3, "p99.9"),
    (1e-4, "p99.99"),
    (1e-5, "p99.999"),
    (1e-6, "p99.9999"),
)


def _values(positive: list[float]) -> tuple[Axis, list[float]]:
    """A logarithmic axis over all that is positive; zero to one where nothing is."""
    if not positive:
        return Axis(0.0, 1.0), [0.0, 1.0]
    marks = axes.log_ticks(min(positive), max(positive))
    return Axis(marks[0], marks[-1], True), marks
