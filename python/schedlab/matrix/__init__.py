"""The scheduler matrix: every scheduler on a standard set of loads, seen by a few measures.

::

    from schedlab import matrix

    done = matrix.run(["round_robin", "minix"], ["audio", "hogs"])
    done.cells["missed", "audio", "minix"].mean

A load is an experiment file in `loads`; what its `metrics` ask for says by which measures it is seen (`measures.py`).
Runs are kept with the results of all experiments, so a second matrix computes only what is new in it.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from schedlab import _core
from schedlab.errors import Interrupted, UsageError, nearest
from schedlab.experiment import Experiment
from schedlab.matrix.measures import MEASURES, Measure, asked
from schedlab.results import Results
from schedlab.specification import plain
from schedlab.stats import Interval, mean_interval

__all__ = ["LOADS", "MEASURES", "Cell", "Load", "Matrix", "Measure", "run", "schedulers"]

FOLDER = Path(__file__).parent / "loads"

#: Every load, in the order in which they are shown.
LOADS = (
    "hogs",
    "nice_ladder",
    "interactive",
    "audio",
    "compile",
    "pingpong",
    "fork_storm",
    "thundering_herd",
    "server",
    "batch_interactive",
    "real_time",
    "hackbench",
)

SCHEDULER = "scheduler.name"


@dataclass(frozen=True)
class Load:
    """A load of the matrix, to be run under some schedulers."""

    name: str
    experiment: Experiment
    schedulers: list[str]

    @classmethod
    def of(cls, name: str, schedulers: Sequence[str], seeds: int | None = None) -> "Load":
        """Read a load's file; its results are those of an experiment `matrix-NAME`.

        On several processors, schedulers that are for one are left out. Raises `UsageError` if none is left.
        """
        experiment = replace(Experiment.from_toml(FOLDER / f"{name}.toml"), name=f"matrix-{name}")
        experiment = experiment.replace(seeds=seeds) if seeds else experiment
        several = plain(experiment.definition["machine"].get("processors", 1)) > 1
        fit = [scheduler for scheduler in schedulers if not (several and scheduler in _for_one_processor())]
        if not fit:
            raise UsageError(f"{', '.join(schedulers)}: for one processor only, and {name} has several")
        return cls(name, experiment.sweep({SCHEDULER: fit}), fit)

    @property
    def measures(self) -> list[Measure]:
        """The measures by which it is seen."""
        return [measure for measure in MEASURES if measure.asked_of(self.experiment.definition)]


@dataclass(frozen=True)
class Cell:
    """A measure of a scheduler on a load, over seeds. `n` of the runs have it; without any, the mean is None."""

    mean: float | None
    low: float | None
    high: float | None
    n: int
    seeds: int

    @classmethod
    def over(cls, values: Iterable[float | None]) -> "Cell":
        """Mean and 95 % interval of the runs that have a value."""
        values = list(values)
        known = [value for value in values if value is not None]
        if not known:
            return cls(None, None, None, 0, len(values))
        mean, low, high, n = mean_interval(known)
        return cls(mean, *((low, high) if n > 1 else (None, None)), n, len(values))

    @property
    def interval(self) -> Interval | None:
        """Mean and bounds, if there are bounds."""
        return None if self.low is None else Interval(self.mean, self.low, self.high, self.n)


@dataclass(frozen=True)
class Matrix:
    """What came out. `cells` by (measure, load, scheduler), `scenarios` by (load, scheduler).

    A scheduler has none on a load with several processors if it is for one.
    """

    schedulers: list[str]
    loads: list[Load]
    cells: dict[tuple[str, str, str], Cell]
    scenarios: dict[tuple[str, str], str]
    results: dict[str, Results]

    @property
    def measures(self) -> list[Measure]:
        """The measures that some load has."""
        return [measure for measure in MEASURES if any(measure in load.measures for load in self.loads)]

    def seen_by(self, measure: Measure) -> list[str]:
        """The loads that have this measure."""
        return [load.name for load in self.loads if measure in load.measures]

    def ratio(self, measure: Measure, load: str, scheduler: str) -> float:
        """How many times worse than the best scheduler of this load; at least 1, infinite where there is no value."""
        column = (cell.mean for (name, on, _), cell in self.cells.items() if (name, on) == (measure.name, load))
        return measure.ratio(
            self.cells[measure.name, load, scheduler].mean, [mean for mean in column if mean is not None]
        )

    @property
    def computed(self) -> int:
        """Runs that were not known before."""
        return sum(results.computed for results in self.results.values())

    @property
    def skipped(self) -> int:
        """Runs that were not made, since another seed's stands for them."""
        return sum(results.skipped for results in self.results.values())

    @property
    def total(self) -> int:
        """All runs."""
        return sum(len(load.schedulers) * len(load.experiment.seeds) for load in self.loads)

    def as_json(self) -> dict:
        """The form that `schedlab matrix --json` prints."""
        described = ("name", "title", "unit", "better", "meaning")
        return {
            "schedulers": self.schedulers,
            "loads": [{"name": load.name, "question": load.experiment.question} for load in self.loads],
            "measures": [{key: getattr(measure, key) for key in described} for measure in self.measures],
            "runs": {
                "total": self.total,
                "computed": self.computed,
                "known": self.total - self.computed - self.skipped,
                "skipped": self.skipped,
            },
            "cells": [
                {"measure": measure, "load": load, "scheduler": scheduler, "scenario": self.scenarios[load, scheduler]}
                | {key: getattr(cell, key) for key in ("mean", "low", "high", "n", "seeds")}
                for (measure, load, scheduler), cell in self.cells.items()
            ],
        }


