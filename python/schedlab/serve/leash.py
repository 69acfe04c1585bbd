"""Starts a command that ends when the server does, however that ends: python leash.py PARENT WORD...

    the server is killed     the kernel sends SIGINT (PR_SET_PDEATHSIG) when the thread ends that started the command
    Ctrl-C before its time   is held back, already by the thread that starts it, until the command takes it up
                             (`schedlab.__main__`), as its launcher does

It is run by its path, and imports nothing of the package: the command itself follows in the same process.
"""

import ctypes
import os
import signal
import sys

#: Of <linux/prctl.h>.
PR_SET_PDEATHSIG = 1


def main() -> None:
    """Become the command."""
    parent, *words = sys.argv[1:]
    # A server that a script has put into the background ignores Ctrl-C; what it starts must not.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    if ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGINT), 0, 0, 0):
        sys.exit("error: this kernel has no PR_SET_PDEATHSIG")
    if os.getppid() != int(parent):
        # It was killed before the kernel knew.
        sys.exit(130)
    os.execv(words[0], words)


if __name__ == "__main__":
    main()
