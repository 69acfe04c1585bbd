"""The page about rebuilt reports: verdicts first, then the rows, the pictures and where the numbers come from.

In rows.toml, a `[[figure]]` has a title, `x_title`, `y_title`, the labels `x`, and `series`: a name and the id of
its rows with {x} for the label. A `[[schedule]]` has a title, an experiment, the cell, and `first` in seconds.
"""

import math
from collections.abc import Mapping
from pathlib import Path

from schedlab.published.reproduction import Outcome, with_mark
from schedlab.published.rows import Row, Score, total
from schedlab.report import page
from schedlab.report.svg import Point, Series, chart, file
from schedlab.tables import Cell, Column, Table
from schedlab.units import alike, counted


def write(outcomes: list[Outcome], path: Path) -> None:
    """Write one page about all of them."""
    titles = [f"{o.report.name}: {o.report.published['title']}" for o in outcomes]
    reports = [_report(outcome) for outcome in outcomes]
    scores = score_texts(outcomes)
    page.write("reproduced.html", path, title="; ".join(titles), reports=reports, with_mark=with_mark, scores=scores)


def score_texts(outcomes: list[Outcome]) -> list[list[str]]:
    """For each report, and for all: how many rows are met of those kept back, judged blind, and fitted to."""
    texts = [[o.report.name, *map(_score, (o.kept_back, o.report.blind, o.fitted))] for o in outcomes]
    if len(outcomes) > 1:
        blind = total(o.report.blind for o in outcomes if o.report.blind)
        sums = total(o.kept_back for o in outcomes), blind, total(o.fitted for o in outcomes)
        texts.append(["all", *map(_score, sums)])
    return texts


def _score(score: Score | None) -> str:
    return str(score) if score and score.judged else "none"


def row_texts(row: Row) -> list[str]:
    """A row in words: id, unit, published, predicted, interval, error, allowance; "none" where there is no value."""
    unit = "" if row.spec.unit == "1" else row.spec.unit
    published = "" if row.spec.published is None else _printed(row)
    if not math.isfinite(row.predicted):
        return [row.spec.id, unit, published, "none", "", "", _allowed(row)]
    mean, low, high = alike(row.predicted, row.low, row.high)
    return [row.spec.id, unit, published, mean, f"{low} – {high}", _error(row), _allowed(row)]


def rows_table(outcomes: list[Outcome], styles: Mapping[str, str], named: bool = False) -> Table:
    """The rows of reports, each with its verdict in a style; with the report's name in front of each if `named`."""
    columns = [
        Column("row", key=True),
        Column("unit"),
        Column("published", numeric=True, plain=("published", "published high")),
        Column("predicted", numeric=True),
        Column("95 % interval", numeric=True, plain=("low", "high")),
        Column("error", numeric=True),
        Column("allowed", numeric=True),
        Column("verdict", plain=("verdict", "set afterwards")),
    ]
    report = [Column("report", key=True)] if named else []
    rows = [
        [*([outcome.report.name] if named else []), *_cells(row, styles)]
        for outcome in outcomes
        for row in outcome.rows
    ]
    return Table.of_texts([*report, *columns], rows)


def _cells(row: Row, styles: Mapping[str, str]) -> list[Cell]:
    texts = [*row_texts(row), with_mark(row.verdict, row.afterwards)]
    predicted, low, high = (value if math.isfinite(value) else None for value in (row.predicted, row.low, row.high))
    error = None if predicted is None else row.error
    known = (
        [row.spec.id],
        [row.spec.unit],
        [row.spec.published, row.spec.published_high],
        [predicted],
        [low, high],
        [error],
    )
    plain = [*known, [_allowed(row)], [row.verdict, row.afterwards or None]]
    style = ["", "", "", "", "", "", "", styles.get(row.verdict, "")]
    return [Cell(text, tuple(values), how) for text, values, how in zip(texts, plain, style, strict=True)]


def _printed(row: Row) -> str:
    low, high = row.spec.published, row.spec.published_high
    return f"{low:g}" if high is None else f"{low:g} – {high:g}"


def _error(row: Row) -> str:
    if row.error is None:
        return ""
    text = f"{row.error:+.2f}"
    relative = row.spec.published and row.spec.published_high is None
    return f"{text} ({100 * row.error / row.spec.published:+.1f} %)" if relative else text


def _allowed(row: Row) -> str:
    return "" if row.spec.published is None else str(row.spec.tolerance)


def _report(outcome: Outcome) -> dict:
    texts = {c["id"]: c["text"] for c in outcome.report.published.get("claim", [])}
    machines: list[dict] = []
    for results in outcome.runner.results:
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


def figure_file(outcome: Outcome, title: str) -> str:
    """The figure of that title as an SVG file of its own."""
    (spec,) = (figure for figure in outcome.report.figures if figure["title"] == title)
    return file(spec["x"], _series(outcome, spec)[0], spec["x_title"], spec["y_title"])


def _series(outcome: Outcome, spec: dict) -> tuple[list[Series], list[Row]]:
    rows = {row.spec.id: row for row in outcome.rows}
    series, used = [], []
    for name, pattern in spec["series"].items():
        found = [(i, rows[pattern.format(x=x)]) for i, x in enumerate(spec["x"]) if pattern.format(x=x) in rows]
        points = [Point(i, row.predicted, row.low, row.high) for i, row in found]
        published = [(i, row.spec.published) for i, row in found if row.spec.published is not None]
        series.append(Series(name, points, published))
        used += [row for _, row in found]
    return series, used


def _figure(outcome: Outcome, spec: dict) -> dict:
    series, used = _series(outcome, spec)
    return {
        "title": spec["title"],
        "picture": chart(spec["x"], series, spec["x_title"], spec["y_title"]),
        "origin": page.origin(
            ", ".join(dict.fromkeys(row.spec.experiment for row in used)),
            [row.scenario for row in used],
            f"{counted(min((row.seeds for row in used), default=0), 'seed')} each",
        ),
    }


def _schedule(outcome: Outcome, spec: dict) -> dict:
    results = outcome.runner.run(spec["experiment"])
    cell = results.cell(spec["cell"])
    seed, first = results.seeds[0], spec["first"]
    return {
        "title": spec["title"],
        "picture": page.schedule(page.scenario_of(results, cell), seed, first),
        "origin": page.origin(spec["experiment"], [cell["scenario"]], f"seed {seed}"),
    }
