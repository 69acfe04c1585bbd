"""Runs an experiment: looks up what is done, computes the rest in chunks, and saves each chunk as it ends.

A chunk is computed in a second thread, with the interpreter released, while this one saves the chunk before; so
Ctrl-C is heard at once, and what is lost is at most the chunk in hand.
"""

import glob
import hashlib
import io
import json
import os
import platform
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import polars as pl

from schedlab import _core, store
from schedlab.errors import Interrupted
from schedlab.experiment import Cell, Experiment
from schedlab.interrupt import HEARD_SECONDS, ctrl_c
from schedlab.results import Results

#: Seconds that a chunk should take: short beside a person's patience, long beside the cost of saving it.
CHUNK_SECONDS = 0.5

Run = tuple[Cell, int]


def run(
    experiment: Experiment,
    out: Path,
    threads: int | None = None,
    fresh: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Results:
    """Run what is not in `out` yet; see `Experiment.run`. Raises `Interrupted` on Ctrl-C."""
    cells = experiment.cells()
    folder = out / f"{experiment.name}-{folder_hash(cells)}"
    wanted = [(cell, seed) for cell in cells for seed in experiment.seeds]
    with store.locked(folder):
        target = store.Store(folder, manifest(experiment, cells), fresh)
        if not fresh:
            target.append(*_found_elsewhere(experiment, cells, out, target.done()))
        done = target.done()
        pending = [run for run in wanted if (run[0].hash, run[1]) not in done]
        finished = len(wanted) - len(pending)
        report = progress or (lambda done, total: None)
        report(finished, len(wanted))
        try:
            with ctrl_c() as stop, closing(_compute(pending, threads or os.cpu_count() or 1, stop)) as chunks:
                for chunk, table in chunks:
                    target.append(*_tidy(experiment, chunk, table))
                    finished += len(chunk)
                    report(finished, len(wanted))
        except KeyboardInterrupt:
            raise Interrupted(finished, len(wanted), folder) from None
    return Results.of(experiment, cells, folder, computed=len(pending))


def folder_hash(cells: list[Cell]) -> str:
    """Eight digits that stand for the engine and the scenarios, whatever the question, the seeds and the metrics."""
    text = "\n".join([_core.version(), *(cell.hash for cell in cells)])
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def manifest(experiment: Experiment, cells: list[Cell]) -> dict:
    """What the parquet files do not say. Each machine stands once, with the sources of its values."""
    machines = []
    entries = []
    for cell in cells:
        scenario = dict(cell.scenario)
        machine = scenario.pop("machine")
        if machine not in machines:
            machines.append(machine)
        entries.append(
            {
                "scenario": cell.hash,
                "factors": cell.factors,
                "machine": machines.index(machine),
                "definition": scenario,
            }
        )
    return {
        "format": store.FORMAT,
        "name": experiment.name,
        "question": experiment.question,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "engine": _core.version(),
            "python": platform.python_version(),
            "polars": pl.__version__,
        },
        "seeds": experiment.definition["seeds"],
        "experiment": experiment.definition,
        "machines": machines,
        "cells": entries,
        "warnings": [],
    }


class _Pace:
    """How many runs to put into the next chunk, from how long the last one took."""

    def __init__(self, threads: int):
        self.least = self.size = threads

    def took(self, seconds: float) -> None:
        ideal = self.size * CHUNK_SECONDS / max(seconds, 1e-6)
        self.size = max(self.least, round(min(ideal, self.size * 4) / self.least) * self.least)


