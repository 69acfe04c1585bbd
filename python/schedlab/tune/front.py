"""The front: settings that no other dominates, how sure that is, and its knee.

front            no other setting is as good in every counter and better in one
membership       the share of bootstrap samples of the repeats in which a setting is on the front; the same repeats are
                 drawn for all settings, since they share their chance
by luck          it is on the front by the means, in fewer than SURE of the samples; or it has too few repeats to know
knee             the setting of the front whose worst regret is least
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from schedlab import stats
from schedlab.tune.board import Board, dominated, layers
from schedlab.tune.space import Setting

SAMPLES = 1000
#: A setting that is on the front in fewer of the samples may be there by chance.
SURE = 0.8
#: Fewer repeats say nothing of their spread.
FEWEST = 3
#: Settings behind this number of fronts are hardly ever on the first one in a sample.
NEAR = 3


@dataclass(frozen=True)
class Member:
    """A setting of the front. `intervals` and `regrets` are by counter; the means of the intervals are its values, with
    the signs as measured.
    """

    setting: Setting
    intervals: list[stats.Interval]
    regrets: list[float]
    worst: float
    #: None where there are too few repeats to say.
    membership: float | None
    repeats: int

    @property
    def lucky(self) -> bool:
        """Whether it may be on the front by chance."""
        return self.membership is None or self.membership < SURE


def members(board: Board) -> list[Setting]:
    """The settings of the front, the knee first, then by worst regret. Of those with the same runs one is there."""
    allowed = board.allowed()
    if not allowed:
        return []
    values = np.array([board.values(one) for one in allowed])
    there = _different(board, [one for one, behind in zip(allowed, dominated(values), strict=True) if not behind])
    worst = dict(zip(there, board.worst(board.regrets(there)).tolist(), strict=True))
    return sorted(there, key=lambda one: (worst[one], one))


def front(board: Board, seed: int = 0) -> list[Member]:
    """The members in the same order, and how sure each is."""
    there = members(board)
    share = _membership(board, seed) if there else {}
    return [member(board, one, share[one]) for one in there]


def known(board: Board, setting: Setting) -> bool:
    """Whether a setting has repeats enough to say how sure its values are."""
    measured = board.measured[setting]
    return measured.alike or repeats(board, setting) >= FEWEST


def repeats(board: Board, setting: Setting) -> int:
    """The runs in which every counter has a value."""
    return int((~np.isnan(board.measured[setting].values)).all(axis=0).sum())


def member(board: Board, setting: Setting, share: float | None) -> Member:
    """A setting as a row of a front; `share` is that of the samples in which it is on the front."""
    return all_of(board, [setting], {setting: share})[0]


def all_of(board: Board, settings: Sequence[Setting], shares: Mapping[Setting, float | None]) -> list[Member]:
    """Settings as rows; `shares` has those of the samples in which they are on the front."""
    regrets = board.regrets(settings)
    return [
        Member(
            one,
            _intervals(board, one),
            own.tolist(),
            float(worst),
            shares.get(one) if known(board, one) else None,
            repeats(board, one),
        )
        for one, own, worst in zip(settings, regrets, board.worst(regrets), strict=True)
    ]


def _different(board: Board, settings: Sequence[Setting]) -> list[Setting]:
    """One of those with the same values in every run: the one that changes least, and has the most runs."""
    changes = lambda one: sum(place != now for place, now in zip(one, board.present, strict=True))  # noqa: E731
    found: list[Setting] = []
    for one in sorted(settings, key=lambda one: (-board.measured[one].repeats, changes(one), one)):
        values = board.measured[one].values
        for other in found:
            count = min(values.shape[1], board.measured[other].repeats)
            if np.array_equal(values[:, :count], board.measured[other].values[:, :count], equal_nan=True):
                break
        else:
            found.append(one)
    return found


def _intervals(board: Board, setting: Setting) -> list[stats.Interval]:
    """The values of a setting with the intervals of its own repeats around them."""
    signs = [one.sign for one in board.counters]
    found = []
    for sign, value, row in zip(signs, board.values(setting).tolist(), board.measured[setting].values, strict=True):
        own = _interval(row)
        shift = sign * value - own.mean
        found.append(stats.Interval(own.mean + shift, own.low + shift, own.high + shift, own.n))
    return found


def _interval(row: np.ndarray) -> stats.Interval:
    return stats.mean_interval([value for value in row.tolist() if value == value])


def _membership(board: Board, seed: int) -> dict[Setting, float]:
    """The share of bootstrap samples in which each setting is on the front; only those near it can be."""
    allowed = board.allowed()
    near = layers(np.array([board.values(one) for one in allowed])) < NEAR
    settings = [one for one, fine in zip(allowed, near, strict=True) if fine]
    rng = np.random.default_rng(seed)
    most = max(board.measured[one].repeats for one in settings)
    samples = SAMPLES if most > 1 else 1
    drawn = rng.integers(most, size=(samples, most))
    means = np.empty((samples, len(settings), len(board.counters)))
    base, slopes = board.signed(board.present), board.slopes()[:, None]
    for at, one in enumerate(settings):
        own, count = board.signed(one), board.measured[one].repeats
        if board.measured[one].alike or samples == 1:
            means[:, at] = board.values(one)
            continue
        # Of fewer repeats what they do not share with the present setting is drawn, and of that one all repeats.
        part = drawn % count
        if count < base.shape[1]:
            rest = _means(base[:, drawn % base.shape[1]])
            means[:, at] = (_means((own - slopes * base[:, :count])[:, part]) + slopes * rest).T
        else:
            means[:, at] = _means(own[:, part]).T
    on = np.array([~dominated(sample) for sample in means])
    return dict(zip(settings, on.mean(axis=0).tolist(), strict=True))


def _means(values: np.ndarray) -> np.ndarray:
    """Means over the last axis without NaN; a sample without any value is the worst."""
    there = ~np.isnan(values)
    counts = there.sum(axis=-1)
    sums = np.where(there, values, 0.0).sum(axis=-1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.inf)


def separable(board: Board, one: Setting, other: Setting) -> bool | None:
    """Whether repeats tell two settings apart in any counter; None if there are too few."""
    own, base = board.pair(one, other)
    if own.shape[1] < 2:
        return None
    bounds = [_interval(row) for row in own - base]
    return any(bound.low > 0 or bound.high < 0 for bound in bounds)
