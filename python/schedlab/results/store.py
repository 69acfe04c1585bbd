"""A folder of results on disk: what is in it, and how it is written so that a kill at any moment leaves it whole.

    <out>/<name>-<hash8>/runs-0000.parquet   a row per run and metric, 1000 runs a file
                         manifest.json       question, experiment, cells, seeds, versions, machines, warnings

A file is replaced, never changed: the new text goes to a temporary file, to the disk, and then under its name.
The last parquet file is rewritten until it is full, so the files depend on the runs alone, not on their timing.
"""

import fcntl
import io
import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl

from schedlab.system import leftovers, reading
from schedlab.errors import UsageError
from schedlab.results.manifest import read_manifest

RUNS_PER_FILE = 1000
FORMAT = 1

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


def replace(path: Path, content: bytes) -> None:
    """Put `content` under `path` so that a reader sees the old file or the whole new one, power loss included.

    A link stays, and the file that it names is replaced. A device, a pipe or a descriptor is written into.
    """
    if is_stream(path):
        with named(path), open(_stream(path), "wb", buffering=0) as stream:
            _write(stream, content)
        return
    path = Path(os.path.realpath(path))
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with named(path), open(temporary, "wb", buffering=0) as file:
            leftovers.mark_file(file.fileno())
            _write(file, content)
            os.fsync(file.fileno())
            leftovers.unmark_file(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def is_stream(path: Path) -> bool:
    """Whether this is the name of something other than a file: a device, a pipe, a descriptor. No file replaces it."""
    is_descriptor = os.path.abspath(path).startswith(("/dev/std", "/dev/fd/", "/proc/"))
    return os.path.exists(path) and (is_descriptor or not os.path.isfile(path))


def pour(file: Path, path: Path) -> None:
    """Write what is in a file into a stream."""
    with named(path), open(file, "rb") as source, open(_stream(path), "wb") as stream:
        shutil.copyfileobj(source, stream)


def _stream(path: Path) -> str | int:
    """What to open: of a descriptor of our own a copy, so that what it has been given already is not written over."""
    name = os.path.abspath(path)
    number = {"/dev/stdout": "1", "/dev/stderr": "2"}.get(name) or name.removeprefix("/dev/fd/")
    if not number.isdecimal():
        return name
    if number == "1":
        sys.stdout.flush()
    return os.dup(int(number))


def extend(path: Path, line: bytes) -> None:
    """Add a line to a log, all of it or nothing, and have it on the disk before going on."""
    with named(path), open(path, "ab", buffering=0) as log:
        before = log.tell()
        try:
            _write(log, line)
            os.fsync(log.fileno())
        except OSError:
            log.truncate(before)
            raise


def _write(file, content: bytes) -> None:
    """All of it: without a buffer, one call may write less."""
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]


@contextmanager
def named(path: Path):
    """Give errors the name of the file that they are of: the kernel does not tell it for a full disk."""
    try:
        yield
    except OSError as why:
        raise OSError(why.errno, why.strerror, str(path)) from None


class Store:
    """The results folder of one experiment, open for appending."""

    def __init__(self, folder: Path, manifest: dict, fresh: bool = False):
        """Open or make `folder`. What is in it is kept, unless `fresh`."""
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        leftovers.remove_left(self.folder.glob(".*.tmp"))
        if fresh:
            self._clear()
        self._files = sorted(self.folder.glob("runs-*.parquet"))
        self._tail = read(self._files[-1:])
        self._room = RUNS_PER_FILE - _runs(self._tail) if self._files else 0
        known = read_manifest(self.folder)
        kept = {key: known[key] for key in ("created", "warnings", "seen") if key in known}
        self.manifest = manifest | kept
        if self.manifest != known:
            self._write_manifest()

    def _clear(self) -> None:
        for file in [*self.folder.glob("runs-*.parquet"), self.folder / "manifest.json"]:
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
            replace(self._files[-1], parquet(self._tail))

    def keep(self, place: str, seen: dict) -> None:
        """Put into the manifest what was seen where the runs are made."""
        if seen and self.manifest.get("seen", {}).get(place) != seen:
            self.manifest["seen"] = self.manifest.get("seen", {}) | {place: seen}
            self._write_manifest()

    def _write_manifest(self) -> None:
        write_manifest(self.folder, self.manifest)


def write_manifest(folder: Path, manifest: dict) -> None:
    """Put the manifest into its folder, a line for each field."""
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in manifest.items())
    replace(folder / "manifest.json", f"{{\n{lines}\n}}\n".encode())


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
    with open(folder / ".lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"another schedlab is writing to {folder}; wait for it, or use another --out") from None
        yield
