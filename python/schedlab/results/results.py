"""Results: found, loaded, summarised and compared. Long, because all that can be asked of them is in one class."""

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedlab import _core, stats
from schedlab.errors import UsageError, closest, nearest
from schedlab.results import censored, compared, folders, store, tables
from schedlab.results.manifest import read_manifest
from schedlab.results.series import Series
from schedlab.results.summary import Means
from schedlab.specification import Cell, Specification
from schedlab.stats.comparison import Question
from schedlab.tables import Table, layout
from schedlab.tables.width import of_output
from schedlab.units import counted

if TYPE_CHECKING:
    import polars as pl

    from schedlab.pictures.picture import Picture
    from schedlab.pictures.swept import Figure
    from schedlab.results.best import Judged
    from schedlab.results.predicted import Prediction

#: Shown when an experiment names no metrics, as far as its runs have them.
USUAL_OF_JOB = ("real", "user", "sys")
USUAL_OF_SYSTEM = ("context_switches", "wakeup_latency.p99", "longest_gap")
#: How the warning of a run begins whose switches and wakeups are not known.
UNRECORDED = "the scheduler's events were not recorded"
#: How the warnings of runs begin that others have spoilt.
MARRED = ("void", "disturbed")
#: What is said where runs draw no random number, and each such cell was run once.
ALIKE = "the seeds change nothing{}: {} in place of {}; there is no interval of one run"
#: What is said where all runs of a cell are the same, though they draw random numbers.
SAME = (
    "the seeds change nothing: all {} runs of each {}cell are the same in every metric; --seeds 1 gives the same means"
)
#: Relative width of the interval of equal values, from rounding.
ROUNDING = 1e-9
#: Lines of `repr(results)`, and cells of which it tries to show the numbers.
REPR_LINES, REPR_CELLS = 10, 6
#: Cells that an error names.
NAMED_CELLS = 20


def load(path: str | Path = "results") -> "pl.DataFrame":
    """Every row of the experiments under `path`.

    Columns: experiment, scenario, engine, seed, metric, unit, value, factors, and seeded: false where the run is the
    same under every seed, and the only one of its scenario. A factor that an experiment does not have is null in its
    rows. `path` may name one experiment without the digest of its folder (`results/quantum`): the newest one is read.
    """
    from schedlab.results import frames

    return frames.read(_files(folders.newest(path)))


def query(sql: str, path: str | Path = "results") -> "pl.DataFrame":
    """Ask DuckDB; the rows under `path` are the table `results`."""
    import duckdb
    import polars as pl

    path = folders.newest(path)
    _files(path)
    with duckdb.connect() as connection:
        pattern = str(path / "**" / "*.parquet").replace("'", "''")
        source = f"read_parquet('{pattern}', union_by_name = true)"
        connection.execute(f"create view results as select * from {source}")
        return pl.DataFrame(connection.sql(sql))


def _files(path: Path) -> list[Path]:
    files = sorted(path.rglob("runs-*.parquet"))
    if not files:
        raise UsageError(f"no results under {path}; make some with: schedlab run FILE --out {path}")
    return files


#: The metric that counts tasks that wait for what can never come.
STUCK = "stuck"


