"""Miss-ratio curves for people: the table that the command prints, and the page with the pictures."""

from pathlib import Path
from typing import Any

from schedlab.caches import Curves
from schedlab.pictures.axes import Level
from schedlab.pictures.chart import Point, Series, chart, panels
from schedlab.report import page
from schedlab.tables import Cell, Column, Table
from schedlab.units import spread

#: Digits of a ratio that is exact.
PLACES = 4


def write(curves: Curves, path: Path) -> None:
    """Write the page."""
    figures = _figures(curves)
    columns = [page.Column("policy", key=True), *(page.Column(heading(size), numeric=True) for size in curves.sizes)]
    rows_of = [
        [f"{policy}, {ratio.replace('_', ' ')}" if len(ratios(curves)) > 1 else policy, *fields]
        for ratio in ratios(curves)
        for policy, *fields in rows(curves, curves.sizes, ratio)
    ]
    page.write(
        "curves.html",
        path,
        title=f"Miss ratios of {Path(curves.trace.path).name}",
        basis=_basis(curves),
        story=story(curves),
        notes=curves.notes,
        contents=[*((f["id"], f["title"]) for f in figures), ("numbers", "The numbers")],
        table=page.grid(columns, rows_of),
        figures=figures,
    )


def _basis(curves: Curves) -> str:
    """What the numbers of the page are."""
    if not curves.sample:
        return "Each ratio is exact: it counts every request of the trace."
    return page.over_seeds(curves.samples, "sample")


def story(curves: Curves) -> str:
    """What the trace is, in a line."""
    trace = curves.trace
    of_bytes = f" of {trace.object_bytes:,} B, {trace.requested_bytes:,} B requested" if trace.sizes else ""
    return (
        f"{trace.path} ({trace.format}): {trace.requests:,} requests for {trace.objects:,} different objects"
        f"{of_bytes}; "
        f"compulsory misses {trace.compulsory_miss_ratio:.{PLACES}f}"
    )


def ratios(curves: Curves) -> list[str]:
    """The columns of the summary that are miss ratios."""
    return ["miss_ratio", "byte_miss_ratio"] if curves.room == "bytes" else ["miss_ratio"]


def heading(size: tuple[str, int]) -> str:
    """A size as it was written, and its slots or bytes if that says more."""
    label, capacity = size
    return label if label == str(capacity) or not label.endswith("%") else f"{label} ({capacity:,})"


def table(curves: Curves, ratio: str) -> Table:
    """A row for each policy, a column for each size."""
    sizes = [Column(heading(size), numeric=True) for size in curves.sizes]
    return Table.of_texts([Column(ratio.replace("_", " "), key=True), *sizes], rows(curves, curves.sizes, ratio))


def tidy(curves: Curves) -> Table:
    """Everything in one table: a row for each policy and size."""
    summary = curves.summary()
    found = [[Cell("", (value,)) for value in row] for row in summary.iter_rows()]
    return Table([Column(name) for name in summary.columns], found)


def rows(curves: Curves, sizes: list[tuple[str, int]], ratio: str = "miss_ratio") -> list[list[str]]:
    """A row for each policy, with a field for each of the sizes."""
    fields = {(row["policy"], row[curves.room]): _field(row, ratio) for row in curves.summary().iter_rows(named=True)}
    return [[policy, *(fields[policy, capacity] for _, capacity in sizes)] for policy in curves.policies]


def _field(row: dict[str, Any], ratio: str) -> str:
    if row["low"] is None:
        return f"{row[ratio]:.{PLACES}f}"
    return spread(row["miss_ratio"], (row["high"] - row["low"]) / 2)


def _figures(curves: Curves) -> list[dict[str, Any]]:
    """As many policies a chart as there are colours, and a chart for each ratio."""
    return [figure for ratio in ratios(curves) for figure in _of_ratio(curves, ratio)]


def _of_ratio(curves: Curves, ratio: str) -> list[dict[str, Any]]:
    levels = [Level(label, float(capacity), "size") for label, capacity in curves.sizes]
    # A single size has no axis of its own.
    levels = levels if len({level.value for level in levels}) > 1 else [Level(level.label) for level in levels]
    points: dict[str, list[Point]] = {policy: [] for policy in curves.policies}
    for row in curves.summary().iter_rows(named=True):
        low, high = (float("nan") if row[bound] is None else row[bound] for bound in ("low", "high"))
        series = points[row["policy"]]
        series.append(Point(len(series), row[ratio], low, high))
    figures = []
    series = [Series(policy, found) for policy, found in points.items()]
    for shown in panels(series):
        words = ratio.replace("_", " ")
        names = ", ".join(series.name for series in shown)
        figures.append(
            {
                "id": page.anchor(f"{words} {names}"),
                "title": f"{words}: {names}" if len(ratios(curves)) > 1 else names,
                "pictures": [chart(levels, shown, "size of the cache", words, among=series).embedded()],
                "origin": story(curves),
            }
        )
    return figures
