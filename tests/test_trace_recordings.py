"""`schedlab trace` on recordings made here: its numbers are those of other programs on the same file.

`perf sched timehist` where it defines them (run time, scheduling delay), for all a script over the text of
`perf script` (`recorded.py`). Tasks at whose switches the kernel dropped an event are left out: the others repair
nothing.
"""

import shutil
import subprocess
import sys

import pytest
from recorded import Script, rank, timehist

EVENTS = ("switch", "waking", "wakeup_new", "migrate_task", "process_fork", "stat_runtime")
#: Loads of well under a second each, by name: words of a command.
LOADS = {
    "sleepers": [sys.executable, "-c", "import time\nfor _ in range(300): time.sleep(0.001)"],
    "hogs": ["sh", "-c", "for nice in 0 5 10; do nice -n $nice timeout 0.4 sh -c 'while :; do :; done' & done; wait"],
    "forks": ["sh", "-c", "for one in $(seq 150); do /bin/true; done"],
    "pipes": ["sh", "-c", "yes | head -c 20000000 | tr y n | cat > /dev/null"],
    "threads": [
        sys.executable,
        "-c",
        "import queue, threading\nput, got = queue.Queue(), queue.Queue()\n"
        "def serve():\n    for _ in range(2000): got.put(put.get())\n"
        "thread = threading.Thread(target=serve); thread.start()\n"
        "for one in range(2000): put.put(one); got.get()\nthread.join()",
    ],
}


@pytest.fixture(scope="module", params=LOADS)
def recording(request, tmp_path_factory):
    """A recording of one of the loads; skipped where perf is missing or may not record."""
    if not shutil.which("perf"):
        pytest.skip("perf is not installed")
    file = tmp_path_factory.mktemp("recorded") / "perf.data"
    events = ",".join(f"sched:sched_{name}" for name in EVENTS)
    words = ["perf", "record", "-q", "-a", "-m", "8M", "-o", file, "-e", events, "--", *LOADS[request.param]]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode or not file.exists():
        pytest.skip(f"perf may not record here: {done.stderr.strip()[:200]}")
    return file


@pytest.fixture(scope="module")
def script(recording):
    return Script(recording)


@pytest.fixture
def found(recording, schedlab):
    done = schedlab("trace", recording, "--json", "--allow-loss")
    assert done.returncode == 0, done.stderr
    import json

    from conftest import valid

    return valid(json.loads(done.stdout))


def judged(found, script):
    """The rows whose numbers both know: numbers that were given once, of tasks whose switches are all there."""
    pids = [row["pid"] for row in found["tasks"]]
    return [row for row in found["tasks"] if pids.count(row["pid"]) == 1 and row["pid"] not in script.broken]


def test_the_length_and_the_missing_switches_are_those_of_the_text(found, script):
    assert found["span_s"] == pytest.approx((script.last - script.first) / 1e9, abs=1e-12)
    assert found["events"] == script.events
    assert found["repaired"] == script.breaks


def test_each_task_has_the_numbers_of_the_script(found, script):
    rows = judged(found, script)
    # On a quiet machine few others run, and the kernel may have dropped an event of any of them.
    assert len(rows) >= 2
    for row in rows:
        task = script.tasks[row["pid"]]
        assert round(row["run_s"] * 1e9) == sum(task.runs), row
        assert round(row["blocked_s"] * 1e9) == task.blocked, row
        assert round(row["preempt_wait_s"] * 1e9) == sum(task.preempt_waits), row
        assert row["wakeups"] == len(task.latencies), row
        assert row["voluntary_switches"] + row["involuntary_switches"] == task.switches, row
        for shown, values in (
            (row["wakeup_us"], task.latencies),
            (row["run_length_us"], task.runs),
            (row["preempt_wait_us"], task.preempt_waits),
        ):
            if len(values) <= 4096:
                wanted = [rank(values, share) for share in (0.5, 0.9, 0.99, 1)] if values else [None] * 4
                got = [
                    shown[name] if shown[name] is None else round(shown[name] * 1e3)
                    for name in ("p50", "p90", "p99", "max")
                ]
                assert got == wanted, row


def test_runs_and_delays_are_those_of_timehist_to_the_printed_digit(recording, found, script):
    runs, delays = timehist(recording)
    compared = 0
    for row in judged(found, script):
        task = script.tasks[row["pid"]]
        theirs = runs.get(row["pid"], [])
        # timehist also prints runs of which the recording has no beginning.
        if len(theirs) != len(task.runs):
            continue
        shown = row["run_length_us"]
        if theirs:
            compared += 1
            for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1)):
                assert int(round(shown[name] * 1e3) // 1000) == rank(theirs, share), (name, row)
        late = [delay for delay in delays[row["pid"]] if delay]
        ended = task.state != "running"
        if late and ended and not task.otherwise and len(task.latencies) <= 4096:
            assert int(round(row["wakeup_us"]["max"] * 1e3) // 1000) == max(late), row
    assert compared >= 2


def test_a_window_and_a_group_have_less_than_the_whole(recording, found, schedlab):
    import json

    half = found["span_s"] / 2
    groups = ("--group", "all=.*", "--group", "none=-")
    done = schedlab("trace", recording, "--json", "--allow-loss", "--to", f"{half:.9f}s", *groups)
    part = json.loads(done.stdout)
    assert part["span_s"] == pytest.approx(half)
    assert part["groups"]["all"]["run_s"] == pytest.approx(sum(row["run_s"] for row in part["tasks"]))
    assert part["groups"]["none"]["tasks"] == 0
    whole = {(row["pid"], row["comm"]): row["run_s"] for row in found["tasks"]}
    assert all(row["run_s"] <= max(whole.values()) for row in part["tasks"])


def test_a_recording_against_itself_differs_in_nothing(recording, schedlab):
    import json

    done = schedlab("trace", recording, "--against", recording, "--json", "--allow-loss")
    assert done.returncode == 0, done.stderr
    differences = json.loads(done.stdout)["differences"]
    assert differences
    assert {one["verdict"] for one in differences} <= {"no difference seen", "too short to tell"}
    assert all(one["difference"] == 0 for one in differences)