def _compute(
    pending: list[Run], threads: int, stop: threading.Event
) -> Generator[tuple[list[Run], pl.DataFrame], None, None]:
    """Yield finished chunks in order; the next one is being computed meanwhile. `stop` ends it by KeyboardInterrupt."""
    pace = _Pace(threads)
    worker = ThreadPoolExecutor(1, "schedlab")
    rest = iter(pending)

    def submit():
        chunk = list(islice(rest, pace.size))
        return (chunk, worker.submit(_timed_batch, chunk, threads)) if chunk else None

    try:
        job = submit()
        while job:
            chunk, future = job
            while not stop.is_set() and not wait([future], timeout=HEARD_SECONDS).done:
                pass
            if stop.is_set():
                raise KeyboardInterrupt
            seconds, table = future.result()
            pace.took(seconds)
            job = submit()
            yield chunk, table
    finally:
        worker.shutdown(wait=False, cancel_futures=True)


def _timed_batch(chunk: list[Run], threads: int) -> tuple[float, pl.DataFrame]:
    start = time.perf_counter()
    runs = [{"scenario": cell.scenario, "seed": seed} for cell, seed in chunk]
    table = pl.read_ipc_stream(io.BytesIO(_core.run_batch(json.dumps(runs), threads)))
    return time.perf_counter() - start, table


def _tidy(experiment: Experiment, chunk: list[Run], table: pl.DataFrame) -> tuple[pl.DataFrame, list[dict]]:
    """Put the columns that say whose they are before the engine's rows, and the warnings apart."""
    warned = table.filter(pl.col("warning").is_not_null()).select("run", "warning")
    warnings = [
        {"scenario": chunk[run][0].hash, "warning": text, "seeds": [chunk[run][1]]} for run, text in warned.iter_rows()
    ]
    index = pl.DataFrame(
        {
            "run": pl.Series(range(len(chunk)), dtype=pl.UInt32),
            "scenario": [cell.hash for cell, _ in chunk],
            "seed": pl.Series([seed for _, seed in chunk], dtype=pl.UInt64),
        }
    )
    values = table.filter(pl.col("warning").is_null()).join(index, on="run", how="left", maintain_order="left")
    values = values.with_columns(engine=pl.lit(_core.version()))
    return _labelled(experiment, [cell for cell, _ in chunk], values), warnings


def _labelled(experiment: Experiment, cells: list[Cell], rows: pl.DataFrame) -> pl.DataFrame:
    """Add the experiment's name and the factors of each scenario, and put the columns in order."""
    factors = {cell.hash: {"scenario": cell.hash, **cell.factors} for cell in cells}
    names = list(cells[0].factors)
    table = pl.DataFrame(list(factors.values()), schema=dict.fromkeys(["scenario", *names], pl.String))
    rows = rows.join(table, on="scenario", how="left", maintain_order="left")
    rows = rows.with_columns(experiment=pl.lit(experiment.name))
    return rows.select(*(pl.col(c).cast(t) for c, t in store.COLUMNS.items()), *names)


def _found_elsewhere(experiment: Experiment, cells: list[Cell], out: Path, done: set) -> tuple[pl.DataFrame, list]:
    """Runs of the same scenarios and engine that other experiments of this name have in `out`, and their warnings."""
    names = {cell.hash: cell for cell in cells}
    wanted = {(cell.hash, seed) for cell in cells for seed in experiment.seeds} - done
    found, warnings = pl.DataFrame(schema=store.COLUMNS), []
    for folder in sorted(out.glob(f"{glob.escape(experiment.name)}-*")):
        rows = store.read(sorted(folder.glob("runs-*.parquet"))).filter(
            pl.col("scenario").is_in(list(names)), pl.col("engine") == _core.version()
        )
        keys = set(rows.select("scenario", "seed").unique().iter_rows()) & wanted
        wanted -= keys
        take = pl.DataFrame(list(keys), schema={"scenario": pl.String, "seed": pl.UInt64}, orient="row")
        found = found.vstack(rows.join(take, on=["scenario", "seed"], how="semi").select(*store.COLUMNS))
        for warning in store.read_manifest(folder).get("warnings", []):
            seeds = [seed for seed in warning["seeds"] if (warning["scenario"], seed) in keys]
            warnings += [warning | {"seeds": seeds}] if seeds else []
    return _labelled(experiment, cells, found), warnings
