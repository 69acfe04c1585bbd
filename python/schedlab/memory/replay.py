"""What limits would have cost and broken: the history walked through in time.

At each run a rule has seen the runs before it, and declares a size:

    largest     the largest peak of the program so far (what the report of Minix 1.5 proposes), rounded up to `GRAIN`
    declared    a size that the user gives
    suggested   `limits.suggest` of the runs of its class so far; anew with each tenth more runs, and with each new
                largest

A run whose peak is above that size breaks. Its peak is known afterwards all the same, as if it was run again without a
limit. For its whole life a run occupies what is declared, and uses at most its peak: cost and waste are byte-seconds,
upper bounds of what was used. The first run of a program or class has no limit by history, and is counted apart for all
rules.
"""

from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from schedlab import units
from schedlab.errors import UsageError, nearest
from schedlab.memory.history import Group, Run, runs_in_order
from schedlab.memory.limits import declared, suggest
from schedlab.stats import Interval

if TYPE_CHECKING:
    import numpy as np

LARGEST, DECLARED, SUGGESTED = "largest", "declared", "suggested"
#: Pieces of time that intervals are drawn from.
BLOCKS = 40
#: A suggestion is made anew when there are this many times as many runs.
ANEW = 1.1


@dataclass
class Outcome:
    """What a rule would have cost and broken."""

    rule: str
    #: Runs that had a limit, and of them those that broke.
    runs: int = 0
    broken: int = 0
    #: For each run, in order: declared and used, byte-seconds, and whether it broke.
    each: list[tuple[float, float, bool]] = field(default_factory=list)

    def add(self, limit: int, run: Run) -> None:
        """Count a run."""
        seconds = run.elapsed_ns / 1e9
        breaks = run.peak > limit
        self.runs += 1
        self.broken += breaks
        self.each.append((limit * seconds, run.peak * seconds, breaks))

    @property
    def declared(self) -> float:
        """Byte-seconds that were declared."""
        return sum(one for one, _, _ in self.each)

    @property
    def used(self) -> float:
        """Byte-seconds up to the peaks."""
        return sum(one for _, one, _ in self.each)

    def share(self) -> Interval:
        """The share of runs that broke, with its 95 % interval (Clopper and Pearson)."""
        from scipy.stats import binomtest

        bounds = binomtest(self.broken, self.runs).proportion_ci(0.95)
        return Interval(self.broken / self.runs, float(bounds.low), float(bounds.high), self.runs)

    def saved(self, other: "Outcome") -> Interval:
        """The share of what another rule declares that this one does not, with its 95 % interval over blocks."""
        import numpy as np

        from schedlab.stats import blocks

        pairs = np.array([(own[0], its[0]) for own, its in zip(self.each, other.each, strict=True)])
        parts = np.array_split(pairs, min(BLOCKS, len(pairs)))
        return blocks.interval(np.stack([part.sum(axis=0) for part in parts]), _less)


def _less(sums: "np.ndarray") -> "np.ndarray":
    return 1 - sums[..., 0] / sums[..., 1]


@dataclass
class Replay:
    """The outcomes by rule, and the runs that no rule could know."""

    outcomes: dict[str, Outcome]
    first: int
    #: Runs that had ended before the first one that is kept.
    gone: int


def sizes(texts: Sequence[str]) -> dict[str, int]:
    """Declared sizes by program, of `512M` (all others, "") and `cc1=256M`. Raises UsageError for what is no size."""
    found = {}
    for text in texts:
        program, _, given = text.rpartition("=")
        try:
            size = units.size(given + "iB" if given[-1:] in tuple("KMG") else given)
        except (ValueError, KeyError, OverflowError):
            size = 0
        if not 0 < size < 1 << 62:
            raise UsageError(f"--declared {text}: {given!r} is no size; expected as 512M or 1.5GiB")
        found[program] = size
    return found


def refuse_unknown(sizes: Mapping[str, int], groups: Sequence[Group], where: str) -> None:
    """Refuse sizes of programs that have no runs; `where` says where these were looked for."""
    known = {group.program for group in groups}
    for name in sizes:
        if name and name not in known:
            raise UsageError(f"--declared {name}: no program of that name is {where}; {nearest(name, known)}")


class _Class:
    """What is known of a class so far, and the suggestion from it."""

    def __init__(self) -> None:
        self.peaks: list[int] = []
        self.limit, self.made, self.largest = 0, 0, 0

    def suggested(self, safety: float) -> int:
        n = len(self.peaks)
        if n >= ANEW * self.made or self.peaks[-1] > self.largest:
            self.limit, self.made, self.largest = suggest(self.peaks, safety).bytes, n, self.peaks[-1]
        return self.limit


def replay(groups: Sequence[Group], safety: float, sizes: Mapping[str, int] | None = None) -> Replay:
    """Walk through the kept runs of groups, by class or program. `sizes` are declared by program; "" for all others."""
    sizes = sizes or {}
    kinds = [LARGEST, *([DECLARED] if sizes else []), SUGGESTED]
    outcomes = {rule: Outcome(rule) for rule in kinds}
    classes: dict[int, _Class] = {id(group): _Class() for group in groups}
    largest: dict[str, int] = {}
    first = 0
    for run, group in runs_in_order(groups):
        known, size = classes[id(group)], sizes.get(group.program, sizes.get(""))
        if not known.peaks or (sizes and size is None):
            first += 1
        else:
            outcomes[LARGEST].add(declared(largest[group.program]), run)
            outcomes[SUGGESTED].add(known.suggested(safety), run)
            if size is not None:
                outcomes[DECLARED].add(size, run)
        insort(known.peaks, run.peak)
        largest[group.program] = max(largest.get(group.program, 0), run.peak)
    return Replay(outcomes, first, sum(group.n - len(group.runs) for group in groups))
