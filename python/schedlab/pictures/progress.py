"""How a search went: what is lost by the setting that was the best so far, by the runs that were made."""

from collections.abc import Sequence
from html import escape
from itertools import pairwise

from schedlab.pictures import axes
from schedlab.pictures.axes import Axis
from schedlab.pictures.chart import SHAPES, TITLE, WIDTH, Drawing, below_axis, group, line, text
from schedlab.units import counted, digits

HEIGHT = 150.0
#: Smaller values, zero too, are drawn as this where the axis is logarithmic.
LEAST = 0.1


def progress(steps: Sequence[tuple[int, float, str]], y_title: str, width: float = WIDTH) -> Drawing:
    """Steps: after how many runs, the value, and which setting it is of. A value stands until the next step."""
    axis, marks, labels = axes.around([max(value, LEAST) for _, value, _ in steps])
    y_title += ", log scale" if axis.log else ""
    across = axes.ticks(max((runs for runs, _, _ in steps), default=1))
    left, right, top = axes.width(max(labels, key=len)) + 10, width - 10, TITLE
    bottom = top + HEIGHT
    runs_axis = Axis(across[0], across[-1])

    def x(runs: float) -> float:
        return left + (right - left) * runs_axis.at(runs)

    def y(value: float) -> float:
        return bottom - HEIGHT * min(max(axis.at(value), 0.0), 1.0)

    parts = [text("title", 0, top - 11, y_title, room=width)]
    for mark, words in zip(marks, labels, strict=True):
        parts += [line("grid", left, y(mark), right, y(mark)), text("tick", left - 6, y(mark) + 4, words, "end")]
    parts += below_axis([digits(mark) for mark in across], [x(mark) for mark in across], left - 10, width, bottom)
    parts.append(text("title", width / 2, bottom + 34, "runs", "middle", width))
    drawn = []
    if steps:
        path = f"M{x(steps[0][0]):.1f} {y(steps[0][1]):.1f}"
        path += "".join(f"H{x(then[0]):.1f}V{y(then[1]):.1f}" for _, then in pairwise(steps))
        drawn.append(f'<path class="join" d="{path}"/>')
    for at, (runs, value, label) in enumerate(steps):
        if at == 0 or at == len(steps) - 1 or label != steps[at - 1][2]:
            tip = escape(f"{counted(runs, 'run')}: {label}, {digits(value, 3)}")
            drawn.append(
                f'<path class="mark" transform="translate({x(runs):.1f} {y(value):.1f})" d="{SHAPES[0]}">'
                f"<title>{tip}</title></path>"
            )
    return Drawing(f"{y_title} by runs", "".join([*parts, group(0, drawn)]), width, bottom + 40)
