"""What is compared of the repeats of a cell: their mean, their median, or another quantile.

mean    sum of the values / their number
pQ      the value that Q % of the repeats do not exceed, interpolated between the two nearest; p50 is the median
"""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

MEAN, MEDIAN = "mean", "median"
#: Repeats that a quantile must have on either side for an interval: with fewer, intervals cover too little.
BEYOND = 5


def quantile(name: str) -> float | None:
    """The share of a quantile by its name: 0.99 of p99, 0.999 of p999; None of the mean. ValueError for others."""
    if name == MEAN:
        return None
    if name == MEDIAN:
        return 0.5
    if not re.fullmatch(r"p(?!00)\d\d+", name):
        raise ValueError(f"{name!r} is no statistic of repeats; mean, median, or a quantile as p90")
    return float(f"0.{name[1:]}")


def of(values: "np.ndarray", name: str) -> "np.ndarray":
    """The statistic over the last axis."""
    import numpy as np

    share = quantile(name)
    if share is None:
        return values.mean(axis=-1)
    # As numpy's quantile, of which most of the time is spent elsewhere where there are few values.
    place = share * (values.shape[-1] - 1)
    below = int(place)
    above = min(below + 1, values.shape[-1] - 1)
    ordered = np.partition(values, (below, above), axis=-1)
    return ordered[..., below] + (place - below) * (ordered[..., above] - ordered[..., below])


def fewest(name: str) -> int:
    """How many repeats there must be for an interval of a quantile: ten for a median, 50 for p90; two for a mean."""
    import math

    share = quantile(name)
    # Rounded: 5 / (1 - 0.9) is a little more than 50.
    return 2 if share is None else math.ceil(round(BEYOND / min(share, 1 - share), 6))
