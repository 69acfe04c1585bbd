"""Values of runs by scenario and metric, kept as columns of numbers.

An object for each would take most of the memory of a large sweep.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import nan

#: The values of a metric in the runs of a scenario, as the engine reads them: scenario, metric, unit, seeds, values.
Read = tuple[str, str, str | None, list[int], list[float | None]]


@dataclass
class Values:
    """The values of one metric in the runs of one scenario: a seed and a value for each, None where it has none."""

    unit: str | None
    seeds: list[int]
    values: list[float | None]


class Series(Mapping[tuple[str, str], Values]):
    """Values by scenario and metric, each made when it is asked for; scenarios in the order in which they were read."""

    def __init__(self):
        """Make one that has nothing."""
        self._scenarios: dict[str, int] = {}
        self._columns: dict[str, _Column] = {}

    def add(self, read: Iterable[Read]) -> None:
        """Add what was read of one more file."""
        for scenario, metric, unit, seeds, values in read:
            column = self._columns.get(metric)
            if column is None:
                column = self._columns[metric] = _Column(unit)
            column.add(self._scenarios.setdefault(scenario, len(self._scenarios)), seeds, values)

    def unit_of(self, metric: str) -> str | None:
        """The unit of a metric; None of one that no run has."""
        column = self._columns.get(metric)
        return None if column is None else column.unit

    def column(self, metric: str) -> tuple[list[float | None], int]:
        """The values of a metric in all runs, and how many scenarios these are of."""
        column = self._columns.get(metric)
        return ([], 0) if column is None else column.all_values()

    def __getitem__(self, key: tuple[str, str]) -> Values:
        """The values of a metric in the runs of a scenario."""
        scenario, metric = key
        column, place = self._columns.get(metric), self._scenarios.get(scenario, -1)
        if column is None or not column.has(place):
            raise KeyError(key)
        return Values(column.unit, column.seeds_at(place), column.values_at(place))

    def __contains__(self, key: object) -> bool:
        """Whether a scenario has runs with a metric."""
        scenario, metric = key
        column = self._columns.get(metric)
        return column is not None and column.has(self._scenarios.get(scenario, -1))

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """The keys, scenario by scenario."""
        return (
            (scenario, metric)
            for scenario, place in self._scenarios.items()
            for metric, column in self._columns.items()
            if column.has(place)
        )

    def __len__(self) -> int:
        """How many values of a scenario and metric there are."""
        return sum(column.has(place) for column in self._columns.values() for place in self._scenarios.values())


class _Column:
    """The runs that have a metric, those of a scenario one behind the other."""

    def __init__(self, unit: str | None):
        self.unit = unit
        self._seeds, self._values = array("Q"), array("d")
        #: Places of values that are none.
        self._absent: set[int] = set()
        #: Of each scenario, by its number, where its runs begin and end.
        self._begin, self._end = array("Q"), array("Q")

    def add(self, scenario: int, seeds: list[int], values: list[float | None]) -> None:
        lacking = scenario + 1 - len(self._end)
        if lacking > 0:
            self._begin.extend([0] * lacking)
            self._end.extend([0] * lacking)
        elif self.has(scenario) and self._end[scenario] != len(self._seeds):
            # It goes on in another file, and others came meanwhile: what was known of it is moved behind them.
            seeds, values = [*self.seeds_at(scenario), *seeds], [*self.values_at(scenario), *values]
            self._end[scenario] = 0
        end = len(self._seeds)
        if self._end[scenario] != end or not end:
            self._begin[scenario] = end
        self._end[scenario] = end + len(seeds)
        self._seeds.extend(seeds)
        if None in values:
            self._absent.update(end + place for place, value in enumerate(values) if value is None)
            values = [nan if value is None else value for value in values]
        self._values.extend(values)

    def has(self, scenario: int) -> bool:
        return 0 <= scenario < len(self._end) and self._end[scenario] > self._begin[scenario]

    def seeds_at(self, scenario: int) -> list[int]:
        return self._seeds[self._begin[scenario] : self._end[scenario]].tolist()

    def values_at(self, scenario: int) -> list[float | None]:
        begin, end = self._begin[scenario], self._end[scenario]
        values = self._values[begin:end].tolist()
        if self._absent:
            return [None if place in self._absent else value for place, value in enumerate(values, begin)]
        return values

    def all_values(self) -> tuple[list[float | None], int]:
        scenarios = [place for place in range(len(self._end)) if self.has(place)]
        if len(scenarios) == len(self._values) and not self._absent:
            return self._values.tolist(), len(scenarios)
        return [value for place in scenarios for value in self.values_at(place)], len(scenarios)
