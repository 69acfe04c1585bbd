"""Whether two cells differ: paired differences, several of them judged together, and what can be seen at all.

    d          =  value - base                          of each pair: the same repeat, measured next to each other
    interval   =  mean(d) ± t(0.975, n-1) s(d) / √n     95 %, of this difference alone
    p          =  how often noise alone gives |mean(d)| / (s(d)/√n) so large
    adjusted   =  p after Holm                          of m differences judged together
    real       :  adjusted <= 0.05

so at most one experiment in twenty in which nothing differs names any of its differences real, however many it has.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from schedlab.stats import Interval, mean_interval

#: Share of experiments without any difference in which one may be named all the same.
LEVEL = 0.05
#: How often a difference of the size that `detectable` gives is found.
POWER = 0.8

REAL = "real"
NOT_SHOWN = "not shown"
TOO_FEW = "too few"


class Difference(NamedTuple):
    """A mean paired difference, and what may be said of it.

    `p` and `adjusted` are None where nothing can be said. `relative` is the difference as a share of the mean of what
    it was compared with, None where that is zero.
    """

    of: Interval
    relative: float | None
    p: float | None
    adjusted: float | None
    verdict: str

    @property
    def real(self) -> bool | None:
        """Whether it is more than chance; None if there are too few pairs to decide."""
        return None if self.verdict == TOO_FEW else self.verdict == REAL


def differences(
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]], exact: bool = False, certain: Collection[int] = ()
) -> list[Difference]:
    """Compare the first of each pair of samples with the second, value by value, and judge all together.

    `exact` says that what gives the same values again and again has no noise, as a simulator whose seeds change
    nothing: then the differences need not be many. `certain` are the places of pairs of single values that no seed
    changes.
    """
    found = [_difference(*pair, exact, place in certain) for place, pair in enumerate(pairs)]
    adjusted = iter(holm([one.p for one in found if one.p is not None]))
    return [one if one.p is None else _judged(one, next(adjusted)) for one in found]


def difference(values: Sequence[float], base: Sequence[float], exact: bool = False) -> Difference:
    """As `differences`, of a single one."""
    return differences([(values, base)], exact)[0]


def _difference(values: Sequence[float], base: Sequence[float], exact: bool, certain: bool = False) -> Difference:
    if not len(values):
        return Difference(Interval(float("nan"), float("nan"), float("nan"), 0), None, None, None, TOO_FEW)
    each = [value - other for value, other in zip(values, base, strict=True)]
    of = mean_interval(each)
    mean = sum(base) / len(base)
    exact = exact and len({*values}) == len({*base}) == 1
    p = float(of.mean == 0) if certain else _p(each, of, exact)
    return Difference(of, of.mean / abs(mean) if mean else None, p, None, TOO_FEW)


def _p(each: list[float], of: Interval, exact: bool) -> float | None:
    """How often noise alone gives such a mean; None if no number of it could be called rare."""
    from scipy.special import stdtr, stdtrit

    if of.n < 2:
        return None
    if min(each) < max(each):
        ratio = of.mean / ((of.high - of.mean) / stdtrit(of.n - 1, 1 - LEVEL / 2))
        return float(2 * stdtr(of.n - 1, -abs(ratio)))
    if of.mean == 0:
        return 1.0
    if exact:
        return 0.0
    # No two differ: counts and rounded values, of which t knows no noise. Chance gives all the same sign so often:
    signs = 2.0 ** (1 - of.n)
    return signs if signs <= LEVEL else None


def _judged(one: Difference, adjusted: float) -> Difference:
    return one._replace(adjusted=adjusted, verdict=REAL if adjusted <= LEVEL else NOT_SHOWN)


def holm(chances: Sequence[float]) -> list[float]:
    """Each p so adjusted that judging all of them at one level keeps that level for the whole family (Holm 1979)."""
    ranked = sorted(range(len(chances)), key=lambda index: chances[index])
    adjusted, least = [0.0] * len(chances), 0.0
    for rank, index in enumerate(ranked):
        least = max(least, min(1.0, (len(chances) - rank) * chances[index]))
        adjusted[index] = least
    return adjusted


def detectable(deviation: float, n: int) -> float | None:
    """The least difference that `n` pairs find in four of five cases, if each of both scatters by `deviation`.

        (t(0.975, n-1) + t(0.8, n-1)) s √(2/n)

    None for a single pair, which finds nothing.
    """
    from scipy.special import stdtrit

    if n < 2:
        return None
    return float((stdtrit(n - 1, 1 - LEVEL / 2) + stdtrit(n - 1, POWER)) * deviation * (2 / n) ** 0.5)
