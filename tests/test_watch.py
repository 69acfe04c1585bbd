"""`schedlab watch`: as lines, rows, JSON, with a command, and in a terminal."""

import codecs
import csv
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from fcntl import ioctl

import pytest

from schedlab.errors import UsageError
from schedlab.targets import agent

COMMAND = [sys.executable, "-c", "from schedlab.cli import main; main()"]

try:
    agent.program()
    missing = ""
except UsageError as why:
    missing = str(why)
pytestmark = pytest.mark.skipif(bool(missing), reason=missing or "the agent is there")


def watch(*arguments, **options):
    return subprocess.run(
        [*COMMAND, "watch", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, **options
    )


def test_without_a_terminal_there_is_a_line_a_sample_and_then_the_means():
    done = watch("--every", "50ms", "--for", "300ms")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split()[:8] == ["usr", "nice", "sys", "idl", "wai", "hiq", "siq", "stl"]
    taken = int(re.search(r"(\d+) samples, (\d+) missed", done.stdout)[1])
    assert taken == len(lines) - 4
    assert "of processor time a sample" in done.stdout


def test_json_lines_have_the_same_keys_throughout():
    done = watch("--every", "50ms", "--for", "200ms", "--json", "--nice", "--tasks", "3")
    assert done.returncode == 0, done.stderr
    header, *lines = map(json.loads, done.stdout.splitlines())
    assert header["type"] == "header"
    assert header["interval_ns"] == 50_000_000
    assert {tuple(line) for line in lines} == {tuple(lines[0])}
    assert all(len(line["tasks"]) == 3 and line["nice"] for line in lines)


def test_rows_have_the_same_columns_and_their_shares_make_a_hundred(tmp_path):
    file = tmp_path / "rows.csv"
    assert watch("--every", "100ms", "--for", "500ms", "--csv", str(file)).returncode == 0
    rows = list(csv.DictReader(file.open()))
    assert rows
    for row in rows:
        assert None not in row
        assert None not in row.values()
        shares = [row[f"cpu.{kind}"] for kind in ("usr", "nice", "sys", "idl", "wai", "hiq", "siq", "stl")]
        if all(shares):
            assert sum(map(float, shares)) == pytest.approx(100, abs=0.01)


def test_a_command_is_timed_and_its_status_and_output_are_its_own():
    done = watch("--every", "50ms", "--", "sh", "-c", "echo out; sleep 0.3; exit 7")
    assert done.returncode == 7
    assert done.stdout == "out\n"
    real, user, sys_ = (
        float(re.search(rf"^{name} +([\d.]+) s$", done.stderr, re.M)[1]) for name in ("real", "user", "sys")
    )
    assert real >= 0.3
    assert user + sys_ < real
    assert "means over" in done.stderr


def test_the_times_of_a_command_are_one_document_with_json():
    done = watch(
        "--json", "--every", "50ms", "--", "sh", "-c", "echo out; i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert done.stderr == "out\n"
    assert 0 < document["times"]["user"] + document["times"]["sys"] <= document["times"]["real"] * 1.05
    assert document["means"]["system.csw"] > 0


def test_a_command_that_is_not_there_is_refused_and_leaves_nothing():
    done = watch("--", "no-such-program")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no-such-program" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--every", "1ms"], "10ms at least"),
        (["--cgroup", "/nowhere"], "no control group"),
        (["--by", "colour"], "cpu, memory, disk"),
        (["--json", "--csv", "-"], "standard output"),
        (["--every", "50ms", "--csv", "/no/such/folder/rows.csv"], "No such file"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(arguments, reason):
    done = watch(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr
    assert "Traceback" not in done.stderr


def test_who_reads_may_stop_reading():
    done = subprocess.run(
        ["sh", "-c", '"$@" | head -2', "sh", *COMMAND, "watch", "--every", "20ms", "--for", "2s"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert len(done.stdout.splitlines()) == 2
    assert done.stderr == ""


class Terminal:
    """The command in a terminal of that width."""

    def __init__(self, width, *arguments):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm", COLUMNS="", LINES="")
            del os.environ["COLUMNS"], os.environ["LINES"]
            os.environ.pop("NO_COLOR", None)
            os.execv(COMMAND[0], [*COMMAND, "watch", *arguments])
        ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 60, width, 0, 0))
        self.text = ""
        # A character may come in two pieces, and Ctrl-C throws away what the terminal has not shown yet.
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def read_until(self, *words, seconds=30):
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and not all(word in self.text for word in words):
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.text += self._decoder.decode(os.read(self.fd, 65536))
                except OSError:
                    break
        for word in words:
            assert word in self.text, self.text[-2000:]

    def press_ctrl_c(self):
        os.write(self.fd, b"\x03")

    def status(self):
        try:
            return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        finally:
            os.close(self.fd)


@pytest.mark.parametrize("width", [120, 60, 25])
def test_in_a_terminal_there_are_panels_until_ctrl_c_however_narrow_it_is(width):
    terminal = Terminal(width, "--every", "50ms", "--nice", "--tasks", "3")
    terminal.read_until("system", "nice levels", "tasks", "█")
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.text)
    terminal.press_ctrl_c()
    terminal.read_until("means over")
    assert terminal.status() == 0
    assert "Traceback" not in terminal.text
    # What was read last may end within a sequence.
    whole = re.split(r"[\r\n]+", drawn)[:-1]
    assert max(len(line) for line in whole) <= width


def test_no_sampler_is_left_when_the_watcher_is_ended():
    running = subprocess.Popen(
        [*COMMAND, "watch", "--every", "20ms"], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    running.stdout.readline()
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(running.pid)], capture_output=True, text=True).stdout
    running.send_signal(signal.SIGKILL)
    running.wait()
    running.stdout.close()
    (sampler,) = map(int, children.split())
    ends = time.monotonic() + 10
    while time.monotonic() < ends and os.path.exists(f"/proc/{sampler}"):
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{sampler}")
