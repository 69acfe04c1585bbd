"""What is imported, held and read: why the command starts at once and a large sweep needs little memory."""

import json
import os
import re
import threading
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from conftest import SMALL, Command
from scipy.special import stdtrit

from schedlab import Experiment, _core, results, specification
from schedlab.errors import UsageError
from schedlab.executors import local
from schedlab.results import frames, manifest, store
from schedlab.results.results import Results
from schedlab.specification import Specification
from schedlab.stats.student import SUMMED, quantile
from schedlab.tables.table import END_ROWS
from schedlab.targets import simulator

#: Libraries that no short command may need.
HEAVY = {"polars", "duckdb", "scipy", "numpy", "jinja2", "pandas", "statistics", "pydantic"}


def imported(schedlab: Command, *arguments) -> set[str]:
    """The modules that a successful command imports."""
    done = schedlab(*arguments, env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert done.returncode == 0, done.stderr
    return imports(done.stderr)


def imports(said: str) -> set[str]:
    """The modules in Python's own protocol of what it imports."""
    return set(re.findall(r"^import time:.*\|\s+([\w.]+)$", said, re.MULTILINE))


@pytest.mark.parametrize("more", [[], ["--json"], ["--csv"], ["--fresh"]])
def test_a_run_and_its_table_need_no_library_of_frames(schedlab, small, more):
    for _ in range(2):
        found = imported(schedlab, "run", small, *more)
        assert "schedlab.run.runner" in found
        assert not (HEAVY | {"schedlab.targets.guest", "schedlab.run.order"}) & found


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.99, 0.999])
def test_the_quantile_of_students_t_is_scipys(confidence):
    for freedom in [*range(1, SUMMED + 50), 500, 1000, 10**4, 10**6, 10**9]:
        assert quantile(freedom, confidence) == pytest.approx(stdtrit(freedom, (1 + confidence) / 2), rel=1e-9)


@pytest.mark.parametrize(("freedom", "confidence"), [(0, 0.95), (-1, 0.95), (float("nan"), 0.95), (3, 1.0), (3, 0.0)])
def test_there_is_no_quantile_without_freedom_or_of_certainty(freedom, confidence):
    with pytest.raises(ValueError, match="no quantile"):
        quantile(freedom, confidence)


def test_numbers_read_by_column_are_those_of_the_frame(small, tmp_path):
    found = Experiment.from_toml(small).run(tmp_path / "results")
    assert found.known_metrics == list(found.frame["metric"].unique(maintain_order=True))
    for (scenario, metric), one in found.values_of(found.known_metrics).items():
        rows = found.frame.filter(pl.col("scenario") == scenario, pl.col("metric") == metric)
        assert (one.seeds, one.values) == (rows["seed"].to_list(), rows["value"].to_list())
        assert {one.unit} == set(rows["unit"])


@pytest.mark.parametrize("by", ["seed", "metric", "value"])
def test_rows_may_come_in_any_order(small, tmp_path, by):
    found = Experiment.from_toml(small).run(tmp_path / "results")
    (file,) = store.files(found.folder)
    pl.read_parquet(file).sort(by, maintain_order=True).write_parquet(file, row_group_size=500)
    again = Results.open(found.folder)
    assert again.known_metrics == list(again.frame["metric"].unique(maintain_order=True))
    assert [sorted(runs[2]) for runs in store.index(file).runs()] == [[1, 2, 3]] * 2
    for (scenario, metric), one in again.values_of(again.known_metrics).items():
        rows = again.frame.filter(pl.col("scenario") == scenario, pl.col("metric") == metric)
        assert (one.seeds, one.values) == (rows["seed"].to_list(), rows["value"].to_list())


def test_files_that_polars_wrote_are_known_read_and_gone_on_with(schedlab, small):
    """Results of before were written by polars."""
    schedlab("run", small)
    before = schedlab.json("run", small)
    (file,) = (schedlab.folder / "results").rglob("*.parquet")
    pl.read_parquet(file).write_parquet(file)
    assert schedlab.json("run", small) == before
    more = schedlab.json("run", small, "--seeds", 5)
    assert more["runs"] == {"total": 10, "computed": 4, "known": 6, "skipped": 0}
    frame = results.load(schedlab.folder / "results")
    assert frame.select("scenario", "seed", "metric").is_duplicated().sum() == 0
    assert frame.null_count().sum_horizontal().item() == 0


