"""The page about one result: the verdict, its table, pictures of the numbers, a schedule, and how to run it again."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from schedlab.pictures import effects, schedule, swept
from schedlab.pictures import predicted as diagonal
from schedlab.pictures.chart import COLOURS, WIDTH
from schedlab.report import method, page
from schedlab.report.page import Column
from schedlab.report.warnings import gathered
from schedlab.results import Results, compared, predicted, verdict
from schedlab.results.best import Judged
from schedlab.results.predicted import Prediction
from schedlab.results.tables import level_name
from schedlab.tables import table as tables
from schedlab.units import counted, readable_unit

#: Machines that a page describes.
MOST_MACHINES = 20
#: Differences of a metric that are drawn, the largest.
MOST_EFFECTS = 24
#: Why a live page computes nothing in a figure of predictions.
MEASURED = "Stored results only: each point has a measured value next to the predicted one, and a page cannot measure."


def write(
    results: Results, path: Path, baseline: str | None = None, within: float | None = None, is_live: bool = False
) -> None:
    """Write the page. `baseline` and `within` are those of its verdict, as `Results.judged` takes them.

    A live one has the simulator in it. Raises `UsageError` for sealed results: a page shows settings; and for a live
    page of results of which nothing was simulated.
    """
    file, text = method.file(results)
    judged = results.judged(baseline, within)
    foreseen = results.predictions(within)
    bests = page.of_table(verdict.table(judged), "best")
    figures, changed, drawn = _figures(results, judged), _effects(results, judged), _schedule(results)
    predictions = _predicted(results, foreseen)
    own = _live(results, [*figures, *changed, *predictions, drawn]) if is_live else {"live": None}
    machines = results.manifest["machines"]
    page.write(
        "measured.html",
        path,
        **own,
        title=results.manifest["question"] or results.name,
        basis=page.over_seeds(results.repeats),
        results=results,
        seeds=method.seeds_each(results),
        counted=counted,
        warnings=gathered(results.warnings),
        verdict=[*predicted.lines(foreseen), *verdict.lines(judged)],
        predictions=page.of_table(predicted.table(foreseen), "predicted"),
        predicted=predictions,
        bests=bests,
        contents=[
            ("verdict", "Verdict"),
            *([("best", "The best in each metric")] if bests.rows else []),
            *([("predicted", "Predicted against measured")] if foreseen else []),
            ("numbers", "The numbers"),
            *((f["id"], f["title"]) for f in figures),
            *((f["id"], f["title"]) for f in changed),
            (drawn["id"], "A schedule"),
            ("method", "Method"),
            ("again", "To run it again"),
            ("sources", "Where the numbers come from"),
        ],
        table=page.of_table(results.summary_tables()[0], "row"),
        figures=figures,
        effects=changed,
        schedule=drawn,
        method=_method(results, judged),
        file=file,
        text=text,
        address=f"data:application/toml;charset=utf-8,{quote(text)}",
        command=method.command(results),
        machines=[(m, page.machine_table(m)) for m in machines[:MOST_MACHINES]],
        more_machines=max(0, len(machines) - MOST_MACHINES),
        scenarios=_scenarios(results),
    )


def _live(results: Results, figures: Sequence[dict]) -> dict[str, Any]:
    """What a live page has of its own, and how large it may be."""
    from schedlab.report import live

    return {"live": live.put_in(results, figures), "most": live.LARGEST}


def _method(results: Results, judged: Judged) -> page.Grid:
    columns = [Column("part", key=True), Column("how", prose=True)]
    return page.grid(columns, method.rows(results, judged), name="method")


def _scenarios(results: Results) -> page.Grid:
    """Each scenario by the short name that captions use, and what makes it differ from the others."""
    columns = [Column("scenario", key=True), Column("factors", prose=True), Column("hash", style="id")]

    def row(cell: dict[str, Any]) -> list[tables.Cell]:
        return [tables.Cell(text) for text in (cell["scenario"][: page.SHORT], _where(cell), cell["scenario"])]

    rows = tables.rows_of(results.manifest["cells"], row)
    shown, left = tables.Table([tables.Column(one.heading) for one in columns], rows).shortened()
    return page.grid(columns, [[cell.text for cell in row] for row in shown.rows], left, "scenario")


def _where(cell: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {level_name(value)}" for name, value in cell["factors"].items())


def _schedule(results: Results) -> dict[str, Any]:
    """The stretch that matters of the first cell's first run, simulated."""
    cell, seed = results.manifest["cells"][0], results.seeds[0]
    where = _where(cell)
    run = {"scenario": results.scenario(cell), "seed": seed}
    stretch = schedule.of_run(run)
    simulated = "" if cell["on"] == "sim" else ", simulated"
    return {
        "id": "schedule",
        "title": f"A schedule{simulated}, {stretch}" + (f" ({where})" if where else ""),
        "picture": page.schedule(run, stretch),
        "stretch": {"from": stretch.begin, "to": stretch.end, "seed": seed},
        "origin": page.origin(results.name, [cell["scenario"]], f"seed {seed}"),
    }


