"""How sure a number is. The quantile of Student's t is in `student`; every other distribution is scipy's."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from schedlab.stats.student import quantile

__all__ = ["Interval", "half_width", "mean_interval"]


class Interval(NamedTuple):
    """A mean and the bounds that hold it with the stated confidence; bounds are NaN for fewer than two values."""

    mean: float
    low: float
    high: float
    n: int


def half_width(deviation: float, n: int, confidence: float = 0.95) -> float:
    """Half the width of the interval of a mean by Student's t, from the sample standard deviation of `n` values.

    NaN where `n` is below two.
    """
    return quantile(n - 1, confidence) * deviation / math.sqrt(n) if n > 1 else math.nan


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
