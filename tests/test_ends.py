"""What a run's end cuts off, tasks that can never go on, and missing numbers: as a user sees them."""

import csv
import io
import json

import pytest

DEADLOCK = """
machine = "uniform"
scheduler = { name = "eevdf" }
seeds = 2
[workload.d]
passes = 100
steps = [{lock="a"},{compute="3ms"},{sleep="1ms"},{lock="b"},{unlock="b"},{unlock="a"}]
[workload.e]
passes = 100
steps = [{lock="b"},{compute="3ms"},{sleep="1ms"},{lock="a"},{unlock="a"},{unlock="b"}]
"""

NAMED = "deadlock: d holds a and waits for b; e holds b and waits for a"

STARVED = """
machine = "uniform"
scheduler = { name = "fifo" }
seeds = 2
duration = "60s"
[workload]
hog = { load = "spin", compute = "100s", start = "1s" }
worker = { passes = "forever", steps = [{ compute = "5ms" }, { sleep = "1ms" }] }
"""


@pytest.fixture
def file(tmp_path):
    """Write an experiment file."""

    def write(text, name="ask.toml"):
        (tmp_path / name).write_text(text)
        return name

    return write


def test_a_deadlock_is_named_in_table_json_manifest_and_page(schedlab, file):
    done = schedlab("run", file(DEADLOCK), "--out", "results")
    assert done.returncode == 1, done.stderr
    assert f"warning: {NAMED}; " in done.stdout
    assert "(2 of 2 runs)" in done.stdout
    assert "last longer" not in done.stdout
    printed = schedlab("run", "ask.toml", "--out", "results", "--json")
    assert printed.returncode == 1
    answer = json.loads(printed.stdout)
    assert any(NAMED in one["warning"] for one in answer["warnings"])
    manifest = json.loads((schedlab.folder / answer["folder"] / "manifest.json").read_text())
    assert any(NAMED in one["warning"] for one in manifest["warnings"])
    page = schedlab("report", answer["folder"], "--output", "page.html")
    assert page.returncode == 0, page.stderr
    assert NAMED in (schedlab.folder / "page.html").read_text()
    counts = schedlab("run", "ask.toml", "--set", 'metrics=["stuck", "deadlocks", "tasks.*.stuck"]', "--json")
    metrics = json.loads(counts.stdout)["cells"][0]["metrics"]
    assert {name: one["mean"] for name, one in metrics.items()} == {
        "stuck": 2,
        "deadlocks": 1,
        "tasks.d.stuck": 1,
        "tasks.e.stuck": 1,
    }


def test_the_default_table_shows_the_longest_gap_and_warns_of_it_by_job(schedlab, file):
    done = schedlab("run", file(STARVED))
    assert done.returncode == 0, done.stderr
    assert "longest_gap [s]" in done.stdout
    assert "warning: a ready task of `worker` had no processor for 58.99" in done.stdout
    assert "of `hog` had no processor" not in done.stdout


def test_a_maximum_that_the_end_cut_off_says_so(schedlab, file):
    metrics = 'metrics=["tasks.worker.pass_time.max", "tasks.worker.pass_time.p50"]'
    # What differs between the seeds does not matter: the worker runs at that moment.
    words = ["--set", metrics, "--set", 'workload.hog.start={ uniform = ["1s", "1000.5ms"] }']
    done = schedlab("run", file(STARVED), *words)
    assert "warning: tasks.worker.pass_time: 1 of " in done.stdout, done.stdout
    assert "had not ended when the run ended, the oldest after 59" in done.stdout
    assert "with these max is at least 59" in done.stdout
    # The median of many is the same whatever becomes of one.
    assert "p50" not in done.stdout.partition("warning")[2]
    answer = schedlab.json("run", "ask.toml", *words)
    assert sorted(one["seeds"] for one in answer["warnings"] if "pass_time" in one["warning"]) == [[1], [2]]


def test_warnings_are_a_column_of_the_csv_if_any_row_has_one(schedlab, file):
    path = file(STARVED)
    words = [path, "--seeds", 2, "--set", 'metrics=["tasks.worker.pass_time.max"]', "--csv"]
    done = schedlab("run", *words)
    (row,) = csv.DictReader(io.StringIO(done.stdout))
    assert list(row)[-1] == "notes"
    assert "had not ended when the run ended" in row["notes"]
    assert len(row["notes"].split(" | ")) > 1
    assert all(f"warning: {note} (" in done.stderr for note in row["notes"].split(" | "))
    (again,) = csv.DictReader(io.StringIO(schedlab("report", "ask", "--csv").stdout))
    assert again == row
    swept = schedlab("run", *words, "--set", 'sweep={ "workload.hog.compute" = ["1s", "100s"] }').stdout
    assert [bool(row["notes"]) for row in csv.DictReader(io.StringIO(swept))] == [False, True]
    harmless = schedlab("run", *words, "--set", 'workload.hog.compute="1s"')
    assert "notes" not in harmless.stdout


def test_a_metric_that_short_runs_lack_says_so_and_names_one_that_begins_alike(schedlab, file):
    plain = DEADLOCK.partition("[workload.d]")[0] + 'workload.hog = { load = "spin", compute = "10ms" }\n'
    done = schedlab("run", file(plain), "--set", 'metrics=["load1"]')
    assert done.returncode == 2
    reason = "nothing in these runs gives it a value: make them longer, or take it out of metrics"
    assert f"no run has 'load1' ({reason}); did you mean 'load_mean'?" in done.stderr


def test_a_metric_without_a_value_is_an_error_with_the_nearest_name(schedlab, file):
    plain = DEADLOCK.partition("[workload.d]")[0] + 'workload.hog = { load = "spin", compute = "10ms" }\n'
    done = schedlab("run", file(plain), "--set", 'metrics=["wakeup_latency.mean", "run_wait.max"]')
    assert done.returncode == 2
    expected = "ask: no run has 'wakeup_latency.mean' (there are no values: wakeup_latency.count is 0); did you mean"
    assert done.stderr.startswith(f"error: {expected}"), done.stderr
    assert "run_wait.max" in done.stdout
    endless = schedlab("run", file(STARVED), "--set", 'metrics=["tasks.worker.real"]')
    assert endless.returncode == 2
    assert 'no task of it ever ends; did you mean "tasks.worker.passes"?' in endless.stderr
    late = schedlab("run", "ask.toml", "--set", 'metrics=["tasks.worker.lateness.p99"]')
    assert late.returncode == 2
    assert 'it has no step "period"; did you mean "tasks.worker.pass_time.p99"?' in late.stderr


def test_ule_shows_the_gap_that_wakeup_latency_hides(schedlab, file):
    case = """
    machine = { preset = "uniform", processors = 8 }
    scheduler = { name = "ule" }
    seeds = 1
    duration = "30s"
    metrics = ["wakeup_latency.max", "run_wait.max", "longest_gap"]
    [workload.worker]
    count = 16
    passes = "forever"
    steps = [{ sleep = { exp = "10ms" } }, { compute = { uniform = ["1ms", "5ms"] } }]
    [workload.batch]
    load = "spin"
    count = 8
    nice = 10
    passes = "forever"
    """
    answer = schedlab.json("run", file(case))
    metrics = {name: one["mean"] for name, one in answer["cells"][0]["metrics"].items()}
    warned = [one["warning"] for one in answer["warnings"] if "had no processor" in one["warning"]]
    longest = max(metrics["longest_gap"], metrics["run_wait.max"])
    assert bool(warned) == (longest > 1), (metrics, warned)
    assert metrics["longest_gap"] >= metrics["wakeup_latency.max"]
