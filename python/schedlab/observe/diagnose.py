"""Which resource of a live host is short, by which indicators, and who uses it up: judged from means over a while."""

from collections.abc import Callable, Sequence

from schedlab.observe import indicators
from schedlab.observe.indicators import Indicator, View, over, some
from schedlab.observe.usage import Task, Usage
from schedlab.observe.watch import Means
from schedlab.system.record import Record

#: Share of its limit from which a group's memory is full: reclaim begins a little below it.
FULL = 0.95
#: Share of a processor from which a task is held back by nothing but the speed of the processor, percent.
WHOLE_PROCESSOR = 90
MEMORY = "memory and paging"
QUOTA = "processor quota"
#: Effects that other shortages have: named after these.
EFFECTS = ("run queue", "processor")


class Resource(Record):
    """Something that can be short."""

    name: str
    indicators: tuple[Indicator, ...]
    short: Callable[[View], bool]
    #: Who used it up, and the unit of their amounts.
    users: Callable[[View, Usage], list[Task]]
    unit: str
    #: The control groups at fault.
    groups: Callable[[View], list[dict]] = lambda view: []


def _disk(view: View) -> bool:
    """A long queue alone is no harm: write-back makes one, and no task waits for it."""
    unknown = over(indicators.IO_HELD, view) is None
    return some(indicators.IO_HELD, indicators.WAITING)(view) or (unknown and some(indicators.QUEUE)(view))


def _run_queue(view: View) -> bool:
    """Tasks wait, and more processor time is not all that they lack: the queue is long, or other processors are idle.
    Where a quota holds tasks back, idle processors are explained.
    """
    held = over(indicators.CPU_HELD, view)
    if held is None:
        return some(indicators.READY)(view)
    idle = over(indicators.IDLE_MARGIN, view) and not over(indicators.THROTTLED, view)
    return held and bool(over(indicators.READY, view) or idle)


def _processor(view: View) -> bool:
    """Used up, whether or not tasks wait already: the next one will. Or tasks wait, and little is left idle."""
    return bool(
        over(indicators.BUSY, view) or (over(indicators.CPU_HELD, view) and not over(indicators.IDLE_MARGIN, view))
    )


def _thrashing(view: View) -> list[dict]:
    full = [g for g in view.groups if g["limit"] and (g["memory"] or 0) >= FULL * g["limit"] and g["failed_per_s"]]
    held = [
        g
        for g in view.groups
        if (indicators.thrashing(g) or 0) >= indicators.CHARGES.threshold
        or (indicators.group_held(g) or 0) >= indicators.GROUP_HELD.threshold
    ]
    return sorted(held or full, key=lambda g: -((g["failed_per_s"] or 0) + (indicators.group_held(g) or 0)))


def _throttled(view: View) -> list[dict]:
    found = [g for g in view.groups if (indicators.throttled(g) or 0) >= indicators.THROTTLED.threshold]
    return sorted(found, key=lambda g: -(g["throttled_time_percent"] or 0))


def _in_groups(groups: Callable[[View], list[dict]], column: str) -> Callable[[View, Usage], list[Task]]:
    def users(view: View, by: Usage) -> list[Task]:
        pids = [pid for group in groups(view) for pid in group["tasks"]]
        if pids or column != "rss":
            return by.members(pids, column)
        return by.memory()

    return users


def _users_of_locks(view: View, by: Usage) -> list[Task]:
    waiting: dict[int, float] = {}
    for lock in view.seen.get("locks") or []:
        if lock["waiting"] >= indicators.LOCK.threshold:
            waiting[lock["pid"]] = max(waiting.get(lock["pid"], 0.0), lock["waiting"])
    return by.named(waiting)


def _users_of_network(view: View, by: Usage) -> list[Task]:
    owners = {owner["pid"]: owner["waiting_percent"] for owner in view.seen.get("sockets") or []}
    # Of those with sockets, the ones that work: an idle connection costs nothing.
    return by.named({pid: by.of(pid, "cpu") for pid in owners}, "over the loopback")


#: What is said of a connection that is held up, by its column and the threshold for it.
HELD = (
    ("awaited_percent", indicators.AWAITED, "awaited {:.0f} % of the time"),
    ("path_percent", indicators.PATH, "data on the way {:.0f} % of the time"),
    ("receiver_percent", indicators.RECEIVER, "no room for more {:.0f} % of the time"),
)


