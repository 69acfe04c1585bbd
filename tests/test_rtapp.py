"""Task sets of rt-app: read, run in the simulator, written as TOML and back, refused with the reason."""

import json

import pytest
from conftest import ROOT

from schedlab import Experiment
from schedlab._core import ScenarioError

SETS = sorted((ROOT / "examples" / "rt-app").glob("*.json"))
#: A fifth of a processor, and a tenth of another thread under real time.
PERIODIC = """{
    /* us */
    "tasks": {
        "player": { "run": 4000, "timer": { "ref": "unique", "period": 20000 } },
        "driver": { "policy": "SCHED_FIFO", "run": 1000, "timer": { "ref": "unique", "period": 10000 }, },
    },
    "global": { "duration": 2, "calibration": "CPU0", "logdir": "./" }
}
"""
#: What a task set does not say.
FIELDS = ("machine={ preset = 'uniform', processors = 4 }", "scheduler.name=eevdf", "seeds=1")
SIMULATED = tuple(word for field in FIELDS for word in ("--set", field))


@pytest.fixture
def periodic(tmp_path):
    path = tmp_path / "periodic.json"
    path.write_text(PERIODIC)
    return path


def test_periodic_threads_have_the_shares_that_they_ask_for(schedlab, periodic):
    metrics = "metrics=['tasks.*.share', 'tasks.*.deadline_misses']"
    (cell,) = schedlab.json("run", periodic, *SIMULATED, "--set", metrics)["cells"]
    found = {name: value["mean"] for name, value in cell["metrics"].items()}
    # A share is one of all four processors.
    assert found["tasks.player.share"] == pytest.approx(20 / 4, abs=0.001)
    assert found["tasks.driver.share"] == pytest.approx(10 / 4, abs=0.001)
    assert found["tasks.player.deadline_misses"] == 0


def test_what_is_ignored_is_said_once(schedlab, periodic):
    done = schedlab("run", periodic, *SIMULATED)
    assert done.stderr.count("ignored, for rt-app's own logs only: global.logdir") == 1


def test_a_task_set_is_run_on_this_computer_as_it_is_simulated_if_nothing_else_is_said(periodic):
    assert Experiment.from_toml(periodic).is_of_host


@pytest.mark.parametrize("file", SETS, ids=lambda file: file.stem)
def test_an_example_is_written_as_toml_and_as_json_and_read_as_the_same(schedlab, tmp_path, file):
    toml, again = tmp_path / "again.toml", tmp_path / "again.json"
    done = schedlab("run", file, *SIMULATED, "--write", toml)
    assert done.returncode == 0, done.stderr
    first = Experiment.from_toml(toml)
    assert first.definition == Experiment.from_toml(file, FIELDS).definition
    done = schedlab("run", toml, "--write-rt-app", again)
    if done.returncode:
        # What no task set can say is refused with its place.
        assert "again: workload." in done.stderr
        assert not again.exists()
    else:
        assert Experiment.from_toml(again, FIELDS).cells() == first.cells()


@pytest.mark.parametrize("file", SETS, ids=lambda file: file.stem)
def test_an_example_runs_in_the_simulator(schedlab, file):
    done = schedlab("run", file, *SIMULATED)
    assert done.returncode == 0, done.stderr


def test_what_cannot_be_expressed_is_refused_with_its_place(schedlab, periodic):
    periodic.write_text(PERIODIC.replace('"run": 4000', '"run": 4000, "util_max": 512'))
    done = schedlab("run", periodic)
    assert done.returncode == 2
    assert "periodic.json: tasks.player.util_max: utilisation clamps cannot be expressed" in done.stderr


def test_an_experiment_that_rt_app_cannot_run_is_refused(schedlab, small):
    done = schedlab("run", small, "--set", "scheduler.slice=18ms", "--write-rt-app", "out.json")
    assert done.returncode == 2
    assert "rt-app has no event" in done.stderr or "session" in done.stderr
    assert not (schedlab.folder / "out.json").exists()
    done = schedlab("run", small, "--write-rt-app", "out.json")
    assert "sweep: a task set is one setting" in done.stderr


def test_a_file_of_json_without_tasks_says_what_is_read(tmp_path):
    path = tmp_path / "other.json"
    path.write_text(json.dumps({"machine": "uniform"}))
    with pytest.raises(ScenarioError, match="tasks: is missing: a file in JSON is a task set of rt-app"):
        Experiment.from_toml(path)
