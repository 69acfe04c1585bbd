"""Results: what a frame holds, and what a summary of it says."""

import sys

import polars as pl
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from schedlab import Experiment, UsageError, results, stats, units
from schedlab.results import Results, manifest

NUMBERS = st.integers(-(10**9), 10**9)


@pytest.fixture
def found(small, tmp_path):
    return Experiment.from_toml(small).run(out=tmp_path / "results")


def test_a_frame_is_tidy(found):
    assert found.frame.columns == [
        "experiment", "scenario", "engine", "seed", "metric", "unit", "value", "scheduler.slice", "seeded"
    ]  # fmt: skip
    assert found.frame.select("scenario", "seed", "metric").is_duplicated().sum() == 0
    assert found.frame["value"].is_finite().all()
    assert set(found.frame["seed"]) == {1, 2, 3}
    assert set(found.frame["scheduler.slice"]) == {"100ms", "18ms"}


def test_both_numbers_of_waste_can_be_asked_for(small, tmp_path):
    asked = ["wasted", "wasted.longest"]
    two = ["machine.processors=2", "scheduler.name=round_robin"]
    definition = Experiment.from_toml(small, set=two).definition | {"metrics": asked}
    summary = Experiment.from_dict(definition).run(out=tmp_path / "results").summary()
    assert set(summary["metric"]) == set(asked)
    assert summary["mean"].is_between(0, 100).all()


def test_load_finds_every_experiment_and_duckdb_agrees(found, small, tmp_path):
    Experiment.from_toml(small, set=["scheduler.name=round_robin", "scheduler.slice=20ms"]).run(
        out=tmp_path / "results"
    )
    frame = results.load(tmp_path / "results")
    counted = results.query("select scenario, count(*) as n from results group by scenario", tmp_path / "results")
    assert dict(counted.iter_rows()) == dict(frame.group_by("scenario").len().iter_rows())
    assert frame["scenario"].n_unique() == 3


def test_no_results_are_an_error_that_says_how_to_make_some(tmp_path):
    with pytest.raises(UsageError, match="schedlab run"):
        results.load(tmp_path)


def test_a_summary_is_student_t_over_seeds(found):
    summary = found.summary()
    for row in summary.filter(pl.col("metric") == "tasks.io.real").iter_rows(named=True):
        values = found.frame.filter(pl.col("scenario") == row["scenario"], pl.col("metric") == row["metric"])["value"]
        low, high = scipy.stats.t.interval(0.95, 2, values.mean(), scipy.stats.sem(values))
        assert row["n"] == 3
        assert row["mean"] == pytest.approx(values.mean())
        assert (row["low"], row["high"]) == (pytest.approx(low), pytest.approx(high))


def test_a_single_seed_has_no_interval(small, tmp_path):
    found = Experiment.from_toml(small, set=["seeds=1"]).run(out=tmp_path)
    assert found.summary()["low"].is_null().all()
    assert "±" not in found._repr_html_()


def test_an_interval_is_found_by_factors_and_a_wrong_name_is_answered(found):
    assert found.interval("tasks.io.real", scheduler__slice="18ms").n == 3
    with pytest.raises(UsageError, match=r"2 cells.*choose one of: scheduler\.slice = 100ms"):
        found.interval("tasks.io.real")
    with pytest.raises(UsageError, match=r"did you mean 'tasks\.io\.real'"):
        found.interval("tasks.io.reel", scheduler__slice="18ms")


def test_the_manifest_says_where_the_numbers_come_from(found):
    manifest = found.manifest
    assert manifest["question"].startswith("Which slice")
    assert manifest["seeds"] == 3
    assert {"engine", "python"} <= manifest["versions"].keys()
    assert "source" in manifest["machines"][0]["clock"]["hz"]
    assert [cell["factors"] for cell in manifest["cells"]] == [
        {"scheduler.slice": "100ms"},
        {"scheduler.slice": "18ms"},
    ]
    assert "machine" not in manifest["cells"][0]["definition"]


def test_a_large_sweep_leaves_out_definitions_and_makes_them_again(small, tmp_path, monkeypatch):
    swept = {"machine.processors": [1, 2], "machine.costs.context_switch": ["10us", "20us"]}
    text = "".join(line for line in small.read_text().splitlines(True) if not line.startswith("metrics"))
    experiment = Experiment.from_text(text, "small.toml", set=["seeds=1", "scheduler.name=round_robin"]).sweep(swept)
    whole = experiment.run(tmp_path / "whole")
    monkeypatch.setattr(manifest, "MOST_DEFINED", 7)
    run = experiment.run(tmp_path / "large")
    large = Results.open(run.folder)
    assert large.manifest == run.manifest
    assert large.manifest["machines"] == whole.manifest["machines"]
    assert large.shown_metrics == whole.shown_metrics
    for short, cell in zip(large.manifest["cells"], whole.manifest["cells"], strict=True):
        assert short == {name: value for name, value in cell.items() if name != "definition"}
        assert large.scenario(short) == whole.scenario(cell)
    with pytest.raises(UsageError, match="made another scenario of this cell"):
        large.scenario(large.manifest["cells"][0] | {"scenario": "0" * 64})


