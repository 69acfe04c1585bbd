"""What is asked of a recording of a kernel, and the engine's answer, which `schema/output/trace.json` describes."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedlab import _core
from schedlab.errors import Stopped, UsageError
from schedlab.system.interrupt import ctrl_c, until_stopped
from schedlab.system.writing import is_stream, pour
from schedlab.units import seconds


@dataclass(frozen=True)
class Question:
    """What is asked: of which processor, tasks and time, and what a row is."""

    cpu: int | None = None
    task: str | None = None
    #: Seconds after the first event.
    begin: float | None = None
    end: float | None = None
    #: pid, comm, tgid or cgroup.
    by: str = "pid"
    #: Groups as NAME=REGEX.
    groups: tuple[str, ...] = ()
    #: Whether rows have sums by blocks of time.
    blocks: bool = False

    def as_json(self, perfetto: str | None = None, timeline: str | None = None) -> str:
        """The question as the engine reads it, with the files to write."""
        asked = {
            "cpu": self.cpu,
            "task": self.task,
            "from_ns": _nanoseconds(self.begin),
            "to_ns": _nanoseconds(self.end),
            "by": self.by,
            "groups": list(self.groups),
            "blocks": self.blocks,
            "perfetto": perfetto,
            "timeline": timeline,
        }
        return json.dumps(asked)


def _nanoseconds(time: float | None) -> int | None:
    return None if time is None else round(time * 1e9)


def moment(option: str, text: str | None) -> float | None:
    """Read a moment of a recording, such as "1.2s", in seconds; a bare number is in seconds."""
    if text is None:
        return None
    found = seconds(text)
    if found is None:
        found = seconds(f"{text}s")
    if found is None or not 0 <= found < 1e9:
        raise UsageError(f"{option} {text!r}: is no moment; give seconds after the first event, as 1.2s or 300ms")
    return found


def check(question: Question) -> None:
    """Refuse a question that no recording can answer, before a long one is read."""
    _core.check_explain(question.as_json())


def explain(
    path: Path, question: Question, perfetto: Path | None = None, timeline: Path | None = None
) -> dict[str, Any]:
    """Read a recording and say what happened in it. Ctrl-C raises `Stopped`.

    The same reading writes it as a Perfetto trace, and every run of it for a page, if asked to.
    """
    try:
        with ctrl_c() as stop, _drawn(perfetto) as trace:
            asked = question.as_json(trace, timeline and str(timeline))
            return json.loads(until_stopped(stop, _core.explain, str(path), asked))
    except KeyboardInterrupt:
        raise Stopped(f"stopped while {path} was being read; nothing was written") from None


@contextmanager
def _drawn(path: Path | None) -> Iterator[str | None]:
    """The file that the engine is to write: it becomes `path` once it is whole; a device, a pipe or a link stays.

    It is in a folder of its own next to that, which goes when the work is stopped.
    """
    if path is None:
        yield None
        return
    beside = None if is_stream(path) else Path(os.path.realpath(path)).parent
    with tempfile.TemporaryDirectory(prefix=".schedlab-", dir=beside) as folder:
        whole = Path(folder) / "trace"
        yield str(whole)
        if beside is None:
            pour(whole, path)
        else:
            os.replace(whole, os.path.realpath(path))


def lacks(found: dict[str, Any]) -> bool:
    """Whether events of a recording are known to be lost."""
    return bool(found["lost"] or found["losses"])
