"""A child process in a group of its own, its standard streams pipes of ours.

Python's `subprocess` does more, and takes longer to be imported than all modules of a verb that starts at once.
"""

from __future__ import annotations

import os
import time
from _signal import SIGKILL, SIGPIPE, SIGTERM, SIGXFSZ

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

#: Seconds between two looks at a child that was asked to end.
LOOK_SECONDS = 0.01
#: Bytes that are read at once.
PIECE = 1 << 16


def spawn(
    words: Sequence[str], streams: Mapping[int, int], own_group: bool = False, blocked: Iterable[int] | None = None
) -> int:
    """Start a program and give its number. `streams` says which of its descriptors is which of ours; it inherits no
    others but the standard ones, and the signals that Python ignores have their default actions. It begins with the
    signals `blocked`, or with those of this thread.
    """
    actions = [(os.POSIX_SPAWN_DUP2, ours, theirs) for theirs, ours in streams.items()]
    actions += [(os.POSIX_SPAWN_CLOSE, one) for one in _inherited()]
    options = {"setpgroup": 0} if own_group else {}
    if blocked is not None:
        options["setsigmask"] = blocked
    return os.posix_spawn(words[0], words, os.environ, file_actions=actions, setsigdef=[SIGPIPE, SIGXFSZ], **options)


def _inherited() -> list[int]:
    """What this process was given open itself, besides the standard streams, and would pass on."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if int(name) > 2 and os.get_inheritable(int(name)):
                found.append(int(name))
        except OSError:  # The one that listed them.
            continue
    return found


def ended(pid: int, options: int = 0) -> int | None:
    """Its exit status, or the negative number of the signal that ended it; None if it has not ended yet."""
    try:
        found, status = os.waitpid(pid, options)
    except ChildProcessError:
        # Our parent ignores the ends of children on our behalf: the kernel has kept no status.
        return 0
    return os.waitstatus_to_exitcode(status) if found else None


class Child:
    """The running program. `close` ends it, however far it has come."""

    def __init__(self, words: Sequence[str]):
        """Start it."""
        pipes: list[tuple[int, int]] = []
        try:
            while len(pipes) < 3:
                pipes.append(os.pipe())
            (stdin, given), (out, stdout), (errors, stderr) = pipes
            self.pid = spawn(words, {0: stdin, 1: stdout, 2: stderr}, own_group=True)
        except BaseException:
            for end in (end for pipe in pipes for end in pipe):
                os.close(end)
            raise
        self.status: int | None = None
        for end in (stdin, stdout, stderr):
            os.close(end)
        self._given = open(given, "wb", buffering=0)  # noqa: SIM115
        self._out, self._errors = open(out, encoding="utf-8"), open(errors, encoding="utf-8")  # noqa: SIM115

    def give(self, text: str = "") -> None:
        """All of its standard input."""
        with self._given:
            self.send(text.encode())

    def send(self, piece: bytes) -> None:
        """A piece of its standard input; nothing if it reads none any more."""
        left = memoryview(piece)
        try:
            while left:
                left = left[self._given.write(left) :]
        except BrokenPipeError:
            pass

    def hang_up(self) -> None:
        """The end of its standard input."""
        self._given.close()

    def said(self, last: str, seconds: float) -> list[str] | None:
        """The lines of its output before the line `last`; None if that does not come within `seconds`."""
        import select

        poll, text, end = select.poll(), b"", time.monotonic() + seconds
        poll.register(self._out.fileno(), select.POLLIN)
        while (left := end - time.monotonic()) > 0 and len(text) < PIECE:
            for stream, _ in poll.poll(1000 * left):
                if not (piece := os.read(stream, PIECE)):
                    return None
                text += piece
            lines = text.decode(errors="replace").splitlines()
            if last in lines:
                return lines[: lines.index(last)]
        return None

    def lines(self) -> Iterator[str]:
        """The lines of its output as they come, with their ends."""
        return iter(self._out)

    def errors(self) -> str:
        """What is left of its standard error."""
        return self._errors.read()

    def all(self, stop=None, heard: float | None = None) -> tuple[str, str]:
        """Output and standard error to their ends. When `stop` is set, KeyboardInterrupt within `heard` seconds."""
        import select

        poll = select.poll()
        found: dict[int, list[bytes]] = {self._out.fileno(): [], self._errors.fileno(): []}
        for stream in found:
            poll.register(stream, select.POLLIN)
        open_ones = set(found)
        while open_ones:
            for stream, _ in poll.poll(heard and 1000 * heard):
                if piece := os.read(stream, PIECE):
                    found[stream].append(piece)
                else:
                    poll.unregister(stream)
                    open_ones.remove(stream)
            if stop and stop.is_set():
                raise KeyboardInterrupt
        out, errors = (b"".join(pieces).decode(errors="replace") for pieces in found.values())
        return out, errors

    def wait(self, seconds: float | None = None) -> int | None:
        """Its status; None if it has not ended after so long."""
        end = None if seconds is None else time.monotonic() + seconds
        while self.status is None:
            self.status = ended(self.pid, 0 if end is None else os.WNOHANG)
            if self.status is None:
                if time.monotonic() > end:
                    return None
                time.sleep(LOOK_SECONDS)
        return self.status

    def stop(self) -> None:
        """Ask it to end, if it is still at work."""
        if self.status is None and self.wait(0) is None:
            os.kill(self.pid, SIGTERM)

    def end(self, grace: float) -> None:
        """Have it end in order if it is still at work, or after `grace` seconds by force."""
        if self.status is None and self.wait(0) is None:
            os.kill(self.pid, SIGTERM)
            if self.wait(grace) is None:
                os.kill(self.pid, SIGKILL)
                self.wait()

    def close(self, grace: float) -> None:
        """Have it end, and close its streams."""
        self.end(grace)
        for stream in (self._given, self._out, self._errors):
            stream.close()
