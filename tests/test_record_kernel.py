"""`schedlab record` on the live kernel: what is in the file, how it ends, and that nothing is left on the host."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import agent_or_skip, valid

TRACEFS = Path("/sys/kernel/tracing")
#: Long enough for a restorer to remove what a killed agent has left.
PATIENCE_SECONDS = 20
#: A load that switches all the time, and is done at once.
PIPE = ["sh", "-c", "i=0; while [ $i -lt 200 ]; do echo | cat > /dev/null; i=$((i+1)); done"]
#: The number of the option with the state at the start, and of its section ("SL").
STATE = int.from_bytes(b"SL", "little")
COMPRESSED = 1


@pytest.fixture(autouse=True)
def permitted():
    """These record; as a user who may not, there is one test below, which needs root to become one."""
    agent_or_skip()
    if os.geteuid() != 0 or not (TRACEFS / "events/sched").exists():
        pytest.skip("recording needs root, and tracefs at /sys/kernel/tracing")


def instances() -> list[str]:
    return [name for name in os.listdir(TRACEFS / "instances") if name.startswith("schedlab-")]


def left(folder: Path) -> list[str]:
    """What is in a folder but for a recording."""
    return [path.name for path in folder.iterdir() if path.suffix != ".dat" and path.name != "state"]


def until(condition) -> bool:
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(condition())


def reported(file: Path) -> list[str]:
    """The events as trace-cmd prints them."""
    if not shutil.which("trace-cmd"):
        pytest.skip("trace-cmd is not installed")
    done = subprocess.run(
        ["trace-cmd", "report", "-i", file], capture_output=True, text=True, errors="replace", check=True
    )
    assert not done.stderr, done.stderr
    return [line for line in done.stdout.splitlines() if re.search(r" \d+\.\d+: ", line)]


def state(file: Path) -> dict:
    """The state at the start that is in a file."""
    data = file.read_bytes()

    def number(at: int, size: int) -> int:
        return int.from_bytes(data[at : at + size], "little")

    at = data.index(b"\0", 10) + 1 + 6
    for _ in range(2):
        at = data.index(b"\0", at) + 1
    options = number(at, 8)
    assert number(options + 2, 2) != COMPRESSED
    at = options + 16
    while (kind := number(at, 2)) != STATE:
        assert kind, "the options have no state"
        at += 6 + number(at + 2, 4)
    section = number(at + 6, 8)
    body = data[section + 16 : section + 16 + number(section + 8, 8)]
    if number(section + 2, 2) == COMPRESSED:
        body = subprocess.run(["zstd", "-dc"], input=body[8:], capture_output=True, check=True).stdout
    return json.loads(body)


@pytest.mark.parametrize("options", [[], ["--plain"]])
def test_trace_cmd_prints_the_events_that_were_counted(schedlab, options):
    done = schedlab("record", "-o", "x.dat", "--json", *options, "--", *PIPE)
    assert done.returncode == 0, done.stderr
    answer = valid(json.loads(done.stdout))
    file = schedlab.folder / "x.dat"
    lines = reported(file)
    assert len(lines) == answer["recorded"]["events"] > 1000
    assert any("sched_switch" in line for line in lines)
    assert answer["recorded"]["bytes"] == file.stat().st_size
    assert file.stat().st_mode & 0o777 == 0o600
    assert (instances(), left(schedlab.folder)) == ([], [])


def test_other_tools_are_told_the_clock_and_the_kernel(schedlab):
    if not shutil.which("trace-cmd"):
        pytest.skip("trace-cmd is not installed")
    assert schedlab("record", "--for", "100ms", "--events", "sched").returncode == 0
    said = subprocess.run(["trace-cmd", "dump", "--options", "-i", schedlab.folder / "trace.dat"],
                          capture_output=True, text=True, check=True).stdout  # fmt: skip
    assert "[mono]" in said
    assert os.uname().release in said


def test_times_are_on_the_monotonic_clock(schedlab):
    before = time.monotonic()
    assert schedlab("record", "--for", "200ms", "--", *PIPE).returncode == 0
    times = [float(re.search(r" (\d+\.\d+): ", line)[1]) for line in reported(schedlab.folder / "trace.dat")]
    # Microseconds are rounded.
    assert before - 1e-3 <= min(times) <= max(times) <= time.monotonic() + 1e-3


def test_only_the_events_of_the_named_sets_are_recorded(schedlab):
    done = schedlab("record", "--events", "interrupts", "--plain", "--for", "300ms")
    assert done.returncode == 0, done.stderr
    kinds = {re.search(r" \d+\.\d+: +(\w+):", line)[1] for line in reported(schedlab.folder / "trace.dat")}
    assert kinds <= {"irq_handler_entry", "irq_handler_exit", "softirq_entry", "softirq_exit",
                     "local_timer_entry", "local_timer_exit"}  # fmt: skip
    assert "softirq_entry" in kinds


def test_the_state_at_the_start_has_every_task_with_how_it_is_scheduled(schedlab):
    sleeper = subprocess.Popen(["nice", "-n", "7", "sleep", "60"])
    try:
        assert until(lambda: os.getpriority(os.PRIO_PROCESS, sleeper.pid) == 7)
        assert until(lambda: Path(f"/proc/{sleeper.pid}/comm").read_text() == "sleep\n")
        os.sched_setaffinity(sleeper.pid, {0})
        assert schedlab("record", "--plain", "--for", "50ms").returncode == 0
    finally:
        sleeper.kill()
        sleeper.wait()
    found = state(schedlab.folder / "trace.dat")
    task = next(task for task in found["tasks"] if task["pid"] == sleeper.pid)
    assert (task["name"], task["nice"], task["policy"], task["processors"]) == ("sleep", 7, 0, "0")
    assert task["parent"] == os.getpid()
    assert found["kernel"]["release"] == os.uname().release
    assert {one["number"] for one in found["processors"]} == os.sched_getaffinity(1)
    assert "sched:sched_switch" in found["events"]
    # Lockdown lets root see this file and not read it.
    with suppress(OSError):
        slice_ns = Path("/sys/kernel/debug/sched/base_slice_ns").read_text().strip()
        assert found["kernel"]["settings"]["/sys/kernel/debug/sched/base_slice_ns"] == slice_ns
    sysctl = "/proc/sys/kernel/sched_rt_period_us"
    assert found["kernel"]["settings"][sysctl] == Path(sysctl).read_text().strip()


@pytest.mark.parametrize(("command", "status"), [("exit 7", 7), ("kill -9 $$", 137)])
def test_the_status_is_the_commands(schedlab, command, status):
    done = schedlab("record", "--", "sh", "-c", command)
    assert done.returncode == status, done.stderr
    assert (schedlab.folder / "trace.dat").exists()


def test_a_command_that_does_not_exist_leaves_no_file(schedlab):
    done = schedlab("record", "--", "/no/such/program")
    assert (done.returncode, "command not found" in done.stderr) == (127, True), done.stderr
    assert (list(schedlab.folder.glob("*.dat")), left(schedlab.folder), instances()) == ([], [], [])


def test_the_output_of_the_command_is_its_own(schedlab):
    done = schedlab("record", "--", "echo", "hello")
    assert done.stdout == "hello\n"
    assert "events in" in done.stderr


def test_ctrl_c_ends_the_recording_and_keeps_it(schedlab):
    running = schedlab.start("record")
    assert until(instances)
    time.sleep(0.3)
    # From the terminal it goes to the agent, too, which is in the same group; here to the agent alone.
    os.kill(child_of(running.pid), signal.SIGINT)
    running.communicate(timeout=PATIENCE_SECONDS)
    assert running.returncode == 0
    assert reported(schedlab.folder / "trace.dat")
    assert (instances(), left(schedlab.folder)) == ([], [])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_command_alone_ends_the_recording_and_keeps_it(schedlab, number):
    running = schedlab.start("record", "--events", "sched")
    assert until(instances)
    # Before it listens, a signal ends the agent at once.
    assert until(lambda: heeds(child_of(running.pid), number))
    running.send_signal(number)
    _, said = running.communicate(timeout=PATIENCE_SECONDS)
    assert running.returncode == 0, said
    assert "error" not in said
    assert "events in" in said
    assert (schedlab.folder / "trace.dat").exists()
    assert (instances(), left(schedlab.folder)) == ([], [])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_command_alone_reaches_what_is_recorded(schedlab, number):
    running = schedlab.start("record", "--events", "sched", "--", "sleep", "60")
    assert until(lambda: asleep(running.pid))
    running.send_signal(number)
    _, said = running.communicate(timeout=PATIENCE_SECONDS)
    assert (running.returncode, "error" in said) == (128 + number, False), said
    assert (schedlab.folder / "trace.dat").exists()
    assert (instances(), left(schedlab.folder)) == ([], [])


def heeds(pid: int, number: int) -> bool:
    """Whether a process takes a signal as a message: it blocks it."""
    (mask,) = re.findall(r"SigBlk:\s*(\w+)", Path(f"/proc/{pid}/status").read_text())
    return bool(int(mask, 16) >> (number - 1) & 1)


def asleep(pid: int) -> bool:
    """Whether the agent of a command has started a `sleep`."""
    with suppress(OSError, ValueError):
        agent = child_of(pid)
        children = Path(f"/proc/{agent}/task/{agent}/children").read_text().split()
        return any(Path(f"/proc/{child}/comm").read_text() == "sleep\n" for child in children)
    return False


def child_of(pid: int) -> int:
    """The agent that a command has started."""
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(child)


def test_ctrl_c_is_the_commands_where_there_is_one(schedlab):
    """A terminal sends it to the whole group."""
    running = subprocess.Popen(
        [shutil.which("setsid"), "--wait", *map(str, _words("record", "--", "sleep", "60"))],
        cwd=schedlab.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert until(instances)
    assert until(lambda: "sleep" in _names_of_group(running.pid))
    os.killpg(_session(running.pid), signal.SIGINT)
    running.communicate(timeout=PATIENCE_SECONDS)
    assert running.returncode == 130
    assert (schedlab.folder / "trace.dat").exists()


def _words(*words: str) -> list[str]:
    from conftest import COMMAND

    return [COMMAND, *words]


def _session(pid: int) -> int:
    """The group of what `setsid --wait` has started: its child, if it had to fork, or itself."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return pid if os.getpgid(pid) == pid else int(children[0])


