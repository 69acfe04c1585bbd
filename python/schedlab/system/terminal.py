"""Lines for the user on standard error, and how many of them: -q and -v of every verb."""

import sys

from schedlab.system.escaped import escaped

QUIET, NORMAL, VERBOSE = -1, 0, 1
_level = NORMAL


def set_level(level: int) -> None:
    """Choose what is printed from now on: errors only, notes too, or details too."""
    global _level
    _level = level


def is_quiet() -> bool:
    """Whether only errors are printed."""
    return _level <= QUIET


def insist(text: str) -> None:
    """A line to standard error, with -q too; that it is closed, or full, is no fault."""
    try:
        # As one piece: guests that boot at the same time say so at the same time.
        sys.stderr.write(f"{escaped(text)}\n")
        sys.stderr.flush()
    except OSError:
        pass


def say(text: str) -> None:
    """A note to standard error, unless -q was given."""
    if not is_quiet():
        insist(text)


def detail(text: str) -> None:
    """A line to standard error that only -v asks for."""
    if _level >= VERBOSE:
        insist(text)
