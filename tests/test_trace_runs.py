"""`schedlab trace RECORDING --against RESULTS`: a recording next to the runs of an experiment."""

import json

import pytest
from conftest import ROOT, Command, valid

KERNEL = str(ROOT / "examples" / "traces" / "player.txt")


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> tuple[str, str]:
    """The recording of a run of two jobs, and its results."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "two.toml").write_text(
        """
duration = "4s"
machine = { preset = "uniform", processors = 2, clock = { hz = "250/s" } }
scheduler.name = "eevdf"
workload.hogs = { load = "spin", passes = "forever", count = 3 }
workload.sleeper = { passes = "forever", steps = [{ sleep = { exp = "9ms" } }, { compute = "1ms" }] }
"""
    )
    recording, out = folder / "two.recording", folder / "results"
    words = ("--seeds", "6", "--out", str(out), "--trace", str(recording))
    done = Command(folder)("run", str(folder / "two.toml"), *words)
    assert done.returncode == 0, done.stderr
    return str(recording), str(out / "two")


def test_a_recording_of_a_run_differs_in_nothing_from_the_results_of_such_runs(run, schedlab):
    recording, results = run
    done = schedlab("trace", recording, "--against", results, "--json")
    found = json.loads(done.stdout)
    valid(found, "trace-against")
    shares = {one["name"]: one for one in found["differences"] if one["metric"] == "share"}
    assert shares["hogs"]["base"] == pytest.approx(200 - shares["sleeper"]["base"], abs=1)
    of_one = [one for one in found["differences"] if one["metric"] in ("share", "switches", "wakeup_latency.p99")]
    assert len(of_one) >= 5
    assert all(one["low"] <= 0 <= one["high"] for one in of_one), of_one
    grouped = schedlab("trace", recording, "--against", results, "--json", "--group", "sleeper=hogs")
    (share,) = (
        one for one in json.loads(grouped.stdout)["differences"] if one["metric"] == "share" and one["kind"] == "group"
    )
    assert share["verdict"] == "higher", "the hogs, held against the job of the sleeper"


def test_results_that_a_recording_cannot_be_compared_with_are_refused(run, small, tmp_path, schedlab):
    mine, results = run
    done = schedlab("trace", KERNEL, "--against", results, "--allow-loss")
    assert done.returncode == 2
    assert "no task of the recording has the name of a job" in done.stderr
    assert schedlab("run", str(small), "--out", str(tmp_path / "out")).returncode == 0
    done = schedlab("trace", mine, "--against", str(tmp_path / "out" / "small"))
    assert done.returncode == 2
    assert "has 2 cells" in done.stderr
