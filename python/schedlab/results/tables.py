"""Results as tables, for the terminal, the notebook and the page: factors, then numbers with their intervals."""

import json
from collections.abc import Container, Mapping, Sequence
from html import escape

from schedlab.results.compared import verdict
from schedlab.results.summary import Means
from schedlab.system.escaped import escaped
from schedlab.tables import Cell, Column, Table
from schedlab.tables.table import rows_of
from schedlab.units import convert, readable_unit, spread

#: What a CSV file says of a verdict.
JUDGED = ("p", "adjusted", "verdict", "bounded", "more", "test")
#: How metrics of a job begin.
OF_JOB = "tasks."

#: A factor of more parts than this goes into the steps of a program.
LONG_PATH = 4


def column_names(factors: list[str]) -> list[str]:
    """Factors as columns are headed: of a path through steps the shortest end that no other factor shares."""
    return [_end(factor, factors) if len(factor.split(".")) > LONG_PATH else factor for factor in factors]


def short_names(factors: Sequence[str]) -> list[str]:
    """Factors as sentences name them: `slice`, `hog.count`; whole where two would have the same name."""
    parts = [factor.split(".") for factor in factors]
    ends = [one[-1] if len(one) <= 2 and one[-1] != "name" else ".".join(one[-2:]) for one in parts]
    return [end if ends.count(end) == 1 else factor for end, factor in zip(ends, factors, strict=True)]


def level_name(level: str) -> str:
    """A value of a factor as rows show it: a policy by its name and parameters, steps and distributions in words."""
    if level.startswith('{"name":'):
        name, *parameters = json.loads(level).items()
        return " ".join([str(name[1]), *(f"{key}={value}" for key, value in parameters)])
    if level.startswith(('[{"', '{"')):
        from schedlab.pictures import axes

        return axes.level(level).label
    return level


def _end(factor: str, factors: list[str]) -> str:
    parts = factor.split(".")
    for count in range(2, len(parts)):
        end = ".".join(parts[-count:])
        shared = any(other != factor and other.endswith("." + end) for other in factors)
        if not parts[-count].isdigit() and not shared:
            return "…" + end
    return factor


def summary(cells: Sequence[dict], metrics: Sequence[str], entries: Means) -> Table:
    """A row for each cell, a column for each metric: the mean with half the width of its interval."""
    shown = [(name, entries.readable_unit([name])) for name in metrics]
    columns = _factor_columns(cells) + [_metric_column(name, [name], unit, entries) for name, unit in shown]

    def row(cell: dict) -> list[Cell]:
        numbers = (_metric_cell(entries.get((cell["scenario"], name)), unit) for name, unit in shown)
        return [*_factor_cells(cell), *numbers]

    return Table(columns, rows_of(cells, row))


def by_job(cells: Sequence[dict], metrics: Sequence[str], entries: Means) -> list[Table]:
    """The same with a row for each cell and job, then the metrics of no job; none where jobs share few metrics."""
    split = {name: name.removeprefix(OF_JOB).partition(".")[::2] for name in metrics if name.startswith(OF_JOB)}
    jobs, kinds = (list(dict.fromkeys(part[place] for part in split.values())) for place in (0, 1))
    if min(len(jobs), len(kinds)) < 2 or 2 * len(split) <= len(jobs) * len(kinds):
        return []
    named = {parts: name for name, parts in split.items()}
    of = {kind: [name for name, parts in split.items() if parts[1] == kind] for kind in kinds}
    units = {kind: entries.readable_unit(of[kind]) for kind in kinds}
    columns = [*_factor_columns(cells), Column("job", key=True)]
    columns += [_metric_column(kind, of[kind], units[kind], entries) for kind in kinds]

    def row(of: tuple[dict, str]) -> list[Cell]:
        cell, job = of
        found = {kind: entries.get((cell["scenario"], named.get((job, kind), ""))) for kind in kinds}
        return [*_factor_cells(cell), Cell(job), *(_metric_cell(entry, units[kind]) for kind, entry in found.items())]

    rows = rows_of([(cell, job) for cell in cells for job in jobs], row)
    others = [name for name in metrics if name not in split]
    return [Table(columns, rows), *([summary(cells, others, entries)] if others else [])]


