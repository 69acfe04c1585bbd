"""What `schedlab whatif` finds out about several processors from a recording, and that it says so."""

import json
import tomllib

import pytest
from test_trace_verb import IDLE, Text

SLEEPER, FIRST, SECOND = ("sleeper", 5), ("hog", 8), ("hog", 9)


def beside_two_hogs(sleep, times=60):
    """A task that sleeps again and again on one processor, and two hogs on the other, one of them from the first."""
    text = Text()
    text.switch(0, 0, IDLE, "R", SECOND)
    text.switch(1, 1, IDLE, "R", FIRST)
    text.switch(2, 0, SECOND, "R", SLEEPER)
    text.add(3, 1, FIRST, "sched_migrate_task", "comm=hog pid=9 prio=120 orig_cpu=0 dest_cpu=1")
    text.switch(4, 1, FIRST, "R", SECOND)
    now = 5
    text.switch(now, 1, SECOND, "R", FIRST)
    for _ in range(times):
        text.switch(now + 80, 0, SLEEPER, "S", IDLE)
        now += 80 + sleep
        text.add(now, 1, FIRST, "sched_waking", "comm=sleeper pid=5 prio=120 target_cpu=000")
        text.switch(now + 2, 0, IDLE, "R", SLEEPER)
    return text


@pytest.mark.parametrize(("sleep", "dear"), [(20, True), (900, False)])
def test_processors_that_look_in_vain_after_short_times_are_said_to_find_it_dear(schedlab, sleep, dear):
    file = beside_two_hogs(sleep).write(schedlab.folder / "script.txt")
    schedlab.ok("whatif", file, "--write", "mine.toml")
    written = tomllib.loads((schedlab.folder / "mine.toml").read_text())
    assert written["machine"].get("topology") == ({"newidle_cost": "150us"} if dear else None)
    shown = " ".join(schedlab("whatif", file, "--seeds", 2).stdout.split())
    assert ("looking for work is taken to cost a processor 150us: hardly one that was idle for less" in shown) == dear


def executed(schedlab, experiment):
    """How often a program is executed in a run of it, by its recording."""
    schedlab.ok("run", experiment, "--on", "sim", "--set", "seeds=1", "--trace", "run.recording")
    return json.loads(schedlab.ok("trace", "run.recording", "--json"))["head"]["recorded"]["Executed"]


def test_tasks_execute_programs_in_a_replay_as_often_as_in_the_recorded_run(schedlab):
    """And the hog next to them has what it had: they come to the same processors."""
    (schedlab.folder / "load.toml").write_text(
        'machine = { preset = "uniform", processors = 2, clock = { hz = "250/s" } }\nduration = "3s"\n'
        'scheduler.name = "eevdf"\nworkload.hog = { load = "spin", passes = "forever" }\n'
        'workload.runner = { count = 2, passes = "forever", steps = [{ compute = { uniform = ["2ms", "8ms"] } }, '
        '"exec", { compute = { uniform = ["2ms", "8ms"] } }, { sleep = { uniform = ["1ms", "5ms"] } }] }\n'
    )
    recorded = executed(schedlab, "load.toml")
    assert recorded > 200
    found = json.loads(schedlab.ok("whatif", "run.recording", "--seeds", 2, "--json"))
    share = found["groups"]["hog"]["share_pct"]
    assert share["predicted"] == pytest.approx(share["recorded"], abs=2)
    schedlab.ok("whatif", "run.recording", "--write", "mine.toml")
    assert executed(schedlab, "mine.toml") == pytest.approx(recorded, abs=3)
