"""Runs an experiment: looks up what is done, has the rest run where it shall be, and saves each chunk as it ends.

A *target* is where runs happen: the simulator, the live host, a guest. With several targets, every cell appears once
for each, distinguished by the factor `on`. ::

    a run is the same whenever it is made   the target makes its runs in bulk, as it likes          `Target.runs`
    a run depends on its moment             the runner says which run of which target is next       `Target.session`

What Ctrl-C loses is at most the runs in hand.
"""

import glob
import os
import platform
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import polars as pl

from schedlab import _core
from schedlab.errors import Interrupted
from schedlab.results import Results, store
from schedlab.results.manifest import read_manifest
from schedlab.run.order import interleaved
from schedlab.specification import Cell, Specification
from schedlab.system.interrupt import ctrl_c, result
from schedlab.targets.simulator import Simulator
from schedlab.targets.target import Chunk, Run, Target

_KEY = {"scenario": pl.String, "engine": pl.String}


def run(
    experiment: Specification,
    out: Path,
    threads: int | None = None,
    fresh: bool = False,
    progress: Callable[[int, int], None] | None = None,
    targets: Sequence[Target] = (),
    tell: Callable[[str], None] = lambda line: None,
) -> Results:
    """Run what is not in `out` yet; see `Experiment.run`. Raises `Interrupted` on Ctrl-C."""
    targets = targets or [Simulator(threads or os.cpu_count() or 1)]
    at = {target.name: target for target in targets}
    cells = placed(experiment, targets)
    engines = {cell.hash: at[cell.on].engine for cell in cells}
    folder = out / f"{experiment.name}-{store.folder_hash(engines)}"
    wanted = [(cell, seed) for cell in cells for seed in experiment.seeds]
    with store.locked(folder):
        kept = store.Store(folder, manifest(experiment, cells, targets), fresh)
        if not fresh:
            kept.append(*_found_elsewhere(experiment, cells, out, kept.done(), engines))
        done = kept.done()
        pending = [run for run in wanted if (run[0].hash, run[1]) not in done]
        finished = len(wanted) - len(pending)
        report = progress or (lambda done, total: None)
        report(finished, len(wanted))
        before = partial(_tell_ignored, kept.manifest, tell)
        try:
            with ctrl_c() as stop, closing(_chunks(targets, pending, folder, stop, before)) as chunks:
                for chunk, table in chunks:
                    target = at[chunk[0][0].on]
                    kept.keep(target.name, target.seen())
                    kept.append(*_tidy(experiment, chunk, table, target.engine))
                    finished += len(chunk)
                    report(finished, len(wanted))
        except KeyboardInterrupt:
            raise Interrupted(finished, len(wanted), folder) from None
    return Results.of(experiment, cells, folder, computed=len(pending))


def _chunks(
    targets: Sequence[Target], pending: list[Run], folder: Path, stop: threading.Event, before: Callable[[], None]
) -> Generator[Chunk, None, None]:
    """Finished runs of all targets. What depends on the moment comes last, with nothing else at work.

    `before` is called when all targets are willing and nothing is measured yet.
    """
    here = {target.name: [run for run in pending if run[0].on == target.name] for target in targets}
    ahead = {target.name: target.ahead(here[target.name]) for target in targets}
    if pending:
        before()
    _do_ahead([job for jobs in ahead.values() for job in jobs], stop)
    # First those that need nothing done before: what the simulator refuses is known before a guest measures.
    for target in sorted(targets, key=lambda one: bool(ahead[one.name])):
        if target.repeatable:
            yield from target.runs(here[target.name], folder, stop)
    others = [target for target in targets if not target.repeatable]
    yield from interleaved(others, [run for target in others for run in here[target.name]], folder, stop)


