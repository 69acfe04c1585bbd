"""What the agent does with profiles: settings of a host that stay. Nothing is decided here.

A profile is named by its file, or by the name of one that is installed.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from schedlab.errors import UsageError
from schedlab.system import reading
from schedlab.system.escaped import escaped
from schedlab.targets import agent
from schedlab.targets.host.control import at, place
from schedlab.targets.names import HOST


def new(name: str, settings: Sequence[str], about: str = "", on: str = HOST) -> dict[str, Any]:
    """A profile of settings, `NAME=VALUE` or NAME for the present value: `profile` as data and `text`, its file."""
    return place(on).ask(["profile", "--about", about, "--", name, *settings])


def files(profile: str, form: str, journal: Path | None = None, on: str = HOST) -> dict[str, Any]:
    """The `files` that a profile becomes, `notes` on them, and `commands` that have the system read them."""
    return place(on).ask(["files", "--as", form, *at(journal, on)], given(profile))


def install(profile: str, form: str, journal: Path | None = None, on: str = HOST) -> dict[str, Any]:
    """Put a profile in place, at boot and now."""
    return place(on).ask(["install", "--as", form, *at(journal, on)], given(profile))


def uninstall(name: str, force: bool = False, journal: Path | None = None, on: str = HOST) -> dict[str, Any]:
    """Take a profile back; with `force`, files too that were changed since."""
    return place(on).ask(["uninstall", *(["--force"] if force else []), *at(journal, on), "--", name])


def installed(journal: Path | None = None, on: str = HOST) -> list[dict[str, Any]]:
    """The profiles that are in place."""
    return place(on).ask(["installed", *at(journal, on)])


def departures(profile: str, journal: Path | None = None, on: str = HOST) -> dict[str, Any]:
    """The `profile`, and its `settings`, each with what it is now and its `standing`."""
    return place(on).ask(["departures", *at(journal, on)], given(profile))


def watched(profile: str, every: str, lasting: str | None, journal: Path | None = None) -> Iterator[dict[str, Any]]:
    """First all settings, then a dict for each change on this host, as it comes."""
    times = ["--every", every, *(["--for", lasting] if lasting else [])]
    return agent.lines(["watch-settings", *times, *at(journal, HOST)], given(profile))


def given(profile: str) -> dict[str, str]:
    """A profile as the agent takes it. What looks like a file has to be one."""
    path = Path(profile)
    if "/" in profile or path.suffix or path.exists():
        return {"text": reading.text(path, reading.SMALL), "called": escaped(profile)}
    return {"name": profile}


def named(path: Path) -> str:
    """The name of a profile that is written to this file."""
    if path.suffix != ".toml":
        raise UsageError(f"{path}: a profile is a TOML file: call it NAME.toml")
    return path.stem
