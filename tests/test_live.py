"""Experiments on a live host, with an agent that only says what a host might say: order, disturbance, blindness.

What the true agent does is tested next to it, in crates/agent.
"""

import json
import re
import signal
import stat
import sys
import time

import pytest

from schedlab.targets.host import seal
from schedlab.targets.host.session import ATTEMPTS
from schedlab.targets.target import LOG

AGENT = """#!{python}
import json, os, sys, time
folder = {folder!r}
verb = sys.argv[1]
given = sys.stdin.read()
with open(folder + "/asked", "a") as log:
    log.write(json.dumps([sys.argv[1:], json.loads(given) if given else None]) + "\\n")
said = json.load(open(folder + "/says.json"))
if verb == "apply" and said.get("refuses"):
    sys.exit(print("error: " + said["refuses"], file=sys.stderr) or 2)
if verb == "run" and "fixed_work" in given:
    rows = [{{"metric": "tasks.fixed_work.real", "unit": "s", "value": v}} for v in said.get("pieces", [0.05])]
    seen = {{"foreign_percent": 0.0, "own_percent": 0.1, "lost_events": 0}}
    print(json.dumps({{"rows": rows, "warnings": [], "environment": seen, "began_unix_ns": 0}}))
elif verb == "run":
    if said.get("dies"):
        os.kill(os.getpid(), 9)
    time.sleep(said.get("takes", 0))
    foreign = said.get("foreign", [])
    turn = sum(1 for line in open(folder + "/asked") if '"run"' in line and "fixed_work" not in line) - 1
    changed = said.get("changed", [])
    changed = changed[turn] if turn < len(changed) else []
    rows = [{{"metric": "tasks.hog.real", "unit": "s", "value": 1.0 + turn}}]
    seen = {{"foreign_percent": foreign[turn] if turn < len(foreign) else 0.0, "own_percent": 0.1, "lost_events": 0}}
    answer = {{"rows": rows, "warnings": said.get("warnings", []), "environment": seen, "changed": changed}}
    print(json.dumps(answer | {{"began_unix_ns": 0}}))
if verb == "calibrate":
    print(json.dumps({{"rounds_per_second": 1e9, "calls_per_second": 1e7, "spread": 0.01}}))
if verb == "noise":
    look = {{"processors": [{{"processor": 0, "foreign_percent": said.get("noise", 0.0)}}]}}
    print(json.dumps({{"quiet": said.get("quiet", True), "windows": [look]}}))
"""

FILE = """
question = "Which slice?"
machine = {machine}
scheduler = {{ name = "eevdf" }}
seeds = {seeds}
duration = "1s"
metrics = ["tasks.hog.real"]
workload.hog = {{ load = "spin", compute = "10ms" }}
[sweep]
"scheduler.base_slice" = ["3ms", "100ms"]
"""


