"""A limit in the forms in which it is set: a control group's files, a service of systemd, and why not ulimit."""

import re
from typing import NamedTuple

from schedlab.errors import UsageError
from schedlab.memory.history import GROUP, Group, History
from schedlab.memory.limits import Limit, suggest

#: A run may be slowed down (memory.high) this many times as often as it may be ended (memory.max).
SLOWED = 10


class Advice(NamedTuple):
    """A limit for runs that are counted together, and where they may be slowed down."""

    group: Group
    limit: Limit
    high: int


def of(group: Group, safety: float, newest: bool = False) -> Advice:
    """The advice from its kept runs, or from those of its newest version."""
    peaks = group.kept
    if newest:
        last = group.runs[-1].version
        peaks = sorted(run.peak for run in group.runs if run.version == last)
    limit = suggest(peaks, safety)
    return Advice(group, limit, min(suggest(peaks, min(SLOWED * safety, 0.5)).bytes, limit.bytes))


def in_words(advice: Advice) -> list[str]:
    """How to set it, a line each."""
    limit, group = advice.limit, advice.group
    found = [f"memory.max = {limit.bytes}", f"memory.high = {advice.high}"]
    if group.program != GROUP:
        found.append(
            "a control group is charged for page cache and kernel memory, too, and for all of its processes together: "
            f"see 'schedlab memory suggest {GROUP}' for a service of several"
        )
    if group.mapped:
        found.append(
            f"ulimit -v limits mapped memory, not resident memory: up to {group.mapped / 2**20:,.1f} MiB were mapped; "
            "ulimit -m does nothing on Linux"
        )
    return found


def unit_name(unit: str) -> str:
    """The whole name of a unit of systemd. Raises UsageError for what is none."""
    if not re.fullmatch(r"[A-Za-z0-9:_.@\\-]{1,255}", unit):
        raise UsageError(f"--unit {unit}: is no name of a unit; it has letters, digits and : _ . @ \\ - alone")
    return unit if "." in unit else f"{unit}.service"


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
    share = f"{advice.limit.expected * 1000:.3g} of 1,000 runs expected beyond, from {advice.limit.n} runs"
    return (
        f"# /etc/systemd/system/{name}.d/memory.conf\n"
        f"# schedlab memory suggest: {share} ({advice.limit.how})\n"
        f"[Service]\nMemoryAccounting=yes\nMemoryHigh={advice.high}\nMemoryMax={advice.limit.bytes}\n"
    )