def schedulers() -> list[str]:
    """Every scheduler of the table."""
    return [info["name"] for info in json.loads(_core.catalogue())["schedulers"]]


def _for_one_processor() -> set[str]:
    """The schedulers that are refused on several processors."""
    infos = json.loads(_core.catalogue())["schedulers"]
    return {info["name"] for info in infos if {"promise": "one_processor"} in info["promises"]}


def run(
    names: Sequence[str] = (),
    loads: Sequence[str] = (),
    seeds: int | None = None,
    out: str | Path = "results",
    threads: int | None = None,
    fresh: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Matrix:
    """Run every load under every scheduler; of both, all are taken if none is named. Options as of `Experiment.run`.

    Raises `UsageError` for a name that does not exist, and `Interrupted` on Ctrl-C.
    """
    names = _chosen("scheduler", names, schedulers())
    chosen = [Load.of(load, names, seeds) for load in _chosen("load", loads, LOADS)]
    total = sum(len(load.schedulers) * len(load.experiment.seeds) for load in chosen)
    done, results = 0, {}
    for load in chosen:
        tell = (lambda now, _, before=done: progress(before + now, total)) if progress else None
        try:
            results[load.name] = load.experiment.run(out, threads, fresh, tell)
        except Interrupted as stopped:
            raise Interrupted(done + stopped.done, total, out) from None
        done += len(load.schedulers) * len(load.experiment.seeds)
    cells, scenarios = {}, {}
    for load in chosen:
        for scheduler, (scenario, runs) in _runs(load, results[load.name]).items():
            scenarios[load.name, scheduler] = scenario
            for measure in load.measures:
                values = (measure.of(load.experiment.definition, run) for run in runs)
                cells[measure.name, load.name, scheduler] = Cell.over(values)
    return Matrix(names, chosen, cells, scenarios, results)


def _chosen(kind: str, names: Sequence[str], known: Sequence[str]) -> list[str]:
    """The names without repetitions, all of them if there are none; the error names the nearest that exists."""
    for name in names:
        if name not in known:
            raise UsageError(f"no such {kind}: {name!r}; {nearest(name, known)}")
    return list(dict.fromkeys(names)) or list(known)


def _runs(load: Load, results: Results) -> dict[str, tuple[str, list[Mapping[str, float]]]]:
    """Scenario and runs of each scheduler, each run as its metrics by name, in the order of the seeds.

    Of a scenario in whose runs nothing is drawn there is one.
    """
    runs: dict[tuple[str, int], dict[str, float]] = {}
    rows = results.frame.filter(pl.col("metric").is_in(["elapsed", *asked(load.experiment.definition)]))
    for scenario, seed, metric, value in rows.select("scenario", "seed", "metric", "value").iter_rows():
        runs.setdefault((scenario, seed), {})[metric] = value
    seeds = lambda scenario: [results.alike[scenario]] if scenario in results.alike else results.seeds  # noqa: E731
    return {
        cell["factors"][SCHEDULER]: (
            cell["scenario"],
            [runs[cell["scenario"], seed] for seed in seeds(cell["scenario"])],
        )
        for cell in results.manifest["cells"]
    }
