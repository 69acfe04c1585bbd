"""How far each field may move: the levels that are acceptable for every counter at once, all other fields as chosen.

    line         the settings that differ from the chosen one in one field
    best         of a counter: the level of the line with the best mean
    limit        best + allowance
    allowance    within x %: x % of |best|; else what repeats cannot tell apart: for each level the half-width of the
                 95 % interval of its paired difference from the best, and 1 % of |best| where no chance is in the runs
    acceptable   its difference from the best is within the allowance; the conditions hold
    range        the levels around the chosen one that are acceptable for every counter
    cost         of a level: the largest of its regrets on the line

Where no level is acceptable for all counters, the level of the least cost is named, and the two counters whose
acceptable levels have none in common.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from schedlab import stats
from schedlab.tune.board import Board
from schedlab.tune.space import OUTSIDE, Dimension, Setting, Space, said

#: What counts as the same where nothing varies by chance.
WITHOUT_CHANCE = 0.01
#: Levels of a line that are measured first.
FIRST = 7


@dataclass(frozen=True)
class Curve:
    """A counter along a line: for each measured level the value of the best one and the difference from it, with the
    interval of the difference. Values are as measured (not signed).
    """

    counter: str
    unit: str
    means: list[float]
    lows: list[float]
    highs: list[float]
    #: The place in these lists of the best level, and the value that is still acceptable there.
    best: int
    limit: float
    acceptable: list[bool]
    #: By how much each level is worse than the best, as a share of it.
    regrets: list[float]


@dataclass(frozen=True)
class Range:
    """A field: its measured levels, a curve for each counter, and which levels all of them accept."""

    path: str
    levels: list[Any]
    positions: list[float] | None
    unit: str
    logarithmic: bool
    #: The place of the chosen level in these lists.
    chosen: int
    curves: list[Curve]
    #: Whether the conditions hold.
    allowed: list[bool]
    #: Levels of the field that were not measured lie between neighbours of this list.
    whole: bool

    @property
    def common(self) -> list[bool]:
        """The levels that every counter accepts."""
        return [fine and all(curve.acceptable[at] for curve in self.curves) for at, fine in enumerate(self.allowed)]

    @property
    def costs(self) -> list[float]:
        """The largest regret of each level."""
        return [max(curve.regrets[at] for curve in self.curves) for at in range(len(self.levels))]

    @property
    def ends(self) -> tuple[int, int] | None:
        """The first and the last of the acceptable levels around the chosen one, or around the cheapest that is
        acceptable; None if there is none. Of names the range is only what `common` says.
        """
        common = self.common
        if not any(common):
            return None
        costs = self.costs
        centre = (
            self.chosen
            if common[self.chosen]
            else min((at for at, fine in enumerate(common) if fine), key=lambda at: costs[at])
        )
        low = high = centre
        while low > 0 and common[low - 1]:
            low -= 1
        while high + 1 < len(common) and common[high + 1]:
            high += 1
        return low, high

    @property
    def least(self) -> int:
        """The level of the least cost among those that are allowed."""
        costs = self.costs
        able = [at for at, fine in enumerate(self.allowed) if fine] or list(range(len(costs)))
        return min(able, key=lambda at: costs[at])

    @property
    def conflicts(self) -> list[tuple[str, str]]:
        """Pairs of counters that accept no level in common."""
        return [
            (one.counter, other.counter)
            for one, other in combinations(self.curves, 2)
            if not any(a and b for a, b in zip(one.acceptable, other.acceptable, strict=True))
        ]

    @property
    def text(self) -> str:
        """The range in words."""
        ends = self.ends
        if ends is None:
            return "none"
        if self.positions is None:
            return " or ".join(said(level) for level, fine in zip(self.levels, self.common, strict=True) if fine)
        low, high = (said(self.levels[end]) for end in ends)
        return low if low == high else f"{low} to {high}"


def places(dimension: Dimension, chosen: int, known: Sequence[int]) -> list[int]:
    """The levels of a line that are measured first: all of few or of names, else some that are spread evenly."""
    count = len(dimension.levels)
    if not dimension.ordered or count <= FIRST + 2:
        first = range(count)
    else:
        first = [round(at * (count - 1) / (FIRST - 1)) for at in range(FIRST)]
    return sorted({*first, chosen, *known})


def refined(found: Range, dimension: Dimension, there: Sequence[int]) -> list[int]:
    """Levels halfway between neighbours of which one is acceptable and one is not."""
    if not dimension.ordered:
        return []
    common = found.common
    pairs = [
        (there[at], there[at + 1])
        for at in range(len(there) - 1)
        if common[at] != common[at + 1] and there[at + 1] - there[at] > 1 and there[at] != OUTSIDE
    ]
    return [(low + high) // 2 for low, high in pairs]


def line(setting: Setting, at: int, place: int) -> Setting:
    """The setting with another level of one field."""
    return (*setting[:at], place, *setting[at + 1 :])


def of_line(
    board: Board,
    space: Space,
    chosen: Setting,
    at: int,
    there: Sequence[int],
    within: float | None,
    units: Sequence[str],
) -> Range:
    """The range of a field by the measured levels of its line; `units` are those of the counters."""
    dimension = space.dimensions[at]
    there = [place for place in there if line(chosen, at, place) in board.measured]
    settings = [line(chosen, at, place) for place in there]
    curves = [_curve(board, settings, number, within, units[number]) for number in range(len(board.counters))]
    positions = None
    if dimension.positions is not None and OUTSIDE not in there:
        positions = [dimension.positions[place] for place in there]
    return Range(
        dimension.path,
        [dimension.level(place) for place in there],
        positions,
        dimension.unit,
        dimension.logarithmic,
        there.index(chosen[at]),
        curves,
        [not board.missed(one) for one in settings],
        len(there) >= len(dimension.levels),
    )


def _curve(board: Board, settings: Sequence[Setting], number: int, within: float | None, unit: str) -> Curve:
    values = [float(board.values(one)[number]) for one in settings]
    allowed = [at for at, one in enumerate(settings) if not board.missed(one)] or list(range(len(settings)))
    best = min(allowed, key=lambda at: values[at])
    size = abs(values[best])
    differences = [apart(board, one, settings[best])[number] for one in settings]
    rooms = [within * size if within is not None else _spread(one, WITHOUT_CHANCE * size) for one in differences]
    pairs = enumerate(zip(differences, rooms, strict=True))
    acceptable = [at == best or one.mean <= room for at, (one, room) in pairs]
    scale = float(board.scales(board.values(settings[best]))[number])
    typical = float(np.median([room for at, room in enumerate(rooms) if at != best] or [0.0]))
    # Of the best itself the interval is its own, of the others that of the difference.
    ends = [(values[best] + one.low, values[best] + one.high) for one in differences]
    own = stats.mean_interval(_there(board.signed(settings[best])[number]))
    ends[best] = (own.low, own.high)
    sign = board.counters[number].sign
    bounds = [sorted((sign * low, sign * high)) for low, high in ends]
    return Curve(
        board.counters[number].text,
        unit,
        [sign * (values[best] + one.mean) for one in differences],
        [low for low, _ in bounds],
        [high for _, high in bounds],
        best,
        sign * (values[best] + typical),
        acceptable,
        [max(0.0, one.mean / scale) for one in differences],
    )


def apart(board: Board, one: Setting, other: Setting) -> list[stats.Interval]:
    """The paired difference of two settings in each counter; less is better."""
    own, base = board.pair(one, other)
    return [stats.mean_interval(_there(row)) for row in own - base]


def _there(row: np.ndarray) -> list[float]:
    return [value for value in row.tolist() if not math.isnan(value)]


def _spread(apart: stats.Interval, floor: float) -> float:
    """The half-width of an interval, where there is one."""
    half = (apart.high - apart.low) / 2
    return half if apart.n > 1 and half > 0 else floor
