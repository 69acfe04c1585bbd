"""Versions of a program compared: whether a newer one needs another amount of memory.

    ratio      of the medians, newer to older, with a 95 % interval by bootstrap of either side (quantiles of resamples)
    p99        the same of the 99th percentiles, from `statistic.fewest` runs of each on
    p          how often a difference of mean logarithms as large arises when runs are dealt to the two versions at
               random
    adjusted   p of all comparisons together (Holm)

Each version is compared with the one before it in the same class that has enough runs. Runs that follow each other may
depend on each other; the permutation takes them not to.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from schedlab.memory.history import Group
from schedlab.stats import Interval, statistic
from schedlab.stats.comparison import LEVEL, holm

if TYPE_CHECKING:
    import numpy as np

#: Runs that each version must have: the least p of five and five is 0.008. And the last ones that are compared.
FEWEST, MOST = 5, 1000
RESAMPLES = 1999
#: Runs of each version for an interval of medians.
FOR_MEDIAN = statistic.fewest(statistic.MEDIAN)


class Drift(NamedTuple):
    """A newer version compared with an older one."""

    group: Group
    older: int
    newer: int
    runs: tuple[int, int]
    median: Interval
    p99: Interval
    p: float
    adjusted: float = math.nan

    @property
    def verdict(self) -> str:
        """What is shown."""
        if self.adjusted > LEVEL:
            return "no difference shown"
        return "more" if self.median.mean > 1 else "less" if self.median.mean < 1 else "differs"


def compared(groups: Sequence[Group]) -> list[Drift]:
    """All comparisons of all groups."""
    found = [drift for group in groups for drift in _of(group)]
    return [one._replace(adjusted=p) for one, p in zip(found, holm([one.p for one in found]), strict=True)]


def _of(group: Group) -> list[Drift]:
    import numpy as np

    peaks: dict[int, list[int]] = {}
    for run in group.runs:
        if run.version:
            peaks.setdefault(run.version, []).append(max(run.peak, 1))
    enough = [(version, np.array(of[-MOST:], float)) for version, of in sorted(peaks.items()) if len(of) >= FEWEST]
    return [_pair(group, *older, *newer) for older, newer in pairwise(enough)]


def _pair(group: Group, older: int, before: "np.ndarray", newer: int, after: "np.ndarray") -> Drift:
    import numpy as np
    from scipy import stats

    def ratio(name: str, fewest: int) -> Interval:
        def of(one, other, axis=-1):
            return statistic.of(one, name) / statistic.of(other, name)

        found, n = float(of(after, before)), min(len(before), len(after))
        if n < fewest:
            return Interval(found, math.nan, math.nan, n)
        if np.ptp(before) == np.ptp(after) == 0:
            return Interval(found, found, found, n)
        with np.errstate(all="ignore"):
            drawn = stats.bootstrap(
                (after, before),
                of,
                n_resamples=RESAMPLES,
                method="percentile",
                vectorized=True,
                rng=np.random.default_rng(n),
            ).confidence_interval
        return Interval(found, float(drawn.low), float(drawn.high), n)

    def apart(one, other, axis=-1):
        return one.mean(axis=axis) - other.mean(axis=axis)

    dealt = stats.permutation_test(
        (np.log(after), np.log(before)), apart, n_resamples=RESAMPLES * 5, vectorized=True, rng=np.random.default_rng(0)
    )
    runs = len(before), len(after)
    return Drift(
        group,
        older,
        newer,
        runs,
        ratio(statistic.MEDIAN, FOR_MEDIAN),
        ratio("p99", statistic.fewest("p99")),
        float(dealt.pvalue),
    )
