"""Differences that may be looked at after every pair: e-processes and confidence sequences.

    factor     1 + tanh(k d / s)       on a difference d with s, the root mean square of it and all before it;
                                       expected 1 if d is as likely to be -d, whatever its size
    e-value    the product of the factors, averaged over several k and both signs
    p          1 / the largest e-value so far (Ville 1939): at most a chance of x that it ever falls to x
    interval   all shifts whose removal leaves a p above 5 %; of all looks together, so it holds whenever one stops

A factor is fixed when the size of a difference is known and its sign is not, so it may use all sizes seen so far. It
takes at least seven pairs to know a single difference: each doubles the e-value at most, and
half of it is on the other sign.
"""

import math
from typing import TYPE_CHECKING

from schedlab.stats import Interval

if TYPE_CHECKING:
    import numpy as np

#: Values of k: for differences that are a fraction of their scatter, to those that hardly scatter.
RATES = (0.25, 0.5, 1.0, 2.0, 8.0)
#: Pairs that a single difference takes at least.
FEWEST = 7
#: Halvings of the stretch in which a bound is searched.
HALVINGS = 40


def chance(each: "np.ndarray", one_sided: bool = False) -> float:
    """The p of these differences in the order in which they were made; `one_sided`: only those above zero count."""
    import numpy as np

    squares = np.cumsum(each**2)
    if not len(each) or squares[-1] == 0:
        return 1.0
    # Before the first that is not zero there is no scale, and no factor.
    scale = np.sqrt(squares / np.arange(1, len(each) + 1))
    unit = np.divide(each, scale, out=np.zeros(len(each)), where=scale > 0)
    rates = np.array(RATES if one_sided else [*RATES, *(-one for one in RATES)])
    # 1 + tanh(x) = 2 / (1 + exp(-2 x)), in logarithms.
    e_values = np.cumsum(math.log(2) - np.logaddexp(0, -2 * np.outer(unit, rates)), axis=0)
    largest = float((np.logaddexp.reduce(e_values, axis=1) - math.log(len(rates))).max())
    return min(1.0, math.exp(-max(largest, 0.0)))


def interval(each: "np.ndarray", level: float) -> Interval:
    """The mean of the differences, and the shifts that cannot be excluded; NaN for bounds that are not known."""
    import numpy as np

    n = len(each)
    middle = float(np.median(each)) if n else math.nan
    mean = float(each.mean()) if n else math.nan
    # Seven pairs are the fewest that can exclude a shift, however far away.
    reach = max(float(np.ptp(each)), abs(middle), 1e-300) * 4 if n else 0.0
    if not n or chance(each - (middle - reach)) > level or chance(each - (middle + reach)) > level:
        return Interval(mean, math.nan, math.nan, n)
    return Interval(mean, *(_bound(each, middle, middle + side * reach, level) for side in (-1, 1)), n)


def _bound(each: "np.ndarray", inside: float, outside: float, level: float) -> float:
    """The shift between these two from which on the p is at most `level`."""
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        if chance(each - middle) > level:
            inside = middle
        else:
            outside = middle
    return outside
