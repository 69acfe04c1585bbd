"""What the matrix measures: a table of measures, each a short function of what the engine reported of one run.

The metrics that a load's file asks for say whether a measure applies to it, and to which of its jobs.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Literal

from schedlab.units import convert, seconds

#: Worth of a nice level, as in Linux since 2.6.23.
NICE_LEVEL = 1.25

Definition = Mapping[str, Any]
Run = Mapping[str, float]


@dataclass(frozen=True)
class Measure:
    """A number of a run that characterises its scheduler."""

    name: str
    title: str
    unit: str
    better: Literal["less", "more"]
    #: Differences below this do not count: two schedulers are compared by the ratio of their values, each plus this.
    grain: float
    #: The metrics that it is made of, as a pattern; a first group is the job.
    metrics: str
    compute: Callable[[Definition, Run, list[str]], float | None]
    meaning: str

    def asked_of(self, load: Definition) -> list[str]:
        """The metrics among those that a load asks for which this is made of."""
        return [metric for metric in asked(load) if re.fullmatch(self.metrics, metric)]

    def of(self, load: Definition, run: Run) -> float | None:
        """Its value in a run; None where the run has none, as the latency of a task that never ran after a wait."""
        return self.compute(load, run, self.asked_of(load))

    def ratio(self, value: float | None, all: Sequence[float]) -> float:
        """How many times worse a value is than the best of all; infinite if there is none."""
        if value is None:
            return inf
        best = min(all) if self.better == "less" else max(all)
        worse, better = (value, best) if self.better == "less" else (best, value)
        return (worse + self.grain) / (better + self.grain)


def asked(load: Definition) -> list[str]:
    """The metrics that a load asks for, with `*` spelled out."""
    jobs = load["workload"]
    spelled = ([m.replace("*", job) for job in jobs] if "*" in m else [m] for m in load["metrics"])
    return [metric for metrics in spelled for metric in metrics]


def _share_error(load: Definition, run: Run, metrics: list[str]) -> float | None:
    """The largest difference between the part of their time that a job had and its fair part, in per cent of it."""
    jobs = {metric: load["workload"][metric.split(".")[1]] for metric in metrics}
    weight = {metric: job.get("count", 1) * NICE_LEVEL ** -job.get("nice", 0) for metric, job in jobs.items()}
    had, fair = sum(run[metric] for metric in metrics), sum(weight.values())
    return max(abs(run[metric] / had - weight[metric] / fair) for metric in metrics) * 100 if had else None


def _milliseconds(load: Definition, run: Run, metrics: list[str]) -> float | None:
    """The largest of the metrics that the run has."""
    found = [run[metric] for metric in metrics if metric in run]
    return convert(max(found), "s", "ms") if found else None


def _rate(load: Definition, run: Run, metrics: list[str]) -> float:
    return sum(run[metric] for metric in metrics) / run["elapsed"]


def _missed(load: Definition, run: Run, metrics: list[str]) -> float:
    """Part of the periods whose work was not done in time, those included that a task never came to."""
    due = met = 0
    for job in (metric.split(".")[1] for metric in metrics):
        spec = load["workload"][job]
        length = run["elapsed"] - (seconds(spec.get("start", "0s")) or 0.0)
        of_job = spec.get("count", 1) * int(length / seconds(spec["period"]) + 1e-9)
        due += of_job
        met += min(of_job, run[f"tasks.{job}.deadlines"] - run[f"tasks.{job}.deadline_misses"])
    return 100 * (1 - met / due)


MEASURES = (
    Measure(
        "share_error",
        "share error",
        "%",
        "less",
        0.5,
        r"tasks\.([^.]+)\.share",
        _share_error,
        "Of the processor time that the jobs without waits had together, each is due a part in proportion to "
        f"{NICE_LEVEL} to the power of minus its nice value. The error is the largest difference, over these jobs, "
        "between the part that a job had and the part due to it, in per cent of that time: 0 is fair, near 100 is all "
        "to the wrong one.",
    ),
    Measure(
        "latency_p50",
        "wakeup latency, median",
        "ms",
        "less",
        0.01,
        r"(?:tasks\.([^.]+)\.)?wakeup_latency\.p50",
        _milliseconds,
        "From waking up after a wait to getting a processor: half of the wakeups got one sooner. "
        "Where no wakeup ever got one, it says never.",
    ),
    Measure(
        "latency_p99",
        "wakeup latency, 99th percentile",
        "ms",
        "less",
        0.01,
        r"(?:tasks\.([^.]+)\.)?wakeup_latency\.p99",
        _milliseconds,
        "As above: 99 of 100 wakeups got a processor sooner. Wakeups that never got one are not in it; the longest "
        "wait tells.",
    ),
    Measure(
        "longest_wait",
        "longest wait",
        "ms",
        "less",
        0.1,
        r"tasks\.([^.]+)\.longest_gap",
        _milliseconds,
        "The longest time in a run from waking up, or from losing the processor, to getting it, or to the run's end.",
    ),
    Measure(
        "switches",
        "context switches",
        "1/s",
        "less",
        1.0,
        r"context_switches",
        _rate,
        "Times a task left a processor, per second. Few are cheap, not good in themselves: a policy that starves tasks "
        "has the fewest.",
    ),
    Measure(
        "throughput",
        "throughput",
        "1/s",
        "more",
        0.1,
        r"tasks\.([^.]+)\.(?:passes|completed)",
        _rate,
        "Pieces of work done per second by the jobs that have work to do; what a piece is, the load's file says.",
    ),
    Measure(
        "missed",
        "missed deadlines",
        "%",
        "less",
        0.1,
        r"tasks\.([^.]+)\.deadline_misses",
        _missed,
        "Part of the periods that ended during the run whose work was not done by then, those included that a task "
        "never came to.",
    ),
)
