"""Values of runs by scenario and metric, which the engine keeps as columns of numbers.

One is taken out when it is asked for: an object for each would take most of the time and memory of a large sweep.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from schedlab import _core


@dataclass
class Values:
    """The values of one metric in the runs of one scenario: a seed and a value for each, None where it has none."""

    unit: str | None
    seeds: list[int]
    values: list[float | None]


class Series(Mapping[tuple[str, str], Values]):
    """Values by scenario and metric, each made when it is asked for; scenarios in the order in which they were read."""

    def __init__(self, columns: _core.Columns):
        """Take what the engine has read."""
        self._columns = columns

    def unit_of(self, metric: str) -> str | None:
        """The unit of a metric; None of one that no run has."""
        return self._columns.unit(metric)

    def largest(self, metric: str) -> float | None:
        """The largest of a metric's values without their signs, in all runs; None if there is no value."""
        return self._columns.largest(metric)

    def is_of_single_runs(self, metric: str) -> bool:
        """Whether no scenario has several runs with a metric: each value is the mean of its cell."""
        return self._columns.is_of_single_runs(metric)

    def __getitem__(self, key: tuple[str, str]) -> Values:
        """The values of a metric in the runs of a scenario."""
        found = self._columns.get(*key)
        if found is None:
            raise KeyError(key)
        return Values(*found)

    def __contains__(self, key: object) -> bool:
        """Whether a scenario has runs with a metric."""
        return self._columns.has(*key)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """The keys, scenario by scenario."""
        return iter(self._columns.keys())

    def __len__(self) -> int:
        """How many values of a scenario and metric there are."""
        return len(self._columns.keys())
