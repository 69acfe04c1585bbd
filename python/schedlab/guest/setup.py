"""What a guest is, beside kernel, emulator and agent: modules, words of its command line, memory, and files.

A setup is derived from a cell of an experiment, so that two cells of one sweep may be of different machines; two cells
of the same setup can share one that is booted. A drive is no part of it: the agent makes it when the run begins.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

#: What a guest has where the experiment does not say, MiB.
MEMORY_MIB = 512
#: So many digits of a digest are shown.
DIGITS = 8


@dataclass(frozen=True)
class Setup:
    """All that a guest is beside kernel, emulator and agent."""

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


def of(scenario: Mapping[str, Any], tunables: Mapping[str, str]) -> Setup:
    """The setup of a cell, by its scenario and its settings of a real machine."""
    return Setup()
