"""Which resource of a live host is short, by what signs, and who uses it up: judged from means over a while.

A resource is short if its signs say so; the thresholds stand in one table, each with its reason. Pressure (the share of
time in which tasks were held up) is asked first: it tells of tasks, where a busy device alone may be no harm. A kernel
without pressure is judged by what it has.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import UsageError
from schedlab.live import agent
from schedlab.live.watch import Means, Wish

#: Tasks that are named for a resource at most.
MOST_TASKS = 5
#: Control groups that are looked at at most.
MOST_GROUPS = 64
#: Share of its limit from which a group's memory is full: reclaim begins a little below it.
FULL = 0.95
MEMORY = "memory and paging"


@dataclass(frozen=True)
class View:
    """What a while of samples came to."""

    means: dict[str, float]
    processors: int
    disks: list[str]
    links: list[str]
    speeds: dict[str, float]

    def largest(self, section: str, names: list[str], column: str) -> float | None:
        """The largest mean of a column over devices."""
        found = [self.means.get(f"{section}.{name}.{column}") for name in names]
        return max((value for value in found if value is not None), default=None)

    def sum(self, *columns: str) -> float | None:
        """The sum of means that must all be known."""
        found = [self.means.get(column) for column in columns]
        return None if None in found else sum(found)

    def device(self, section: str, names: list[str], *columns: str) -> str | None:
        """The device that has most of the columns together."""
        return max(names, key=lambda name: self.sum(*(f"{section}.{name}.{c}" for c in columns)) or 0, default=None)


@dataclass(frozen=True)
class Sign:
    """A number and the threshold from which it says that a resource is short."""

    name: str
    unit: str
    threshold: float
    why: str
    of: Callable[[View], float | None]


def _ready(view: View) -> float | None:
    # The sampler itself is running whenever it looks.
    running = view.means.get("system.r")
    return None if running is None else max(0.0, running - 1) / view.processors


def _busy(view: View) -> float | None:
    left = view.sum("cpu.idl", "cpu.wai")
    return None if left is None else 100 - left


def _line_rate(view: View) -> float | None:
    shares = [
        100 * rate / speed
        for name, speed in view.speeds.items()
        for way in ("rx", "tx")
        if speed > 0 and (rate := view.means.get(f"net.{name}.{way}kB/s")) is not None
    ]
    return max(shares, default=None)


def _dropped(view: View) -> float | None:
    found = [view.sum(f"net.{name}.rxdrop/s", f"net.{name}.txdrop/s") for name in view.links]
    return max((value for value in found if value is not None), default=None)


CPU_HELD = Sign(
    "pressure.cpu.some",
    "%",
    20,
    "some task was ready and had no processor for a fifth of the time",
    lambda view: view.means.get("pressure.cpu.some"),
)
BUSY = Sign("processors busy", "%", 90, "less than a tenth of the processors' time is left for more work", _busy)
READY = Sign(
    "ready tasks a processor", "tasks", 3, "whoever becomes ready waits for two others' turns, or more", _ready
)
IDLE_BESIDE = Sign(
    "idle beside waiting tasks",
    "%",
    25,
    "tasks wait though a quarter of the processors is idle: they are tied to some, or held by a quota",
    lambda view: view.means.get("cpu.idl"),
)
IO_HELD = Sign(
    "pressure.io.some",
    "%",
    20,
    "some task waited for a drive for a fifth of the time",
    lambda view: view.means.get("pressure.io.some"),
)
WAITING = Sign(
    "idle, waiting for drives",
    "%",
    20,
    "a fifth of the processors' time had nothing to do but to wait for drives",
    lambda view: view.means.get("cpu.wai"),
)
QUEUE = Sign(
    "requests at the busiest drive",
    "requests",
    4,
    "more requests than a drive without parallelism can have in hand: the rest wait in its queue",
    lambda view: view.largest("disks", view.disks, "aqu-sz"),
)
MEMORY_HELD = Sign(
    "pressure.memory.some",
    "%",
    5,
    "tasks were held up for memory: reclaim, swapping in, or reading again what was evicted; a healthy host has none",
    lambda view: view.means.get("pressure.memory.some"),
)
SWAPPING = Sign(
    "swapped in and out",
    "pages/s",
    50,
    "pages move between memory and swap all the time: what is in use does not fit",
    lambda view: view.sum("paging.pswpin", "paging.pswpout"),
)
STALLS = Sign(
    "allocations that had to evict pages themselves",
    "1/s",
    10,
    "free memory is used up faster than it is found in the background",
    lambda view: view.means.get("paging.stall"),
)
LINE = Sign("busiest direction of a link", "%", 70, "of the speed that the link says it has", _line_rate)
DROPPED = Sign("packets thrown away", "1/s", 10, "a queue of the network is full", _dropped)


def over(sign: Sign, view: View) -> bool | None:
    """Whether it says that its resource is short; None if this kernel does not tell."""
    value = sign.of(view)
    return None if value is None else value >= sign.threshold


def _all(*signs: Sign) -> Callable[[View], bool]:
    """All that are known, one at least."""
    return lambda view: bool(said := [s for sign in signs if (s := over(sign, view)) is not None]) and all(said)


def _any(*signs: Sign) -> Callable[[View], bool]:
    return lambda view: any(over(sign, view) for sign in signs)


@dataclass(frozen=True)
class Resource:
    """Something that can be short."""

    name: str
    signs: tuple[Sign, ...]
    short: Callable[[View], bool]
    #: The numbers of tasks by which they are blamed for it, added up, and their unit.
    blame: tuple[str, ...]
    unit: str


def _memory(view: View) -> bool:
    return _any(MEMORY_HELD, SWAPPING, STALLS)(view)


def _disk(view: View) -> bool:
    """A long queue alone is no harm: write-back makes one, and nobody waits for it."""
    unknown = over(IO_HELD, view) is None
    return _any(IO_HELD, WAITING)(view) or (unknown and _any(QUEUE)(view))


def _run_queue(view: View) -> bool:
    """Tasks wait, and more processor time is not all that they lack: the queue is long, or others are idle."""
    held = over(CPU_HELD, view)
    return _any(READY)(view) if held is None else held and _any(READY, IDLE_BESIDE)(view)


RESOURCES = (
    Resource(MEMORY, (MEMORY_HELD, SWAPPING, STALLS), _memory, ("rss",), "KiB"),
    Resource("disk", (IO_HELD, WAITING, QUEUE), _disk, ("rkB/s", "wkB/s"), "KiB/s"),
    Resource("run queue", (CPU_HELD, READY, IDLE_BESIDE), _run_queue, ("cpu",), "% of a processor"),
    Resource("processor", (BUSY, CPU_HELD), _all(BUSY, CPU_HELD), ("cpu",), "% of a processor"),
    Resource("network", (LINE, DROPPED), _any(LINE, DROPPED), (), ""),
)


@dataclass(frozen=True)
class Task:
    """A task and how much of a resource it had."""

    pid: int
    name: str
    amount: float
    group: str | None


@dataclass(frozen=True)
class Finding:
    """A resource, whether it is short, and what that rests on."""

    resource: str
    short: bool
    evidence: list[dict]
    tasks: list[Task]
    unit: str
    device: str | None
    #: Control groups that have used up what they may have.
    groups: list[str]

    @property
    def severity(self) -> float:
        """How far the clearest of its signs is over its threshold."""
        return max((e["value"] / e["threshold"] for e in self.evidence if e["value"] is not None), default=0.0)


class Blame:
    """What each task used, over all lines."""

    def __init__(self):
        """Of no lines."""
        self._lines = 0
        self._tasks: dict[int, dict] = {}

    def add(self, line: dict) -> None:
        """One more line."""
        self._lines += 1
        for task in line["tasks"] or []:
            sums = self._tasks.setdefault(task["pid"], {"name": task["name"]})
            for column in ("cpu", "rkB/s", "wkB/s", "rss"):
                sums[column] = sums.get(column, 0.0) + (task[column] or 0.0)

    def pids(self) -> list[int]:
        """The tasks that were seen."""
        return list(self._tasks)

    def most(self, columns: Iterable[str], but: int) -> list[Task]:
        """Those that had most, the sampler left out."""
        columns = tuple(columns)
        amounts = {
            pid: sum(sums[column] for column in columns) / max(1, self._lines)
            for pid, sums in self._tasks.items()
            if pid != but
        }
        most = sorted((pid for pid in amounts if amounts[pid] > 0), key=lambda pid: -amounts[pid])[:MOST_TASKS]
        return [Task(pid, self._tasks[pid]["name"], amounts[pid], group_of(pid)) for pid in most]


def group_of(pid: int) -> str | None:
    """The control group of a task, of the controller in which it is deepest; None if it has ended or is in no group."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return None
    paths = [line.split(":", 2)[2] for line in lines if line.count(":") >= 2]
    deepest = max(paths, key=lambda path: path.count("/") if path != "/" else 0, default="/")
    return deepest if deepest != "/" else None


