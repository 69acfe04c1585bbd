"""Exit statuses of the command, all of them; `schedlab time` of a single run has the command's own."""

#: Everything was done.
DONE = 0
#: Everything was done, and there is something to look at.
FOUND = 1
#: The user can correct it.
REFUSED = 2
#: A fault of schedlab (EX_SOFTWARE of sysexits.h).
FAULT = 70
#: Ended by Ctrl-C.
STOPPED = 130
#: Ended by a closed pipe, as of a program that the pipe's signal has ended.
CLOSED_PIPE = 141

MEANINGS = {
    DONE: "done",
    FOUND: "done, and runs have tasks that wait forever; of `lint`: the file has errors",
    REFUSED: "refused or failed for a reason that the message names; nothing on standard output is complete",
    FAULT: "a fault of schedlab; SCHEDLAB_DEBUG=1 shows where",
    STOPPED: "stopped by Ctrl-C; finished runs are kept",
    CLOSED_PIPE: "the output is not read any more, as by head",
}
