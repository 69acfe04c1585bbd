"""A limit in the forms in which it is set: a control group's files, a service of systemd, and why not ulimit."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from schedlab.errors import UsageError
from schedlab.memory.history import GROUP, Group, History
from schedlab.memory.limits import Limit, suggest

#: A run may be slowed down (memory.high) this many times as often as it may be ended (memory.max).
SLOWED = 10
#: Programs and classes without memory that are named.
MOST_NAMED = 5
#: Types of units whose files set a limit of memory: the section, and names without the suffix. A slice's names the
#: slices around it, separated by dashes; `-` is the outermost.
UNITS = {
    "service": ("Service", r"[A-Za-z0-9:_.\\-][A-Za-z0-9:_.@\\-]*"),
    "slice": ("Slice", r"-|[A-Za-z0-9:_.\\]+(-[A-Za-z0-9:_.\\]+)*"),
}
#: The other types (systemd.unit(5)).
OTHERS = ("automount", "device", "mount", "path", "scope", "socket", "swap", "target", "timer")
#: Signs of a unit's name: a file's name has 255, and that of its folder of drop-ins ends with `.d`.
LONGEST_UNIT = 253


class Advice(NamedTuple):
    """A limit for runs that are counted together, and where they may be slowed down."""

    group: Group
    limit: Limit
    high: int
    #: With the newest version alone: runs of unknown version, which were left out.
    unknown: int = 0


def of(group: Group, safety: float, newest: bool = False) -> Advice | None:
    """The advice from its kept runs, or from those of its newest known version; None if they recorded no memory."""
    peaks, unknown = group.kept, 0
    if newest and (last := max(run.version for run in group.runs)):
        peaks = sorted(run.peak for run in group.runs if run.version == last)
        unknown = sum(not run.version for run in group.runs)
    if not peaks[-1]:
        return None
    limit = suggest(peaks, safety)
    return Advice(group, limit, min(suggest(peaks, min(SLOWED * safety, 0.5)).bytes, limit.bytes), unknown)


def without_memory(groups: Sequence[Group]) -> str:
    """That no memory was recorded of these, in words."""
    more = f" and {len(groups) - MOST_NAMED:,} more" if len(groups) > MOST_NAMED else ""
    return f"no memory recorded: {', '.join(group.name for group in groups[:MOST_NAMED])}{more}"


def left_out(unknown: int) -> str:
    """That runs of unknown version were left out, in words."""
    return f"{unknown:,} {'run' if unknown == 1 else 'runs'} of unknown version left out"


def in_words(advice: Advice) -> list[str]:
    """How to set it, a line each."""
    limit, group = advice.limit, advice.group
    found = [f"memory.max = {limit.bytes}", f"memory.high = {advice.high}"]
    if group.program != GROUP:
        found.append(
            "a control group is charged for page cache and kernel memory, too, and for all of its processes together: "
            f"see \"schedlab memory suggest '{GROUP}'\" for a service of several"
        )
    if group.mapped:
        found.append(
            f"ulimit -v limits mapped memory, not resident memory: up to {group.mapped / 2**20:,.1f} MiB were mapped; "
            "ulimit -m does nothing on Linux"
        )
    return found


def unit_name(unit: str) -> str:
    """The whole name of a service or slice of systemd. Raises UsageError for what is none."""
    kind = unit.rpartition(".")[2] if "." in unit else ""
    if kind in OTHERS:
        raise UsageError(f"--unit {unit!r}: limits are set in files of services and slices, not of a {kind}")
    name = unit if kind in UNITS else f"{unit}.service"
    beginning, _, kind = name.rpartition(".")
    if not re.fullmatch(UNITS[kind][1], beginning) or ".." in name:
        signs = "letters, digits and : _ . @ \\ - alone, no two dots in a row, and between a slice's dashes are names"
        raise UsageError(f"--unit {unit!r}: is no name of a unit; it has {signs}")
    if len(name) > LONGEST_UNIT:
        raise UsageError(f"--unit: a name of a unit has at most {LONGEST_UNIT} signs, and this one {len(name)}")
    return name


def of_unit(history: History, asked: str | None, unit: str) -> Group:
    """The group that a unit's limit follows from: its control group, or the program that was asked for."""
    name, found = unit_name(unit), history.groups
    if asked == GROUP:
        found = [group for group in found if group.text.endswith(f"/{name}")]
    if len(found) != 1:
        known = f"{len(found)} fit; name one program, or {GROUP} for the control group of {name}"
        raise UsageError(f"--unit {unit}: {known}")
    return found[0]


def drop_in(unit: str, advice: Advice) -> str:
    """The text of a drop-in for a unit of systemd, with its place."""
    name = unit_name(unit)
    section = UNITS[name.rpartition(".")[2]][0]
    share = f"{advice.limit.expected * 1000:.3g} of 1,000 runs expected beyond, from {advice.limit.n} runs"
    unknown = f"# {left_out(advice.unknown)}\n" if advice.unknown else ""
    return (
        f"# /etc/systemd/system/{name}.d/memory.conf\n"
        f"# schedlab memory suggest: {share} ({advice.limit.how})\n{unknown}"
        f"[{section}]\nMemoryAccounting=yes\nMemoryHigh={advice.high}\nMemoryMax={advice.limit.bytes}\n"
    )
