"""What a tuner may change: fields with their levels. A setting is one level of each field.

    place      of a level in its field, counted from 0; OUTSIDE is the value that the experiment has now, where that is
               none of the levels
    setting    a place for each field

The engine reads `[space]` and makes the levels of ranges (crates/model, experiment/levels.rs).
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from schedlab import _core
from schedlab.errors import UsageError
from schedlab.results.conditions import Condition
from schedlab.specification import Specification
from schedlab.system import toml

Setting = tuple[int, ...]
OUTSIDE = -1


def said(value: Any) -> str:
    """A value as a person writes it, and as `--set` takes it; what is not known is unset."""
    return "unset" if value is None else value if isinstance(value, str) else toml.value(value)


@dataclass(frozen=True)
class Dimension:
    """A field that may be changed. `positions` are the numbers that its levels denote, in `unit`; None of names."""

    path: str
    levels: tuple[Any, ...]
    positions: tuple[float, ...] | None
    unit: str
    logarithmic: bool
    #: The place of the value that the experiment has now; None if it is none of the levels.
    present: int | None
    #: That value; None if it is not known, as on a real machine: then the present setting leaves the field out.
    value: Any

    @property
    def ordered(self) -> bool:
        """Whether its levels are quantities, so that some are next to each other."""
        return self.positions is not None

    def level(self, place: int) -> Any:
        """The value at a place."""
        return self.value if place == OUTSIDE else self.levels[place]


@dataclass(frozen=True)
class Space:
    """All fields that may be changed, and what has to hold."""

    dimensions: tuple[Dimension, ...]
    conditions: tuple[Condition, ...] = ()

    @classmethod
    def of(cls, experiment: Specification) -> "Space":
        """What the experiment's `[space]` says; else the parameters of the policies that it names."""
        found = json.loads(_core.space(json.dumps(experiment.definition)))
        tuples = ("levels", "positions")
        fields = [{k: tuple(v) if k in tuples and v else v for k, v in one.items()} for one in found["space"]]
        space = cls(tuple(Dimension(**one) for one in fields), tuple(Condition(**one) for one in found["keep"]))
        if not space.dimensions:
            raise UsageError(
                f"{experiment.name}: nothing to tune: its policies have no parameters; name fields in [space], as "
                '"workload.server.count" = [1, 2, 4]'
            )
        return space

    @property
    def present(self) -> Setting:
        """What the experiment has now."""
        return tuple(OUTSIDE if one.present is None else one.present for one in self.dimensions)

    @property
    def size(self) -> int:
        """How many settings there are."""
        return math.prod(len(one.levels) for one in self.dimensions)

    def fields(self, setting: Setting) -> dict[str, Any]:
        """The values of a setting by the paths of the fields."""
        return {one.path: one.level(place) for one, place in zip(self.dimensions, setting, strict=True)}

    def changed(self, setting: Setting) -> dict[str, Any]:
        """Those of the values that differ from what the experiment has now."""
        now = self.fields(self.present)
        return {path: value for path, value in self.fields(setting).items() if value != now[path]}

    def text(self, setting: Setting) -> str:
        """What a setting changes, as a person writes it."""
        changed = self.changed(setting)
        return ", ".join(f"{path} = {said(value)}" for path, value in changed.items()) or "as it is now"

    def all(self) -> Iterator[Setting]:
        """Every setting, the last field changing fastest."""
        from itertools import product

        return product(*(range(len(one.levels)) for one in self.dimensions))

    def neighbours(self, setting: Setting, step: int) -> list[Setting]:
        """The settings that differ in one field: by a step of a quantity, or by any other name."""
        found = []
        for at, one in enumerate(self.dimensions):
            place = setting[at]
            if not one.ordered:
                places = [other for other in range(len(one.levels)) if other != place]
            elif place == OUTSIDE:
                places = [0, len(one.levels) - 1]
            else:
                places = [other for other in (place - step, place + step) if 0 <= other < len(one.levels)]
            found += [(*setting[:at], other, *setting[at + 1 :]) for other in places]
        return found
