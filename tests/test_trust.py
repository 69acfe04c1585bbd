"""Experiment files are programs: what they run and change is shown and agreed to before the first run on this host."""

import json
import os
import pty
import stat
import subprocess

import pytest
from conftest import COMMAND, ROOT
from test_cli import refused
from test_live import host, log_of  # noqa: F401

from schedlab.errors import UsageError
from schedlab.experiment import Experiment
from schedlab.run import effects, trust
from schedlab.targets.host.conditions import Conditions
from schedlab.targets.host.target import Host

FILE = """
machine = {{ preset = "host", processors = 1 }}
seeds = 1
duration = "1s"
metrics = ["tasks.hog.real"]
{more}
[workload]
hog = {{ load = "spin", compute = "10ms" }}
{jobs}
"""


def written(folder, jobs="", more=""):
    path = folder / "program.toml"
    path.write_text(FILE.format(jobs=jobs, more=more))
    return path


def found(jobs="", more=""):
    return [one.text for one in effects.of(Experiment.from_text(FILE.format(jobs=jobs, more=more), "x.toml").cells())]


#: What a file has, and what it does to a host.
EFFECTS = [
    ("", "", []),
    ('a = { load = "command", run = "make -j4" }', "", ["a runs: make -j4"]),
    ('a = { load = "command", run = "true", count = 3 }', "", ["a (3 tasks) runs: true"]),
    ('a = { steps = [{ run = "true" }] }', "", ["a runs: true"]),
    ('a = { steps = [{ repeat = { times = 2, steps = [{ fork = [{ run = "id" }] }, "wait"] } }] }', "", ["a runs: id"]),
    ('a = { load = "spin", policy = "fifo", priority = 9 }', "", ["a: real time, fifo 9"]),
    ('a = { load = "spin", nice = -5 }', "", ["a: nice -5"]),
    (
        'a = { steps = [{ set = { nice = -5 } }, { set = { policy = "rr", priority = 4 } }] }',
        "",
        ["a: nice -5", "a: real time, rr 4"],
    ),
    (
        'a = { steps = [{ fork = [{ set = { nice = 5 } }, { compute = "1ms" }, { set = { nice = -1 } }] }] }',
        "",
        ["a: nice -1"],
    ),
    (
        "",
        "shared = { a = { lock = { ceiling = 7 } }, b = { lock = 'inherit' } }",
        ["lock a: its holder is real time, 7"],
    ),
    ('a = { load = "spin", nice = 5, group = "g" }', "groups.g = { weight = 5 }", []),
    ("", "tunables = { swappiness = 10 }", ["swappiness = 10"]),
    ("", 'scheduler = { name = "eevdf", autogroup = true }', ["autogroup = true"]),
    ("", 'scheduler = { name = "eevdf", base_slice = "5ms" }', []),
    ("", '[sweep]\n"tunables.swappiness" = [1, 2]', ["swappiness = 1", "swappiness = 2"]),
    ("", 'elevator = { name = "bfq" }', ["elevator = bfq"]),
    ("", "groups.g = { memory = '64MiB' }", ["group g: memory limited to 64MiB, a swap file of 1GiB"]),
]


@pytest.mark.parametrize(("jobs", "more", "texts"), EFFECTS)
def test_what_a_file_runs_and_changes_is_found_wherever_it_is_written(jobs, more, texts):
    assert found(jobs, more) == texts


def test_a_file_that_does_nothing_to_the_host_needs_no_agreement(schedlab, host):  # noqa: F811
    assert schedlab("run", written(schedlab.folder), "--on", "host").returncode == 0
    assert not trust.record().exists()


