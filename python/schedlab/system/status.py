"""Exit statuses that shells give a meaning."""

#: Ended by Ctrl-C.
STOPPED = 130
#: Ended by a closed pipe, as of a program that the pipe's signal has ended.
CLOSED_PIPE = 141
