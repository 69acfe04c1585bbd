"""Numbers and factors as cells of a table, for the terminal, the notebook and the page."""

import json
from collections.abc import Mapping, Sequence
from html import escape

from schedlab.system.escaped import escaped
from schedlab.units import convert, readable_unit, spread

#: A factor of more parts than this goes into the steps of a program.
LONG_PATH = 4


def column_names(factors: list[str]) -> list[str]:
    """Factors as columns are headed: of a path through steps the shortest end that no other factor shares."""
    return [_end(factor, factors) if len(factor.split(".")) > LONG_PATH else factor for factor in factors]


def level_name(level: str) -> str:
    """A value of a factor as rows show it: a policy with parameters by its name and theirs."""
    if not level.startswith('{"name":'):
        return level
    name, *parameters = json.loads(level).items()
    return " ".join([str(name[1]), *(f"{key}={value}" for key, value in parameters)])


def _end(factor: str, factors: list[str]) -> str:
    parts = factor.split(".")
    for count in range(2, len(parts)):
        end = ".".join(parts[-count:])
        shared = any(other != factor and other.endswith("." + end) for other in factors)
        if not parts[-count].isdigit() and not shared:
            return "…" + end
    return factor


def spelled_difference(row: Mapping) -> tuple[str, str]:
    """A row of `Results.differences`: the mean with its interval in a readable unit, and as a share."""
    unit = readable_unit(row["unit"], max(abs(row[k] or 0.0) for k in ("mean", "low", "high")))
    mean, low, high = (None if row[k] is None else convert(row[k], row["unit"], unit) for k in ("mean", "low", "high"))
    share = "–" if row["relative"] is None else f"{100 * row['relative']:+.1f} %"
    of = "" if unit == "1" else f" {unit}"
    if mean is None:
        return "–", share
    return f"{mean:+.4g}{of}" if low is None else f"{mean:+.4g} [{low:.4g}, {high:.4g}]{of}", share


def column_unit(entries: list[dict]) -> str:
    """The unit in which a column of a summary is read most easily."""
    largest = max((abs(e["mean"]) for e in entries if e["mean"] is not None), default=0.0)
    return readable_unit(entries[0]["unit"], largest) if entries else "1"


def spelled(entry: dict | None, unit: str, seeds: int) -> str:
    """The mean with its half width, and from how many runs if not all have the metric."""
    if entry is None or entry["mean"] is None:
        return "–"
    mean = convert(entry["mean"], entry["unit"], unit)
    half = None if entry["high"] is None else convert(entry["high"] - entry["mean"], entry["unit"], unit)
    return spread(mean, half) + (f" ({entry['n']} of {seeds})" if entry["n"] < seeds else "")


def html_table(header: list[str], rows: list[list[str]], caption: str = "", notes: Sequence[str] = ()) -> str:
    """A plain HTML table for notebooks and pages, with notes below it."""
    text = lambda cell: escape(escaped(str(cell)))  # noqa: E731
    head = "".join(f"<th>{text(h)}</th>" for h in header)
    body = "".join("<tr>" + "".join(f"<td>{text(c)}</td>" for c in row) + "</tr>" for row in rows)
    below = "".join(f"<p>note: {text(note)}</p>" for note in notes)
    title = f"<caption>{text(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"
