"""Rebuilds a published report: computes every row, compares it with the printed number, and judges.

`rows.toml` says what is computed. A `[[row]]` describes a row for each combination of the values of its `each`::

    [tolerance.real]                          # how far a prediction may be from print; exactly one of the two
    relative = 0.10                           # a share of the published value, or: absolute = 0.7 (in `unit`)
    reason = "a stopwatch in whole seconds"
    afterwards = "0.12 at first"              # only if it was set or changed after the numbers had been seen: what was

    [[row]]
    each = { counter = ["real", "sys"], slice = ["100ms", "18ms"] }
    id = "io.idle.{counter}@{slice}"
    experiment = "io_idle"                    # io_idle.toml in this folder
    cell = { "scheduler.slice" = "{slice}" }  # the one cell of the experiment that has these factors
    metric = "tasks.io.{counter}"             # or a sum, added up run by run: "idle + io_wait"
    unit = "s"                                # one of the report's own needs `scale = 100`: 100 in the metric's
    tolerance = "{counter}"
    published = { match = { job = "io", quantum_s = "{slice}" }, value = "idle.{counter}" }

A value of `each` may be a table of names that go together: `{c[metric]}` is the one called `metric`.

`published` finds the entry of `[[row]]` in published.toml (or of another list: `table = "q1.row"`) whose keys match;
a duration matches the number of seconds under a key that ends in `_s`. No such entry: the row was not printed. Where a
range was printed, `value` and `high` name its ends, and the error is the distance to the nearest value of the range.
A row that follows from others has, in place of `cell` and `metric`, a `rule`: the function of claims.py that takes the
rows above it and the `ReportRunner`, and returns a value with the bounds of its range.
`[[figure]]` and `[[schedule]]` are for the page: see `schedlab.report.reproduced`.

`question` is what the report asked, in a line. `[blind]` says how many rows were judged before their published values
were known here, and how many were predicted.

`claims.py` has a function for each claim, named as its id with underscores; it takes the computed rows by id and a
`ReportRunner` for further experiments, and returns a `Finding`. A claim or rule whose bounds were set after the numbers
had been seen has `@set_afterwards("what was set")`; every verdict that rests on it is then shown with a mark and a
note. tests/test_judged.py holds the tolerances and claims that carry no mark to what they were when first judged.
"""

import importlib
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Literal, NamedTuple

import polars

from schedlab import stats
from schedlab.experiment import Experiment
from schedlab.published import reproductions
from schedlab.published.rows import Row, RowSpec, Score, Tolerance, expand
from schedlab.results import Results
from schedlab.stats import Interval
from schedlab.units import convert

Progress = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]


class Finding(NamedTuple):
    """The verdict on a claim, and the numbers that support it."""

    verdict: Literal["holds", "holds in part", "does not hold", "not shown", "not modelled", "not checked"]
    evidence: str
    #: What of its bounds was set after the numbers had been seen; empty if nothing was.
    afterwards: str = ""

    @classmethod
    def that(cls, holds: bool, evidence: str) -> "Finding":
        """A claim that either holds or does not."""
        return cls("holds" if holds else "does not hold", evidence)

    def as_json(self) -> dict[str, str | None]:
        """The form that --json prints."""
        return {"verdict": self.verdict, "evidence": self.evidence, "set_afterwards": self.afterwards or None}


#: How several claims are said to have a verdict that is a verb.
PLURAL = {"holds": "hold", "holds in part": "hold in part", "does not hold": "do not hold"}


def tally(verdicts: Iterable[str]) -> str:
    """How often each verdict was given: "2 hold, 1 does not hold"."""
    counts = Counter(verdicts)
    return ", ".join(f"{n} {verdict if n == 1 else PLURAL.get(verdict, verdict)}" for verdict, n in counts.items())


#: The verdict of a claim that no function checks, or whose experiment was skipped.
NOT_CHECKED = "not checked"
#: Follows every verdict that rests on a bound set after the numbers had been seen.
MARK = "†"


def set_afterwards(what: str) -> Callable[[Callable], Callable]:
    """Mark a claim or rule: `what` of its bounds was set or changed after the numbers had been seen."""

    def mark(function: Callable) -> Callable:
        function.afterwards = what
        return function

    return mark


