"""The places that a user can name: `--on sim,host,guest:6.1,guest:6.1@2,sim:eevdf`."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from schedlab.errors import UsageError, nearest
from schedlab.system.escaped import escaped

if TYPE_CHECKING:
    from schedlab.experiment import Experiment
    from schedlab.run.runner import Place
    from schedlab.targets.host.target import Conditions

#: What a guest's name begins with; the kernel follows, and @N if it has N processors that are not counted.
GUEST = "guest:"
#: And the simulator's, with a scheduler.
POLICY = "sim:"
#: Tunables that decide what a guest is before its kernel starts: words of the command line, and the time that its drive
#: takes for a request. No running kernel has them.
KERNEL_WORDS, REQUEST_TIME = "kernel_words", "request_time"


def places(
    on: str | None,
    experiment: "Experiment",
    threads: int | None,
    conditions: "Conditions",
    blind: Path | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> "list[Place]":
    """The places that `on` names, separated by commas; where the experiment's machine is, if it names none.

    With `blind`, the folder of results, the host's settings are hidden under letters. `tell` hears what is seen before
    the first run.
    """
    from schedlab.targets.host.blinded import Blind
    from schedlab.targets.host.target import LiveHost

    names = named(on, experiment)
    processors = _of_guests(names, experiment)

    def place(name: str) -> "Place":
        if name == "host":
            return LiveHost(conditions, tell=tell)
        if name.startswith(GUEST):
            return _guest(name, experiment, conditions)
        return _simulator(name, experiment, threads or os.cpu_count() or 1, processors)

    if blind is None:
        return [place(name) for name in names]
    if names != ["host"]:
        raise UsageError(f"--blind is for --on host alone, not {','.join(names)}: a simulated run needs no hiding")
    return [Blind(LiveHost(conditions, tell=tell), experiment, blind)]


def named(on: str | None, experiment: "Experiment") -> list[str]:
    """The names of the places, checked; nothing is fetched or made."""
    known = ("sim", "host")
    names = split(on or ("host" if experiment.is_of_host else "sim"), known)
    for name in names:
        if name not in known and not name.startswith((GUEST, POLICY)):
            more = [GUEST + "KERNEL", POLICY + "SCHEDULER"]
            raise UsageError(f"--on {on}: {name!r} is no place to run; {nearest(name, [*known, *more])}")
    if len(set(names)) < len(names):
        raise UsageError(f"--on {on}: a place is named twice")
    return names


def refuse_unsimulated(names: Sequence[str], experiment: "Experiment") -> None:
    """Refuse simulated places that cannot be what they are asked to be; nothing is fetched or made."""
    processors = _of_guests(list(names), experiment)
    for name in names:
        if name == "sim" or name.startswith(POLICY):
            _simulator(name, experiment, 1, processors).cells(experiment.cells())


def split(on: str, known) -> list[str]:
    """The names between the commas; what follows a guest and is no other place is a guest's kernel, too."""
    names: list[str] = []
    for part in on.split(","):
        another = bool(names) and names[-1].startswith(GUEST) and part not in known and ":" not in part
        names.append(GUEST + part if another else part)
    return names


def _of_guests(names: list[str], experiment: "Experiment") -> int | None:
    """How many processors the guests have that a simulated machine stands beside; none, if there are no guests."""
    from schedlab.targets.guest.qemu import processors

    counts = {processors(name.removeprefix(GUEST))[1].count for name in names if name.startswith(GUEST)}
    simulated = [name for name in names if name == "sim" or name.startswith(POLICY)]
    if simulated and len(counts) > 1 and experiment.is_of_host:
        both = " and ".join(map(str, sorted(counts)))
        raise UsageError(
            f"--on: {simulated[0]} has the machine of the guests beside it, and these have {both} processors: name "
            "guests of one number, or set machine.processors"
        )
    return min(counts, default=None)


def _simulator(name: str, experiment: "Experiment", threads: int, processors: int | None) -> "Place":
    from schedlab.targets import translate
    from schedlab.targets.simulator import Simulator

    wanted = translate.on_a_guests_machine(experiment, processors) if processors else experiment
    if name.startswith(POLICY):
        wanted = translate.with_policy(wanted, name.removeprefix(POLICY))
    return Simulator(threads, name, wanted if wanted is not experiment else None)


def _guest(name: str, experiment: "Experiment", conditions: "Conditions") -> "Place":
    from schedlab.targets.guest.target import Guest

    guest = Guest(name.removeprefix(GUEST), experiment.is_of_host, conditions.trace, say, experiment.folder)
    # Fetched now, so that what it says is not between the lines of the progress.
    _ = guest.machine
    return guest


def say(text: str) -> None:
    """Tell the user what takes its time."""
    # As one piece: guests that boot side by side say so at the same time.
    sys.stderr.write(f"{escaped(text)}\n")
    sys.stderr.flush()