def test_every_cell_is_compared_with_its_own_baseline(small, tmp_path):
    found = Experiment.from_toml(small).sweep({"workload.hog.nice": [0, 5]}).run(tmp_path / "results")
    of = {cell["scenario"]: cell["factors"] for cell in found.manifest["cells"]}
    compared = found.differences("tasks.io.real", "scheduler.slice=18ms").iter_rows(named=True)
    pairs = [(of[row["scenario"]], of[row["baseline"]]) for row in compared]
    assert pairs == [
        (
            {"scheduler.slice": "100ms", "workload.hog.nice": nice},
            {"scheduler.slice": "18ms", "workload.hog.nice": nice},
        )
        for nice in ("0", "5")
    ]


def test_an_error_names_some_of_many_cells(small, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[Results.__module__], "NAMED_CELLS", 1)
    found = Experiment.from_toml(small, set=["seeds=1"]).run(tmp_path / "results")
    with pytest.raises(UsageError, match=r"choose one of: scheduler.slice = 100ms; 1 more cell$"):
        found.cell({})


def test_experiments_and_results_show_in_a_notebook(found, small):
    assert "18ms" in Experiment.from_toml(small)._repr_html_()
    assert "tasks.io.real [s]" in found._repr_html_()


def test_names_are_escaped_in_html(small, tmp_path):
    small.write_text(small.read_text().replace("Which slice", "<script>"))
    experiment = Experiment.from_toml(small)
    for page in (experiment._repr_html_(), experiment.run(out=tmp_path)._repr_html_()):
        assert "&lt;script&gt;" in page
        assert "<script>" not in page


def test_an_experiment_from_a_dictionary_is_the_one_from_the_file(small):
    from_file = Experiment.from_toml(small)
    again = Experiment.from_dict(from_file.definition, "small")
    assert again == from_file
    assert [cell.hash for cell in again.cells()] == [cell.hash for cell in from_file.cells()]


def test_sweep_adds_factors_and_leaves_the_first_experiment_alone(small):
    first = Experiment.from_toml(small)
    second = first.sweep({"scheduler.ready_at": ["tail", "head"]})
    assert (len(first.cells()), len(second.cells())) == (2, 4)


@given(st.lists(NUMBERS, min_size=2, max_size=40))
def test_an_interval_holds_its_mean_and_is_scipys(values):
    mean, low, high, n = stats.mean_interval(values)
    assert n == len(values)
    if len(set(values)) == 1:
        assert low == mean == high == values[0]
        return
    theirs = scipy.stats.t.interval(0.95, n - 1, sum(values) / n, scipy.stats.sem(values))
    assert (low, high) == (pytest.approx(theirs[0]), pytest.approx(theirs[1]))
    assert low < mean < high


def test_an_interval_covers_the_truth_as_often_as_it_says():
    sample = scipy.stats.norm(5, 2).rvs(size=(4000, 6), random_state=1990)
    held = sum(low <= 5 <= high for _, low, high, _ in map(stats.mean_interval, sample))
    assert scipy.stats.binomtest(held, 4000, 0.95).pvalue > 0.001


@given(st.floats(1e-9, 1e9), st.sampled_from(["ns", "us", "ms", "s", "min"]))
def test_units_convert_there_and_back(value, unit):
    assert units.convert(units.convert(value, unit, "s"), "s", unit) == pytest.approx(value)
    readable = units.readable_unit("s", value)
    assert units.convert(units.convert(value, "s", readable), readable, "s") == pytest.approx(value)


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [(85.04, 1.23, "85.0 ± 1.2"), (0.01234, 0.00056, "0.01234 ± 0.00056"), (1234.5, 25, "1234 ± 25"), (7, 0, "7 ± 0")],
)
def test_a_mean_is_spelled_to_the_place_its_interval_gives_meaning(mean, half, text):
    assert units.spread(mean, half) == text


def test_durations_are_read_as_people_write_them():
    assert [units.seconds(t) for t in ("100ms", "17 ms", "1.5s", "2min")] == [0.1, 0.017, 1.5, 120]
    assert [units.seconds(t) for t in ("tail", "", "36", "ms")] == [None] * 4
