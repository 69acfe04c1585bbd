"""Results: found, loaded and summarised.

A results folder is plain Parquet, a row per run and metric, so anything can read it::

    schedlab.results.load("results")                       # a polars frame of every experiment
    schedlab.results.query("select metric, avg(value) from results group by metric")
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from schedlab import stats, store
from schedlab.errors import UsageError, nearest
from schedlab.experiment import Cell, Experiment


def load(path: str | Path = "results") -> pl.DataFrame:
    """Every row of the experiments under `path`: experiment, scenario, engine, seed, metric, unit, value, factors.

    A factor that an experiment does not have is null in its rows.
    """
    return store.read(_files(Path(path)))


def query(sql: str, path: str | Path = "results") -> pl.DataFrame:
    """Ask DuckDB; the rows under `path` are the table `results`."""
    import duckdb

    _files(Path(path))
    with duckdb.connect() as connection:
        pattern = str(Path(path) / "**" / "*.parquet").replace("'", "''")
        source = f"read_parquet('{pattern}', union_by_name = true)"
        connection.execute(f"create view results as select * from {source}")
        return pl.DataFrame(connection.sql(sql))


def _files(path: Path) -> list[Path]:
    files = sorted(path.rglob("runs-*.parquet"))
    if not files:
        raise UsageError(f"no results under {path}; make some with: schedlab run FILE --out {path}")
    return files


@dataclass(frozen=True)
class Results:
    """The results of one experiment. `computed` is how many runs were new this time."""

    name: str
    folder: Path
    frame: pl.DataFrame
    manifest: dict[str, Any]
    metrics: list[str]
    computed: int = 0

    @classmethod
    def of(cls, experiment: Experiment, cells: list[Cell], folder: Path, computed: int = 0) -> "Results":
        """The runs of this experiment in `folder`; it may hold more seeds than were asked for."""
        rows = store.read(sorted(folder.glob("runs-*.parquet")))
        frame = rows.filter(
            pl.col("scenario").is_in([cell.hash for cell in cells]), pl.col("seed").is_in(experiment.seeds)
        )
        metrics = experiment.definition.get("metrics") or []
        return cls(experiment.name, folder, frame, store.read_manifest(folder), metrics, computed)

    @classmethod
    def open(cls, path: str | Path) -> "Results":
        """The results in a folder that `run` made, as asked for last."""
        folder = Path(path)
        manifest = store.read_manifest(folder)
        if not manifest:
            raise UsageError(f"{folder} is no results folder: it has no manifest.json; see: schedlab list results")
        experiment = Experiment(manifest["name"], manifest["experiment"])
        cells = [Cell(c["definition"], c["factors"], c["scenario"]) for c in manifest["cells"]]
        return cls.of(experiment, cells, folder)

    @property
    def factors(self) -> list[str]:
        """Names of the swept fields."""
        return list(self.manifest["cells"][0]["factors"])

    @property
    def seeds(self) -> list[int]:
        """The seeds that were asked for."""
        return Experiment(self.name, self.manifest["experiment"]).seeds

    @property
    def warnings(self) -> list[dict]:
        """What may mislead: scenario, warning, and the seeds in which it was seen."""
        asked = set(self.seeds)
        warnings = ({**one, "seeds": sorted(asked.intersection(one["seeds"]))} for one in self.manifest["warnings"])
        return [one for one in warnings if one["seeds"]]

    def summary(self) -> pl.DataFrame:
        """Mean and 95 % interval over seeds: a row per cell and metric.

        Columns: the factors, scenario, metric, unit, n, mean, low, high. Bounds are null for a single seed.
        """
        keys = [*self.factors, "scenario", "metric", "unit"]
        value = pl.col("value")
        table = self.frame.group_by(keys, maintain_order=True).agg(
            n=value.count().cast(pl.Int64), mean=value.mean(), deviation=value.std()
        )
        half = pl.Series(stats.half_width(table["deviation"].fill_null(float("nan")), table["n"])).fill_nan(None)
        table = table.with_columns(low=pl.col("mean") - half, high=pl.col("mean") + half)
        return table.drop("deviation")

    def interval(self, metric: str, **factors: str) -> stats.Interval:
        """Mean and 95 % interval of one metric in the one cell that has these factors.

        Write the dots of a field path as two underscores: `scheduler__slice="36ms"`.
        """
        return self.interval_at(metric, {name.replace("__", "."): value for name, value in factors.items()})

    def interval_at(self, metric: str, factors: dict[str, str]) -> stats.Interval:
        """As `interval`, with the factors as a dictionary."""
        return stats.mean_interval(self.values(metric, factors)["value"])

    def values(self, metric: str, factors: dict[str, str]) -> pl.DataFrame:
        """The rows of one metric in the one cell that has these factors, a row per seed."""
        cell = self.cell(factors)
        rows = self.frame.filter(pl.col("scenario") == cell["scenario"], pl.col("metric") == metric)
        if rows.is_empty():
            known = self.frame["metric"].unique(maintain_order=True)
            raise UsageError(f"{self.name} has no metric {metric!r}; {nearest(metric, known)}")
        return rows

    def cell(self, factors: dict[str, str]) -> dict[str, Any]:
        """The manifest's entry of the one cell that has these factors."""
        cells = self.manifest["cells"]
        found = [c for c in cells if all(c["factors"].get(name) == value for name, value in factors.items())]
        if len(found) != 1:
            given = ", ".join(f"{k} = {v}" for k, v in factors.items()) or "no factors"
            which = "; ".join(", ".join(f"{k} = {v}" for k, v in c["factors"].items()) for c in found or cells)
            raise UsageError(f"{self.name}: {len(found)} cells have {given}; choose one of: {which}")
        return found[0]

    def _repr_html_(self) -> str:
        from schedlab.report.tables import html_table, summary_table

        header, rows = summary_table(self)
        return html_table(header, rows, self.manifest["question"] or self.name)