def test_a_file_has_plain_texts_for_every_reader(schedlab, small):
    schedlab("run", small)
    (file,) = (schedlab.folder / "results").rglob("*.parquet")
    assert pl.read_parquet_schema(file) == frames.COLUMNS | {"scheduler.slice": pl.String, "seeded": pl.Boolean}
    counted = results.query("select typeof(metric) as kind, count(*) as n from results group by all", schedlab.folder)
    assert counted["kind"].to_list() == ["VARCHAR"]


def test_runs_taken_over_from_another_folder_have_the_labels_of_this_one(schedlab, small):
    schedlab("run", small)
    small.write_text(small.read_text().replace('["100ms", ', '["100ms", "50ms", ') + 'duration = ["30s"]\n')
    assert schedlab.json("run", small)["runs"] == {"total": 9, "computed": 3, "known": 6, "skipped": 0}
    folder = max((schedlab.folder / "results").iterdir(), key=lambda one: (one / ".lock").stat().st_mtime_ns)
    frame = Results.open(folder).frame
    assert frame["duration"].to_list() == ["30s"] * frame.height
    assert frame.select("scenario", "seed", "metric").is_duplicated().sum() == 0


def scenario(duration: str) -> str:
    lasting = "\n".join(line for line in SMALL.splitlines() if not line.startswith(("io =", "metrics =")))
    text = lasting.replace('"30s"', f'"{duration}"').partition("[sweep]")[0]
    return json.dumps(Experiment.from_text(text, "x").cells()[0].scenario)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor makes one run at a time")
def test_runs_do_not_wait_for_a_long_one_and_come_in_the_order_in_which_they_were_asked_for():
    sweep = _core.Sweep(2)
    sweep.put(scenario("200000s"), [1])
    sweep.put(scenario("1s"), list(range(1, 30)))
    while (progress := sweep.wait(0.01))[0] == 0:
        pass
    assert progress == (30, 30), "when the first run ends, all others have ended before"
    count, rows = sweep.take()
    runs = pl.read_ipc_stream(rows)
    elapsed = runs.filter(pl.col("metric") == "elapsed")
    assert (count, elapsed["run"].to_list()) == (30, list(range(30)))
    assert elapsed["value"].to_list() == [200_000.0, *[1.0] * 29]


def test_no_more_runs_are_held_than_the_queue_has_room_for(small, tmp_path, monkeypatch):
    held, sweep = [], _core.Sweep

    class Counting:
        """A sweep that keeps count of what is in memory."""

        def __init__(self, threads):
            self.sweep, self.under_way = sweep(threads), 0

        def put(self, scenario, seeds):
            self.under_way += len(seeds)
            held.append(self.under_way)
            self.sweep.put(scenario, seeds)

        def wait(self, seconds):
            return self.sweep.wait(seconds)

        def take(self):
            count, rows = self.sweep.take()
            self.under_way -= count
            return count, rows

    for module in (simulator, local):
        monkeypatch.setattr(module, "AHEAD", 8)
    monkeypatch.setattr(local._core, "Sweep", Counting)
    found = Experiment.from_toml(small, set=["seeds=50"]).run(tmp_path / "results")
    assert found.computed == 100
    assert max(held) <= 8


def test_a_scenario_that_is_refused_keeps_the_runs_before_it():
    sweep = _core.Sweep(1)
    sweep.put(scenario("1s"), [1, 2])
    broken = json.loads(scenario("1s"))
    broken["scheduler"]["name"] = "no such"
    sweep.put(json.dumps(broken), [1])
    while sweep.wait(0.05)[0] < 3:
        pass
    assert sweep.take()[0] == 2
    with pytest.raises(_core.ScenarioError, match="no such"):
        sweep.take()


def test_a_sweep_that_is_dropped_ends_its_threads():
    before = threads()
    sweep = _core.Sweep(3)
    sweep.put(scenario("1s"), list(range(1000)))
    del sweep
    for _ in range(200):
        if threads() <= before:
            return
        threading.Event().wait(0.05)
    raise AssertionError("its threads are still there")


def threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


def test_scenarios_of_cells_are_made_in_parts_when_they_are_asked_for(small, monkeypatch):
    """Those of a large sweep would be most of its memory."""
    text = small.read_text().replace('["100ms", "18ms"]', '["100ms", "18ms"]\n"workload.hog.nice" = [0, 1]')
    definition = Experiment.from_text(text, "small").definition
    known = json.loads(_core.expand(json.dumps(definition), 0, 9))
    for at_once in (1, 3, 4):
        monkeypatch.setattr(specification, "AT_ONCE", at_once)
        monkeypatch.setattr(specification, "OUTLINES", at_once)
        asked = []
        expand = lambda text, first, most, asked=asked: asked.append(first) or _core.expand(text, first, most)  # noqa: E731
        monkeypatch.setattr(specification, "_core", SimpleNamespace(expand=expand, outline=_core.outline))
        cells = Specification("x", definition).cells()
        assert [cell.hash for cell in cells] == [one["hash"] for one in known]
        assert [cell.factors for cell in cells] == [one["factors"] for one in known]
        assert asked == []
        assert [(cell.scenario, cell.host) for cell in cells] == [(one["scenario"], one["host"]) for one in known]
        assert asked == list(range(0, 4, at_once))


