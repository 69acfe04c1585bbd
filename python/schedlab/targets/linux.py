"""Names that Linux uses, and what its kernels have in common, on the host and in guests."""

import re

#: Ticks of the kernels' clocks, a second (CONFIG_HZ of the distributions').
HZ = 250
#: Policies of tasks that are real time.
REAL_TIME = ("fifo", "rr", "deadline")
#: Tunables that decide what a guest is before its kernel starts: words of the command line, and the time that its drive
#: takes for a request. No running kernel has them.
KERNEL_WORDS, REQUEST_TIME = "kernel_words", "request_time"
#: The tunable that only a guest has: a scheduler that its kernel is given.
SCHED_EXT = "sched_ext"
#: The tunable that is no file but an attribute of each task, and the kernel's own setting of the same.
SLICE, BASE_SLICE = "slice", "base_slice"
#: What one generation of kernels calls a setting, and what the other does (`also` in crates/tune/src/table).
OTHER_NAME = {BASE_SLICE: "min_granularity", "min_granularity": BASE_SLICE}
#: The tunable of a block device, which may follow: `elevator@vda`.
ELEVATOR = "elevator"
#: What an elevator of the simulator is called by a kernel, where its name differs.
ELEVATORS = {"fifo": "none"}
#: The first Linux with EEVDF.
EEVDF_SINCE = (6, 6)


def scheduler(release: str) -> str:
    """What Linux of that release schedules ordinary tasks with."""
    upstream = release.partition("-")[0]
    return "eevdf" if tuple(map(int, re.findall(r"\d+", upstream))) >= EEVDF_SINCE else "cfs"