@pytest.mark.parametrize("more", ["tunables = { swappiness = 10 }", 'scheduler = { name = "eevdf", autogroup = true }'])
def test_what_was_not_agreed_to_is_shown_and_refused_without_a_terminal(schedlab, host, more):  # noqa: F811
    path = written(schedlab.folder, more=more)
    done = schedlab("run", path, "--on", "host")
    assert (done.returncode, done.stdout) == (2, "")
    assert "would:" in done.stderr
    assert "new" in done.stderr
    assert "--trust" in done.stderr.splitlines()[-1]
    assert not host.asked("run")
    assert not host.asked("calibrate")
    assert not (schedlab.folder / "results").exists()
    assert not trust.record().exists()
    assert schedlab("run", path, "--on", "host", "--trust").returncode == 0
    assert schedlab("run", path, "--on", "host", "--fresh").returncode == 0, "it is remembered"
    refused(schedlab("run", path, "--on", "host", "--set", "tunables.swappiness=11"), "--trust")


def test_another_command_or_another_script_of_the_same_name_is_asked_about_anew(schedlab, host, monkeypatch):  # noqa: F811
    script = schedlab.folder / "x.sh"
    script.write_text("true\n")
    path = written(schedlab.folder, 'a = { load = "command", run = "sh ./x.sh" }')
    assert schedlab("run", path, "--on", "host", "--trust").returncode == 0
    assert schedlab("run", path, "--on", "host").returncode == 0
    script.write_text("rm -rf ~\n")
    done = schedlab("run", path, "--on", "host")
    assert (done.returncode, "a runs: sh ./x.sh" in done.stderr) == (2, True)


def test_judge_asks_as_run_does(schedlab, host):  # noqa: F811
    path = written(schedlab.folder, 'a = { load = "command", run = "true" }')
    done = schedlab("judge", path)
    assert (done.returncode, "--trust" in done.stderr) == (2, True)
    assert not host.asked("run")


def test_a_command_is_shown_escaped(schedlab, host):  # noqa: F811
    path = written(schedlab.folder, r'a = { load = "command", run = "true # \u001b[2J" }')
    done = schedlab("run", path, "--on", "host")
    assert r"true # \x1b[2J" in done.stderr
    assert "\x1b" not in done.stderr
    assert "\x1b" not in schedlab("run", path, "--dry-run").stdout


def at_a_terminal(folder, answer, *words):
    """What the command prints for a person at a terminal."""
    ours, theirs = pty.openpty()
    os.write(ours, f"{answer}\n".encode())
    done = subprocess.run(
        [COMMAND, *map(str, words)], cwd=folder, stdin=theirs, capture_output=True, text=True, start_new_session=True
    )
    os.close(theirs)
    os.close(ours)
    return done


def test_a_person_is_asked_and_remembered(schedlab, host):  # noqa: F811
    path = written(schedlab.folder, more="tunables = { swappiness = 10 }")
    words = ("run", path, "--on", "host")
    done = at_a_terminal(schedlab.folder, "n", *words)
    assert (done.returncode, "not run" in done.stderr) == (2, True)
    assert not host.asked("run")
    assert at_a_terminal(schedlab.folder, "y", *words).returncode == 0
    assert schedlab(*words).returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="about root")
def test_a_command_as_root_is_refused_without_the_option_even_at_a_terminal(schedlab, host):  # noqa: F811
    path = written(schedlab.folder, 'a = { load = "command", run = "true" }')
    done = at_a_terminal(schedlab.folder, "y", "run", path, "--on", "host")
    assert (done.returncode, "commands as root" in done.stderr) == (2, True)
    assert not host.asked("run")


def test_a_record_that_others_can_write_is_refused(schedlab, host):  # noqa: F811
    path = written(schedlab.folder, more="tunables = { swappiness = 10 }")
    schedlab("run", path, "--on", "host", "--trust")
    assert stat.S_IMODE(trust.record().stat().st_mode) == 0o600
    trust.record().chmod(0o666)
    refused(schedlab("run", path, "--on", "host"), "others may have written")


def test_examples_of_the_project_are_trusted():
    """A digest for each is in shipped.txt; to change it there is to agree to what the example does to a host."""
    files = {
        file: effects.of(Experiment.from_toml(file).cells()) for file in sorted((ROOT / "examples").glob("*.toml"))
    }
    lines = [f"{trust.together(found)} {file.name}" for file, found in files.items() if found]
    assert len(lines) > 3
    assert trust.SHIPPED.read_text().splitlines() == lines, "\n".join(lines)
    assert not any(trust.unknown(found) for found in files.values())


