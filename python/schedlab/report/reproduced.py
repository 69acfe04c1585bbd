"""The page about rebuilt reports: verdicts first, then the rows, the pictures and where the numbers come from.

In rows.toml, a `[[figure]]` has a title, `x_title`, `y_title`, the labels `x`, and `series`: a name and the id of
its rows with {x} for the label. A `[[schedule]]` has a title, an experiment, the cell, and `first` in seconds.
"""

import math
from pathlib import Path

from schedlab.report import page
from schedlab.report.svg import Point, Series, chart
from schedlab.reproduction import Outcome, Row, marked
from schedlab.units import alike


def write(outcomes: list[Outcome], path: Path) -> None:
    """Write one page about all of them."""
    titles = [f"{o.report.name}: {o.report.published['title']}" for o in outcomes]
    reports = [_report(outcome) for outcome in outcomes]
    page.write("reproduced.html", path, title="; ".join(titles), reports=reports, marked=marked)


def row_texts(row: Row) -> list[str]:
    """A row in words: id, published, predicted, interval, error, allowance; "none" where a rule finds no value."""
    unit = "" if row.spec.unit == "1" else f" {row.spec.unit}"
    published = "" if row.spec.published is None else f"{row.spec.published:g}{unit}"
    if not math.isfinite(row.predicted):
        return [row.spec.id, published, "none", "", "", _allowed(row)]
    mean, low, high = alike(row.predicted, row.low, row.high)
    return [row.spec.id, published, f"{mean}{unit}", f"{low} – {high}", _error(row), _allowed(row)]


def _error(row: Row) -> str:
    if row.error is None:
        return ""
    text = f"{row.error:+.2f}"
    return f"{text} ({100 * row.error / row.spec.published:+.1f} %)" if row.spec.published else text


def _allowed(row: Row) -> str:
    return "" if row.spec.published is None else str(row.spec.tolerance)


def _report(outcome: Outcome) -> dict:
    texts = {c["id"]: c["text"] for c in outcome.report.published.get("claim", [])}
    machines: list[dict] = []
    for results in outcome.lab.results:
        machines += [m for m in results.manifest["machines"] if m not in machines]
    return {
        "name": outcome.report.name,
        "title": outcome.report.published["title"],
        "source": outcome.report.published["source"],
        "rows": [(row, row_texts(row)) for row in outcome.rows],
        "claims": [(name, texts[name], finding) for name, finding in outcome.claims.items()],
        "notes": outcome.notes(),
        "tolerances": {str(r.spec.tolerance): r.spec.tolerance.reason for r in outcome.rows},
        "figures": [_figure(outcome, spec) for spec in outcome.report.figures],
        "schedules": [_schedule(outcome, spec) for spec in outcome.report.schedules],
        "machines": [(m, page.machine_rows(m)) for m in machines],
    }


def _figure(outcome: Outcome, spec: dict) -> dict:
    rows = {row.spec.id: row for row in outcome.rows}
    series, used = [], []
    for name, pattern in spec["series"].items():
        found = [(i, rows[pattern.format(x=x)]) for i, x in enumerate(spec["x"]) if pattern.format(x=x) in rows]
        points = [Point(i, row.predicted, row.low, row.high) for i, row in found]
        published = [(i, row.spec.published) for i, row in found if row.spec.published is not None]
        series.append(Series(name, points, published))
        used += [row for _, row in found]
    return {
        "title": spec["title"],
        "picture": chart(spec["x"], series, spec["x_title"], spec["y_title"]),
        "origin": page.origin(
            ", ".join(dict.fromkeys(row.spec.experiment for row in used)),
            [row.scenario for row in used],
            f"{min((row.seeds for row in used), default=0)} seeds each",
        ),
    }


def _schedule(outcome: Outcome, spec: dict) -> dict:
    results = outcome.lab.run(spec["experiment"])
    cell = results.cell(spec["cell"])
    seed, first = results.seeds[0], spec["first"]
    return {
        "title": spec["title"],
        "picture": page.schedule(page.scenario_of(results, cell), seed, first),
        "origin": page.origin(spec["experiment"], [cell["scenario"]], f"seed {seed}"),
    }
