"""Parity on several processors: two places compared by the distributions of what repeats of the same scenarios give.

    difference  =  mean over the repeats of  simulated - measured             with its 95 % interval (`stats.bootstrap`)
                   of counts, of their logarithms, so that it is a factor; fewer than one count as one
    bound       =  the larger of  `share` x the measured mean  and  `least`;     of counts  `factor`
    within         the whole interval lies inside of the bound
    misses         the whole interval lies outside of it
    cannot tell    the interval has the bound in it, or there is a single repeat

A repeat of one side and one of the other have nothing in common but their number: the interval of their differences is
a little wider than the samples allow. The bounds were wanted before anything was measured, and are the same for every
scenario.
"""

import math
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl

from schedlab.errors import UsageError, nearest
from schedlab.parity.comparison import Allowance
from schedlab.parity.guests import FEWEST, REFERENCES
from schedlab.results import Results
from schedlab.specification import plain
from schedlab.stats import Interval, mean_interval
from schedlab.stats.comparison import difference
from schedlab.targets.linux import scheduler
from schedlab.targets.names import GUEST, HOST, POLICY, SIM

Say = Callable[[str], None]

#: Repeats of each scenario on each side.
REPEATS = 12
VERDICTS = WITHIN, MISSES, CANNOT_TELL = "within", "misses", "cannot tell"

SHARES = Allowance("share", 0.0, 2.0, "%", "2 points")
WASTED = Allowance("wasted", 0.0, 1.0, "%", "1 point")
#: Migrations and context switches of the workload's own tasks, as sums over all jobs: a kernel has threads that the
#: simulator does not have, which move and take turns, too. Context switches have the bound of migrations; no other one
#: was wanted.
OF_TASKS = {
    "tasks.migrations": ("migrations",),
    "tasks.context_switches": ("voluntary_switches", "involuntary_switches"),
}
COUNTS = Allowance("count", 0.0, 0.0, "1", "factor 1.5", factor=1.5)
BALANCED = Allowance("until_balanced", 0.25, 0.0, "s", "25 %")
WAITS = Allowance("p50", 0.20, 0.2e-3, "s", "20 % or 0.2 ms")

#: How long the hogs may not use a second processor, s, in scenarios that then ask how long it stays idle. Derived:
#:     until_balanced  =  2 x elapsed  -  what all processors together were busy  -  this
UNPINNED_AT = {"unpinning_8": 1.0, "unpinning_64": 1.0}
UNTIL_BALANCED = "until_balanced"


@dataclass(frozen=True)
class Judged:
    """A number of a scenario on both sides. Values in base units; the difference of a count is a factor."""

    scenario: str
    metric: str
    unit: str
    simulated: Interval
    measured: Interval
    difference: Interval
    #: Largest difference that is within; the largest factor, of a count.
    bound: float
    words: str
    verdict: str

    @property
    def is_factor(self) -> bool:
        """Whether the difference is one."""
        return self.words == COUNTS.words


def scenarios(only: Sequence[str] | None = None) -> list[Path]:
    """The files of the suite, or those named."""
    folder = Path(str(files("schedlab.parity"))) / "processor_scenarios"
    known = {path.stem: path for path in sorted(folder.glob("*.toml"))}
    for name in only or []:
        if name not in known:
            raise UsageError(f"--only {name}: there is no such scenario; {nearest(name, known)}")
    return [known[name] for name in only or known]


def is_of_several(on: str) -> bool:
    """Whether this reference has several processors by its name, or is the simulator's."""
    return on.startswith(POLICY) or (on.startswith(GUEST) and "@" in on)


def refuse_one_processor(on: str) -> None:
    """Refuse a reference on which no scenario of these has its processors."""
    count = len(os.sched_getaffinity(0))
    if on.startswith(GUEST):
        from schedlab.targets.guest.qemu import processors

        count = processors(on.removeprefix(GUEST))[1].count
    if count < 2:
        raise UsageError(f"--on {on}: it has {count} processor, and these scenarios are for two or more")


def overrides(on: str, repeats: int, say: Say = lambda text: None) -> list[str]:
    """What makes a scenario one of this reference. A guest's kernel decides the rules; it is fetched if need be."""
    if not on.startswith(GUEST):
        return [f"seeds={repeats}"]
    from schedlab.targets.guest import machine

    name = on.removeprefix(GUEST)
    rules: dict[str, Any] = {"name": scheduler(machine.ready(name, say).kernel.release)}
    rules |= next((one.scheduler for one in REFERENCES if one.kernel == name.partition("@")[0]), {})
    return [
        f"seeds={repeats}",
        *(f"scheduler.{key}={value}" for key, value in rules.items()),
        "scheduler.autogroup=false",
    ]


