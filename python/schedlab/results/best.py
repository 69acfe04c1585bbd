"""Which cell is best in each metric, by how much, which others are acceptable, and whether that is shown.

    group        cells of the same work: a sweep of settings and of loads has a group for each load
    best         of a metric in a group: the cell with the best mean over the repeats that all cells have; cells with
                 fewer than half as many as others are not considered, as those that a search gave up
    gain         the best cell compared with the base of its group, as `compared` compares all cells with it
    acceptable   cells that are not shown to be worse than the best one, or are shown to be worse by less than `within`;
                 of which there are repeats enough to show that
    range        the acceptable levels around the best cell's, all other settings as there

A best cell is chosen by the same runs by which it is judged. The verdict on its gain holds all the same, since all
cells are judged together. So do the acceptable cells: they miss the truly best one where it is shown to be worse than
another, which is a false `real` of that family (in at most 2 % of 400 drawn experiments each of 5 to 30 cells with 5 to
20 repeats, normal and lognormal). The size of the gain is flattered where many cells are about equal.
"""

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Any

from schedlab.pictures import heat
from schedlab.results import compared
from schedlab.results.better import better
from schedlab.results.compared import WORK, Both
from schedlab.results.series import Series, Values
from schedlab.results.summary import Means
from schedlab.results.tables import level_name, short_names
from schedlab.stats.comparison import CERTAIN, LOWER, REAL, TOO_FEW, Question

#: The place of a run, as a factor.
ON = "on"
#: How requests come from outside, as a part of a path.
ARRIVALS = "arrivals"
#: A cell of a manifest.
Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Group:
    """Cells of the same work, in the order of the manifest, and the one that they are compared with."""

    base: Entry
    cells: Sequence[Entry]


@dataclass(frozen=True)
class Best:
    """The best cell of a group in one metric."""

    metric: str
    #: `lower` or `higher`.
    better: str
    group: Group
    cell: Entry
    #: The row of its means.
    entry: Mapping[str, Any]
    #: It compared with the group's base, as `compared.rows` says; None where that is the same cell or cannot be told.
    gain: Mapping[str, Any] | None
    #: The acceptable cells, itself among them; None where repeats cannot tell.
    acceptable: list[Entry] | None


def groups(cells: Sequence[Entry]) -> list[Group]:
    """Cells that do the same work in the same place, each group with its first cell as the base.

    Where nothing but the work is swept, that is what is compared, but for the place and the arrivals of requests; where
    nothing but these, all cells are one group.
    """
    factors = _changing(cells)
    given = [name for name in factors if name == ON or name.partition(".")[0] in WORK]
    if len(given) == len(factors):
        given = [name for name in factors if name == ON or ARRIVALS in name.split(".")]
    if len(given) == len(factors):
        given = []
    found: dict[tuple[str, ...], list[Entry]] = {}
    for cell in cells:
        found.setdefault(tuple(cell["factors"][name] for name in given), []).append(cell)
    return [Group(own[0], own) for own in found.values()]


def groups_of(pairs: Sequence[tuple[Entry, Entry]]) -> list[Group]:
    """The groups of cells that are compared with the same base."""
    found: dict[str, list[Entry]] = {}
    bases = {base["scenario"]: base for _, base in pairs}
    for cell, base in pairs:
        found.setdefault(base["scenario"], [base]).append(cell)
    return [Group(bases[scenario], own) for scenario, own in found.items()]


def _changing(cells: Sequence[Entry]) -> list[str]:
    """The factors that are not the same in all cells."""
    first = cells[0]["factors"]
    return [name for name in first if any(cell["factors"][name] != first[name] for cell in cells)]


