"""The page about rebuilt reports: one screen with what was asked and how much held, then a section for each report.

In rows.toml, a `[[figure]]` has a title, `x_title`, `y_title`, the labels `x`, and `series`: a name and the id of
its rows with {x} for the label. A `[[schedule]]` has a title, an experiment, the cell, and `first` in seconds: of
the run, or of the `job` that it names.
"""

import math
from collections.abc import Mapping
from pathlib import Path

from schedlab.pictures.chart import Point, Series, chart
from schedlab.pictures.judged import Group, Value, judged
from schedlab.pictures.schedule import Stretch, of_job
from schedlab.published.reproduction import Finding, Outcome, tally, with_mark
from schedlab.published.rows import Row, Score, total
from schedlab.report import page
from schedlab.tables import Cell, Column, Table
from schedlab.units import alike, counted, digits


def write(outcomes: list[Outcome], path: Path) -> None:
    """Write one page about all of them."""
    reports = [_report(outcome) for outcome in outcomes]
    blind = [outcome.report.blind for outcome in outcomes if outcome.report.blind]
    page.write(
        "reproduced.html",
        path,
        title="Published measurements, predicted by simulation",
        basis=BASIS,
        reports=reports,
        blind=total(blind) if blind else None,
        kept_back=total(outcome.kept_back for outcome in outcomes),
        judged=_judged(outcomes),
        scores=_scores(outcomes),
        counted=counted,
    )


#: What the scores of a report are, in the order of `score_texts`.
SCORES = ("kept back: predicted", "judged blind", "fitted")
#: What the page's numbers are. A rule's range is no interval of Student's.
BASIS = (
    "A predicted value is a mean over seeds with its 95 % interval by Student's t; that of a row which follows from "
    "others by a rule is what the rule makes of them, with the bounds of its range."
)


