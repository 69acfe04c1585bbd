"""Experiments that try what could help a host that is short of something: a load like the one seen, or a command."""

import json
from typing import Any

from schedlab.observe.diagnose import Finding

#: Hogs in an experiment at most.
MOST_HOGS = 16
#: Repeats of a good setting in a search: as few as a permutation test can judge.
REPEATS = 6
#: Metrics of which more is better, among those of the loads.
MORE = ("tasks.hog.share",)


def experiment(finding: Finding, tunables: list[dict]) -> dict[str, Any] | None:
    """The experiment for a shortage, of tunables that this host has; None where the lab has nothing to try."""
    here = {entry["name"]: entry for entry in tunables if entry["value"] is not None}
    make = {
        "processor": _processor,
        "run queue": _processor,
        "disk": _disk,
        "memory and paging": _memory,
    }.get(finding.resource)
    made = make(finding, here) if make else None
    return made and {"machine": "host", "seeds": 3, **made}


def search(finding: Finding | None, tunables: list[dict], command: str | None = None) -> dict[str, Any] | None:
    """The experiment in which settings are searched that could help: its goal and its space.

    Of a command the elapsed time is to be less, and the settings are those of the resource that was short while it ran;
    without one, the load of `experiment` takes its place. None where the lab has nothing to try.
    """
    here = {entry["name"]: entry for entry in tunables if entry["access"] in ("writable", "per_task")}
    if command is not None:
        return _of_command(command, _candidates(finding, here), here)
    made = experiment(finding, tunables) if finding else None
    if made is None:
        return None
    space = made.pop("sweep")
    goal = {"minimize": [one for one in made["metrics"] if one not in MORE and not one.startswith("swap")]}
    goal |= {"maximize": more} if (more := [one for one in made["metrics"] if one in MORE]) else {}
    return {**_with_present(made, space, here), "seeds": REPEATS, "goal": goal, "space": space}


def _of_command(command: str, space: dict[str, list], here: dict) -> dict[str, Any]:
    """The command again and again, each time with other settings."""
    made = {
        "question": f"Which settings end {command} soonest on this host?",
        "machine": "host",
        "scheduler": {"name": "eevdf"},
        "metrics": ["tasks.command.real", "context_switches"],
        "seeds": REPEATS,
        "workload": {"command": {"load": "command", "run": command, "policy": "other"}},
    }
    goal = {"minimize": ["tasks.command.real"]}
    return {**_with_present(made, space, here), "goal": goal, "space": space}


def _with_present(made: dict[str, Any], space: dict[str, list], here: dict) -> dict[str, Any]:
    """The experiment with what the host has now of the tunables that are searched, which belongs to their lists."""
    now = {}
    for path, levels in space.items():
        name = path.removeprefix("tunables.")
        if name != path and here[name]["value"] is not None:
            now[name] = _read(here[name]["value"])
            levels += [] if now[name] in levels else [now[name]]
    return {**made, "tunables": now} if now else made


def _candidates(finding: Finding | None, here: dict) -> dict[str, list]:
    """Settings that could matter to a command, by what was short while it ran; of nothing, those of the processor."""
    device = finding.device if finding else None
    of = {
        "disk": {f"tunables.elevator@{device}": None, f"tunables.read_ahead@{device}": ["128KiB", "1MiB", "8MiB"]},
        "memory and paging": {"tunables.swappiness": [10, 60, 150], "tunables.thp": None},
    }
    wanted = of.get(finding.resource if finding else "", {"tunables.autogroup": [True, False]})
    space = {}
    for path, levels in wanted.items():
        entry = here.get(path.removeprefix("tunables."))
        names = levels or (entry or {}).get("domain", {}).get("names", [])
        if entry and len(names) > 1:
            space[path] = list(names)
    if not finding or finding.resource not in of:
        space["workload.command.policy"] = ["other", "batch"]
        if "slice" in here:
            space["scheduler.base_slice"] = ["3ms", "10ms", "30ms"]
    return space


def _read(value: str) -> Any:
    """A tunable's value as an experiment has it."""
    try:
        return json.loads(value)
    except ValueError:
        return value


def _processor(finding: Finding, here: dict) -> dict[str, Any]:
    hogs = min(MOST_HOGS, max(1, sum(max(1, len(task.members)) for task in finding.tasks if task.amount >= 25)))
    return {
        "question": "Which nice value or policy of the hogs keeps a short job quick, and what does it cost them?",
        "duration": "5s",
        "metrics": ["tasks.short.wakeup_latency.p99", "tasks.hog.share"],
        "workload": {
            "hog": {"load": "spin", "count": hogs, "passes": "forever"},
            "short": {"load": "sleeper", "passes": "forever"},
        },
        "sweep": {"workload.hog.nice": [0, 10, 19], "workload.hog.policy": ["other", "batch"]},
    }


def _disk(finding: Finding, here: dict) -> dict[str, Any] | None:
    elevator = here.get(f"elevator@{finding.device}")
    names = (elevator or {}).get("domain", {}).get("names", [])
    if len(names) < 2:
        return None
    return {
        "question": f"Which elevator of {finding.device} serves readers best while writers run?",
        "duration": "20s",
        "metrics": ["tasks.reader.real", "tasks.writer.real"],
        "workload": {
            "reader": {"load": "random_io", "size": "64MiB", "rounds": 500, "reads": 1},
            "writer": {"load": "random_io", "size": "64MiB", "rounds": 500, "reads": 0, "writes": 1, "sync": True},
        },
        "sweep": {f"tunables.elevator@{finding.device}": names},
    }


def _memory(finding: Finding, here: dict) -> dict[str, Any] | None:
    if "swappiness" not in here:
        return None
    return {
        "question": "Whom does swappiness favour when memory is short: programs or files?",
        "duration": "30s",
        "metrics": ["tasks.program.real", "tasks.reader.real", "swap_out", "page_in"],
        "workload": {
            "program": {"load": "working_set", "size": "64MiB", "rounds": 20},
            "reader": {"load": "read_files", "files": 20, "size": "4MiB", "passes": 3},
        },
        "sweep": {"tunables.swappiness": [10, 60, 150]},
    }
