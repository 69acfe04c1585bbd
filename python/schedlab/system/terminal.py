"""Lines for the user on standard error."""

import sys
from contextlib import suppress

from schedlab.system.escaped import escaped


def say(text: str) -> None:
    """A line to standard error; that it is closed, or full, is no fault."""
    with suppress(OSError):
        # As one piece: guests that boot at the same time say so at the same time.
        sys.stderr.write(f"{escaped(text)}\n")
        sys.stderr.flush()
