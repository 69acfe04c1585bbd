"""Which pictures show the numbers of a sweep: charts, heat maps, and the tail of each distribution.

Given as tables are: cells of a manifest, rows of `Results.summary` by scenario and metric.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from types import MappingProxyType
from typing import TypeVar

from schedlab.pictures import axes, heat
from schedlab.pictures.chart import COLOURS, Drawing, Point, Series, chart, panels
from schedlab.pictures.tail import Curve, Percentile, longer, spelled, tail
from schedlab.units import convert, digits, readable_unit

T = TypeVar("T")

#: A row of `Results.summary` by scenario and metric.
Entries = Mapping[tuple[str, str], Mapping]
#: What is said of a scenario in a metric: `heat.BEST`, `heat.ACCEPTABLE`, or nothing.
Marks = Mapping[tuple[str, str], str]
#: A statistic of a distribution, at the end of a metric's name.
STATISTIC = re.compile(r"(.+)\.(min|max|p\d+)")
#: What a drawn distribution consists of: results keep no single values.
KEPT = "points: the percentiles that results keep, each the mean over the seeds; lines only join them"
#: Cells whose distributions are drawn: of more, as many spread over the sweep.
MOST_CURVES = 40
#: Levels on the axis of a chart: of more, as many spread over the sweep.
MOST_PLACES = 200
#: Charts of a figure, and levels of a heat map in either direction: of more, as many spread over the sweep.
MOST_PANELS, MOST_LEVELS = 24, 24
#: Above the chart of a metric of no job, next to those of jobs.
ALL = "all tasks"
#: What the shades of a chart are.
SHADED = "shaded: not shown to be worse than the best; from top to bottom: so in every curve that has such points"


@dataclass(frozen=True)
class Plot:
    """What a chart of means is drawn from, for those who draw it again with more points."""

    #: The swept field of its axis, and the levels there.
    over: str
    levels: Sequence[str]
    series: Sequence[Series]
    #: Of each series: its metric, and the levels of the other factors that all its points have.
    of: Sequence[tuple[str, Mapping[str, str]]]
    title: str
    heading: str
    #: What a value of the engine is multiplied with to be in the unit of the chart.
    by: float


@dataclass(frozen=True)
class Curves:
    """What the drawings of a distribution are drawn from."""

    #: The name of the distribution, and its statistics that are known.
    of: str
    metrics: Sequence[str]
    #: The curves of each drawing.
    parts: Sequence[Sequence[Curve]]
    title: str
    #: What a value of the engine is multiplied with to be in the unit of the drawings.
    by: float


@dataclass(frozen=True)
class Map:
    """A heat map: its tiles, and the levels of the further factors that all of them have."""

    heading: str
    held: Mapping[str, str]
    tiles: Sequence[heat.Tile]


@dataclass(frozen=True)
class Maps:
    """What the heat maps of a metric are drawn from."""

    metric: str
    #: The swept fields of columns and rows, and their levels.
    over: tuple[str, str]
    columns: Sequence[str]
    rows: Sequence[str]
    maps: Sequence[Map]
    title: str
    #: What a value of the engine is multiplied with to be in the unit of the maps.
    by: float


@dataclass(frozen=True)
class Figure:
    """Drawings of one metric, or of one distribution: several, where there are more series than colours."""

    title: str
    drawings: list[Drawing]
    #: What its points are, where that does not go without saying.
    points: str = ""
    #: What each drawing shows, if they are charts of means over a factor.
    plots: Sequence[Plot] = ()
    #: The same, if they are tails of a distribution, or heat maps.
    curves: Curves | None = None
    maps: Maps | None = None


def figures(
    cells: Sequence[Mapping],
    shown: Sequence[str],
    known: Sequence[str],
    means: Callable[[Sequence[str]], Entries],
    marks: Marks = MappingProxyType({}),
) -> list[Figure]:
    """All pictures of the `shown` metrics; `means` gives the rows of `Results.summary` for some of the `known` ones."""
    tails = distributions(shown, known)
    wanted = [*shown, *(metric for name, of in tails.items() for metric in [*of, f"{name}.count"] if metric in known)]
    entries = means(list(dict.fromkeys(wanted)))
    charts = of_metrics(cells, shown, entries, marks) if len(cells) > 1 else []
    charts += maps(cells, shown, entries, marks)
    return charts + [of_distribution(cells, name, of, entries) for name, of in tails.items()]


def of_metrics(
    cells: Sequence[Mapping], metrics: Sequence[str], entries: Entries, marks: Marks = MappingProxyType({})
) -> list[Figure]:
    """A chart for each metric; the same metric of several jobs or nice levels shares one."""
    groups: dict[str, list[str]] = {}
    for metric in metrics:
        groups.setdefault(_split(metric)[1], []).append(metric)
    return [_means(cells, name, of, entries, marks) for name, of in groups.items()]


def distributions(metrics: Sequence[str], known: Sequence[str]) -> dict[str, list[str]]:
    """The distributions that metrics are statistics of: their names, each with all known percentiles."""
    names = list(dict.fromkeys(found[1] for metric in metrics if (found := STATISTIC.fullmatch(metric))))
    of = {name: [one for one in known if (found := STATISTIC.fullmatch(one)) and found[1] == name] for name in names}
    return {name: found for name, found in of.items() if len(found) > 2}


def of_distribution(cells: Sequence[Mapping], name: str, metrics: Sequence[str], entries: Entries) -> Figure:
    """All percentiles of a distribution, a curve for each cell. The entries have `NAME.count` too."""
    factors = [factor for factor in cells[0]["factors"] if len({cell["factors"][factor] for cell in cells}) > 1]
    curves = []
    drawn = cells if len(cells) <= MOST_CURVES else spread_over(cells, MOST_CURVES)
    unit = _unit(drawn, metrics, entries)
    for cell in drawn:
        of_cell = {metric: entries.get((cell["scenario"], metric)) for metric in metrics}
        counted = entries.get((cell["scenario"], f"{name}.count"))
        count = (counted and counted["mean"]) or 1.0
        curve = [
            Percentile(spelled(statistic), share, *in_unit(entry, unit))
            for metric, entry in of_cell.items()
            if entry and entry["mean"] is not None
            for statistic in [metric.rpartition(".")[2]]
            if (share := longer(statistic, count)) is not None
        ]
        if curve:
            curves.append((named(cell, factors), curve))
    title = f"{name} [{unit}]" if unit != "1" else name
    parts = [curves[place : place + COLOURS] for place in range(0, len(curves), COLOURS)]
    of = "" if drawn is cells else f" of {len(drawn)} of {len(cells):,} cells"
    drawings = [tail(part, title, among=curves) for part in parts]
    shown = Curves(name, metrics, parts, title, convert(1.0, _base(drawn, metrics, entries), unit))
    return Figure(f"{name}: all percentiles{of}", drawings, KEPT, curves=shown)


def spread_over(cells: Sequence[T], count: int) -> list[T]:
    """That many of them at equal steps, the first and the last among them."""
    if count >= len(cells):
        return list(cells)
    return [cells[place * (len(cells) - 1) // (count - 1)] for place in range(count)]


def _split(metric: str) -> tuple[str, str]:
    """Which job a metric describes, and its name: ("io", "real") of "tasks.io.real"; of a nice level too."""
    whose, _, rest = metric.partition(".")
    if whose not in ("tasks", "nice"):
        return "", metric
    one, _, name = rest.partition(".")
    return (one if whose == "tasks" else f"nice {one}"), name


def _means(cells: Sequence[Mapping], title: str, metrics: Sequence[str], entries: Entries, marks: Marks) -> Figure:
    """Curves over one factor, one for each level of a second; a chart for each level of further ones."""
    values = _levels(cells)
    first = max(values, key=lambda factor: _rank(values[factor]), default="")
    levels = spread_over(values[first], MOST_PLACES) if first else [""]
    places = {level: place for place, level in enumerate(levels)}
    # What the first factor determines (they were swept together), or what never changes, distinguishes no series.
    others = [f for f in values if f != first and not _follows(cells, first, f)]
    second = max(others, key=lambda f: (len(values[f]) <= COLOURS, len(values[f])), default=None)
    further = [factor for factor in others if factor != second]
    jobs = {_split(metric)[0] for metric in metrics}
    apart = len(jobs) > 1 and second is not None and len(jobs) * len(values[second]) > COLOURS
    charts: dict[str, dict[str, list[tuple[Point, str | None]]]] = {}
    held: dict[tuple[str, str], tuple[str, dict[str, str]]] = {}
    drawn = [cell for cell in cells if not first or cell["factors"][first] in places]
    unit = _unit(drawn, metrics, entries)
    for metric in metrics:
        for cell in drawn:
            entry = entries.get((cell["scenario"], metric))
            if entry is None or entry["mean"] is None:
                continue
            job = _split(metric)[0]
            heading = ", ".join(filter(None, [(job or ALL) if apart else "", named(cell, further)]))
            name = ", ".join(filter(None, ["" if apart else job, named(cell, [second] if second else [])]))
            place = places[cell["factors"][first]] if first else 0
            found = Point(place, *in_unit(entry, unit), entry.get("n", 0)), marks.get((cell["scenario"], metric))
            held[heading, name] = metric, {factor: cell["factors"][factor] for factor in others}
            charts.setdefault(heading, {}).setdefault(name, []).append(found)
    known = {metric for _, metric in marks}
    accepting = any(metric in known for metric in metrics)
    lines = {heading: [_series(n, points, accepting) for n, points in of.items()] for heading, of in charts.items()}
    names = {one.name for of in lines.values() for one in of}
    if len(names) == 1:
        lines = {heading: [replace(one, name="") for one in of] for heading, of in lines.items()}
    y_title = f"{title} [{unit}]" if unit != "1" else title
    if len(names) == 1 and (name := names.pop()):
        y_title = f"{name}: {y_title}"
    among = [one for of in lines.values() for one in of]
    shown = list(lines.items())[:MOST_PANELS]
    left = f"{len(lines) - MOST_PANELS} more charts are not shown" if len(lines) > MOST_PANELS else ""
    by = convert(1.0, _base(drawn, metrics, entries), unit)
    plots = [
        Plot(first, levels, part, keys, y_title, heading, by)
        for heading, of in shown
        for part, keys in zip(panels(of), panels([held[heading, name] for name in charts[heading]]), strict=True)
    ]
    drawings = [chart(levels, one.series, first, y_title, among=among, heading=one.heading) for one in plots]
    few = (
        f"{len(levels)} of {len(values[first]):,} levels of {first}"
        if first and len(levels) < len(values[first])
        else ""
    )
    points = [few, left, SHADED if any(one.accepted for one in among) else ""]
    return Figure(title, drawings, "; ".join(filter(None, points)), plots if first else ())


def _series(name: str, points: Sequence[tuple[Point, str | None]], accepting: bool) -> Series:
    """A series; nothing is said of what is acceptable where no point has a mark."""
    accepted = {point.x for point, mark in points if mark} if accepting else set()
    return Series(name, [point for point, _ in points], accepted=accepted or None)


def _levels(cells: Sequence[Mapping]) -> dict[str, list[str]]:
    """The levels of each factor, in the order of the experiment."""
    return {factor: list(dict.fromkeys(cell["factors"][factor] for cell in cells)) for factor in cells[0]["factors"]}


def _rank(levels: Sequence[str]) -> tuple[bool, int]:
    """How well levels serve as an axis: three or more numbers first, then the more the better."""
    return len(levels) > 2 and _are_numbers(levels), len(levels)


def _are_numbers(levels: Sequence[str]) -> bool:
    return len(levels) > 1 and all(level.value is not None for level in axes.levels(levels))


def maps(cells: Sequence[Mapping], metrics: Sequence[str], entries: Entries, marks: Marks) -> list[Figure]:
    """A heat map for each metric over two factors of which one has numbers; one for each level of further factors."""
    values = {factor: levels for factor, levels in _levels(cells).items() if len(levels) > 1}
    ranked = sorted(values, key=lambda factor: (_are_numbers(values[factor]), len(values[factor])), reverse=True)
    pairs = ((x, y) for place, x in enumerate(ranked) for y in ranked[place + 1 :])
    free = ((x, y) for x, y in pairs if not _follows(cells, x, y) and not _follows(cells, y, x))
    x, y = next(free, ("", ""))
    if not x or not (_are_numbers(values[x]) or _are_numbers(values[y])):
        return []
    if len(values[x]) > heat.COLUMNS >= len(values[y]):
        x, y = y, x
    return list(filter(None, (_map(cells, metric, x, y, values, entries, marks) for metric in metrics)))


def _map(
    cells: Sequence[Mapping],
    metric: str,
    x: str,
    y: str,
    values: Mapping[str, Sequence[str]],
    entries: Entries,
    marks: Marks,
) -> Figure | None:
    """The heat maps of a metric, on one scale."""
    columns, rows = (spread_over(values[factor], min(MOST_LEVELS, len(values[factor]))) for factor in (x, y))
    at = [{level: place for place, level in enumerate(levels)} for levels in (columns, rows)]
    further = [f for f in values if f not in (x, y) and not _follows(cells, x, f) and not _follows(cells, y, f)]
    drawn = [cell for cell in cells if cell["factors"][x] in at[0] and cell["factors"][y] in at[1]]
    unit = _unit(drawn, [metric], entries)
    found: dict[str, list[heat.Tile]] = {}
    held: dict[str, dict[str, str]] = {}
    for cell in drawn:
        entry, own = entries.get((cell["scenario"], metric)), cell["factors"]
        if entry is not None and entry["mean"] is not None:
            mean, low, high = in_unit(entry, unit)
            bounds = f" [{digits(low)}, {digits(high)}]" if isfinite(low) else ""
            mark = marks.get((cell["scenario"], metric), "")
            tip = ", ".join(filter(None, [f"{named(cell, [x, y])}: {digits(mean)}{bounds}", mark]))
            tile = heat.Tile(at[0][own[x]], at[1][own[y]], mean, tip, mark, low, high, entry.get("n", 0))
            found.setdefault(named(cell, further), []).append(tile)
            held[named(cell, further)] = {factor: own[factor] for factor in further}
    if not found:
        return None
    scale = heat.Scale.of([tile.value for tiles in found.values() for tile in tiles])
    titles = (x, y, f"{metric} [{unit}]" if unit != "1" else metric)
    shown = list(found.items())[:MOST_PANELS]
    drawings = [
        heat.heat(axes.levels(columns), axes.levels(rows), tiles, titles, scale, heading) for heading, tiles in shown
    ]
    said = [
        f"{len(levels)} of {len(values[factor])} levels of {factor}"
        for factor, levels in ((x, columns), (y, rows))
        if len(levels) < len(values[factor])
    ]
    said += [f"{len(found) - MOST_PANELS} more maps are not shown"] if len(found) > MOST_PANELS else []
    by = convert(1.0, _base(drawn, [metric], entries), unit)
    own = [Map(heading, held[heading], tiles) for heading, tiles in shown]
    whole = Maps(metric, (x, y), columns, rows, own, titles[2], by)
    return Figure(f"{metric} by {_short(x)} and {_short(y)}", drawings, "; ".join(said), maps=whole)


def _follows(cells: Sequence[Mapping], first: str, factor: str) -> bool:
    """Whether each level of `first` has one level of `factor`."""
    pairs = {(cell["factors"][first], cell["factors"][factor]) for cell in cells}
    return len(pairs) == len({level for level, _ in pairs})


def named(cell: Mapping, factors: Sequence[str]) -> str:
    """A cell by some of its factors; what is no number needs no name in front of it."""
    ends = [_short(name) for name in cell["factors"]]
    names = {
        name: end if ends.count(end) == 1 else ".".join(name.split(".")[-2:])
        for name, end in zip(cell["factors"], ends, strict=True)
    }
    found = [(names[factor], axes.level(cell["factors"][factor])) for factor in factors]
    return ", ".join(one.label if one.value is None else f"{name} {one.label}" for name, one in found)


def _short(factor: str) -> str:
    """The end of a path that says what it is: `gap.exp` of `workload.request.gap.exp`."""
    parts = factor.split(".")
    return ".".join(parts[-2:]) if len(parts) > 3 else parts[-1]


def _unit(cells: Sequence[Mapping], metrics: Sequence[str], entries: Entries) -> str:
    """The unit in which these means are read most easily."""
    found = _known(cells, metrics, entries)
    return readable_unit(found[0]["unit"], max(abs(entry["mean"]) for entry in found)) if found else "1"


def _base(cells: Sequence[Mapping], metrics: Sequence[str], entries: Entries) -> str:
    """The unit in which the engine reports them."""
    found = _known(cells, metrics, entries)
    return found[0]["unit"] if found else "1"


def _known(cells: Sequence[Mapping], metrics: Sequence[str], entries: Entries) -> list[Mapping]:
    """The rows of these metrics that have a mean."""
    found = [entry for cell in cells for metric in metrics if (entry := entries.get((cell["scenario"], metric)))]
    return [entry for entry in found if entry["mean"] is not None]


def in_unit(entry: Mapping, unit: str) -> tuple[float, float, float]:
    """A mean and its bounds in a unit; NaN for what there is not."""
    mean, low, high = (float("nan") if entry[key] is None else entry[key] for key in ("mean", "low", "high"))
    return tuple(convert(value, entry["unit"], unit) for value in (mean, low, high))