def _held(view: View) -> list[dict]:
    """The connections that are held up."""
    connections = view.seen.get("connections") or []
    return [one for one in connections if any(one[column] >= sign.threshold for column, sign, _ in HELD)]


def _connected(view: View, by: Usage) -> list[Task]:
    """Those whose connections are held up; else those that are busy with the loopback."""
    amounts: dict[int, float] = {}
    for one in _held(view):
        if one["pid"] is not None:
            most = max(one[column] for column, _, _ in HELD)
            amounts[one["pid"]] = max(amounts.get(one["pid"], 0.0), most)
    return by.named(amounts, "held up by a remote end") or _users_of_network(view, by)


def _said_of(one: dict, seconds: float) -> str:
    """A connection, and what holds it up."""
    words = [text.format(one[column]) for column, sign, text in HELD if one[column] >= sign.threshold]
    moved = f"{(one['sent_bytes'] + one['received_bytes']) / 1024 / seconds:,.0f} KiB/s"
    again = f"{100 * one['retransmits'] / one['segments']:.1f} % sent again" if one["segments"] else ""
    trip = f"round trip {one['rtt_us'] / 1000:.1f} ms"
    return f"{one['remote']}: {', '.join(filter(None, [*words, moved, again, trip]))}"


def _behind_interrupts(view: View, by: Usage) -> list[Task]:
    """Those whose work the commonest softirq does: drives, the network; else those that wait most often."""
    network = _users_of_network(view, by) if some(indicators.LOOPBACK_WAITS, indicators.LOOPBACK_KERNEL)(view) else []
    softirqs = view.seen.get("softirqs") or {}
    of_drives = max(softirqs, key=softirqs.get, default="") in ("BLOCK", "IRQ_POLL")
    return network or (by.disk() if of_drives else []) or by.switching()


NETWORK = (
    indicators.LINE,
    indicators.DROPPED,
    indicators.SENT_AGAIN,
    indicators.AWAITED,
    indicators.PATH,
    indicators.RECEIVER,
    indicators.LOOPBACK_WAITS,
    indicators.LOOPBACK_KERNEL,
)
RESOURCES = (
    Resource(
        MEMORY,
        (indicators.MEMORY_HELD, indicators.SWAPPING, indicators.STALLS, indicators.CHARGES, indicators.GROUP_HELD),
        some(indicators.MEMORY_HELD, indicators.SWAPPING, indicators.STALLS, indicators.CHARGES, indicators.GROUP_HELD),
        _in_groups(_thrashing, "rss"),
        "KiB",
        _thrashing,
    ),
    Resource(
        QUOTA,
        (indicators.THROTTLED,),
        some(indicators.THROTTLED),
        _in_groups(_throttled, "cpu"),
        "% of a processor",
        _throttled,
    ),
    Resource(
        "real-time tasks",
        (indicators.REALTIME,),
        some(indicators.REALTIME),
        lambda view, by: by.realtime(),
        "% of a processor",
    ),
    Resource("lock", (indicators.LOCK,), some(indicators.LOCK), _users_of_locks, "tasks waiting"),
    Resource("short-lived tasks", (indicators.FORKS,), some(indicators.FORKS), lambda view, by: by.begun(), "1/s"),
    Resource(
        "disk", (indicators.IO_HELD, indicators.WAITING, indicators.QUEUE), _disk, lambda view, by: by.disk(), "KiB/s"
    ),
    Resource("hypervisor", (indicators.STEAL,), some(indicators.STEAL), lambda view, by: [], ""),
    Resource(
        "interrupts",
        (indicators.INTERRUPTS, indicators.INTERRUPT_RATE),
        some(indicators.INTERRUPTS, indicators.INTERRUPT_RATE),
        _behind_interrupts,
        "",
    ),
    Resource(
        "network",
        NETWORK,
        some(*NETWORK),
        _connected,
        "%",
    ),
    Resource(
        "run queue",
        (indicators.CPU_HELD, indicators.READY, indicators.IDLE_MARGIN),
        _run_queue,
        lambda view, by: by.processor(),
        "% of a processor",
    ),
    Resource(
        "processor",
        (indicators.BUSY, indicators.CPU_HELD),
        _processor,
        lambda view, by: by.processor(),
        "% of a processor",
    ),
)


