"""The names of targets, as a user gives them: `--on sim,host,guest:6.1,guest:6.1@2,sim:eevdf`."""

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


def named(on: str | None, experiment: Specification) -> list[str]:
    """The names in `on`, checked, or the experiment's own machine; nothing is fetched or made."""
    names = split(on or (HOST if experiment.is_of_host else SIM))
    for name in names:
        if name not in WORDS and not name.startswith((GUEST, POLICY)):
            known = [*WORDS, GUEST + "KERNEL", POLICY + "SCHEDULER"]
            raise UsageError(f"--on {on}: {name!r} is no place to run; {nearest(name, known)}")
    if len(set(names)) < len(names):
        raise UsageError(f"--on {on}: a place is named twice")
    return names


def split(on: str, words: Collection[str] = WORDS) -> list[str]:
    """The names between the commas; what follows a guest and is no other target is a guest's kernel, too."""
    names: list[str] = []
    for part in on.split(","):
        another = bool(names) and names[-1].startswith(GUEST) and part not in words and ":" not in part
        names.append(GUEST + part if another else part)
    return names


def kind_of(name: str) -> str:
    """`guest` of `guest:6.1`."""
    return name.partition(":")[0]


def is_simulated(name: str) -> bool:
    """Whether it is the simulator, with its own scheduler or a named one."""
    return name == SIM or name.startswith(POLICY)