def _names_of_group(pid: int) -> set[str]:
    group, names = _session(pid), set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.getpgid(int(folder.name)) == group:
                names.add((folder / "comm").read_text().strip())
    return names


def test_a_recording_does_not_become_larger_than_it_may(schedlab):
    # 200 turns make 250 KB or more, by how many events a kernel has for a fork.
    done = schedlab("record", "--size", "512KiB", "--json", "--", "sh", "-c", PIPE[2].replace("200", "1000"))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["recorded"]
    assert found["page_bytes"] <= 512 << 10
    assert "--size is 524288 bytes" in found["ended_early"]
    assert "ended early" in done.stderr
    assert len(reported(schedlab.folder / "trace.dat")) == found["events"] > 0


def test_a_buffer_that_is_too_small_loses_events_and_says_so(schedlab):
    words = ["record", "--buffer", "16KiB", "--json", "--"]
    # All processors are kept from the recorder for longer than so little lasts.
    load = ["sh", "-c", f"{' & '.join(['chrt -f 60 ' + _quoted(PIPE)] * 2)} & wait"]
    done = schedlab(*words, *load)
    found = json.loads(done.stdout)["recorded"]
    assert (done.returncode, found["lost"] > 0) == (3, True), done.stderr
    assert f"lost: {found['lost']:,} events" in done.stderr
    # The events that are in the file are those that were counted, around the gaps.
    assert len(reported(schedlab.folder / "trace.dat")) == found["events"]
    assert schedlab(*words[:-1], "--allow-loss", "--", *load).returncode == 0


