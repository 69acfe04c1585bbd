"""Charts as inline SVG: means with intervals over a few settings, with the published values.

Colours come from the page's style sheet, so one drawing serves light and dark; numbers show on hovering.
"""

from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from math import ceil, floor, isfinite, log10

from schedlab.units import digits

HEIGHT = 300
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 16, 44
COLOURS = 6
#: Room that a label of the horizontal axis needs.
LABEL = 56


@dataclass(frozen=True)
class Point:
    """A mean at the place `x` (an index into the labels), with its bounds."""

    x: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Series:
    """Points joined by a line, and published values (x, y) of the same quantity."""

    name: str
    points: list[Point]
    published: list[tuple[int, float]] = field(default_factory=list)


@dataclass(frozen=True)
class _Frame:
    labels: list[str]
    top: float
    width: int

    def x(self, index: int, shift: float = 0) -> float:
        step = (self.width - LEFT - RIGHT) / len(self.labels)
        return LEFT + step * (index + 0.5) + shift

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / self.top


def chart(labels: list[str], series: list[Series], x_title: str, y_title: str, width: int = 720) -> str:
    """Draw the series over the labelled places. The vertical axis begins at zero."""
    name = f"{y_title} over {x_title}" if x_title else y_title
    inner = _drawn(labels, series, x_title, y_title, width)
    picture = f'<svg class="chart" viewBox="0 0 {width} {HEIGHT}" role="img" aria-label="{escape(name)}">{inner}</svg>'
    return _legend(series) + picture


def file(labels: list[str], series: list[Series], x_title: str, y_title: str, width: int = 720) -> str:
    """The same as an SVG file of its own, for light and dark pages, with the legend above the chart."""
    entries = [(f"s{i % COLOURS}", "●", s.name) for i, s in enumerate(series)]
    if any(s.published for s in series):
        entries.append(("title", "◇", "published"))
    step = (width - LEFT - RIGHT) / len(entries)
    legend = "".join(
        f'<text class="{style}" x="{LEFT + i * step:.0f}" y="-10">{mark} {escape(name)}</text>'
        for i, (style, mark, name) in enumerate(entries)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 -32 {width} {HEIGHT + 32}">\n{_STYLE}\n'
        f'<rect class="card" y="-32" width="{width}" height="{HEIGHT + 32}" rx="10"/>{legend}\n'
        f"{_drawn(labels, series, x_title, y_title, width)}\n</svg>\n"
    )


_STYLE = """<style>
svg { --ink: #1d1f23; --dim: #646a73; --line: #d9dbde; --card: #f5f5f3; --s0: #2563b0; --s1: #c9601a; --s2: #2b8a57; }
@media (prefers-color-scheme: dark) {
  svg { --ink: #e6e7e9; --dim: #9aa1ab; --line: #2f3338; --card: #1e2124;
    --s0: #75a9ec; --s1: #f0995a; --s2: #6cc797; } }
text { font: 12px system-ui, sans-serif; fill: currentColor; } .tick { fill: var(--dim); } .title { fill: var(--ink); }
.card { fill: var(--card); } .grid { stroke: var(--line); }
.join { stroke: currentColor; stroke-width: 2; opacity: .45; }
.bar { stroke: currentColor; stroke-width: 1.6; fill: none; } circle { fill: currentColor; }
.published { fill: none; stroke: currentColor; stroke-width: 1.8; }
.s0 { color: var(--s0); } .s1 { color: var(--s1); } .s2 { color: var(--s2); }
</style>"""


def _drawn(labels: list[str], series: list[Series], x_title: str, y_title: str, width: int) -> str:
    values = [v for s in series for p in s.points for v in (p.mean, p.high) if isfinite(v)]
    values += [y for s in series for _, y in s.published]
    steps = ticks(max(values, default=1.0))
    frame = _Frame(labels, steps[-1], width)
    shifts = [(i - (len(series) - 1) / 2) * 7 for i in range(len(series))]
    drawn = [_series(frame, s, i, shift) for i, (s, shift) in enumerate(zip(series, shifts, strict=True))]
    return "".join([_axes(frame, steps, x_title, y_title), *drawn])


def ticks(largest: float) -> list[float]:
    """Round steps from zero to at least `largest`."""
    if not largest > 0:
        return [0.0, 1.0]
    raw = largest / 4
    power = 10.0 ** floor(log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999)
    return [step * i for i in range(ceil(largest / step * 0.999) + 1)]


def _axes(frame: _Frame, steps: list[float], x_title: str, y_title: str) -> str:
    right = frame.width - RIGHT
    lines = []
    for step in steps:
        y = frame.y(step)
        lines.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(f'<text class="tick" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{digits(step)}</text>')
    apart = max(1, ceil(len(frame.labels) * LABEL / (frame.width - LEFT - RIGHT)))
    for index, label in list(enumerate(frame.labels))[::apart]:
        x, y = frame.x(index), HEIGHT - BOTTOM + 18
        lines.append(f'<text class="tick" x="{x:.1f}" y="{y}" text-anchor="middle">{escape(label)}</text>')
    middle = (TOP + HEIGHT - BOTTOM) / 2
    lines.append(
        f'<text class="title" x="{(LEFT + right) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{escape(x_title)}</text>'
    )
    lines.append(
        f'<text class="title" transform="translate(14 {middle}) rotate(-90)" text-anchor="middle">'
        f"{escape(y_title)}</text>"
    )
    return "".join(lines)


def _series(frame: _Frame, series: Series, index: int, shift: float) -> str:
    parts = []
    for a, b in pairwise(series.points):
        parts.append(
            f'<line class="join" x1="{frame.x(a.x, shift):.1f}" y1="{frame.y(a.mean):.1f}" '
            f'x2="{frame.x(b.x, shift):.1f}" y2="{frame.y(b.mean):.1f}"/>'
        )
    parts += [_point(frame, series.name, p, shift) for p in series.points]
    for place, y in series.published:
        x, at = frame.x(place, shift), frame.y(y)
        tip = escape(f"{series.name}, {frame.labels[place]}: published {digits(y)}")
        parts.append(f'<path class="published" d="M{x:.1f} {at - 8:.1f}l8 8l-8 8l-8 -8z"><title>{tip}</title></path>')
    return f'<g class="s{index % COLOURS}">{"".join(parts)}</g>'


def _point(frame: _Frame, name: str, point: Point, shift: float) -> str:
    x = frame.x(point.x, shift)
    bounds, bar = "", ""
    if isfinite(point.low):
        bounds = f" [{digits(point.low)}, {digits(point.high)}]"
        low, high = frame.y(max(point.low, 0)), frame.y(point.high)
        bar = f'<path class="bar" d="M{x - 4:.1f} {high:.1f}h8m-4 0V{low:.1f}m-4 0h8"/>'
    tip = escape(f"{name}, {frame.labels[point.x]}: {digits(point.mean)}{bounds}")
    return f'<g>{bar}<circle cx="{x:.1f}" cy="{frame.y(point.mean):.1f}" r="4"/><title>{tip}</title></g>'


def _legend(series: list[Series]) -> str:
    entries = [f'<span class="s{i % COLOURS}"><i></i>{escape(s.name)}</span>' for i, s in enumerate(series) if s.name]
    if any(s.published for s in series):
        entries.append('<span><b class="diamond">◇</b>published</span>')
    return f'<div class="legend">{"".join(entries)}</div>'
