"""What happened in a recording, as tables and sentences: what was lost first."""

from collections.abc import Iterable, Sequence
from typing import Any

from schedlab.tables import Cell, Column, Table
from schedlab.units import counted, digits

#: Losses that are named one by one.
LOSSES = 5
#: A turn that the end cuts off is named from this share of the recording on.
CUT_OFF = 0.01
#: Tasks with such turns that are named one by one.
NAMED = 5
#: Causes of sleep as people read them.
CAUSES = {
    "task": "another task",
    "lock": "lock",
    "message": "message",
    "timer": "timer",
    "disk": "disk",
    "network": "network",
    "softirq": "software interrupt",
    "interrupt": "interrupt",
    "stopped": "stopped",
    "unknown": "unknown",
}
#: Kinds of requests to a drive, and what is said of their times.
KINDS = ("read", "write", "other")
SERVICE = ("mean", "p50", "p99", "max")
#: The priority of nice 0; those of real-time tasks are below the first nice level.
NICE_0, REAL_TIME = 120, 100


def head(path: object, found: dict[str, Any]) -> str:
    """What the recording is, in a line."""
    file = found["head"]
    kernel = f", Linux {file['release']}" if file["release"] else ""
    processors, drives = len(found["processors"]), len(found["drives"])
    of = counted(processors, "processor") if processors else counted(drives, "drive")
    return f"{path}: {file['format']}{kernel}, {found['span_s']:.6f} s, {of}, {found['events']:,} events"


def losses(found: dict[str, Any]) -> list[str]:
    """What was lost, when and where."""
    lost = found["losses"]
    said = []
    for one in lost[:LOSSES]:
        events = counted(one["events"], "event") if one["events"] else "events"
        at = "" if one["at_s"] is None else f" at {one['at_s']:.6f} s"
        cpu = "" if one["cpu"] is None else f" on processor {one['cpu']}"
        said.append(f"lost: {events}{at}{cpu}: {one['why']}")
    if len(lost) > LOSSES:
        said.append(f"lost: {len(lost) - LOSSES} more times; --json names all")
    if len(said) > 1:
        said.append(f"lost: {found['lost']:,} events in all; waits that span a loss are wrong")
    return said


def _number(value: float | None, places: int) -> Cell:
    return Cell("-", (None,)) if value is None else Cell(f"{value:.{places}f}", (value,))


def _name(row: dict[str, Any]) -> list[Cell]:
    pid = row["pid"]
    tasks = row.get("tasks", 1)
    return [Cell(row["comm"]), Cell(str(pid) if pid is not None else f"({counted(tasks, 'task')})", (pid,))]


def tasks(rows: Sequence[dict[str, Any]], title: str) -> Table:
    """Run time and switches."""
    columns = [
        Column("task", key=True),
        Column("pid", key=True, numeric=True),
        Column("run", "s", numeric=True),
        Column("share", "%", numeric=True),
        Column("switches", "1/s", numeric=True),
        Column("preempted", "1/s", numeric=True),
        Column("longest run", "us", numeric=True),
        Column("migrations", numeric=True),
    ]
    return Table(columns, [_task(row) for row in rows], title)


def _task(row: dict[str, Any]) -> list[Cell]:
    return [
        *_name(row),
        _number(row["run_s"], 6),
        _number(row["share_pct"], 2),
        _number(row["switches_per_s"], 1),
        _number(row["preempted_per_s"], 1),
        _number(row["run_length_us"]["max"], 1),
        Cell(f"{row['migrations']}", (row["migrations"],)),
    ]


def sleeps(rows: Sequence[dict[str, Any]]) -> Table:
    """Sleeps with what ended them, and waits after preemption."""
    columns = [
        Column("task", key=True),
        Column("pid", key=True, numeric=True),
        Column("blocked", "s", numeric=True),
        Column("woken by", prose=True),
        Column("waits after preemption", "s", numeric=True),
        Column("longest", "us", numeric=True),
    ]
    return Table(columns, [_sleep(row) for row in rows], "blocked, and waiting after preemption")


def _sleep(row: dict[str, Any]) -> list[Cell]:
    return [
        *_name(row),
        _number(row["blocked_s"], 6),
        Cell(causes(row["blocked_by_s"])),
        _number(row["preempt_wait_s"], 6),
        _number(row["preempt_wait_us"]["max"], 1),
    ]


