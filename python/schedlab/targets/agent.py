"""Calls `schedlab-agent`, which does all work close to the kernel: a subcommand, JSON in, JSON out."""

from __future__ import annotations

import os

from schedlab.errors import UsageError
from schedlab.system.child import LOOK_SECONDS, Child, ended, spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from typing import Any

#: Another agent than the installed one: a developer's own build.
ELSEWHERE = "SCHEDLAB_AGENT"
#: Seconds that an agent has to put everything back after it was asked to stop.
GRACE_SECONDS = 30
#: The sign (SI_KERNEL) of a signal that comes from the terminal, not from a process.
FROM_KERNEL = 0x80
#: Seconds that the restorer of a killed agent has to do it.
RESTORER_SECONDS = 15
#: What a restore finds that dead agents have left.
LEFT = ("back", "unreadable", "strays")
#: How to go on after a run that came to nothing.
GO_ON = "finished runs are kept, and the same command goes on from there"


def program() -> Path:
    """The agent's binary: the one that `SCHEDLAB_AGENT` names, else the one installed with the package."""
    from pathlib import Path

    return Path(_program())


def _program() -> str:
    path = os.environ.get(ELSEWHERE) or os.path.join(os.path.dirname(__file__), "bin", "schedlab-agent")
    if not os.access(path, os.X_OK):
        lacks = f"{path} is no program: the live host needs schedlab-agent"
        raise UsageError(f"{lacks}; wheels have it, and make setup installs it")
    return path


class Running:
    """An agent at work, with `given` as JSON on its standard input. It gets no signal from the terminal: whatever ends
    this process's wait ends it in order. To be used with `with`.
    """

    def __init__(self, arguments: Sequence[str], given: Any = None):
        """Start it."""
        self._arguments = arguments
        self._child = Child([_program(), *arguments])
        try:
            self._child.give("" if given is None else _dumps(given))
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Running:
        """It is at work already."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it, unless it has ended."""
        self._child.close(GRACE_SECONDS)

    def stop(self) -> None:
        """Ask it to end, unless it has ended: its lines go on to their end."""
        self._child.stop()

    def answer(self, stop: threading.Event | None = None) -> Any:
        """Wait for its end and give its answer, read as JSON; see `ask`."""
        if stop:
            from schedlab.system.interrupt import HEARD_SECONDS

            answer, errors = self._child.all(stop, HEARD_SECONDS)
        else:
            answer, errors = self._child.all()
        self._refuse_failure(errors)
        return read(answer) if answer.strip() else None

    def texts(self) -> Iterator[str]:
        """Its lines as they come, with their ends, until it has ended."""
        yield from self._child.lines()
        self._refuse_failure(self._child.errors())

    def _refuse_failure(self, errors: str) -> None:
        status = self._child.wait()
        if status == 0:
            return
        if status == 2:
            raise UsageError(errors.strip().removeprefix("error: "))
        said = errors.strip() or "it said nothing"
        verb = self._arguments[0]
        if status > 0:
            raise UsageError(f"schedlab-agent {verb} ended with status {status}: {said}")
        raise UsageError(f"schedlab-agent {verb} was ended by signal {-status}: {said}; {_left_here()}; {GO_ON}")


def ask(arguments: Sequence[str], given: Any = None, stop: threading.Event | None = None) -> Any:
    """Run the agent to its end, with `given` as JSON on its standard input, and give its answer, read as JSON.

    Raises `UsageError` with the agent's own words. When `stop` is set, KeyboardInterrupt, but only after the agent has
    put everything back.
    """
    with Running(arguments, given) as agent:
        return agent.answer(stop)


def lines(arguments: Sequence[str], given: Any = None) -> Iterator[Any]:
    """The agent's answers one by one, a JSON line each, as they come; closing the iterator stops the agent."""
    with Running(arguments, given) as agent:
        for text in agent.texts():
            yield read(text)


def texts(arguments: Sequence[str], given: Any = None) -> Iterator[str]:
    """The same as text, with the line ends."""
    with Running(arguments, given) as agent:
        yield from agent.texts()


def through(arguments: Sequence[str], aside: bool = False) -> int:
    """Run the agent with this process's standard streams, for a command that a person sees; give its exit status.
    With `aside`, standard output is for something else: what would go there goes to standard error.

    It is in the same process group: a signal from the terminal reaches the agent and the command, and what becomes of
    it is their affair. One that was sent to this process alone is passed on to the agent. This process only waits.
    """
    import _signal as signal
    from _thread import get_native_id

    streams = {1: 2} if aside else {}
    if get_native_id() != os.getpid():  # Only the main thread is asked to end.
        return ended(spawn([_program(), *arguments], streams))
    asked = {signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*asked, signal.SIGCHLD})
    try:
        pid = spawn([_program(), *arguments], streams, blocked=before)
        while (status := ended(pid, os.WNOHANG)) is None:
            _pass_on(pid, asked)
        return status
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _pass_on(pid: int, asked: set[int]) -> None:
    """Wait for a signal, and pass it on unless it came from the terminal. Those waited for are blocked."""
    import _signal as signal

    heard = {*asked, signal.SIGCHLD}
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        # Our parent ignores the ends of children on our behalf: the kernel does not report them.
        found = signal.sigtimedwait(heard, LOOK_SECONDS)
    else:
        found = signal.sigwaitinfo(heard)
    if found and found.si_signo in asked and found.si_code != FROM_KERNEL:
        # It is there until its status is taken.
        os.kill(pid, found.si_signo)


def left_behind(restore: Callable[[], Any], remedy: str, may_live: float = 0.0) -> str:
    """What an agent that is gone has left on its host, once its restorer had time to put it back. `restore` asks what
    a restore would find, and `remedy` is the command that does it. The agent itself may live `may_live` seconds more.
    """
    import time

    from schedlab.system.interrupt import HEARD_SECONDS

    begun = time.monotonic()
    while True:
        found = restore()
        if not isinstance(found, dict):
            raise UsageError("restore gave no answer")
        left = [text for name in LEFT for text in found[name]]
        held = found["living"] if may_live else []
        if not left and not held:
            return "nothing that it had changed is left"
        passed = time.monotonic() - begun
        if left and passed > RESTORER_SECONDS:
            return f"it has left {', '.join(left)}: see {remedy}"
        if not left and passed > RESTORER_SECONDS + may_live:
            return f"nothing is left but what runs that live hold ({'; '.join(held)}): see {remedy}"
        time.sleep(HEARD_SECONDS)


def _left_here() -> str:
    try:
        return left_behind(lambda: ask(["restore", "--dry-run"]), "schedlab host restore")
    except (UsageError, ValueError) as why:
        return f"what it has left could not be found out ({why})"


def _dumps(value: Any) -> str:
    from json import dumps

    return dumps(value)


def read(text: str) -> Any:
    """An answer, read as JSON."""
    from json import loads

    return loads(text)
