"""`schedlab diagnose`: by made-up numbers first, then by putting each kind of shortage on this machine."""

import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from schedlab.direct.diagnosed import _mark, first_line
from schedlab.errors import UsageError
from schedlab.experiment import Experiment
from schedlab.observe import diagnose, remedy
from schedlab.observe.watch import Means
from schedlab.system.toml import headed
from schedlab.targets import agent

COMMAND = [sys.executable, "-c", "from schedlab.cli import main; main()", "diagnose"]
HEADER = {"processors": 2, "disks": ["sda", "sdb"], "links": ["lo", "eth9"]}
QUIET = {
    "system.r": 1,
    "cpu.idl": 97,
    "cpu.wai": 0,
    "pressure.cpu.some": 1,
    "pressure.io.some": 0.5,
    "pressure.memory.some": 0,
    "paging.pswpin": 0,
    "paging.pswpout": 0,
    "paging.stall": 0,
    "disks.sda.aqu-sz": 0.1,
    "disks.sdb.aqu-sz": 0,
    "net.eth9.rxdrop/s": 0,
    "net.eth9.txdrop/s": 0,
}


def judged(**changed):
    """Findings from these means; a name's dots are written as double underscores."""
    numbers = QUIET | {name.replace("__", "."): value for name, value in changed.items()}
    means = Means()
    means.add({"at_ns": 0, "seconds": 1.0, "missed": 0, "own_ns": 1, **numbers})
    return diagnose.judge(HEADER, means, diagnose.Usage())


def short(**changed):
    return [finding.resource for finding in judged(**changed) if finding.short]


def test_a_quiet_host_is_short_of_nothing():
    assert short() == []


def test_full_processors_with_a_short_queue_are_a_want_of_processor():
    assert short(cpu__idl=2, system__r=4, pressure__cpu__some=60) == ["processor"]


def test_a_long_queue_is_named_before_the_processors():
    assert short(cpu__idl=0, system__r=11, pressure__cpu__some=99) == ["run queue", "processor"]


def test_tasks_that_wait_while_processors_idle_are_a_shortage_of_the_run_queue():
    assert short(cpu__idl=50, system__r=4, pressure__cpu__some=95) == ["run queue"]


def test_busy_processors_are_short_even_if_no_task_waits_yet():
    assert short(cpu__idl=3, system__r=3, pressure__cpu__some=4) == ["processor"]


def test_what_the_hypervisor_takes_is_not_busy():
    assert short(cpu__idl=30, cpu__stl=60) == ["hypervisor"]
    assert short(cpu__idl=93, cpu__stl=5) == []
    busy = next(f for f in judged(cpu__idl=30, cpu__stl=60) if f.resource == "processor").evidence[0]
    assert busy["value"] == pytest.approx(25)


def test_interrupts_are_short_of_the_processor_that_has_them():
    assert short(**{"cpu0.hiq": 1, "cpu0.siq": 2, "cpu1.hiq": 0, "cpu1.siq": 60}) == ["interrupts"]


GROUP = {
    "path": "/shop",
    "tasks": [],
    "throttled_percent": None,
    "throttled_time_percent": None,
    "failed_per_s": None,
    "refaults_per_s": None,
    "major_faults_per_s": None,
    "oom_kills": 0,
    "memory": None,
    "limit": None,
    "pressure": [None, None, None],
}


def with_group(means=None, **changed):
    numbers = QUIET | (means or {})
    held = Means()
    held.add({"at_ns": 0, "seconds": 1.0, "missed": 0, "own_ns": 1, **numbers})
    seen = {"seconds": 1.0, "groups": [GROUP | changed], "ended": [], "locks": [], "sockets": []}
    return diagnose.judge(HEADER, held, diagnose.Usage(), seen)


def test_a_quota_explains_processors_that_idle_while_tasks_wait():
    waits = {"cpu.idl": 60, "pressure.cpu.some": 95}
    first, *rest = with_group(waits, throttled_percent=90.0, throttled_time_percent=80.0)
    assert (first.resource, first.groups) == ("processor quota", ["/shop"])
    assert not any(finding.short for finding in rest)


def test_a_group_that_misses_what_it_gave_up_is_short_of_memory_and_one_that_streams_is_not():
    assert with_group(failed_per_s=28_000.0, refaults_per_s=9000.0)[0].groups == ["/shop"]
    assert not with_group(failed_per_s=28_000.0, refaults_per_s=0.0)[0].short
    # A kernel that counts no refaults leaves only the failures to judge by.
    assert with_group(failed_per_s=28_000.0)[0].short


