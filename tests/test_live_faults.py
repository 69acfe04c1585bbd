"""What a live host must survive: kills, full disks, refusals, tasks that die. With the true agent, on this machine.

After each: what was set is back, finished runs are whole, and a message says what happened and how to go on. What is
set changes nothing of note: how readily names of files are forgotten, and a group's weight.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import COMMAND, agent_or_skip, settings_to_ourselves

from schedlab.results import Results
from schedlab.targets.host.session import ATTEMPTS
from schedlab.targets.target import LOG

KNOB = Path("/proc/sys/vm/vfs_cache_pressure")
#: Seconds in which everything must be back after a kill.
SOON = 30
#: As on a host where others work too: these tests are not about noise.
ANYHOW = ("--trust", "--dirty", "--patience", "0.7", "--quiet-below", "100")

FILE = """
machine = {{ preset = "host", processors = 1 }}
seeds = {seeds}
duration = "{duration}"
metrics = ["tasks.hog.share"]
[groups]
one = {{ weight = 512 }}
[workload]
hog = {{ load = "spin", passes = "forever", group = "one" }}
{more}
[sweep]
"tunables.vfs_cache_pressure" = [{values}]
"""


@pytest.fixture
def put_back():
    """The host before; afterwards it must be the same. Gives what the knob held."""
    agent_or_skip()
    if os.geteuid():
        pytest.skip("settings of the host are root's")
    if not KNOB.exists():
        pytest.skip(f"this kernel has no {KNOB}")
    with settings_to_ourselves():
        before = KNOB.read_text()
        yield before
        until(lambda: KNOB.read_text() == before)


def until(so, seconds=SOON):
    """Wait until it is so; a test fails if it does not become so."""
    end = time.monotonic() + seconds
    while not so():
        assert time.monotonic() < end, "it did not come to that in time"
        time.sleep(0.05)


def children(pid: int) -> list[int]:
    """Those of all threads."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def groups_of(pids) -> list[Path]:
    """Control groups that agents of these numbers have made."""
    return [path for pid in pids for path in Path("/sys/fs/cgroup").glob(f"*/schedlab-{pid}-*")]


def file(folder, duration="1s", seeds=2, values="101, 102", more=""):
    path = folder / "fault.toml"
    path.write_text(FILE.format(duration=duration, seeds=seeds, values=values, more=more))
    return path


def in_a_run(process, agents):
    """Wait until an agent of this process has set the knob, and give its number; `agents` gets all that were seen."""

    def begun():
        assert process.poll() is None, process.communicate()
        agents.update(child for child in children(process.pid))
        return KNOB.read_text().strip() in ("101", "102") and groups(process)

    def groups(process):
        return any(groups_of(children(child)) or groups_of([child]) for child in children(process.pid))

    until(begun, 60)
    (agent,) = children(process.pid)
    agents.update(children(agent))
    return agent


def test_a_sweep_whose_parent_is_killed_leaves_nothing_and_goes_on(schedlab, put_back):
    path, agents = file(schedlab.folder), set()
    process = schedlab.start("run", path, "--on", "host", *ANYHOW)
    until(lambda: list(schedlab.folder.rglob("runs-*.parquet")), 90)
    in_a_run(process, agents)
    process.send_signal(signal.SIGKILL)
    process.wait()
    until(lambda: KNOB.read_text() == put_back)
    until(lambda: not groups_of(agents))
    until(lambda: not any(Path(f"/proc/{agent}").exists() for agent in agents))
    (folder,) = {path.parent for path in schedlab.folder.rglob("runs-*.parquet")}
    known = Results.open(folder).frame["seed"].len()
    assert known >= 1
    done = schedlab.json("run", path, "--on", "host", *ANYHOW)
    assert 1 <= done["runs"]["known"] < done["runs"]["total"] == 4
    assert all(cell["metrics"]["tasks.hog.share"]["n"] == 2 for cell in done["cells"])


def test_a_long_run_ends_soon_after_its_parent_was_killed(schedlab, put_back):
    path, agents = file(schedlab.folder, duration="300s", seeds=1), set()
    process = schedlab.start("run", path, "--on", "host", *ANYHOW)
    in_a_run(process, agents)
    process.send_signal(signal.SIGKILL)
    process.wait()
    until(lambda: KNOB.read_text() == put_back)
    until(lambda: not groups_of(agents))