def differences(
    factors: list[str],
    found: Sequence[Mapping],
    seeds: int,
    alike: Container[str] = (),
    within: float | None = None,
) -> Table:
    """What was compared: the difference with its interval, as a share, and in a word.

    Scenarios in `alike` are the same under every seed: two of them make a single pair.
    """
    columns = [
        *(Column(name, key=True) for name in column_names(factors)),
        Column("metric", key=True),
        Column("difference", numeric=True, plain=("difference", "low", "high")),
        Column("unit"),
        Column("relative", "%", numeric=True),
        Column("pairs", numeric=True),
        Column("verdict", plain=JUDGED),
    ]
    rows = []
    for row in found:
        unit, difference, share = spelled_difference(row)
        most = 1 if row["scenario"] in alike and row["baseline"] in alike else seeds
        pairs = f"{row['n']}" + (f" of {most}" if row["n"] < most else "")
        relative = None if row["relative"] is None else 100 * row["relative"]
        rows.append(
            [
                *(Cell(level_name(row[name])) for name in factors),
                Cell(row["metric"]),
                Cell(difference, (row["mean"], row["low"], row["high"])),
                Cell("" if unit == "1" else unit, (row["unit"],)),
                Cell(share, (relative,)),
                Cell(pairs, (row["n"],)),
                Cell(verdict(row, within), tuple(row[name] for name in JUDGED)),
            ]
        )
    return Table(columns, rows)


def _factor_columns(cells: Sequence[dict]) -> list[Column]:
    factors = list(cells[0]["factors"])
    shown = zip(column_names(factors), factors, strict=True)
    return [Column(name, key=True, plain=(factor,)) for name, factor in shown]


def _factor_cells(cell: dict) -> list[Cell]:
    return [Cell(level_name(level)) for level in cell["factors"].values()]


def _metric_column(name: str, metrics: Sequence[str], unit: str, entries: Means) -> Column:
    """A column of metrics in a unit that is read easily; its plain values stay in the engine's."""
    base = entries.unit(metrics)
    of = "" if base == "1" else f" [{base}]"
    plain = (f"{name}{of}", f"{name} low{of}", f"{name} high{of}", f"{name} n")
    return Column(name, "" if unit == "1" else unit, numeric=True, plain=plain)


def _metric_cell(entry: Mapping | None, unit: str) -> Cell:
    plain = (None, None, None, 0) if entry is None else tuple(entry[key] for key in ("mean", "low", "high", "n"))
    return Cell(spelled(entry, unit), plain)


def spelled_difference(row: Mapping) -> tuple[str, str, str]:
    """A row of `Results.differences`: a readable unit, the mean with its interval in it, and the share in %."""
    unit = readable_unit(row["unit"], max(abs(row[k] or 0.0) for k in ("mean", "low", "high")))
    mean, low, high = (None if row[k] is None else convert(row[k], row["unit"], unit) for k in ("mean", "low", "high"))
    share = "–" if row["relative"] is None else f"{100 * row['relative']:+.1f}"
    if mean is None:
        return unit, "–", share
    return unit, f"{mean:+.4g}" if low is None else f"{mean:+.4g} [{low:.4g}, {high:.4g}]", share


def spelled(entry: dict | None, unit: str) -> str:
    """The mean with its half width, and from how many runs if not all have the metric."""
    if entry is None or entry["mean"] is None:
        return "–"
    mean = convert(entry["mean"], entry["unit"], unit)
    half = None if entry["high"] is None else convert(entry["high"] - entry["mean"], entry["unit"], unit)
    return spread(mean, half) + (f" ({entry['n']} of {entry['of']})" if entry["n"] < entry["of"] else "")


def mean_of(entry: Mapping) -> str:
    """A mean with half its interval, in a unit of its own."""
    unit = readable_unit(entry["unit"], entry["mean"] or 0.0)
    return f"{spelled(entry, unit)}{'' if unit == '1' else f' {unit}'}"


def html_table(table: Table, caption: str = "", notes: Sequence[str] = ()) -> str:
    """A plain HTML table for notebooks, with notes below it."""
    text = lambda cell: escape(escaped(str(cell)))  # noqa: E731
    head = "".join(f"<th>{text(column.heading)}</th>" for column in table.columns)
    body = "".join("<tr>" + "".join(f"<td>{text(cell.text)}</td>" for cell in row) + "</tr>" for row in table.rows)
    below = "".join(f"<p>note: {text(note)}</p>" for note in notes)
    title = f"<caption>{text(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"
