"""Peaks of memory: which runs are counted together, what is stored and kept, and files that are no database."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from contextlib import closing, suppress

import pytest
from conftest import COMMAND, valid
from hypothesis import given
from hypothesis import strategies as st
from peaks import BEGIN, MIB, SECOND, database, ended, fake_agent, until

from schedlab.errors import UsageError
from schedlab.memory import classes, history, store
from schedlab.memory.classes import named, rules
from schedlab.memory.recorder import Recorder

RULES = rules()


def sorted_as(command, path=None, forked=False):
    words = command.split()
    return named(path or f"/usr/bin/{words[0]}", words[0][:15], words, forked, RULES)


# Classes.


@pytest.mark.parametrize(
    ("command", "program", "text"),
    [
        ("git status", "git", "status"),
        ("git -C /home/me/secret --no-pager log -n5 --since=yesterday", "git", "log --no-pager --since -C -n"),
        ("cc1 -O2 -quiet -o /tmp/x.s a.c -O2", "cc1", "<path> -O2 -o -q"),
        ("python3.11 -W error build.py --fast 3", "python3.11 build.py", "<number> --fast"),
        ("python3 -m pytest tests", "python3 -m pytest", "<word>"),
        ("python3 -c print(1)", "python3 -c", ""),
        ("bash -ec exit", "bash -c", ""),
        ("bash", "bash", ""),
        ("mysql -psecret --password=secret", "mysql", "--password -p"),
        ("grep secret file", "grep", "<word>"),
        ("sleep 0.5s", "sleep", "<number>"),
        ("tool --key-0123456789abcdef --depth2", "tool", "--depth# --key-#"),
        ("tool -- -x", "tool", "<word>"),
        ("tool --$(secret)", "tool", "--?"),
    ],
)
def test_a_class_is_the_subcommand_and_the_names_of_options(command, program, text):
    assert sorted_as(command) == (program, text)


def test_a_forked_process_and_one_of_unknown_arguments_are_classes_of_their_own():
    assert sorted_as("sh a.sh -x", forked=True) == ("sh a.sh", "-x [forked]")
    assert named("/usr/bin/git", "git", None, False, RULES) == ("git", "?")
    assert named(None, "kworker", None, True, RULES) == ("kworker", "? [forked]")
    assert named("/bin/busybox", "ls", ["ls", "-l"], False, RULES) == ("ls", "-l")
    assert named("/bin/busybox", "busybox", ["busybox", "ls", "-l"], False, RULES) == ("ls", "-l")


def test_what_differs_from_run_to_run_is_no_part_of_a_name():
    assert sorted_as("x", "/t/deps/caches-3f9a8b7c6d5e4f21")[0] == "caches-#"
    assert sorted_as("sh /tmp/job-20261127.sh")[0] == "sh job-#.sh"
    assert sorted_as("x", "/t/feedback")[0] == "feedback"
    assert "\n" not in sorted_as("x", "/t/a\nb\x1b[2J")[0]


words = st.lists(st.text(st.characters(exclude_characters="\0"), max_size=20), max_size=12)


@given(words, st.booleans(), st.sampled_from(["/usr/bin/git", "/bin/bash", "/bin/busybox", "/usr/bin/python3", None]))
def test_whatever_the_arguments_are_names_are_short_and_on_one_line(arguments, forked, path):
    program, text = named(path, "name", arguments, forked, RULES)
    assert 0 < len(program) <= 3 * classes.LONGEST
    assert len(text) < 800
    assert not any(sign in program + text for sign in "\0\n\r\t\x1b")


@given(st.text(st.characters(categories=["L", "Nd"]), min_size=5, max_size=20))
def test_no_value_of_an_option_is_stored(secret):
    secret = f"Zq{secret}"
    for spelled in (["-p", secret], [f"-p{secret}"], [f"--password={secret}"], ["--password", secret], ["--", secret]):
        assert secret not in named("/usr/bin/mysql", "mysql", ["mysql", *spelled], False, RULES)[1]


def test_rules_of_a_file_come_before_the_built_in_ones(tmp_path):
    file = tmp_path / "rules.toml"
    file.write_text('[program.mine]\nsubcommand = true\n[program."git*"]\nsubcommand = false\n')
    own = rules(file)
    assert named("/bin/mine", "mine", ["mine", "go", "-x"], False, own)[1] == "go -x"
    assert named("/bin/git", "git", ["git", "status"], False, own)[1] == "<word>"
    assert named("/bin/cargo", "cargo", ["cargo", "build"], False, own)[1] == "build"


@pytest.mark.parametrize("text", ["[programs.x]", "[program.x]\nsubcommands = true", "[program.x]\nkeep = 3", "x = ["])
def test_what_is_no_rule_is_refused(tmp_path, text):
    file = tmp_path / "rules.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=r"rules\.toml"):
        rules(file)


# What is stored.


@given(st.integers(4096, 1 << 55))
def test_a_bucket_holds_its_peak_and_is_a_sixteenth_of_a_doubling_wide(peak):
    at = store.bucket(peak)
    assert store.upper(at - 1) < peak <= store.upper(at)
    assert store.upper(at) == pytest.approx(store.upper(at - store.PER_DOUBLING) * 2, rel=1e-3)


def test_peaks_are_kept_by_class_and_version(tmp_path):
    lines = [ended(MIB * peak, time_ns=peak) for peak in (3, 1, 2)]
    lines += [ended(9 * MIB, version=2, arguments=("git", "log"), status=256, how="polled")]
    lines += [
        {"kind": "group", "time_ns": 5, "path": "/a.slice/b.service", "peak_bytes": MIB, "elapsed_ns": 1, "how": ""}
    ]
    found = history.load(database(tmp_path / "a.db", lines))
    by_name = {group.name: group for group in found.groups}
    status, log = by_name["git status"], by_name["git log"]
    assert [run.peak // MIB for run in status.runs] == [1, 2, 3]
    assert (status.n, status.peak, status.mapped, status.versions) == (3, 3 * MIB, 6 * MIB, [1])
    assert (log.polled, log.failed, log.versions) == (1, 1, [2])
    assert by_name["cgroup /a.slice/b.service"].peak == MIB
    assert any("polled" in note for note in found.notes)
    whole = {group.name: group for group in history.load(tmp_path / "a.db", "git", "program").groups}
    assert (whole["git"].n, whole["git"].peak) == (4, 9 * MIB)


def test_no_argument_is_in_the_file(tmp_path):
    words = ("git", "push", "https://me:Sesame@host", "-oSesame", "--token=Sesame")
    path = database(tmp_path / "a.db", [ended(MIB, arguments=words)])
    for file in tmp_path.iterdir():
        assert b"Sesame" not in file.read_bytes()
    assert history.load(path).groups[0].text == "push --token -o"


def test_the_size_is_bounded_by_programs_and_not_by_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "KEPT", 20)
    path = database(tmp_path / "a.db", [ended(MIB + 4096 * n, time_ns=n) for n in range(500)])
    group = history.load(path).groups[0]
    assert (group.n, len(group.runs)) == (500, 20)
    assert [run.time_ns for run in group.runs] == list(range(480, 500)), "the last ones are kept"
    exact = sorted(MIB + 4096 * n for n in range(500))
    for share in (0.1, 0.5, 0.9, 0.99, 1.0):
        found = group.quantile(share)
        assert exact[history.rank(500, share) - 1] <= found <= exact[history.rank(500, share) - 1] * 1.045
    assert "histograms only" in history.load(path).notes[0]


def test_programs_classes_and_versions_beyond_the_bounds_are_counted_together(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "PROGRAMS", 3)
    monkeypatch.setattr(store, "CLASSES", 2)
    monkeypatch.setattr(store, "VERSIONS", 2)
    lines = [ended(MIB, path=f"/bin/p{n}") for n in range(6)]
    lines += [ended(MIB, path="/bin/p0", arguments=("p0", option)) for option in ("-a", "-b", "-c", "-d")]
    lines += [ended(MIB, path="/bin/p1", version=version) for version in range(2, 7)]
    found = history.load(database(tmp_path / "a.db", lines)).groups
    assert {group.program for group in found} == {"p0", "p1", "p2", "(other)"}
    assert {group.text for group in found if group.program == "p0"} == {"<word>", "-a", "(other)"}
    assert sum(group.n for group in found) == len(lines)
    assert max(version for group in found for version in group.versions) == 2


def test_a_recorder_goes_on_where_the_one_before_ended(tmp_path):
    path = tmp_path / "a.db"
    for version in (1, 2, 1):
        database(path, [ended(MIB, version=version), {"kind": "gap", "time_ns": 2, "what": "ends"}])
    found = history.load(path)
    assert (found.groups[0].n, len(found.groups[0].runs), found.groups[0].versions) == (3, 3, [1, 2])
    assert [one.gaps for one in found.recordings] == [1, 1, 1]
    assert "lost 3 times" in found.notes[0]


def test_two_recordings_do_not_write_to_one_file_and_readers_are_not_kept_out(tmp_path):
    path = database(tmp_path / "a.db", [ended(MIB)])
    with store.locked(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        assert history.load(path).groups[0].n == 1
        with pytest.raises(UsageError, match="another recording"), store.locked(path):
            pass


def test_what_fails_in_the_middle_of_a_batch_leaves_none_of_it(tmp_path):
    path = database(tmp_path / "a.db", [ended(MIB)])
    with store.locked(path) as connection:
        recorder = Recorder(connection, RULES)
        recorder.take(ended(MIB))
        recorder.take(ended("much"))
        with pytest.raises(TypeError):
            recorder.take(until())
    assert history.load(path).groups[0].n == 1


# Files that are no database.


def broken(path, kind):
    """A file of that kind."""
    if kind == "empty":
        path.write_bytes(b"")
    elif kind == "text":
        path.write_text("program,peak\ngit,3\n" * 100)
    elif kind == "foreign":
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE run (a)")
    elif kind == "newer":
        database(path, [ended(MIB)])
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA user_version = {store.VERSION + 1}")
    elif kind == "cut":
        database(path, [ended(MIB * n) for n in range(1, 2000)])
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    elif kind == "overwritten":
        database(path, [ended(MIB * n) for n in range(1, 2000)])
        head = path.read_bytes()[:4096]
        path.write_bytes(head + os.urandom(path.stat().st_size - 4096))
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    for rest in ("-wal", "-shm"):
        path.with_name(path.name + rest).unlink(missing_ok=True)


@pytest.mark.parametrize("kind", ["empty", "text", "foreign", "newer", "cut", "overwritten", "pipe", "folder", "none"])
@pytest.mark.parametrize("verb", ["show", "suggest", "drift", "replay"])
def test_what_is_no_database_is_refused_in_one_line(schedlab, tmp_path, kind, verb):
    path = tmp_path / "a.db"
    broken(path, kind)
    done = schedlab("memory", verb, "--db", path)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1
    assert str(path) in done.stderr


@pytest.mark.parametrize("kind", ["text", "foreign", "newer", "overwritten", "pipe", "folder"])
def test_nothing_is_recorded_into_what_is_no_database(schedlab, tmp_path, kind):
    path = tmp_path / "a.db"
    broken(path, kind)
    before = path.read_bytes() if path.is_file() else b""
    done = schedlab("memory", "record", "--db", path, env=fake_agent(tmp_path, [BEGIN, ended(MIB), until()]))
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert (path.read_bytes() if path.is_file() else b"") == before


@given(st.data())
def test_a_database_with_any_byte_changed_is_read_or_refused(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("bytes")
    original = database(folder / "a.db", [ended(MIB * n, arguments=("git", "log", f"-{n % 7}")) for n in range(1, 30)])
    content = bytearray(original.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = folder / "b.db"
    path.write_bytes(content)
    with suppress(UsageError):
        assert all(group.quantile(0.5) >= 0 for group in history.load(path).groups)
    shutil.rmtree(folder)


def test_values_that_are_not_stored_by_us_are_refused(tmp_path):
    path = database(tmp_path / "a.db", [ended(MIB)])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE class SET n = 5")
    with pytest.raises(UsageError, match="do not agree"):
        history.load(path)


# The verbs.


@pytest.fixture
def recorded(tmp_path, schedlab):
    """The usual database of this test, with two programs, one of two versions."""
    peaks = [(40 + n % 7) * MIB for n in range(60)]
    lines = [ended(peak, time_ns=n * SECOND, version=1 + n // 30) for n, peak in enumerate(peaks)]
    lines += [
        ended(2 * peak, time_ns=n * SECOND, path="/bin/cc1", arguments=("cc1", "-O2")) for n, peak in enumerate(peaks)
    ]
    return database(tmp_path / "state" / "schedlab" / "memory.db", lines)


def test_every_verb_prints_json_as_its_schema_says(schedlab, recorded):
    shown = schedlab.json("memory", "show", "--by", "class")
    assert [(one["program"], one["runs"]) for one in shown["programs"]] == [("cc1", 60), ("git", 60)]
    found = schedlab.json("memory", "suggest", "git", "--unit", "a.service")
    assert "a.service.d" in found["drop_in"]
    assert found["limits"][0]["memory_max_bytes"] > 46 * MIB
    assert schedlab.json("memory", "drift", "git")["comparisons"][0]["verdict"] == "no difference shown"
    rules = schedlab.json("memory", "replay", "--declared", "512M")["rules"]
    assert [one["rule"] for one in rules] == ["largest", "declared", "suggested"]


@pytest.mark.parametrize("verb", ["show", "suggest", "drift", "replay"])
def test_every_verb_prints_all_forms(schedlab, recorded, verb):
    plain, csv, markdown = (schedlab("memory", verb, *form) for form in ([], ["--csv"], ["--markdown"]))
    assert plain.returncode == csv.returncode == markdown.returncode == 0, plain.stderr
    assert csv.stdout.splitlines()[0].count(",") > 3
    assert markdown.stdout.startswith("|")


def test_a_drop_in_is_text_for_systemd_and_for_one_program(schedlab, recorded):
    done = schedlab("memory", "suggest", "cc1", "--unit", "build")
    assert done.stdout.splitlines()[0] == "# /etc/systemd/system/build.service.d/memory.conf"
    assert "\n[Service]\nMemoryAccounting=yes\nMemoryHigh=" in done.stdout
    refused = schedlab("memory", "suggest", "--unit", "build")
    assert refused.returncode == 2
    assert "2 programs fit" in refused.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "gti"], "did you mean 'git'?"),
        (["show", "--by", "user"], "class and program"),
        (["suggest", "--safety", "0.9"], "--safety 0.9"),
        (["suggest", "--safety", "nan"], "--safety nan"),
        (["replay", "--declared", "much"], "--declared much"),
        (["replay", "--declared", "cc1=-1M"], "no size"),
    ],
)
def test_what_cannot_be_asked_is_refused(schedlab, recorded, words, said):
    done = schedlab("memory", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_names_of_others_are_escaped(schedlab, tmp_path):
    path = database(tmp_path / "a.db", [ended(MIB)])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE program SET name = ?", ("a\x1b[2J\nb",))
    for form in ([], ["--json"], ["--csv"], ["--markdown"]):
        assert "\x1b" not in schedlab("memory", "show", "--db", path, *form).stdout


def test_a_recording_ends_with_the_agent_and_says_what_was_lost(schedlab, tmp_path):
    lines = [BEGIN | {"missing": ["x: y"]}, ended(MIB), {"kind": "gap", "time_ns": 2, "what": "ends"}, until()]
    env = fake_agent(tmp_path, lines)
    done = schedlab("memory", "record", "--json", "--db", tmp_path / "a.db", env=env)
    document = valid(json.loads(done.stdout))
    assert (document["processes"], document["gaps"], document["missing"]) == (1, 1, ["x: y"])
    assert "lost" in done.stderr
    assert "not known: x: y" in done.stderr


def test_an_agent_that_prints_nonsense_is_a_fault_and_nothing_of_the_batch_is_stored(schedlab, tmp_path):
    env = fake_agent(tmp_path, [BEGIN, ended(MIB), until(), ended(MIB), {"kind": "process"}, until()])
    done = schedlab("memory", "record", "--db", tmp_path / "a.db", env=env)
    assert done.returncode == 70
    assert history.load(tmp_path / "a.db").groups[0].n == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_recording_and_what_the_agent_still_says_is_stored(tmp_path, number):
    last = json.dumps(ended(MIB)) + "\n" + json.dumps(until())
    after = f"trap 'echo \"$last\"; exit 0' TERM\nlast='{last}'\nwhile :; do sleep 0.05; done"
    env = os.environ | fake_agent(tmp_path, [BEGIN, ended(MIB), until()], after)
    path = tmp_path / "a.db"
    running = subprocess.Popen([COMMAND, "memory", "record", "--db", path], env=env, stderr=subprocess.PIPE, text=True)
    wait_for_runs(path)
    running.send_signal(number)
    assert running.wait(20) == 0, running.stderr.read()
    assert "2 processes" in running.stderr.read()
    assert history.load(path).groups[0].n == 2


def wait_for_runs(path, recordings=1):
    """Until something is stored of that number of recordings."""
    for _ in range(400):
        with suppress(UsageError):
            if len(history.load(path).recordings) == recordings:
                return
        time.sleep(0.05)
    raise AssertionError("nothing was stored")


def test_a_killed_recording_leaves_whole_seconds_and_the_next_one_goes_on(tmp_path):
    every = "".join(json.dumps(line) + "\n" for line in [*[ended(MIB)] * 10, until()])
    (tmp_path / "batch").write_text(every)
    env = os.environ | fake_agent(tmp_path, [BEGIN], f'while cat "{tmp_path}/batch"; do :; done')
    path = tmp_path / "a.db"
    for recordings in (1, 2, 3):
        running = subprocess.Popen([COMMAND, "memory", "record", "--db", path], env=env, stderr=subprocess.DEVNULL)
        wait_for_runs(path, recordings)
        time.sleep(0.2)
        running.kill()
        running.wait()
        group = history.load(path).groups[0]
        assert group.n % 10 == 0
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert len(history.load(path).recordings) == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system has to be mounted")
def test_a_full_disk_is_one_line_and_what_was_stored_is_kept(schedlab, tmp_path):
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", place], capture_output=True)
    if mounted.returncode:
        pytest.skip("no file system may be mounted here")
    try:
        lines = [ended(MIB, arguments=("git", f"-{letter}")) for letter in "abcdefghij"] * 200
        env = fake_agent(tmp_path, [BEGIN, ended(MIB), until(), *[one for line in lines for one in (line, until())]])
        done = schedlab("memory", "record", "--db", place / "a.db", env=env)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
        assert "the disk is full" in done.stderr
        with sqlite3.connect(place / "a.db") as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert connection.execute("SELECT sum(n) FROM class").fetchone()[0] > 0
        connection.close()
    finally:
        subprocess.run(["umount", "-l", place], check=True)
