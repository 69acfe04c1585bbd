"""Commands of schedlab that the server starts: a process each, ended in order with Ctrl-C, and never left behind.

Whatever happens to the server, its commands get SIGINT (`leash.py`), and do what they always do then: keep finished
runs, and put back what they have set. They are in sessions of their own, so that Ctrl-C of the terminal reaches them
only from here.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from signal import SIGINT
from typing import IO, Any

from schedlab.errors import UsageError
from schedlab.system.interrupt import deaf

#: Seconds that a command has to end in order. An agent has 30 to put everything back.
GRACE = 45.0
#: What its launcher runs.
BEGIN = "from schedlab.__main__ import main; main()"
LEASH = Path(__file__).with_name("leash.py")
#: Bytes of an answer, and of messages, that are read.
MOST_ANSWERED, MOST_SAID = 32 << 20, 1 << 16


class Children:
    """The commands at work. A command is started by a thread that outlives it: it would end with that thread."""

    def __init__(self) -> None:
        """None yet."""
        self._lock = threading.Lock()
        self._all: set[subprocess.Popen] = set()
        self._closed = False

    def start(self, words: Sequence[str], folder: Path, answer: IO | int = subprocess.DEVNULL) -> subprocess.Popen:
        """Start `schedlab WORDS` in that folder, its standard output going to `answer`. Each is to be `wait`ed for."""
        leash = [sys.executable, "-I", "-S", str(LEASH), str(os.getpid())]
        # From its first moment: it would be answered with a traceback while Python starts.
        deaf()
        command = [*leash, sys.executable, "-P", "-c", BEGIN, *words]
        with self._lock:
            if self._closed:
                raise UsageError("the server ends")
            child = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=answer,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            self._all.add(child)
        return child

    def wait(self, child: subprocess.Popen) -> int:
        """Wait for its end; gives its exit status."""
        status = child.wait()
        child.stderr.close()
        with self._lock:
            self._all.discard(child)
        return status

    def end(self, child: subprocess.Popen) -> None:
        """Ask it to end; it is killed if it has not after GRACE."""
        child.send_signal(SIGINT)
        last = threading.Timer(GRACE, child.kill)
        last.daemon = True
        last.start()

    def close(self) -> None:
        """End all, and start no more. Those who wait for them learn of it."""
        with self._lock:
            self._closed = True
            left = list(self._all)
        for child in left:
            self.end(child)
        for child in left:
            child.wait()

    def done(self, words: Sequence[str], folder: Path) -> None:
        """Run a command to its end. Raises `UsageError` with its message if it fails."""
        child = self.start(words, folder)
        said = _last(child.stderr)
        if self.wait(child):
            raise UsageError(message(said))

    def asked(self, words: Sequence[str], folder: Path) -> Any:
        """The document that a command prints. Raises `UsageError` with its message if it fails."""
        with tempfile.TemporaryFile(dir=folder) as answer:
            child = self.start([*words, "--json"], folder, answer)
            said = _last(child.stderr)
            if self.wait(child):
                raise UsageError(message(said))
            size = answer.seek(0, os.SEEK_END)
            if size > MOST_ANSWERED:
                raise UsageError(f"the answer has {size} bytes; at most {MOST_ANSWERED} are read: sweep fewer cells")
            answer.seek(0)
            return json.load(answer)


def message(said: str) -> str:
    """The error in what a command has said: the last line, as a document or in words."""
    last = next((line for line in reversed(said.splitlines()) if line.strip()), "it said nothing")
    try:
        return str(json.loads(last)["message"])
    except (ValueError, KeyError, TypeError):
        return last.removeprefix("error: ")


def _last(stream: IO[bytes]) -> str:
    """The end of all that comes."""
    kept = b""
    while piece := stream.read1(MOST_SAID):
        kept = (kept + piece)[-MOST_SAID:]
    return kept.decode(errors="replace")