def everything(rows: Sequence[dict[str, Any]]) -> Table:
    """All numbers of each task, for other programs."""
    plain = [name for name, value in rows[0].items() if not isinstance(value, dict | list)] if rows else []
    spreads = [name for name, value in rows[0].items() if name.endswith("_us")] if rows else []
    statistics = [(spread, name) for spread in spreads for name in rows[0][spread]]
    columns = [Column(name) for name in [*plain, *(f"{spread}.{name}" for spread, name in statistics)]]
    cells = [
        [
            *(Cell(str(row[name]), (row[name],)) for name in plain),
            *(Cell(str(row[spread][name]), (row[spread][name],)) for spread, name in statistics),
        ]
        for row in rows
    ]
    return Table(columns, cells)


def causes(by: dict[str, float]) -> str:
    """What ended sleeps, by their share of the time asleep; those of less than a hundredth are left out."""
    total = sum(by.values())
    parts = sorted(((time / total, cause) for cause, time in by.items() if time), reverse=True)
    return ", ".join(f"{CAUSES[cause]} {share:.0%}" for share, cause in parts if share >= 0.01)


def waits(rows: Sequence[dict[str, Any]]) -> Table:
    """From wakings to the processor."""
    columns = [
        Column("task", key=True),
        Column("pid", key=True, numeric=True),
        Column("wakeups", numeric=True),
        *(Column(name, "us", numeric=True) for name in ("mean", "p50", "p90", "p99", "max")),
        Column("max at", "s", numeric=True),
    ]
    return Table(columns, [_wait(row) for row in rows], "wakeup latency")


def _wait(row: dict[str, Any]) -> list[Cell]:
    latency, wakeups = row["wakeup_us"], row["wakeups"]
    return [
        *_name(row),
        Cell("-" if wakeups is None else str(wakeups), (wakeups,)),
        *(_number(latency[name], 1) for name in ("mean", "p50", "p90", "p99", "max")),
        _number(latency["max_at_s"], 6),
    ]


def processors(found: dict[str, Any]) -> Table:
    """Utilisation, runqueues and wasted time."""
    columns = [
        Column("processor", key=True, numeric=True),
        Column("utilization", "%", numeric=True),
        Column("switches", numeric=True),
        Column("runqueue: mean", numeric=True),
        Column("max", numeric=True),
        Column("idle", "s", numeric=True),
        Column("of it wasted", "s", numeric=True),
    ]
    rows = [
        [
            Cell(str(one["cpu"]), (one["cpu"],)),
            _number(one["utilization_pct"], 2),
            Cell(str(one["switches"]), (one["switches"],)),
            _number(one["run_queue"]["mean"], 3),
            Cell(str(one["run_queue"]["max"]), (one["run_queue"]["max"],)),
            _number(one["idle_s"], 6),
            _number(one["wasted_s"], 6),
        ]
        for one in found["processors"]
    ]
    return Table(columns, rows, "processors; wasted: idle while a task waited for another processor")


def drives(found: dict[str, Any]) -> Table:
    """Requests to drives, a row for each kind that a drive had."""
    columns = [
        Column("drive", key=True),
        Column("kind", key=True),
        Column("requests", "1/s", numeric=True),
        Column("bytes", "MB/s", numeric=True),
        *(Column(name, "us", numeric=True) for name in SERVICE),
        Column("busy", "%", numeric=True),
        Column("in flight", numeric=True),
        Column("sequential", "%", numeric=True),
    ]
    rows = [_requests(one, kind, found["span_s"]) for one in found["drives"] for kind in KINDS if one[kind]["requests"]]
    return Table(columns, rows, "drives; times from issue to completion; sequential: begins where the one before ends")


def _requests(one: dict[str, Any], kind: str, span: float) -> list[Cell]:
    of = one[kind]
    return [
        Cell(one["drive"]),
        Cell(kind),
        _number(of["requests"] / span, 1) if span else _number(None, 1),
        _number(of["bytes"] / span / 1e6, 3) if span else _number(None, 3),
        *(_number(of["service_us"][name], 1) for name in SERVICE),
        _number(one["busy_pct"], 2),
        _number(one["in_flight"], 3),
        _number(one["sequential_pct"], 1),
    ]


