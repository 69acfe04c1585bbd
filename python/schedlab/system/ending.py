"""How the command ends: one message, one exit status, whatever Ctrl-C, a closed pipe or a full disk do meanwhile.

Ctrl-C                     130, and no traceback, even where a library makes another error of it
a closed pipe (| head)     141, as of a program that the pipe's signal has ended; nothing is said
output that fails          2, and why
"""

from __future__ import annotations

import _signal as signal  # What `signal` is made of, without its names for numbers.
import errno
import os
import sys

from schedlab.system.status import CLOSED_PIPE, REFUSED, STOPPED
from schedlab.system.terminal import insist

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: What writing to a terminal, a pipe or a file can come to.
OF_STREAMS = (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.ENXIO)

#: Seconds after which Ctrl-C that came where nothing can be raised is raised again.
MOMENT = 0.01

_pressed = False


def run_command(run: Callable[[], int], at_once: bool = False) -> None:
    """Run the command, see its output out, and end the process with its status; `at_once` without taking the
    interpreter apart, which takes as long as some verbs do. Nothing may be left to be done at exit then.
    """
    try:
        status = _command(run)
    except KeyboardInterrupt:
        # Pressed once more while the first one was being answered.
        os._exit(STOPPED)
    if at_once:
        os._exit(status)
    sys.exit(status)


def _command(run: Callable[[], int]) -> int:
    if not _streams():
        return REFUSED
    try:
        _install_handler()
        status = run()
        # The command is done; Ctrl-C while the interpreter ends would only print a traceback.
        _ignore()
    except KeyboardInterrupt:
        _ignore()
        status = STOPPED
    if status and _pressed:
        status = STOPPED
    return flushed() or status


def pressed() -> bool:
    """Whether Ctrl-C was pressed: then every error is its doing."""
    return _pressed


def unwritten(error: OSError) -> int:
    """The status where output could not be written; says why, unless it is not read any more."""
    if error.errno == errno.EPIPE:
        _discard(sys.stdout)
        return CLOSED_PIPE
    insist(f"error: standard output: {error.strerror}")
    _discard(sys.stdout)
    return REFUSED


def flushed() -> int:
    """Write what is still held back; 0, or the status if that fails."""
    closed = type(sys.stdout).__name__ == "PacifyFlushWrapper"
    try:
        if sys.stdout:
            sys.stdout.flush()
    except OSError as error:
        return unwritten(error)
    try:  # noqa: SIM105
        sys.stderr.flush()
    except OSError:
        pass
    return CLOSED_PIPE if closed else 0


def _streams() -> bool:
    """Whether there is an output. What is closed must not become some file that is opened later."""
    for number, stream in ((0, sys.stdin), (2, sys.stderr)):
        if stream is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    if sys.stdout is None:
        insist("error: standard output is closed")
        return False
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    return True


def _install_handler() -> None:
    """Make KeyboardInterrupt of Ctrl-C, and remember it: a library may make another error of that, or none."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        return

    def stop(*_) -> None:
        global _pressed
        _pressed = True
        raise KeyboardInterrupt

    def again(unraisable) -> None:
        # Raised where nothing can be raised (a destructor), nor here: once more when that is over.
        if unraisable.exc_type is KeyboardInterrupt:
            signal.setitimer(signal.ITIMER_REAL, MOMENT)
        else:
            sys.__unraisablehook__(unraisable)

    sys.unraisablehook = again
    signal.signal(signal.SIGALRM, stop)
    signal.signal(signal.SIGINT, stop)


def _ignore() -> None:
    for number in (signal.SIGINT, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)


def _discard(stream) -> None:
    """Have what is left of the output go nowhere: the interpreter would try to write it once more when it ends."""
    try:  # noqa: SIM105
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError, AttributeError):
        pass
