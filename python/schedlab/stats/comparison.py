"""Whether cells differ: paired differences, many of them judged together, and what can be seen at all.

    d          =  value - base                   of each pair: the same repeat, measured next to each other
    p          =  how often permutations within the pairs give as much; where these cannot reach 5 %, Student's t of d
    adjusted   =  p of the whole family          metrics of two cells by steps of the largest; pairs of cells by Holm
    interval   =  95 %, of this one alone        `bootstrap`
    real       :  adjusted <= 0.05
    same       :  value less than base + w |base|, and more than base - w |base|       each judged as a difference
    no worse   :  the one of the two that is on the bad side

so at most one experiment in twenty in which nothing differs names any of its differences real, however many it has;
and at most one in twenty calls anything the same, or no worse, that is not. The least p of
a permutation test is 2^(1 - pairs), and Holm multiplies it by the number of pairs of cells.
"""

import math
from collections.abc import Collection, Sequence
from heapq import heapify, heappop, heapreplace
from typing import TYPE_CHECKING, NamedTuple

from schedlab.stats import Interval, statistic

if TYPE_CHECKING:
    import numpy as np

#: Share of experiments without any difference in which one may be named all the same.
LEVEL = 0.05
#: How often a difference of the size that `detectable` gives is found.
POWER = 0.8

REAL = "real"
SAME = "same"
NO_WORSE = "no worse"
NOT_SHOWN = "not shown"
TOO_FEW = "too few"
#: All that may be said of a difference, and what it means; `{}` is the bound of `--within`.
VERDICTS = {
    REAL: "chance is ruled out",
    SAME: "shown to differ by less than {}",
    NO_WORSE: "shown to be worse by less than {}, if at all",
    NOT_SHOWN: "neither is shown",
    TOO_FEW: "so few pairs cannot tell chance from effect",
}
#: How p was found: by a permutation test, by Student's t, by an e-process (a sequence), or there is no chance in it.
PERMUTATION, STUDENT, E_PROCESS, CERTAIN = "permutation", "student", "e-process", "certain"

#: A pair of samples: the values of a cell and those of its base, by repeat; NaN or None where there is none.
Pair = tuple[Sequence[float | None], Sequence[float | None]]
#: Which values of a metric are better; None where that is not known.
LOWER, HIGHER = "lower", "higher"


class Difference(NamedTuple):
    """A paired difference, and what may be said of it.

    `p` and `adjusted` are None where nothing can be said. `relative` is the difference as a share of what it was
    compared with, None where that is zero. `bounded` is "same" or "no worse" if that was asked and is so, besides the
    verdict. `more` is how many more pairs would about give a verdict; None if there is one, or the
    scatter is not known.
    """

    of: Interval
    relative: float | None
    p: float | None
    adjusted: float | None
    verdict: str
    bounded: str | None = None
    more: int | None = None
    test: str | None = None

    @property
    def real(self) -> bool | None:
        """Whether it is more than chance; None if there are too few pairs to decide."""
        return None if self.verdict == TOO_FEW else self.verdict == REAL


class Question(NamedTuple):
    """What is asked of differences."""

    #: What is compared of the repeats.
    of: str = statistic.MEAN
    #: The share of the base within which values count as the same; None: that is not asked.
    within: float | None = None
    #: What gives the same values again and again has no noise, as a simulator whose seeds change nothing.
    exact: bool = False
    #: Whether p holds though one looks after every pair.
    sequence: bool = False


ORDINARY = Question()


class Compared(NamedTuple):
    """A pair of samples of one metric of two cells, by repeat."""

    values: Sequence[float | None]
    base: Sequence[float | None]
    #: Single values that no seed changes.
    certain: bool = False
    better: str | None = None


def differences(pairs: Sequence[Pair], exact: bool = False, certain: Collection[int] = ()) -> list[Difference]:
    """Compare the first of each pair of samples with the second, value by value, and judge all together.

    Each pair is of other cells. `exact` as in `Question`. `certain` are the places of pairs of single values that no
    seed changes.
    """
    cells = [[Compared(*pair, place in certain)] for place, pair in enumerate(pairs)]
    return [one for (one,) in families(cells, Question(exact=exact))]


def difference(values: Sequence[float], base: Sequence[float], exact: bool = False) -> Difference:
    """As `differences`, of a single one."""
    return differences([(values, base)], exact)[0]


