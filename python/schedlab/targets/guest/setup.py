"""What a guest is, besides kernel, emulator and agent: modules, words of its command line, memory, and files.

A setup is derived from a cell of an experiment, so that two cells of one sweep may be of different machines; two cells
of the same setup can share one that is booted. A drive is no part of it: the agent makes it when the run begins.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from schedlab import units
from schedlab.errors import UsageError
from schedlab.specification import plain
from schedlab.targets.guest import filesystem
from schedlab.targets.guest.volume import BLANK, Volume
from schedlab.targets.linux import KERNEL_WORDS

#: What a guest has where the experiment does not say, MiB.
MEMORY_MIB = 512
#: The least in which a kernel of today and the agent come up, and the most that is asked of the host, MiB.
LEAST_MIB, MOST_MIB = 128, 8192
WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,:=/+@-]*")
#: Words that are ours: without them, a guest could not report.
OURS = ("console", "panic", "init", "rdinit", "initrd", "root")
#: Digits of a digest that are shown.
DIGITS = 8


@dataclass(frozen=True)
class Setup:
    """All that a guest is besides kernel, emulator and agent."""

    #: Loaded before anything else, by name with their parameters; what they need comes by itself.
    modules: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: Of the kernel's command line, behind our own.
    words: tuple[str, ...] = ()
    memory_mib: int = MEMORY_MIB
    #: More files of its initial file system, by their paths without a leading slash.
    extra: Mapping[str, bytes] = field(default_factory=dict, hash=False)

    @property
    def digest(self) -> str:
        """Names its contents: two setups have the same one if they are equal."""
        about = asdict(self) | {"extra": {path: hashlib.sha256(file).hexdigest() for path, file in self.extra.items()}}
        # The order of modules is the order in which they are loaded.
        about |= {"modules": list(self.modules.items())}
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()

    @property
    def spelled(self) -> str:
        """For people, and for what decides results; nothing, if it is the usual one."""
        return "" if self == Setup() else f" setup+{self.digest[:DIGITS]}"


def of(scenario: Mapping[str, Any], tunables: Mapping[str, str], drive: Volume | None) -> Setup:
    """The setup of a cell, by its scenario, its settings of a real machine, and its drive."""
    memory = _memory(scenario["machine"])
    words = _words(tunables.get(KERNEL_WORDS, ""))
    if drive is None:
        return Setup(words=words, memory_mib=memory)
    pieces = {f"{BLANK.strip('/')}/{name}": piece for name, piece in filesystem.pieces(drive.size).items()}
    # What the drive holds is in the guest's memory, too, and is no part of what the experiment gives it.
    return Setup(drive.modules(tunables), words, memory + drive.used_mib, pieces)


def _memory(machine: Mapping[str, Any]) -> int:
    """What the machine has, MiB."""
    size = plain(machine["memory"].get("size"))
    if size is None:
        return MEMORY_MIB
    mib = units.size(size) >> 20
    if not LEAST_MIB <= mib <= MOST_MIB:
        raise UsageError(
            f"machine.memory.size: {size} is not from {LEAST_MIB}MiB to {MOST_MIB}MiB, which a guest's kernel needs; "
            "limit programs with groups.NAME.memory instead"
        )
    return mib


def _words(text: str) -> tuple[str, ...]:
    """The words, checked."""
    words = tuple(text.split())
    for word in words:
        name = word.partition("=")[0]
        if not WORD.fullmatch(word):
            raise UsageError(
                f"tunables.{KERNEL_WORDS}: {word!r} is no word of a kernel's command line, as preempt=full is"
            )
        if name in OURS:
            raise UsageError(
                f"tunables.{KERNEL_WORDS}: {name!r} is set by schedlab: without it nothing is heard of a guest"
            )
    return words
