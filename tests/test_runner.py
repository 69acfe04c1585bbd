"""Runs that are cut short, resumed, repeated and spread over threads."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedlab import Experiment, UsageError, results
from schedlab.errors import Interrupted
from schedlab.results import frames, store
from schedlab.run import runner
from schedlab.system import writing
from schedlab.targets.rows import ROW
from schedlab.targets.simulator import Simulator

ENDLESS = 1_000_000
#: The least that a manifest has.
MANIFEST = {
    "name": "x", "question": "", "created": "", "seeds": 1, "experiment": {"seeds": 1}, "versions": {"engine": "e"},
    "machines": [{"name": "m"}], "warnings": [],
    "cells": [{"scenario": "s", "on": "sim", "factors": {}, "machine": 0, "definition": {"workload": {}}}],
}  # fmt: skip


def wait_for_a_file(process, out):
    while not list(out.glob("*/runs-*.parquet")):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)


def runs_of(frame):
    return frame.select("scenario", "seed").unique()


def test_a_second_run_does_nothing(schedlab, small):
    schedlab("run", small)
    files = {f: (f.read_bytes(), f.stat().st_mtime_ns) for f in (schedlab.folder / "results").rglob("[!.]*.*")}
    assert schedlab.json("run", small)["runs"] == {"total": 6, "computed": 0, "known": 6, "skipped": 0}
    assert {f: (f.read_bytes(), f.stat().st_mtime_ns) for f in files} == files


def test_resume_goes_on_with_what_was_begun_and_begins_nothing(schedlab, small):
    done = schedlab("run", small, "--resume")
    assert (done.returncode, "has nothing of small to go on with" in done.stderr) == (2, True)
    schedlab("run", small)
    assert schedlab.json("run", small, "--resume", "--seeds", 5)["runs"] == {
        "total": 10,
        "computed": 4,
        "known": 6,
        "skipped": 0,
    }
    assert schedlab("run", small, "--resume", "--fresh").returncode == 2


def test_fresh_runs_again_and_gives_the_same_bytes(schedlab, small):
    schedlab("run", small)
    (file,) = (schedlab.folder / "results").rglob("*.parquet")
    before = file.read_bytes()
    assert schedlab.json("run", small, "--fresh")["runs"]["computed"] == 6
    assert file.read_bytes() == before


def test_results_are_the_same_bytes_on_one_and_two_threads(schedlab, small):
    for threads in (1, 2):
        schedlab("run", small, "--threads", threads, "--seeds", 40, "--out", f"on{threads}")
    one, two = ({f.relative_to(folder): f.read_bytes() for f in folder.rglob("*.parquet")} for folder in
                (schedlab.folder / "on1", schedlab.folder / "on2"))  # fmt: skip
    assert one
    assert one == two


def test_more_seeds_or_another_question_use_what_is_known(schedlab, small):
    schedlab("run", small)
    assert schedlab.json("run", small, "--seeds", 5)["runs"] == {"total": 10, "computed": 4, "known": 6, "skipped": 0}
    small.write_text(small.read_text().replace("Which slice", "What slice"))
    assert schedlab.json("run", small)["runs"]["computed"] == 0


def test_a_wider_sweep_uses_what_is_known_in_another_folder(schedlab, small):
    schedlab("run", small)
    small.write_text(small.read_text().replace('["100ms", ', '["100ms", "50ms", '))
    assert schedlab.json("run", small)["runs"] == {"total": 9, "computed": 3, "known": 6, "skipped": 0}
    assert len(list((schedlab.folder / "results").iterdir())) == 2


def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(schedlab, small):
    process = schedlab.start("run", small, "--seeds", ENDLESS, "--set", "scheduler.slice=50ms")
    wait_for_a_file(process, schedlab.folder / "results")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "are kept in results/small-" in said
    assert "same command" in said
    done = runs_of(results.load(schedlab.folder / "results")).height
    assert done > 0
    options = ["--set", "scheduler.slice=50ms", "--seeds"]
    assert schedlab.json("run", small, *options, done)["runs"]["computed"] == 0
    assert schedlab.json("run", small, *options, done + 2)["runs"]["computed"] == 2


def test_a_killed_run_leaves_no_half_file(schedlab, small):
    out = schedlab.folder / "results"
    chance = random.Random(1990)
    known = 0
    for _ in range(8):
        process = schedlab.start("run", small, "--seeds", ENDLESS)
        wait_for_a_file(process, out)
        time.sleep(chance.uniform(0, 0.8))
        process.kill()
        process.communicate()
        frame = results.load(out)
        runs = frame.group_by("scenario", "seed").agg(pl.len())
        assert frame.select("scenario", "seed", "metric").is_duplicated().sum() == 0
        assert runs.filter(pl.col("len") < 10).is_empty(), "a run is there whole or not at all"
        assert runs.height >= known
        known = runs.height
        for manifest in out.glob("*/manifest.json"):
            json.loads(manifest.read_text())
    assert schedlab("run", small).returncode == 0
    assert list(out.rglob("*.tmp")) == []


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=8), st.integers(1, 6))
def test_files_do_not_depend_on_how_the_runs_were_cut_into_chunks(chunks, runs_per_file):
    def add(kept, seeds):
        rows = [(run, metric, "s", float(seed), None) for run, seed in enumerate(seeds) for metric in "ab"]
        labels = store.Labels("x", ["f"], [(f"s{seed % 2}", "e", seed, [f"v{seed % 2}"]) for seed in seeds])
        kept.append(frames.stream(pl.DataFrame(rows, schema=ROW, orient="row")), labels)

    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "RUNS_PER_FILE", runs_per_file)
        at_once, cut = (store.Store(Path(folder) / name, MANIFEST) for name in ("at_once", "cut"))
        add(at_once, range(sum(chunks)))
        for index in range(len(chunks)):
            add(store.Store(cut.folder, MANIFEST), range(sum(chunks[:index]), sum(chunks[: index + 1])))
        files = [{f.name: f.read_bytes() for f in one.folder.glob("*.parquet")} for one in (at_once, cut)]
    assert files[0] == files[1]
    assert len(files[0]) == -(-sum(chunks) // runs_per_file)


def test_a_leftover_temporary_file_is_ignored_and_stays_unless_it_is_ours(schedlab, small):
    schedlab("run", small)
    (folder,) = (schedlab.folder / "results").iterdir()
    leftover = folder / ".runs-0000.parquet.123.tmp"
    leftover.write_bytes(b"half")
    assert results.load(folder).height > 0
    schedlab("run", small)
    # It carries no marker of ours (tests/test_leftovers.py): a name alone is no reason to remove it.
    assert leftover.exists()


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    file = tmp_path / "file"
    writing.replace(file, b"old")
    monkeypatch.setattr("os.replace", lambda a, b: (_ for _ in ()).throw(OSError("planted")))
    with pytest.raises(OSError, match="planted"):
        writing.replace(file, b"new")
    assert file.read_bytes() == b"old"
    assert [f.name for f in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_kill_at_any_step_of_a_write_leaves_the_old_file(tmp_path, call):
    file = tmp_path / "file"
    writing.replace(file, b"old")
    killed = f"import os, pathlib; from schedlab.system import writing; os.{call} = lambda *_: os.kill(os.getpid(), 9)"
    write = "writing.replace(pathlib.Path('file'), b'new')"
    done = subprocess.run([sys.executable, "-c", f"{killed}; {write}"], cwd=tmp_path)
    assert done.returncode == -9
    assert file.read_bytes() == b"old"


def test_two_writers_of_one_folder_are_refused(small, tmp_path):
    experiment = Experiment.from_toml(small)
    folder = experiment.run(out=tmp_path / "results").folder
    with store.locked(folder), pytest.raises(UsageError, match="another schedlab"):
        experiment.run(out=tmp_path / "results")


def test_a_damaged_file_is_named(schedlab, small):
    schedlab("run", small)
    (file,) = (schedlab.folder / "results").rglob("*.parquet")
    file.write_bytes(file.read_bytes()[:100])
    done = schedlab("run", small)
    assert done.returncode == 2
    assert str(file.name) in done.stderr
    assert schedlab("run", small, "--fresh").returncode == 0


def test_results_of_another_engine_are_not_taken(small, tmp_path, monkeypatch):
    experiment = Experiment.from_toml(small)
    experiment.run(out=tmp_path / "results")
    monkeypatch.setattr("schedlab._core.version", lambda: "0.0.0+other")
    assert experiment.run(out=tmp_path / "results").computed == 6


def test_full_files_are_left_alone_and_a_new_one_is_begun(small, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "RUNS_PER_FILE", 4)
    found = Experiment.from_toml(small).run(out=tmp_path / "results")
    files = sorted(found.folder.glob("*.parquet"))
    assert [runs_of(pl.read_parquet(f)).height for f in files] == [4, 2]
    more = Experiment.from_toml(small, set=["seeds=5"]).run(out=tmp_path / "results")
    assert (more.computed, runs_of(results.load(found.folder)).height) == (4, 10)


def test_progress_is_reported_from_the_known_runs_to_all(small, tmp_path):
    calls = []
    Experiment.from_toml(small).run(out=tmp_path, progress=lambda done, total: calls.append((done, total)))
    assert calls[0] == (0, 6)
    assert calls[-1] == (6, 6)
    assert calls == sorted(calls)


def interrupting(done, total):
    """As progress: Ctrl-C exactly when the last run has been kept."""
    if done == total:
        os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_as_the_last_run_ends_counts_where_more_runs_follow(small, tmp_path):
    experiment = Experiment.from_toml(small)
    whole = runner.run(experiment, tmp_path / "whole", progress=interrupting)
    assert whole.computed == 6, "nothing was left to stop"
    with pytest.raises(Interrupted) as stopped:
        runner.run(experiment, tmp_path / "part", progress=interrupting, folder=tmp_path / "part" / "search")
    assert "6 of 6" in str(stopped.value)
    again = runner.run(experiment, tmp_path / "part", folder=tmp_path / "part" / "search")
    assert again.computed == 0, "what was made is kept"


def test_ctrl_c_as_a_batch_of_a_search_ends_stops_the_search(small, tmp_path, monkeypatch):
    run, batches = runner.run, []

    def planted(*given, **named):
        batches.append(given)
        return run(*given, **named, progress=interrupting if len(batches) == 3 else None)

    asked = Experiment.from_toml(small).replace(
        sweep={}, goal={"minimize": ["tasks.io.real"]}, space={"scheduler.slice": ["18ms", "36ms", "50ms", "100ms"]}
    )
    monkeypatch.setattr(runner, "run", planted)
    with pytest.raises(Interrupted, match="of 60 runs"):
        asked.tune(60, out=tmp_path)
    assert len(batches) == 3
    monkeypatch.setattr(runner, "run", run)
    found = asked.tune(60, out=tmp_path)
    assert 0 < found.made < found.spent


class Preparing(Simulator):
    """A target that prepares its runs at the same time as the others."""

    meeting = threading.Barrier(min(2, len(os.sched_getaffinity(0))), timeout=60)

    def ahead(self, pending):
        return [lambda stop: self.meeting.wait()]


def test_targets_prepare_their_runs_at_the_same_time(small, tmp_path):
    results = Experiment.from_toml(small).run(tmp_path / "out", targets=[Preparing(1, "sim"), Preparing(1, "another")])
    assert results.computed == 12