@pytest.fixture
def host(tmp_path, monkeypatch):
    """An agent of which a test says what it says; `asked` is what it was asked."""

    class Host:
        def says(self, **what):
            (tmp_path / "says.json").write_text(json.dumps(what))

        def asked(self, verb):
            lines = (tmp_path / "asked").read_text().splitlines() if (tmp_path / "asked").exists() else []
            asked = [given for arguments, given in map(json.loads, lines) if arguments[0] == verb]
            return [given for given in asked if "fixed_work" not in json.dumps(given)]

        def file(self, seeds=2, machine='"uniform"'):
            path = tmp_path / "live.toml"
            path.write_text(FILE.format(seeds=seeds, machine=machine))
            return path

    program = tmp_path / "agent"
    program.write_text(AGENT.format(python=sys.executable, folder=str(tmp_path)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("SCHEDLAB_AGENT", str(program))
    it = Host()
    it.says()
    return it


def log_of(folder):
    (log,) = folder.rglob(LOG)
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_each_repeat_runs_every_cell_once_in_an_order_of_its_own(schedlab, host):
    schedlab.json("run", host.file(seeds=12), "--on", "host")
    plans = [(plan["seed"], plan["slice"]) for plan in host.asked("run")]
    assert [seed for seed, _ in plans] == [seed for seed in range(1, 13) for _ in range(2)]
    firsts = [slice for _, slice in plans[::2]]
    assert {*firsts} == {"3ms", "100ms"}
    assert all({plans[n][1], plans[n + 1][1]} == {"3ms", "100ms"} for n in range(0, 24, 2))


def test_a_parameter_that_is_given_is_set_and_one_that_is_not_is_left(schedlab, host):
    schedlab.json("run", host.file(), "--on", "host", "--set", "scheduler.rt_runtime=900ms", "--trust")
    assert all(plan["tunables"] == {"rt_runtime": "900ms"} for plan in host.asked("run"))


def test_settings_are_checked_before_anything_runs(schedlab, host):
    host.says(refuses="rt_runtime: this kernel has none")
    done = schedlab("run", host.file(), "--on", "host", "--set", "scheduler.rt_runtime=900ms", "--trust")
    assert (done.returncode, done.stderr) == (2, "error: rt_runtime: this kernel has none\n")
    assert not host.asked("run")


def test_a_disturbed_run_is_repeated_and_kept_apart(schedlab, host):
    host.says(foreign=[50.0, 0.0])
    done = schedlab.json("run", host.file(seeds=1), "--on", "host")
    lines = [line for line in log_of(schedlab.folder) if "attempt" in line]
    assert [(line["attempt"], bool(line["disturbed"])) for line in lines] == [(1, True), (2, False), (1, False)]
    assert not done["warnings"]
    reals = sorted(cell["metrics"]["tasks.hog.real"]["mean"] for cell in done["cells"])
    assert reals == [2.0, 3.0], "the disturbed run's number is not among the results"


def test_a_run_that_is_always_disturbed_is_marked(schedlab, host):
    host.says(foreign=[50.0] * 99)
    done = schedlab.json("run", host.file(seeds=1), "--on", "host")
    assert len(host.asked("run")) == 2 * ATTEMPTS
    assert all("tasks of others used 50.0 %" in warning["warning"] for warning in done["warnings"])
    assert len(done["warnings"]) == 2


CHANGED = {"setting": "rr_slice", "path": "/proc/sys/kernel/sched_rr_timeslice_ms", "expected": "4", "actual": "50"}


def test_a_run_whose_settings_another_process_changed_is_repeated(schedlab, host):
    host.says(changed=[[CHANGED]])
    done = schedlab.json("run", host.file(seeds=1), "--on", "host")
    assert not done["warnings"]
    reals = sorted(cell["metrics"]["tasks.hog.real"]["mean"] for cell in done["cells"])
    assert reals == [2.0, 3.0]
    first = next(line for line in log_of(schedlab.folder) if "disturbed" in line)
    assert "rr_slice was 4 and became 50 during the run" in first["disturbed"][0]


def test_a_run_that_is_always_void_is_no_result_until_it_is_none_again(schedlab, host):
    host.says(changed=[[CHANGED]] * ATTEMPTS)
    done = schedlab.json("run", host.file(seeds=1), "--on", "host")
    assert len(host.asked("run")) == ATTEMPTS + 1
    assert [len(cell["metrics"]) for cell in done["cells"]].count(0) == 1
    (warning,) = done["warnings"]
    for words in (f"void in {ATTEMPTS} of", "rr_slice was 4 and became 50", "/proc/sys/kernel/sched_rr_timeslice_ms"):
        assert words in warning["warning"]
    again = schedlab.json("run", host.file(seeds=1), "--on", "host")
    assert all(cell["metrics"] for cell in again["cells"])
    assert not again["warnings"]


def test_a_disturbed_attempt_is_kept_rather_than_a_void_one(schedlab, host):
    host.says(foreign=[50.0] * ATTEMPTS, changed=[[], [], [CHANGED]])
    done = schedlab.json("run", host.file(seeds=1), "--on", "host")
    reals = sorted(cell["metrics"]["tasks.hog.real"]["mean"] for cell in done["cells"])
    assert reals == [2.0, 4.0]
    assert len(done["warnings"]) == 1


def test_the_preflight_is_reported_before_the_first_run_and_kept(schedlab, host):
    host.says(noise=1.5)
    done = schedlab("run", host.file(seeds=12), "--on", "host", "--json")
    assert "others use 1.5 % of the busiest processor" in done.stderr
    assert "12 repeats can show a difference" in done.stderr
    assert "24 runs ahead: at most" in done.stderr
    assert log_of(schedlab.folder)[0]["preflight"]["foreign_percent"] == 1.5
    (manifest,) = schedlab.folder.rglob("manifest.json")
    assert json.loads(manifest.read_text())["seen"]["host"]["preflight"]["repeats"] == 12
    assert not schedlab("run", host.file(seeds=12), "--on", "host", "--json").stderr
    assert "preflight" in json.loads(manifest.read_text())["seen"]["host"], "nothing new was seen"


def test_an_agent_that_is_killed_is_reported_with_what_becomes_of_the_rest(schedlab, host):
    host.says(dies=True)
    done = schedlab("run", host.file(seeds=2), "--on", "host")
    assert done.returncode == 2
    assert "schedlab-agent run was ended by signal 9" in done.stderr
    assert "the same command goes on" in done.stderr


def test_a_dirty_host_is_refused_unless_it_is_wanted(schedlab, host):
    host.says(quiet=False, noise=80.0)
    done = schedlab("run", host.file(), "--on", "host")
    assert done.returncode == 2
    assert "80 % of a processor" in done.stderr
    assert "--dirty" in done.stderr
    assert not host.asked("run")
    assert len(schedlab.json("run", host.file(), "--on", "host", "--dirty")["warnings"]) == 2


def test_a_sweep_that_was_killed_goes_on_where_it_stopped(schedlab, host):
    host.says(takes=0.3)
    file = host.file(seeds=3)
    process = schedlab.start("run", file, "--on", "host")
    while len(host.asked("run")) < 3:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    host.says()
    runs = schedlab.json("run", file, "--on", "host")["runs"]
    assert runs["total"] == 6
    assert 2 <= runs["known"] <= 3
    assert len(host.asked("calibrate")) == 1, "the work of a second is the same before and after"


def test_simulated_and_measured_are_shown_side_by_side(schedlab, host):
    done = schedlab.json("run", host.file(), "--on", "sim,host")
    assert [cell["factors"]["on"] for cell in done["cells"]] == ["sim", "sim", "host", "host"]
    assert done["cells"][0]["metrics"]["tasks.hog.real"]["mean"] == pytest.approx(0.01)
    assert schedlab.json("run", host.file(), "--on", "sim,host")["runs"]["computed"] == 0


def test_a_blind_experiment_names_letters_until_the_verdict(schedlab, host):
    host.says(warnings=[{"seen": "slice 3ms became 4ms", "why": "a tick", "advice": "know it"}])
    file = host.file(seeds=2)
    done = schedlab("run", file, "--on", "host", "--blind", "--json")
    document = json.loads(done.stdout)
    assert [cell["factors"] for cell in document["cells"]] == [{"setting": "A"}, {"setting": "B"}]
    folder = schedlab.folder / document["folder"]
    hidden = done.stdout + "".join(
        path.read_text() for path in folder.rglob("*") if path.is_file() and path.suffix in (".jsonl", "")
    )
    # As words: what is sealed is random letters, in which a short value is found now and then.
    assert re.search(r"(?<![\w+/])(3|100)ms(?![\w+/=])", hidden) is None
    assert json.loads(schedlab("run", file, "--on", "host", "--blind", "--json").stdout)["runs"]["computed"] == 0
    by_letter = {cell["factors"]["setting"]: cell["metrics"]["tasks.hog.real"]["mean"] for cell in document["cells"]}
    meant = schedlab.json("unseal", folder, "--verdict", "no difference")["letters"]
    assert {factors["scheduler.base_slice"] for factors in meant.values()} == {"3ms", "100ms"}
    from schedlab.results import Results

    results = Results.open(folder)
    assert results.manifest["blind"]["verdict"] == "no difference"
    for letter, factors in meant.items():
        assert results.interval_at("tasks.hog.real", {"setting": letter, **factors}).mean == by_letter[letter]
    assert any("100ms" in json.dumps(line) for line in log_of(folder)) or log_of(folder)


def test_nothing_is_unsealed_twice_or_where_nothing_is_sealed(schedlab, host):
    sealed = schedlab.json("run", host.file(seeds=1), "--on", "host", "--blind")
    schedlab("unseal", sealed["folder"], "--verdict", "A")
    done = schedlab("unseal", sealed["folder"], "--verdict", "B")
    assert done.returncode == 2
    assert "not a folder of sealed results" in done.stderr


def test_letters_go_on_after_z():
    assert [seal.letters(n) for n in (0, 25, 26, 51, 52, 701, 702)] == ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]
