"""Differences with their intervals as shares of what they are compared with, the largest first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from schedlab.pictures import axes
from schedlab.pictures.axes import Axis
from schedlab.pictures.chart import LINE, SHAPES, TITLE, Drawing, below_axis, group, level_bar, line, marked, text
from schedlab.units import digits

#: Of a picture, and of a row of it.
WIDTH, ROW = 480, 18.0
#: The place of a series' colour: of what is real, the same within the bound, and neither.
REAL, SAME, OPEN = 0, 1, 4
KINDS = {REAL: "real", SAME: "same, or no worse", OPEN: "not shown"}


@dataclass(frozen=True)
class Effect:
    """A difference in % of the base, with its bounds (NaN if there are none), and which kind of verdict it has."""

    label: str
    mean: float
    low: float
    high: float
    kind: int


@dataclass(frozen=True)
class Effects:
    """What a drawing of the effects on a metric is drawn from, for those who draw it again with more."""

    metric: str
    base: str
    within: float | None
    rows: Sequence[Effect]
    #: The factors of each base, and those of them that all cells have that are compared with it.
    bases: Sequence[tuple[Mapping[str, str], Mapping[str, str]]]


def effects(found: Sequence[Effect], base: str, within: float | None = None, width: float = WIDTH) -> Drawing:
    """Draw them as rows, the largest first; `within` is the bound in %, drawn as two lines."""
    rows = sorted(found, key=lambda one: -abs(one.mean))
    ends = [end for one in rows for end in (one.mean, one.low, one.high) if isfinite(end)]
    ends += [] if within is None else [-within, within]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    marks = axes.around_zero(low, high) if high > low else [-1.0, 0.0, 1.0]
    axis = Axis(marks[0], marks[-1])
    longest = max((axes.width(one.label) for one in rows), default=0.0) + 12
    # Long labels stand above their bars.
    above = longest > 0.5 * width
    left, row = (10.0, ROW + LINE) if above else (longest, ROW)
    right, top = width - 10, TITLE + 16

    def x(value: float) -> float:
        return left + (right - left) * axis.at(value)

    parts = [text("title", 0, 11, f"difference from {base}, %", room=width)]
    legend = f"bars: 95 % intervals{'' if within is None else f'; lines: ±{digits(within)} %'}"
    parts.append(text("tick", 0, 26, legend))
    top += _legend(parts, sorted({one.kind for one in rows}), 26.0 + LINE)
    bottom = top + row * len(rows)
    parts += [line("grid", x(mark), top, x(mark), bottom) for mark in marks]
    for mark in (0.0, *(() if within is None else (-within, within))):
        parts.append(f'<path class="join" d="M{x(mark):.1f} {top:.1f}V{bottom:.1f}"/>')
    parts += below_axis([digits(mark) for mark in marks], [x(mark) for mark in marks], left - 10, width, bottom)
    for place, one in enumerate(rows):
        y = top + row * (place + 1) - ROW / 2
        bar = level_bar(y, x(one.low), x(one.high)) if isfinite(one.low) else ""
        bounds = f" [{digits(one.low)}, {digits(one.high)}]" if bar else ""
        tip = f"{one.label}: {digits(one.mean)} %{bounds}, {KINDS[one.kind]}"
        if above:
            parts.append(text("level", 0, y - 10, one.label, room=width))
        else:
            parts.append(text("level", left - 8, y + 4, one.label, "end"))
        parts.append(group(one.kind, [marked(bar, x(one.mean), y, one.kind, tip)]))
    return Drawing(f"differences from {base}", "".join(parts), width, bottom + 24)


def _legend(parts: list[str], kinds: Sequence[int], y: float) -> float:
    """A mark and the words of each kind of verdict; the height that they take."""
    x = 0.0
    for kind in kinds:
        shape = f'<path class="mark" transform="translate({x + 6:.1f} {y - 4:.1f})" d="{SHAPES[kind]}"/>'
        parts.append(group(kind, [shape]))
        parts.append(text("name", x + 16, y, KINDS[kind]))
        x += 16 + axes.width(KINDS[kind]) + 12
    return LINE if kinds else 0.0
