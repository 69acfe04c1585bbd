"""The page about one result: the verdict, its table, pictures of the numbers, a schedule, and how to run it again."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

from schedlab.errors import UsageError
from schedlab.pictures import schedule
from schedlab.report import method, page
from schedlab.report.page import Column
from schedlab.report.warnings import gathered
from schedlab.results import Results, verdict
from schedlab.results.best import Judged
from schedlab.results.tables import level_name
from schedlab.tables import Table
from schedlab.units import counted

#: Machines that a page describes.
MOST_MACHINES = 20


def write(results: Results, path: Path, baseline: str | None = None, within: float | None = None) -> None:
    """Write the page. `baseline` and `within` are those of its verdict, as `Results.judged` takes them.

    Raises `UsageError` for sealed results: a page shows settings.
    """
    if (results.folder / "seal").exists():
        raise UsageError(f"{results.folder} is sealed; conclude first, then: schedlab unseal {results.folder}")
    judged = results.judged(baseline, within)
    bests = page.of_table(verdict.table(judged), "best")
    figures, drawn = _figures(results, judged), _schedule(results)
    machines = results.manifest["machines"]
    file, text = method.file(results)
    page.write(
        "measured.html",
        path,
        title=results.manifest["question"] or results.name,
        basis=page.over_seeds(results.repeats),
        results=results,
        counted=counted,
        warnings=gathered(results.warnings),
        verdict=verdict.lines(judged),
        bests=bests,
        contents=[
            ("verdict", "Verdict"),
            *([("best", "The best in each metric")] if bests.rows else []),
            ("numbers", "The numbers"),
            *((f["id"], f["title"]) for f in figures),
            (drawn["id"], "A schedule"),
            ("method", "Method"),
            ("again", "To run it again"),
            ("sources", "Where the numbers come from"),
        ],
        table=page.of_table(results.summary_tables()[0], "row"),
        figures=figures,
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


def _method(results: Results, judged: Judged) -> page.Grid:
    columns = [Column("part", key=True), Column("how", prose=True)]
    return page.grid(columns, method.rows(results, judged), name="method")


def _scenarios(results: Results) -> page.Grid:
    cells = results.manifest["cells"]
    rows = [[cell["scenario"], _where(cell)] for cell in cells]
    columns = [Column("scenario", key=True, style="id"), Column("factors", prose=True)]
    table, left = Table.of_texts(columns, rows).shortened()
    return page.grid(columns, [[cell.text for cell in row] for row in table.rows], left, "scenario")


def _where(cell: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {level_name(value)}" for name, value in cell["factors"].items())


def _schedule(results: Results) -> dict[str, str]:
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
        "origin": page.origin(results.name, [cell["scenario"]], f"seed {seed}"),
    }


def _figures(results: Results, judged: Judged) -> list[dict[str, Any]]:
    """One chart for each metric if anything was swept, and the tail of each distribution."""
    scenarios = [cell["scenario"] for cell in results.manifest["cells"]]
    caption = page.origin(results.name, scenarios, f"{counted(len(results.seeds), 'seed')} each")
    return [
        {
            "id": page.anchor(figure.title),
            "title": figure.title,
            "pictures": [drawing.embedded() for drawing in figure.drawings],
            "origin": f"{figure.points}; {caption}" if figure.points else caption,
        }
        for figure in results.figures(results.shown_metrics, judged)
    ]
