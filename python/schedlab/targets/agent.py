"""Calls `schedlab-agent`, which does all work close to the kernel: a subcommand, JSON in, JSON out."""

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from schedlab.errors import UsageError
from schedlab.system.interrupt import HEARD_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

#: Another agent than the installed one: a developer's own build.
ELSEWHERE = "SCHEDLAB_AGENT"
#: Seconds that an agent has to put everything back after it was asked to stop.
GRACE_SECONDS = 30
#: Seconds that the restorer of a killed agent has to do it.
RESTORER_SECONDS = 15


def program() -> "Path":
    """The agent's binary: the one that `SCHEDLAB_AGENT` names, else the one installed with the package."""
    from pathlib import Path

    return Path(_program())


def _program() -> str:
    path = os.environ.get(ELSEWHERE) or os.path.join(os.path.dirname(__file__), "bin", "schedlab-agent")
    if not os.access(path, os.X_OK):
        raise UsageError(f"{path} is no program: the live host needs schedlab-agent; make setup installs it")
    return path


def ask(arguments: Sequence[str], given: Any = None, stop: threading.Event | None = None) -> Any:
    """Run the agent to its end, with `given` as JSON on its standard input, and give its answer, read as JSON.

    Raises `UsageError` with the agent's own words. When `stop` is set, KeyboardInterrupt, but only after the agent has
    put everything back.
    """
    with _started(arguments, given) as agent:
        while True:
            try:
                answer, errors = agent.communicate(timeout=HEARD_SECONDS if stop else None)
                break
            except subprocess.TimeoutExpired:
                if stop.is_set():
                    raise KeyboardInterrupt from None
        _ended(agent, arguments, errors)
    return json.loads(answer) if answer.strip() else None


def lines(arguments: Sequence[str], given: Any = None) -> Iterator[Any]:
    """The agent's answers one by one, a JSON line each, as they come; closing the iterator stops the agent."""
    with closing(texts(arguments, given)) as found:
        yield from map(json.loads, found)


def texts(arguments: Sequence[str], given: Any = None) -> Iterator[str]:
    """The same as text, with the line ends."""
    with _started(arguments, given) as agent:
        yield from agent.stdout
        _ended(agent, arguments, agent.stderr.read())


def through(arguments: Sequence[str], aside: bool = False) -> int:
    """Run the agent with this process's standard streams, for a command that a person sees; give its exit status.
    With `aside`, standard output is for something else: what would go there goes to standard error.

    It is in the same process group: a signal from the terminal reaches the command, and what becomes of it is the
    command's affair, so this process only waits.
    """
    handlers = {}
    with suppress(ValueError):  # Only the main thread gets signals.
        handlers = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        return subprocess.Popen([_program(), *arguments], stdout=2 if aside else None).wait()
    finally:
        for number, before in handlers.items():
            signal.signal(number, before)


@contextmanager
def _started(arguments: Sequence[str], given: Any):
    """A running agent. It gets no signal from the terminal: whatever ends this process's wait ends it in order."""
    agent = subprocess.Popen(
        [_program(), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    try:
        with suppress(BrokenPipeError):
            agent.stdin.write("" if given is None else json.dumps(given))
            agent.stdin.close()
        agent.stdin = None
        yield agent
    finally:
        if agent.poll() is None:
            agent.send_signal(signal.SIGTERM)
            try:
                agent.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                agent.kill()
        agent.wait()
        agent.stdout.close()
        agent.stderr.close()


def _ended(agent: subprocess.Popen, arguments: Sequence[str], errors: str) -> None:
    status = agent.wait()
    if status == 0:
        return
    if status == 2:
        raise UsageError(errors.strip().removeprefix("error: "))
    said = errors.strip() or "it said nothing"
    if status > 0:
        raise UsageError(f"schedlab-agent {arguments[0]} ended with status {status}: {said}")
    raise UsageError(
        f"schedlab-agent {arguments[0]} was ended by signal {-status}: {said}; {_left_behind()}; finished runs are "
        "kept, and the same command goes on from there"
    )


def _left_behind() -> str:
    """What a killed agent has left on the host, once its restorer has had time to put it back."""
    end = time.monotonic() + RESTORER_SECONDS
    while True:
        done = subprocess.run([_program(), "restore", "--dry-run"], capture_output=True, text=True, check=False)
        if done.returncode:
            return f"what it has left could not be found out ({done.stderr.strip()})"
        try:
            found = json.loads(done.stdout)
        except ValueError:
            return "what it has left could not be found out (restore gave no answer)"
        left = [*found["back"], *found["unreadable"], *found["strays"]]
        if not left:
            return "nothing that it had changed is left"
        if time.monotonic() > end:
            return f"it has left {', '.join(left)}: see schedlab host restore"
        time.sleep(HEARD_SECONDS)
