"""Two recordings compared, row by row: differences with 95 % intervals by bootstrap over blocks of time.

Shares and rates are sums over all blocks by their length, mean latencies sums by wakeups. Percentiles of resamples are
taken from cells a sixteenth of an octave wide, so their intervals are exact to 6 %; the values themselves are exact.
"""

import math
from typing import Any

from schedlab.stats import blocks as bootstrap
from schedlab.tables import Cell, Column, Table
from schedlab.traces.sums import QUANTILES, RATIOS, Side, statistic, sums
from schedlab.units import alike


def compared(one: dict[str, Any], base: dict[str, Any], most: int) -> list[dict[str, Any]]:
    """The differences of the groups and of the rows that ran most in either recording, each with its interval."""
    found = []
    for kind, ours, theirs in (
        ("group", one["groups"], base["groups"]),
        ("task", _by_name(one), _by_name(base)),
    ):
        for name in by_run_time(ours, theirs)[: most if kind == "task" else None]:
            rows = ours.get(name), theirs.get(name)
            if None in rows:
                found.append(only_one(kind, name, *(row["share_pct"] if row else 0.0 for row in rows)))
                continue
            found += _differences(kind, name, (rows[0], one), (rows[1], base))
    return found


def _by_name(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["comm"]: row for row in found["tasks"]}


def by_run_time(*sides: dict[str, dict[str, Any]]) -> list[str]:
    """Names of rows, that of the one first which ran for the longest time on any side."""
    return sorted({name for rows in sides for name in rows}, key=lambda name: -max(_run(rows, name) for rows in sides))


def _run(rows: dict[str, dict[str, Any]], name: str) -> float:
    return rows[name]["run_s"] if name in rows else 0.0


def only_one(kind: str, name: str, value: float, base: float) -> dict[str, Any]:
    """The share of what is on one side only."""
    found = difference(kind, name, "share", (value, base), (math.nan, math.nan))
    return found | {"verdict": "only in one"}


def _differences(kind: str, name: str, one: Side, base: Side) -> list[dict[str, Any]]:
    found = []
    for metric in (*RATIOS, *QUANTILES):
        values = [value_of(row, metric) for row, _ in (one, base)]
        if None in values:
            continue
        interval = bootstrap.difference(*sums(metric, one, base), statistic(metric, one, base))
        found.append(difference(kind, name, metric, (values[0], values[1]), (interval.low, interval.high)))
    return found


def difference(
    kind: str, name: str, metric: str, values: tuple[float, float], bounds: tuple[float, float]
) -> dict[str, Any]:
    """A metric of both sides, and the bounds of its difference; NaN where there are none."""
    low, high = bounds
    return {
        "kind": kind,
        "name": name,
        "metric": metric,
        "unit": RATIOS[metric][1] if metric in RATIOS else "us",
        "value": values[0],
        "base": values[1],
        "difference": values[0] - values[1],
        "low": None if math.isnan(low) else low,
        "high": None if math.isnan(high) else high,
        "verdict": _verdict(low, high),
    }


def _verdict(low: float, high: float) -> str:
    if math.isnan(low):
        return "too short to tell"
    return "higher" if low > 0 else "lower" if high < 0 else "no difference seen"


def value_of(row: dict[str, Any], metric: str) -> float | None:
    """A metric of a row; None where it has none."""
    if metric in QUANTILES:
        return row["wakeup_us"][QUANTILES[metric][0]]
    field = RATIOS[metric][0]
    return row["wakeup_us"][field] if field == "mean" else row[field]


def table(found: list[dict[str, Any]], title: str) -> Table:
    """The differences as a table."""
    columns = [
        Column("task or group", key=True),
        Column("metric", key=True),
        Column("value", numeric=True),
        Column("base", numeric=True),
        Column("difference", numeric=True, plain=("difference", "low", "high")),
        Column("unit"),
        Column("verdict"),
    ]
    return Table(columns, [_row(one) for one in found], title)


def _row(one: dict[str, Any]) -> list[Cell]:
    value, base = (Cell(f"{one[side]:.4g}", (one[side],)) for side in ("value", "base"))
    plain = (one["difference"], one["low"], one["high"])
    if one["low"] is None:
        difference = Cell(f"{one['difference']:+.4g}", plain)
    else:
        mean, low, high = alike(*plain)
        difference = Cell(f"{mean} [{low}, {high}]", plain)
    return [Cell(one["name"]), Cell(one["metric"]), value, base, difference, Cell(one["unit"]), Cell(one["verdict"])]
