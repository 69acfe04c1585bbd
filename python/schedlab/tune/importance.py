"""Which fields matter to a counter, and which pairs of them interact.

    share        of a field: the variance over its levels of the counter's mean over all other fields, as a share of the
                 variance over the whole space (functional ANOVA; Hutter, Hoos and Leyton-Brown, An Efficient Approach
                 for Assessing Hyperparameter Importance, ICML 2014)
    interaction  of a pair: the same for both together, without the shares of each
    total        of a field: its share and its interactions
    explained    how much of the variance is predicted for settings that the fit has not seen (R², five folds)

The counter over the space is a smooth part plus a random forest. The smooth part (a Gaussian process) is a sum of a
curve for each field and a surface for each pair. The forest is fitted to what it leaves, such as steps and effects of
three fields, and counts as far as it predicts settings left out. Both are added up exactly over all settings of the
space: of a tree each leaf is a box of levels. A forest alone is biased here: of a product of two fields it gave 0.64
instead of 1 to the pair with 200 settings, and of three additive fields 0.08, not 0.17, to the second with 40.

Intervals are of 95 % and have two parts. What the settings happen to be: the standard deviation over fits to halves of
the settings. What the method does: a fit is taken for the truth, measured again with noise as large as what was left
unexplained, and fitted again; the mean error is subtracted, its standard deviation counts.

Measured on six known functions of five quantities and a field of names (additive, a product, Ishigami's, a valley,
steps and a mixture), twelve samples each, where enough was explained; noise of 0.3 standard deviations of the values:

    settings                     shares of fields covered    of interactions    of what is zero
    30                           157 of 165                  43 of 55           956 of 956
    50, with noise               156 of 156                  44 of 51           924 of 927
    100, with noise              195 of 198                  65 of 69           1182 of 1182
    100, half near the best,
    with noise                   196 of 204                  64 of 72           1229 of 1236
    200, with noise              204 of 204                  70 of 72           1236 of 1236
    200                          204 of 204                  72 of 72           1236 of 1236

So with less than about 100 settings an interaction may be missed: of the 33 missed here 19 have 1.4 % of the variance,
and 13 are the valley's with 20 %. No field with a total of 1 % or more was said to do nothing; with noise most of those
that do nothing are not named.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

#: Settings that a fit needs; of more, MOST are drawn at random.
LEAST, MOST = 10, 300
#: Fits for each part of an interval, and Student's t for 95 % of that number.
REFITS, STUDENT = 15, 2.145
#: Trees of a fit, and of a fit for an interval.
TREES, FEWER = 64, 16
FOLDS = 5
#: No interval is narrower than this on either side.
FLOOR = 0.005
#: A field whose total is certainly below this share does nothing.
NOTHING = 0.01
#: Shares are not to be believed where less is explained.
CONCLUSIVE = 0.5
#: How far the smooth curve of a quantity reaches, as a share of its levels.
REACH = 0.3
#: Rounds in which the smooth part learns how large each curve and surface is.
ROUNDS = 3
#: Strengths of smoothing that are tried, as shares of the mean eigenvalue.
STRENGTHS = np.geomspace(1e-4, 10.0, 18)


@dataclass(frozen=True)
class Share:
    """A share of the variance with its 95 % interval."""

    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Pair(Share):
    """The interaction of the fields at two places."""

    i: int
    j: int


@dataclass(frozen=True)
class Importance:
    """How the variance of a counter over the space is made up."""

    fields: list[Share]
    #: The largest first.
    pairs: list[Pair]
    #: Of each field, its share and its interactions.
    totals: list[Share]
    explained: float

    @property
    def conclusive(self) -> bool:
        """Whether enough is explained to believe the shares."""
        return self.explained >= CONCLUSIVE

    @property
    def nothing(self) -> list[int]:
        """The places of the fields that do nothing, nor in a pair with another."""
        return [at for at, one in enumerate(self.totals) if self.conclusive and one.high < NOTHING]


@dataclass(frozen=True)
class Unknown:
    """Why nothing can be said."""

    why: str


def importance(
    levels: Sequence[int],
    settings: np.ndarray,
    values: np.ndarray,
    ordered: Sequence[bool] | None = None,
    seed: int = 0,
) -> Importance | Unknown:
    """The shares of fields with these numbers of `levels`, by the values of settings (a row of places for each).

    Levels of fields that are not `ordered` are names. Settings with a place outside of the levels, or without a finite
    value, are left out.
    """
    settings, values = np.asarray(settings, int).reshape(-1, len(levels)), np.asarray(values, float)
    there = ((settings >= 0) & (settings < np.array(levels))).all(axis=1) & np.isfinite(values)
    settings, values = settings[there], values[there]
    if len(values) < LEAST:
        return Unknown(f"measured in {len(values)} settings; at least {LEAST} are needed")
    if np.ptp(values) <= 1e-9 * np.abs(values).max():
        return Unknown(f"the same in all {len(values)} settings")
    rng = np.random.default_rng(seed)
    if len(values) > MOST:
        kept = np.sort(rng.choice(len(values), MOST, replace=False))
        settings, values = settings[kept], values[kept]
    from threadpoolctl import threadpool_limits

    space = _Space(levels, [True] * len(levels) if ordered is None else ordered)
    # Matrices are small: threads that wait for each other take many times as long as one.
    with threadpool_limits(1):
        return _judged(space, settings, (values - values.mean()) / values.std(), rng)


def _judged(space: "_Space", settings: np.ndarray, values: np.ndarray, rng: np.random.Generator) -> Importance:
    count = len(values)
    smooth, rest = _left_out(space, settings, values, rng)
    weight = _weight(values - smooth, rest)
    left = values - smooth - weight * rest
    fit = _Fit(space, settings, values, weight, TREES, rng)
    shares = fit.shares()
    halves, errors = [], []
    for _ in range(REFITS):
        half = rng.choice(count, (count + 1) // 2, replace=False)
        halves.append(_Fit(space, settings[half], values[half], weight, FEWER, rng).shares().mean(axis=0))
        at, truth = fit.drawn(settings, rng)
        again = truth + rng.choice(left, count)
        errors.append(_Fit(space, settings, again, weight, FEWER, rng).shares().mean(axis=0) - shares[at])
    sums = space.sums.T
    means, low, high = _interval(shares.mean(axis=0) @ sums, np.array(halves) @ sums, np.array(errors) @ sums)
    found = [tuple(float(one) for one in row) for row in zip(means, low, high, strict=True)]
    fields, pairs = len(space.levels), len(space.pairs)
    named = [Pair(*one, *pair) for one, pair in zip(found[fields : fields + pairs], space.pairs, strict=True)]
    explained = 1 - float(left @ left) / float(values @ values)
    return Importance(
        [Share(*one) for one in found[:fields]],
        sorted(named, key=lambda one: -one.share),
        [Share(*one) for one in found[fields + pairs :]],
        explained,
    )


def _interval(shares: np.ndarray, halves: np.ndarray, errors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shares without their mean error, and their bounds."""
    half = FLOOR + STUDENT * np.hypot(halves.std(axis=0, ddof=1), errors.std(axis=0, ddof=1))
    middle = shares - errors.mean(axis=0)
    return tuple(np.clip(one, 0.0, 1.0) for one in (middle, middle - half, middle + half))