def worst(found: dict[str, Any]) -> Table:
    """The longest waits, with what ran meanwhile and why."""
    columns = [
        Column("wait", "us", numeric=True),
        Column("until", "s", numeric=True),
        Column("task", prose=True),
        Column("ran meanwhile", prose=True),
    ]
    rows = [
        [
            _number(one["wait_us"], 1),
            _number(one["to_s"], 6),
            Cell(f"{one['comm']}:{one['pid']}{_priority(one)}, {why(one)}, on processor {one['cpu']}"),
            Cell(meanwhile(one)),
        ]
        for one in found["worst_waits"]
    ]
    return Table(columns, rows, "the worst waits")


def _priority(one: dict[str, Any]) -> str:
    """A priority that is not the ordinary one, in words."""
    priority = one["priority"]
    if priority is None or priority == NICE_0:
        return ""
    return f" (nice {priority - NICE_0})" if priority >= REAL_TIME else f" (real-time {REAL_TIME - 1 - priority})"


def why(one: dict[str, Any]) -> str:
    """Why a task came to wait."""
    by = one["by"]
    named = f"{by['comm']}:{by['pid']}{_priority(by)}" if by else ""
    match one["after"]:
        case "wakeup":
            return f"woken by {_through(named, one['cause'])}"
        case "preempted":
            return f"preempted by {named or 'a task'}"
    return "new"


def meanwhile(one: dict[str, Any]) -> str:
    """What had the processor during a wait."""
    parts = [f"{it['comm']}:{it['pid']}{_priority(it)} {digits(it['us'])} us" for it in one["ran"]]
    parts += [f"{what} {digits(us)} us" for what, us in (("others", one["others_us"]), ("idle", one["idle_us"])) if us]
    if one["idle_elsewhere_us"]:
        parts.append(f"other processors were idle for {digits(one['idle_elsewhere_us'])} us")
    if one["cut"]:
        parts.append("what else ran is not known")
    return ", ".join(parts)


def wakers(found: dict[str, Any], most: int) -> Table:
    """Who wakes whom, by how often."""
    columns = [
        Column("waker", key=True),
        Column("woken", key=True),
        Column("wakeups", numeric=True),
        Column("slept before", "s", numeric=True),
        Column("mean wait after", "us", numeric=True),
        Column("longest", "us", numeric=True),
    ]
    rows = [
        [
            Cell(_through(_neighbour(one["waker"]), one["cause"])),
            Cell(_neighbour(one["woken"]) or "several"),
            Cell(str(one["wakeups"]), (one["wakeups"],)),
            _number(one["blocked_s"], 6),
            _number(one["wakeup_wait_s"] / one["wakeups"] * 1e6, 1),
            _number(one["longest_us"], 1),
        ]
        for one in found["wakers"][:most]
    ]
    return Table(columns, rows, "who wakes whom")


def _through(waker: str, cause: str) -> str:
    """Who woke, and by what if that is known; what woke if no task did."""
    if not waker:
        return CAUSES[cause]
    return waker if cause == "task" else f"{waker} ({CAUSES[cause]})"


def _neighbour(task: dict[str, Any] | None) -> str:
    return f"{task['comm']}:{task['pid']}" if task else ""


def notes(found: dict[str, Any], shown: int) -> Iterable[str]:
    """What is left out, and what may mislead."""
    left = len(found["tasks"]) - shown
    if left > 0:
        yield f"{counted(left, 'task')} with less run time: --top shows more, --json all"
    yield from (f"warning: {said}" for said in found["warnings"])
    running = [row for row in found["tasks"] if row["cut_run_s"] >= CUT_OFF * found["span_s"]]
    if running:
        named = [f"{row['comm']} {digits(row['cut_run_s'], 3)} s" for row in running[:NAMED]]
        more = [f"{len(running) - NAMED} more"] if len(running) > NAMED else []
        yield f"run time and share lack turns that had not ended at the end: {', '.join(named + more)}"
    for one in found["drives"]:
        ends = (
            ("completed: they are in no time", one["without_issue"]),
            ("issued: they are in flight up to the end, or to where events were lost", one["without_completion"]),
        )
        for end, count in ends:
            if count:
                yield f"drive {one['drive']}: of {counted(count, 'request')} it is only known when they were {end}"
    ignored = found["head"]["ignored"]
    if ignored:
        yield f"events that nothing is made of: {', '.join(ignored)}"
