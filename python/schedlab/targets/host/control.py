"""What the agent says of a host: what it permits, its tunables, and settings on trial. Nothing is decided here.

`on` is this computer's `host`, or another `host@NAME`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from schedlab.errors import UsageError
from schedlab.targets.host.place import Here, Place
from schedlab.targets.names import HOST, OTHER, destination


def check(look: str = "500ms", journal: Path | None = None, on: str = HOST) -> list[dict[str, Any]]:
    """What the host permits: a line each of `what`, `answer` (yes, limited, no, unknown), `seen` and `advice`."""
    return place(on).ask(["check", "--look", look, *at(journal, on)])


def tunables(names: Sequence[str] = (), on: str = HOST) -> list[dict[str, Any]]:
    """The tunables, or those of these names (`swappiness`, `elevator@vda`), with present value, range and meaning."""
    return place(on).ask(["tunables", "--", *names])


def plan(settings: Sequence[str], on: str = HOST) -> dict[str, list[str]]:
    """The shell commands that bring settings (`NAME=VALUE`) about, `set`, and back, `back`. Writes nothing."""
    return place(on).ask(["apply", "--dry-run", "--", *settings])


def apply(
    settings: Sequence[str], confirm_within: str = "60s", journal: Path | None = None, on: str = HOST
) -> dict[str, Any]:
    """Set (`NAME=VALUE`) and take back after that time, unless confirmed; the process that holds them outlives ours."""
    return place(on).ask(["apply", "--confirm-within", confirm_within, *at(journal, on), "--", *settings])


def confirm(journal: Path | None = None, on: str = HOST) -> list[int]:
    """Make what is on trial stay. Gives the processes that held it."""
    return place(on).ask(["confirm", *at(journal, on)])["confirmed"]


def restore(dry_run: bool = False, journal: Path | None = None, on: str = HOST) -> dict[str, Any]:
    """Put back what dead runs have left changed, and end trials; with `dry_run`, only say what that would be."""
    return place(on).ask(["restore", *(["--dry-run"] if dry_run else []), *at(journal, on)])


def unit() -> str:
    """The text of a systemd unit that restores at boot."""
    return Here().ask(["unit"])["unit"]


def at(journal: Path | None, on: str) -> list[str]:
    """The agent's option for the folder of the journal."""
    if journal and on != HOST and not journal.is_absolute():
        raise UsageError(f"--journal {journal}: is a folder on {on}: give its whole path")
    return ["--journal", str(journal.absolute())] if journal else []


def place(on: str) -> Place:
    """This computer, or the other one that is named."""
    if on == HOST:
        return Here()
    if not on.startswith(OTHER):
        raise UsageError(f"--on {on}: is no host; leave it out for this one, or write host@NAME")
    destination(on)
    from schedlab.targets.host.there import there

    return there(on)
