"""Miss-ratio curves for people: the table that the command prints, and the page with the pictures."""

from pathlib import Path
from typing import Any

from schedlab.caches import Curves
from schedlab.report import page
from schedlab.report.svg import COLOURS, Point, Series, chart
from schedlab.units import spread

#: Of a chart, in units of its drawing.
WIDTH = 900
#: Digits of a ratio that is exact.
PLACES = 4


def write(curves: Curves, path: Path) -> None:
    """Write the page."""
    page.write(
        "curves.html",
        path,
        title=f"Miss ratios of {Path(curves.trace.path).name}",
        story=story(curves),
        notes=curves.notes,
        header=["policy", *(heading(size) for size in curves.sizes)],
        rows=rows(curves, curves.sizes),
        figures=_figures(curves),
    )


def story(curves: Curves) -> str:
    """What the trace is, in a line."""
    trace = curves.trace
    return (
        f"{trace.path} ({trace.format}): {trace.requests:,} requests for {trace.objects:,} different things; "
        f"compulsory misses {trace.compulsory_miss_ratio:.{PLACES}f}"
    )


def heading(size: tuple[str, int]) -> str:
    """A size as it was written, and its slots if that says more."""
    label, slots = size
    return label if label == str(slots) else f"{label} ({slots:,})"


def rows(curves: Curves, sizes: list[tuple[str, int]]) -> list[list[str]]:
    """A row for each policy, with a field for each of the sizes."""
    fields = {(row["policy"], row["slots"]): _field(row) for row in curves.summary().iter_rows(named=True)}
    return [[policy, *(fields[policy, slots] for _, slots in sizes)] for policy in curves.policies]


def _field(row: dict[str, Any]) -> str:
    if row["low"] is None:
        return f"{row['miss_ratio']:.{PLACES}f}"
    return spread(row["miss_ratio"], (row["high"] - row["low"]) / 2)


def _figures(curves: Curves) -> list[dict[str, str]]:
    """As many policies a chart as there are colours."""
    policies, labels = curves.policies, [label for label, _ in curves.sizes]
    points: dict[str, list[Point]] = {policy: [] for policy in policies}
    for row in curves.summary().iter_rows(named=True):
        low, high = (float("nan") if row[bound] is None else row[bound] for bound in ("low", "high"))
        series = points[row["policy"]]
        series.append(Point(len(series), row["miss_ratio"], low, high))
    figures = []
    for place in range(0, len(policies), COLOURS):
        shown = policies[place : place + COLOURS]
        picture = chart(labels, [Series(p, points[p]) for p in shown], "size of the cache", "miss ratio", WIDTH)
        figures.append({"title": ", ".join(shown), "picture": picture, "origin": story(curves)})
    return figures