@dataclass(frozen=True)
class Judged:
    """What is known of the cells of a result: see the head of this file."""

    groups: list[Group]
    #: The metrics of which it is known which way is better, and the others.
    metrics: list[str]
    undirected: list[str]
    #: Every cell compared with its base, in all of these metrics.
    differences: list[dict[str, Any]]
    bests: list[Best]
    question: Question
    means: Means
    #: Whether there are runs enough to compare at all.
    comparable: bool
    #: In how many cells the end of a run cut off values of a metric.
    cut: Mapping[str, int] = field(default_factory=dict)
    #: How many runs are void, without numbers, or disturbed, with numbers that others slowed down.
    marred: Mapping[str, int] = field(default_factory=dict)
    #: What has to hold in every run, in words, and the scenarios in which it does; None where nothing has to.
    kept: tuple[str, Collection[str]] | None = None

    @cached_property
    def settings(self) -> list[str]:
        """The factors in which the cells of a group differ."""
        return list(dict.fromkeys(name for group in self.groups for name in _changing(group.cells)))

    @cached_property
    def given(self) -> list[str]:
        """The factors in which the groups differ."""
        bases = [group.base for group in self.groups]
        return [name for name in _changing(bases) if name not in self.settings]

    @cached_property
    def base(self) -> str:
        """What the cells are compared with, in words."""
        names = {self.named(group.base) for group in self.groups}
        return names.pop() if len(names) == 1 else "the first of each load"

    @property
    def marks(self) -> dict[tuple[str, str], str]:
        """What a picture marks, by scenario and metric. Where every cell is acceptable, none is marked so."""
        found = {}
        for best in self.bests:
            accepted = best.acceptable or []
            if 1 < len(accepted) < len(best.group.cells):
                found |= {(cell["scenario"], best.metric): heat.ACCEPTABLE for cell in accepted}
            found[best.cell["scenario"], best.metric] = heat.BEST
        return found

    def named(self, cell: Entry, factors: Sequence[str] | None = None) -> str:
        """A cell by its settings, or by other factors."""
        factors = self.settings if factors is None else factors
        shown = zip(short_names(factors), factors, strict=True)
        return ", ".join(f"{name}={level_name(cell['factors'][factor])}" for name, factor in shown) or "the cell"

    def range(self, best: Best, factor: str) -> tuple[list[Entry], list[bool]] | None:
        """The cells that differ from the best one in this numeric factor only, in order, and which are in its range."""
        from schedlab.pictures import axes

        if best.acceptable is None:
            return None
        others = [name for name in self.settings if name != factor]
        line = [c for c in best.group.cells if all(c["factors"][n] == best.cell["factors"][n] for n in others)]
        levels = axes.levels([cell["factors"][factor] for cell in line])
        if len(line) < 2 or any(level.value is None for level in levels):
            return None
        ordered = [line[at] for at in sorted(range(len(line)), key=lambda at: levels[at].value)]
        fine = {cell["scenario"] for cell in best.acceptable}
        at = next(place for place, cell in enumerate(ordered) if cell is best.cell)
        low = high = at
        while low > 0 and ordered[low - 1]["scenario"] in fine:
            low -= 1
        while high + 1 < len(ordered) and ordered[high + 1]["scenario"] in fine:
            high += 1
        return ordered, [low <= place <= high for place in range(len(ordered))]


