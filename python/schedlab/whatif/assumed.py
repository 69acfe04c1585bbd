"""What a prediction takes for granted since its recording does not show it, in words."""

from collections.abc import Iterator
from typing import Any

from schedlab.whatif.replays import Prepared

#: Names of tasks that are listed.
MOST_NAMES = 5


def assumptions(one: Prepared, notes: list[str]) -> list[str]:
    """What the recording does not show and is taken for granted."""
    document, found = one.document, one.found
    scheduler = document["scheduler"]
    variant = f" ({scheduler['variant']})" if "variant" in scheduler else ""
    release = found["recorded"]["head"]["release"]
    kernel = f"of Linux {release}" if release else "of a present kernel, since the file names none"
    hz = document["machine"]["clock"]["hz"]
    ticks = "by the times of its preemptions" if found["hz"] else "not shown by the recording"
    notes = [*_seen_of_processors(document["machine"].get("topology", {})), *notes]
    notes = [
        *map(_barrier, found["barriers"]),
        *map(_server, found["servers"]),
        *map(_connected, found["connections"]),
        *_locks(found["locks"]),
        *_inboxes(found["inboxes"]),
        *_clocked(found["clocked"]),
        *_restarting(found["causes"]),
        *_inherited(found["inherited"]),
        *notes,
    ]
    if found["state"]:
        return [f"the policy is {scheduler['name']}{variant}, {kernel}", *notes]
    settings = [
        f"the policy is {scheduler['name']}{variant}, {kernel}, with its default settings",
        *([] if found["tick"] else [f"{hz.removesuffix('/s')} ticks a second, {ticks}"]),
    ]
    if found["treated"]:
        return [*settings, *notes]
    bound = ", ".join(sorted(name for name, job in document["workload"].items() if "cpus" in job))
    return [
        *settings,
        *([f"bound to the processor for which they waited while another was idle: {bound}"] if bound else []),
        "no slices of their own, control groups or autogroups: a recording of the scheduler's events has none of these",
        *notes,
    ]


def _seen_of_processors(topology: dict) -> Iterator[str]:
    """What the replay's processors have since the recording shows it."""
    if "halt_poll" in topology:
        seen = "tasks stayed next to idle ones"
        yield f"virtual processors that are idle for more than {topology['halt_poll']} get no woken task: {seen}"
    if "newidle_cost" in topology:
        seen = "hardly one that was idle for less, on average, pulled a task when it became idle"
        yield f"looking for work is taken to cost a processor {topology['newidle_cost']}: {seen}"


def _some(names: list[str]) -> str:
    return ", ".join([*names[:MOST_NAMES], *(["..."] if len(names) > MOST_NAMES else [])])


def _locks(names: list[str]) -> list[str]:
    why = "woken by tasks that were alone on their processors, such tasks stayed where they were"
    return [f"taken to wait for locks rather than for pipes: {_some(names)}: {why}"] if names else []


def _clocked(names: list[str]) -> list[str]:
    return [f"ended by the clock, whatever they had done: {_some(names)}"] if names else []


def _restarting(causes: dict[str, dict[str, int]]) -> list[str]:
    names = [name for name, ended in causes.items() if ended["restarting_timers"]]
    why = "work between two waits that are further apart is taken for that of several periods"
    return [f"counting its period anew after it was late: {_some(names)}: {why}"] if names else []


def _inherited(names: list[str]) -> list[str]:
    why = "made within the recording, and taken to be treated as those that made them"
    return [f"{why}: {_some(names)}"] if names else []


def _inboxes(names: list[str]) -> list[str]:
    each = "each of its waits ends with the next message from any of them"
    return [f"several tasks send to {_some(names)}: {each}"] if names else []


def _barrier(found: dict[str, Any]) -> str:
    tasks = f"{found['tasks']} tasks ({_some(found['names'])})"
    return f"{tasks} met {found['rounds']} times at a barrier: each waits until the last of them has come"


def _server(found: dict[str, Any]) -> str:
    clients = f"{found['clients']} tasks ({_some(found['names'])})" if found["clients"] > 1 else found["names"][0]
    requests = f"{found['answers']} requests, of which the recording shows {found['shown']}"
    return f"{found['name']} answers {clients}: {requests}; a replay takes them in the order in which they come"


def _connected(found: dict[str, Any]) -> str:
    ends = _some([f"{name} ({count})" for name, count in found["ends"]])
    messages = f"{found['messages']} messages of {found['name']}"
    return f"{found['name']} has connections to {ends}: {messages}; each task answers what comes first"