def test_a_table_of_many_cells_is_shown_by_its_ends_and_printed_whole_for_programs(schedlab, small):
    slices = ", ".join(f'"{17 * number}ms"' for number in range(1, 202))
    small.write_text(small.read_text().replace('"100ms", "18ms"', slices))
    shown = schedlab("run", small, "--seeds", 1).stdout
    assert "161 of 201 rows are not shown: --csv or --json prints all of them" in shown
    assert len(re.findall(r"^ +\d+ms ", shown, re.MULTILINE)) == 40
    assert len(schedlab("run", small, "--seeds", 1, "--csv").stdout.splitlines()) == 202
    assert len(schedlab.json("run", small, "--seeds", 1)["cells"]) == 201
    plan = schedlab("run", small, "--dry-run").stdout
    assert (plan.count("cell: scheduler.slice"), "cells: 1 more; --json has all of them" in plan) == (200, True)


class Columns:
    """Columns of values that keep count of the cells of which values are taken out."""

    def __init__(self):
        self.columns, self.taken, self.files = _core.Columns(), 0, []

    def get(self, scenario, metric):
        self.taken += 1
        return self.columns.get(scenario, metric)

    def add(self, path, runs, metrics):
        self.files.append(path)
        self.columns.add(path, runs, metrics)

    def __getattr__(self, name):
        return getattr(self.columns, name)


def counting(monkeypatch) -> tuple[list[Columns], list[str]]:
    """All columns that are read from now on, and the files of which runs and metrics are looked up."""
    made, looked_up = [], []
    engine = {name: getattr(_core, name) for name in ("Index", "Runs", "Tail", "lacking")}
    engine["Columns"] = lambda: made.append(Columns()) or made[-1]
    engine["Index"] = lambda path: looked_up.append(path) or _core.Index(path)
    monkeypatch.setattr(store, "_core", SimpleNamespace(**engine))
    return made, looked_up


def test_each_file_of_known_runs_is_read_twice_for_their_runs_and_for_the_values_that_are_shown(
    small, tmp_path, monkeypatch
):
    monkeypatch.setattr(store, "RUNS_PER_FILE", 2)
    experiment = Experiment.from_text(small.read_text(), "known")
    files = [str(file) for file in store.files(experiment.run(tmp_path / "results").folder)]
    store._index.cache_clear()
    made, looked_up = counting(monkeypatch)
    again = experiment.run(tmp_path / "results")
    assert (again.computed, len(files)) == (0, 3)
    assert len(again.summary_tables()[0].rows) == 2
    assert (again.stuck, again.missing) == (False, [])
    assert looked_up == files
    assert [values.files for values in made] == [files]


def test_of_a_table_of_many_cells_only_the_rows_that_are_shown_are_made(small, tmp_path, monkeypatch):
    slices = ", ".join(f'"{17 * number}ms"' for number in range(1, 202))
    text = small.read_text().replace('"100ms", "18ms"', slices)
    found = Experiment.from_text(text, "many", set=["seeds=1"]).run(tmp_path / "results")
    made, _ = counting(monkeypatch)
    shown, left = found.summary_tables()[0].shortened()
    assert (len(shown.rows), left) == (2 * END_ROWS + 1, "161 of 201 rows are not shown")
    assert 0 < len(found._shown._made) <= 2 * END_ROWS * len(found.shown_metrics)
    (values,) = made
    assert 0 < values.taken <= 2 * END_ROWS * len(found.shown_metrics)
    there = found.frame.filter(pl.col("metric").is_in(found.shown_metrics)).select("scenario", "metric").n_unique()
    assert len(found.entries()) == len(found._shown) == there > 201