def checked(check: Callable[..., Finding], *given: Any) -> Finding:
    """What a claim's function finds, with what it is marked with."""
    return check(*given)._replace(afterwards=getattr(check, "afterwards", ""))


def with_mark(verdict: str, afterwards: str) -> str:
    """A verdict as shown."""
    return f"{verdict} {MARK}" if afterwards else verdict


def notes(judged: Iterable[tuple[str, str]]) -> list[str]:
    """The notes below a table, from ids and what was set afterwards for each; ids of one note are listed together."""
    ids: dict[str, list[str]] = {}
    for name, afterwards in judged:
        if afterwards:
            ids.setdefault(afterwards, []).append(name)
    return [f"{MARK} set after the numbers had been seen: {text} ({', '.join(names)})" for text, names in ids.items()]


@dataclass(frozen=True)
class Report:
    """A report as stored in its folder."""

    name: str
    folder: Path
    published: dict[str, Any]
    rows: list[RowSpec]
    figures: list[dict[str, Any]]
    schedules: list[dict[str, Any]]
    #: As judged before the published values of these rows were known here; rows are counted as they were then.
    blind: Score | None = None
    #: What it asked, in a line.
    question: str = ""

    @classmethod
    def load(cls, name: str) -> "Report":
        """Read the folder of a report."""
        folder = reproductions.folder(name)
        published = reproductions.published(name)
        text = (folder / "rows.toml").read_text(encoding="utf-8")
        spec = tomllib.loads(text)
        tolerances = {key: Tolerance(**given) for key, given in spec["tolerance"].items()}
        rows = [row for entry in spec["row"] for row in expand(entry, published, tolerances)]
        pictures = spec.get("figure", []), spec.get("schedule", [])
        blind = Score(**spec["blind"]) if "blind" in spec else None
        return cls(folder.name.replace("_", "-"), folder, published, rows, *pictures, blind, spec.get("question", ""))

    @property
    def fit_rows(self) -> list[RowSpec]:
        """The rows that free values may be set by."""
        return [row for row in self.rows if row.use == "fit"]

    def experiment(self, file: str, set: Sequence[str] = ()) -> Experiment:
        """An experiment file of the folder, by its stem."""
        return Experiment.from_toml(self.folder / f"{file}.toml", set)


@contextmanager
def no_progress(title: str):
    """Shows nothing."""
    yield lambda done, total: None


@dataclass
class ReportRunner:
    """Runs a report's experiments and remembers them. `seeds` overrides the number that the files ask for."""

    report: Report
    out: Path = Path("results")
    seeds: int | None = None
    threads: int | None = None
    progress: Progress = no_progress
    _done: dict[tuple, Results] = field(default_factory=dict)

    def run(self, file: str, sweep: Mapping[str, Sequence[str]] | None = None, set: Sequence[str] = ()) -> Results:
        """The results of an experiment file, with further values swept or fields overridden."""
        key = (file, repr(sweep), tuple(set))
        if key not in self._done:
            experiment = self.report.experiment(file, set)
            experiment = experiment.sweep(sweep) if sweep else experiment
            experiment = experiment.replace(seeds=self.seeds) if self.seeds else experiment
            with self.progress(f"{self.report.name}: {file}") as progress:
                self._done[key] = experiment.run(self.out, self.threads, progress=progress)
        return self._done[key]

    def value(self, file: str, metric: str, unit: str = "s", cell: Mapping[str, str] | None = None, **run) -> Interval:
        """Mean and interval of one metric in one cell; `run` as for `ReportRunner.run`."""
        return _in_unit(self.run(file, **run), metric, dict(cell or {}), unit)

    def each(self, file: str, metric: str, cell: Mapping[str, str] | None = None, **run) -> polars.Series:
        """A metric, or a sum of metrics, in one cell: a value per seed, in the order of the seeds."""
        return _each(self.run(file, **run), metric, dict(cell or {}))[0]

    @property
    def results(self) -> list[Results]:
        """Everything that was run so far."""
        return list(self._done.values())


