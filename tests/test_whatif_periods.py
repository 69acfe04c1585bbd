"""A task that counts its period anew after it was late, as rt-app does: what it does under other settings."""

import pytest

#: The player is late in most of its periods: it has a third of the processor where it needs 45 %.
LOAD = """
machine = "uniform"
duration = "4s"
seeds = 3
metrics = ["tasks.audio.share"]
scheduler = { name = "eevdf" }
workload.audio = { passes = "forever", steps = [
    { timer = { period = "5ms", mode = "MODE" } }, { compute = { uniform = ["2.2ms", "2.3ms"] } },
] }
workload.hogs = { load = "spin", compute = "1000s", passes = "forever", count = 2 }
"""
CHANGES = {
    "fifo": (["audio: policy=fifo:10"], ["workload.audio.policy=fifo", "workload.audio.priority=10"]),
    "nicer": (["hogs: nice=5"], ["workload.hogs.nice=5"]),
    "less": (["audio: nice=5"], ["workload.audio.nice=5"]),
}


def recorded(schedlab, mode):
    (schedlab.folder / "load.toml").write_text(LOAD.replace("MODE", mode))
    schedlab.ok("run", "load.toml", "--set", "seeds=1", "--trace", "run.recording")


def of_runs(schedlab, settings):
    """The share in runs of three seeds, in %."""
    found = schedlab.json("run", "load.toml", *[word for one in settings for word in ("--set", one)])
    return found["cells"][0]["metrics"]["tasks.audio.share"]["mean"]


def predicted(schedlab, *changes):
    return schedlab.json("whatif", "run.recording", *[word for one in changes for word in ("--change", one)])


def test_as_recorded_it_has_what_it_had_and_is_named(schedlab):
    recorded(schedlab, "relative")
    found = predicted(schedlab)
    assert found["causes"]["audio"]["restarting_timers"] > 50
    assert any("counting its period anew after it was late: audio" in one for one in found["assumptions"])
    share = found["groups"]["audio"]["share_pct"]
    assert share["predicted"] == pytest.approx(share["recorded"], abs=1)


@pytest.mark.parametrize("change", CHANGES)
def test_it_does_in_each_period_what_it_did_in_one(schedlab, change):
    changes, settings = CHANGES[change]
    recorded(schedlab, "relative")
    group = predicted(schedlab, *changes)["groups"]["audio"]
    assert group["share_pct"]["predicted"] == pytest.approx(of_runs(schedlab, settings), abs=1)


def test_one_that_keeps_its_times_is_none(schedlab):
    recorded(schedlab, "absolute")
    assert predicted(schedlab)["causes"]["audio"]["restarting_timers"] == 0
