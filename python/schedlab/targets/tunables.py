"""Settings of a kernel (`[tunables]`) that are more than a file of a running one, and what kernels call them."""

from collections.abc import Mapping
from typing import Any

from schedlab.specification import plain

#: Decide what a guest is before its kernel starts: words of the command line, and the time that its drive takes for a
#: request. No running kernel has them.
KERNEL_WORDS, REQUEST_TIME = "kernel_words", "request_time"
#: Only a guest has it: a scheduler that its kernel is given.
SCHED_EXT = "sched_ext"
#: No file, but an attribute of each task.
SLICE = "slice"
#: Of a block device, so that a device may follow: `elevator@vda`.
ELEVATOR = "elevator"
#: What an elevator of the simulator is called by a kernel, where its name differs.
ELEVATORS = {"fifo": "none"}
#: A machine whose swap area is not given has one of this size (crates/model).
USUAL_SWAP = "1GiB"


def swap_area(machine: Mapping[str, Any]) -> str | None:
    """The size of a machine's swap area; None if it is the usual one."""
    size = plain(machine["memory"]["swap"])
    return None if size == USUAL_SWAP else size


def has_limited_group(scenario: Mapping[str, Any]) -> bool:
    """Whether a control group's memory is limited."""
    return any(group.get("memory") for group in scenario.get("groups", {}).values())