def test_the_first_line_never_contradicts_the_marks_below_it():
    draw = random.Random(1)
    for _ in range(2000):
        changed = {name: draw.choice([None, value, 10 * value, 100 - value, 40]) for name, value in QUIET.items()}
        changed |= {
            "cpu.stl": draw.choice([0, 20]),
            "system.int": 5e4 * draw.random(),
            "system.fork": draw.choice([0, 900]),
        }
        findings = judged(**changed)
        line, marks = first_line(findings), [(f, _mark(f, e)) for f in findings for e in f.evidence]
        short = [finding.resource for finding in findings if finding.short]
        assert line.startswith("short of nothing") == (not short)
        assert all(name in line for name in short)
        assert {f.resource for f, mark in marks if mark == "short"} <= set(short)
        assert all(any(mark == "short" for f, mark in marks if f.resource == name) for name in short)


def test_a_long_queue_of_write_back_is_not_short_if_no_task_waits_for_it():
    assert short(**{"disks.sda.aqu-sz": 40}) == []


def test_without_pressure_the_queue_of_the_drive_decides():
    (finding, *_) = judged(pressure__io__some=None, **{"disks.sdb.aqu-sz": 9})
    assert (finding.resource, finding.short, finding.device) == ("disk", True, "sdb")


def test_paging_is_named_before_the_drive_that_it_keeps_busy():
    assert short(paging__pswpin=400, pressure__io__some=90) == ["memory and paging", "disk"]


def test_lost_packets_are_a_want_of_network():
    assert short(**{"net.eth9.rxdrop/s": 50}) == ["network"]


def test_what_a_kernel_does_not_tell_is_no_evidence():
    findings = judged(**dict.fromkeys(QUIET, None))
    assert not any(finding.short for finding in findings)
    assert all(entry["over"] is None for finding in findings for entry in finding.evidence)


@pytest.mark.parametrize("resource", ["processor", "run queue", "disk", "memory and paging", "network"])
def test_every_experiment_that_is_proposed_can_be_run(resource, tmp_path):
    tasks = [diagnose.Task(7, "hog", 99.0, None)]
    finding = diagnose.Finding(resource, True, [], tasks, "", "sda", [])
    tunables = [
        {"name": "elevator@sda", "value": "none", "domain": {"names": ["none", "bfq"]}},
        {"name": "swappiness", "value": "60", "domain": {}},
    ]
    made = remedy.experiment(finding, tunables)
    if resource == "network":
        assert made is None
        return
    path = tmp_path / "try.toml"
    path.write_text(headed(made, "first line\nsecond"))
    experiment = Experiment.from_toml(path)
    assert experiment.is_of_host
    assert len(experiment.cells()) > 1
    assert remedy.experiment(finding, []) is None or resource in ("processor", "run queue")


try:
    agent.program()
    missing = ""
except UsageError as why:
    missing = str(why)
live = pytest.mark.skipif(bool(missing), reason=missing or "the agent is there")


