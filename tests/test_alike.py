"""Cells in whose runs no random number is drawn: run once, whatever the seeds."""

import json

import polars as pl
import pytest

from schedlab import Experiment, Interrupted, results
from schedlab.executors import local
from schedlab.results import store
from schedlab.results.results import Results
from schedlab.targets import simulator

#: Lotteries are drawn, a queue is not.
HALF = """
machine = "uniform"
seeds = 3
metrics = ["tasks.a.turnaround.mean", "context_switches"]
[workload]
a = { steps = [{ compute = "150ms" }], count = 4 }
b = { steps = [{ compute = "20ms" }], count = 2 }
[scheduler]
name = "fifo"
[sweep]
"scheduler.name" = ["fifo", "lottery"]
"""
FIFO, LOTTERY = ({"scheduler.name": name} for name in ("fifo", "lottery"))


@pytest.fixture
def half(tmp_path, monkeypatch):
    """An experiment that draws in one of its two cells."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "half.toml"
    path.write_text(HALF)
    return path


def contents(folder) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in store.files(folder)}


def test_a_cell_that_draws_nothing_is_run_once(schedlab, half):
    note = "the seeds change nothing in 1 of 2 cells: 4 runs in place of 6; there is no interval of one run"
    found = schedlab.json("run", half)
    assert found["runs"] == {"total": 6, "computed": 4, "known": 0, "skipped": 2}
    assert found["notes"] == [note]
    fifo, lottery = (cell["metrics"]["tasks.a.turnaround.mean"] for cell in found["cells"])
    assert (fifo["n"], fifo["low"], fifo["high"]) == (1, None, None)
    assert lottery["n"] == 3
    assert lottery["low"] < lottery["mean"] < lottery["high"]
    shown = schedlab("run", half).stdout
    (row,) = (line for line in shown.splitlines() if line.split()[:1] == ["fifo"])
    assert "±" not in row
    assert " of " not in row, "one run is all there is of it"
    said = " ".join(shown.split())
    assert f"note: {note}" in said
    assert "over 3 seeds; 0 runs (4 known before)" in said


def test_a_sweep_that_draws_nothing_says_so(schedlab, half):
    half.write_text(HALF.replace('"lottery"', '"srtf"'))
    assert schedlab.json("run", half)["runs"] == {"total": 6, "computed": 2, "known": 0, "skipped": 4}
    shown = " ".join(schedlab("run", half).stdout.split())
    assert "±" not in shown.partition("no interval")[0]
    assert "no interval: 3 seeds; 0 runs (2 known before)" in shown
    assert "note: the seeds change nothing: 2 runs in place of 6; there is no interval of one run" in shown
    assert Results.open("results/half").seeds_change_nothing
    assert schedlab.json("run", half, "--seeds", 1)["notes"] == []
    page = schedlab.folder / "page.html"
    assert schedlab("report", "results/half", "-o", page).returncode == 0
    assert "Each number is of one seed: there is no interval." in page.read_text()


def test_the_one_run_stands_for_all_seeds_that_are_asked_for_later(schedlab, half):
    schedlab("run", half)
    for seeds, runs in [
        ("3", {"total": 6, "computed": 0, "known": 4, "skipped": 2}),
        ("5", {"total": 10, "computed": 2, "known": 4, "skipped": 4}),
        ("[7,8]", {"total": 4, "computed": 2, "known": 1, "skipped": 1}),
        ("[9]", {"total": 2, "computed": 1, "known": 1, "skipped": 0}),
    ]:
        found = schedlab.json("run", half, "--set", f"seeds={seeds}")
        assert found["runs"] == runs, seeds
        assert [cell["metrics"]["context_switches"]["n"] for cell in found["cells"]] == [1, runs["total"] // 2]
    frame = results.load("results")
    assert frame.filter(~pl.col("seeded"))["seed"].unique().to_list() == [1]
    assert frame.select("scenario", "seed", "metric").is_duplicated().sum() == 0


def test_it_stands_for_them_in_another_folder_too(half):
    Experiment.from_toml(half, set=["seeds=[5]"]).run()
    half.write_text(HALF.replace('["fifo", ', '["round_robin", "fifo", '))
    found = Experiment.from_toml(half).run()
    assert found.computed == 1 + 3, "of round_robin one, of the lottery all"
    assert found.skipped == 4
    assert sorted(found.alike.values()) == [1, 5]
    assert {one["n"] for one in found.entries("elapsed")} == {1, 3}


@pytest.mark.parametrize("per_file", [1, 3, 1000])
def test_files_are_the_same_on_any_number_of_threads_and_after_a_stop(half, tmp_path, monkeypatch, per_file):
    monkeypatch.setattr(store, "RUNS_PER_FILE", per_file)
    half.write_text(HALF.replace('["fifo", ', '["fifo", "round_robin", "stride", ').replace("seeds = 3", "seeds = 5"))
    experiment = Experiment.from_toml(half)
    whole = contents(experiment.run(tmp_path / "whole", threads=1).folder)
    assert contents(experiment.run(tmp_path / "threads", threads=8).folder) == whole

    def stop_after_a_chunk(done, total):
        """What is known is reported first, then each chunk."""
        reported.append(done)
        if len(reported) > 1:
            raise KeyboardInterrupt

    stops = 0
    for module in (simulator, local):
        monkeypatch.setattr(module, "AHEAD", 2)
    while True:
        reported = []
        try:
            found = experiment.run(tmp_path / "stopped", threads=2, progress=stop_after_a_chunk)
            break
        except Interrupted:
            stops += 1
    assert stops > 2
    assert contents(found.folder) == whole
    assert (found.computed, found.skipped) == (0, 12)


def test_files_of_before_do_not_say_so_and_are_gone_on_with(half):
    found = Experiment.from_toml(half).run()
    (file,) = store.files(found.folder)
    frame = pl.read_parquet(file)
    copies = frame.filter(~pl.col("seeded"))
    again = [copies.with_columns(seed=pl.lit(seed, pl.UInt64)) for seed in (2, 3)]
    pl.concat([frame, *again]).drop("seeded").write_parquet(file)
    known = Experiment.from_toml(half).run()
    assert (known.computed, known.skipped, known.alike) == (0, 0, {})
    assert {one["n"] for one in known.entries()} == {3}
    assert known.frame["seeded"].all()


def test_what_no_seed_changes_is_compared_without_chance(half):
    half.write_text(HALF.replace('["fifo", ', '["fifo", "round_robin", "srtf", '))
    found = Experiment.from_toml(half).run()
    rows = {row["scheduler.name"]: row for row in found.differences("tasks.a.turnaround.mean", FIFO).to_dicts()}
    for name in ("round_robin", "srtf"):
        row = rows[name]
        assert (row["n"], row["low"], row["high"]) == (1, None, None)
        assert (row["verdict"], row["p"]) == (("real", 0.0) if row["mean"] else ("not shown", 1.0))
    assert rows["round_robin"]["verdict"] == "real"
    drawn = rows["lottery"]
    fifo, lottery = (found.values("tasks.a.turnaround.mean", cell) for cell in (FIFO, LOTTERY))
    assert (fifo.height, drawn["n"]) == (1, 3)
    assert drawn["mean"] == pytest.approx((lottery["value"] - fifo["value"].item()).mean())
    assert drawn["low"] < drawn["mean"] < drawn["high"]
    table = found.differences_table(found.differences("tasks.a.turnaround.mean", FIFO))
    assert [row[-2].text for row in table.rows] == ["1", "1", "3"], "pairs"


def test_its_warnings_are_those_of_every_seed(schedlab, half):
    half.write_text(HALF + 'duration = ["400ms"]\n')
    found = [schedlab.json("run", half, "--set", f"seeds=[{seed}]") for seed in (1, 2)]
    fifo = found[0]["cells"][0]["scenario"]
    first, other = ({one["warning"] for one in of["warnings"] if one["scenario"] == fifo} for of in found)
    assert first
    assert first == other
    both = schedlab("run", half, "--set", "seeds=[1,2]").stdout
    assert "(3 of 3 runs)" in both, both


def test_a_run_says_whether_it_drew(half):
    found = Experiment.from_toml(half).run()
    seeded = found.frame.group_by("scheduler.name").agg(pl.col("seeded").unique()).sort("scheduler.name").rows()
    assert seeded == [("fifo", [False]), ("lottery", [True])]
    answer = results.query("select count(distinct seed) as n from results where not seeded")
    assert answer["n"].item() == 1
    assert json.loads((found.folder / "manifest.json").read_text())["seeds"] == 3, "three are asked for"