def judged(
    cells: Sequence[Entry],
    own: list[Group],
    metrics: Sequence[str],
    values: Series,
    means: Means,
    alike: Mapping[str, int],
    repeats: int,
    question: Question,
    goal: Mapping[str, Sequence[str]],
    cut: Mapping[str, int],
    marred: Mapping[str, int],
    kept: tuple[str, Collection[str]] | None = None,
) -> Judged:
    """Judge the cells of a result in these metrics."""
    directed = [name for name in metrics if better(name, goal)]
    undirected = [name for name in metrics if name not in directed]

    def both(cell: Entry, base: Entry) -> Both:
        return Both(cell, base, values, values, (cell["scenario"] in alike, base["scenario"] in alike))

    def pairs(base: Callable[[Group], Entry]) -> Iterator[Both]:
        return (both(cell, base(group)) for group in own for cell in group.cells if cell is not base(group))

    comparable = repeats > 1 or all(cell["scenario"] in alike for cell in cells)
    differences = compared.rows(list(pairs(lambda group: group.base)), metrics, question, goal) if comparable else []
    best = {
        (at, name): found
        for at, group in enumerate(own)
        for name in directed
        if len(group.cells) > 1
        and (found := _best(_allowed(group, kept), name, values, alike, better(name, goal) == LOWER))
    }
    against = [
        (both(cell, found), [name]) for (at, name), found in best.items() for cell in own[at].cells if cell is not found
    ]
    worse = compared.rows_of(against, question, goal) if comparable else []
    gains = {(row["scenario"], row["metric"]): row for row in differences}
    behind = {(row["scenario"], row["baseline"], row["metric"]): row for row in worse}
    bests = [
        Best(
            name,
            better(name, goal),
            own[at],
            found,
            means[found["scenario"], name],
            gains.get((found["scenario"], name)),
            _acceptable(own[at], _allowed(own[at], kept), found, name, behind) if comparable else None,
        )
        for (at, name), found in best.items()
    ]
    return Judged(own, directed, undirected, differences, bests, question, means, comparable, cut, marred, kept)


def _allowed(group: Group, kept: tuple[str, Collection[str]] | None) -> Sequence[Entry]:
    """The cells of which one may be best: those in which the conditions hold, or all where they hold in none."""
    return [cell for cell in group.cells if kept is None or cell["scenario"] in kept[1]] or group.cells


def _best(cells: Sequence[Entry], metric: str, values: Series, alike: Container[str], lower: bool) -> Entry | None:
    """The cell with the best mean over the repeats that all have, the first of equal ones; None if none has a value.

    Scenarios in `alike` are the same under every seed.
    """
    found = {cell["scenario"]: _by_seed(values.get((cell["scenario"], metric))) for cell in cells}
    drawn = [scenario for scenario in found if scenario not in alike]
    most = max((len(found[scenario]) for scenario in drawn), default=0)
    fair = [cell for cell in cells if (own := found[cell["scenario"]]) and _is_enough(cell, own, most, alike)]
    shared = [found[cell["scenario"]].keys() for cell in fair if cell["scenario"] not in alike]
    seeds = set.intersection(*map(set, shared)) if shared else set()

    def mean(cell: Entry) -> float:
        own = found[cell["scenario"]]
        kept = [value for seed, value in own.items() if seed in seeds] if cell["scenario"] not in alike else []
        return fmean(kept or own.values())

    return (min if lower else max)(fair, key=mean) if fair else None


def _is_enough(cell: Entry, own: Mapping[int, float], most: int, alike: Container[str]) -> bool:
    return cell["scenario"] in alike or 2 * len(own) >= most


def _by_seed(found: Values | None) -> dict[int, float]:
    """The values that there are, by seed."""
    if found is None:
        return {}
    return {seed: value for seed, value in zip(found.seeds, found.values, strict=True) if value is not None}


def _acceptable(
    group: Group,
    allowed: Sequence[Entry],
    best: Entry,
    metric: str,
    behind: Mapping[tuple[str, str, str], Mapping[str, Any]],
) -> list[Entry] | None:
    """The cells that are not shown to be worse than the best; None if repeats can tell of no cell."""
    rows = {
        cell["scenario"]: behind.get((cell["scenario"], best["scenario"], metric))
        for cell in group.cells
        if cell is not best
    }
    known = [row for row in rows.values() if row and (row["verdict"] != TOO_FEW or row["test"] == CERTAIN)]
    if not known:
        return None
    return [cell for cell in allowed if cell is best or _is_acceptable(rows[cell["scenario"]])]


def _is_acceptable(row: Mapping[str, Any] | None) -> bool:
    """A cell without a value, or with too few, is not acceptable."""
    if row is None or not row["n"] or (row["verdict"] == TOO_FEW and row["test"] != CERTAIN):
        return False
    return row["verdict"] != REAL or row["bounded"] is not None