def asked(*arguments):
    done = subprocess.run([*COMMAND, "--json", *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@contextmanager
def running(*commands):
    """Commands that run meanwhile, each with all its children a group that is ended."""
    started = [subprocess.Popen(command, stderr=subprocess.DEVNULL, process_group=0) for command in commands]
    try:
        yield started
    finally:
        for one in started:
            os.killpg(one.pid, signal.SIGKILL)
            one.wait()


@live
def test_hogs_make_the_queue_long_and_are_named(tmp_path):
    hogs = 5 * (os.cpu_count() or 1)
    with running(*[["sh", "-c", "while :; do :; done"]] * hogs) as started:
        time.sleep(0.5)
        found = asked("--for", "3s", "--write", str(tmp_path / "try.toml"))
    assert "run queue" in found["short"]
    blamed = next(finding for finding in found["findings"] if finding["resource"] == "run queue")
    assert {task["pid"] for task in blamed["tasks"]} & {one.pid for one in started}
    if found["written"]:
        assert Experiment.from_toml(found["written"]).cells()


@live
def test_writers_past_the_cache_make_the_drive_short_and_are_named(tmp_path):
    def writer(number):
        place = tmp_path / str(number)
        once = f"dd if=/dev/zero of={place} bs=4k count=2000 oflag=direct,dsync conv=notrunc"
        return ["sh", "-c", f"while :; do {once}; done"]

    probe = subprocess.run(
        ["dd", "if=/dev/zero", f"of={tmp_path}/probe", "bs=4k", "count=1", "oflag=direct"], capture_output=True
    )
    if probe.returncode:
        pytest.skip(f"no direct writes here: {probe.stderr.decode().splitlines()[0]}")
    # Where others use up the processors, a writer would wait for one of those instead.
    with _scored().planted.running(*map(writer, range(3)), preferred=True):
        found = asked("--for", "3s")
    assert "disk" in found["short"]
    blamed = next(finding for finding in found["findings"] if finding["resource"] == "disk")
    assert "dd" in {task["name"] for task in blamed["tasks"]}


@live
def test_a_group_that_reads_more_than_it_may_keep_is_short_of_memory_and_named(tmp_path):
    controller = Path("/sys/fs/cgroup/memory")
    if not os.access(controller / "memory.limit_in_bytes", os.R_OK) or os.geteuid() != 0:
        pytest.skip("no memory controller of version 1 that we may use")
    if not Path("/proc/pressure/memory").exists():
        pytest.skip("this kernel does not report pressure")
    group = controller / f"schedlab_test_{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(12 << 20))
        file = tmp_path / "file"
        read = f"echo $$ > {group}/tasks; head -c 60000000 /dev/zero > {file}; while :; do cat {file} > /dev/null; done"
        with running(["sh", "-c", read], ["sh", "-c", read.replace(str(file), f"{file}2")]):
            time.sleep(1.5)
            found = asked("--for", "4s")
    finally:
        for _ in range(50):
            try:
                group.rmdir()
                break
            except OSError:
                time.sleep(0.1)
    held = next(finding for finding in found["findings"] if finding["resource"] == "memory and paging")
    assert held["short"], held["evidence"]
    assert found["short"][0] == "memory and paging"
    assert f"/{group.name}" in held["groups"]


@live
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--for", "100ms", "--every", "1s"], "nothing was seen"),
        (["--write", "/no/such/folder/x.toml"], "no folder"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(arguments, reason):
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr


def _children(pid):
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(word) for thread in threads for word in thread.read_text().split()]


@live
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_its_agents_end_with_it(number):
    if not Path("/proc/self/task").exists() or not list(Path("/proc/self/task").glob("*/children")):
        pytest.skip("this kernel lists no children")
    watching = subprocess.Popen([*COMMAND, "--for", "100s"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    # A third one says what the samples mean, and ends by itself.
    while len(agents := _children(watching.pid)) != 2 and time.monotonic() < until:
        time.sleep(0.05)
    assert len(agents) == 2
    watching.send_signal(number)
    assert watching.wait(60) == (130 if number == signal.SIGINT else -number)
    while any(Path(f"/proc/{pid}/exe").exists() for pid in agents) and time.monotonic() < until:
        time.sleep(0.05)
    assert not [pid for pid in agents if Path(f"/proc/{pid}/exe").exists()]


@live
def test_every_threshold_is_shown_with_its_reason():
    done = subprocess.run([*COMMAND, "--for", "600ms"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("short of ")
    printed = " ".join(done.stdout.split())
    for sign in ("pressure.memory.some", "pressure.io.some", "ready tasks a processor", "packets dropped"):
        assert sign in printed
    assert "of processor time a sample" in printed


def _scored():
    """The bench's situations; its file is no module of the package."""
    place = Path(__file__).parent.parent / "bench" / "diagnose.py"
    sys.path.insert(0, str(place.parent))
    spec = importlib.util.spec_from_file_location("bench_diagnose", place)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@live
@pytest.mark.parametrize(
    "name",
    [
        "steal (tree)",
        "steal is not busy (tree)",
        "softirqs (tree)",
        "quota, version 2 (tree)",
        "memory.events, version 2 (tree)",
        "idle and healthy (tree)",
    ],
)
def test_situations_that_a_host_cannot_produce_are_diagnosed_from_a_tree_of_files(name):
    right, said = _scored().once(name)
    assert right, said


@live
@pytest.mark.skipif(os.geteuid() != 0, reason="as root only: groups, tracing, others' sockets")
@pytest.mark.parametrize(
    "name",
    [
        "swarm of short processes",
        "processor quota",
        "processor quota, one level up",
        "lock contention",
        "loopback, a stream",
    ],
)
def test_planted_trouble_is_named_with_its_user(name):
    if name.startswith("processor quota") and not Path("/sys/fs/cgroup/cpu/cpu.shares").exists():
        pytest.skip("no controller cpu of version 1")
    scored = _scored()
    # On a host that others use, one planting in three may be hidden by what they do.
    answers = []
    for _ in range(3):
        answers.append(scored.once(name))
        if answers[-1][0]:
            return
    pytest.fail(f"{answers}")
