"""Parity with the live host.

    deviation  =  median of the simulated runs  -  median of the measured runs         a repeat each, REPEATS or more
    holds      if |deviation| <= the larger of   `share` x measured median   and   `least`

The allowances are below, by kind of metric: those that the lab promises, never widened for a scenario.
What does not hold is listed in docs/validity.md with the reason, where it is known.
"""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import polars as pl

from schedlab.errors import UsageError, nearest
from schedlab.parity.comparison import TICK, Allowance, Comparison
from schedlab.results import Results
from schedlab.targets.names import HOST, SIM

#: Fewer runs say little of a live machine.
REPEATS = 7


ALLOWANCES = (
    Allowance(".share", 0.0, 1.0, "%", "1 point"),
    Allowance("utilization", 0.0, 1.0, "%", "1 point"),
    Allowance(".real", 0.05, 0.0, "s", "5 %"),
    Allowance(".user", 0.05, 0.0, "s", "5 %"),
    Allowance(".turnaround.max", 0.05, 0.0, "s", "5 %"),
    Allowance(".p50", 0.20, 50e-6, "s", "20 % or 50 µs"),
    Allowance(".p99", 0.30, TICK, "s", "30 % or a tick"),
    Allowance(".deadline_misses", 0.30, 1.0, "1", "30 % or one"),
)


def scenarios(only: list[str] | None = None) -> list[Path]:
    """The files of the suite, or those named."""
    folder = Path(str(files("schedlab.parity"))) / "scenarios"
    known = {path.stem: path for path in sorted(folder.glob("*.toml"))}
    for name in only or []:
        if name not in known:
            raise UsageError(f"--only {name}: there is no such scenario; {nearest(name, known)}")
    return [known[name] for name in only or known]


def compare(results: Results, reference: str = HOST) -> Iterator[Comparison]:
    """Every metric that the experiment names, of every cell that both targets have."""
    cells = {cell["on"]: cell["scenario"] for cell in results.manifest["cells"]}
    for metric in results.shown_metrics:
        values = {on: _values(results.frame, scenario, metric) for on, scenario in cells.items()}
        if any(column.is_empty() for column in values.values()):
            continue
        measured = values[reference]
        middle = measured.median()
        allowance = allowance_of(metric)
        yield Comparison(
            scenario=results.name,
            metric=metric,
            unit=allowance.unit,
            simulated=values[SIM].median(),
            measured=middle,
            low=measured.min(),
            high=measured.max(),
            allowed=max(allowance.share * abs(middle), allowance.least),
            words=allowance.words,
        )


def allowance_of(metric: str) -> Allowance:
    """How far this metric may be off."""
    for allowance in ALLOWANCES:
        if metric.endswith(allowance.of):
            return allowance
    raise UsageError(f"{metric}: parity promises nothing for this metric")


def _values(frame: pl.DataFrame, scenario: str, metric: str) -> pl.Series:
    return frame.filter(pl.col("scenario") == scenario, pl.col("metric") == metric)["value"]
