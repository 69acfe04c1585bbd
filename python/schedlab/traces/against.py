"""Two recordings compared, row by row: differences with 95 % intervals by bootstrap over blocks of time.

Shares and rates are sums over all blocks by their length, mean latencies sums by wakeups. Percentiles of resamples are
taken from cells a sixteenth of an octave wide, so their intervals are exact to 6 %; the values themselves are exact.
"""

import math
from typing import TYPE_CHECKING, Any

from schedlab.stats import blocks as bootstrap
from schedlab.tables import Cell, Column, Table
from schedlab.units import alike

if TYPE_CHECKING:
    import numpy as np

#: A row, and the whole of what was found in its recording.
Side = tuple[dict[str, Any], dict[str, Any]]
#: Of a row: the field of each metric, its unit, and the sums of a block that it is made of, the first over the second.
RATIOS = {
    "share": ("share_pct", "%", "run_s", "length_s", 100.0),
    "switches": ("switches_per_s", "1/s", "switches", "length_s", 1.0),
    "preempted": ("preempted_per_s", "1/s", "preempted", "length_s", 1.0),
    "wakeup_latency.mean": ("mean", "us", "wakeup_wait_s", "wakeups", 1e6),
}
QUANTILES = {
    "wakeup_latency.p50": ("p50", 0.5),
    "wakeup_latency.p90": ("p90", 0.9),
    "wakeup_latency.p99": ("p99", 0.99),
}


def compared(one: dict[str, Any], base: dict[str, Any], most: int) -> list[dict[str, Any]]:
    """The differences of the groups and of the rows that ran most in either recording, each with its interval."""
    found = []
    for kind, ours, theirs in (
        ("group", one["groups"], base["groups"]),
        ("task", _by_name(one), _by_name(base)),
    ):
        names = sorted({*ours, *theirs}, key=lambda name: -max(_run(ours, name), _run(theirs, name)))
        for name in names[: most if kind == "task" else None]:
            rows = ours.get(name), theirs.get(name)
            if None in rows:
                found.append(_only_one(kind, name, rows))
                continue
            found += _differences(kind, name, (rows[0], one), (rows[1], base))
    return found


def _by_name(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["comm"]: row for row in found["tasks"]}


def _run(rows: dict[str, dict[str, Any]], name: str) -> float:
    return rows[name]["run_s"] if name in rows else 0.0


def _only_one(kind: str, name: str, rows: tuple[dict | None, dict | None]) -> dict[str, Any]:
    values = [row["share_pct"] if row else 0.0 for row in rows]
    return {
        "kind": kind,
        "name": name,
        "metric": "share",
        "unit": "%",
        "value": values[0],
        "base": values[1],
        "difference": values[0] - values[1],
        "low": None,
        "high": None,
        "verdict": "only in one",
    }


def _differences(kind: str, name: str, one: Side, base: Side) -> list[dict[str, Any]]:
    found = []
    for metric in (*RATIOS, *QUANTILES):
        values = [_value(row, metric) for row, _ in (one, base)]
        if None in values:
            continue
        interval = bootstrap.difference(*_blocks(metric, one, base), _statistic(metric, one[0], base[0]))
        found.append(
            {
                "kind": kind,
                "name": name,
                "metric": metric,
                "unit": RATIOS[metric][1] if metric in RATIOS else "us",
                "value": values[0],
                "base": values[1],
                "difference": values[0] - values[1],
                "low": None if math.isnan(interval.low) else interval.low,
                "high": None if math.isnan(interval.high) else interval.high,
                "verdict": _verdict(interval.low, interval.high),
            }
        )
    return found


def _verdict(low: float, high: float) -> str:
    if math.isnan(low):
        return "too short to tell"
    return "higher" if low > 0 else "lower" if high < 0 else "no difference seen"


def _value(row: dict[str, Any], metric: str) -> float | None:
    if metric in QUANTILES:
        return row["wakeup_us"][QUANTILES[metric][0]]
    field = RATIOS[metric][0]
    return row["wakeup_us"][field] if field == "mean" else row[field]


def _blocks(metric: str, one: Side, base: Side) -> tuple["np.ndarray", "np.ndarray"]:
    """For each recording a row for each block: of a ratio its two sums, of a percentile how many are in each cell."""
    if metric in QUANTILES:
        cells = _cells(one[0], base[0])
        return _spread(one, cells), _spread(base, cells)
    _, _, above, below, _ = RATIOS[metric]
    return _sums(one, above, below), _sums(base, above, below)


def _sums(of: Side, above: str, below: str) -> "np.ndarray":
    import numpy as np

    row, whole = of
    count, width = whole["blocks"]["count"], whole["blocks"]["width_s"]
    sums = np.zeros((count, 2))
    if below == "length_s":
        sums[:, 1] = width
        sums[-1, 1] = whole["span_s"] - width * (count - 1)
    for block in row["blocks"]:
        if block["block"] < count:
            sums[block["block"], 0] += block[above]
            if below != "length_s":
                sums[block["block"], 1] += block[below]
    return sums


def _cells(*rows: dict[str, Any]) -> list[float]:
    return sorted({cell for row in rows for block in row["blocks"] for cell, _ in block["latencies_us"]})


def _spread(of: Side, cells: list[float]) -> "np.ndarray":
    import numpy as np

    row, whole = of
    places = {cell: place for place, cell in enumerate(cells)}
    spread = np.zeros((whole["blocks"]["count"], len(cells)))
    for block in row["blocks"]:
        if block["block"] < len(spread):
            for cell, times in block["latencies_us"]:
                spread[block["block"], places[cell]] += times
    return spread


def _statistic(metric: str, *rows: dict[str, Any]) -> Any:
    import numpy as np

    if metric in RATIOS:
        scale = RATIOS[metric][4]
        return lambda sums: scale * sums[..., 0] / sums[..., 1]
    share, cells = QUANTILES[metric][1], np.array(_cells(*rows))

    def quantile(spread: np.ndarray) -> np.ndarray:
        up_to = np.cumsum(spread, axis=-1)
        total = up_to[..., -1:]
        place = (up_to < np.ceil(share * total)).sum(axis=-1)
        middle = cells[np.minimum(place, len(cells) - 1)] * (1 + 1 / 32)
        return np.where(total[..., 0] > 0, middle, np.nan)

    return quantile


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