def full_groups(pids: Iterable[int]) -> list[str]:
    """The control groups of these tasks whose memory is at their limit: their tasks lack memory, the host may not."""
    groups = sorted({group for pid in pids if (group := group_of(pid))})[:MOST_GROUPS]
    # A group's name may have a comma; the agent would take it for the end.
    groups = [group for group in groups if "," not in group]
    found = []
    for group in groups:
        with suppress(UsageError):
            _, *lines = agent.lines(Wish(every="10ms", count=1, groups=(group,)).arguments())
            found += [entry for line in lines for entry in line["groups"]]
    return [entry["path"] for entry in found if entry["limit"] and (entry["memory"] or 0) >= FULL * entry["limit"]]


def speeds(links: list[str]) -> dict[str, float]:
    """The speed that each link says it has, KiB/s; virtual ones say nothing and are left out."""
    found = {}
    for name in links:
        try:
            megabits = int(Path(f"/sys/class/net/{name}/speed").read_text())
        except (OSError, ValueError):
            continue
        if megabits > 0:
            found[name] = megabits * 1e6 / 8 / 1024
    return found


def judge(header: dict, means: Means, blame: Blame, but: int = 0) -> list[Finding]:
    """All resources, those that are short first: memory at the head, then the clearest."""
    disks, links = header["disks"], [name for name in header["links"] if name != "lo"]
    view = View(means.means(), max(1, header["processors"]), disks, links, speeds(links))
    devices = {
        "disk": lambda: view.device("disks", disks, "aqu-sz"),
        "network": lambda: view.device("net", links, "rxkB/s", "txkB/s"),
    }
    findings = []
    for resource in RESOURCES:
        short = resource.short(view)
        evidence = [
            {
                "sign": sign.name,
                "value": sign.of(view),
                "unit": sign.unit,
                "threshold": sign.threshold,
                "over": over(sign, view),
                "why": sign.why,
            }
            for sign in resource.signs
        ]
        tasks = blame.most(resource.blame, but) if short and resource.blame else []
        device = devices[resource.name]() if short and resource.name in devices else None
        groups = full_groups(blame.pids()) if short and resource.name == MEMORY else []
        findings.append(Finding(resource.name, short, evidence, tasks, resource.unit, device, groups))
    # Want of memory makes drives busy; busy drives make no memory short.
    return sorted(findings, key=lambda found: (not found.short, found.resource != MEMORY, -found.severity))
