"""The reports asked again: the same questions, of the kernel at hand, or of kernels in guests.

A report's folder may have a folder `host` and a folder `guest`, each with experiment files, `host.toml` or
`guest.toml`, and `claims.py`. ::

    title = "The quantum of 1990, on a live kernel"
    refused = "..."                  # instead of all that follows: why it cannot be asked there
    [[experiment]]
    file = "round_robin"             # round_robin.toml
    title = "under SCHED_RR"
    on = "host"                      # only there (or "guest"): the simulator does not model it
    [[claim]]
    id = "wait-is-quantum"           # the function wait_is_quantum of claims.py, given the `KernelRunner`
    text = "Under SCHED_RR a job that reads waits a quantum for each block."

What a target does not permit is skipped, with its own reason: the claims that rest on it are "not checked". With
several guests every claim is checked for each.
"""

import importlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schedlab import stats
from schedlab.errors import UsageError
from schedlab.experiment import Experiment
from schedlab.published import reproductions
from schedlab.published.reproduction import NOT_CHECKED, Finding, Progress, checked, no_progress
from schedlab.results import Results
from schedlab.targets.factory import targets
from schedlab.targets.host.conditions import Conditions
from schedlab.targets.names import HOST, kind_of, split

#: The kinds of targets that a report can be asked of; the folder of a version is named as its kind.
VERSIONS = ("host", "guest")


class Skipped(Exception):
    """A target does not permit an experiment; the message is its reason."""


@dataclass
class KernelRunner:
    """Runs a report's experiments, on the simulator and on real kernels, and remembers them."""

    folder: Path
    conditions: Conditions = field(default_factory=Conditions)
    out: Path = Path("results")
    seeds: int | None = None
    on: str = "sim,host"
    progress: Progress = no_progress
    #: Experiments that run only on one kind of target.
    only: dict[str, str] = field(default_factory=dict)
    #: The target that claims are about.
    measured: str = HOST
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
        kind = self.only.get(file)
        on = [name for name in split(self.on) if kind in (None, kind_of(name))]
        if not on:
            return Skipped(f"it runs on {kind} only, and {self.on} was asked for")
        where = targets(",".join(on), experiment, None, self.conditions)
        try:
            with self.progress(file) as progress:
                return experiment.run(self.out, progress=progress, targets=where)
        except UsageError as why:
            return Skipped(str(why))

    def value(self, file: str, metric: str, on: str | None = None, **factors: str) -> stats.Interval:
        """Mean and interval of a metric in the one cell that has these factors (dots written as two underscores)."""
        named = {name.replace("__", "."): value for name, value in factors.items()}
        results = self.run(file)
        target = {"on": on or self.measured} if "on" in results.factors else {}
        return results.interval_at(metric, {**target, **named})


@dataclass(frozen=True)
class Outcome:
    """A report asked again, carried out."""

    name: str
    title: str
    #: Title and results of each experiment, or why it was skipped.
    experiments: list[tuple[str, Results | Skipped]]
    claims: list[tuple[str, str, Finding]]


def names(version: str = HOST) -> list[str]:
    """The reports that have such a version."""
    return [name for name in reproductions.names() if (_spec(name, version)).exists()]


def version_for(on: str) -> str:
    """The version that suits the targets: of the host, or of guests."""
    found = {kind for name in split(on) if (kind := kind_of(name)) in VERSIONS}
    if len(found) != 1:
        raise UsageError(
            f"--on {on}: the reports are asked again of host or of guests, one or the other: host, guest:6.1"
        )
    return found.pop()


def ask_again(name: str, runner: KernelRunner | None = None, **options: Any) -> Outcome:
    """Ask a report again; `options` are those of `KernelRunner`."""
    version = version_for(runner.on if runner else options.get("on", KernelRunner.on))
    path = _spec(name, version)
    if not path.exists():
        raise UsageError(f"{name} has no version for {version} kernels; there are: {', '.join(names(version))}")
    spec: Mapping = tomllib.loads(path.read_text(encoding="utf-8"))
    if "refused" in spec:
        return Outcome(name, spec["title"], [(spec["title"], Skipped(spec["refused"]))], [])
    runner = runner or KernelRunner(path.parent, **options)
    module = importlib.import_module(f"schedlab.published.reproductions.{path.parent.parent.name}.{version}.claims")
    runner.only = {entry["file"]: entry["on"] for entry in spec["experiment"] if "on" in entry}
    experiments = [(entry["title"], _or_skipped(runner, entry["file"])) for entry in spec["experiment"]]
    claims = []
    for target in [target for target in split(runner.on) if kind_of(target) == version]:
        runner.measured = target
        of = f"{target}: " if version == "guest" else ""
        for claim in spec["claim"]:
            found = _check(module, claim["id"], runner)
            claims.append((claim["id"], claim["text"], found._replace(evidence=of + found.evidence)))
    return Outcome(name, spec["title"], experiments, claims)


def _spec(name: str, version: str) -> Path:
    return reproductions.folder(name) / version / f"{version}.toml"


def _or_skipped(runner: KernelRunner, file: str) -> Results | Skipped:
    try:
        return runner.run(file)
    except Skipped as why:
        return why


def _check(module, claim: str, runner: KernelRunner) -> Finding:
    try:
        return checked(getattr(module, claim.replace("-", "_")), runner)
    except Skipped as why:
        return Finding(NOT_CHECKED, f"skipped: {why}")