class Finding(Record):
    """A resource, whether it is short, and what that rests on."""

    resource: str
    short: bool
    evidence: list[dict]
    tasks: list[Task]
    unit: str
    device: str | None
    #: Control groups that have used up what they may have.
    groups: list[str]
    #: What else is known of it, in words.
    notes: Sequence[str] = ()

    @property
    def severity(self) -> float:
        """How far the clearest of its indicators is over its threshold."""
        return max((e["value"] / e["threshold"] for e in self.evidence if e["value"] is not None), default=0.0)

    @property
    def story(self) -> str:
        """The resource and what most of it went to."""
        who = self.groups[0] if self.groups else self.device
        first = self.tasks[0] if self.tasks else None
        named = ", ".join(filter(None, (who and str(who), first and str(first))))
        return f"{self.resource}: {named}" if named else self.resource


def speeds(links: list[str]) -> dict[str, float]:
    """The speed that each link says it has, KiB/s; virtual ones say nothing and are left out."""
    found = {}
    for name in links:
        try:
            with open(f"/sys/class/net/{name}/speed") as file:
                megabits = int(file.read())
        except (OSError, ValueError):
            continue
        if megabits > 0:
            found[name] = megabits * 1e6 / 8 / 1024
    return found


def judge(header: dict, means: Means, usage: Usage, seen: dict | None = None) -> list[Finding]:
    """All resources, those that are short first: memory at the head, then the clearest, effects after causes. `seen` is
    what the agent's `suspects` saw meanwhile.
    """
    seen = seen or {}
    disks, links = header["disks"], [name for name in header["links"] if name != "lo"]
    usage.take(seen)
    realtime = sum(task.amount for task in usage.realtime()) if usage.lines else None
    view = View(means.means(), max(1, header["processors"]), disks, links, speeds(links), seen, realtime)
    findings = [_finding(resource, view, usage) for resource in RESOURCES]
    # Want of memory makes drives busy; busy drives make no memory short.
    return sorted(findings, key=lambda it: (not it.short, it.resource != MEMORY, it.resource in EFFECTS, -it.severity))


def _finding(resource: Resource, view: View, usage: Usage) -> Finding:
    short = resource.short(view)
    evidence = [
        {
            "sign": indicator.name,
            "value": indicator.of(view),
            "unit": indicator.unit,
            "threshold": indicator.threshold,
            "over": over(indicator, view),
            "why": indicator.why,
        }
        for indicator in resource.indicators
    ]
    tasks = resource.users(view, usage) if short else []
    groups = [group["path"] for group in resource.groups(view)] if short else []
    return Finding(
        resource.name,
        short,
        evidence,
        tasks,
        resource.unit,
        _device(resource, view, short),
        groups,
        _notes(resource, view) if short else [],
    )


def _device(resource: Resource, view: View, short: bool) -> str | None:
    if not short:
        return None
    if resource.name == "disk":
        return view.device("disks", view.disks, "aqu-sz")
    if resource.name == "network":
        loopback = some(indicators.LOOPBACK_WAITS, indicators.LOOPBACK_KERNEL)(view)
        if held := _held(view):
            return held[0]["remote"]
        return "lo" if loopback else view.device("net", view.links, "rxkB/s", "txkB/s")
    return None


def _notes(resource: Resource, view: View) -> list[str]:
    seen = view.seen
    if resource.name == "interrupts":
        rates = {**(seen.get("softirqs") or {}), **(seen.get("interrupts") or {})}
        most = sorted(rates.items(), key=lambda it: -it[1])[:3]
        return [f"{name} {rate:,.0f} times a second" for name, rate in most]
    if resource.name == "lock":
        used = [lock for lock in seen.get("locks") or [] if lock["waiting"] >= indicators.LOCK.threshold]
        return [
            f"{it['name']} ({it['pid']}): {it['tasks']} tasks share the lock at {it['address']}, "
            f"{it['waiting']:.1f} wait on average, {it['waits_per_s']:,.0f} waits a second"
            for it in used
        ]
    if resource.name == "network":
        dropped = (seen.get("dropped") or {}).items()
        return [
            *(_said_of(one, seen["seconds"]) for one in _held(view)),
            *(f"{name} {rate:,.0f} packets dropped a second" for name, rate in dropped),
        ]
    return []


def at_full_speed(usage: Usage) -> list[Task]:
    """Tasks that use a whole processor: no shortage, but they can go no faster."""
    return [task for task in usage.alone() if task.amount >= WHOLE_PROCESSOR]