def _do_ahead(jobs: list[Callable[[threading.Event], None]], stop: threading.Event) -> None:
    """Do all of them, as many at once as there are processors."""
    if not jobs:
        return
    over = threading.Event()
    pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)), "ahead")
    try:
        for future in [pool.submit(job, over) for job in jobs]:
            result(future, stop)
    finally:
        over.set()
        pool.shutdown(wait=True, cancel_futures=True)


def placed(experiment: Specification, targets: Sequence[Target]) -> list[Cell]:
    """Every cell of every target."""
    all_cells = experiment.cells()
    return [_placed(cell, target, len(targets) > 1) for target in targets for cell in target.cells(all_cells)]


def _placed(cell: Cell, target: Target, distinguished: bool) -> Cell:
    factors = {"on": target.name, **cell.factors} if distinguished else cell.factors
    return replace(cell, factors=factors, on=target.name)


def manifest(experiment: Specification, cells: list[Cell], targets: Sequence[Target]) -> dict:
    """What the parquet files do not say. Each machine appears once, with the sources of its values."""
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
                "on": cell.on,
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
        "places": {target.name: target.describe() | _ignores(target, experiment) for target in targets},
        "seeds": experiment.definition["seeds"],
        "experiment": experiment.definition,
        "machines": machines,
        "cells": entries,
        "warnings": [],
    }


def _ignores(target: Target, experiment: Specification) -> dict:
    ignored = target.ignores(experiment)
    return {"ignored": ignored} if ignored else {}


def _tell_ignored(manifest: dict, tell: Callable[[str], None]) -> None:
    for name, about in manifest["places"].items():
        for what in about.get("ignored", []):
            tell(f"{name} ignores {what}")


def _tidy(
    experiment: Specification, chunk: list[Run], table: pl.DataFrame, engine: str
) -> tuple[pl.DataFrame, list[dict]]:
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
    values = values.with_columns(engine=pl.lit(engine))
    return _labelled(experiment, [cell for cell, _ in chunk], values), warnings


def _labelled(experiment: Specification, cells: list[Cell], rows: pl.DataFrame) -> pl.DataFrame:
    """Add the experiment's name and the factors of each scenario, and put the columns in order."""
    factors = {cell.hash: {"scenario": cell.hash, **cell.factors} for cell in cells}
    names = list(cells[0].factors)
    table = pl.DataFrame(list(factors.values()), schema=dict.fromkeys(["scenario", *names], pl.String))
    rows = rows.join(table, on="scenario", how="left", maintain_order="left")
    rows = rows.with_columns(experiment=pl.lit(experiment.name))
    return rows.select(*(pl.col(c).cast(t) for c, t in store.COLUMNS.items()), *names)


def _found_elsewhere(
    experiment: Specification, cells: list[Cell], out: Path, done: set, engines: dict[str, str]
) -> tuple[pl.DataFrame, list]:
    """Runs of the same scenarios and engines that other experiments of this name have in `out`, and their warnings."""
    known = pl.DataFrame({"scenario": list(engines), "engine": list(engines.values())}, schema_overrides=_KEY)
    wanted = {(cell.hash, seed) for cell in cells for seed in experiment.seeds} - done
    found, warnings = pl.DataFrame(schema=store.COLUMNS), []
    for folder in sorted(out.glob(f"{glob.escape(experiment.name)}-*")):
        rows = store.read(store.files(folder)).join(known, on=list(_KEY), how="semi")
        keys = set(rows.select("scenario", "seed").unique().iter_rows()) & wanted
        wanted -= keys
        take = pl.DataFrame(list(keys), schema={"scenario": pl.String, "seed": pl.UInt64}, orient="row")
        found = found.vstack(rows.join(take, on=["scenario", "seed"], how="semi").select(*store.COLUMNS))
        for warning in read_manifest(folder).get("warnings", []):
            seeds = [seed for seed in warning["seeds"] if (warning["scenario"], seed) in keys]
            warnings += [warning | {"seeds": seeds}] if seeds else []
    return _labelled(experiment, cells, found), warnings