def families(cells: Sequence[Sequence[Compared]], question: Question = ORDINARY) -> list[list[Difference]]:
    """Judge all metrics of all pairs of cells together: for each pair of cells the differences of its metrics."""
    read = [[_read(one, question) for one in metrics] for metrics in cells]
    zero = _judged(read, [[(one.values, one.base) for one in metrics] for metrics in read], question)
    bounds = _bounds(read, question)
    return [
        [
            _difference(one, *zero[at][place], bounds[at][place], question, sum(map(len, cells)))
            for place, one in enumerate(metrics)
        ]
        for at, metrics in enumerate(read)
    ]


class _Read(NamedTuple):
    """`Compared` as arrays, with NaN in both where either has no value."""

    values: "np.ndarray"
    base: "np.ndarray"
    #: Whether its p is zero or one.
    certain: bool
    better: str | None

    @property
    def there(self) -> tuple["np.ndarray", "np.ndarray"]:
        """The pairs that there are."""
        import numpy as np

        have = ~np.isnan(self.values)
        return self.values[have], self.base[have]


def _read(one: Compared, question: Question) -> _Read:
    import numpy as np

    values, base = (np.array(list(side), float) for side in (one.values, one.base))
    if values.shape != base.shape:
        raise ValueError(f"{len(values)} values cannot be paired with {len(base)}")
    gone = np.isnan(values) | np.isnan(base)
    values[gone] = base[gone] = math.nan
    found = _Read(values, base, one.certain, one.better)
    kept = found.there
    # Fewer equal values can be equal by chance: those of a count, say.
    constant = question.exact and len(kept[0]) >= fewest(1) and all(side.min() == side.max() for side in kept)
    return found._replace(certain=len(kept[0]) > 0 and (one.certain or constant))


#: A p, that of the whole family, and how it was found; of too few pairs neither is known.
_Chance = tuple[float | None, float | None, str | None]


def _judged(
    read: Sequence[Sequence[_Read]],
    columns: Sequence[Sequence[tuple["np.ndarray", "np.ndarray"]]],
    question: Question,
    one_sided: bool = False,
) -> list[list[_Chance]]:
    """How often chance gives as much as these columns have, for each; `read` are the metrics that they are of."""
    found = [
        [
            _of_certain(*column, one_sided) if one.certain else (None, None, None)
            for one, column in zip(*both, strict=True)
        ]
        for both in zip(read, columns, strict=True)
    ]
    steps = [_steps(metrics, of, question, one_sided, len(columns)) for metrics, of in zip(read, columns, strict=True)]
    # Holm over the pairs of cells: one that has been judged to its end is no longer counted.
    left, adjusted = [(own[0][2], at, 0) for at, own in enumerate(steps) if own], 0.0
    heapify(left)
    while left:
        of_step, at, step = left[0]
        adjusted = max(adjusted, min(1.0, len(left) * of_step))
        place, p, _, test = steps[at][step]
        found[at][place] = p, adjusted, test
        if step + 1 < len(steps[at]):
            heapreplace(left, (steps[at][step + 1][2], at, step + 1))
        else:
            heappop(left)
    return found


def _of_certain(values: "np.ndarray", base: "np.ndarray", one_sided: bool) -> _Chance:
    """What has no chance in it is judged by itself."""
    import numpy as np

    mean = np.nanmean(values - base)
    p = float(not (mean > 0 if one_sided else mean != 0))
    return p, p, CERTAIN


def _steps(
    read: Sequence[_Read],
    columns: Sequence[tuple["np.ndarray", "np.ndarray"]],
    question: Question,
    one_sided: bool,
    cells: int,
) -> list[tuple[int, float, float, str]]:
    """Place, p, p of the step and how it was found: the metrics of a pair of cells, in the order of judgement."""
    import numpy as np

    from schedlab.stats import permutation, sequence

    chosen, p = [], {}
    for place, (one, (values, base)) in enumerate(zip(read, columns, strict=True)):
        have = ~np.isnan(values)
        each = (values - base)[have]
        if one.certain:
            continue
        if question.sequence:
            p[place] = sequence.chance(each, one_sided)
        elif permutation.least(len(each)) * cells <= LEVEL:
            chosen.append(place)
        elif (found := _of_student(each, question.of, one_sided)) is not None:
            p[place] = found
    test = E_PROCESS if question.sequence else STUDENT
    judged = [(place, p[place], step, test) for place, step in zip(p, holm(list(p.values())), strict=True)]
    if chosen:
        stepped = permutation.step_down([columns[place] for place in chosen], question.of, one_sided)
        # Two kinds of tests of one pair of cells share its level.
        share = 1 + bool(judged)
        judged = [(place, one, min(1.0, share * step), test) for place, one, step, test in judged]
        judged += [(chosen[one.place], one.p, min(1.0, share * one.of_step), PERMUTATION) for one in stepped]
    return sorted(judged, key=lambda one: one[2])


