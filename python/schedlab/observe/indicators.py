"""The indicators by which a resource is found short: a number, the threshold from which it says so, and why that one.

All thresholds are defined here, each with its reason. Pressure (the share of time in which tasks were held
up) is asked first: it reports tasks, where a busy device alone may be no harm. A kernel without pressure is judged by
what it has.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from schedlab.system.record import Record


class View(Record):
    """What a while of samples came to."""

    means: dict[str, float]
    processors: int
    disks: list[str]
    links: list[str]
    speeds: dict[str, float]
    #: What the agent's `suspects` saw.
    seen: Mapping = MappingProxyType({})
    #: Share of a processor that real-time tasks used, percent; none where tasks were not looked at.
    realtime: float | None = None

    @property
    def groups(self) -> list[dict]:
        """Control groups whose counters say something."""
        return self.seen.get("groups") or []

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


class Indicator(Record):
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
    """Of the time that this machine had: what the hypervisor took is no part of it."""
    left = view.sum("cpu.idl", "cpu.wai")
    had = 100 - (view.means.get("cpu.stl") or 0.0)
    return None if left is None or had <= 0 else max(0.0, 100 * (1 - left / had))


def _interrupts(view: View) -> float | None:
    """Of the processor that has most of them."""
    each = [view.sum(f"cpu{number}.hiq", f"cpu{number}.siq") for number in range(view.processors)]
    return max((share for share in each if share is not None), default=view.sum("cpu.hiq", "cpu.siq"))


def _interrupt_rate(view: View) -> float | None:
    rate = view.means.get("system.int")
    return None if rate is None else rate / view.processors


def _forks(view: View) -> float | None:
    rate = view.means.get("system.fork")
    return None if rate is None else rate / view.processors


def _worst(view: View, of: Callable[[dict], float | None]) -> float | None:
    """Of all control groups; 0 where there are none that say something."""
    if "groups" not in view.seen:
        return None
    return max((value for group in view.groups if (value := of(group)) is not None), default=0.0)


def throttled(group: dict) -> float | None:
    """The share of its periods in which a group's quota was used up."""
    return group["throttled_percent"]


def thrashing(group: dict) -> float | None:
    """Failed charges a second, of a group that reads again what it had to give up, or whose tasks are held up. One that
    merely streams through a full cache misses nothing.
    """
    failed, refaults = group["failed_per_s"], group["refaults_per_s"]
    misses = refaults is None or refaults >= REFAULTS or (group["major_faults_per_s"] or 0) >= MAJOR_FAULTS
    return failed if failed is not None and (misses or group["oom_kills"] or (group_held(group) or 0) >= 10) else 0.0


def group_held(group: dict) -> float | None:
    """The share of time in which tasks of a group were held up for memory."""
    return group["pressure"][1]


def _lock(view: View) -> float | None:
    locks = view.seen.get("locks")
    return None if locks is None else max((lock["waiting"] for lock in locks), default=0.0)


def _loopback_traffic(view: View) -> bool:
    kib, packets = view.means.get("net.lo.rxkB/s") or 0.0, view.means.get("net.lo.rxpck/s") or 0.0
    return kib >= LOOPBACK_KIB or packets >= LOOPBACK_PACKETS


def _loopback_waits(view: View) -> float | None:
    if view.seen.get("sockets") is None:
        return None
    return (
        max((owner["waiting_percent"] for owner in view.seen["sockets"]), default=0) if _loopback_traffic(view) else 0.0
    )


def _loopback_kernel(view: View) -> float | None:
    kernel = view.sum("cpu.sys", "cpu.siq")
    return kernel if kernel is None or _loopback_traffic(view) else 0.0


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
    found += (view.seen.get("dropped") or {}).values()
    return max((value for value in found if value is not None), default=None)


def _sent_again(view: View) -> float | None:
    """Of the segments sent; 0 where hardly any are."""
    again, sent = view.means.get("tcp.retrans/s"), view.means.get("tcp.oseg/s")
    if again is None or sent is None:
        return None
    return 100 * again / (sent + again) if sent + again >= SEGMENTS else 0.0


def _held(column: str) -> Callable[[View], float | None]:
    """Of the connection with another host that is held up most."""

    def of(view: View) -> float | None:
        found = view.seen.get("connections")
        return None if found is None else max((one[column] for one in found), default=0.0)

    return of


#: Segments a second from which their losses say something.
SEGMENTS = 20
#: Pages read again a second, and faults that wait for a drive, from which a group at its limit misses what it gave up.
REFAULTS, MAJOR_FAULTS = 50, 20
#: Traffic of the loopback from which it can be what a host is busy with: a tenth of a processor's work, or more.
LOOPBACK_KIB, LOOPBACK_PACKETS = 100 * 1024, 20_000


