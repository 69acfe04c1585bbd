"""Which pictures show the numbers of a sweep: a chart for each metric, and the tail of each distribution.

Given as tables are: cells of a manifest, rows of `Results.summary` by scenario and metric.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from schedlab.pictures import axes
from schedlab.pictures.chart import COLOURS, Drawing, Point, Series, chart, panels
from schedlab.pictures.tail import Percentile, longer, spelled, tail
from schedlab.units import convert, readable_unit

#: A row of `Results.summary` by scenario and metric.
Entries = Mapping[tuple[str, str], Mapping]
#: A statistic of a distribution, at the end of a metric's name.
STATISTIC = re.compile(r"(.+)\.(min|max|p\d+)")
#: What a drawn distribution consists of: results keep no single values.
KEPT = "points: the percentiles that results keep, each the mean over the seeds; lines only join them"
#: Cells whose distributions are drawn: of more, as many spread over the sweep.
MOST_CURVES = 40


@dataclass(frozen=True)
class Figure:
    """Drawings of one metric, or of one distribution: several, where there are more series than colours."""

    title: str
    drawings: list[Drawing]
    #: What its points are, where that does not go without saying.
    points: str = ""


def figures(
    cells: Sequence[Mapping],
    shown: Sequence[str],
    known: Sequence[str],
    rows: Callable[[Sequence[str]], Iterable[Mapping]],
) -> list[Figure]:
    """All pictures of the `shown` metrics; `rows` gives the rows of `Results.summary` for some of the `known` ones."""
    tails = distributions(shown, known)
    wanted = [*shown, *(metric for name, of in tails.items() for metric in [*of, f"{name}.count"] if metric in known)]
    entries = {(row["scenario"], row["metric"]): row for row in rows(list(dict.fromkeys(wanted)))}
    charts = of_metrics(cells, shown, entries) if len(cells) > 1 else []
    return charts + [of_distribution(cells, name, of, entries) for name, of in tails.items()]


def of_metrics(cells: Sequence[Mapping], metrics: Sequence[str], entries: Entries) -> list[Figure]:
    """A chart for each metric; the same metric of several jobs or nice levels shares one."""
    groups: dict[str, list[str]] = {}
    for metric in metrics:
        groups.setdefault(_split(metric)[1], []).append(metric)
    return [_means(cells, name, of, entries) for name, of in groups.items()]


def distributions(metrics: Sequence[str], known: Sequence[str]) -> dict[str, list[str]]:
    """The distributions that metrics are statistics of: their names, each with all known percentiles."""
    names = list(dict.fromkeys(found[1] for metric in metrics if (found := STATISTIC.fullmatch(metric))))
    of = {name: [one for one in known if (found := STATISTIC.fullmatch(one)) and found[1] == name] for name in names}
    return {name: found for name, found in of.items() if len(found) > 2}


def of_distribution(cells: Sequence[Mapping], name: str, metrics: Sequence[str], entries: Entries) -> Figure:
    """All percentiles of a distribution, a curve for each cell. The entries have `NAME.count` too."""
    unit = _unit(metrics, entries)
    factors = [factor for factor in cells[0]["factors"] if len({cell["factors"][factor] for cell in cells}) > 1]
    curves = []
    drawn = cells if len(cells) <= MOST_CURVES else spread_over(cells, MOST_CURVES)
    for cell in drawn:
        of_cell = {metric: entries.get((cell["scenario"], metric)) for metric in metrics}
        counted = entries.get((cell["scenario"], f"{name}.count"))
        count = (counted and counted["mean"]) or 1.0
        curve = [
            Percentile(spelled(statistic), share, *_in_unit(entry, unit))
            for metric, entry in of_cell.items()
            if entry and entry["mean"] is not None
            for statistic in [metric.rpartition(".")[2]]
            if (share := longer(statistic, count)) is not None
        ]
        if curve:
            curves.append((_named(cell, factors), curve))
    title = f"{name} [{unit}]" if unit != "1" else name
    parts = [curves[place : place + COLOURS] for place in range(0, len(curves), COLOURS)]
    of = "" if drawn is cells else f" of {len(drawn)} of {len(cells):,} cells"
    return Figure(f"{name}: all percentiles{of}", [tail(part, title, among=curves) for part in parts], KEPT)


def spread_over(cells: Sequence[Mapping], count: int) -> list[Mapping]:
    """That many cells at equal steps, the first and the last among them."""
    return [cells[place * (len(cells) - 1) // (count - 1)] for place in range(count)]


def _split(metric: str) -> tuple[str, str]:
    """Which job a metric describes, and its name: ("io", "real") of "tasks.io.real"; of a nice level too."""
    whose, _, rest = metric.partition(".")
    if whose not in ("tasks", "nice"):
        return "", metric
    one, _, name = rest.partition(".")
    return (one if whose == "tasks" else f"nice {one}"), name


def _means(cells: Sequence[Mapping], title: str, metrics: Sequence[str], entries: Entries) -> Figure:
    values = {factor: list(dict.fromkeys(cell["factors"][factor] for cell in cells)) for factor in cells[0]["factors"]}
    first = max(values, key=lambda factor: len(values[factor]), default="")
    levels = values[first] if first else [""]
    places = {level: place for place, level in enumerate(levels)}
    # What the first factor determines (they were swept together), or what never changes, distinguishes no series.
    others = [f for f in values if f != first and not _follows(cells, first, f)]
    unit = _unit(metrics, entries)
    lines: dict[str, list[Point]] = {}
    for metric in metrics:
        for cell in cells:
            entry = entries.get((cell["scenario"], metric))
            if entry is None or entry["mean"] is None:
                continue
            name = ", ".join(filter(None, [_split(metric)[0], _named(cell, others)]))
            place = places[cell["factors"][first]] if first else 0
            lines.setdefault(name, []).append(Point(place, *_in_unit(entry, unit)))
    series = [Series(name if len(lines) > 1 else "", points) for name, points in lines.items()]
    y_title = f"{title} [{unit}]" if unit != "1" else title
    if len(lines) == 1 and next(iter(lines)):
        y_title = f"{next(iter(lines))}: {y_title}"
    return Figure(title, [chart(levels, part, first, y_title, among=series) for part in panels(series)])


def _follows(cells: Sequence[Mapping], first: str, factor: str) -> bool:
    """Whether each level of `first` has one level of `factor`."""
    pairs = {(cell["factors"][first], cell["factors"][factor]) for cell in cells}
    return len(pairs) == len({level for level, _ in pairs})


def _named(cell: Mapping, factors: Sequence[str]) -> str:
    """A cell by some of its factors; what is no number needs no name in front of it."""
    found = [(factor, axes.level(cell["factors"][factor])) for factor in factors]
    return ", ".join(one.label if one.value is None else f"{_short(name)} {one.label}" for name, one in found)


def _short(factor: str) -> str:
    """The end of a path that says what it is: `gap.exp` of `workload.request.gap.exp`."""
    parts = factor.split(".")
    return ".".join(parts[-2:]) if len(parts) > 3 else parts[-1]


def _unit(metrics: Sequence[str], entries: Entries) -> str:
    found = [entry for (_, metric), entry in entries.items() if metric in metrics and entry["mean"] is not None]
    return readable_unit(found[0]["unit"], max(abs(entry["mean"]) for entry in found)) if found else "1"


def _in_unit(entry: Mapping, unit: str) -> tuple[float, float, float]:
    mean, low, high = (float("nan") if entry[key] is None else entry[key] for key in ("mean", "low", "high"))
    return tuple(convert(value, entry["unit"], unit) for value in (mean, low, high))
