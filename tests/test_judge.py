"""`schedlab judge` before a person: prompts in a terminal, invalid answers, Ctrl-C, which setting each letter was."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time

import pytest
from conftest import COMMAND, valid
from test_live import host, log_of  # noqa: F401

from schedlab.cli import judge
from schedlab.results import Results

SECONDS = 60


class Terminal:
    """A command before which a person sits."""

    def __init__(self, folder, *words):
        ours, theirs = pty.openpty()
        # A terminal of its own: Ctrl-C typed into it reaches the command as it does from a keyboard.
        self.process = subprocess.Popen(
            [COMMAND, *map(str, words)], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True, preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)),
            env={**os.environ, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "160"},
        )  # fmt: skip
        os.close(theirs)
        self.terminal, self.seen = ours, ""

    def read_until(self, words: str) -> str:
        """What comes until these words are seen; the words count once."""
        end = time.monotonic() + SECONDS
        while words not in self.seen:
            assert time.monotonic() < end, self.seen
            self._read()
        before, _, self.seen = self.seen.partition(words)
        return before

    def _read(self) -> bool:
        if not select.select([self.terminal], [], [], 0.1)[0]:
            return True
        try:
            text = os.read(self.terminal, 1 << 16).decode(errors="replace")
        except OSError:
            return False
        self.seen += text
        return bool(text)

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def end(self) -> str:
        """The rest of what comes, until the command has ended."""
        end = time.monotonic() + SECONDS
        while self._read():
            assert time.monotonic() < end, self.seen
            if self.process.poll() is not None and not select.select([self.terminal], [], [], 0.2)[0]:
                break
        self.process.wait(SECONDS)
        return self.seen


@pytest.fixture
def at_a_terminal(tmp_path):
    begun = []

    def begin(*words) -> Terminal:
        begun.append(Terminal(tmp_path, *words))
        return begun[-1]

    yield begin
    for terminal in begun:
        if terminal.process.poll() is None:
            terminal.process.kill()
            terminal.process.wait()
        os.close(terminal.terminal)


#: A person judges the machine in front of them.
HERE = '{ preset = "host", processors = 1 }'
PROMPT = "your score, 0 (worst) to 10"


def test_a_person_scores_sessions_and_then_learns_what_they_were(schedlab, host, at_a_terminal):  # noqa: F811
    person = at_a_terminal("judge", host.file(machine=HERE), "--sessions", "2")
    scores, seen = [3.0, 7.5, 4.0, 8.0], ""
    for score in scores:
        seen += person.read_until(PROMPT)
        person.type(f"{score}\n".replace(".0", ""))
    seen += person.end()
    assert person.process.returncode == 0, seen
    assert "3ms" not in seen
    assert "100ms" not in seen
    assert "conclude from the letters, then: schedlab unseal" in seen
    (folder,) = (path for path in (schedlab.folder / "results").iterdir() if path.name != ".seals")
    sealed = schedlab("report", folder)
    assert (sealed.returncode, "is sealed" in sealed.stderr) == (2, True)
    order = [plan["slice"] for plan in host.asked("run")]
    meant = schedlab.json("unseal", folder, "--verdict", "the second is better")["letters"]
    results = Results.open(folder)
    for letter, factors in meant.items():
        given = [score for score, slice in zip(scores, order, strict=True) if slice == factors["scheduler.base_slice"]]
        values = results.values("score", {"setting": letter}).sort("seed")["value"].to_list()
        assert sorted(values) == sorted(given)
    shown = schedlab("report", folder)
    assert shown.returncode == 0, shown.stderr


def test_what_is_no_score_is_asked_again(host, at_a_terminal):  # noqa: F811
    person = at_a_terminal("judge", host.file(machine=HERE), "--sessions", "1")
    person.read_until(PROMPT)
    for wrong in ("well", "11", "-1", "nan", "1e9"):
        person.type(f"{wrong}\n")
        person.read_until("is no score: a number from 0 to 10")
        person.read_until(PROMPT)
    person.type("7,5\n")
    person.read_until(PROMPT)
    person.type("2\n")
    assert "conclude from the letters" in person.end()
    assert person.process.returncode == 0


def test_ctrl_c_at_the_prompt_stops_in_order_and_the_next_time_goes_on(schedlab, host, at_a_terminal):  # noqa: F811
    person = at_a_terminal("judge", host.file(machine=HERE), "--sessions", "2")
    person.read_until(PROMPT)
    person.type("5\n")
    person.read_until(PROMPT)
    person.type("\x03")
    seen = person.end()
    assert person.process.returncode == 130, seen
    assert "stopped after 1 of 4 runs" in seen
    assert "Traceback" not in seen
    person = at_a_terminal("judge", host.file(machine=HERE), "--sessions", "2")
    for _ in range(3):
        person.read_until(PROMPT)
        person.type("6\n")
    assert "conclude from the letters" in person.end()
    assert len(host.asked("run")) == 5


def test_ctrl_c_is_noticed_although_it_does_not_interrupt_the_wait(monkeypatch):
    ours, theirs = pty.openpty()
    noticed, too_late = threading.Event(), threading.Event()

    def press():
        # By now the wait has begun; a signal that another thread takes does not end it.
        time.sleep(0.5)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        if not noticed.wait(SECONDS):
            too_late.set()
            os.write(ours, b"5\n")

    presser = threading.Thread(target=press)
    with os.fdopen(theirs) as keyboard:
        monkeypatch.setattr(sys, "stdin", keyboard)
        presser.start()
        with judge._stoppable(), pytest.raises(KeyboardInterrupt):
            judge._line()
        noticed.set()
        presser.join()
    os.close(ours)
    assert not too_late.is_set()


def test_ctrl_c_in_a_session_stops_in_order(host, at_a_terminal):  # noqa: F811
    host.says(takes=30)
    person = at_a_terminal("judge", host.file(machine=HERE), "--sessions", "1")
    end = time.monotonic() + SECONDS
    while not host.asked("run"):
        assert time.monotonic() < end
        time.sleep(0.05)
    os.killpg(os.getpgid(person.process.pid), signal.SIGINT)
    seen = person.end()
    assert person.process.returncode == 130, seen
    assert "stopped after 0 of 2 runs" in seen


def test_scores_are_sealed_until_the_verdict(schedlab, host, at_a_terminal):  # noqa: F811
    person = at_a_terminal("judge", host.file(machine=HERE), "--sessions", "1")
    for score in ("1", "9"):
        person.read_until(PROMPT)
        person.type(f"{score}\n")
    person.end()
    (log,) = schedlab.folder.rglob("attempts.jsonl")
    assert b"slice" not in log.read_bytes()
    (folder,) = (path for path in (schedlab.folder / "results").iterdir() if path.name != ".seals")
    schedlab("unseal", folder, "--verdict", "A")
    assert [line["score"] for line in map(json.loads, log.read_text().splitlines()) if "score" in line] == [1.0, 9.0]


def test_a_simulated_machine_has_nothing_to_judge(schedlab, host):  # noqa: F811
    done = schedlab("judge", host.file(), "--sessions", "1")
    assert (done.returncode, "its machine is simulated" in done.stderr) == (2, True)
    assert not host.asked("run")
    assert not host.asked("calibrate")
    assert not (schedlab.folder / "results").exists()


def test_scores_may_come_from_a_pipe_and_the_results_as_json(schedlab, host):  # noqa: F811
    words = ("judge", host.file(machine=HERE), "--sessions", "1", "--trust", "--json")
    done = subprocess.run([COMMAND, *words], cwd=schedlab.folder, input="3\n8\n", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    document = valid(json.loads(done.stdout))
    assert document["schema"] == "schedlab/run/1"
    assert sorted(cell["metrics"]["score"]["mean"] for cell in document["cells"]) == [3.0, 8.0]


def test_input_at_its_end_is_refused_before_the_first_session(schedlab, host):  # noqa: F811
    done = schedlab("judge", host.file(machine=HERE), "--sessions", "1", "--trust")
    assert (done.returncode, "standard input is at its end" in done.stderr) == (2, True)
    assert not host.asked("run")
    assert not host.asked("calibrate")
