"""Shares of a whole as bars with their intervals: which fields a counter varies by."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from schedlab.pictures import axes
from schedlab.pictures.axes import Axis
from schedlab.pictures.chart import TITLE, WIDTH, Drawing, below_axis, group, level_bar, line, text
from schedlab.units import digits

#: Height of a row, of its bar, and of the words above it.
ROW, THICK, LINE = 30.0, 9.0, 13.0
#: The place of a series' colour: of a field, and of two together.
ALONE, TOGETHER = 0, 1


@dataclass(frozen=True)
class Share:
    """A share from 0 to 1 with its bounds, and whether it is of two together."""

    label: str
    share: float
    low: float
    high: float
    together: bool = False


def shares(found: Sequence[Share], title: str, width: float = WIDTH) -> Drawing:
    """Draw them in their order, each with its name above its bar."""
    left, right, top = 4.0, width - 12, TITLE
    bottom = top + ROW * len(found)
    axis = Axis(0.0, 1.0)

    def x(share: float) -> float:
        return left + (right - left) * axis.at(share)

    marks = [0.0, 0.25, 0.5, 0.75, 1.0]
    parts = [text("title", 0, top - 11, title, room=width)]
    parts += [line("grid", x(mark), top, x(mark), bottom) for mark in marks]
    parts += below_axis([f"{100 * mark:.0f} %" for mark in marks], [x(mark) for mark in marks], 0.0, width, bottom)
    for place, one in enumerate(found):
        begin = top + ROW * place
        y = begin + LINE + 4 + THICK / 2
        said = f"{one.label}: {digits(100 * one.share, 3)} % [{digits(100 * one.low, 3)}, {digits(100 * one.high, 3)}]"
        bar = (
            f'<rect class="mark" opacity=".55" x="{x(0):.1f}" y="{y - THICK / 2:.1f}" '
            f'width="{x(one.share) - x(0):.1f}" height="{THICK:g}"/>'
        )
        drawn = f"{bar}{level_bar(y, x(one.low), x(one.high))}<title>{escape(said)}</title>"
        parts.append(text("level", left, begin + LINE, axes.shortened(one.label, width)))
        parts.append(group(TOGETHER if one.together else ALONE, [f"<g>{drawn}</g>"]))
    return Drawing(title, "".join(parts), width, bottom + 24)
