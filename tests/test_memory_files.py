"""Recordings of peaks that end in every way, and files that are no database of them."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
from contextlib import closing, suppress

import pytest
from conftest import COMMAND, valid
from hypothesis import given
from hypothesis import strategies as st
from peaks import BEGIN, MIB, database, ended, fake_agent, until

from schedlab.errors import UsageError
from schedlab.memory import history, recorder, store
from schedlab.memory.classes import rules
from schedlab.memory.recorder import Recorder
from schedlab.memory.recording import record

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
    elif kind in ("newer", "older"):
        database(path, [ended(MIB)])
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA user_version = {store.VERSION + (1 if kind == 'newer' else -1)}")
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


@pytest.mark.parametrize(
    "kind", ["empty", "text", "foreign", "newer", "older", "cut", "overwritten", "pipe", "folder", "none"]
)
@pytest.mark.parametrize("verb", ["show", "suggest", "drift", "replay"])
def test_what_is_no_database_is_refused_in_one_line(schedlab, tmp_path, kind, verb):
    path = tmp_path / "a.db"
    broken(path, kind)
    done = schedlab("memory", verb, "--db", path)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1
    assert str(path) in done.stderr


@pytest.mark.parametrize("kind", ["text", "foreign", "newer", "older", "overwritten", "pipe", "folder"])
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


# Ends of recordings.


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


def test_a_lock_of_another_program_is_waited_for_and_nothing_is_lost(tmp_path):
    path = database(tmp_path / "a.db", [ended(MIB)])
    with closing(sqlite3.connect(path, isolation_level=None)) as other, store.locked(path) as connection:
        taker = Recorder(connection, rules())
        taker.take(BEGIN)
        other.execute("BEGIN IMMEDIATE")
        begin = time.monotonic()
        for _ in range(3):
            taker.take(ended(MIB))
            taker.take(until())
        assert time.monotonic() - begin < store.WAIT_SECONDS, "the agent's lines are read meanwhile"
        taker.take(ended(MIB))
        other.execute("ROLLBACK")
        taker.finish()
        assert history.load(path).groups[0].n == 4, "what is of no whole second is not stored"
        taker.take(until())
        assert (taker.processes, history.load(path).groups[0].n) == (4, 5)


def test_a_recording_outlasts_a_lock_that_is_longer_than_a_reader_waits(tmp_path, monkeypatch):
    lines = [BEGIN, ended(MIB), until()]
    monkeypatch.setenv(*fake_agent(tmp_path, lines).popitem())
    path = database(tmp_path / "a.db", [ended(MIB)])
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(store.WAIT_SECONDS + 1, other.execute, ["ROLLBACK"])
    release.start()
    assert record(path, []).processes == 1
    release.join()
    other.close()
    assert history.load(path).groups[0].n == 2


@pytest.mark.parametrize("bound", ["PATIENCE_SECONDS", "MOST_KEPT"])
def test_a_lock_without_end_ends_a_recording_and_says_what_is_not_stored(tmp_path, monkeypatch, bound):
    monkeypatch.setattr(recorder, bound, 1 if bound == "PATIENCE_SECONDS" else 0)
    monkeypatch.setenv(*fake_agent(tmp_path, [BEGIN, ended(MIB), until()]).popitem())
    path = database(tmp_path / "a.db", [ended(MIB)])
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UsageError, match=r"a\.db: .* locked for \d s; .* not stored: 1$"):
            record(path, [])
    assert history.load(path).groups[0].n == 1


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
