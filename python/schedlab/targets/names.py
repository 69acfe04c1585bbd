"""The names of targets, as a user gives them: `--on sim,host,host@web1,guest:6.1,guest:6.1@2,sim:eevdf`."""

import re
from collections.abc import Collection

from schedlab.errors import UsageError, nearest
from schedlab.specification import Specification

SIM, HOST = "sim", "host"
#: The targets that one word names.
WORDS = (SIM, HOST)
#: What a guest's name begins with; the kernel follows, and @N if it has N processors that are not counted.
GUEST = "guest:"
#: And the simulator's, with a scheduler.
POLICY = "sim:"
#: And that of another host; what ssh takes follows, and :PORT if ssh's configuration does not say it.
OTHER = "host@"
#: What may follow. None of it is an option of ssh's, or means anything to a shell.
_ADDRESS = re.compile(
    r"(?:(?P<user>\w[\w.+-]*)@)?(?:(?P<host>\w[\w.-]*)|\[(?P<ipv6>[0-9A-Fa-f:.]+(?:%\w[\w.-]*)?)\])(?::(?P<port>\d{1,5}))?",
    re.ASCII,
)


def named(on: str | None, experiment: Specification) -> list[str]:
    """The names in `on`, checked, or the experiment's own machine; nothing is fetched or made."""
    names = split(on or (HOST if experiment.is_of_host else SIM))
    for name in names:
        if name.startswith(OTHER):
            destination(name)
        elif name not in WORDS and not name.startswith((GUEST, POLICY)):
            known = [*WORDS, OTHER + "NAME", GUEST + "KERNEL", POLICY + "SCHEDULER"]
            raise UsageError(f"--on {on}: {name!r} is no place to run; {nearest(name, known)}")
    if len(set(names)) < len(names):
        raise UsageError(f"--on {on}: a place is named twice")
    return names


def split(on: str, words: Collection[str] = WORDS) -> list[str]:
    """The names between the commas; what follows a guest and is no other target is a guest's kernel, too."""
    names: list[str] = []
    for part in on.split(","):
        another = bool(names) and names[-1].startswith(GUEST) and part not in words and ":" not in part
        names.append(GUEST + part if another and not part.startswith(OTHER) else part)
    return names


def kind_of(name: str) -> str:
    """`guest` of `guest:6.1`."""
    return name.partition(":")[0]


def is_simulated(name: str) -> bool:
    """Whether it is the simulator, with its own scheduler or a named one."""
    return name == SIM or name.startswith(POLICY)


def is_live(name: str) -> bool:
    """Whether it is a live host: this one, or another."""
    return name == HOST or name.startswith(OTHER)


def destination(name: str) -> tuple[str, str | None]:
    """What ssh is given of `host@NAME`: the destination, and the port if one is named."""
    found = _ADDRESS.fullmatch(name.removeprefix(OTHER))
    if not found:
        raise UsageError(
            f"{name}: is no name of a host; write host@NAME, host@USER@NAME, host@NAME:PORT, or an IPv6 address in "
            "brackets, with letters, digits and . _ - only; what else ssh needs belongs in ~/.ssh/config"
        )
    if (port := found["port"]) and not 0 < int(port) < 1 << 16:
        raise UsageError(f"{name}: {port} is no port; there are 1 to 65535")
    user = f"{found['user']}@" if found["user"] else ""
    return user + (found["host"] or found["ipv6"]), port
