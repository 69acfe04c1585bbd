"""Makes the targets that a user names with `--on`. Each kind is imported when it is named: the others start at once."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from schedlab.errors import UsageError
from schedlab.specification import Specification
from schedlab.system.terminal import say
from schedlab.targets import translate
from schedlab.targets.host.conditions import Conditions
from schedlab.targets.names import GUEST, HOST, OTHER, POLICY, is_live, is_simulated, named
from schedlab.targets.simulator import Simulator
from schedlab.targets.target import Target

if TYPE_CHECKING:
    from schedlab.targets.guest.qemu import Processors
    from schedlab.targets.host.target import Host


def targets(
    on: str | None,
    experiment: Specification,
    threads: int | None,
    conditions: Conditions,
    blind: Path | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Target]:
    """The targets that `on` names, separated by commas; where the experiment's machine is, if it names none.

    With `blind`, the folder of results, the host's settings are hidden under letters. `tell` gets a line for each
    observation made before the first run.
    """
    names = named(on, experiment)
    if experiment.is_of_host and any(map(is_simulated, names)) and any(name.startswith(OTHER) for name in names):
        tell('machine = "host" is this computer on sim, and each other host itself')
    processors = _processors_of_guests(names, experiment)

    def target(name: str) -> Target:
        if is_live(name):
            return _host(name, experiment, conditions, tell)
        if name.startswith(GUEST):
            return _guest(name, experiment, conditions)
        return _simulator(name, experiment, threads or os.cpu_count() or 1, processors)

    if blind is None:
        return [target(name) for name in names]
    if names != [HOST]:
        raise UsageError(f"--blind is for --on host alone, not {','.join(names)}: it hides what is at work here")
    from schedlab.targets.host.blinded import BlindedHost

    return [BlindedHost(_host(HOST, experiment, conditions, tell), experiment, blind)]


def refuse_unsimulated(names: Sequence[str], experiment: Specification) -> None:
    """Refuse simulated targets that cannot be what they are asked to be; nothing is fetched or made."""
    processors = _processors_of_guests(names, experiment)
    for name in filter(is_simulated, names):
        _simulator(name, experiment, 1, processors).cells(experiment.cells())


def _processors_of_guests(names: Sequence[str], experiment: Specification) -> "Processors | None":
    """The processors of the guests that a simulated machine is compared with; None without guests."""
    if not any(name.startswith(GUEST) for name in names):
        return None
    from schedlab.targets.guest.qemu import processors

    found = [processors(name.removeprefix(GUEST))[1] for name in names if name.startswith(GUEST)]
    counts = {each.count for each in found}
    simulated = list(filter(is_simulated, names))
    if simulated and len(counts) > 1 and experiment.is_of_host:
        both = " and ".join(map(str, sorted(counts)))
        raise UsageError(
            f"--on: {simulated[0]} takes the machine of the guests, and these have {both} processors: name "
            "guests of one number, or set machine.processors"
        )
    return min(found, key=lambda each: (each.count, not each.counted))


def _simulator(name: str, experiment: Specification, threads: int, processors: "Processors | None") -> Simulator:
    if processors:
        wanted = translate.on_a_guests_machine(experiment, processors.count, processors.counted)
    else:
        wanted = experiment
    if name.startswith(POLICY):
        wanted = translate.with_policy(wanted, name.removeprefix(POLICY))
    return Simulator(threads, name, wanted if wanted is not experiment else None)


def _host(name: str, experiment: Specification, conditions: Conditions, tell: Callable[[str], None]) -> "Host":
    from schedlab.targets.host.target import Host

    if name == HOST:
        return Host(conditions, tell=tell)
    from schedlab.targets.host.there import there

    # The engine has read the machine "host" from this computer.
    takes_all = experiment.is_of_host and not experiment.names_processors
    return Host(conditions, None, lambda line: tell(f"{name}: {line}"), there(name), takes_all)


def _guest(name: str, experiment: Specification, conditions: Conditions) -> Target:
    from schedlab.targets.guest.target import Guest

    guest = Guest(name.removeprefix(GUEST), experiment.is_of_host, conditions.trace, say, experiment.folder)
    # Fetched now, so that what it says is not between the lines of the progress.
    _ = guest.machine
    return guest
