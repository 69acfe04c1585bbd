"""A folder of results on disk: what is in it, and how it is written so that a kill at any moment leaves it whole.

    <out>/<name>-<hash8>/runs-0000.parquet   a row per run and metric, 1000 runs a file
                         manifest.json       question, experiment, cells, seeds, versions, machines, warnings

The last parquet file is rewritten until it is full, so the files depend on the runs alone, not on their timing. Only
that file's rows are in memory; the engine keeps and writes them.

A simulated run that drew no random number is the same under every seed. Its rows have `seeded` false, and it is the
only run of its scenario: it stands for all seeds.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from schedlab import _core
from schedlab.errors import UsageError
from schedlab.results import manifest
from schedlab.results.series import Series
from schedlab.specification import Cell
from schedlab.system import leftovers, reading, writing

RUNS_PER_FILE = 1000
#: Files whose runs are remembered, more than a hundred thousand runs have: a command asks for them several times.
REMEMBERED = 128
FORMAT = 1
#: What a manifest keeps when its experiment is run again.
KEPT = ("created", "warnings", "seen")
#: Held while runs are made.
LOCK = ".lock"


@dataclass(frozen=True)
class Labels:
    """Whose rows they are: for each run scenario, engine, seed and the values of the factors."""

    experiment: str
    factors: list[str]
    runs: list[tuple[str, str, int, list[str]]]


def folder_hash(engines: dict[str, str]) -> str:
    """Eight digits that identify engines and scenarios, whatever the question, the seeds and the metrics."""
    text = "\n".join([*dict.fromkeys(engines.values()), *engines])
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def files(folder: Path) -> list[Path]:
    """The files of rows in a folder of results, in order."""
    return sorted(folder.glob("runs-*.parquet"))


class Store:
    """The results folder of one experiment, open for appending.

    `alike` has the scenarios whose only run stands for all seeds, and the seed of that run.
    """

    def __init__(self, folder: Path, about: dict, fresh: bool = False):
        """Open or make `folder`. What is in it is kept, unless `fresh`."""
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        leftovers.remove_left(self.folder.glob(".*.tmp"))
        if fresh:
            self._clear()
        self._files = files(self.folder)
        self.alike: dict[str, int] = {}
        self._tail: _core.Tail | None = None
        self._lines = {name: manifest.line(name, value) for name, value in about.items() if name not in KEPT}
        known = manifest.read_again(self.folder, about, self._lines)
        kept = {key: known[key] for key in KEPT if key in known}
        self.manifest = about | kept
        if self.manifest != known:
            self._write_manifest()

    def _clear(self) -> None:
        for file in [*files(self.folder), self.folder / manifest.NAME]:
            file.unlink(missing_ok=True)

    def lacking(self, cells: Sequence[Cell], seeds: Sequence[int]) -> list[tuple[Cell, int]]:
        """The runs of these cells with these seeds that are not in the folder."""
        there = [index(file) for file in self._files]
        for one in there:
            self.alike.update(one.alike())
        lacking = _core.lacking(there, [cell.hash for cell in cells], seeds)
        return [(cells[cell], seeds[seed]) for cell, own in lacking for seed in own]

    def append(self, rows: bytes, labels: Labels) -> None:
        """Add whole runs, and their warnings. `rows` are as the engine gives them; see `frames.stream`."""
        warned, valued, unseeded = _core.about_rows(rows)
        whose = [(scenario, seed) for scenario, _, seed, _ in labels.runs]
        self.alike.update(whose[run] for run in unseeded)
        warnings = [{"scenario": whose[run][0], "warning": text, "seeds": [whose[run][1]]} for run, text in warned]
        self._warn({whose[run] for run in valued}, warnings)
        tail = self._opened()
        with _named(self._files[-1]) if self._files else nullcontext():
            files = tail.append(rows, labels.experiment, labels.factors, labels.runs, RUNS_PER_FILE)
        self._write(files)

    def copy(self, file: Path, labels: Labels, warnings: Sequence[dict]) -> None:
        """Add the rows that a file of another folder has of these runs, and their warnings."""
        self._warn({(scenario, seed) for scenario, _, seed, _ in labels.runs}, warnings)
        with _named(file):
            files = self._opened().copy(str(file), labels.experiment, labels.factors, labels.runs, RUNS_PER_FILE)
        self._write(files)

    def _opened(self) -> _core.Tail:
        """The last file, which may have room."""
        if self._tail is None and not self._files:
            self._tail = _core.Tail(0)
        elif self._tail is None:
            with _named(self._files[-1]):
                self._tail = _core.Tail(len(self._files) - 1, str(self._files[-1]))
        return self._tail

    def _warn(self, again: set[tuple[str, int]], warnings: Sequence[dict]) -> None:
        """Put warnings into the manifest: they reach the disk before the runs that they belong to."""
        earlier = _without(self.manifest["warnings"], again)
        if warnings or earlier != self.manifest["warnings"]:
            self.manifest["warnings"] = _merged([*earlier, *warnings])
            self._write_manifest()

    def _write(self, filled: Iterable[tuple[int, bytes]]) -> None:
        for number, content in filled:
            if number == len(self._files):
                self._files.append(self.folder / f"runs-{number:04}.parquet")
            writing.replace(self._files[number], content)

    def keep(self, target: str, seen: dict) -> None:
        """Put into the manifest what was seen where the runs are made."""
        if seen and self.manifest.get("seen", {}).get(target) != seen:
            self.manifest["seen"] = self.manifest.get("seen", {}) | {target: seen}
            self._write_manifest()

    def _write_manifest(self) -> None:
        # Only warnings and what was seen change while runs are made; the cells of a large sweep are most of it.
        manifest.write_manifest(self.folder, self.manifest, self._lines)


def index(file: Path) -> _core.Index:
    """Which runs a file has, and which metrics each of them has. What was read last is remembered."""
    with _named(file):
        is_now = os.stat(file)
        return _index(str(file), is_now.st_dev, is_now.st_ino, is_now.st_mtime_ns, is_now.st_size)


@lru_cache(maxsize=REMEMBERED)
def _index(path: str, *_: int) -> _core.Index:
    """A file that is written again is another one."""
    return _core.Index(path)


def alike(files: Iterable[Path]) -> dict[str, int]:
    """The scenarios whose only run stands for all seeds, and the seed of that run."""
    return {scenario: seed for file in files for scenario, seed in index(file).alike().items()}


def metrics(files: Iterable[Path], runs: _core.Runs) -> list[str]:
    """Names of the metrics that these runs have, in the order of the files."""
    return list(dict.fromkeys(name for file in files for name in index(file).metrics(runs)))


def values(files: Iterable[Path], runs: _core.Runs, names: Iterable[str]) -> Series:
    """The values of these metrics in these runs, by scenario and metric; nothing else is read."""
    found, wanted = _core.Columns(), set(names)
    for file in files:
        if index(file).has(runs):
            with _named(file):
                found.add(str(file), runs, wanted)
    return Series(found)


def are_same(files: Iterable[Path], scenarios: list[str], seeds: list[int]) -> bool:
    """Whether all of these runs of a scenario have the same metrics and values; one file at a time is in memory."""
    first: dict[tuple[str, str], float | None] = {}
    counts: dict[str, set[int]] = {scenario: set() for scenario in scenarios}
    have: dict[tuple[str, str], int] = {}
    runs = _core.Runs(scenarios, seeds)
    for file in files:
        for key, one in values([file], runs, metrics([file], runs)).items():
            if set(one.values) != {first.setdefault(key, one.values[0])}:
                return False
            have[key] = have.get(key, 0) + len(one.values)
    for (scenario, _), count in have.items():
        counts[scenario].add(count)
    return all(found == {len(seeds)} for found in counts.values())


@contextmanager
def _named(file: Path) -> Iterator[None]:
    """Read a results file; what is wrong with it is the user's to put right."""
    try:
        reading.refuse_unusual(file)
        yield
    except (_core.ScenarioError, RuntimeError, OSError, UsageError) as why:
        raise UsageError(damaged(file, why)) from None


def damaged(file: Path, why: object) -> str:
    """What to say of a results file that cannot be read."""
    return f"{file} is damaged or no results file ({why}); remove it, or run with --fresh"


def _merged(warnings: Iterable[dict]) -> list[dict]:
    """Equal warnings of a scenario as one, with the seeds of all."""
    seeds: dict[tuple[str, str], set[int]] = {}
    for one in warnings:
        seeds.setdefault((one["scenario"], one["warning"]), set()).update(one["seeds"])
    return [{"scenario": scenario, "warning": text, "seeds": sorted(s)} for (scenario, text), s in seeds.items()]


def _without(warnings: list[dict], again: set[tuple[str, int]]) -> list[dict]:
    """Warnings but those of these runs: what was said of one that had to be done again is no longer so."""
    if not warnings:
        return warnings
    left = (w | {"seeds": [seed for seed in w["seeds"] if (w["scenario"], seed) not in again]} for w in warnings)
    return [warning for warning in left if warning["seeds"]]


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
