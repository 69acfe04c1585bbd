"""A folder of results on disk: what is in it, and how it is written so that a kill at any moment leaves it whole.

    <out>/<name>-<hash8>/runs-0000.parquet   a row per run and metric, 1000 runs a file
                         manifest.json       question, experiment, cells, seeds, versions, machines, warnings

The last parquet file is rewritten until it is full, so the files depend on the runs alone, not on their timing.
"""

import fcntl
import hashlib
import io
import json
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from schedlab.errors import UsageError
from schedlab.results import manifest
from schedlab.system import leftovers, reading, writing

RUNS_PER_FILE = 1000
FORMAT = 1
#: Held while runs are made.
LOCK = ".lock"

#: Columns of every results file, before the columns of the factors (which are text, as the user wrote them).
COLUMNS = {
    "experiment": pl.String,
    "scenario": pl.String,
    "engine": pl.String,
    "seed": pl.UInt64,
    "metric": pl.String,
    "unit": pl.String,
    "value": pl.Float64,
}


def folder_hash(engines: dict[str, str]) -> str:
    """Eight digits that identify engines and scenarios, whatever the question, the seeds and the metrics."""
    text = "\n".join([*dict.fromkeys(engines.values()), *engines])
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def files(folder: Path) -> list[Path]:
    """The files of rows in a folder of results, in order."""
    return sorted(folder.glob("runs-*.parquet"))


class Store:
    """The results folder of one experiment, open for appending."""

    def __init__(self, folder: Path, about: dict, fresh: bool = False):
        """Open or make `folder`. What is in it is kept, unless `fresh`."""
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        leftovers.remove_left(self.folder.glob(".*.tmp"))
        if fresh:
            self._clear()
        self._files = files(self.folder)
        self._tail = read(self._files[-1:])
        self._room = RUNS_PER_FILE - _runs(self._tail) if self._files else 0
        known = manifest.read_manifest(self.folder)
        kept = {key: known[key] for key in ("created", "warnings", "seen") if key in known}
        self.manifest = about | kept
        if self.manifest != known:
            self._write_manifest()

    def _clear(self) -> None:
        for file in [*files(self.folder), self.folder / manifest.NAME]:
            file.unlink(missing_ok=True)

    def done(self) -> set[tuple[str, int]]:
        """Scenario hash and seed of every run that is in the folder."""
        return set(read(self._files).select("scenario", "seed").unique().iter_rows())

    def append(self, rows: pl.DataFrame, warnings: Sequence[dict] = ()) -> None:
        """Add whole runs. Warnings reach the disk before the runs that they belong to."""
        earlier = _without(self.manifest["warnings"], rows)
        if warnings or earlier != self.manifest["warnings"]:
            self.manifest["warnings"] = _merged([*earlier, *warnings])
            self._write_manifest()
        runs = rows.partition_by("scenario", "seed", maintain_order=True)
        while runs:
            if not self._room:
                self._files.append(self.folder / f"runs-{len(self._files):04}.parquet")
                self._tail, self._room = rows.clear(), RUNS_PER_FILE
            fitting, runs = runs[: self._room], runs[self._room :]
            self._tail = pl.concat([self._tail, *fitting])
            self._room -= len(fitting)
            writing.replace(self._files[-1], parquet(self._tail))

    def keep(self, target: str, seen: dict) -> None:
        """Put into the manifest what was seen where the runs are made."""
        if seen and self.manifest.get("seen", {}).get(target) != seen:
            self.manifest["seen"] = self.manifest.get("seen", {}) | {target: seen}
            self._write_manifest()

    def _write_manifest(self) -> None:
        write_manifest(self.folder, self.manifest)


def write_manifest(folder: Path, about: dict) -> None:
    """Put the manifest into its folder, a line for each field."""
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in about.items())
    writing.replace(folder / manifest.NAME, f"{{\n{lines}\n}}\n".encode())


def read(files: Iterable[Path]) -> pl.DataFrame:
    """The rows of results files; files of different experiments may have different factors."""
    frames = [pl.DataFrame(schema=COLUMNS)]
    for file in files:
        try:
            reading.refuse_unusual(file)
            frame = pl.read_parquet(file, glob=False)
            if missing := [name for name, kind in COLUMNS.items() if frame.schema.get(name) != kind]:
                raise ValueError(f"its columns are not those of results: {', '.join(missing)}")
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as why:
            raise UsageError(f"{file} is damaged or no results file ({why}); remove it, or run with --fresh") from None
        frames.append(frame)
    return pl.concat(frames, how="diagonal_relaxed")


def _merged(warnings: Iterable[dict]) -> list[dict]:
    """Equal warnings of a scenario as one, with the seeds of all."""
    seeds: dict[tuple[str, str], set[int]] = {}
    for one in warnings:
        seeds.setdefault((one["scenario"], one["warning"]), set()).update(one["seeds"])
    return [{"scenario": scenario, "warning": text, "seeds": sorted(s)} for (scenario, text), s in seeds.items()]


def _without(warnings: list[dict], rows: pl.DataFrame) -> list[dict]:
    """Warnings but those of the runs in `rows`: what was said of one that had to be done again is no longer so."""
    if not warnings:
        return warnings
    again = set(rows.select("scenario", "seed").unique().iter_rows())
    left = (w | {"seeds": [seed for seed in w["seeds"] if (w["scenario"], seed) not in again]} for w in warnings)
    return [warning for warning in left if warning["seeds"]]


def _runs(frame: pl.DataFrame) -> int:
    return frame.select(pl.struct("scenario", "seed").n_unique()).item()


def parquet(frame: pl.DataFrame) -> bytes:
    """The rows as a file."""
    text = io.BytesIO()
    frame.rechunk().write_parquet(text)
    return text.getvalue()


@contextmanager
def locked(folder: Path):
    """Keep a second process from writing to the same folder."""
    folder.mkdir(parents=True, exist_ok=True)
    # Opening it for writing updates its time, by which `folders.newest` finds the folder that was run last.
    with open(folder / LOCK, "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"another schedlab is writing to {folder}; wait for it, or use another --out") from None
        yield
