"""What happened to a row in each block of time, as sums of which its metrics are made: for resampling.

share, switches, preempted    a sum over the length of the blocks
mean latency                  the sum of latencies over the wakeups
percentiles of latencies      how many are in each cell, a sixteenth of an octave wide: exact to 6 %
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

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


def sums(metric: str, *sides: Side) -> list["np.ndarray"]:
    """For each side a row for each block: of a ratio its two sums, of a percentile how many are in each cell."""
    if metric in QUANTILES:
        cells = _cells(*sides)
        return [_spread(side, cells) for side in sides]
    _, _, above, below, _ = RATIOS[metric]
    return [_two_sums(side, above, below) for side in sides]


def statistic(metric: str, *sides: Side) -> Callable[["np.ndarray"], "np.ndarray"]:
    """What makes the metric of sums of blocks, along the last axis."""
    import numpy as np

    if metric in RATIOS:
        scale = RATIOS[metric][4]
        return lambda sums: scale * sums[..., 0] / sums[..., 1]
    share, cells = QUANTILES[metric][1], np.array(_cells(*sides))

    def quantile(spread: np.ndarray) -> np.ndarray:
        up_to = np.cumsum(spread, axis=-1)
        total = up_to[..., -1:]
        place = (up_to < np.ceil(share * total)).sum(axis=-1)
        middle = cells[np.minimum(place, len(cells) - 1)] * (1 + 1 / 32)
        return np.where(total[..., 0] > 0, middle, np.nan)

    return quantile


def _two_sums(side: Side, above: str, below: str) -> "np.ndarray":
    import numpy as np

    row, whole = side
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


def _cells(*sides: Side) -> list[float]:
    return sorted({cell for row, _ in sides for block in row["blocks"] for cell, _ in block["latencies_us"]})


def _spread(side: Side, cells: list[float]) -> "np.ndarray":
    import numpy as np

    row, whole = side
    places = {cell: place for place, cell in enumerate(cells)}
    spread = np.zeros((whole["blocks"]["count"], len(cells)))
    for block in row["blocks"]:
        if block["block"] < len(spread):
            for cell, times in block["latencies_us"]:
                spread[block["block"], places[cell]] += times
    return spread
