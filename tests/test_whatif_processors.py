"""What `schedlab whatif` finds out about several processors from a recording, and that it says so."""

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
