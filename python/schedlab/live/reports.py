"""The live versions of the reports: the same questions, asked of the kernel at hand.

A report's folder may have a folder `live`: experiment files, `live.toml` and `claims.py`. ::

    title = "The quantum of 1990, on a live kernel"
    [[experiment]]
    file = "round_robin"             # round_robin.toml
    title = "under SCHED_RR"
    on = "host"                      # only there: a simulated machine has no such thing
    [[claim]]
    id = "wait-is-quantum"           # the function wait_is_quantum of claims.py, given the `LiveLab`
    text = "Under SCHED_RR a job that reads waits a quantum for each block."

What the host does not permit is skipped, with the host's own reason: the claims that rest on it are "not checked".
"""

import importlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schedlab import reproductions, stats
from schedlab.errors import UsageError
from schedlab.experiment import Experiment
from schedlab.live.runs import Conditions
from schedlab.places import places
from schedlab.reproduction import Finding, Progress, _silent
from schedlab.results import Results

NOT_CHECKED = "not checked"


class Skipped(Exception):
    """The host does not permit an experiment; the message is its reason."""


@dataclass
class LiveLab:
    """Runs a report's live experiments, on the simulator and on the host, and remembers them."""

    folder: Path
    conditions: Conditions = field(default_factory=Conditions)
    out: Path = Path("results")
    seeds: int | None = None
    on: str = "sim,host"
    progress: Progress = _silent
    #: Experiments that run only at one place.
    only: dict[str, str] = field(default_factory=dict)
    _done: dict[str, Results | Skipped] = field(default_factory=dict)

    def run(self, file: str) -> Results:
        """The results of an experiment file; raises `Skipped` where the host forbids it."""
        if file not in self._done:
            self._done[file] = self._run(file)
        done = self._done[file]
        if isinstance(done, Skipped):
            raise done
        return done

    def _run(self, file: str) -> Results | Skipped:
        set = [f"seeds={self.seeds}"] if self.seeds else []
        experiment = Experiment.from_toml(self.folder / f"{file}.toml", set)
        on = self.only.get(file, self.on)
        if not _places(on) <= _places(self.on):
            return Skipped(f"it runs on {on} only, and {self.on} was asked for")
        where = places(on, experiment, None, self.conditions)
        try:
            with self.progress(file) as progress:
                return experiment.run(self.out, progress=progress, places=where)
        except UsageError as why:
            return Skipped(str(why))

    def value(self, file: str, metric: str, on: str = "host", **factors: str) -> stats.Interval:
        """Mean and interval of a metric in the one cell that has these factors (dots written as two underscores)."""
        named = {name.replace("__", "."): value for name, value in factors.items()}
        results = self.run(file)
        place = {"on": on} if "on" in results.factors else {}
        return results.interval_at(metric, {**place, **named})


@dataclass(frozen=True)
class Live:
    """The live version of a report, carried out."""

    name: str
    title: str
    #: Title and results of each experiment, or why it was skipped.
    experiments: list[tuple[str, Results | Skipped]]
    claims: list[tuple[str, str, Finding]]


def names() -> list[str]:
    """The reports that have a live version."""
    return [name for name in reproductions.names() if (_folder(name) / "live.toml").exists()]


def carry_out(name: str, lab: LiveLab | None = None, **options: Any) -> Live:
    """Run the live version of a report; `options` are those of `LiveLab`."""
    folder = _folder(name)
    if not (folder / "live.toml").exists():
        raise UsageError(f"{name} has no live version; there are: {', '.join(names())}")
    spec: Mapping = tomllib.loads((folder / "live.toml").read_text(encoding="utf-8"))
    lab = lab or LiveLab(folder, **options)
    module = importlib.import_module(f"schedlab.reproductions.{folder.parent.name}.live.claims")
    lab.only = {entry["file"]: entry["on"] for entry in spec["experiment"] if "on" in entry}
    experiments = [(entry["title"], _or_skipped(lab, entry["file"])) for entry in spec["experiment"]]
    claims = [(claim["id"], claim["text"], _check(module, claim["id"], lab)) for claim in spec["claim"]]
    return Live(name, spec["title"], experiments, claims)


def _places(on: str) -> set[str]:
    """The places of `--on`."""
    return set(on.split(","))


def _folder(name: str) -> Path:
    return reproductions.folder(name) / "live"


def _or_skipped(lab: LiveLab, file: str) -> Results | Skipped:
    try:
        return lab.run(file)
    except Skipped as why:
        return why


def _check(module, claim: str, lab: LiveLab) -> Finding:
    try:
        return getattr(module, claim.replace("-", "_"))(lab)
    except Skipped as why:
        return Finding(NOT_CHECKED, f"skipped: {why}")
