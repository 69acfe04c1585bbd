"""A recording against the runs of an experiment: tasks of a name or group against the job of that name.

share, switches, preempted    of all tasks of the job, in percent of one processor and a second, as of a recording
latencies                     from a wakeup after a wait to getting a processor, as of a recording
difference                    the recording's value less the mean over the runs
half of its interval's width  the root of the sum of the squares of the recording's (bootstrap over blocks of time) and
                              that of the mean (Student's t over the runs); of percentiles, which runs have by classes,
                              a class more
"""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedlab.errors import UsageError, nearest
from schedlab.results import folders
from schedlab.stats import Interval, blocks, mean_interval
from schedlab.traces.against import by_run_time, difference, only_one, value_of
from schedlab.traces.sums import QUANTILES, RATIOS, Side, statistic, sums

if TYPE_CHECKING:
    from schedlab.results.results import Results

#: The classes of percentiles of runs are at most so wide, as a part of the value (two significant digits, in binary).
CLASS = 1 / 128
#: Microseconds of a second: metrics of runs are in seconds.
US = 1e6
LATENCIES = tuple(f"wakeup_latency.{one}" for one in ("mean", "p50", "p90", "p99"))


def are_runs(path: Path) -> bool:
    """Whether a path is a folder of results."""
    return (folders.newest(path) / "manifest.json").is_file()


def compared(one: dict[str, Any], path: Path, most: int) -> list[dict[str, Any]]:
    """The differences of groups and tasks that have the name of a job; jobs that the recording does not have, too."""
    from schedlab.results.results import Results

    results = Results.open(path)
    if len(results.scenarios) != 1:
        raise UsageError(f"{path}: has {len(results.scenarios)} cells; a recording is compared with the runs of one")
    jobs = Runs(results)
    rows = {row["comm"]: row for row in one["tasks"]}
    found = []
    for kind, own in (("group", one["groups"]), ("task", rows)):
        for name in by_run_time(own)[: most if kind == "task" else None]:
            if name in jobs.names:
                found += jobs.differences(kind, name, (own[name], one))
    if not found:
        known = f"name them by --group {min(jobs.names)}=REGEX"
        raise UsageError(f"{path}: no task of the recording has the name of a job; {nearest('', jobs.names)}; {known}")
    missing = sorted(jobs.names - {difference["name"] for difference in found})
    return [*found, *(only_one("task", name, 0.0, jobs.of(name)["share"].mean) for name in missing)]


class Runs:
    """What the runs of one scenario say of each job, in the units of recordings."""

    def __init__(self, results: "Results"):
        """Of results with one cell."""
        (cell,) = results.manifest["cells"]
        self._scenario = cell["scenario"]
        processors = results.manifest["machines"][cell["machine"]]["processors"]
        self._processors = processors["value"] if isinstance(processors, dict) else processors
        self.names = set(results.manifest["experiment"]["workload"])
        fields = ("share", "voluntary_switches", "involuntary_switches", *LATENCIES)
        self._values = results.values_of(
            ["elapsed", *(f"tasks.{job}.{field}" for job in self.names for field in fields)]
        )

    def of(self, job: str) -> dict[str, Interval]:
        """The mean of each metric over the runs, with its interval."""
        elapsed, share, voluntary, involuntary, *latencies = (
            self._read(metric)
            for metric in (
                "elapsed",
                *(
                    f"tasks.{job}.{field}"
                    for field in ("share", "voluntary_switches", "involuntary_switches", *LATENCIES)
                ),
            )
        )
        switches = [sum(both) for both in zip(voluntary, involuntary, strict=True)]
        found = {
            "share": [one * self._processors for one in share],
            "switches": _rates(switches, elapsed),
            "preempted": _rates(involuntary, elapsed),
            **{metric: [US * wait for wait in waits] for metric, waits in zip(LATENCIES, latencies, strict=True)},
        }
        return {metric: mean_interval(values) for metric, values in found.items() if values}

    def _read(self, metric: str) -> list[float]:
        key = (self._scenario, metric)
        return [one for one in self._values[key].values if one is not None] if key in self._values else []

    def differences(self, kind: str, name: str, side: Side) -> list[dict[str, Any]]:
        """The recording's metrics of that row less those of the job."""
        runs, found = self.of(name), []
        for metric in (*RATIOS, *QUANTILES):
            value = value_of(side[0], metric)
            if value is None or metric not in runs:
                continue
            own = blocks.interval(*sums(metric, side), statistic(metric, side))
            base = runs[metric]
            half = math.hypot((own.high - own.low) / 2, (base.high - base.low) / 2)
            half += CLASS * base.mean if metric in QUANTILES else 0.0
            bounds = value - base.mean - half, value - base.mean + half
            found.append(difference(kind, name, metric, (value, base.mean), bounds))
        return found


def _rates(counts: Iterable[float], elapsed: list[float]) -> list[float]:
    return [count / length for count, length in zip(counts, elapsed, strict=True)]
