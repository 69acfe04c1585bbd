"""A permutation test of paired values: how often a difference as large arises if the cells do not differ at all,
so that in each pair either value could be of either cell.

    swap         exchange the two values of some pairs, all metrics of a pair of runs together
    statistic    of the values less of the base, in its own standard deviations over the swaps;
                 of the mean:  sum(d) / √ sum(d²)
    p            share of the swaps, none included, under which it is at least as large
    family       of the metrics of two cells: the largest statistic of all under the same swap; the metric with the
                 largest is judged against the largest of all, the next against that of all but it, and so on
                 (Westfall and Young 1993)

The metrics of a run depend on each other, and every swap has that dependence. Nothing is assumed of how differences are
distributed if the cells do not differ at all; if they differ in other respects than their mean, the test of the mean is
about right (as Student's t, whose statistic is a monotonic function of this one). Up to `ENUMERATED` pairs all
swaps are made; of more pairs a sample, always the same.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from schedlab.stats import statistic

if TYPE_CHECKING:
    import numpy as np

#: Pairs of which all swaps are made: 2^13, since a swap of all pairs only changes the sign.
ENUMERATED = 14
#: Swaps of more pairs.
SAMPLED = 9999
#: Statistics that differ by less are equal: sums of the same numbers in another order.
ROUNDING = 1e-9


class Stepped(NamedTuple):
    """A metric's place in the list, its own p, and that of its step."""

    place: int
    p: float
    of_step: float


def least(pairs: int) -> float:
    """The least two-sided p of this number of pairs: all differences of one sign and size."""
    return 2.0 ** (1 - pairs) if pairs <= ENUMERATED else 1 / (1 + SAMPLED)


def step_down(
    columns: Sequence[tuple["np.ndarray", "np.ndarray"]], of: str = statistic.MEAN, one_sided: bool = False
) -> list[Stepped]:
    """Judge the metrics of two cells together, the largest statistic first.

    A column has the values and the base by repeat, NaN in both where a repeat has no value. `one_sided`: only values
    above the base count.
    """
    import numpy as np

    signs = _signs(len(columns[0][0]))
    under = np.stack([_standardized(signs, *column, of) for column in columns], axis=1)
    under = np.concatenate([under, -under]) if one_sided else np.abs(under)
    order = sorted(range(len(columns)), key=lambda place: -under[0, place])
    ordered = under[:, order]
    # The largest of a column and all that are judged after it.
    largest = np.maximum.accumulate(ordered[:, ::-1], axis=1)[:, ::-1]
    seen = ordered[0] - ROUNDING
    own, steps = (ordered >= seen).mean(axis=0), np.maximum.accumulate((largest >= seen).mean(axis=0))
    return [Stepped(place, float(own[at]), float(steps[at])) for at, place in enumerate(order)]


def _standardized(signs: "np.ndarray", values: "np.ndarray", base: "np.ndarray", of: str) -> "np.ndarray":
    """The statistic under each swap; zero where no swap changes anything."""
    import numpy as np

    there = ~np.isnan(values)
    if not there.all():
        # Of most columns nothing is left out, and the swaps need not be copied.
        signs, values, base = signs[:, there], values[there], base[there]
    if statistic.quantile(of) is None:
        each = values - base
        # Not signs @ each: on a busy machine the threads of the linear algebra library wait for each other longer.
        found, size = np.einsum("ij,j->i", signs, each), np.sqrt((each**2).sum())
    else:
        kept = signs > 0
        swapped = (np.where(kept, values, base), np.where(kept, base, values))
        found = statistic.of(swapped[0], of) - statistic.of(swapped[1], of)
        size = np.sqrt((found**2).mean())
    return found / size if size > 0 else np.zeros(len(signs))


@lru_cache(maxsize=32)
def _signs(pairs: int) -> "np.ndarray":
    """A row for each swap, -1 where a pair is swapped; the first swaps none."""
    import numpy as np

    if pairs <= ENUMERATED:
        rows = np.arange(2 ** max(pairs - 1, 0))
        return 1.0 - 2.0 * (rows[:, None] >> np.arange(pairs) & 1)
    drawn = np.random.default_rng(pairs).choice([-1.0, 1.0], (SAMPLED, pairs))
    return np.concatenate([np.ones((1, pairs)), drawn])
