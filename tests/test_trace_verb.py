"""`schedlab trace` on small recordings in the text of `perf script`: what it prints, refuses, and how it ends."""

import json
import os
import shutil
from pathlib import Path

import pytest
from conftest import valid
from test_cli import refused

HEAD = "{comm:>16} {tid:5d} [{cpu:03d}] {time:.6f}: sched:{event}: {rest}"


class Text:
    """A recording, line by line. Times in microseconds."""

    def __init__(self):
        self.lines = []

    def add(self, us, cpu, current, event, rest):
        comm, tid = current
        line = HEAD.format(comm=comm, tid=tid, cpu=cpu, time=10 + us / 1e6, event=event, rest=rest)
        self.lines.append(line)

    def switch(self, us, cpu, prev, state, next_):
        (prev_comm, prev_pid), (next_comm, next_pid) = prev, next_
        rest = (
            f"prev_comm={prev_comm} prev_pid={prev_pid} prev_prio=120 prev_state={state} ==> "
            f"next_comm={next_comm} next_pid={next_pid} next_prio=120"
        )
        self.add(us, cpu, prev, "sched_switch", rest)

    def waking(self, us, cpu, waker, task):
        self.add(us, cpu, waker, "sched_waking", f"comm={task[0]} pid={task[1]} prio=120 target_cpu={cpu:03d}")

    def write(self, path):
        path.write_text("\n".join(self.lines) + "\n")
        return path


IDLE, SERVER, HOG = ("swapper", 0), ("server", 7), ("hog", 8)


def waits(length, times=100, wait=40):
    """A server that is woken every so many microseconds next to a hog, and waits for it."""
    text = Text()
    text.switch(0, 0, IDLE, "R", HOG)
    for one in range(1, times):
        at = one * length
        text.waking(at, 0, HOG, SERVER)
        text.switch(at + wait + one % 7, 0, HOG, "R", SERVER)
        text.switch(at + wait + 20, 0, SERVER, "S", HOG)
    return text


@pytest.fixture
def file(tmp_path):
    return waits(1000).write(tmp_path / "script.txt")


def test_the_json_has_the_numbers_of_the_tasks_and_groups(schedlab, file):
    found = valid(json.loads(schedlab("trace", file, "--json", "--group", "served=serv.*").stdout))
    server = next(row for row in found["tasks"] if row["comm"] == "server")
    assert (server["pid"], server["wakeups"], server["involuntary_switches"]) == (7, 99, 0)
    assert server["wakeup_us"]["max"] == pytest.approx(46, abs=1e-3)
    assert server["wakeup_us"]["p50"] == pytest.approx(43, abs=1e-3)
    assert {"span_s", "events", "lost", "repaired", "tasks", "groups"} <= found.keys()
    assert found["groups"]["served"]["run_s"] == server["run_s"]
    assert (found["lost"], found["repaired"]) == (0, 0)


def test_the_text_names_tasks_waits_and_wakers(schedlab, file):
    done = schedlab("trace", file)
    assert done.returncode == 0, done.stderr
    for said in (
        "tasks by run time",
        "wakeup latency",
        "processors",
        "the worst waits",
        "who wakes whom",
        "woken by hog:8",
    ):
        assert said in done.stdout


@pytest.mark.parametrize("form", [None, "--csv", "--markdown", "--json"])
def test_a_group_without_a_task_is_warned_of(schedlab, file, form):
    words = ["trace", file, "--group", "hogs=hogs?", "--group", "none=serv", *([form] if form else [])]
    warned = [line for line in schedlab(*words).stderr.splitlines() if " group " in line]
    why = "the pattern has to match the whole name, as redis.* does"
    assert warned == [f"warning: {file}: no task is in the group none: {why}"]


#: Raw buffers of tracefs, and the verbs that read such folders.
RAW = Path(__file__).parents[1] / "crates/traces/tests/data/raw"


def test_a_folder_with_raw_buffers_is_read(schedlab):
    found = json.loads(schedlab("trace", RAW, "--json").stdout)
    assert (found["head"]["format"], found["head"]["recorded"]["sched:sched_switch"]) == ("raw buffers", 326)
    done = schedlab("whatif", RAW, "--write", "work.toml")
    assert done.returncode == 0, done.stderr
    assert (schedlab.folder / "work.toml").exists()


