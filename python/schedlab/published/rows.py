"""Published rows: what was printed, how far a prediction may be off, and the verdict."""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isclose
from typing import Any, Literal, NamedTuple

from schedlab.errors import UsageError
from schedlab.units import seconds


@dataclass(frozen=True)
class Tolerance:
    """How far a predicted value may be from the published one."""

    reason: str
    relative: float | None = None
    absolute: float | None = None
    #: What of it was set after the numbers had been seen; empty if nothing was.
    afterwards: str = ""

    def __post_init__(self) -> None:
        """Refuse a tolerance that is both relative and absolute, or neither."""
        if (self.relative is None) == (self.absolute is None):
            raise UsageError("a tolerance is either relative or absolute")

    def holds(self, predicted: float, published: float) -> bool:
        """Whether the two are near enough."""
        allowed = self.absolute if self.relative is None else self.relative * abs(published)
        return abs(predicted - published) <= allowed

    def __str__(self) -> str:
        """Spell the allowance."""
        return f"± {self.absolute:g}" if self.relative is None else f"± {100 * self.relative:g} %"


@dataclass(frozen=True)
class RowSpec:
    """A row to compute: one metric of one cell of an experiment, or what a rule makes of other rows."""

    id: str
    experiment: str
    cell: dict[str, str]
    metric: str
    unit: str
    tolerance: Tolerance
    published: float | None
    use: Literal["fit", "test", "none"]
    rule: str | None = None
    scale: float | None = None
    #: The end of the published range that begins with `published`; nothing where one value was printed.
    published_high: float | None = None

    def nearest_published(self, predicted: float) -> float:
        """The published value, or the value of the published range that is nearest to a predicted one."""
        high = self.published if self.published_high is None else self.published_high
        return min(max(predicted, self.published), high)


@dataclass(frozen=True)
class Row:
    """A computed row, in the spec's unit. `low` and `high` bound the mean over seeds at 95 %, or come from a rule."""

    spec: RowSpec
    predicted: float
    low: float
    high: float
    scenario: str
    seeds: int
    #: What of the rule that made it was set after the numbers had been seen.
    rule_afterwards: str = ""

    @property
    def afterwards(self) -> str:
        """What this row is judged by, as far as it was set after the numbers had been seen; empty if nothing was."""
        tolerance = "" if self.spec.published is None else self.spec.tolerance.afterwards
        return "; ".join(filter(None, [self.rule_afterwards, tolerance]))

    @property
    def error(self) -> float | None:
        """Predicted less published; of a range, less its nearest value."""
        return None if self.spec.published is None else self.predicted - self.spec.nearest_published(self.predicted)

    @property
    def verdict(self) -> Literal["fitted", "predicted", "missed", "not printed"]:
        """A row that the model was fitted to and misses all the same is a miss too."""
        if self.spec.published is None:
            return "not printed"
        if not self.spec.tolerance.holds(self.predicted, self.spec.nearest_published(self.predicted)):
            return "missed"
        return "fitted" if self.spec.use == "fit" else "predicted"


class Score(NamedTuple):
    """How many rows of a kind are within their tolerance."""

    predicted: int
    judged: int

    def __str__(self) -> str:
        """The two numbers."""
        return f"{self.predicted} of {self.judged}"


def total(scores: Iterable[Score]) -> Score:
    """The sums over several reports."""
    scores = list(scores)
    return Score(sum(score.predicted for score in scores), sum(score.judged for score in scores))


def expand(entry: Mapping, published: Mapping, tolerances: Mapping[str, Tolerance]) -> list[RowSpec]:
    """The rows that an entry of rows.toml describes."""
    each = entry.get("each", {})
    rows = []
    for values in itertools.product(*each.values()):
        row = _fill(entry, dict(zip(each, values, strict=True)))
        value, high, use = _find_published(published, row.get("published"))
        tolerance = tolerances[row["tolerance"]]
        rule = row.get("rule")
        cell, metric = ({}, "") if rule else (row["cell"], row["metric"])
        scale = float(row["scale"]) if "scale" in row else None
        rows.append(
            RowSpec(row["id"], row["experiment"], cell, metric, row["unit"], tolerance, value, use, rule, scale, high)
        )
    return rows


def _fill(value: Any, names: Mapping[str, str]) -> Any:
    """Replace every {name} in every text of a value."""
    if isinstance(value, str):
        return value.format(**names)
    if isinstance(value, dict):
        return {key: _fill(v, names) for key, v in value.items() if key != "each"}
    return value


def _find_published(published: Mapping, where: Mapping | None) -> tuple[float | None, float | None, str]:
    """The printed value, the end of a range, and the use: "fit", "test" (kept back) or "none" (not printed)."""
    if where is None:
        return None, None, "none"
    for entry in _at(published, where.get("table", "row")):
        value = _at(entry, where["value"])
        if value is not None and all(_same(entry.get(k), k, wanted) for k, wanted in where["match"].items()):
            high = float(entry[where["high"]]) if "high" in where else None
            return float(value), high, entry.get("use", "test")
    return None, None, "none"


def _at(tree: Any, path: str) -> Any:
    for name in path.split("."):
        tree = tree.get(name) if isinstance(tree, Mapping) else None
    return tree


def _same(printed: Any, key: str, wanted: Any) -> bool:
    if key.endswith("_s") and isinstance(wanted, str):
        return isinstance(printed, float) and isclose(printed, seconds(wanted) or 0.0)
    return printed is not None and str(printed) == str(wanted)