def _quoted(words: list[str]) -> str:
    import shlex

    return shlex.join(words)


def test_two_recordings_at_once_have_the_same_events(schedlab):
    first = schedlab.start("record", "-o", "a.dat", "--for", "2s", "--json")
    second = schedlab.start("record", "-o", "b.dat", "--for", "2s", "--json")
    assert until(lambda: len(instances()) == 2)
    subprocess.run(PIPE, check=True)
    answers = [json.loads(one.communicate(timeout=PATIENCE_SECONDS)[0]) for one in (first, second)]
    assert [one.returncode for one in (first, second)] == [0, 0]
    counts = [len(reported(Path(answer["recorded"]["file"]))) for answer in answers]
    assert counts == [answer["recorded"]["events"] for answer in answers]
    assert (instances(), left(schedlab.folder)) == ([], [])


#: While it begins, while it records, and while it writes.
MOMENTS = [0.0, 0.02, 0.05, 0.1, 0.3, 0.8, 1.02, 1.05]


@pytest.mark.parametrize("moment", MOMENTS)
def test_what_is_killed_leaves_nothing(schedlab, moment):
    agent = agent_or_skip()
    running = subprocess.Popen([agent, "capture", "-o", "x.dat", "--for", "1s", "--journal", schedlab.folder / "state"],
                               cwd=schedlab.folder, stdout=subprocess.PIPE)  # fmt: skip
    time.sleep(moment)
    running.kill()
    running.communicate()
    assert until(lambda: not instances() and not left(schedlab.folder)), (instances(), left(schedlab.folder))