@dataclass(frozen=True)
class Outcome:
    """A report, rebuilt."""

    report: Report
    rows: list[Row]
    claims: dict[str, Finding]
    runner: ReportRunner

    @property
    def kept_back(self) -> Score:
        """Of the published values that nothing may be fitted to: how many are predicted."""
        return self._score("test")

    @property
    def fitted(self) -> Score:
        """Of the published values that free values were set by: how many are met."""
        return self._score("fit")

    def _score(self, use: str) -> Score:
        verdicts = [row.verdict for row in self.rows if row.spec.use == use]
        return Score(len(verdicts) - verdicts.count("missed"), len(verdicts))

    def notes(self) -> list[str]:
        """What verdicts rest on that was set after the numbers had been seen."""
        rows = [(row.spec.id, row.afterwards) for row in self.rows]
        return notes(rows + [(name, finding.afterwards) for name, finding in self.claims.items()])

    def as_json(self) -> dict[str, Any]:
        """The form that `schedlab reproduce --json` prints."""
        return {
            "report": self.report.name,
            "rows": [
                {
                    "id": row.spec.id,
                    "unit": row.spec.unit,
                    "published": row.spec.published,
                    "use": row.spec.use,
                    "predicted": _finite(row.predicted),
                    "low": _finite(row.low),
                    "high": _finite(row.high),
                    "verdict": row.verdict,
                    "set_afterwards": row.afterwards or None,
                    "published_high": row.spec.published_high,
                }
                for row in self.rows
            ],
            "claims": [{"id": name, **finding.as_json()} for name, finding in self.claims.items()],
            "kept_back": self.kept_back._asdict(),
            "judged_blind": self.report.blind._asdict() if self.report.blind else None,
        }


def _finite(value: float) -> float | None:
    """A rule may find that there is no such value, which JSON calls null."""
    return value if isfinite(value) else None


def reproduce(name: str, runner_options: Mapping[str, Any] | None = None) -> Outcome:
    """Rebuild a report; `runner_options` are those of `ReportRunner`."""
    report = Report.load(name)
    runner = ReportRunner(report, **(runner_options or {}))
    module = importlib.import_module(f"schedlab.published.reproductions.{report.folder.name}.claims")
    by_id: dict[str, Row] = {}
    for spec in report.rows:
        by_id[spec.id] = _derive(spec, module, by_id, runner) if spec.rule else _compute(spec, runner)
    claims = {c["id"]: _check(module, c["id"], by_id, runner) for c in report.published.get("claim", [])}
    return Outcome(report, list(by_id.values()), claims, runner)


def _derive(spec: RowSpec, module, rows: Mapping[str, Row], runner: ReportRunner) -> Row:
    rule = getattr(module, spec.rule)
    value, low, high = rule(rows, runner)
    seeds = len(runner.run(spec.experiment).seeds)
    return Row(spec, value, low, high, "", seeds, getattr(rule, "afterwards", ""))


def _compute(spec: RowSpec, runner: ReportRunner) -> Row:
    results = runner.run(spec.experiment)
    mean, low, high, n = _in_unit(results, spec.metric, spec.cell, spec.unit, spec.scale)
    return Row(spec, mean, low, high, results.cell(spec.cell)["scenario"], n)


def _in_unit(results: Results, metric: str, cell: dict[str, str], unit: str, scale: float | None = None) -> Interval:
    values, own = _each(results, metric, cell)
    mean, low, high, n = stats.mean_interval(values)
    mean, low, high = ((value * scale) if scale else convert(value, own, unit) for value in (mean, low, high))
    return Interval(mean, low, high, n)


def _each(results: Results, metric: str, cell: dict[str, str]) -> tuple[polars.Series, str]:
    """The values of a metric or a sum of metrics by seed, and their unit."""
    parts = [results.values(name, cell).sort("seed") for name in metric.split(" + ")]
    return sum((part["value"] for part in parts[1:]), parts[0]["value"]), parts[0]["unit"][0]


def _check(module, claim: str, rows: Mapping[str, Row], runner: ReportRunner) -> Finding:
    check = getattr(module, claim.replace("-", "_"), None)
    return checked(check, rows, runner) if check else Finding(NOT_CHECKED, "no check has been written for this claim")