def _figures(results: Results, judged: Judged) -> list[dict[str, Any]]:
    """One chart for each metric if anything was swept, and the tail of each distribution."""
    scenarios = [cell["scenario"] for cell in results.manifest["cells"]]
    caption = page.origin(results.name, scenarios, method.seeds_each(results))
    return [
        {
            "id": page.anchor(figure.title),
            "title": figure.title,
            "pictures": [drawing.embedded() for drawing in figure.drawings],
            "origin": f"{figure.points}; {caption}" if figure.points else caption,
            "plots": figure.plots,
            "curves": figure.curves,
            "maps": figure.maps,
        }
        for figure in results.figures(results.shown_metrics, judged)
    ]


def _effects(results: Results, judged: Judged) -> list[dict[str, Any]]:
    """For each metric all cells compared with their base, the largest differences first."""
    shown = [*judged.given, *judged.settings]
    cells = {cell["scenario"]: cell for cell in results.manifest["cells"]}
    within = None if judged.question.within is None else 100 * judged.question.within
    bases = [_base(group.base, judged.given) for group in judged.groups]
    figures = []
    for metric in [*judged.metrics, *judged.undirected]:
        rows = [row for row in judged.differences if row["metric"] == metric and row["relative"] is not None]
        rows.sort(key=lambda row: -abs(row["relative"]))
        drawn = [compared.effect_of(row, swept.named(cells[row["scenario"]], shown)) for row in rows[:MOST_EFFECTS]]
        if drawn:
            left = len(rows) - len(drawn)
            of = page.origin(results.name, [row["scenario"] for row in rows], method.seeds_each(results))
            said = (
                f"the largest {len(drawn)} of {len(rows):,} differences" if left else counted(len(rows), "difference")
            )
            figures.append(
                {
                    "id": page.anchor(f"effects {metric}"),
                    "title": f"{metric}: effects",
                    "pictures": [effects.effects(drawn, judged.base, within, WIDTH).embedded()],
                    "origin": f"{said}; {of}",
                    "effects": effects.Effects(metric, judged.base, within, drawn, bases),
                }
            )
    return figures


def _base(cell: dict[str, Any], given: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """The factors of a base, and those that its whole group has."""
    return cell["factors"], {name: cell["factors"][name] for name in given}


def _predicted(results: Results, found: Sequence[Prediction]) -> list[dict[str, Any]]:
    """For each metric what was predicted over what was measured, a colour for each place."""
    figures = []
    for metric in dict.fromkeys(one.metric for one in found):
        own = [one for one in found if one.metric == metric]
        unit = readable_unit(own[0].found["unit"], max(abs(one.found["mean"]) for one in own))
        places = dict.fromkeys(one.measured["on"] for one in own)
        groups = [(on, [_spot(one, unit) for one in own if one.measured["on"] == on]) for on in places]
        drawings = [
            diagonal.predicted(groups[at : at + COLOURS], f"{metric} [{unit}]" if unit != "1" else metric)
            for at in range(0, len(groups), COLOURS)
        ]
        scenarios = [cell["scenario"] for one in own for cell in (one.simulated, one.measured)]
        figures.append(
            {
                "id": page.anchor(f"predicted {metric}"),
                "title": f"{metric}: predicted over measured",
                "pictures": [drawing.embedded() for drawing in drawings],
                "origin": f"line: the same; {page.origin(results.name, scenarios, method.seeds_each(results))}",
                "still": MEASURED,
            }
        )
    return figures


def _spot(one: Prediction, unit: str) -> diagonal.Spot:
    label = swept.named(one.measured, list(one.measured["factors"]))
    return diagonal.Spot(label, *(swept.in_unit(row, unit) for row in (one.found, one.predicted)))
