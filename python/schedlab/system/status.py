"""Exit statuses of the command, all of them; `schedlab time` of a single run and `record` have the command's own."""

#: Everything was done.
DONE = 0
#: Everything was done, and there is something to look at.
FOUND = 1
#: The user can correct it.
REFUSED = 2
#: Everything was done, but what was recorded or read lacks events.
LOST = 3
#: A fault of schedlab (EX_SOFTWARE of sysexits.h).
FAULT = 70
#: Ended by Ctrl-C.
STOPPED = 130
#: Ended by a closed pipe, as of a program that the pipe's signal has ended.
CLOSED_PIPE = 141

MEANINGS = {
    DONE: "done",
    FOUND: "done, but tasks of a run wait forever (deadlock); of `lint`: a file has errors",
    REFUSED: "refused or failed: the message says why, and standard output is incomplete",
    LOST: "done, but the recording lacks events, so its numbers may be wrong; --allow-loss accepts that",
    FAULT: "a bug in schedlab; SCHEDLAB_DEBUG=1 prints the stack",
    STOPPED: "stopped by Ctrl-C; finished runs are kept",
    CLOSED_PIPE: "the reader of the output closed it, as head does",
}
