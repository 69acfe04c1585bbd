"""From the values of runs to what a table says of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from schedlab import stats
from schedlab.results.series import Series
from schedlab.units import readable_unit


def summed_up(values: list[float]) -> dict[str, Any]:
    """Mean and 95 % interval; None where there is none."""
    if not values:
        return {"n": 0, "mean": None, "low": None, "high": None}
    mean, low, high, n = stats.mean_interval(values)
    known = n > 1
    return {"n": n, "mean": mean, "low": low if known else None, "high": high if known else None}


class Means(Mapping[tuple[str, str], dict[str, Any]]):
    """The rows of a summary by scenario and metric, each made when it is asked for: of many cells a table shows few."""

    def __init__(self, cells: Sequence[dict], metrics: Sequence[str], found: Series, repeats: Callable[[str], int]):
        """Take the cells of a manifest, and what was found of these metrics; `repeats` gives the runs of a scenario."""
        self._metrics, self._found, self._repeats = metrics, found, repeats
        self._cells = {cell["scenario"]: cell for cell in cells}
        self._made: dict[tuple[str, str], dict[str, Any]] = {}

    def __getitem__(self, key: tuple[str, str]) -> dict[str, Any]:
        """A row: factors, scenario, metric, unit, `of` (the runs of the cell), then what `summed_up` gives."""
        if key not in self._made:
            (scenario, metric), one = key, self._found[key]
            row = {**self._cells[scenario]["factors"], "scenario": scenario, "metric": metric, "unit": one.unit}
            row["of"] = self._repeats(scenario)
            self._made[key] = row | summed_up([value for value in one.values if value is not None])
        return self._made[key]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """The keys, cell by cell."""
        keys = ((scenario, metric) for scenario in self._cells for metric in self._metrics)
        return (key for key in keys if key in self._found)

    def __len__(self) -> int:
        """How many rows there are."""
        return sum(1 for _ in self)

    def unit(self, metrics: Sequence[str]) -> str:
        """The unit of the values of these metrics; "1" if there are none."""
        return next(filter(None, map(self._found.unit_of, metrics)), "1")

    def readable_unit(self, metrics: Sequence[str]) -> str:
        """The unit in which a column of these means is read most easily."""
        return readable_unit(self.unit(metrics), max(map(self._largest, metrics), default=0.0))

    def _largest(self, metric: str) -> float:
        """The largest of a metric's means without their signs."""
        if self._found.is_of_single_runs(metric):
            # Of one run the mean is known without a row.
            return self._found.largest(metric) or 0.0
        keys = ((scenario, metric) for scenario in self._cells)
        means = (self[key]["mean"] for key in keys if key in self._found)
        return max((abs(mean) for mean in means if mean is not None), default=0.0)
