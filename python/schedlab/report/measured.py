"""The page about one result: its table, a chart for each metric, the tails of its distributions, and a schedule."""

from pathlib import Path
from typing import Any

from schedlab.errors import UsageError
from schedlab.pictures import schedule
from schedlab.report import page
from schedlab.report.page import Column
from schedlab.report.warnings import gathered
from schedlab.results import Results
from schedlab.results.tables import level_name
from schedlab.tables import Table
from schedlab.units import counted

#: Machines that a page describes.
MOST_MACHINES = 20


def write(results: Results, path: Path) -> None:
    """Write the page. Raises `UsageError` for sealed results: a page shows settings."""
    if (results.folder / "seal").exists():
        raise UsageError(f"{results.folder} is sealed; conclude first, then: schedlab unseal {results.folder}")
    figures, drawn = _figures(results), _schedule(results)
    machines = results.manifest["machines"]
    contents = [("numbers", "The numbers"), *((f["id"], f["title"]) for f in figures), (drawn["id"], "A schedule")]
    page.write(
        "measured.html",
        path,
        title=results.manifest["question"] or results.name,
        basis=page.over_seeds(results.repeats),
        results=results,
        counted=counted,
        warnings=gathered(results.warnings),
        contents=[*contents, ("sources", "Where the numbers come from")],
        table=_table(results),
        figures=figures,
        schedule=drawn,
        machines=[(m, page.machine_table(m)) for m in machines[:MOST_MACHINES]],
        more_machines=max(0, len(machines) - MOST_MACHINES),
        scenarios=_scenarios(results),
    )


def _table(results: Results) -> page.Grid:
    table, left = results.summary_tables()[0].shortened()
    columns = [Column(column.heading, column.numeric, column.key) for column in table.columns]
    return page.grid(columns, [[cell.text for cell in row] for row in table.rows], left)


def _scenarios(results: Results) -> page.Grid:
    cells = results.manifest["cells"]
    rows = [[cell["scenario"], _where(cell)] for cell in cells]
    columns = [Column("scenario", style="id"), Column("factors", prose=True)]
    table, left = Table.of_texts(columns, rows).shortened()
    return page.grid(columns, [[cell.text for cell in row] for row in table.rows], left)


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


def _figures(results: Results) -> list[dict[str, Any]]:
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
        for figure in results.figures(results.shown_metrics)
    ]