def test_other_folders_and_hostile_ones_are_refused(schedlab, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for verb in ("trace", "whatif"):
        refused(schedlab(verb, folder), "events/header_page")
    shutil.copytree(RAW, folder, dirs_exist_ok=True)
    os.mkfifo(folder / "per_cpu/cpu1/fifo")
    os.replace(folder / "per_cpu/cpu1/fifo", folder / "per_cpu/cpu1/trace_pipe_raw")
    refused(schedlab("trace", folder), "cpu1/trace_pipe_raw: it is no ordinary file")
    (folder / "per_cpu/cpu1/trace_pipe_raw").unlink()
    (folder / "per_cpu/cpu1/trace_pipe_raw").symlink_to("/dev/zero")
    refused(schedlab("trace", folder), "cpu1/trace_pipe_raw: it is no ordinary file")
    refused(schedlab("cache", folder), "is a folder")


def test_a_folder_of_perf_is_refused_with_what_to_do(schedlab, tmp_path):
    (tmp_path / "of_perf").mkdir()
    (tmp_path / "of_perf/data").write_bytes(b"PERFILE2")
    refused(schedlab("trace", tmp_path / "of_perf"), "perf script -i FOLDER > trace.txt")


@pytest.mark.parametrize("form", ["--csv", "--markdown"])
def test_the_other_forms_have_a_row_for_each_task(schedlab, file, form):
    done = schedlab("trace", file, form)
    assert done.returncode == 0, done.stderr
    assert "server" in done.stdout
    assert "hog" in done.stdout


def test_lost_events_are_reported_first_and_end_with_3_unless_allowed(schedlab, tmp_path):
    text = waits(1000)
    text.lines.insert(50, "             hog     8 [000]    10.016050: PERF_RECORD_LOST lost 12")
    file = text.write(tmp_path / "lossy.txt")
    done = schedlab("trace", file)
    assert done.returncode == 3, done.stderr
    said = done.stdout
    assert said.count("lost: 12 events at ") == 1
    assert said.index("lost: 12 events at ") < said.index("tasks by run time")
    assert json.loads(schedlab("trace", file, "--json").stdout)["lost"] == 12
    assert schedlab("trace", file, "--allow-loss").returncode == 0


def test_a_switch_that_is_missing_is_counted(schedlab, tmp_path):
    text = waits(1000)
    del text.lines[50]
    found = json.loads(schedlab("trace", text.write(tmp_path / "gap.txt"), "--json").stdout)
    missing = "sched_switch" in waits(1000).lines[50]
    assert found["repaired"] == int(missing)


def test_what_the_recording_lacks_is_refused_with_what_to_record(schedlab, tmp_path):
    text = Text()
    text.waking(0, 0, HOG, SERVER)
    done = schedlab("trace", text.write(tmp_path / "wakings.txt"))
    assert done.returncode == 2
    assert "no sched:sched_switch events" in done.stderr
    assert "perf record -e sched:sched_switch" in done.stderr
    assert "schedlab record" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--by", "thread"], "there are: pid, comm, tgid, cgroup"),
        (["--by", "cgroup"], "does not say which control group"),
        (["--group", "x"], "as in server=redis.*"),
        (["--group", "x=("], "group x"),
        (["--from", "soon"], "--from 'soon'"),
        (["--from", "2s"], "after the end of the recording"),
        (["--from", "3ms", "--to", "2ms"], "must be after"),
        (["--from", "5s", "--to", "1s"], "--to 1 s must be after --from 5 s"),
        (["--task", "nobody"], "those that ran most: hog, server"),
        (["--cpu", "5"], "those with switches: 0"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_what_can(schedlab, file, words, said):
    done = schedlab("trace", file, *words)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert done.stdout == ""


def test_a_file_that_is_no_recording_is_refused(schedlab, tmp_path):
    (tmp_path / "none").write_bytes(b"\x00\x01no recording")
    done = schedlab("trace", "none")
    assert done.returncode == 2
    assert "none" in done.stderr
    assert schedlab("trace", "missing").returncode == 2


def test_two_recordings_are_compared_by_name_with_intervals(schedlab, file, tmp_path):
    slower = waits(1000, wait=400).write(tmp_path / "slower.txt")
    done = schedlab("trace", slower, "--against", file, "--json", "--group", "all=.*")
    assert done.returncode == 0, done.stderr
    found = valid(json.loads(done.stdout))
    by = {(one["kind"], one["name"], one["metric"]): one for one in found["differences"]}
    for metric in ("wakeup_latency.mean", "wakeup_latency.p50", "wakeup_latency.p99"):
        one = by["task", "server", metric]
        assert one["difference"] == pytest.approx(360, abs=1)
        assert one["low"] <= one["difference"] * 1.1
        assert one["verdict"] == "higher"
    assert by["task", "server", "switches"]["verdict"] == "no difference seen"
    assert "group" in {kind for kind, _, _ in by}
    shown = schedlab("trace", slower, "--against", file)
    assert "wakeup_latency.p99" in shown.stdout


def test_rows_by_number_cannot_be_compared(schedlab, file):
    done = schedlab("trace", file, "--against", file, "--by", "pid")
    assert done.returncode == 2
    assert "compared by names" in done.stderr
