"""How sure a number is. Distributions and quantiles are scipy's; nothing is derived here."""

from typing import NamedTuple

__all__ = ["Interval", "half_width", "mean_interval"]


class Interval(NamedTuple):
    """A mean and the bounds that hold it with the stated confidence; bounds are NaN for fewer than two values."""

    mean: float
    low: float
    high: float
    n: int


def half_width(deviation, n, confidence: float = 0.95):
    """Half the width of the interval of a mean by Student's t, from the sample standard deviation of `n` values.

    Takes numbers or numpy arrays. NaN where `n` is below two.
    """
    import numpy as np
    from scipy.special import stdtrit

    n = np.asarray(n, dtype=float)
    freedom = np.where(n > 1, n - 1, np.nan)
    return stdtrit(freedom, (1 + confidence) / 2) * np.asarray(deviation, dtype=float) / np.sqrt(n)


def mean_interval(values, confidence: float = 0.95) -> Interval:
    """The mean of independent `values` with its interval by Student's t."""
    import numpy as np

    values = np.asarray(values, dtype=float)
    mean = float(values.mean())
    deviation = values.std(ddof=1) if values.size > 1 else np.nan
    half = float(half_width(deviation, values.size, confidence))
    return Interval(mean, mean - half, mean + half, int(values.size))
