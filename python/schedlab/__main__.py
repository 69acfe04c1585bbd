"""Where the command `schedlab` begins: before anything is imported, Ctrl-C gets an answer that prints nothing.

the launcher      starts Python with Ctrl-C held back: an interpreter that is starting would print a traceback
here              until there is something to be put in order, Ctrl-C ends the process at once, with status 130
in a verb         Ctrl-C is a KeyboardInterrupt, wherever the work is; whatever comes of it, the status is 130
after the output  the command is done, and Ctrl-C changes nothing any more
"""

from __future__ import annotations

import _signal as signal  # What `signal` is made of, without its names for numbers: `enum` takes long to be imported.
import os
import sys

from schedlab.system.status import STOPPED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    """Run the command."""
    # A parent that ignores Ctrl-C on our behalf (nohup, a shell's background jobs) is obeyed.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: os._exit(STOPPED))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    from schedlab import direct

    work = direct.chosen(sys.argv[1:])
    if work:
        from schedlab.system.ending import run_command

        return run_command(lambda: _carried_out(work), at_once=True)
    from schedlab import cli

    return cli.main()


def _carried_out(work: Callable[[], int]) -> int:
    """The exit status of a verb that starts at once; its errors are worded as those of all verbs."""
    from schedlab.system import escaped

    try:
        with escaped.streams():
            return work()
    except Exception as error:
        from schedlab import cli

        return cli.explain(error)


if __name__ == "__main__":
    main()