def test_a_file_that_was_there_is_replaced_as_a_whole_and_only_in_the_end(schedlab):
    file = schedlab.folder / "trace.dat"
    file.write_text("older")
    running = schedlab.start("record", "--for", "500ms")
    assert until(instances)
    assert file.read_text() == "older"
    assert (running.wait(timeout=PATIENCE_SECONDS), file.read_bytes()[:10]) == (0, b"\x17\x08Dtracing")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--events", "sched,disks"], 'there is no set "disks"; sets are sched, runtime, interrupts'),
        (["--size", "1KiB"], "--size: "),
        (["--size", "1MiB", "--buffer", "64MiB"], "are more than --size"),
        (["--buffer", "1KiB"], "--buffer: expected at least 16KiB"),
        (["--for", "soon"], "soon"),
        (["-o", "/no/such/folder/x.dat"], "there is no folder /no/such/folder"),
        (["-o", "/dev/null"], "is no ordinary file"),
    ],
)
def test_what_cannot_be_done_is_refused(schedlab, words, said):
    done = schedlab("record", *words, "--", "touch", "ran")
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert not (schedlab.folder / "ran").exists()
    assert (instances(), left(schedlab.folder)) == ([], [])


def test_without_root_the_message_says_what_would_permit_it(schedlab):
    schedlab.folder.chmod(0o777)
    drop = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    agent = shutil.copy(agent_or_skip(), "/tmp/schedlab-agent-of-a-test")
    try:
        words = [*drop, agent, "capture", "-o", "x.dat", "--for", "1s", "--journal", schedlab.folder / "state"]
        done = subprocess.run(words, cwd="/tmp", capture_output=True, text=True)
    finally:
        os.unlink(agent)
    assert done.returncode == 2
    assert "run as root" in done.stderr
    assert "sudo schedlab record" in done.stderr


def test_tasks_of_a_recorded_command_are_seen_as_they_treat_themselves(tmp_path, schedlab):
    """`taskset` and `chrt` change how a task is treated after the state at the start was taken."""
    file, cpu = tmp_path / "bound.dat", min(os.sched_getaffinity(0))
    words = ["sh", "-c", f"chrt -b 0 taskset -c {cpu} sleep 0.6 & wait"]
    done = schedlab("record", "-o", file, "--", *words)
    assert done.returncode == 0, done.stderr
    (made,) = (task for task in state(file)["tasks"] if task["name"] == "sleep" and task["meanwhile"])
    assert (made["policy"], made["processors"]) == (os.SCHED_BATCH, str(cpu))
    written = schedlab("whatif", file, "--write", tmp_path / "mine.toml", "--allow-loss")
    assert written.returncode == 0, written.stderr
    jobs = [line for line in (tmp_path / "mine.toml").read_text().splitlines() if line.startswith("sleep")]
    assert any('policy = "batch"' in job and (os.cpu_count() == 1 or "cpus = [" in job) for job in jobs), jobs
