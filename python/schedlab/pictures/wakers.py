"""Who wakes whom, as a graph: names on a circle, and arrows from wakers to whom they wake, wider the more often."""

import math
from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import Any

#: Names that are drawn; those that wake or are woken most often.
MOST = 10
#: Width, height, and what is left for names on both sides, pixels.
WIDTH, HEIGHT, SIDE = 350.0, 330.0, 98.0
#: Width of the arrow of the most frequent pair, pixels.
WIDEST = 6.0
#: Characters of a name.
LONGEST = 14
#: What stands below the picture.
CAPTION = "The wider an arrow, the more wakeups; the table has the numbers. Timers and devices are in brackets."


def drawn(pairs: Sequence[dict[str, Any]]) -> str:
    """The graph as SVG for a page, from the pairs of a report; empty if there are none."""
    edges: Counter[tuple[str, str]] = Counter()
    for pair in pairs:
        waker = pair["waker"]["comm"] if pair["waker"] else f"[{pair['cause']}]"
        edges[waker, pair["woken"]["comm"] if pair["woken"] else "several"] += pair["wakeups"]
    weight: Counter[str] = Counter()
    for (waker, woken), wakeups in edges.items():
        weight[waker] += wakeups
        weight[woken] += wakeups
    names = sorted(name for name, _ in weight.most_common(MOST))
    if not names:
        return ""
    places = {name: _place(number, len(names)) for number, name in enumerate(names)}
    kept = [(ends, wakeups) for ends, wakeups in edges.most_common() if set(ends) <= places.keys()]
    most = max((wakeups for _, wakeups in kept), default=1)
    arrows = "".join(_arrow(*(places[end] for end in ends), wakeups / most, ends, wakeups) for ends, wakeups in kept)
    labels = "".join(_label(name, *places[name]) for name in names)
    head = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" '
        'markerUnits="userSpaceOnUse" orient="auto"><path class="mark" d="M0 0 8 4 0 8z"/></marker></defs>'
    )
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="who wakes whom">'
        f"{head}{arrows}{labels}</svg>"
    )


def _place(number: int, count: int) -> tuple[float, float]:
    """A place on an ellipse, from the top on clockwise."""
    angle = 2 * math.pi * number / count - math.pi / 2
    return WIDTH / 2 + (WIDTH / 2 - SIDE) * math.cos(angle), HEIGHT / 2 + (HEIGHT / 2 - 34) * math.sin(angle)


def _arrow(
    start: tuple[float, float], end: tuple[float, float], share: float, ends: tuple[str, str], wakeups: int
) -> str:
    """A curve to the right of the straight line, so that both directions are seen; to itself a loop to the outside."""
    width = max(0.8, WIDEST * math.sqrt(share))
    title = f"<title>{escape(ends[0])} wakes {escape(ends[1])}: {wakeups:,} times</title>"
    (x0, y0), (x1, y1) = start, end
    if start == end:
        dx, dy = (x0 - WIDTH / 2) or 1, (y0 - HEIGHT / 2) or 1
        away = 46 / math.hypot(dx, dy)
        u, v = x0 + dx * away, y0 + dy * away
        path = f"M{x0:.1f} {y0:.1f}C{u - dy * away * 0.6:.1f} {v + dx * away * 0.6:.1f} "
        path += f"{u + dy * away * 0.6:.1f} {v - dx * away * 0.6:.1f} {x0:.1f} {y0:.1f}"
    else:
        length = math.hypot(x1 - x0, y1 - y0)
        x1, y1 = x1 - (x1 - x0) / length * 8, y1 - (y1 - y0) / length * 8
        u, v = (x0 + x1) / 2 - (y1 - y0) * 0.14, (y0 + y1) / 2 + (x1 - x0) * 0.14
        path = f"M{x0:.1f} {y0:.1f}Q{u:.1f} {v:.1f} {x1:.1f} {y1:.1f}"
    return f'<path class="join" d="{path}" style="stroke-width:{width:.1f}" marker-end="url(#tip)">{title}</path>'


def _label(name: str, x: float, y: float) -> str:
    """A dot and the name on the side that is away from the middle."""
    text = name if len(name) <= LONGEST else name[: LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"
    side = x - WIDTH / 2
    where = "middle" if abs(side) < 20 else "start" if side > 0 else "end"
    dx, dy = (0, -12 if y < HEIGHT / 2 else 20) if where == "middle" else (10 if side > 0 else -10, 4)
    return (
        f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
        f'<text x="{x + dx:.1f}" y="{y + dy:.1f}" text-anchor="{where}">{escape(text)}</text>'
    )