def _of_student(each: "np.ndarray", of: str, one_sided: bool) -> float | None:
    """How often noise alone gives such a mean, by Student's t; None if no number of it could be called rare."""
    from scipy.special import stdtr

    n = len(each)
    if n < 2 or of != statistic.MEAN:
        return None
    mean = float(each.mean())
    if each.min() < each.max():
        ratio = mean / (float(each.std(ddof=1)) / math.sqrt(n))
        return float(stdtr(n - 1, -ratio) if one_sided else 2 * stdtr(n - 1, -abs(ratio)))
    if mean == 0:
        return 1.0
    # No two differ: counts and rounded values, of which t knows no noise. Chance gives all the same sign so often:
    signs = 2.0**-n if one_sided else 2.0 ** (1 - n)
    return signs if signs <= LEVEL and (mean > 0 or not one_sided) else None


def _bounds(read: Sequence[Sequence[_Read]], question: Question) -> list[list[str | None]]:
    """Of each metric "same" or "no worse" if it is, within the bound of the question."""
    if question.within is None:
        return [[None] * len(metrics) for metrics in read]
    import numpy as np

    columns = []
    for metrics in read:
        room = [question.within * np.abs(one.base) for one in metrics]
        below = [(one.base + more, one.values) for one, more in zip(metrics, room, strict=True)]
        above = [(one.values, one.base - more) for one, more in zip(metrics, room, strict=True)]
        columns.append([*below, *above])
    found = _judged([[*metrics, *metrics] for metrics in read], columns, question, one_sided=True)

    def said(one: _Read, below: _Chance, above: _Chance) -> str | None:
        sides = [side[1] is not None and side[1] <= LEVEL for side in (below, above)]
        if all(sides):
            return SAME
        return NO_WORSE if one.better and sides[one.better == HIGHER] else None

    halves = [(of[: len(of) // 2], of[len(of) // 2 :]) for of in found]
    return [
        [said(*three) for three in zip(metrics, *both, strict=True)] for metrics, both in zip(read, halves, strict=True)
    ]


def _difference(
    one: _Read,
    p: float | None,
    adjusted: float | None,
    test: str | None,
    bounded: str | None,
    question: Question,
    judged: int,
) -> Difference:
    from schedlab.stats import bootstrap, sequence

    values, base = one.there
    if not len(values):
        return Difference(Interval(math.nan, math.nan, math.nan, 0), None, None, None, TOO_FEW)
    in_sequence = question.sequence
    of = sequence.interval(values - base, LEVEL) if in_sequence else bootstrap.interval(values, base, question.of)
    against = float(statistic.of(base, question.of))
    relative = of.mean / abs(against) if against else None
    if adjusted is not None and adjusted <= LEVEL:
        verdict = REAL
    else:
        verdict = bounded or (TOO_FEW if adjusted is None else NOT_SHOWN)
    decided = verdict == REAL if question.within is None else bool(bounded) or verdict == REAL
    known = decided or one.certain or of.n < statistic.fewest(question.of)
    size = abs(of.mean)
    if question.within is not None:
        size = max(size, question.within * abs(against) - size)
    wanted = None if known else _wanted(size, bootstrap.deviation(values, base, question.of), of.n, judged)
    return Difference(of, relative, p, adjusted, verdict, bounded, wanted, test)


def _wanted(size: float, deviation: float, n: int, judged: int) -> int | None:
    """About how many more pairs than these n would show a difference of this size, if single ones have this deviation.

        n  =  ((t(1 - 0.025/m) + t(0.8)) s / size)²        size: the difference seen, or what is left of it to the bound

    of m differences judged together; None where the deviation is more than a thousand times the size.
    """
    from scipy.special import stdtrit

    if not size > 1e-3 * deviation:
        return None
    wanted, freedom = float(n), n - 1
    for _ in range(8):
        t = stdtrit(freedom, 1 - LEVEL / 2 / judged) + stdtrit(freedom, POWER)
        wanted = max((t * deviation / size) ** 2, fewest(judged))
        freedom = max(1, math.ceil(wanted) - 1)
    return max(1, math.ceil(wanted) - n)


def fewest(judged: int) -> int:
    """The fewest pairs with which a permutation test can reach the level, of this number of pairs of cells."""
    return 1 + math.ceil(math.log2(judged / LEVEL))


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
