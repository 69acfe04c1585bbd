"""A run's own drive in a guest: modelled on a description as on a live host, or in memory with one time per request.

    the machine has a disk       a file served over FUSE below a loop device, by the agent: requests take what the
                                 description says, seeks cost, and the device takes four at a time, so that an elevator
                                 has something to sort
    else, or with request_time   null_blk: each request takes the same time, one after the other

Both live in the guest's own time. A block device of the emulator's would not: its requests end when the host is done.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from schedlab.specification import has_limited_group, swap_area
from schedlab.targets import agent
from schedlab.targets.linux import ELEVATOR, ELEVATORS, REQUEST_TIME

#: Time of a request of a drive in memory, if it is not given: a solid-state drive's.
USUAL_TIME = "100us"
#: What an elevator's module is called, where its name differs; `none` needs no module.
MODULES = {"kyber": "kyber-iosched", "none": None}
#: Linux's default for a device of one queue. A loop device has none by default.
USUAL = {ELEVATOR: "mq-deadline"}
#: Where the agent finds the pieces of an empty file system.
BLANK = "/volume"


@dataclass(frozen=True)
class Volume:
    """A drive, as requested from the agent, with the file system that it needs."""

    request: Mapping[str, Any]
    #: Bytes it has.
    size: int
    #: Of it, what a run fills, MiB.
    used_mib: int

    @property
    def volume(self) -> dict[str, Any]:
        """For the agent's plan."""
        return dict(self.request) | {"size": f"{self.size}B", "blank": BLANK}

    @property
    def caveat(self) -> str | None:
        """A limitation of the numbers that runs on it report."""
        if "request" not in self.request:
            return None
        return (
            f"the drive takes {self.request['request']} for each request, wherever and however long; seeks and bytes "
            "cost nothing, so sorting gains nothing and merging gains much: give machine.drive for one that seeks"
        )

    @property
    def usual(self) -> dict[str, str]:
        """Its elevator if none is requested: kernels differ in the default of null_blk."""
        return USUAL if "request" in self.request else {}

    def modules(self, tunables: Mapping[str, str]) -> dict[str, str]:
        """What the kernel needs for it, and for its elevator."""
        own = {"null_blk": "nr_devices=0"} if "request" in self.request else {"fuse": "", "loop": ""}
        names = (elevators(tunables) or self.usual).values()
        wanted = [MODULES.get(name, name) for name in names]
        return own | {name: "" for name in wanted if name}


def elevators(tunables: Mapping[str, str]) -> dict[str, str]:
    """Those among the tunables that name an elevator, as a kernel spells it."""
    named = {name: value for name, value in tunables.items() if name.partition("@")[0] == ELEVATOR}
    return {name: ELEVATORS.get(value, value).replace("_", "-") for name, value in named.items()}


def requested(scenario: Mapping[str, Any], tunables: Mapping[str, str]) -> dict[str, Any] | None:
    """What a cell wants for a drive, if any: as on a host, and where there is something to set or to swap to."""
    machine = scenario["machine"]
    disk, swap = machine.get("disk"), swap_area(machine)
    named = REQUEST_TIME in tunables or elevators(tunables)
    if not (disk or has_limited_group(scenario) or named or swap):
        return None
    timed = REQUEST_TIME in tunables or not disk
    drive = {"request": tunables.get(REQUEST_TIME, USUAL_TIME)} if timed else {"disk": disk}
    return drive | ({"swap": swap} if swap else {})


def sized(plan: Mapping[str, Any], request: Mapping[str, Any]) -> Volume:
    """The drive with the size that the files of a plan need."""
    extent = agent.ask(["volume-size"], {**plan, "options": {"volume": request}})
    return Volume(request, extent["size"], -(-extent["used"] >> 20))
