"""What a cell asks of a live host: its settings, a volume of its own, its processors."""

from collections.abc import Sequence
from typing import Any

from schedlab.specification import Cell, has_limited_group, plain, swap_area, treatments
from schedlab.targets.host.conditions import Conditions
from schedlab.targets.linux import ELEVATOR, ELEVATORS, SLICE
from schedlab.units import seconds

#: Processor time of real-time tasks in a period; at most this share of it may be theirs.
RT_RUNTIME, UNLIMITED, REAL_TIME_SHARE = "rt_runtime", "unlimited", 0.99
#: The period where the kernel does not say it (sysctl_sched_rt_period in kernel/sched/rt.c).
USUAL_RT_PERIOD_US = 1_000_000


def settings(cell: Cell) -> dict[str, str]:
    """What a cell sets on the host, as its kernel spells it."""
    given = {name: value for name, value in cell.host["tunables"].items() if name != SLICE}
    return {name: ELEVATORS.get(value, value) if name == ELEVATOR else value for name, value in given.items()}


def volume(cell: Cell, conditions: Conditions) -> dict[str, Any] | None:
    """A cell's own file system: if its machine has a drive, if its memory is limited, or if one is requested.

    Without a size it is as large as the drive, or as the run's files need.
    """
    machine = cell.scenario["machine"]
    limited = has_limited_group(cell.scenario)
    disk, size = machine.get("disk"), conditions.loop_size
    if not (disk or limited or size):
        return None
    wanted = {"disk": disk, "size": None if disk else size, "swap": swap_area(machine) if limited else None}
    return {name: value for name, value in wanted.items() if value}


def capped(cell: Cell, rt_period_us: int | None) -> Cell:
    """The cell, with a little of every period left to tasks that are not real time."""
    tunables = cell.host["tunables"]
    runtime = tunables.get(RT_RUNTIME)
    if runtime is None:
        return cell
    period = tunables.get("rt_period")
    period_s = (seconds(period) if period else None) or (rt_period_us or USUAL_RT_PERIOD_US) / 1e6
    most_s = REAL_TIME_SHARE * period_s
    if runtime != UNLIMITED and (seconds(runtime) or 0) <= most_s:
        return cell
    capped = tunables | {RT_RUNTIME: f"{round(most_s * 1e6)}us"}
    return cell.but(host=cell.host | {"tunables": capped})


def processors(cell: Cell, may: Sequence[int]) -> list[int]:
    """Those of the host that the cell's tasks use: its first, second, ... is that of those that `may` be used."""
    jobs = cell.scenario["workload"].values()
    if all(job.get("cpus") for job in jobs):
        named = [given for job in jobs for given in (job, *treatments(job)) if given.get("cpus")]
        wanted = sorted({cpu for given in named for cpu in given["cpus"]})
    else:
        wanted = range(plain(cell.scenario["machine"]["processors"]))
    # If there are too few, the agent says so, and what to do.
    return [may[cpu] for cpu in wanted if cpu < len(may)] or list(may)