CPU_HELD = Indicator(
    "pressure.cpu.some",
    "%",
    20,
    "some task was ready and had no processor for a fifth of the time",
    lambda view: view.means.get("pressure.cpu.some"),
)
BUSY = Indicator("processors busy", "%", 90, "less than a tenth of the processors' time is left for more work", _busy)
READY = Indicator(
    "ready tasks a processor",
    "tasks",
    3,
    "a task that becomes ready waits for the slices of two others, or more",
    _ready,
)
IDLE_MARGIN = Indicator(
    "idle while tasks wait",
    "%",
    25,
    "tasks wait though a quarter of the processors is idle: they are tied to some, or held by a quota",
    lambda view: view.means.get("cpu.idl"),
)
IO_HELD = Indicator(
    "pressure.io.some",
    "%",
    20,
    "some task waited for a drive for a fifth of the time",
    lambda view: view.means.get("pressure.io.some"),
)
WAITING = Indicator(
    "idle, waiting for drives",
    "%",
    20,
    "a fifth of the processors' time had nothing to do but to wait for drives",
    lambda view: view.means.get("cpu.wai"),
)
QUEUE = Indicator(
    "requests at the busiest drive",
    "requests",
    4,
    "more requests than a drive without parallelism can have in hand: the rest wait in its queue",
    lambda view: view.largest("disks", view.disks, "aqu-sz"),
)
MEMORY_HELD = Indicator(
    "pressure.memory.some",
    "%",
    5,
    "tasks were held up for memory: reclaim, swapping in, or reading again what was evicted; a healthy host has none",
    lambda view: view.means.get("pressure.memory.some"),
)
SWAPPING = Indicator(
    "swapped in and out",
    "pages/s",
    50,
    "pages move between memory and swap all the time: what is in use does not fit",
    lambda view: view.sum("paging.pswpin", "paging.pswpout"),
)
STALLS = Indicator(
    "direct reclaim",
    "1/s",
    10,
    "free memory is used up faster than it is found in the background",
    lambda view: view.means.get("paging.stall"),
)
LINE = Indicator("busiest direction of a link", "%", 70, "of the speed that the link says it has", _line_rate)
SENT_AGAIN = Indicator(
    "segments of TCP sent again",
    "%",
    2,
    "each loss halves what a connection sends: at 2 % it has some 8 segments in flight (Mathis, 1997)",
    _sent_again,
)
AWAITED = Indicator(
    "a remote end is awaited",
    "% of looks",
    50,
    "a task sleeps half of the time in a call on a connection whose other end it has asked",
    _held("awaited_percent"),
)
PATH = Indicator(
    "data is on the way to a remote end",
    "% of the time",
    80,
    "of one connection data was in flight nearly always, and the receiver had room: the way there sets the pace",
    _held("path_percent"),
)
RECEIVER = Indicator(
    "a remote end has no room for more",
    "% of the time",
    30,
    "of one connection the receiver's window was full for a third of the time: it does not read fast enough",
    _held("receiver_percent"),
)
DROPPED = Indicator("packets dropped", "1/s", 10, "a queue of the network is full", _dropped)


STEAL = Indicator(
    "taken by the hypervisor",
    "%",
    10,
    "a tenth of the processors' time went to other machines; no setting of this one brings it back",
    lambda view: view.means.get("cpu.stl"),
)
INTERRUPTS = Indicator(
    "interrupts and softirqs on the busiest processor",
    "%",
    30,
    "a third of a processor goes to interrupts, before any task gets it",
    _interrupts,
)
INTERRUPT_RATE = Indicator(
    "interrupts a processor",
    "1/s",
    20_000,
    "an interrupt takes one to five microseconds with what it disturbs: up to a tenth of each processor",
    _interrupt_rate,
)
REALTIME = Indicator(
    "real-time tasks",
    "% of a processor",
    50,
    "ordinary tasks on that processor get only what real-time tasks leave",
    lambda view: view.realtime,
)
FORKS = Indicator(
    "tasks begun a processor",
    "1/s",
    150,
    "to begin and end a process takes some 0.5 ms or more: a tenth of each processor",
    _forks,
)
THROTTLED = Indicator(
    "throttled periods of the worst group",
    "%",
    25,
    "in a quarter of its periods a control group had used up its processor quota, and its tasks stood still",
    lambda view: _worst(view, throttled),
)
CHARGES = Indicator(
    "failed charges of the worst group",
    "1/s",
    10,
    "a control group is at its memory limit and misses the pages that it had to give up",
    lambda view: _worst(view, thrashing),
)
GROUP_HELD = Indicator(
    "pressure.memory.some of the worst group",
    "%",
    10,
    "tasks of a control group were held up for memory for a tenth of the time",
    lambda view: _worst(view, group_held),
)
LOCK = Indicator(
    "tasks waiting for one lock",
    "tasks",
    0.5,
    "on average half a task or more waits for a futex that its own process's tasks hold",
    _lock,
)
LOOPBACK_WAITS = Indicator(
    "data waits in sockets of the loopback",
    "% of looks",
    50,
    "more than 100 MiB/s or 20,000 packets/s, and a reader that does not keep up with its writer",
    _loopback_waits,
)
LOOPBACK_KERNEL = Indicator(
    "in the kernel while the loopback is busy",
    "%",
    25,
    "the loopback has no line: its limit is the copying, which takes a quarter of all processors",
    _loopback_kernel,
)


def over(indicator: Indicator, view: View) -> bool | None:
    """Whether its resource is short; None if this kernel does not report it."""
    value = indicator.of(view)
    return None if value is None else value >= indicator.threshold


def some(*indicators: Indicator) -> Callable[[View], bool]:
    """One is over."""
    return lambda view: any(over(indicator, view) for indicator in indicators)
