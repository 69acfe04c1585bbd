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
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from itertools import takewhile
from pathlib import Path

from schedlab import _core
from schedlab.errors import Interrupted
from schedlab.results import Results, store
from schedlab.results.manifest import described, read_manifest
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
    enough: Callable[[Results], bool] | None = None,
    folder: Path | None = None,
) -> Results:
    """Run what is not in `out` yet; see `Experiment.run`. Raises `Interrupted` on Ctrl-C.

    `folder` is where the results are kept, if not in the folder of this experiment's own name and cells:
    then it is a part of more runs, and Ctrl-C counts also when all of its own are done.
    """
    targets = targets or [Simulator(threads or os.cpu_count() or 1)]
    at = {target.name: target for target in targets}
    cells = placed(experiment, targets)
    of_target = {target.name: target.engine for target in targets}
    engines = {cell.hash: of_target[cell.on] for cell in cells}
    is_part = folder is not None
    folder = folder or out / f"{experiment.name}-{store.folder_hash(engines)}"
    seeds = experiment.seeds
    total = len(cells) * len(seeds)
    with store.locked(folder):
        kept = store.Store(folder, manifest(experiment, cells, targets), fresh)
        pending = kept.lacking(cells, seeds)
        if pending and not fresh and _take_from_elsewhere(kept, experiment, pending, out, engines):
            pending = kept.lacking(cells, seeds)
        finished, made = total - len(pending), 0
        lacking = Counter(seed for _, seed in pending)
        report = progress or (lambda done, total: None)
        report(finished, total)
        if enough and not lacking[experiment.seeds[0]] and enough(_so_far(experiment, cells, kept, lacking)):
            pending = []
        before = partial(_tell_ignored, kept.manifest, tell)
        try:
            with ctrl_c() as stop, closing(_chunks(targets, pending, folder, stop, before)) as chunks:
                for chunk, rows in chunks:
                    target = at[chunk[0][0].on]
                    kept.keep(target.name, target.seen())
                    kept.append(rows, _labels(experiment, [(*run, target.engine) for run in chunk]))
                    finished += len(chunk)
                    made += sum(kept.alike.get(cell.hash, seed) == seed for cell, seed in chunk)
                    report(finished, total)
                    lacking.subtract(seed for _, seed in chunk)
                    if enough and not lacking[chunk[-1][1]] and enough(_so_far(experiment, cells, kept, lacking)):
                        break
                if is_part and stop.is_set():
                    # These runs are done, and others would follow.
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise Interrupted(finished, total, folder) from None
    # What a kernel tells of itself is as a reader finds it only once it is written.
    about = kept.manifest if all(target.repeatable for target in targets) else None
    return Results.of(experiment, cells, folder, computed=made, manifest=about)


def _so_far(experiment: Specification, cells: list[Cell], kept: store.Store, lacking: Counter) -> Results:
    """The results of the repeats that every cell has, before the first that some lack."""
    whole = list(takewhile(lambda seed: not lacking[seed], experiment.seeds))
    part = experiment.replace(seeds=whole or experiment.seeds[:1])
    about = kept.manifest | {"seeds": part.definition["seeds"], "experiment": part.definition}
    return Results.of(part, cells, kept.folder, manifest=about)


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
    if cell.on == target.name and not distinguished:
        return cell
    factors = {"on": target.name, **cell.factors} if distinguished else cell.factors
    return cell.but(factors=factors, on=target.name)


def manifest(experiment: Specification, cells: list[Cell], targets: Sequence[Target]) -> dict:
    """What the parquet files do not say. Each machine appears once, with the sources of its values."""
    machines, entries = described(cells)
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
    kept: store.Store, experiment: Specification, pending: list[Run], out: Path, engines: dict[str, str]
) -> bool:
    """Take over runs of the same scenarios and engines from other experiments of this name, and say if any were."""
    of = {cell.hash: cell for cell, _ in pending}
    wanted = {(cell.hash, seed) for cell, seed in pending}
    took = False
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
                warnings, took = [], True
    return took


def _found(file: Path, wanted: set[tuple[str, int]], engines: dict[str, str]) -> list[tuple[str, int]]:
    """The wanted runs that a file has of the same engine, and those that stand for them."""
    lacking = {scenario for scenario, _ in wanted}
    return [
        (scenario, seed)
        for scenario, engine, seeds, seeded in store.index(file).runs()
        if engines.get(scenario) == engine
        for seed in seeds
        if ((scenario, seed) in wanted if seeded else scenario in lacking)
    ]
