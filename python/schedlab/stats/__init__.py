"""How sure a number is. The quantile of Student's t is in `student`; every other distribution is scipy's."""

from __future__ import annotations

import math
from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Interval", "half_width", "mean_interval"]


class Interval(namedtuple("Interval", ("mean", "low", "high", "n"))):
    """A mean and the bounds that hold it with the stated confidence; bounds are NaN for fewer than two values."""

    __slots__ = ()

    mean: float
    low: float
    high: float
    n: int


def half_width(deviation: float, n: int, confidence: float = 0.95) -> float:
    """Half the width of the interval of a mean by Student's t, from the sample standard deviation of `n` values.

    NaN where `n` is below two.
    """
    if n < 2:
        return math.nan
    from schedlab.stats.student import quantile

    return quantile(n - 1, confidence) * deviation / math.sqrt(n)


def mean_interval(values: Iterable[float], confidence: float = 0.95) -> Interval:
    """The mean of independent `values` with its interval by Student's t."""
    values = [float(value) for value in values]
    n = len(values)
    mean = _sum(values) / n if n else math.nan
    deviation = math.sqrt(_sum([(value - mean) * (value - mean) for value in values]) / (n - 1)) if n > 1 else math.nan
    half = half_width(deviation, n, confidence)
    return Interval(mean, mean - half, mean + half, n)


def _sum(values: list[float]) -> float:
    """Exact, unless there is no such number."""
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):
        return sum(values)