@pytest.mark.parametrize(
    ("given", "set"),
    [
        ({"rt_runtime": "unlimited", "rt_period": "1s"}, "990000us"),
        ({"rt_runtime": "1s", "rt_period": "1s"}, "990000us"),
        ({"rt_runtime": "unlimited", "rt_period": "100ms"}, "99000us"),
        ({"rt_runtime": "950ms", "rt_period": "1s"}, "950ms"),
    ],
)
def test_real_time_tasks_leave_something_to_the_others(given, set):
    asked = Experiment.from_text(
        FILE.format(jobs="", more=f"tunables = {json.dumps(given).replace(':', ' =')}"), "x.toml"
    )
    (cell,) = Host(Conditions()).cells(asked.cells())
    assert cell.host["tunables"]["rt_runtime"] == set
    ignored = Host(Conditions()).ignores(asked)
    assert [text.endswith(f"{set} is set instead") for text in ignored] == (
        [] if set == given["rt_runtime"] else [True]
    )


def test_a_dry_run_prints_the_whole_plan_and_writes_nothing(schedlab, host):  # noqa: F811
    path = written(
        schedlab.folder,
        'a = { load = "command", run = "make", group = "g" }',
        'groups.g = { weight = 5 }\n[sweep]\n"tunables.swappiness" = [1, 2]\n[tunables]\nrt_runtime = "unlimited"',
    )
    before = {file: file.stat().st_mtime_ns for file in schedlab.folder.rglob("*") if file.name != "asked"}
    for words in (("--on", "host"), (), ("--trust",)):
        done = schedlab("run", path, "--dry-run", *words)
        assert done.returncode == 0, done.stderr
        for line in (
            "2 cells x 1 repeat on 1 target",
            "job a runs: make",
            "group g: ",
            "swappiness = 2",
            "on host: command: a runs: make",
        ):
            assert line in done.stdout
    plan = schedlab.json("run", path, "--dry-run", "--on", "host")
    assert (len(plan["cells"]), plan["repeats"], plan["runs"], plan["targets"]) == (2, 1, 2, ["host"])
    assert plan["on"]["host"]["effects"][0]["text"] == "a runs: make"
    after = {file: file.stat().st_mtime_ns for file in schedlab.folder.rglob("*") if file.name != "asked"}
    assert after == before
    path = written(schedlab.folder)
    assert "targets: sim:cfs, guest:6.1@1" in schedlab("run", path, "--dry-run", "--on", "sim:cfs,guest:6.1@1").stdout
    assert not host.asked("run")
    assert not host.asked("calibrate")


def test_a_dry_run_refuses_what_the_run_would(schedlab, host):  # noqa: F811
    path = written(schedlab.folder, more='[sweep]\n"cache.name" = ["lru", "arc"]')
    refused(schedlab("run", path, "--dry-run"), "one measurement under two names")
    refused(schedlab("run", path, "--dry-run", "--on", "moon"), "moon")
    refused(schedlab("run", path, "--dry-run", "--on", "sim:cfss"), "cfs")
    with pytest.raises(UsageError):
        trust.permit("x", [effects.Effect(effects.SETTING, "x = 1")], False, lambda line: None)


def test_a_dry_run_names_the_cache_that_follows_from_reclaim(schedlab):
    machine = 'machine = { preset = "uniform", memory = { size = "32MiB" } }\n'
    (schedlab.folder / "small.toml").write_text(machine + 'scheduler.name = "eevdf"\nworkload.a.load = "spin"\n')
    assert "cell: simulated with cache two_list" in schedlab("run", "small.toml", "--dry-run").stdout
    named = schedlab("run", "small.toml", "--dry-run", "--set", 'cache.name="lru"')
    assert "cell: simulated with cache lru" in named.stdout
