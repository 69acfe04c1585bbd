"""The simulator's numbers next to those of kernels: predicted / measured, cell by cell, and which are missed.

pair      a simulated cell, and one of a kernel with the same other factors: both ran the same work with the same seeds
ratio     mean predicted / mean measured, over the repeats that both have; its interval is that of the difference
missed    the difference is real, and is not shown to be less than `within`
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schedlab.results import compared
from schedlab.results.best import ON, Entry
from schedlab.results.compared import NAMED, Both
from schedlab.results.series import Series
from schedlab.results.summary import Means
from schedlab.results.tables import level_name, mean_of, short_names
from schedlab.stats.comparison import REAL, Question
from schedlab.tables import Column, Table
from schedlab.units import digits

MISSED = "missed"


@dataclass(frozen=True)
class Prediction:
    """A number that was predicted, and measured; bounds of the ratio are None where there are none."""

    metric: str
    simulated: Entry
    measured: Entry
    #: Rows of means.
    predicted: Mapping[str, Any]
    found: Mapping[str, Any]
    ratio: float | None
    low: float | None
    high: float | None
    verdict: str

    @property
    def missed(self) -> bool:
        """Whether the simulator is shown to be wrong."""
        return self.verdict == MISSED


def pairs(cells: Sequence[Entry]) -> Iterator[tuple[Entry, Entry]]:
    """Each simulated cell with those of kernels that have the same other factors."""
    if ON not in cells[0]["factors"]:
        return
    others = lambda cell: tuple(level for name, level in cell["factors"].items() if name != ON)  # noqa: E731
    simulated: dict[tuple[str, ...], list[Entry]] = {}
    for cell in cells:
        if _is_simulated(cell):
            simulated.setdefault(others(cell), []).append(cell)
    for cell in cells:
        if not _is_simulated(cell):
            yield from ((one, cell) for one in simulated.get(others(cell), ()))


def _is_simulated(cell: Entry) -> bool:
    return cell["on"].partition(":")[0] == "sim"


def predictions(
    cells: Sequence[Entry],
    metrics: Sequence[str],
    values: Series,
    means: Means,
    alike: Mapping[str, int],
    within: float | None,
) -> list[Prediction]:
    """All numbers that were both predicted and measured; none where only one kind of place was asked."""
    both = {(one["scenario"], two["scenario"]): (one, two) for one, two in pairs(cells)}
    asked = [
        Both(two, one, values, values, (two["scenario"] in alike, one["scenario"] in alike))
        for one, two in both.values()
    ]
    rows = compared.rows(asked, metrics, Question(within=within), {}) if asked else []
    found = []
    for row in rows:
        if not row["n"]:
            continue
        simulated, measured = both[row["baseline"], row["scenario"]]
        known = row["relative"] is not None
        scale = row["relative"] / row["mean"] if known and row["mean"] else 0.0
        low, high = (
            1 + scale * row[end] if known and row[end] is not None and row[end] == row[end] else None
            for end in ("low", "high")
        )
        name = row["metric"]
        found.append(
            Prediction(
                name,
                simulated,
                measured,
                means[simulated["scenario"], name],
                means[measured["scenario"], name],
                1 + row["relative"] if known else None,
                low,
                high,
                MISSED if row["verdict"] == REAL and not row["bounded"] else compared.verdict(row, within),
            )
        )
    return found


def lines(found: Sequence[Prediction]) -> list[str]:
    """How many are missed, and which by most."""
    if not found:
        return []
    missed = sorted((one for one in found if one.missed), key=lambda one: -abs((one.ratio or 0.0) - 1))
    named = [f"{one.metric} {_where(one)}, {spelled(one)}" for one in missed[:NAMED]]
    more = [f"{len(missed) - NAMED} more"] if len(missed) > NAMED else []
    words = f": {'; '.join([*named, *more])}" if missed else ""
    return [f"measured / predicted: {len(missed)} of {len(found)} are missed{words}"]


def _where(one: Prediction) -> str:
    factors = one.measured["factors"]
    return ", ".join(
        f"{name}={level_name(level)}" for name, level in zip(short_names(list(factors)), factors.values(), strict=True)
    )


def spelled(one: Prediction) -> str:
    """The ratio with its interval."""
    if one.ratio is None:
        return "–"
    bounds = "" if one.low is None else f" [{digits(one.low, 3)}, {digits(one.high, 3)}]"
    return f"{digits(one.ratio, 3)}{bounds}"


def table(found: Sequence[Prediction]) -> Table:
    """A row for each prediction."""
    factors = list(found[0].measured["factors"]) if found else []
    columns = [
        *(Column(name, key=True) for name in short_names(factors)),
        Column("metric", key=True, dotted=True),
        Column("predicted by"),
        Column("predicted", numeric=True),
        Column("measured", numeric=True),
        Column("measured / predicted", numeric=True),
        Column("verdict"),
    ]
    rows = [
        [
            *(level_name(level) for level in one.measured["factors"].values()),
            one.metric,
            one.simulated["on"],
            mean_of(one.predicted),
            mean_of(one.found),
            spelled(one),
            one.verdict,
        ]
        for one in found
    ]
    return Table.of_texts(columns, rows)
