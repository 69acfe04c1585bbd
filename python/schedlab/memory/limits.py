"""A limit that at most a chosen share of later runs exceeds, from the peaks of earlier ones.

The share is an expected one, over the histories that might have been seen as well: n runs and the next one are taken to
be drawn alike, in any order (exchangeable).

    observed       the k-th least of n peaks is exceeded by the next run with probability (n + 1 - k) / (n + 1),
                   whatever the distribution; the least k with that at most the safety. The share itself is Beta(n + 1 -
                   k, k) over the histories, which gives the interval. It needs n >= 1 / safety - 1.
    extrapolated   with fewer runs: above the (n - k)-th peak u the tail is taken to be a power of the size (Pareto), so
                   that the logarithms of peak / u are exponential. With S the sum of the k logarithms, a run exceeds
                   u * exp(y) with probability  (k + 1) / (n + 1) * (1 + y / S) ** -k  over the histories; y makes that
                   the safety. Tails that fall more quickly than a power have fewer breaches. Without any assumption
                   it is at most 1 / (n + 1), since the limit is never below the largest peak.
    margin         with fewer than `FEWEST` runs: twice the largest peak, and no safety is claimed beyond 1 / (n + 1).

The kernel counts resident pages of each processor apart and sums up now and then (`GRAIN`), so every limit is rounded
up by that, a peak of 0 too, and no tail is taken to be narrower.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from schedlab.errors import UsageError

OBSERVED, EXTRAPOLATED, MARGIN = "observed", "extrapolated", "margin"
#: Runs from which on a tail is extrapolated, and the runs that are its tail: a fifth of all, within bounds.
FEWEST, TAIL_SHARE, LEAST_TAIL, MOST_TAIL = 30, 5, 8, 100
#: Batches of pages by which the kernel's counters of a process may lag, bytes: 32 pages of 4 KiB.
GRAIN = 128 << 10
#: No limit is larger.
LARGEST = 1 << 62
#: What the interval of a share of breaches holds.
CONFIDENCE = 0.95


class Limit(NamedTuple):
    """A limit in bytes, how it was found, and the expected share of breaches with its interval."""

    bytes: int
    how: str
    expected: float
    low: float
    high: float
    n: int
    #: The expected share is at most this without an assumption on the distribution.
    certain: float


def suggest(peaks: Sequence[int], safety: float) -> Limit:
    """A limit from peaks, least first."""
    n = len(peaks)
    # Rounded: (1 - 0.999) * 1000 is a little more than 1.
    over = math.floor(round(safety * (n + 1), 9))
    if over >= 1:
        return Limit(_rounded(peaks[n - over]), OBSERVED, over / (n + 1), *_of_order(n, over), n, over / (n + 1))
    certain = 1 / (n + 1)
    if n < FEWEST:
        return Limit(_rounded(2 * peaks[-1]), MARGIN, certain, *_of_order(n, 1), n, certain)
    size, expected, low, high = _extrapolated(peaks, safety)
    return Limit(_rounded(max(size, peaks[-1])), EXTRAPOLATED, min(expected, certain), low, high, n, certain)


def refuse_wrong_safety(safety: float) -> None:
    """Refuse what is no share, or one that no history could show."""
    if not 1e-9 <= safety <= 0.5:
        raise UsageError(f"--safety {safety:g}: a share of runs from 1e-9 to 0.5, as 1e-3 for one in 1,000")


def declared(size: int) -> int:
    """A limit as it is declared."""
    return _rounded(size)


def _rounded(size: float) -> int:
    return min(max(math.ceil(size / GRAIN), 1), LARGEST // GRAIN) * GRAIN


def _of_order(n: int, over: int) -> tuple[float, float]:
    """The interval of the share of runs beyond the peak that `over` - 1 of n exceed."""
    from scipy.special import betaincinv

    edges = (1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2
    low, high = (float(betaincinv(over, n + 1 - over, edge)) for edge in edges)
    return low, high


def _extrapolated(peaks: Sequence[int], safety: float) -> tuple[float, float, float, float]:
    """The size whose expected share of breaches is the safety; that share, and its interval."""
    n = len(peaks)
    k = min(max(n // TAIL_SHARE, LEAST_TAIL), MOST_TAIL, n - 1)
    threshold = max(peaks[n - 1 - k], 1)
    narrowest = k * math.log1p(GRAIN / threshold)
    total = max(sum(math.log(max(peak, threshold) / threshold) for peak in peaks[n - k :]), narrowest)
    beyond = (k + 1) / (n + 1)
    y = total * ((safety / beyond) ** (-1 / k) - 1)
    size = threshold * math.exp(min(y, math.log(LARGEST / threshold)))
    return size, safety, *_of_tail(n, k, y / total)


def _of_tail(n: int, k: int, y: float) -> tuple[float, float]:
    """The interval of the share beyond the limit: the rate of the exponential is Gamma(k) / S, and the share beyond the
    threshold Beta(k + 1, n - k); the quantiles of their product, from equally likely pairs.
    """
    import numpy as np
    from scipy.special import betaincinv, gammaincinv

    each = (np.arange(100) + 0.5) / 100
    shares = np.outer(betaincinv(k + 1, n - k, each), np.exp(-y * gammaincinv(k, each)))
    low, high = np.quantile(shares, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)
