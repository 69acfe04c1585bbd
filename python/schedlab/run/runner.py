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

from schedlab import _core
from schedlab.errors import Interrupted
from schedlab.results import Results, store
from schedlab.results.manifest import read_manifest
from schedlab.specification import Cell, Specification
from schedlab.system.interrupt import ctrl_c, result
from schedlab.targets.simulator import Simulator
from schedlab.targets.target import Chunk, Run, Target


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
            _take_from_elsewhere(kept, experiment, cells, out, engines)
        pending = kept.lacking(wanted)
        finished, made = len(wanted) - len(pending), 0
        report = progress or (lambda done, total: None)
        report(finished, len(wanted))
        before = partial(_tell_ignored, kept.manifest, tell)
        try:
            with ctrl_c() as stop, closing(_chunks(targets, pending, folder, stop, before)) as chunks:
                for chunk, rows in chunks:
                    target = at[chunk[0][0].on]
                    kept.keep(target.name, target.seen())
                    kept.append(rows, _labels(experiment, [(*run, target.engine) for run in chunk]))
                    finished += len(chunk)
                    made += sum(kept.alike.get(cell.hash, seed) == seed for cell, seed in chunk)
                    report(finished, len(wanted))
        except KeyboardInterrupt:
            raise Interrupted(finished, len(wanted), folder) from None
    # What a kernel tells of itself is as a reader finds it only once it is written.
    about = kept.manifest if all(target.repeatable for target in targets) else None
    return Results.of(experiment, cells, folder, computed=made, manifest=about)


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
    if others:
        from schedlab.run.order import interleaved

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


def _labels(experiment: Specification, runs: Sequence[tuple[Cell, int, str]]) -> store.Labels:
    """Whose the rows of these runs are: each with what made it."""
    factors = list(runs[0][0].factors) if runs else []
    labels = [(cell.hash, engine, seed, list(cell.factors.values())) for cell, seed, engine in runs]
    return store.Labels(experiment.name, factors, labels)


def _take_from_elsewhere(
    kept: store.Store, experiment: Specification, cells: list[Cell], out: Path, engines: dict[str, str]
) -> None:
    """Take over the runs of the same scenarios and engines that other experiments of this name have in `out`."""
    of = {cell.hash: cell for cell in cells}
    lacking = kept.lacking((cell, seed) for cell in cells for seed in experiment.seeds)
    wanted = {(cell.hash, seed) for cell, seed in lacking}
    for folder in sorted(out.glob(f"{glob.escape(experiment.name)}-*")):
        if not wanted or folder == kept.folder:
            continue
        found = {file: _found(file, wanted, engines) for file in store.files(folder)}
        taken = {run for runs in found.values() for run in runs}
        alike = store.alike(found)
        wanted = {run for run in wanted if run not in taken and (run[0], alike.get(run[0])) not in taken}
        warnings = []
        for warning in read_manifest(folder).get("warnings", []) if taken else []:
            seeds = [seed for seed in warning["seeds"] if (warning["scenario"], seed) in taken]
            warnings += [warning | {"seeds": seeds}] if seeds else []
        for file, runs in found.items():
            if runs:
                labels = _labels(experiment, [(of[hash], seed, engines[hash]) for hash, seed in runs])
                kept.copy(file, labels, warnings)
                warnings = []


def _found(file: Path, wanted: set[tuple[str, int]], engines: dict[str, str]) -> list[tuple[str, int]]:
    """The wanted runs that a file has of the same engine, and those that stand for them."""
    lacking = {scenario for scenario, _ in wanted}
    return [
        (scenario, seed)
        for scenario, engine, seeds, seeded in store.runs(file)
        if engines.get(scenario) == engine
        for seed in seeds
        if ((scenario, seed) in wanted if seeded else scenario in lacking)
    ]
