"""Experiments that the page has run: one at a time, in order, each as `schedlab run` in a process of its own.

    waiting    another one is at work: two would disturb each other on the host, and share processors in the simulator
    running    finished runs are counted (`run --progress`)
    ending     it was asked to end, and puts back what it has set
    done, failed, cancelled

What a job says is kept up to a few lines, and of the jobs that have ended the last ones.
"""

import itertools
import json
import re
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from tempfile import TemporaryDirectory
from typing import IO, Any

from schedlab.errors import UsageError
from schedlab.serve.children import Children, message
from schedlab.serve.refused import Refused
from schedlab.system.status import DONE, FOUND, STOPPED

WAITING, RUNNING, ENDING, ENDED = "waiting", "running", "ending", "done"
FAILED, CANCELLED = "failed", "cancelled"
OPEN = (WAITING, RUNNING, ENDING)
#: Jobs that may wait, and jobs that have ended and are remembered.
MOST_WAITING, MOST_ENDED = 8, 20
#: Lines of a job that are kept, and the longest, bytes.
LINES, LONGEST = 12, 2000
#: What `run --progress` says.
PROGRESS = re.compile(r"(\d+) of (\d+) runs")
#: Where the document of `run` has the folder of its results: behind the question, which is no longer than a text.
FOLDER, HEAD = re.compile(r'^  "folder": (".*"),$', re.MULTILINE), 1 << 20
STUCK = "done; tasks of a run wait forever (a deadlock)"


@dataclass
class Job:
    """One experiment on one place."""

    number: int
    name: str
    on: str
    text: bytes
    options: tuple[str, ...] = ()
    state: str = WAITING
    done: int = 0
    total: int = 0
    said: deque[str] = field(default_factory=lambda: deque(maxlen=LINES))
    #: Its results, by their name in the folder of results.
    result: str | None = None
    message: str = ""
    child: Popen | None = None
    #: When it ended, as the number of jobs that had ended before.
    place: int = 0

    def document(self) -> dict[str, Any]:
        """As the page has it."""
        names = ("number", "name", "on", "state", "done", "total", "result", "message")
        return {name: getattr(self, name) for name in names} | {"said": list(self.said)}


class Jobs:
    """All jobs of a server. `out` is the folder of results, `folder` one for files of jobs while they run."""

    def __init__(self, children: Children, out: Path, folder: Path):
        """Be ready for some."""
        self._children, self._out, self._folder = children, out, folder
        self._all: deque[Job] = deque()
        self._numbers, self._places = itertools.count(1), itertools.count(1)
        self._changed = threading.Condition()
        self._version = 0
        self._closed = False
        self._worker = threading.Thread(target=self._work, name="jobs", daemon=True)
        self._worker.start()

    def add(self, name: str, on: str, text: bytes, options: tuple[str, ...] = ()) -> Job:
        """Put an experiment behind those that wait."""
        with self._changed:
            if sum(job.state == WAITING for job in self._all) >= MOST_WAITING:
                raise Refused(
                    429, f"{MOST_WAITING} runs wait already, the most that may: wait for one of them, or cancel one"
                )
            job = Job(next(self._numbers), name, on, text, options)
            self._all.append(job)
            self._note()
        return job

    def cancel(self, number: int) -> bool:
        """Have a job end; whether there is one of that number. One that has ended stays as it is."""
        with self._changed:
            job = next((job for job in self._all if job.number == number), None)
            if job and job.state == WAITING:
                self._leave(job, CANCELLED, "cancelled before it began")
            elif job and job.state == RUNNING:
                job.state = ENDING
                if job.child:
                    self._children.end(job.child)
            self._note()
        return job is not None

    def close(self) -> None:
        """Begin no more. Those at work end with the children."""
        with self._changed:
            self._closed = True
            self._note()

    def join(self) -> None:
        """Wait until none is at work, once all children are ended."""
        self._worker.join()

    def at_work(self) -> list[Job]:
        """Those that have begun and not ended."""
        with self._changed:
            return [job for job in self._all if job.state in (RUNNING, ENDING)]

    def documents(self, after: int | None, seconds: float) -> tuple[int, list[dict[str, Any]]]:
        """The version of the jobs, and the jobs, the newest first; waits up to `seconds` for one other than `after`."""
        with self._changed:
            self._changed.wait_for(lambda: self._version != after or self._closed, seconds)
            return self._version, [job.document() for job in reversed(self._all)]

    def _leave(self, job: Job, state: str, words: str) -> None:
        """A job has ended; of those that have, only the last are kept."""
        job.state, job.message, job.child, job.text, job.place = state, words, None, b"", next(self._places)
        ended = sorted((one for one in self._all if one.state not in OPEN), key=lambda one: one.place)
        for old in ended[:-MOST_ENDED]:
            self._all.remove(old)

    def _note(self) -> None:
        self._version += 1
        self._changed.notify_all()

    def _work(self) -> None:
        while job := self._next():
            try:
                with TemporaryDirectory(prefix="job-", dir=self._folder) as folder:
                    self._carry_out(job, Path(folder))
            except (OSError, UsageError) as why:
                self._ended(job, FAILED, str(why))

    def _next(self) -> Job | None:
        """The next job, once there is one; none when the server ends."""
        with self._changed:
            while True:
                waiting = [job for job in self._all if job.state == WAITING]
                if self._closed:
                    return None
                if waiting:
                    waiting[0].state = RUNNING
                    self._note()
                    return waiting[0]
                self._changed.wait()

    def _carry_out(self, job: Job, folder: Path) -> None:
        file = folder / f"{job.name}.toml"
        file.write_bytes(job.text)
        words = ["run", file.name, "--on", job.on, "--out", str(self._out), "--progress", "--json", *job.options]
        with open(folder / "answer", "w+b") as answer:
            child = self._children.start(words, folder, answer)
            with self._changed:
                job.child = child
                # Cancelled before there was anything to cancel.
                if job.state == ENDING:
                    self._children.end(child)
            for line in _lines(child.stderr):
                self._hear(job, line)
            status = self._children.wait(child)
            answer.seek(0)
            head = answer.read(HEAD).decode(errors="replace")
        words = message("\n".join(job.said)) if job.said else "it has said nothing"
        result = self._result(head) if status in (DONE, FOUND) else None
        if result:
            job.result = result
            self._ended(job, ENDED, STUCK if status == FOUND else "")
        elif status == STOPPED or job.state == ENDING:
            self._ended(job, CANCELLED, words if job.said else "cancelled before its first run")
        else:
            self._ended(job, FAILED, words)

    def _hear(self, job: Job, line: str) -> None:
        with self._changed:
            if found := PROGRESS.fullmatch(line):
                job.done, job.total = map(int, found.groups())
            elif line:
                job.said.append(line)
            self._note()

    def _ended(self, job: Job, state: str, words: str) -> None:
        with self._changed:
            self._leave(job, state, words)
            self._note()

    def _result(self, head: str) -> str | None:
        """The name of the results, if they are in the folder of results."""
        found = FOLDER.search(head)
        folder = Path(json.loads(found[1])) if found else Path()
        return folder.name if folder.parent == self._out else None


def _lines(stream: IO[bytes]) -> Iterator[str]:
    """The lines as they come; of a long one pieces."""
    while line := stream.readline(LONGEST):
        yield line.decode(errors="replace").strip()
