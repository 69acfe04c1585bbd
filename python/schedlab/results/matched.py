"""Results of several folders compared: which cells belong together, and whether they are like with like."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from schedlab.errors import UsageError
from schedlab.results.compared import WORK, Both, rows
from schedlab.results.results import Results
from schedlab.specification import spelled
from schedlab.stats.comparison import Question

#: The factor that says whose cells they are.
RESULTS = "results"
#: Parts that do not decide what a run gives.
ASIDE = ("question", "seeds", "metrics", "sweep")
#: What is absent in one of two experiments.
ABSENT = "not given"


@dataclass(frozen=True)
class Matched:
    """Cells of results with those of the first results, ready to be compared."""

    base: Results
    others: list[Results]
    both: list[Both]
    #: Names of what distinguishes the rows.
    factors: list[str]
    #: What is not alike without being refused.
    notes: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """What the results are called, the base first."""
        return _names([self.base, *self.others])

    @property
    def name(self) -> str:
        """What all are compared with."""
        return self.names[0]

    @property
    def seeds(self) -> int:
        """The most pairs that a row can have."""
        return max(len(set(self.base.seeds) & set(one.seeds)) for one in self.others)

    def rows(self, question: Question, metrics: Sequence[str]) -> list[dict[str, Any]]:
        """What differs; see `compared.rows`."""
        return rows(self.both, metrics, question, self.base.goal)


def match(base: Results, others: Sequence[Results], asked: Sequence[str] = ()) -> tuple[Matched, list[str]]:
    """The cells of all others next to those of the base, and the metrics in which they are compared.

    `asked` are names as in an experiment file; those that the base shows if there are none. Refused where the work,
    the seeds or the metrics have nothing in common.
    """
    metrics = base.meant(asked) if asked else base.shown_metrics
    both, notes = [], []
    names = _names([base, *others])
    for other, name in zip(others, names[1:], strict=True):
        if other.folder.resolve() == base.folder.resolve():
            raise UsageError(f"{other.folder} is compared with itself; name another folder of results")
        _refuse_other_work(base, other)
        notes += _differing(base, other, names[0], name)
        pairs = list(_cells(base, other))
        left = len(other.manifest["cells"]) - len(pairs)
        notes += [f"{name}: {left} of its cells have no counterpart in {names[0]}"] if left else []
        common = [metric for metric in metrics if metric in other.known_metrics]
        if not common:
            raise UsageError(f"{other.folder} has none of the metrics {', '.join(metrics)}")
        lacking = [metric for metric in metrics if metric not in common]
        notes += [f"{name} has no {', '.join(lacking)}"] if lacking else []
        values, base_values = other.values_of(common), base.values_of(common)
        for cell, of in pairs:
            named = dict(cell, factors={RESULTS: name, **cell["factors"]})
            alike = (cell["scenario"] in other.alike, of["scenario"] in base.alike)
            both.append(Both(named, of, values, base_values, alike))
    factors = list(dict.fromkeys(name for one in both for name in one.cell["factors"]))
    return Matched(base, list(others), both, factors, list(dict.fromkeys(notes))), metrics


def _cells(base: Results, other: Results) -> Iterator[tuple[dict, dict]]:
    """Cells of the other results, each with that of the base that has the same factors."""
    cells, bases = other.manifest["cells"], base.manifest["cells"]
    if len(cells) == len(bases) == 1:
        yield cells[0], bases[0]
        return
    if differing := set(other.factors) ^ set(base.factors):
        raise UsageError(f"{base.folder} and {other.folder}: only one of them sweeps {', '.join(sorted(differing))}")
    at = {frozenset(cell["factors"].items()): cell for cell in bases}
    found = [(cell, at[key]) for cell in cells if (key := frozenset(cell["factors"].items())) in at]
    if not found:
        names = [name for name in base.factors if not _levels(base, name) & _levels(other, name)]
        raise UsageError(f"{base.folder} and {other.folder} have no cell in common: {', '.join(names)} differs")
    yield from found


def _levels(results: Results, factor: str) -> set[str]:
    return {cell["factors"][factor] for cell in results.manifest["cells"]}


def _refuse_other_work(base: Results, other: Results) -> None:
    if not set(base.seeds) & set(other.seeds):
        raise UsageError(f"{base.folder} and {other.folder} have no seeds in common: nothing can be paired")
    for path, one, two in _fields(base, other):
        if path.split(".")[0] in WORK:
            raise UsageError(
                f"{base.folder} and {other.folder} are not like with like: {path} is {one} in one and {two} in the "
                f"other; to compare these, run one experiment --over {path}={one},{two}"
            )


def _names(results: Sequence[Results]) -> list[str]:
    """What they are called: the names of their experiments, or of their folders where these are not different."""
    found = [one.name for one in results]
    return found if len(set(found)) == len(found) else [str(one.folder) for one in results]


def _differing(base: Results, other: Results, of: str, name: str) -> list[str]:
    """What is not the same, so that a reader knows what is compared."""
    found = []
    found += [f"{name}: {path} is {two}, {one} in {of}" for path, one, two in _fields(base, other)]
    engines = [one.manifest["versions"]["engine"] for one in (base, other)]
    found += [f"{name}: made by engine {engines[1]}, {of} by {engines[0]}"] * (engines[0] != engines[1])
    places = [sorted({cell["on"] for cell in one.manifest["cells"]}) for one in (base, other)]
    if places[0] != places[1]:
        found.append(f"{name}: run on {', '.join(places[1])}, {of} on {', '.join(places[0])}")
    if set(base.seeds) != set(other.seeds):
        common = len(set(base.seeds) & set(other.seeds))
        found.append(f"{name}: {common} of {len(set(base.seeds) | set(other.seeds))} seeds are in both")
    if base.noisy or other.noisy:
        found.append(
            f"{name} and {of} were not measured in turns: what changed between them counts as a "
            "difference; run --over measures in turns"
        )
    return found


def _fields(base: Results, other: Results) -> Iterator[tuple[str, str, str]]:
    """Each field of the two experiments that differs, with its two values."""
    flat = [dict(_flat(one.manifest["experiment"])) for one in (base, other)]
    swept = {*base.factors, *other.factors}
    for path in dict.fromkeys([*flat[0], *flat[1]]):
        one, two = (of.get(path, ABSENT) for of in flat)
        if one != two and path.split(".")[0] not in ASIDE and path not in swept:
            yield path, one, two


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _flat(inner, f"{path}.{name}" if path else name)
    else:
        yield path, spelled(value)
