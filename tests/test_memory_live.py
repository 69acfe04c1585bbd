"""Peaks of processes of this host: as the kernel records them, and by polling without root."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import agent_or_skip
from peaks import MIB, database

from schedlab.memory import history
from schedlab.memory.recording import Recorded, record

ROOT = os.geteuid() == 0
as_root = pytest.mark.skipif(not ROOT, reason="needs root")
PYTHON = os.path.realpath(sys.executable)
#: A process that touches what its argument says, MiB.
TOUCH = "import sys\ndata = bytearray(int(sys.argv[1]) << 20)\n"


@pytest.fixture
def folder():
    """A folder that all users may read."""
    with tempfile.TemporaryDirectory(prefix="schedlab-test-") as path:
        os.chmod(path, 0o755)
        yield Path(path)


@contextmanager
def lines_of(*options, user=None):
    """The agent's lines while the block runs, in a list that is filled at its end."""
    found = []
    words = [agent_or_skip(), "peaks", *options]
    if user is not None:
        words = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *words]
    agent = subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, text=True)
    first = json.loads(agent.stdout.readline())
    if first["how"] != "taskstats" and not {"--polled"} & {*options} and user is None and ROOT:
        agent.kill()
        pytest.skip(f"this kernel reports no ends of tasks: {first['missing']}")
    try:
        yield found
    finally:
        agent.terminate()
        found += [first, *map(json.loads, agent.communicate()[0].splitlines())]


def processes(lines, word):
    """The processes that had this word among their arguments."""
    return [line for line in lines if line["kind"] == "process" and word in (line["arguments"] or [])]


def run(*words):
    subprocess.run(list(map(str, words)), check=True, stdout=subprocess.DEVNULL)


@as_root
def test_the_kernel_reports_the_peak_of_a_process_with_its_program(folder):
    script = folder / "touch.py"
    script.write_text(TOUCH)
    with lines_of() as lines:
        run(PYTHON, "-I", script, "60")
        run(PYTHON, "-I", script, "120")
        run("sh", "-c", f"exec {PYTHON} -I {script} 90")
    found = processes(lines, str(script))
    assert [line["arguments"][-1] for line in found] == ["60", "120", "90"]
    base = [line["peak_bytes"] - int(line["arguments"][-1]) * MIB for line in found]
    assert all(0 < one < 60 * MIB for one in base)
    assert max(base) - min(base) < 4 * MIB, "beyond what was asked for, all need the same"
    assert {line["path"] for line in found} == {PYTHON}
    assert {line["how"] for line in found} == {"taskstats"}


@as_root
def test_a_process_of_many_threads_is_one_with_the_peak_of_all(folder):
    script = folder / "threads.py"
    script.write_text(
        "import threading\nkept = []\n"
        "each = [threading.Thread(target=lambda: kept.append(bytearray(10 << 20))) for _ in range(8)]\n"
        "[one.start() for one in each]\n[one.join() for one in each]\n"
    )
    with lines_of() as lines:
        run(PYTHON, "-I", script)
    [found] = processes(lines, str(script))
    assert 80 * MIB < found["peak_bytes"] < 200 * MIB


@as_root
def test_short_processes_are_known_by_their_arguments_and_forked_ones_are_distinguished():
    with lines_of() as lines:
        run(
            "sh",
            "-c",
            "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do /bin/true lives_shortly; done; (:)",
        )
    found = [line for line in lines if line["kind"] == "process" and line["name"] == "true"]
    assert len(found) == 20
    # Some may be gone before they are looked at, on a busy machine.
    assert len(processes(found, "lives_shortly")) >= 10
    assert {os.path.basename(line["path"] or "true") for line in found} == {"true"}
    assert any(line["forked"] and line["name"] in ("sh", "dash", "bash") for line in lines if line["kind"] == "process")


@as_root
def test_a_program_of_another_content_is_another_version(folder):
    program = folder / "doze"
    path = folder / "a.db"
    shutil.copy(shutil.which("sleep"), program)
    with lines_of() as lines:
        run(program, "0.01")
        with program.open("ab") as file:
            file.write(b"\0")
        run(program, "0.01")
        run(program, "0.01")
    database(path, [line for line in lines if line["kind"] == "process"])
    [group] = history.load(path, "doze").groups
    assert [run.version for run in group.runs] == [1, 2, 2]


