"""What the agent says of this host: what it permits, its tunables, and settings on trial. Nothing is decided here."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from schedlab.targets.agent import ask


def check(look: str = "500ms", journal: Path | None = None) -> list[dict[str, Any]]:
    """What the host permits: a line each of `what`, `answer` (yes, limited, no, unknown), `seen` and `advice`."""
    return ask(["check", "--look", look, *_at(journal)])


def tunables(names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The tunables, or those of these names (`swappiness`, `elevator@vda`), with present value, range and meaning."""
    return ask(["tunables", "--", *names])


def plan(settings: Sequence[str]) -> dict[str, list[str]]:
    """The shell commands that bring settings (`NAME=VALUE`) about, `set`, and back, `back`. Writes nothing."""
    return ask(["apply", "--dry-run", "--", *settings])


def apply(settings: Sequence[str], confirm_within: str = "60s", journal: Path | None = None) -> dict[str, Any]:
    """Set (`NAME=VALUE`) and take back after that time, unless confirmed; the process that holds them outlives ours."""
    return ask(["apply", "--confirm-within", confirm_within, *_at(journal), "--", *settings])


def confirm(journal: Path | None = None) -> list[int]:
    """Make what is on trial stay. Gives the processes that held it."""
    return ask(["confirm", *_at(journal)])["confirmed"]


def restore(dry_run: bool = False, journal: Path | None = None) -> dict[str, Any]:
    """Put back what dead runs have left changed, and end trials; with `dry_run`, only say what that would be."""
    return ask(["restore", *(["--dry-run"] if dry_run else []), *_at(journal)])


def unit() -> str:
    """The text of a systemd unit that restores at boot."""
    return ask(["unit"])["unit"]


def _at(journal: Path | None) -> list[str]:
    return ["--journal", str(journal.absolute())] if journal else []
