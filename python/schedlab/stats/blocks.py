"""Intervals by bootstrap over blocks of time that do not overlap (Carlstein 1986).

Of the difference of two recordings, and of what another recording of the same load and length would give.

    resample   as many blocks of each as it has, drawn with replacement; the statistic of one less that of the other
    bounds     quantiles of the resamples at  Φ(∓√(n/(n-1)) t(0.975, n-1)),  n: the fewer blocks (Hesterberg 2015)

Within a block anything may depend on what happened before; blocks are taken to be independent. So a block has to be
longer than the memory of the load, and there have to be `FEWEST` of them.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from schedlab.stats import Interval
from schedlab.stats.student import quantile

if TYPE_CHECKING:
    import numpy as np

RESAMPLES = 2000
#: Blocks that each recording must have for an interval.
FEWEST = 8


def difference(
    one: "np.ndarray", other: "np.ndarray", statistic: "Callable[[np.ndarray], np.ndarray]", seed: int = 0
) -> Interval:
    """The statistic of one recording less that of another, with its 95 % interval; NaN for bounds of too few blocks.

    Each has a row for each block; `statistic` makes one number of the sum of rows, along the last axis.
    """
    import numpy as np

    n = min(len(one), len(other))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = float(statistic(one.sum(axis=0)) - statistic(other.sum(axis=0)))
    if n < FEWEST:
        return Interval(found, math.nan, math.nan, n)
    random = np.random.default_rng(seed)
    drawn = [_weights(random, len(blocks), RESAMPLES) @ blocks for blocks in (one, other)]
    with np.errstate(divide="ignore", invalid="ignore"):
        differences = statistic(drawn[0]) - statistic(drawn[1])
    return Interval(found, *_bounds(differences, n), n)


def again(
    blocks: "np.ndarray", statistic: "Callable[[np.ndarray], np.ndarray]", resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """The statistic of a recording, with the bounds that hold that of another one of the same load in 95 of 100 cases.

    NaN for bounds of too few blocks. That is the interval of the recording's own statistic, sqrt(2) times as wide,
    since both recordings scatter.
    """
    found, low, high, n = interval(blocks, statistic, resamples, seed)
    return Interval(found, found + math.sqrt(2) * (low - found), found + math.sqrt(2) * (high - found), n)


def interval(
    blocks: "np.ndarray", statistic: "Callable[[np.ndarray], np.ndarray]", resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """The statistic of a recording with its own 95 % interval; NaN for bounds of too few blocks."""
    import numpy as np

    n = len(blocks)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = float(statistic(blocks.sum(axis=0)))
        if n < FEWEST:
            return Interval(found, math.nan, math.nan, n)
        values = statistic(_weights(np.random.default_rng(seed), n, resamples) @ blocks)
    return Interval(found, *_bounds(values, n), n)


def _bounds(values: "np.ndarray", n: int) -> tuple[float, float]:
    """The quantiles of resamples that bound an interval; NaN where more than half of them have no value.

    A resample without a single wakeup has no latency.
    """
    import numpy as np

    known = values[np.isfinite(values)]
    if len(known) < len(values) // 2:
        return math.nan, math.nan
    deviations = math.sqrt(n / (n - 1)) * quantile(n - 1, 0.95)
    level = math.erfc(deviations / math.sqrt(2)) / 2
    low, high = np.quantile(known, [level, 1 - level])
    return float(low), float(high)


def _weights(random: "np.random.Generator", n: int, resamples: int) -> "np.ndarray":
    """How often each block is in each resample."""
    import numpy as np

    drawn = random.integers(0, n, (resamples, n))
    return np.stack([np.bincount(row, minlength=n) for row in drawn]).astype(float)