def _scores(outcomes: list[Outcome]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """A row for each report, and one for all: its name, its question, and its scores with their headings."""
    questions = {outcome.report.name: outcome.report.question for outcome in outcomes}
    return [
        (name, questions.get(name, ""), list(zip(SCORES, scores, strict=True)))
        for name, *scores in score_texts(outcomes)
    ]


def _judged(outcomes: list[Outcome]) -> dict | None:
    """Every value that was kept back, as a share of what was published; nothing where there is none."""
    groups = [Group(one.report.name, values) for one in outcomes if (values := _ratios(one))]
    if not groups:
        return None
    kept = total(outcome.kept_back for outcome in outcomes).judged
    left = kept - sum(len(one.values) for one in groups)
    zero = f"; {left} of zero left out" if left else ""
    picture = judged(groups, "predicted / published, log scale").embedded()
    return {"picture": picture, "words": f"Values that were kept back, misses by name{zero}; an arrow: beyond the axis"}


def _ratios(outcome: Outcome) -> list[Value]:
    """The values of a report that were kept back and have a ratio."""
    found = []
    for row in outcome.rows:
        known = math.isfinite(row.predicted)
        nearest = row.spec.published and (row.spec.nearest_published(row.predicted) if known else row.spec.published)
        if row.spec.use != "test" or not nearest:
            continue
        tolerance = row.spec.tolerance
        room = tolerance.relative if tolerance.relative is not None else tolerance.absolute / abs(nearest)
        ratio = row.predicted / nearest
        predicted = digits(row.predicted) if known else "none"
        tip = f"{row.spec.id}: predicted {predicted}, published {_printed(row)}, {_allowed(row)}"
        met = row.verdict != "missed"
        found.append(Value(row.spec.id, ratio, 1 - room, 1 + room, met, f"{tip}: {row.verdict}"))
    return found


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
    printed = [row for row in outcome.rows if row.spec.published is not None]
    others = [row for row in outcome.rows if row.spec.published is None]
    name = outcome.report.name
    figures = [_figure(outcome, spec) for spec in outcome.report.figures]
    schedules = [_schedule(outcome, spec) for spec in outcome.report.schedules]
    parts = [(f["id"], f["title"]) for f in [*figures, *schedules]]
    parts += [(f"{name}-rows", "Published and predicted")] if printed else []
    parts += [(f"{name}-claims", "Claims")] if outcome.claims else []
    parts += [(f"{name}-others", "Rows without a published value")] if others else []
    return {
        "contents": [*parts, (f"{name}-sources", "Where the numbers come from")],
        "name": name,
        "title": outcome.report.published["title"],
        "source": outcome.report.published["source"],
        "totals": totals(outcome),
        "printed": _rows(printed),
        "others": _rows(others),
        "claims": _claims([(id, texts[id], finding) for id, finding in outcome.claims.items()]),
        "notes": outcome.notes(),
        "tolerances": {str(row.spec.tolerance): row.spec.tolerance.reason for row in printed},
        "figures": figures,
        "schedules": schedules,
        "machines": [(m, page.machine_table(m)) for m in machines],
    }


def totals(outcome: Outcome) -> str:
    """How many rows and claims have each verdict, in a line."""
    counts = [
        ("row", [row.verdict for row in outcome.rows]),
        ("claim", [finding.verdict for finding in outcome.claims.values()]),
    ]
    return "; ".join(f"{counted(len(of), noun)}: {tally(of)}" for noun, of in counts if of)


def _rows(rows: list[Row]) -> page.Grid:
    columns = [
        page.Column("row", key=True, style="id"),
        page.Column("unit"),
        *(page.Column(name, numeric=True) for name in ("published", "predicted", "95 % interval", "error", "allowed")),
        page.Column("verdict", style="verdict"),
    ]
    texts = [[*row_texts(row), (with_mark(row.verdict, row.afterwards), _class(row.verdict))] for row in rows]
    # What no row has needs no column.
    shown = [place for place in range(len(columns)) if not rows or any(_filled(text[place]) for text in texts)]
    return page.grid([columns[place] for place in shown], [[text[place] for place in shown] for text in texts])


def _filled(value: str | tuple[str, str]) -> bool:
    return bool(value if isinstance(value, str) else value[0])


def _claims(claims: list[tuple[str, str, Finding]]) -> page.Grid:
    columns = [
        page.Column("claim", prose=True),
        page.Column("verdict", style="verdict"),
        page.Column("evidence", prose=True),
    ]
    rows = [
        [f"{name}: {text}", (with_mark(finding.verdict, finding.afterwards), _class(finding.verdict)), finding.evidence]
        for name, text, finding in claims
    ]
    return page.grid(columns, rows)


def _class(verdict: str) -> str:
    return verdict.replace(" ", "-")


def figure_file(outcome: Outcome, title: str) -> str:
    """The figure of that title as an SVG file of its own."""
    (spec,) = (figure for figure in outcome.report.figures if figure["title"] == title)
    return chart(spec["x"], _series(outcome, spec)[0], spec["x_title"], spec["y_title"], 420).document()


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
        "id": page.anchor(f"{outcome.report.name} {spec['title']}"),
        "title": spec["title"],
        "pictures": [chart(spec["x"], series, spec["x_title"], spec["y_title"]).embedded()],
        "origin": page.origin(
            ", ".join(dict.fromkeys(row.spec.experiment for row in used)),
            [row.scenario for row in used],
            f"{counted(min((row.seeds for row in used), default=0), 'seed')} each",
        ),
    }


def _schedule(outcome: Outcome, spec: dict) -> dict:
    results = outcome.runner.run(spec["experiment"])
    cell = results.cell(spec["cell"])
    run, first = {"scenario": results.scenario(cell), "seed": results.seeds[0]}, spec["first"]
    stretch = of_job(run, spec["job"], first) if "job" in spec else Stretch(0, round(first * 1e9))
    return {
        "id": page.anchor(f"{outcome.report.name} {spec['title']}"),
        "title": spec["title"],
        "picture": page.schedule(run, stretch),
        "origin": page.origin(spec["experiment"], [cell["scenario"]], f"seed {results.seeds[0]}"),
    }
