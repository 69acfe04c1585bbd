"""What has to hold in every run, as the `keep` of a file's `[goal]` says; the engine reads it."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schedlab import _core
from schedlab.results.series import Series

#: How a value may lie to its bound, and by how much it misses it.
MISSED = {
    "<=": lambda value, bound: value - bound,
    "<": lambda value, bound: value - bound if value != bound else math.ulp(bound),
    ">=": lambda value, bound: bound - value,
    ">": lambda value, bound: bound - value if value != bound else math.ulp(bound),
    "=": lambda value, bound: abs(value - bound),
}


@dataclass(frozen=True)
class Condition:
    """What has to hold in every run: a metric, how it lies to a bound, and the bound in the metric's unit."""

    metric: str
    relation: str
    bound: float
    #: As the file has it.
    text: str

    def missed(self, value: float) -> float:
        """By how much a value misses the bound, as a share of it; 0 where the condition holds."""
        by = MISSED[self.relation](value, self.bound)
        return max(0.0, by / (abs(self.bound) or 1.0))

    def holds(self, values: Sequence[float | None]) -> bool:
        """Whether it holds in every one of these runs; a run without a value misses it."""
        return bool(values) and all(value is not None and self.missed(value) == 0 for value in values)


def of(definition: Mapping[str, Any]) -> list[Condition]:
    """The conditions of an experiment."""
    if not definition.get("goal", {}).get("keep"):
        return []
    return [Condition(**one) for one in json.loads(_core.space(json.dumps(definition)))["keep"]]


def holding(conditions: Sequence[Condition], scenarios: Sequence[str], values: Series) -> set[str]:
    """The scenarios in whose every run all of the conditions hold."""
    found = lambda one, scenario: values.get((scenario, one.metric))  # noqa: E731
    return {
        scenario
        for scenario in scenarios
        if all((there := found(one, scenario)) and one.holds(there.values) for one in conditions)
    }