def places(on: str) -> str:
    """The places that run a scenario: the simulator, and the reference."""
    return f"{SIM},{on}"


def compare(results: Results, reference: str = HOST) -> Iterator[Judged]:
    """Every number for which there is a bound, if both sides have it."""
    cells = {cell["on"]: cell for cell in results.manifest["cells"]}
    simulated, measured = (_by_metric(results, cells[on]) for on in (SIM, reference))
    for metric in sorted(simulated.keys() & measured.keys()):
        allowance = allowance_of(metric)
        if allowance is None or _rare(metric, simulated) or _rare(metric, measured):
            continue
        yield judge(results.name, metric, allowance, *_paired(simulated[metric], measured[metric]))


def allowance_of(metric: str) -> Allowance | None:
    """The bound that is wanted of a metric; none, for most."""
    if metric in OF_TASKS:
        return COUNTS
    if metric in (WASTED.of, UNTIL_BALANCED):
        return WASTED if metric == WASTED.of else BALANCED
    if metric.startswith("tasks.") and metric.endswith(".share"):
        return SHARES
    return WAITS if metric.startswith("tasks.") and metric.endswith(".run_wait.p50") else None


def judge(
    scenario: str, metric: str, allowance: Allowance, simulated: Sequence[float], measured: Sequence[float]
) -> Judged:
    """Compare as many repeats of one side as of the other."""
    both = mean_interval(simulated), mean_interval(measured)
    if allowance.factor is None:
        bound = limit = max(allowance.share * abs(both[1].mean), allowance.least)
        found = between = difference(simulated, measured).of
    else:
        bound, limit = allowance.factor, math.log(allowance.factor)
        found = difference(*([math.log(max(1.0, value)) for value in side] for side in (simulated, measured))).of
        between = Interval(*map(math.exp, found[:3]), found.n)
    return Judged(scenario, metric, allowance.unit, *both, between, bound, allowance.words, _verdict(found, limit))


def _verdict(found: Interval, limit: float) -> str:
    # A single repeat has no bounds (NaN), and compares as neither.
    if -limit <= found.low and found.high <= limit:
        return WITHIN
    return MISSES if found.low > limit or found.high < -limit else CANNOT_TELL


def _by_metric(results: Results, cell: dict[str, Any]) -> dict[str, dict[int, float]]:
    """The values of each metric by repeat, those that are derived included."""
    frame = results.frame.filter(pl.col("scenario") == cell["scenario"], pl.col("value").is_not_null())
    values: dict[str, dict[int, float]] = {}
    for metric, seed, value in frame.select("metric", "seed", "value").iter_rows():
        values.setdefault(metric, {})[seed] = value
    for metric, parts in OF_TASKS.items():
        values[metric] = _over_jobs(values, parts)
    pinned = UNPINNED_AT.get(results.name)
    if pinned is not None:
        count = plain(results.scenario(cell)["machine"]["processors"])
        values[UNTIL_BALANCED] = {
            seed: 2 * elapsed - count * elapsed * values["utilization"][seed] / 100 - pinned
            for seed, elapsed in values["elapsed"].items()
        }
    return values


def _over_jobs(values: dict[str, dict[int, float]], parts: Collection[str]) -> dict[int, float]:
    """The sum of these metrics over all jobs, by repeat."""
    sums: dict[int, float] = {}
    for metric, by_seed in values.items():
        of, _, part = metric.rpartition(".")
        if of.startswith("tasks.") and part in parts:
            for seed, value in by_seed.items():
                sums[seed] = sums.get(seed, 0.0) + value
    return sums


def _paired(simulated: dict[int, float], measured: dict[int, float]) -> tuple[list[float], list[float]]:
    """The values of the repeats that both have. Where no seed changes a simulation, it was made once."""
    if len(simulated) == 1:
        simulated = dict.fromkeys(measured, *simulated.values())
    both = sorted(simulated.keys() & measured.keys())
    return [simulated[seed] for seed in both], [measured[seed] for seed in both]


def _rare(metric: str, values: dict[str, dict[int, float]]) -> bool:
    """Whether it is a median of waits that too few had."""
    name, _, statistic = metric.rpartition(".")
    counts = list(values.get(f"{name}.count", {}).values())
    return statistic == "p50" and (not counts or sum(counts) / len(counts) < FEWEST)
