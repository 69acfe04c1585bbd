"""`schedlab time`: real commands on this host, and what is concluded from several runs."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from schedlab.direct.timed import _commands, _verdict
from schedlab.errors import UsageError
from schedlab.observe.timing import PARTS, Timing, difference, measure
from schedlab.targets import agent


def _agent_is_there() -> bool:
    try:
        return bool(agent.program())
    except UsageError:
        return False


needs_agent = pytest.mark.skipif(
    not _agent_is_there(), reason="schedlab-agent is not installed, nor named by SCHEDLAB_AGENT"
)


def schedlab(*arguments: str, **options) -> subprocess.CompletedProcess:
    words = [sys.executable, "-c", "from schedlab.cli import main; main()", "time", *arguments]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, **options)


@needs_agent
def test_the_parts_add_up_to_the_time_elapsed():
    found = schedlab("--json", "--", "sleep", "0.1")
    assert found.returncode == 0, found.stderr
    (run,) = json.loads(found.stdout)["commands"][0]["runs"]
    parts = [run["main"][part] for part in PARTS if part != "elapsed_ns"]
    assert sum(part or 0 for part in parts) == run["main"]["elapsed_ns"] >= 100_000_000


@needs_agent
def test_the_commands_output_passes_through_and_a_table_follows():
    found = schedlab("--", "sh", "-c", "echo to the one; echo to the other >&2")
    assert found.stdout.startswith("to the one\n")
    assert found.stderr == "to the other\n"
    assert "waiting for a disk" in found.stdout
    assert "asleep" in found.stdout


@needs_agent
def test_json_is_not_mixed_with_what_the_command_prints(tmp_path):
    words = ["sh", "-c", "echo to the one; echo to the other >&2"]
    found = schedlab("--json", "--", *words)
    assert json.loads(found.stdout)["commands"][0]["command"] == words
    assert found.stderr.split("\n")[:2] == ["to the one", "to the other"]
    file = tmp_path / "answer.json"
    found = schedlab("-o", str(file), "--", *words)
    assert (found.stdout, found.stderr) == ("to the one\n", "to the other\n")
    answer = json.loads(file.read_text())
    assert (answer["schema"], answer["commands"][0]["runs"][0]["status"]) == ("schedlab/time/1", 0)


@needs_agent
def test_json_goes_to_a_descriptor():
    read, write = os.pipe()
    found = schedlab("-o", f"/dev/fd/{write}", "--", "echo", "hi", pass_fds=(write,))
    os.close(write)
    assert found.stdout == "hi\n", found.stderr
    with open(read) as answer:
        assert json.load(answer)["commands"][0]["command"] == ["echo", "hi"]


@needs_agent
@pytest.mark.parametrize("place", ["/no/such/folder/x", "/"])
def test_a_place_that_cannot_be_written_is_refused_before_the_command_is_run(place, tmp_path):
    found = schedlab("-o", place, "--", "touch", str(tmp_path / "ran"))
    assert (found.returncode, found.stdout) == (2, "")
    assert f"--output {place}" in found.stderr
    assert not (tmp_path / "ran").exists()


@needs_agent
def test_a_daemon_that_lives_on_is_named():
    found = schedlab("--", "sh", "-c", "(setsid sleep 3 > /dev/null 2>&1 &) ; sleep 0.2")
    assert "still running when the command had ended: sleep (" in found.stdout


@needs_agent
def test_the_exit_status_of_one_run_is_the_commands():
    assert schedlab("--", "sh", "-c", "exit 7").returncode == 7
    assert schedlab("--", "sh", "-c", "exit 2").returncode == 2
    assert schedlab("--repeat", "2", "--", "sh", "-c", "exit 7").returncode == 0


@needs_agent
def test_a_command_that_is_not_there_is_one_message():
    found = schedlab("--", "no-such-command")
    assert (found.returncode, found.stdout) == (127, "")
    assert found.stderr == "error: no-such-command: command not found\n"


@needs_agent
def test_two_commands_are_compared():
    found = schedlab("--repeat", "4", "--warm-up", "1", "--json", "--", "sleep", "0.05", "--versus", "sleep", "0.15")
    assert found.returncode == 0, found.stderr
    document = json.loads(found.stdout)
    assert [len(command["runs"]) for command in document["commands"]] == [4, 4]
    elapsed = document["difference"]["elapsed_ns"]
    assert elapsed["real"] is True
    # What is called ns is ns.
    assert elapsed["low"] < 1e8 < elapsed["high"] or abs(elapsed["mean"] - 1e8) < 2e7
    assert 4e7 < document["commands"][0]["parts"]["main"]["elapsed_ns"]["mean"] < 5e8


@needs_agent
def test_ctrl_c_reaches_the_command_and_its_answer_comes_all_the_same():
    words = [sys.executable, "-c", "from schedlab.cli import main; main()", "time", "--json", "--", "sleep", "20"]
    running = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
    time.sleep(1.5)
    os.killpg(running.pid, signal.SIGINT)
    answer, _ = running.communicate(timeout=15)
    assert running.returncode == 130
    assert json.loads(answer)["commands"][0]["runs"][0]["status"] == 130


def _runs(seconds):
    return [
        {
            "main": {part: int(value * 1e9) for part in PARTS},
            "whole": None,
            "counts": {},
            "unknown": ["it"],
            "outlived": [],
            "foreign_percent": None,
        }
        for value in seconds
    ]


def test_noise_is_not_called_a_difference():
    draw = random.Random(1)
    called = 0
    for _ in range(200):
        first, second = (Timing((name,), _runs([draw.gauss(1, 0.1) for _ in range(10)])) for name in "ab")
        called += difference(first, second, "elapsed_ns").real
    assert called <= 20, "at 5 % some 10 of 200 are expected"


def test_what_drifts_meets_both_and_a_small_difference_is_seen():
    draw = random.Random(2)
    drift = [0.1 * block for block in range(10)]
    first = Timing(("a",), _runs([1 + d + draw.gauss(0, 0.005) for d in drift]))
    second = Timing(("b",), _runs([0.95 + d + draw.gauss(0, 0.005) for d in drift]))
    found = difference(first, second, "elapsed_ns")
    assert found.real
    assert "less" in _verdict(found)


def test_one_run_of_each_cannot_tell():
    found = difference(Timing(("a",), _runs([1])), Timing(("b",), _runs([2])), "elapsed_ns")
    assert found.real is None
    assert "cannot tell" in _verdict(found)


def test_what_is_not_known_is_no_number():
    timing = Timing(("a",), _runs([1, 2]))
    assert timing.interval("user_ns", "whole") is None
    assert difference(timing, timing, "user_ns", "whole") is None
    assert timing.unknown == ["it"]


def test_commands_are_parted_by_versus():
    assert _commands(["a", "-x", "--versus", "b"]) == [["a", "-x"], ["b"]]
    for wrong in (["--versus", "b"], ["a", "--versus"], ["a", "--versus", "b", "--versus", "c"]):
        with pytest.raises(UsageError, match="versus"):
            _commands(wrong)


def test_every_block_has_all_commands_in_random_order(monkeypatch):
    done = []

    def run(command, touch_nothing, aside):
        done.append(command[0])
        return {**_runs([1])[0], "status": 0}

    monkeypatch.setattr("schedlab.observe.timing._run", run)
    timings = measure([["a"], ["b"]], repeat=50, warm_up=2, seed=3)
    blocks = [tuple(done[i : i + 2]) for i in range(0, len(done), 2)]
    assert set(blocks) == {("a", "b"), ("b", "a")}
    assert [len(timing.runs) for timing in timings] == [50, 50]
