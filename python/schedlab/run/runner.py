"""Runs an experiment: looks up what is done, has the rest run where it shall be, and saves each chunk as it ends.

A *place* is where runs happen: the simulator, the live host, a guest. With several places, every cell stands once for
each, told apart by the factor `on`. ::

    a run is the same whenever it is made   the place makes its runs in bulk, as it likes          `Target.runs`
    a run depends on its moment             the runner says which run of which place is next       `Target.session`

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
    places: Sequence[Target] = (),
    tell: Callable[[str], None] = lambda line: None,
) -> Results:
    """Run what is not in `out` yet; see `Experiment.run`. Raises `Interrupted` on Ctrl-C."""
    places = places or [Simulator(threads or os.cpu_count() or 1)]
    at = {place.name: place for place in places}
    cells = placed(experiment, places)
    engines = {cell.hash: at[cell.on].engine for cell in cells}
    folder = out / f"{experiment.name}-{store.folder_hash(engines)}"
    wanted = [(cell, seed) for cell in cells for seed in experiment.seeds]
    with store.locked(folder):
        target = store.Store(folder, manifest(experiment, cells, places), fresh)
        if not fresh:
            target.append(*_found_elsewhere(experiment, cells, out, target.done(), engines))
        done = target.done()
        pending = [run for run in wanted if (run[0].hash, run[1]) not in done]
        finished = len(wanted) - len(pending)
        report = progress or (lambda done, total: None)
        report(finished, len(wanted))
        before = partial(_tell_ignored, target.manifest, tell)
        try:
            with ctrl_c() as stop, closing(_chunks(places, pending, folder, stop, before)) as chunks:
                for chunk, table in chunks:
                    place = at[chunk[0][0].on]
                    target.keep(place.name, place.seen())
                    target.append(*_tidy(experiment, chunk, table, place.engine))
                    finished += len(chunk)
                    report(finished, len(wanted))
        except KeyboardInterrupt:
            raise Interrupted(finished, len(wanted), folder) from None
    return Results.of(experiment, cells, folder, computed=len(pending))


def _chunks(
    places: Sequence[Target], pending: list[Run], folder: Path, stop: threading.Event, before: Callable[[], None]
) -> Generator[Chunk, None, None]:
    """Finished runs of all places. What depends on the moment comes last, with nothing else at work.

    `before` is called when all places are willing and nothing is measured yet.
    """
    here = {place.name: [run for run in pending if run[0].on == place.name] for place in places}
    ahead = {place.name: place.ahead(here[place.name]) for place in places}
    if pending:
        before()
    _do_ahead([job for jobs in ahead.values() for job in jobs], stop)
    # First those that need nothing done before: what the simulator refuses is known before a guest measures.
    for place in sorted(places, key=lambda place: bool(ahead[place.name])):
        if place.repeatable:
            yield from place.runs(here[place.name], folder, stop)
    others = [place for place in places if not place.repeatable]
    yield from interleaved(others, [run for place in others for run in here[place.name]], folder, stop)


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


def placed(experiment: Specification, places: Sequence[Target]) -> list[Cell]:
    """Every cell of every place."""
    all_cells = experiment.cells()
    return [_placed(cell, place, len(places) > 1) for place in places for cell in place.cells(all_cells)]


def _placed(cell: Cell, place: Target, told_apart: bool) -> Cell:
    factors = {"on": place.name, **cell.factors} if told_apart else cell.factors
    return replace(cell, factors=factors, on=place.name)


def manifest(experiment: Specification, cells: list[Cell], places: Sequence[Target]) -> dict:
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
        "places": {place.name: place.describe() | _ignores(place, experiment) for place in places},
        "seeds": experiment.definition["seeds"],
        "experiment": experiment.definition,
        "machines": machines,
        "cells": entries,
        "warnings": [],
    }


def _ignores(place: Target, experiment: Specification) -> dict:
    ignored = place.ignores(experiment)
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
