"""Parity with guest kernels: the simulator's policies compared with the kernels whose rules they are.

A guest counts instructions, so what differs is the model's own doing, and the allowances are tight:

    deviation  =  mean of the simulated runs  -  mean of the guest's runs              over the same number of seeds
    holds      if |deviation| <= the larger of   `share` x the guest's mean   and   `least`

All of a scenario's metrics that an allowance speaks of are compared, for each of its jobs. A wait that few tasks
had is not: where fewer than `FEWEST` were seen, percentiles are of single events.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl

from schedlab.errors import UsageError, nearest
from schedlab.parity.comparison import TICK, Allowance, Comparison
from schedlab.results import Results
from schedlab.targets.names import GUEST, SIM

ALLOWANCES = (
    Allowance(".share", 0.0, 0.5, "%", "0.5 point"),
    Allowance("context_switches", 0.05, 0.0, "1", "5 %"),
    Allowance(".mean", 0.10, 0.1e-3, "s", "10 % or 0.1 ms"),
    Allowance(".p50", 0.10, 0.1e-3, "s", "10 % or 0.1 ms"),
    Allowance(".p99", 0.15, TICK, "s", "15 % or a tick"),
)
#: Metrics of a job whose spreads are compared.
WAITS = ("wakeup_latency", "run_wait")
#: Fewer events than this in a run make no distribution.
FEWEST = 20
#: Seeds of each run: the guests' ticks begin elsewhere within a tick.
SEEDS = 3
#: The recorder's buffer is emptied so rarely that it does not disturb a run of seconds.
UNDISTURBED = "600s"
#: Words of the command line that let a kernel's own threads sleep: statistics of memory, compaction, huge pages,
#: write-back, watchdogs and pressure (PSI) all wake one now and then. Those that are left wake once or twice a second;
#: with nohz=off on an idle processor too, else their timers wait until it has something to do.
QUIET = (
    "sysctl.vm.stat_interval=3600 sysctl.vm.compaction_proactiveness=0 sysctl.vm.dirty_writeback_centisecs=0 "
    "transparent_hugepage=never nowatchdog tsc=reliable psi=0 nohz=off"
)
#: Scenarios of the host's suite that one processor cannot play.
TOO_WIDE = ("three_hogs_on_two_processors",)


@dataclass(frozen=True)
class Reference:
    """A kernel, and the policy that has its rules."""

    kernel: str
    scheduler: dict[str, Any]

    @property
    def name(self) -> str:
        """Where the user finds it in tables."""
        return f"{self.scheduler['name']} vs {self.kernel}"


REFERENCES = (
    Reference("5.10", {"name": "cfs", "variant": "5.10"}),
    Reference("6.1", {"name": "cfs"}),
    Reference("6.17", {"name": "eevdf", "variant": "6.17"}),
)


def scenarios(only: Sequence[str] | None = None) -> list[Path]:
    """The files of the suite, or those named."""
    package = Path(str(files("schedlab.parity")))
    paths = [*(package / "scenarios").glob("*.toml"), *(package / "guest_scenarios").glob("*.toml")]
    known = {path.stem: path for path in sorted(paths) if path.stem not in TOO_WIDE}
    for name in only or []:
        if name not in known:
            raise UsageError(f"--only {name}: there is no such scenario; {nearest(name, known)}")
    return [known[name] for name in only or known]


def overrides(reference: Reference, seeds: int) -> list[str]:
    """What makes a scenario one of this reference."""
    settings = [f"scheduler.{key}={value}" for key, value in reference.scheduler.items()]
    return ["machine=guest", f"seeds={seeds}", *settings, "scheduler.autogroup=false"]


def references(kernels: Sequence[str] | None) -> list[Reference]:
    """Those of the kernels named, or all."""
    known = {reference.kernel: reference for reference in REFERENCES}
    for name in kernels or []:
        if name not in known:
            raise UsageError(f"--kernel {name}: there is no reference of that kernel; {nearest(name, known)}")
    return [known[name] for name in kernels or known]


def compare(results: Results, reference: Reference) -> Iterator[Comparison]:
    """Every metric that is promised something, of a run both ways."""
    cells = {cell["on"]: cell["scenario"] for cell in results.manifest["cells"]}
    simulated, measured = (_means(results.frame, cells[on]) for on in (SIM, f"{GUEST}{reference.kernel}"))
    for metric in sorted(measured.keys() & simulated.keys()):
        allowance = _allowance(metric)
        if allowance is None or _rare(metric, measured) or _rare(metric, simulated):
            continue
        middle, low, high = measured[metric]
        yield Comparison(
            scenario=results.name,
            metric=metric,
            unit=allowance.unit,
            simulated=simulated[metric][0],
            measured=middle,
            low=low,
            high=high,
            allowed=max(allowance.share * abs(middle), allowance.least),
            words=allowance.words,
        )


def _allowance(metric: str) -> Allowance | None:
    """What is promised of a metric; nothing of most."""
    of_wait = any(f".{wait}." in metric for wait in WAITS) and metric.startswith("tasks.")
    promised = metric == "context_switches" or metric.endswith(".share") or of_wait
    return next((one for one in ALLOWANCES if promised and metric.endswith(one.of)), None)


def _rare(metric: str, means: dict[str, tuple[float, float, float]]) -> bool:
    """Whether it is a wait that too few had."""
    name, _, what = metric.rpartition(".")
    if what not in ("mean", "p50", "p99"):
        return False
    return means.get(f"{name}.count", (FEWEST, 0, 0))[0] < FEWEST


def _means(frame: pl.DataFrame, scenario: str) -> dict[str, tuple[float, float, float]]:
    """Mean over the seeds, least and greatest of each metric."""
    value = pl.col("value")
    found = (
        frame.filter(pl.col("scenario") == scenario, value.is_not_null())
        .group_by("metric")
        .agg(value.mean().alias("mean"), value.min().alias("low"), value.max().alias("high"))
    )
    return {metric: (mean, low, high) for metric, mean, low, high in found.iter_rows()}