def _left_out(
    space: "_Space", settings: np.ndarray, values: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """What the smooth part and the forest predict for each setting from the settings of the other folds."""
    smooth, rest = np.zeros(len(values)), np.zeros(len(values))
    fold = rng.permutation(len(values)) % FOLDS
    for out in range(FOLDS):
        fit = _Fit(space, settings[fold != out], values[fold != out], 1.0, FEWER, rng)
        smooth[fold == out] = fit.smooth(settings[fold == out])
        rest[fold == out] = fit.forest.predict(space.features(settings[fold == out]))
    return smooth, rest


def _weight(left: np.ndarray, rest: np.ndarray) -> float:
    """How far to believe the forest: the least squares factor of its predictions, from 0 to 1."""
    return min(max(float(left @ rest) / max(float(rest @ rest), 1e-300), 0.0), 1.0)


class _Space:
    """Levels side by side, all fields in a row, and what belongs to each field, pair and feature of the forest."""

    def __init__(self, levels: Sequence[int], ordered: Sequence[bool]):
        self.levels = [int(count) for count in levels]
        self.pairs = list(combinations(range(len(levels)), 2))
        self.covariances = [_covariance(count, one) for count, one in zip(self.levels, ordered, strict=True)]
        ends = np.cumsum([0, *self.levels])
        self.slices = [slice(*end) for end in pairwise(ends)]
        #: A quantity is a feature of the forest; of names, each level is one.
        own = [[np.arange(n)] if one else list(np.eye(n)) for n, one in zip(self.levels, ordered, strict=True)]
        self.owner = np.array([at for at, rows in enumerate(own) for _ in rows])
        #: Of each feature (row) the value at each level (column); NaN at the levels of other fields.
        self.codes = np.full((len(self.owner), ends[-1]), np.nan)
        for row, (at, code) in enumerate((at, code) for at, rows in enumerate(own) for code in rows):
            self.codes[row, self.slices[at]] = code
        #: Rows: fields, pairs, totals; columns: fields, pairs.
        single = np.eye(len(levels) + len(self.pairs))
        totals = [
            [at == other for other in range(len(levels))] + [at in pair for pair in self.pairs]
            for at in range(len(levels))
        ]
        self.sums = np.vstack([single, np.array(totals, float)])

    def features(self, settings: np.ndarray) -> np.ndarray:
        """What the forest sees of settings."""
        begins = np.array([one.start for one in self.slices])
        return self.codes[np.arange(len(self.owner)), (settings + begins)[:, self.owner]]

    def kernels(self, settings: np.ndarray) -> np.ndarray:
        """The covariance of settings by each curve and surface."""
        single = [one[np.ix_(at, at)] for one, at in zip(self.covariances, settings.T, strict=True)]
        return np.array([*single, *(single[i] * single[j] for i, j in self.pairs)])


def _covariance(count: int, ordered: bool) -> np.ndarray:
    """Of the levels of a field, less their mean, with a mean variance of 1: neighbours of a quantity are alike."""
    at = np.arange(count)
    apart = (at[:, None] - at) / (REACH * max(count - 1, 1))
    found = np.exp(-(apart**2)) if ordered else np.eye(count)
    centre = np.eye(count) - 1 / count
    found = centre @ found @ centre
    return found / max(np.trace(found) / count, 1e-12)


class _Fit:
    """The counter over the whole space, by some settings."""

    def __init__(
        self,
        space: _Space,
        settings: np.ndarray,
        values: np.ndarray,
        weight: float,
        trees: int,
        rng: np.random.Generator,
    ):
        self.space, self.weight = space, weight
        self.mean, self.parts = self._smoothed(settings, values)
        self.forest = None
        if weight > 0:
            from sklearn.ensemble import RandomForestRegressor

            self.forest = RandomForestRegressor(trees, random_state=int(rng.integers(1 << 31)), n_jobs=1)
            self.forest.fit(space.features(settings), values - self.smooth(settings))

    def _smoothed(self, settings: np.ndarray, values: np.ndarray) -> tuple[float, list[np.ndarray]]:
        """The mean over the space; a curve for each field and a surface for each pair, over their levels.

        How strong the smoothing is says the error of leaving one setting out; the size of each part is in the next
        round what it explained in this one. The mean over the settings is not that over the space, so it is a part
        too, as large as all others together.
        """
        kernels = self.space.kernels(settings)
        sizes = np.ones(len(kernels))
        for turn in range(ROUNDS):
            roots, basis = np.linalg.eigh(np.tensordot(sizes, kernels, 1) + len(sizes))
            roots = np.maximum(roots, 0.0)
            along, squares = basis.T @ values, basis**2
            strengths = STRENGTHS * max(roots.mean(), 1e-12)
            kept = strengths[:, None] / (roots + strengths[:, None])
            errors = ((kept * along) @ basis.T / np.maximum(kept @ squares.T, 1e-9)) ** 2
            best = strengths[errors.mean(axis=1).argmin()]
            alpha = basis @ (along / (roots + best))
            if turn < ROUNDS - 1:
                explained = ((kernels @ alpha) * sizes[:, None]).var(axis=1) + 1e-5 * values.var() + 1e-300
                sizes = explained * len(sizes) / explained.sum()
        curves = [one[:, at] for one, at in zip(self.space.covariances, settings.T, strict=True)]
        surfaces = [(curves[i] * alpha) @ curves[j].T for i, j in self.space.pairs]
        parts = [*(one @ alpha for one in curves), *surfaces]
        return len(sizes) * float(alpha.sum()), [size * part for size, part in zip(sizes, parts, strict=True)]

    def smooth(self, settings: np.ndarray) -> np.ndarray:
        """The smooth part at settings."""
        places, fields = settings.T, len(self.space.levels)
        found = sum(part[at] for part, at in zip(self.parts[:fields], places, strict=True))
        surfaces = zip(self.parts[fields:], self.space.pairs, strict=True)
        return self.mean + found + sum(part[places[i], places[j]] for part, (i, j) in surfaces)

    def drawn(self, settings: np.ndarray, rng: np.random.Generator) -> tuple[int, np.ndarray]:
        """The smooth part with one of the trees at settings, and which tree it was."""
        if self.forest is None:
            return 0, self.smooth(settings)
        at = int(rng.integers(len(self.forest.estimators_)))
        tree = self.forest.estimators_[at].predict(self.space.features(settings))
        return at, self.smooth(settings) + self.weight * tree

    def shares(self) -> np.ndarray:
        """The shares of fields and pairs (columns), of the smooth part with each of the trees (rows)."""
        parts = [part[None] for part in self.parts]
        beyond = np.zeros(1)
        if self.forest is not None:
            variances, effects = _effects(self.space, self.forest)
            beyond = self.weight**2 * (variances - sum(_variance(one) for one in effects))
            parts = [part + self.weight * one for part, one in zip(parts, effects, strict=True)]
        own = np.array([_variance(part) for part in parts]).T
        whole = own.sum(axis=1) + np.maximum(beyond, 0.0)
        return own / np.maximum(whole, 1e-300)[:, None]


def _variance(effects: np.ndarray) -> np.ndarray:
    """Of each row, whose mean is 0."""
    return (effects.reshape(len(effects), -1) ** 2).mean(axis=1)


def _effects(space: _Space, forest) -> tuple[np.ndarray, list[np.ndarray]]:
    """The variance of each tree over the whole space, and its effects: of fields by level, of pairs by both levels.

    A leaf is a box of levels. The mean over all other fields at a level is the sum over the leaves that have this
    level: each value times the share of the box in the space of the other fields.
    """
    inside, values, tree = _leaves(space, forest)
    boxes = [inside[:, one].astype(float) for one in space.slices]
    sides = np.array([box.mean(axis=1) for box in boxes])
    volume = sides.prod(axis=0)
    values = values - np.bincount(tree, values * volume)[tree]
    ends = np.searchsorted(tree, np.arange(tree[-1] + 2))
    trees = [slice(*end) for end in pairwise(ends)]
    single = [
        np.add.reduceat(box * (values * volume / side)[:, None], ends[:-1])
        for box, side in zip(boxes, sides, strict=True)
    ]
    double = []
    for i, j in space.pairs:
        weighted = boxes[i] * (values * volume / (sides[i] * sides[j]))[:, None]
        both = np.array([weighted[one].T @ boxes[j][one] for one in trees])
        double.append(both - single[i][:, :, None] - single[j][:, None, :])
    return np.bincount(tree, values**2 * volume), [*single, *double]


def _leaves(space: _Space, forest) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each leaf of all trees: which levels it has, its value, and the number of its tree."""
    trees = [one.tree_ for one in forest.estimators_]
    begins = np.cumsum([0, *(one.node_count for one in trees)])
    left, right = (
        np.concatenate([np.where(side >= 0, side + begin, -1) for side, begin in zip(sides, begins, strict=False)])
        for sides in ([one.children_left for one in trees], [one.children_right for one in trees])
    )
    feature = np.concatenate([one.feature for one in trees])
    threshold = np.concatenate([one.threshold for one in trees])
    inside = np.ones((begins[-1], space.codes.shape[1]), bool)
    at = begins[:-1]
    while len(at := at[left[at] >= 0]):
        # Levels of other fields have no code: no comparison with it holds, and both sides keep them.
        codes, bound = space.codes[feature[at]], threshold[at][:, None]
        inside[left[at]] = inside[at] & ~(codes > bound)
        inside[right[at]] = inside[at] & ~(codes <= bound)
        at = np.concatenate([left[at], right[at]])
    ends = np.flatnonzero(left < 0)
    values = np.concatenate([one.value[:, 0, 0] for one in trees])[ends]
    return inside[ends], values, np.searchsorted(begins, ends, side="right") - 1
