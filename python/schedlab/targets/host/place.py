"""Where a live host is: this computer, or another that is reached by ssh (`there`). What is known and asked of it goes
through its place, so that all else is the same for both.
"""

import hashlib
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from schedlab.errors import UsageError
from schedlab.targets import agent
from schedlab.targets.names import HOST
from schedlab.targets.target import HERE

BOOT = "/proc/sys/kernel/random/boot_id"
RT_PERIOD = "/proc/sys/kernel/sched_rt_period_us"
DROP_CACHES = "/proc/sys/vm/drop_caches"


@dataclass(frozen=True)
class Facts:
    """What a host is."""

    node: str
    release: str
    version: str
    #: The kernel's name for this time of running: no two kernels that run have the same.
    boot: str
    #: The processors that may be used.
    processors: tuple[int, ...]
    #: Its loop devices, by name.
    loops: tuple[str, ...]
    #: The period of real-time tasks, us; None if its kernel does not say.
    rt_period_us: int | None
    #: Whether the kernel's caches can be dropped.
    drops_caches: bool


class Place(Protocol):
    """A host, as its target sees it."""

    #: What the user calls it, and what a sentence does.
    name: str
    title: str
    #: The file, in a folder of results, that says how much work a second is there.
    calibration: str

    @property
    def facts(self) -> Facts:
        """What it is."""

    @property
    def machine(self) -> str:
        """Whose processors its runs take; HERE if they are this computer's."""

    @property
    def agent_digest(self) -> str:
        """The SHA-256 of its agent's program."""

    def ask(self, arguments: Sequence[str], given: Any = None, stop: threading.Event | None = None) -> Any:
        """Have the agent there do this; see `agent.ask`."""

    def run(self, plan: dict, stop: threading.Event | None) -> dict:
        """Have it run a plan. Should this process be killed, it ends the run and puts everything back."""

    def scratch(self, folder: Path, wanted: Path | None) -> str:
        """A folder there for the files of tasks: the wanted one, or one of ours. `folder` is that of the results."""

    def drop_caches(self) -> None:
        """Have the kernel there forget its clean caches, after writing the changed ones back."""


class Here:
    """This computer."""

    name = HOST
    title = "the host"
    calibration = "calibration.json"
    machine = HERE

    @cached_property
    def facts(self) -> Facts:
        """What it is."""
        system = os.uname()
        return Facts(
            node=system.nodename,
            release=system.release,
            version=system.version,
            boot=boot(),
            processors=tuple(sorted(os.sched_getaffinity(0))),
            loops=tuple(sorted(path.name for path in Path("/sys/block").glob("loop*"))),
            rt_period_us=_number(RT_PERIOD),
            drops_caches=os.access(DROP_CACHES, os.W_OK),
        )

    @property
    def agent_digest(self) -> str:
        """The SHA-256 of its agent's program."""
        return hashlib.sha256(agent.program().read_bytes()).hexdigest()

    def ask(self, arguments: Sequence[str], given: Any = None, stop: threading.Event | None = None) -> Any:
        """Have the agent do this."""
        return agent.ask(arguments, given, stop)

    def run(self, plan: dict, stop: threading.Event | None) -> dict:
        """Have it run a plan."""
        return agent.ask(["run", "--parent", str(os.getpid())], plan, stop)

    def scratch(self, folder: Path, wanted: Path | None) -> str:
        """The wanted folder, or one in that of the results; made if need be."""
        found = wanted or folder / "scratch"
        found.mkdir(parents=True, exist_ok=True)
        return str(found)

    def drop_caches(self) -> None:
        """Have the kernel forget its clean caches."""
        os.sync()
        try:
            Path(DROP_CACHES).write_text("3")
        except OSError as why:
            raise UsageError(f"--drop-caches: {why.filename}: {why.strerror}; it needs root") from None


def boot() -> str:
    """The kernel's name for this time of running, here."""
    return Path(BOOT).read_text().strip()


def _number(path: str) -> int | None:
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):
        return None
