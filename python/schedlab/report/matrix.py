"""The page about a matrix: a heat map for each measure, every number with its interval and origin.

The colour of a field shows how many times worse its value is than the best of the column. The scale varies in
lightness, so that it does not depend on colour vision, and each field also shows the number.
"""

from math import isfinite
from pathlib import Path
from typing import Any

from schedlab.matrix import FOLDER, Cell, Matrix, Measure
from schedlab.report import page
from schedlab.tables import Cell as TableCell
from schedlab.tables import Column, Table
from schedlab.units import counted, digits, spread

#: A field has the n-th colour if it is at most this many times worse than the best of its column; else the last.
STEPS = (1.05, 1.5, 3, 10, 30, 100)


def write(matrix: Matrix, path: Path) -> None:
    """Write the page."""
    page.write(
        "matrix.html",
        path,
        basis=page.over_seeds(min(len(load.experiment.seeds) for load in matrix.loads)),
        title=f"{counted(len(matrix.schedulers), 'scheduler')} on {counted(len(matrix.loads), 'load')}",
        matrix=matrix,
        contents=[
            *((measure.name, measure.title) for measure in matrix.measures),
            ("loads", "The loads"),
            ("sources", "Where the numbers come from"),
        ],
        maps=[_map(matrix, measure) for measure in matrix.measures],
        legend=_legend(),
        loads=[_load(matrix, load.name) for load in matrix.loads],
        machines=[(m, page.machine_table(m)) for m in _machines(matrix)],
    )


def table(matrix: Matrix, measure: Measure) -> Table:
    """A measure of every scheduler on every load that has it."""
    loads = matrix.seen_by(measure)
    columns = [Column("scheduler", key=True), *(Column(load, numeric=True) for load in loads)]
    cell = lambda load, name: matrix.cells.get((measure.name, load, name))  # noqa: E731
    rows = [[name, *(text(cell(load, name)) for load in loads)] for name in matrix.schedulers]
    return Table.of_texts(columns, rows, f"{measure.title} [{measure.unit}], {measure.better} is better")


def tidy(matrix: Matrix) -> Table:
    """Everything in one table: a row for each measure, load and scheduler."""
    keys = [Column(name, key=True) for name in ("measure", "load", "scheduler", "unit")]
    value = Column("value", numeric=True, plain=("mean", "low", "high", "n", "seeds"))
    units = {measure.name: measure.unit for measure in matrix.measures}
    rows = [
        [*names, units[names[0]], TableCell(text(cell), (cell.mean, cell.low, cell.high, cell.n, cell.seeds))]
        for names, cell in matrix.cells.items()
    ]
    return Table.of_texts([*keys, value], rows)


def text(cell: Cell | None) -> str:
    """A field as text: mean ± half width, and from how many runs if not all have it; "never" if none has.

    Nothing is known of a scheduler for one processor on a load with several.
    """
    if cell is None:
        return "–"
    if cell.mean is None:
        return "never"
    part = f" ({cell.n} of {cell.seeds})" if cell.n < cell.seeds else ""
    return spread(cell.mean, cell.interval and cell.high - cell.mean) + part


def colour(ratio: float) -> int:
    """The place of a ratio on the scale of colours."""
    return next((place for place, step in enumerate(STEPS) if ratio <= step), len(STEPS))


def _map(matrix: Matrix, measure: Measure) -> dict[str, Any]:
    loads = matrix.seen_by(measure)
    scenarios = [scenario for (load, _), scenario in matrix.scenarios.items() if load in loads]
    seeds = {len(load.experiment.seeds) for load in matrix.loads}
    return {
        "measure": measure,
        "loads": loads,
        "rem": page.rem(9 + 4.4 * len(loads)),
        "rows": [(name, [_field(matrix, measure, load, name) for load in loads]) for name in matrix.schedulers],
        "origin": page.origin(
            "matrix", scenarios, f"{', '.join(map(str, sorted(seeds)))} {'seed' if seeds == {1} else 'seeds'} each"
        ),
    }


def _field(matrix: Matrix, measure: Measure, load: str, scheduler: str) -> dict[str, Any]:
    cell = matrix.cells.get((measure.name, load, scheduler))
    if cell is None:
        tip = f"{scheduler}, {load}: not run, as it is for one processor"
        return {"load": load, "colour": "", "mean": text(None), "half": "", "tip": tip}
    ratio = matrix.ratio(measure, load, scheduler)
    mean, _, half = text(cell).partition(" ± ")
    worse = f", {digits(ratio, 3)} times the best" if isfinite(ratio) else ""
    return {
        "load": load,
        "colour": colour(ratio),
        "mean": mean,
        "half": half,
        "tip": f"{scheduler}, {load}: {text(cell)}{f' {measure.unit}' if cell.n else ''}{worse}",
    }


def _legend() -> list[tuple[int, str]]:
    words = ["the best, or nearly", *(f"up to {step:g} times" for step in STEPS[1:]), "worse, or never"]
    return list(enumerate(words))


def _load(matrix: Matrix, name: str) -> dict[str, Any]:
    definition = matrix.results[name].manifest["experiment"]
    return {
        "name": name,
        "question": definition["question"],
        "file": (FOLDER / f"{name}.toml").read_text(encoding="utf-8"),
        "id": page.anchor(f"load {name}"),
        "scenarios": page.grid(
            [page.Column("scheduler", key=True), page.Column("scenario", style="id")],
            [(scheduler, scenario) for (load, scheduler), scenario in matrix.scenarios.items() if load == name],
        ),
    }


def _machines(matrix: Matrix) -> list[dict[str, Any]]:
    machines: list[dict[str, Any]] = []
    for results in matrix.results.values():
        machines += [machine for machine in results.manifest["machines"] if machine not in machines]
    return machines
