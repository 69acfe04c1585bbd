"""The page about one result: its table, a chart for each metric, and the first seconds drawn."""

from pathlib import Path

from schedlab.errors import UsageError
from schedlab.report import page
from schedlab.report.svg import COLOURS, Point, Series, chart
from schedlab.report.warnings import gathered
from schedlab.results import Results
from schedlab.units import convert, counted, readable_unit

#: Of a chart, in units of its drawing: two are placed side by side.
WIDTH = 460
#: Seconds of the first run that the page draws.
DRAWN = 2.0


def write(results: Results, path: Path) -> None:
    """Write the page. Raises `UsageError` for sealed results: a page shows settings."""
    if (results.folder / "seal").exists():
        raise UsageError(f"{results.folder} is sealed; conclude first, then: schedlab unseal {results.folder}")
    table, _ = results.summary_tables()
    page.write(
        "measured.html",
        path,
        title=results.manifest["question"] or results.name,
        results=results,
        counted=counted,
        warnings=gathered(results.warnings),
        header=[column.heading for column in table.columns],
        rows=[[cell.text for cell in row] for row in table.rows],
        figures=_figures(results),
        schedule=_schedule(results),
        machines=[(m, page.machine_rows(m)) for m in results.manifest["machines"]],
    )


def _schedule(results: Results) -> dict[str, str]:
    """The first seconds of the first cell."""
    cell, seed = results.manifest["cells"][0], results.seeds[0]
    where = ", ".join(f"{name} = {value}" for name, value in cell["factors"].items())
    return {
        "title": f"The first {DRAWN:g} s" + (f" with {where}" if where else ""),
        "picture": page.schedule(page.scenario_of(results, cell), seed, DRAWN),
        "origin": page.origin(results.name, [cell["scenario"]], f"seed {seed}"),
    }


def _figures(results: Results) -> list[dict[str, str]]:
    """One chart for each metric; the same metric of several jobs or nice levels shares one."""
    if len(results.manifest["cells"]) < 2:
        return []
    groups: dict[str, list[str]] = {}
    for metric in results.shown_metrics:
        groups.setdefault(_split(metric)[1], []).append(metric)
    scenarios = [cell["scenario"] for cell in results.manifest["cells"]]
    caption = page.origin(results.name, scenarios, f"{counted(len(results.seeds), 'seed')} each")
    return [{"title": name, "picture": _chart(results, name, of), "origin": caption} for name, of in groups.items()]


def _split(metric: str) -> tuple[str, str]:
    """Which job a metric describes, and its name: ("io", "real") of "tasks.io.real"; of a nice level too."""
    whose, _, rest = metric.partition(".")
    if whose not in ("tasks", "nice"):
        return "", metric
    one, _, name = rest.partition(".")
    return (one if whose == "tasks" else f"nice {one}"), name


def _chart(results: Results, title: str, metrics: list[str]) -> str:
    cells = results.manifest["cells"]
    values = {factor: list(dict.fromkeys(cell["factors"][factor] for cell in cells)) for factor in results.factors}
    first = max(values, key=lambda factor: len(values[factor]))
    others, labels = [factor for factor in values if factor != first], values[first]
    entries = {(row["scenario"], row["metric"]): row for row in results.summary().iter_rows(named=True)}
    largest = max((abs(e["mean"] or 0) for (_, m), e in entries.items() if m in metrics), default=0.0)
    unit = readable_unit(next(e["unit"] for (_, m), e in entries.items() if m in metrics), largest)
    lines: dict[str, list[Point]] = {}
    for metric in metrics:
        for cell in cells:
            entry = entries.get((cell["scenario"], metric))
            if entry is None or entry["mean"] is None:
                continue
            name = ", ".join(filter(None, [_split(metric)[0], *(cell["factors"][f] for f in others)]))
            point = _point(labels.index(cell["factors"][first]), entry, unit)
            lines.setdefault(name, []).append(point)
    series = [Series(name, points) for name, points in list(lines.items())[:COLOURS]]
    note = f" (first {COLOURS} of {len(lines)}; the table has all)" if len(lines) > COLOURS else ""
    y_title = f"{title} [{unit}]" if unit != "1" else title
    return chart(labels, series, first + note, y_title, WIDTH)


def _point(x: int, entry: dict, unit: str) -> Point:
    low, high = (entry[k] if entry[k] is not None else float("nan") for k in ("low", "high"))
    return Point(x, *(convert(v, entry["unit"], unit) for v in (entry["mean"], low, high)))
