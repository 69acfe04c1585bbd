"""How the command ends: Ctrl-C at any moment, output without a reader or on a full disk, a damaged file."""

import json
import os
import signal
import subprocess
import time

import pytest
from conftest import COMMAND
from test_cli import refused

#: Seconds from the start of the process, close together where the interpreter starts and imports.
MOMENTS = [0.0, 0.01, 0.02, 0.03, 0.04, 0.06, 0.1, 0.15, 0.25, 0.4, 0.7]


def shell(schedlab, line, **options):
    """A line of the shell in which $SCHEDLAB is the command."""
    env = {**os.environ, "NO_COLOR": "1", "SCHEDLAB": str(COMMAND)}
    return subprocess.run(["bash", "-c", line], cwd=schedlab.folder, env=env, capture_output=True, text=True, **options)


@pytest.mark.parametrize("verb", [("list",), ("run", "small.toml", "--seeds", "100000")], ids=["list", "run"])
def test_ctrl_c_at_any_moment_ends_with_130_and_no_traceback(schedlab, small, verb):
    for moment in MOMENTS:
        process = subprocess.Popen(
            [COMMAND, *verb], cwd=schedlab.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        time.sleep(moment)
        early = process.poll() is None
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert "Traceback" not in said, (moment, said)
        assert "report it" not in said, (moment, said)
        # Before the first instruction of the command, the kernel's own answer: 130 as shells say it. A verb that had
        # done its work has its own status.
        finished = (0, 2) if verb[0] != "run" else ()
        assert process.returncode in (130, -signal.SIGINT, *finished), (moment, said)
        assert early or process.returncode in finished


def test_ctrl_c_in_a_destructor_ends_the_command_when_that_is_over(schedlab):
    """What a destructor raises is lost, and so is what the hook for that raises."""
    code = """
import signal, time
from schedlab.system import ending

class Late:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

def run():
    Late()
    time.sleep(50)
    return 0

ending.run_command(run)
"""
    words = [COMMAND.with_name("python"), "-c", code]
    done = subprocess.run(words, cwd=schedlab.folder, capture_output=True, text=True, timeout=40, check=False)
    assert (done.returncode, done.stderr) == (130, "")


def test_output_without_room_is_one_line_and_a_status(schedlab, small):
    schedlab("run", small)
    for verb in ("list", "list --json", "run small.toml", "describe cfs", "schema", "run small.toml --json"):
        done = shell(schedlab, f"$SCHEDLAB {verb} > /dev/full")
        assert (done.returncode, done.stderr) == (2, "error: standard output: No space left on device\n"), verb


def test_output_that_is_closed_is_refused(schedlab):
    done = shell(schedlab, "$SCHEDLAB list >&-")
    assert (done.returncode, done.stderr) == (2, "error: standard output is closed\n")


def test_a_pipe_without_a_reader_ends_the_command_without_a_message(schedlab, small):
    for verb in (
        "list",
        "list --json",
        "schema",
        "describe cfs",
        "run small.toml",
        "--help",
        "run --help",
        "--version",
    ):
        done = shell(schedlab, f"$SCHEDLAB {verb} | (exec <&-; sleep 2); exit ${{PIPESTATUS[0]}}")
        assert (done.returncode, done.stderr) == (141, ""), verb


def test_messages_that_cannot_be_written_change_no_status(schedlab, small):
    assert shell(schedlab, "$SCHEDLAB run nothing.toml 2> /dev/full").returncode == 2
    assert shell(schedlab, "$SCHEDLAB run nothing.toml 2>&-").returncode == 2
    assert shell(schedlab, "$SCHEDLAB list schedulers <&- 2>&-").returncode == 0


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"name": 1}', "\x1b[31m", "[" * 100_000, '{"cells": [{}]}'])
def test_a_damaged_manifest_is_named_and_the_others_are_listed(schedlab, small, text):
    schedlab("run", small)
    damaged = schedlab.folder / "results" / "another-1" / "manifest.json"
    damaged.parent.mkdir()
    damaged.write_text(text)
    done = schedlab("list", "results", "--json")
    assert (done.returncode, len(json.loads(done.stdout)["results"])) == (0, 1)
    assert "results/another-1/manifest.json" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "\x1b" not in done.stderr
    assert "small-" in schedlab("list").stdout
    refused(schedlab("report", "results/another-1"), "results/another-1/manifest.json is damaged")


#: Every verb that writes a file where the user says, and takes its time before.
WRITERS = [
    ("run", "small.toml", "--trace"),
    ("run", "small.toml", "--gantt"),
    ("matrix", "fifo", "--html"),
    ("reproduce", "minix-1990", "--html"),
    ("report", "small", "-o"),
    ("schema", "-o"),
    ("cache", "trace.csv", "--html"),
    ("cache", "trace.csv", "--output"),
]


@pytest.mark.parametrize("words", [words for words in WRITERS if words[0] in ("run", "report", "schema", "cache")])
def test_output_is_written_into_a_pipe_a_descriptor_and_behind_a_link_and_replaces_none(schedlab, small, words):
    """A device would suffer as the pipe does, and no test is to risk those of its machine."""
    (schedlab.folder / "trace.csv").write_text("1\n2\n")
    schedlab("run", small)
    ending = {"--gantt": ".txt", "--output": ".parquet"}.get(words[-1], "")
    line = " ".join(words)
    place = f"p{ending}"
    done = shell(
        schedlab,
        f"mkfifo {place}; timeout 20 cat {place} > through & $SCHEDLAB {line} {place} > printed; s=$?; wait; exit $s",
    )
    assert done.returncode == 0, done.stderr
    assert (schedlab.folder / place).is_fifo()
    whole = (schedlab.folder / "through").read_bytes()
    assert whole
    link = schedlab.folder / f"link{ending}"
    link.symlink_to("target")
    assert shell(schedlab, f"$SCHEDLAB {line} {link} > printed").returncode == 0
    assert link.is_symlink()
    assert len((schedlab.folder / "target").read_bytes()) > len(whole) // 2
    if not ending:
        done = shell(schedlab, f"$SCHEDLAB {line} /dev/fd/3 3> given > printed")
        assert done.returncode == 0, done.stderr
        assert len((schedlab.folder / "given").read_bytes()) > len(whole) // 2


PLACES = ["no/such/folder/x", "small.toml/x", "folder"]


@pytest.mark.parametrize(("words", "place"), list(zip(WRITERS, PLACES * 3, strict=False)))
def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(schedlab, small, words, place):
    (schedlab.folder / "trace.csv").write_text("1\n2\n")
    ending = {"--gantt": ".svg", "--output": ".parquet"}.get(words[-1], "")
    (schedlab.folder / f"folder{ending}").mkdir()
    refused(schedlab(*words, place + ending), place)
    assert not (schedlab.folder / "results").exists()
