"""How far another run of a setting may be from its replays, which all do the recorded work.

By bootstrap: the replay whose number is in the middle is taken apart into blocks of time, and these are drawn again
(`stats.blocks.again`). Numbers that are no sums over blocks, as lengths of runs and maxima, have no such interval.
"""

import math
from collections.abc import Sequence

from schedlab.stats import blocks as bootstrap
from schedlab.traces.sums import Side, statistic, sums

#: Of the numbers of a prediction, the metrics that are made of sums over blocks.
METRICS = {
    ("share_pct",): "share",
    ("switches_per_s",): "switches",
    ("wakeup_us", "mean"): "wakeup_latency.mean",
    ("wakeup_us", "p50"): "wakeup_latency.p50",
    ("wakeup_us", "p90"): "wakeup_latency.p90",
    ("wakeup_us", "p99"): "wakeup_latency.p99",
}
#: A bound of 95 % has some ten of these beyond it: enough for what is no more than a width.
RESAMPLES = 400


def scatter(path: Sequence[str], replays: Sequence[tuple[float, Side]]) -> tuple[float, float] | None:
    """The bounds of a number of another run, from its values in the replays and the rows that have them."""
    metric = METRICS.get(tuple(path))
    if metric is None:
        return None
    ordered = sorted(replays, key=lambda one: one[0])
    value, side = ordered[len(ordered) // 2]
    (blocks,) = sums(metric, side)
    found = bootstrap.again(blocks, statistic(metric, side), RESAMPLES)
    if math.isnan(found.low) or found.mean <= 0:
        return None
    # Percentiles of cells are 6 % off at most: the width is theirs, the place that of the value.
    return value * max(0.0, found.low / found.mean), value * found.high / found.mean
