"""Results as rows of text: one table for the terminal, the notebook and the page."""

import json
import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from schedlab.system.escaped import escaped
from schedlab.units import convert, readable_unit, spread

if TYPE_CHECKING:
    import polars as pl

    from schedlab.results import Results

#: Shown when an experiment names no metrics, as far as its runs have them.
USUAL_OF_JOB = ("real", "user", "sys")
#: A factor of more parts than this goes into the steps of a program.
LONG_PATH = 4
USUAL_OF_SYSTEM = ("context_switches", "wakeup_latency.p99", "longest_gap")


def shown_metrics(results: "Results") -> list[str]:
    """The metrics that the experiment asked for, or a short useful choice."""
    known = list(results.frame["metric"].unique(maintain_order=True))
    if results.metrics:
        shown = (name for asked in results.metrics for name in known if is_meant(name, asked))
        return list(dict.fromkeys(shown))
    jobs = dict.fromkeys(job for cell in results.manifest["cells"] for job in cell["definition"]["workload"])
    usual = [f"tasks.{job}.{name}" for job in jobs for name in USUAL_OF_JOB] + list(USUAL_OF_SYSTEM)
    return [name for name in usual if name in known] or known[:8]


def is_meant(name: str, asked: str) -> bool:
    """Whether `asked`, in which `*` stands for any job or nice level, means the metric `name`."""
    return re.fullmatch(re.escape(asked).replace(r"\*", ".+"), name) is not None


def summary_table(results: "Results") -> tuple[list[str], list[list[str]]]:
    """Header and rows: a row per cell, a column per metric with mean ± half width in a readable unit."""
    entries = {(row["scenario"], row["metric"]): row for row in results.summary().iter_rows(named=True)}
    names = shown_metrics(results)
    units = {name: _column_unit([e for (_, m), e in entries.items() if m == name]) for name in names}
    header = [
        *column_names(results.factors),
        *(f"{name} [{units[name]}]" if units[name] != "1" else name for name in names),
    ]
    rows = []
    for cell in results.manifest["cells"]:
        found = [_spell(entries.get((cell["scenario"], name)), units[name], len(results.seeds)) for name in names]
        rows.append([*map(level_name, cell["factors"].values()), *found])
    return header, rows


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


def differences_table(results: "Results", found: "pl.DataFrame") -> tuple[list[str], list[list[str]]]:
    """Header and rows of `Results.differences`: the mean with its interval, as a share, and in a word."""
    rows = []
    for row in found.iter_rows(named=True):
        unit = readable_unit(row["unit"], max(abs(row[k] or 0.0) for k in ("mean", "low", "high")))
        numbers = [None if row[k] is None else convert(row[k], row["unit"], unit) for k in ("mean", "low", "high")]
        share = "–" if row["relative"] is None else f"{100 * row['relative']:+.1f} %"
        pairs = f"{row['n']}" + (f" of {len(results.seeds)}" if row["n"] < len(results.seeds) else "")
        factors = [level_name(row[name]) for name in results.factors]
        rows.append([*factors, row["metric"], _spell_difference(*numbers, unit), share, pairs, row["verdict"]])
    return [*column_names(results.factors), "metric", "difference", "relative", "pairs", "verdict"], rows


def _spell_difference(mean: float | None, low: float | None, high: float | None, unit: str) -> str:
    of = "" if unit == "1" else f" {unit}"
    if mean is None:
        return "–"
    return f"{mean:+.4g}{of}" if low is None else f"{mean:+.4g} [{low:.4g}, {high:.4g}]{of}"


def _column_unit(entries: list[dict]) -> str:
    largest = max((abs(e["mean"]) for e in entries if e["mean"] is not None), default=0.0)
    return readable_unit(entries[0]["unit"], largest) if entries else "1"


def _spell(entry: dict | None, unit: str, seeds: int) -> str:
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