@dataclass(frozen=True)
class Results:
    """The results of one experiment, read by column when asked for. `computed`: runs that were new this time."""

    name: str
    folder: Path
    manifest: dict[str, Any]
    metrics: list[str]
    #: Hashes of the scenarios, and the factors that each of them has.
    scenarios: list[str]
    computed: int = 0

    @classmethod
    def of(
        cls, experiment: Specification, cells: list[Cell], folder: Path, computed: int = 0, manifest: dict | None = None
    ) -> "Results":
        """The runs of this experiment in `folder`; it may hold more seeds than were requested.

        Its manifest is read, unless it is given.
        """
        metrics = experiment.definition.get("metrics") or []
        manifest = read_manifest(folder) if manifest is None else manifest
        return cls(experiment.name, folder, manifest, metrics, [cell.hash for cell in cells], computed)

    @classmethod
    def open(cls, path: str | Path) -> "Results":
        """The results in a folder that `run` made, as last requested; `results/NAME` is the newest of that name."""
        folder = folders.newest(path)
        manifest = read_manifest(folder)
        if not manifest:
            raise UsageError(f"{folder} is no results folder: it has no manifest.json; see: schedlab list results")
        experiment = Specification(manifest["name"], manifest["experiment"])
        metrics, scenarios = experiment.definition.get("metrics") or [], [c["scenario"] for c in manifest["cells"]]
        return cls(experiment.name, folder, manifest, metrics, scenarios)

    @property
    def factors(self) -> list[str]:
        """Names of the swept fields."""
        return list(self.manifest["cells"][0]["factors"])

    @property
    def goal(self) -> dict[str, list[str]]:
        """The metrics that should be less (`minimize`) or more (`maximize`), as far as the experiment says."""
        return self.manifest["experiment"].get("goal", {})

    @cached_property
    def seeds(self) -> list[int]:
        """The requested seeds."""
        return Specification(self.name, self.manifest["experiment"]).seeds

    @cached_property
    def frame(self) -> "pl.DataFrame":
        """Every row: experiment, scenario, engine, seed, metric, unit, value, factors, seeded."""
        import polars as pl

        from schedlab.results import frames

        rows = frames.read(store.files(self.folder), self.scenarios, self.seeds)
        # Where every run was void, there is no file to have the factors' columns.
        return rows.with_columns(pl.lit(None, pl.String).alias(n) for n in self.factors if n not in rows.columns)

    @cached_property
    def known_metrics(self) -> list[str]:
        """Names of the metrics that the runs have."""
        return store.metrics(store.files(self.folder), self._runs)

    def values_of(self, metrics: Iterable[str]) -> Series:
        """The values of some metrics, by scenario and metric."""
        return store.values(store.files(self.folder), self._runs, metrics)

    @cached_property
    def _runs(self) -> _core.Runs:
        """The runs of these scenarios and seeds, as the engine takes them."""
        return _core.Runs(self.scenarios, self.seeds)

    @property
    def notes(self) -> list[str]:
        """What is to be said with every number of a target, and whether the seeds change any."""
        targets = self.manifest.get("places", {})
        notes = [f"{name}: {about['note']}" for name, about in targets.items() if about.get("note")]
        cells = len(self.manifest["cells"])
        total = cells * len(self.seeds)
        if self.skipped:
            where = "" if len(self.alike) == cells else f" in {len(self.alike)} of {cells} cells"
            notes.append(ALIKE.format(where, counted(total - self.skipped, "run"), total))
        if self.seeds_change_nothing and len(self.alike) < cells:
            notes.append(SAME.format(len(self.seeds), "other " if self.alike else ""))
        return notes

    @cached_property
    def alike(self) -> dict[str, int]:
        """The scenarios in whose runs nothing is drawn, and the seed of the one run that stands for all seeds."""
        if len(self.seeds) == 1 and not self.manifest["warnings"]:
            return {}
        known, own = store.alike(store.files(self.folder)), set(self.scenarios)
        return {scenario: seed for scenario, seed in known.items() if scenario in own}

    @property
    def skipped(self) -> int:
        """How many of the requested runs are not there, since another seed's stands for them."""
        return (len(self.seeds) - 1) * len(self.alike)

    @cached_property
    def lacking(self) -> int:
        """How many of the requested runs are not there, and no other one stands for them."""
        there = [store.index(file) for file in store.files(self.folder)]
        return sum(len(own) for _, own in _core.lacking(there, self.scenarios, self.seeds))

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return len(self.manifest["cells"]) * len(self.seeds) - self.skipped - self.lacking

    @property
    def repeats(self) -> int:
        """The runs of each cell; of some cells there is only one."""
        return 1 if len(self.alike) == len(self.manifest["cells"]) else len(self.seeds)

    @cached_property
    def seeds_change_nothing(self) -> bool:
        """Whether all runs of each cell are the same in every metric, of several that were simulated."""
        if len(self.seeds) < 2 or any(cell["on"].partition(":")[0] != "sim" for cell in self.manifest["cells"]):
            return False
        if self.repeats == 1:
            return True
        # What is shown is looked at first: in most sweeps that decides it.
        counted = 0
        for one in self._shown.values():
            if one["n"] and one["scenario"] not in self.alike:
                if one["n"] < 2 or one["high"] - one["low"] > ROUNDING * abs(one["mean"]):
                    return False
                counted += 1
        drawn = [scenario for scenario in self.scenarios if scenario not in self.alike]
        return counted > 0 and store.are_same(store.files(self.folder), drawn, self.seeds)

    @property
    def ignored(self) -> dict[str, list[str]]:
        """What each target ignored of the experiment."""
        targets = self.manifest.get("places", {})
        return {name: about["ignored"] for name, about in targets.items() if about.get("ignored")}

    @property
    def noisy(self) -> list[str]:
        """The targets whose numbers differ from run to run beyond what the seeds do."""
        return [name for name, about in self.manifest.get("places", {}).items() if about.get("noisy")]

    @property
    def warnings(self) -> list[dict]:
        """What may mislead: scenario, warning, and the seeds in which it was seen.

        What the runs' ends cut off is reported as far as it could change a number that is shown.
        """
        asked = set(self.seeds)
        meant = lambda one: asked | {self.alike.get(one["scenario"], self.seeds[0])}  # noqa: E731
        warnings = (one | {"seeds": sorted(meant(one).intersection(one["seeds"]))} for one in self.manifest["warnings"])
        said = [one for one in warnings if one["seeds"]]
        return said + censored.warnings(self.known_metrics, self.values_of, self.shown_metrics)

    @property
    def missing(self) -> list[str]:
        """The requested metrics that no run has: what is wrong, and the nearest that is there.

        Empty where the scheduler's events were not recorded: the warning that says so says what is left out.
        """
        known = self.known_metrics
        if not known or any(one["warning"].startswith(UNRECORDED) for one in self.manifest["warnings"]):
            return []
        missing = [asked for asked in self.metrics if not any(_is_meant(name, asked) for name in known)]
        return [f"{name!r}{self._why_missing(name)}; did you mean {closest(name, known)!r}?" for name in missing]

    def _why_missing(self, name: str) -> str:
        """Why a metric has no value, or what to do where only its absence is known."""
        count = f"{name.rpartition('.')[0]}.count"
        counts = [value for one in self.values_of([count]).values() for value in one.values]
        if counts and not any(counts):
            return f" (there are no values: {count} is 0)"
        return " (nothing in these runs gives it a value: make them longer, or take it out of metrics)"

    @cached_property
    def stuck(self) -> bool:
        """Whether tasks of a run wait for what can never come."""
        return STUCK in self.known_metrics and _any_stuck(self.values_of([STUCK]))

    def summary(self, metrics: str | Sequence[str] | None = None) -> "pl.DataFrame":
        """Mean and 95 % interval over seeds: a row per cell and metric.

        `metrics` are names as in an experiment file (`"tasks.*.real"`), `"*"` for all that the runs have, or None for
        those that the experiment requests.
        Columns: the factors, scenario, metric, unit, n, mean, low, high. Bounds are null for a single run, which
        a cell has also where its runs draw no random number.
        """
        import polars as pl

        texts = dict.fromkeys([*self.factors, "scenario", "metric", "unit"], pl.String)
        numbers = dict.fromkeys(["mean", "low", "high"], pl.Float64)
        return pl.DataFrame(self.entries(metrics), schema=texts | {"n": pl.Int64} | numbers, orient="row")

    def entries(self, metrics: str | Sequence[str] | None = None) -> list[dict[str, Any]]:
        """The rows of `summary` one by one; `of` is the number of runs."""
        return list((self._shown if metrics is None else self._means(metrics)).values())

    @cached_property
    def _shown(self) -> Means:
        names = self.shown_metrics
        # The question whether tasks are stuck follows every table, and reading takes the time whatever the columns.
        known = [STUCK] if STUCK in self.known_metrics else []
        found = self.values_of([*names, *known])
        self.__dict__.setdefault("stuck", _any_stuck(found))
        return self._summary(names, found)

    def _means(self, metrics: str | Sequence[str]) -> Means:
        names = self.meant([metrics] if isinstance(metrics, str) else metrics)
        return self._summary(names, self.values_of(names))

    def _summary(self, names: Sequence[str], found: Series) -> Means:
        repeats = lambda scenario: 1 if scenario in self.alike else len(self.seeds)  # noqa: E731
        return Means(self.manifest["cells"], names, found, repeats)

    def interval(self, metric: str, **factors: str) -> stats.Interval:
        """Mean and 95 % interval of one metric in the one cell that has these factors.

        Write the dots of a field path as two underscores: `scheduler__slice="36ms"`.
        """
        return self.interval_at(metric, {name.replace("__", "."): value for name, value in factors.items()})

    def interval_at(self, metric: str, factors: dict[str, str]) -> stats.Interval:
        """As `interval`, with the factors as a dictionary."""
        return stats.mean_interval(self.values(metric, factors)["value"])

    def values(self, metric: str, factors: dict[str, str]) -> "pl.DataFrame":
        """The rows of one metric in the one cell that has these factors, a row per run."""
        import polars as pl

        cell = self.cell(factors)
        rows = self.frame.filter(pl.col("scenario") == cell["scenario"], pl.col("metric") == metric)
        if rows.is_empty():
            self._know([metric])
            raise UsageError(f"{self.name}: no run of this cell has {metric}")
        return rows

    def differences(
        self,
        metric: str | list[str] | None,
        baseline: dict[str, str] | str,
        within: float | None = None,
        of: str = "mean",
        sequence: bool = False,
    ) -> "pl.DataFrame":
        """Every cell compared with its baseline, paired by seed: the difference, and whether it is chance.

        `baseline` gives factors, `{"scheduler.slice": "100ms"}` or `"scheduler.slice=100ms"`. If only one cell has
        them, that is the baseline of all; else a cell's is the one that has them and the cell's own other factors.
        `metric` is one, several, or None for those that the experiment shows. `within` is a share of the baseline
        (0.02) up to which values count as the same; `of` what is compared of the repeats: "mean", "median", "p90".
        All rows are judged together: `adjusted` is p of the family. `sequence`: so that one may look after every pair.

        Columns: the factors, scenario, baseline (its scenario), metric, unit, n (pairs), mean (the difference), low,
        high (95 %, of each row alone), relative (to the baseline), p, adjusted, verdict ("real", "same", "no worse",
        "not shown", "too few"), of, bounded ("same" or "no worse" if that holds, besides the verdict), more (about how
        many more repeats would give a verdict), test ("permutation", "student", "e-process", "certain").
        """
        cells = [cell["factors"] for cell in self.manifest["cells"]]
        pairs = self._baselines(read_baseline(baseline, cells) if isinstance(baseline, str) else baseline)
        metrics = self.shown_metrics if metric is None else [metric] if isinstance(metric, str) else metric
        self._know(metrics)
        found = self.values_of(metrics)
        both = [
            compared.Both(cell, base, found, found, (cell["scenario"] in self.alike, base["scenario"] in self.alike))
            for cell, base in pairs
        ]
        exact = all(cell["on"] == "sim" for of_both in pairs for cell in of_both)
        rows = compared.rows(both, metrics, Question(of, within, exact, sequence), self.goal)
        return compared.frame(rows, self.factors)

    def judged(self, baseline: dict[str, str] | str | None = None, within: float | None = None) -> "Judged":
        """Which cell is best in each metric that is shown or in the goal, by how much, and whether that is shown.

        `baseline` and `within` are as in `differences`; without a baseline cells of the same work (workload, machine,
        duration) are compared with the first of them. `schedlab.results.verdict` says it in words.
        """
        from schedlab.results import best, conditions

        cells = self.manifest["cells"]
        own = best.groups(cells)
        if baseline is not None:
            levels = [cell["factors"] for cell in cells]
            own = best.groups_of(
                self._baselines(read_baseline(baseline, levels) if isinstance(baseline, str) else baseline)
            )
        asked = [*self.goal.get("minimize", ()), *self.goal.get("maximize", ())]
        metrics = list(dict.fromkeys([*self._of(asked, self.known_metrics), *self.shown_metrics]))
        bounds = {f"{name}_low": name for name in metrics if f"{name}_low" in self.known_metrics}
        keep = conditions.of(self.manifest["experiment"])
        found = self.values_of([*metrics, *bounds, *(one.metric for one in keep)])
        cut = {name: sum((one, low) in found for one in self.scenarios) for low, name in bounds.items()}
        question = Question(within=within, exact=all(cell["on"] == "sim" for cell in cells))
        means = self._summary(metrics, found)
        said = [(one["warning"], len(one["seeds"])) for one in self.manifest["warnings"]]
        marred = {word: sum(runs for text, runs in said if text.startswith(f"{word} in")) for word in MARRED}
        words = " and ".join(one.text for one in keep)
        kept = (words, conditions.holding(keep, self.scenarios, found)) if keep else None
        about = (self.alike, self.repeats, question, self.goal, cut, marred, kept)
        return best.judged(cells, own, metrics, found, means, *about)

    def predictions(self, within: float | None = None) -> "list[Prediction]":
        """The simulator's numbers next to those of kernels with the same factors; see `schedlab.results.predicted`."""
        from schedlab.results import predicted

        cells, metrics = self.manifest["cells"], self.shown_metrics
        if not any(predicted.pairs(cells)):
            return []
        found = self.values_of(metrics)
        return predicted.predictions(cells, metrics, found, self._summary(metrics, found), self.alike, within)

    def _baselines(self, factors: dict[str, str]) -> list[tuple[dict, dict]]:
        """Each cell that is not a baseline, with the one it is compared with."""
        cells = self.manifest["cells"]
        if sum(factors.items() <= cell["factors"].items() for cell in cells) == 1:
            only = self.cell(factors)
            return [(cell, only) for cell in cells if cell is not only]
        # All cells have the same factors in the same order, and no two have the same values of all.
        at = {tuple(cell["factors"].values()): cell for cell in cells}
        compared = [(cell, cell["factors"] | factors) for cell in cells]
        bases = [(cell, at.get(tuple(wanted.values())) or self.cell(wanted)) for cell, wanted in compared]
        return [(cell, base) for cell, base in bases if cell is not base]

    def _know(self, metrics: list[str]) -> None:
        for name in metrics:
            if name not in self.known_metrics:
                raise UsageError(f"{self.name} has no metric {name!r}; {nearest(name, self.known_metrics)}")

    def meant(self, metrics: Sequence[str]) -> list[str]:
        """The metrics that names with `*` match; refused if one matches none."""
        known = self.known_metrics
        self._know([name for name in metrics if not self._of([name], known)])
        return self._of(metrics, known)

    @staticmethod
    def _of(metrics: Sequence[str], known: Sequence[str]) -> list[str]:
        return list(dict.fromkeys(name for asked in metrics for name in known if _is_meant(name, asked)))

    def cell(self, factors: dict[str, str]) -> dict[str, Any]:
        """The manifest's entry of the one cell that has these factors."""
        cells = self.manifest["cells"]
        found = [c for c in cells if all(c["factors"].get(name) == value for name, value in factors.items())]
        if len(found) != 1:
            given = ", ".join(f"{k} = {v}" for k, v in factors.items()) or "no factors"
            possible = found or cells
            which = [", ".join(f"{k} = {v}" for k, v in c["factors"].items()) for c in possible[:NAMED_CELLS]]
            which += [counted(len(possible) - NAMED_CELLS, "more cell")] if len(possible) > NAMED_CELLS else []
            raise UsageError(f"{self.name}: {len(found)} cells have {given}; choose one of: {'; '.join(which)}")
        return found[0]

    @property
    def shown_metrics(self) -> list[str]:
        """The metrics that the experiment requests, or a short useful choice."""
        known = self.known_metrics
        if self.metrics:
            return self._of(self.metrics, known)
        defined = [cell.get("definition", self.manifest["experiment"]) for cell in self.manifest["cells"]]
        jobs = dict.fromkeys(job for one in defined for job in one.get("workload", {}))
        usual = [f"tasks.{job}.{name}" for job in jobs for name in USUAL_OF_JOB] + list(USUAL_OF_SYSTEM)
        return [name for name in usual if name in known] or known[:8]

    def summary_tables(self) -> tuple[Table, list[list[Table]]]:
        """The table of means, a row for each cell; and other forms of it for where that does not fit: jobs as rows."""
        given = (self.manifest["cells"], self.shown_metrics, self._shown)
        parts = tables.by_job(*given)
        return tables.summary(*given), [parts] if parts else []

    def differences_table(self, found: "pl.DataFrame", within: float | None = None) -> Table:
        """What `differences` found: the difference with its interval, as a share, and in a word."""
        return tables.differences(self.factors, found.to_dicts(), len(self.seeds), self.alike, within)

    def figures(self, metrics: Sequence[str], judged: "Judged | None" = None) -> "list[Figure]":
        """Charts and heat maps of the metrics if anything was swept, and all percentiles of each distribution.

        With a judgement the best and the acceptable cells are marked.
        """
        from schedlab.pictures import swept

        marks = judged.marks if judged else {}
        return swept.figures(self.manifest["cells"], metrics, self.known_metrics, self._means, marks)

    def scenario(self, cell: dict[str, Any]) -> dict[str, Any]:
        """The scenario of a manifest's cell, its machine put back.

        Of a large sweep it is made again; refused if the engine makes another one of it by now.
        """
        if "definition" in cell:
            return {**cell["definition"], "machine": self.manifest["machines"][cell["machine"]]}
        if found := self._made_again.get(cell["scenario"]):
            return found.scenario
        engine = self.manifest["versions"]["engine"]
        raise UsageError(f"{self.folder}: engine {engine} made another scenario of this cell; run the experiment again")

    @cached_property
    def _made_again(self) -> dict[str, Cell]:
        return {cell.hash: cell for cell in Specification(self.name, self.manifest["experiment"]).cells()}

    def plot(
        self,
        what: str | None = None,
        cell: dict[str, str] | None = None,
        start: str | None = None,
        end: str | None = None,
    ) -> "Picture":
        """A picture that a notebook shows, as on the page of `schedlab report`.

        `what` is a metric (`"tasks.*.real"`), a distribution for all its percentiles (`"tasks.io.response"`), or
        `"schedule"`; the first metric shown if left out. A schedule is simulated, of the one `cell` that has these
        factors, with the first seed, from `start` to `end` (`"150ms"`), or around the first wakeup that waits longer
        than the median.
        """
        from schedlab.pictures.picture import Picture

        if what == "schedule":
            from schedlab.pictures import schedule

            shown = self.cell(cell) if cell else self.manifest["cells"][0]
            run = {"scenario": self.scenario(shown), "seed": self.seeds[0]}
            stretch = schedule.between(start, end) if start or end else schedule.of_run(run)
            return Picture(schedule.drawn(run, stretch))
        percentiles = rf"{re.escape(what or '')}\.p\d+"
        of = [name for name in self.known_metrics if what and re.fullmatch(percentiles, name)]
        figures = self.figures(of[:1] or (self.meant([what]) if what else self.shown_metrics))
        picked = figures[-1] if of else next(iter(figures), None)
        if picked is None:
            raise UsageError(f"{self.name}: nothing was swept: there is no chart of {what or 'a metric'}")
        return Picture(picked.drawings[0].document())

    def __repr__(self) -> str:
        """What was run and the first numbers, in at most ten lines."""
        cells, metrics = len(self.manifest["cells"]), len(self.shown_metrics)
        about = [counted(cells, "cell"), counted(len(self.seeds), "seed"), counted(metrics, "metric")]
        about += [counted(len(self.warnings), "warning")] if self.warnings else []
        head = f"{self.name}: {', '.join(about)}; {self.folder}"
        table, others = self.summary_tables()
        for shown in range(min(cells, REPR_CELLS), 0, -1):
            # Jobs as rows take several rows a cell: only a whole table can be shown so.
            part = Table(table.columns, table.rows[:shown])
            lines = layout.lines(part, of_output(sys.stdout), others if shown == cells else [])
            rest = [f"  … {counted(cells - shown, 'more cell')}: summary()"] if shown < cells else []
            if len(lines) + len(rest) < REPR_LINES:
                return "\n".join([head, *map(layout.text, lines), *rest])
        return f"{head}\n  metrics: {', '.join(self.shown_metrics)}\n  their means and intervals: summary()"

    def _repr_html_(self) -> str:
        from schedlab.results import notebook

        judged = self.judged()
        table, left = self.summary_tables()[0].shortened()
        notes = [*self.notes, *([f"{left}: summary() has all of them"] if left else [])]
        figures = self.figures(self.shown_metrics, judged)
        return notebook.html(judged, figures, table, self.manifest["question"] or self.name, notes)


def read_baseline(text: str, cells: list[dict[str, str]]) -> dict[str, str]:
    """Read `KEY=VALUE,KEY=VALUE` of what `cells` have; a comma that no known KEY= follows is part of a value."""
    names = list(cells[0])
    keys = "|".join(re.escape(name) for name in names)
    given = dict(part.partition("=")[::2] for part in (re.split(rf",(?=(?:{keys})=)", text) if keys else [text]))
    for name, value in given.items():
        if name not in names:
            raise UsageError(f"--baseline {text}: {name!r} is not swept; {nearest(name, names)}")
        known = list(dict.fromkeys(cell[name] for cell in cells))
        if value not in known:
            raise UsageError(f"--baseline {text}: no cell has {name} = {value!r}; {nearest(value, known)}")
    return given


def _is_meant(name: str, asked: str) -> bool:
    """Whether `asked`, in which `*` matches any job or nice level, means the metric `name`."""
    return re.fullmatch(re.escape(asked).replace(r"\*", ".+"), name) is not None


def _any_stuck(values: Series) -> bool:
    # A number of tasks is never negative.
    return (values.largest(STUCK) or 0) > 0
