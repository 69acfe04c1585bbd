"""Samples of a live host as panels for a terminal, however narrow."""

from typing import Any

from schedlab.system.escaped import escaped

#: Kinds of a processor's time in a bar, with their colours; the rest is idle.
KINDS = {
    "usr": "green",
    "nice": "blue",
    "sys": "red",
    "hiq": "magenta",
    "siq": "magenta",
    "stl": "cyan",
    "wai": "yellow",
}
#: Narrower than this, a bar has no numbers next to it.
ROOM_FOR_NUMBERS = 70


def number(value: float | None, places: int = 0) -> str:
    """A number, or a dash if the kernel does not report it."""
    return "–" if value is None else f"{value:.{places}f}"


def size(kib: float | None) -> str:
    """A size in the unit in which it is read most easily."""
    if kib is None:
        return "–"
    for unit in ("K", "M", "G"):
        if kib < 10_000 or unit == "G":
            return f"{kib:.0f}{unit}" if kib >= 10 or unit == "K" else f"{kib:.1f}{unit}"
        kib /= 1024
    raise AssertionError


def panels(header: dict, line: dict, width: int) -> Any:
    """Everything in a line: the system, nice levels, control groups and tasks."""
    from rich.console import Group

    shown = [_system(header, line, width)]
    if line["nice"] is not None:
        levels = [
            [level["nice"] if level["nice"] is not None else "realtime", *_loads(level)] for level in line["nice"]
        ]
        shown.append(_panel("nice levels", ["nice", "load1", "load5", "load15", "present", "tasks"], levels))
    if line["groups"]:
        shown.append(_groups(line["groups"]))
    if line["tasks"] is not None:
        shown.append(_tasks(line["tasks"]))
    return Group(*shown)


def _panel(title: str, header: list[str], rows: list[list], text: int = 1) -> Any:
    """A table in a frame; all columns but the first `text` ones are numbers."""
    from rich import box
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, expand=False, pad_edge=False, header_style="bold")
    for index, name in enumerate(header):
        table.add_column(Text(name), justify="left" if index < text else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(escaped(str(cell))) for cell in row))
    return Panel(table, title=title, title_align="left", box=box.ROUNDED)


def _bar(name: str, shares: dict, width: int) -> Any:
    from rich.text import Text

    room = max(8, min(50, width - (56 if width >= ROOM_FOR_NUMBERS else 14)))
    text = Text(f"{name:5} ", no_wrap=True, overflow="crop")
    used, drawn = 0.0, 0
    for kind, colour in KINDS.items():
        used += shares[kind] or 0.0
        upto = round(room * min(used, 100.0) / 100)
        text.append("█" * (upto - drawn), style=colour)
        drawn = upto
    text.append("░" * (room - drawn), style="dim")
    if width >= ROOM_FOR_NUMBERS:
        for kind in ("usr", "nice", "sys", "wai", "siq", "stl"):
            text.append(f" {kind} ", style="dim")
            text.append(number(shares[kind]).rjust(3))
    return text


def _pairs(pairs: dict[str, str]) -> Any:
    from rich.text import Text

    text = Text(overflow="fold")
    for name, value in pairs.items():
        text.append(f"{name} ", style="dim")
        text.append(f"{escaped(value)}  ")
    return text


def _system(header: dict, line: dict, width: int) -> Any:
    from rich import box
    from rich.console import Group
    from rich.panel import Panel

    system, load, memory, paging = line["system"], line["load"], line["memory"], line["paging"]
    bars = [_bar("all", line["cpu"], width)]
    if 1 < len(line["cpus"]) <= 16:
        bars += [_bar(f"cpu{place}", shares, width) for place, shares in enumerate(line["cpus"])]
    counts = {name: number(system[name]) for name in ("r", "b", "csw", "int", "fork")}
    loads = {"load": " ".join(number(load[name], 2) for name in ("load1", "load5", "load15"))}
    kept = {name: size(memory[name]) for name in ("total", "used", "buff", "cach", "free", "dirty")}
    swap = {"swap": f"{size(memory['swap_used'])} of {size(memory['swap_total'])}"}
    moved = {name: number(paging[name]) for name in ("pgpgin", "pgpgout", "pswpin", "pswpout", "minflt", "majflt")}
    held = {
        f"pressure {name}": f"{number(part['some'], 1)}/{number(part['full'], 1)}"
        for name, part in line["pressure"].items()
    }
    cost = {"sample": f"{line['own_ns'] / 1e6:.2f} ms", "missed": str(line["missed"])}
    rows = [*bars, _pairs(counts | loads), _pairs(kept | swap), _pairs(moved), _pairs(held), _pairs(cost)]
    tables = [*_disks(line["disks"]), *_net(line["net"], line["tcp"])]
    title = f"system, {header['kernel'] or 'unknown kernel'}"
    return Group(Panel(Group(*rows), title=title, title_align="left", box=box.ROUNDED), *tables)


def _disks(disks: list[dict]) -> list:
    shown = ("r/s", "w/s", "rkB/s", "wkB/s", "await", "aqu-sz", "busy")
    rows = [[disk["name"], *(number(disk[name], int(name in ("await", "aqu-sz"))) for name in shown)] for disk in disks]
    return [_panel("disks", ["disk", *shown], rows)] if rows else []


def _net(links: list[dict], tcp: dict) -> list:
    shown = ("rxkB/s", "txkB/s", "rxpck/s", "txpck/s")
    rows = [[link["name"], *(number(link[name]) for name in shown)] for link in links if link["name"] != "lo"]
    counted = ("estab", "active/s", "passive/s", "iseg/s", "oseg/s", "retrans/s", "timeout/s", "lisdrop/s")
    protocol = _panel("TCP", list(counted), [[number(tcp[name]) for name in counted]])
    return [*([_panel("network", ["link", *shown], rows)] if rows else []), protocol]


def _loads(level: dict) -> list[str]:
    averages = [number(level[name], 2) for name in ("load1", "load5", "load15")]
    return [*averages, number(level["present"]), number(level["tasks"])]


def _groups(groups: list[dict]) -> Any:
    rows = [
        [
            group["path"],
            number(group["cpu"], 1),
            number(group["throttled_time"], 1),
            size(group["memory"]),
            size(group["limit"]),
            number(group["majflt"]),
            *(number(group[name], 1) for name in ("cpu_some", "memory_some", "io_some")),
        ]
        for group in groups
    ]
    header = ["group", "cpu%", "held back%", "memory", "limit", "majflt", "pcpu", "pmem", "pio"]
    return _panel("control groups", header, rows)


def _tasks(tasks: list[dict]) -> Any:
    rows = [
        [
            task["pid"],
            task["name"],
            task["policy"] or "–",
            number(task["nice"]),
            task["state"],
            *(number(task[name], 1) for name in ("cpu", "usr", "sys")),
            *(number(task[name]) for name in ("nvcsw", "nivcsw", "majflt")),
            size(task["rss"]),
            *(number(task[name]) for name in ("rkB/s", "wkB/s")),
        ]
        for task in tasks
    ]
    header = [
        "pid",
        "task",
        "policy",
        "nice",
        "s",
        "cpu%",
        "usr%",
        "sys%",
        "vcsw",
        "icsw",
        "majflt",
        "rss",
        "rkB/s",
        "wkB/s",
    ]
    return _panel("tasks", header, rows, text=3)