@pytest.mark.parametrize("which", ["outer", "inner"])
def test_an_agent_that_is_killed_leaves_nothing_and_a_message(schedlab, put_back, which):
    path, agents = file(schedlab.folder, duration="20s", seeds=1), set()
    process = schedlab.start("run", path, "--on", "host", *ANYHOW)
    outer = in_a_run(process, agents)
    inner = next(child for child in children(outer) if children(child))
    os.kill(outer if which == "outer" else inner, signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2, errors
    assert "killed by signal 9" in errors or "ended by signal 9" in errors
    until(lambda: KNOB.read_text() == put_back)
    until(lambda: not groups_of(agents))
    done = schedlab.json("run", path, "--on", "host", "--set", "duration=1s", *ANYHOW)
    assert done["runs"]["total"] == 2


def test_a_setting_that_another_process_changes_voids_the_run(schedlab, put_back):
    path = file(schedlab.folder, duration="2s", seeds=1, values="101")
    process = schedlab.start("run", path, "--on", "host", "--json", *ANYHOW)
    try:
        while process.poll() is None:
            if KNOB.read_text() == "101\n":
                time.sleep(1.0)
                KNOB.write_text("103")
            time.sleep(0.05)
    finally:
        KNOB.write_text(put_back)
    answer, errors = process.communicate()
    assert process.returncode == 0, errors
    document = json.loads(answer)
    (warning,) = document["warnings"]
    assert f"void in {ATTEMPTS} of {ATTEMPTS} attempts" in warning["warning"]
    assert f"vfs_cache_pressure was 101 and became 103 during the run ({KNOB})" in warning["warning"]
    assert document["cells"][0]["metrics"] == {}
    again = schedlab.json("run", path, "--on", "host", *ANYHOW)
    assert again["cells"][0]["metrics"]["tasks.hog.share"]["n"] == 1
    assert not any("void" in warning["warning"] for warning in again["warnings"])


@pytest.fixture
def tiny(tmp_path):
    """A disk on which there is hardly any room."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"no small disk can be made: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_is_named_and_what_was_set_is_back(schedlab, put_back, tiny):
    path = file(schedlab.folder, duration="300ms", seeds=1)
    done = schedlab("run", path, "--on", "host", "--out", tiny, *ANYHOW)
    assert done.returncode == 0, done.stderr
    with open(tiny / "ballast", "wb", buffering=0) as ballast:
        fill(ballast)
    done = schedlab("run", path, "--on", "host", "--out", tiny, "--set", "seeds=9", *ANYHOW)
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: ")
    assert "No space left on device" in done.stderr
    assert str(tiny) in done.stderr
    assert KNOB.read_text() == put_back
    (tiny / "ballast").unlink()
    (log,) = tiny.rglob(LOG)
    assert all(json.loads(line) for line in log.read_text().splitlines())
    done = schedlab.json("run", path, "--on", "host", "--out", tiny, *ANYHOW)
    assert (done["runs"]["total"], done["runs"]["known"]) == (2, 2), "what was finished is whole"


def fill(ballast):
    for size in (1 << 16, 1 << 12, 1):
        try:
            while True:
                ballast.write(b"x" * size)
        except OSError:
            continue


def test_a_task_that_dies_is_reported_and_the_others_are_kept(schedlab, put_back):
    more = 'doomed = { load = "command", run = "sleep 0.3; kill -9 $$" }'
    path = file(schedlab.folder, duration="500ms", seeds=1, values="101", more=more)
    done = schedlab.json("run", path, "--on", "host", *ANYHOW)
    assert done["cells"][0]["metrics"]["tasks.hog.share"]["mean"] > 0
    assert any("doomed" in warning["warning"] for warning in done["warnings"])


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("tunables.vfs_cache_pressure=-1", "vfs_cache_pressure"),
        ("tunables.no_such_knob=1", "no_such_knob"),
        ("tunables.child_runs_first=true", "child_runs_first"),
        ("tunables.page_cluster=9999", "page_cluster"),
    ],
)
def test_a_knob_that_refuses_is_reported_before_anything_is_changed(schedlab, put_back, setting, words):
    if words == "child_runs_first" and Path("/proc/sys/kernel/sched_child_runs_first").exists():
        pytest.skip("this kernel has it")
    path = file(schedlab.folder)
    done = schedlab("run", path, "--on", "host", "--set", setting, *ANYHOW)
    assert done.returncode == 2, done.stdout
    assert words in done.stderr
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1
    assert not list(schedlab.folder.rglob(LOG))
    assert KNOB.read_text() == put_back


PLAIN = """
machine = { preset = "host", processors = 1 }
seeds = 1
duration = "500ms"
metrics = ["tasks.nice.share", "tasks.plain.share", "tasks.sleepy.wakeup_latency.p99", "tasks.plain.run_wait.p99"]
[workload]
plain = { load = "spin", passes = "forever", session = "one" }
nice = { load = "spin", passes = "forever", session = "one", nice = 10 }
sleepy = { load = "sleeper", passes = "forever", session = "one" }
"""


def as_nobody():
    """The words that make a command run as the user nobody, who may read all files: Python may lie in root's home."""
    if os.geteuid():
        return []
    if not shutil.which("setpriv"):
        pytest.skip("there is no setpriv to run as another user with")
    reads = ["--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search"]
    return ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", *reads, "--"]


def test_without_root_what_is_allowed_works_and_the_rest_is_named():
    agent_or_skip()
    folder = Path(subprocess.run(["mktemp", "-d"], capture_output=True, text=True, check=True).stdout.strip())
    try:
        (folder / "plain.toml").write_text(PLAIN)
        if not os.geteuid():
            shutil.chown(folder, 65534, 65534)
        words = [*as_nobody(), str(COMMAND), "run", "plain.toml", "--json", *ANYHOW]
        env = {**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
        done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        (cell,) = document["cells"]
        assert cell["metrics"]["tasks.plain.share"]["mean"] > cell["metrics"]["tasks.nice.share"]["mean"]
        warnings = " ".join(warning["warning"] for warning in document["warnings"])
        assert "the agent itself ran" in warnings
        assert "events were not recorded" in warnings
        assert "tasks.plain.run_wait.p99" not in cell["metrics"]
    finally:
        shutil.rmtree(folder)


def test_without_recording_what_needs_it_is_left_out(schedlab):
    agent_or_skip()
    path = schedlab.folder / "plain.toml"
    path.write_text(PLAIN)
    (cell,) = schedlab.json("run", path, "--no-record", *ANYHOW)["cells"]
    assert "tasks.plain.share" in cell["metrics"]
    assert "tasks.plain.run_wait.p99" not in cell["metrics"]


@pytest.mark.parametrize("only", [0, 1])
def test_a_machine_with_one_processor_works(schedlab, only):
    agent_or_skip()
    if only not in os.sched_getaffinity(0):
        pytest.skip(f"processor {only} is none that may be used")
    path = schedlab.folder / "plain.toml"
    path.write_text(PLAIN)
    words = ["taskset", "-c", str(only), str(COMMAND), "run", str(path), "--json", *ANYHOW]
    done = subprocess.run(words, cwd=schedlab.folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    (cell,) = json.loads(done.stdout)["cells"]
    assert cell["metrics"]["tasks.plain.share"]["mean"] > 0
    (log,) = schedlab.folder.rglob(LOG)
    noise = json.loads(log.read_text().splitlines()[0])["noise"]
    assert [one["processor"] for one in noise["windows"][0]["processors"]] == [only]


def test_groups_that_may_not_be_made_are_reported_and_the_rest_works(schedlab, put_back):
    """In a mount namespace of its own the groups' hierarchy may only be read."""
    hierarchies = [folder for name in ("cpu", "unified", ".") if (folder := Path("/sys/fs/cgroup") / name).is_mount()]
    closing = [f"mount --bind {path} {path} && mount -o remount,bind,ro {path}" for path in hierarchies]
    if subprocess.run(["unshare", "--mount", "sh", "-c", " && ".join(closing)], capture_output=True).returncode:
        pytest.skip("there is no mount namespace to close the groups in")
    path = file(schedlab.folder, duration="500ms", seeds=1, values="101")
    command = f'{" && ".join(closing)} && exec "$@"'
    words = ["unshare", "--mount", "sh", "-c", command, "sh", COMMAND, "run", path, "--on", "host", "--json", *ANYHOW]
    done = subprocess.run(words, cwd=schedlab.folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["cells"][0]["metrics"]["tasks.hog.share"]["mean"] > 0
    assert any("Read-only file system" in warning["warning"] for warning in document["warnings"])


#: A wall clock that is stepped by a minute, there and back, ten times a second, for this process only.
STEPPED = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    struct timespec steady;
    int failed = real(clock, now);
    if (!failed && clock == CLOCK_REALTIME && !real(CLOCK_MONOTONIC, &steady))
        now->tv_sec += steady.tv_nsec / 100000000 % 2 ? 60 : -60;
    return failed;
}
"""


def test_a_wall_clock_that_jumps_changes_no_number(schedlab):
    agent_or_skip()
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler to make a clock that jumps")
    (schedlab.folder / "stepped.c").write_text(STEPPED)
    clock = schedlab.folder / "stepped.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", clock, schedlab.folder / "stepped.c", "-ldl"], check=True)
    path = schedlab.folder / "plain.toml"
    path.write_text(PLAIN)
    begun = time.time()
    done = schedlab("run", path, "--seeds", "3", *ANYHOW, env={"LD_PRELOAD": str(clock)})
    assert done.returncode == 0, done.stderr
    (log,) = schedlab.folder.rglob(LOG)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert all(line["time"] < begun - 20 or line["time"] > time.time() + 20 for line in lines), "the clock did jump"
    runs = [line["outcome"] for line in lines if "outcome" in line]
    assert len(runs) >= 3
    for run in runs:
        (elapsed,) = [row["value"] for row in run["rows"] if row["metric"] == "elapsed"]
        assert 0.5 <= elapsed < 5