@as_root
def test_without_root_own_processes_are_polled_and_peaks_are_lower_bounds(folder):
    agent = folder / "agent"
    shutil.copy(agent_or_skip(), agent)
    agent.chmod(0o755)
    user = 65534
    words = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    listening = subprocess.Popen([*words, agent, "peaks", "--every", "5ms"], stdout=subprocess.PIPE, text=True)
    first = json.loads(listening.stdout.readline())
    assert (first["how"], first["programs"], first["every_ns"]) == ("polled", "scan", 5_000_000)
    assert "run as root" in first["missing"][0]
    run(*words, "sh", "-c", "x=$(head -c 8000000 /dev/zero | tr '\\0' a); sleep 0.3; : polled_here")
    run("sleep", "0.1")
    listening.terminate()
    lines = list(map(json.loads, listening.communicate()[0].splitlines()))
    found = [line for line in lines if line["kind"] == "process"]
    assert {line["user"] for line in found} == {user}, "only this user's own"
    shells = [line for line in found if "polled_here" in " ".join(line["arguments"] or [])]
    assert max(line["peak_bytes"] for line in shells) > 8_000_000
    assert {line["how"] for line in found} == {"polled"}


def test_what_is_polled_is_at_most_what_the_kernel_records(folder):
    script = folder / "touch.py"
    script.write_text(f"{TOUCH}import time\ntime.sleep(0.3)\n")
    with lines_of("--polled", "--every", "5ms") as lines:
        run(PYTHON, "-I", script, "50")
    found = processes(lines, str(script))
    assert 50 * MIB < max(line["peak_bytes"] for line in found) < 110 * MIB


@as_root
def test_a_control_group_is_reported_when_it_is_gone(folder):
    places = [Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")]
    files = {"memory": "memory.max_usage_in_bytes", "cgroup": "memory.peak"}
    place = next((one for one in places if (one / "cgroup.procs").exists()), None)
    if place is None:
        pytest.skip("no hierarchy with memory")
    group = place / f"schedlab-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as why:
        pytest.skip(f"no group can be made: {why}")
    try:
        if not (group / files[place.name]).exists():
            pytest.skip("groups have no peak here")
        with lines_of("--groups-every", "50ms") as lines:
            enter = f"echo $$ > {group}/cgroup.procs && exec {PYTHON} -I -c 'data = bytearray(30 << 20)'"
            run("sh", "-c", enter)
            time.sleep(0.3)
            group.rmdir()
            time.sleep(0.3)
    finally:
        if group.exists():
            group.rmdir()
    [found] = [line for line in lines if line["kind"] == "group" and line["path"] == f"/{group.name}"]
    assert found["peak_bytes"] > 30 * MIB
    assert found["how"] == files[place.name]


@as_root
def test_a_recording_of_this_host_is_stored_and_shown(schedlab, folder):
    script = folder / "touch.py"
    script.write_text(TOUCH)
    path = folder / "a.db"
    running = schedlab.start("memory", "record", "--db", path, "--for", "4s")
    end = time.monotonic() + 20
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(1)
    for _ in range(5):
        run(PYTHON, "-I", script, "30")
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 0, errors
    shown = schedlab.json("memory", "show", f"{os.path.basename(PYTHON)} touch.py", "--db", path)
    [one] = shown["programs"]
    assert (one["runs"], one["class"]) == (5, "<number>")
    assert 30 * MIB < one["p50_bytes"] <= one["max_bytes"] < 90 * MIB
    assert shown["recordings"][0]["how"] == "taskstats"
    assert 0 < shown["recordings"][0]["own_ns"] < 3e9


def test_record_gives_what_was_recorded(tmp_path):
    agent_or_skip()
    found = record(tmp_path / "a.db", ["--for=100ms"])
    assert isinstance(found, Recorded)
    assert found.how in ("taskstats", "polled")
    assert found.own_ns > 0
