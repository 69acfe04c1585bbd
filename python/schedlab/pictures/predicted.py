"""What was predicted over what was measured, on equal axes: on the diagonal they are the same."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite

from schedlab.pictures import axes
from schedlab.pictures.chart import (
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
    upright,
)
from schedlab.units import digits


@dataclass(frozen=True)
class Spot:
    """A measured mean with its bounds, and the predicted one (NaN for bounds where there are none)."""

    label: str
    measured: tuple[float, float, float]
    predicted: tuple[float, float, float]


def predicted(groups: Sequence[tuple[str, Sequence[Spot]]], name: str, width: float = WIDTH) -> Drawing:
    """Draw groups of spots, each with a colour and a shape of its own."""
    means = [value for _, spots in groups for spot in spots for value in (spot.measured[0], spot.predicted[0])]
    axis, marks = axes.measured([value for value in means if isfinite(value)])
    texts = [digits(mark) for mark in marks]
    legend, top = legend_of([Series(title, []) for title, _ in groups], width, 11.0)
    left, right = axes.width(max(texts, key=len)) + 10, width - 8
    top += TITLE
    side = right - left
    bottom = top + side

    def x(value: float) -> float:
        return left + side * min(max(axis.at(value), 0.0), 1.0)

    def y(value: float) -> float:
        return bottom - side * min(max(axis.at(value), 0.0), 1.0)

    scaled = ", log scale" if axis.log else ""
    parts = [legend, text("title", 0, top - 11, f"predicted {name}{scaled}", room=width)]
    for mark, words in zip(marks, texts, strict=True):
        parts += [line("grid", left, y(mark), right, y(mark)), line("grid", x(mark), top, x(mark), bottom)]
        parts.append(text("tick", left - 6, y(mark) + 4, words, "end"))
    parts.append(f'<path class="join" d="M{left:.1f} {bottom:.1f}L{right:.1f} {top:.1f}"/>')
    parts += below_axis(texts, [x(mark) for mark in marks], left - 12, width, bottom)
    parts.append(text("title", width / 2, bottom + 34, f"measured {name}{scaled}", "middle", width))
    for index, (_, spots) in enumerate(groups):
        parts.append(group(index, [_spot(spot, index, x, y) for spot in spots]))
    return Drawing(f"predicted over measured {name}", "".join(parts), width, bottom + 40)


def _spot(spot: Spot, index: int, x: Callable[[float], float], y: Callable[[float], float]) -> str:
    """A spot with the intervals of both."""
    (there, *ends), (said, *others) = spot.measured, spot.predicted
    bars = level_bar(y(said), *map(x, ends)) if isfinite(ends[0]) else ""
    bars += upright(x(there), *map(y, others)) if isfinite(others[0]) else ""
    tip = f"{spot.label}: predicted {digits(said)}, measured {digits(there)}"
    return marked(bars, x(there), y(said), index, tip)
