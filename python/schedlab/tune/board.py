"""What was measured of settings, and which of them are better.

counter          a metric of the goal under one load (a cell of the experiment's own sweep); less is better here, so
                 that the values of what is to be maximised have their signs changed
value            mean of the setting - slope x (mean of the present setting over the same repeats - its mean over all):
                 repeats of the same seed share some of their chance, so settings with few and many repeats compare
slope            of a counter: how far a setting follows the present one from repeat to repeat, 0 to 1; the regression
                 of all settings that have several repeats
regret           (value - best) / scale, of a counter; scale is |best|, or |present| where the best is 0
worst regret     the largest over the counters; with weights, their weighted mean
missed           by how much the conditions are missed, in the run that misses most; 0: the setting is allowed
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from schedlab.tune.space import Setting

#: The factor of loads that differ in several fields.
LOAD = "load"


@dataclass(frozen=True)
class Counter:
    """A metric of the goal under a load."""

    metric: str
    #: 1 if less is better, -1 if more is.
    sign: int
    #: The values of what is swept; empty if nothing is.
    load: Mapping[str, str] = field(default_factory=dict)
    #: What tables call the load; empty if there is only one.
    called: str = ""
    weight: float = 1.0

    @property
    def text(self) -> str:
        """What it is called."""
        return f"{self.metric} ({self.called})" if self.called else self.metric


def factors(loads: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """What tells loads apart in a table: the only field that is swept, else a number; nothing if there is only one."""
    if len(loads) < 2:
        return [{} for _ in loads]
    if len(loads[0]) == 1:
        return [dict(load) for load in loads]
    return [{LOAD: str(number)} for number in range(1, len(loads) + 1)]


def names(loads: Sequence[Mapping[str, str]]) -> list[str]:
    """What loads are called."""
    last = lambda path: path.rpartition(".")[2]  # noqa: E731
    said = [[f"{last(path)} {value}" for path, value in one.items()] for one in factors(loads)]
    return ["".join(parts) for parts in said]


@dataclass
class Measured:
    """The runs of a setting: a row of values for each counter, NaN where a run gave none; signs as measured."""

    values: np.ndarray
    #: By how much each run misses the conditions.
    missed: np.ndarray
    #: Whether its runs draw nothing, so that one stands for all seeds.
    alike: bool = False

    @property
    def repeats(self) -> int:
        """How many runs of each load there are."""
        return self.values.shape[1]


class Board:
    """All settings that were measured."""

    def __init__(self, counters: Sequence[Counter], present: Setting):
        """Begin with nothing."""
        self.counters = list(counters)
        self.present = present
        self.measured: dict[Setting, Measured] = {}
        #: Settings that cannot be: the experiment refuses them, or a run gave no value.
        self.refused: dict[Setting, str] = {}
        self._slopes: tuple[int, np.ndarray] | None = None
        self._signs = np.array([one.sign for one in counters], float)[:, None]
        self._weights = np.array([one.weight for one in counters])

    @property
    def weighted(self) -> bool:
        """Whether the goals were given weights."""
        return len(set(self._weights)) > 1

    def signed(self, setting: Setting) -> np.ndarray:
        """The values of each counter in each run, less being better."""
        return self._signs * self.measured[setting].values

    def values(self, setting: Setting) -> np.ndarray:
        """The value of each counter; less is better."""
        own, base = self.signed(setting), self.signed(self.present)
        if own.shape[1] < base.shape[1] and not self.measured[setting].alike and not self.measured[self.present].alike:
            return _mean(own) - self.slopes() * (_mean(base[:, : own.shape[1]]) - _mean(base))
        return _mean(own)

    def slopes(self) -> np.ndarray:
        """How far settings follow the present one from repeat to repeat, by counter; 1 where that is not known."""
        state = sum(one.repeats for one in self.measured.values())
        if self._slopes is None or self._slopes[0] != state:
            self._slopes = state, self._regressed()
        return self._slopes[1]

    def _regressed(self) -> np.ndarray:
        base = self.signed(self.present)
        both, alone = np.zeros(len(self.counters)), np.zeros(len(self.counters))
        for one, measured in self.measured.items():
            if one != self.present and not measured.alike and 1 < measured.repeats <= base.shape[1]:
                own, other = self.signed(one), base[:, : measured.repeats]
                there = ~np.isnan(own) & ~np.isnan(other)
                own, other = (_centred(values, there) for values in (own, other))
                both += (own * other).sum(axis=1)
                alone += (other * other).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(alone > 0, np.clip(both / alone, 0.0, 1.0), 1.0)

    def pair(self, one: Setting, other: Setting) -> tuple[np.ndarray, np.ndarray]:
        """The values of two settings in the repeats that both have; the only run of one that draws nothing is all of
        them.
        """
        rows = [self.signed(setting) for setting in (one, other)]
        alike = [self.measured[setting].alike for setting in (one, other)]
        count = min([row.shape[1] for row, same in zip(rows, alike, strict=True) if not same] or [1])
        return tuple(
            np.repeat(row[:, :1], count, axis=1) if same else row[:, :count]
            for row, same in zip(rows, alike, strict=True)
        )

    def scales(self, values: np.ndarray) -> np.ndarray:
        """What a regret is a share of: each value without its sign, that of the present setting where it is 0."""
        scale = np.where(values == 0, np.abs(self.values(self.present)), np.abs(values))
        return np.where(scale == 0, 1.0, scale)

    def missed(self, setting: Setting) -> float:
        """By how much the setting misses the conditions."""
        return float(self.measured[setting].missed.max(initial=0.0))

    def allowed(self) -> list[Setting]:
        """The settings that meet all conditions."""
        return [one for one in self.measured if not self.missed(one)]

    def regrets(self, settings: Sequence[Setting]) -> np.ndarray:
        """The regret of each of these settings (rows) in each counter (columns); the best are those of all allowed."""
        among = self.allowed() or list(self.measured)
        best = np.nanmin([self.values(one) for one in among], axis=0)
        values = np.array([self.values(one) for one in settings]).reshape(len(settings), len(self.counters))
        return (values - best) / self.scales(best)

    def worst(self, regrets: np.ndarray) -> np.ndarray:
        """The worst regret of each row; with weights, the weighted mean."""
        if self.weighted:
            return regrets @ self._weights / self._weights.sum()
        return regrets.max(axis=1, initial=-math.inf)

    def worst_of(self, setting: Setting) -> float:
        """The worst regret of one setting."""
        return float(self.worst(self.regrets([setting]))[0])

    def order(self, settings: Sequence[Setting]) -> list[Setting]:
        """The best first: allowed ones by front (those that none dominates, then the next) and worst regret; the others
        by how little they miss.
        """
        if not settings:
            return []
        regrets = self.regrets(settings)
        worst, layer = self.worst(regrets), layers(regrets)
        key = {one: (self.missed(one), layer[at], worst[at]) for at, one in enumerate(settings)}
        return sorted(settings, key=lambda one: (*key[one], one))


def dominated(values: np.ndarray) -> np.ndarray:
    """Which rows another row dominates: it is no worse in any column and better in one."""
    no_worse = (values[:, None, :] <= values[None, :, :]).all(axis=2)
    better = (values[:, None, :] < values[None, :, :]).any(axis=2)
    return (no_worse & better).any(axis=0)


def layers(values: np.ndarray) -> np.ndarray:
    """The number of the front that each row is on: 0 if none dominates it, 1 if only those of front 0 do, and so on."""
    found, left, number = np.zeros(len(values), int), np.arange(len(values)), 0
    while len(left):
        behind = dominated(values[left])
        found[left[~behind]] = number
        left, number = left[behind], number + 1
    return found


def _centred(values: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Each row less its mean over those that are there; 0 elsewhere."""
    known = np.where(there, values, 0.0)
    means = known.sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    return np.where(there, known - means[:, None], 0.0)


def _mean(values: np.ndarray) -> np.ndarray:
    """The mean of each row without NaN; infinite, so the worst, where a row has nothing else."""
    there = ~np.isnan(values)
    counts = there.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(counts > 0, np.where(there, values, 0.0).sum(axis=1) / counts, math.inf)