def test_values_of_a_cell_that_goes_on_in_later_files_are_together(small, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "RUNS_PER_FILE", 3)
    for seeds in (2, 3, 7):
        found = Experiment.from_toml(small, set=[f"seeds={seeds}"]).run(tmp_path / "results")
    assert len(store.files(found.folder)) == 5
    for (scenario, metric), one in found.values_of(["tasks.io.real", "elapsed"]).items():
        rows = found.frame.filter(pl.col("scenario") == scenario, pl.col("metric") == metric)
        assert (one.seeds, one.values) == (rows["seed"].to_list(), rows["value"].to_list())
        assert sorted(one.seeds) == list(range(1, 8))


def test_fields_of_a_manifest_that_are_as_they_would_be_written_are_not_read_again(small, tmp_path):
    found = Experiment.from_toml(small).run(tmp_path / "results")
    about = found.manifest | {"created": "now"}
    lines = {name: manifest.line(name, value) for name, value in about.items() if name not in store.KEPT}
    again = manifest.read_again(found.folder, about, lines)
    assert again == found.manifest
    assert all(again[name] is about[name] for name in lines)
    file = found.folder / manifest.NAME
    whole = file.read_text()
    other = whole.replace(found.scenarios[0], found.scenarios[0][::-1])
    file.write_text(other)
    assert manifest.read_again(found.folder, about, lines)["cells"] == json.loads(other)["cells"] != about["cells"]
    file.write_text(json.dumps(json.loads(whole), indent=1))
    assert manifest.read_again(found.folder, about, lines) == found.manifest
    for damaged in (whole[:-2], whole[1:], whole.replace('"warnings"', '"warning"')):
        file.write_text(damaged)
        with pytest.raises(UsageError, match="is damaged"):
            manifest.read_again(found.folder, about, lines)


def test_a_manifest_is_the_same_in_memory_and_on_disk(small, tmp_path):
    found = Experiment.from_toml(small).run(tmp_path / "results")
    assert found.manifest == Results.open(found.folder).manifest


def test_only_the_last_file_is_held_in_memory(tmp_path, monkeypatch):
    """Each file that is full is written once and never again."""
    monkeypatch.setattr(store, "RUNS_PER_FILE", 2)
    about = {"name": "x", "question": "", "created": "", "seeds": 1, "experiment": {"seeds": 1}, "warnings": []}
    about |= {"versions": {"engine": "e"}, "machines": [{"name": "m"}]}
    about |= {"cells": [{"scenario": "s", "on": "sim", "factors": {}, "machine": 0, "definition": {"workload": {}}}]}
    kept, written, replace = store.Store(tmp_path, about), [], store.writing.replace

    def noted(path: Path, content: bytes) -> None:
        written.append(path.name)
        replace(path, content)

    monkeypatch.setattr(store.writing, "replace", noted)
    for seed in range(5):
        sweep = _core.Sweep(1)
        sweep.put(scenario("1s"), [seed])
        while not sweep.wait(0.05)[0]:
            pass
        _, rows = sweep.take()
        kept.append(rows, store.Labels("x", [], [("s", "e", seed, [])]))
    assert [name for name in written if name.startswith("runs")] == [
        f"runs-000{number}.parquet" for number in (0, 0, 1, 1, 2)
    ]


def test_seeds_that_change_nothing_are_named(schedlab, small):
    said = "note: the seeds change nothing: all 3 runs of each cell are the same in every metric"
    assert "the seeds change nothing" not in schedlab("run", small).stdout
    alone = small.read_text().replace("io = {", "# io = {").replace('"tasks.io.real", ', "")
    small.write_text(alone)
    assert said in schedlab("run", small, "--out", "alone").stdout
    (note,) = schedlab.json("run", small, "--out", "alone")["notes"]
    assert said.endswith(note[: len(said) - len("note: ")])
    assert schedlab.json("run", small, "--out", "alone", "--seeds", 1)["notes"] == []


@pytest.mark.parametrize("where", ["value", "missing"])
def test_runs_that_differ_in_one_metric_of_one_file_are_not_the_same(small, tmp_path, monkeypatch, where):
    monkeypatch.setattr(store, "RUNS_PER_FILE", 2)
    alone = small.read_text().replace("io = {", "# io = {").replace('"tasks.io.real", ', "")
    found = Experiment.from_text(alone, "alone").run(tmp_path / "results")
    assert found.seeds_change_nothing
    *_, last = store.files(found.folder)
    frame = pl.read_parquet(last)
    other = (pl.col("metric") == "context_switches") & (pl.col("seed") == 3)
    if where == "missing":
        frame = frame.filter(~other)
    else:
        frame = frame.with_columns(value=pl.when(other).then(pl.col("value") + 1).otherwise("value"))
    frame.write_parquet(last)
    assert not Results.open(found.folder).seeds_change_nothing
