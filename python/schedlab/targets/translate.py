"""An experiment translated for the simulator, to compare it with kernels: `--on guest:5.10,6.17,sim:cfs,sim:eevdf`.

    sim:POLICY            the scheduler is POLICY; what the experiment gives of another one, or as a setting of a real
                          kernel, is the parameter of POLICY that means the same. What means nothing there is refused
    next to a guest       the machine "host" is the preset "guest" with as many processors, which take turns: its clock,
                          and what its kernel's calls cost. Next to a guest that runs in the host's time it is the host
                          with as many

Only what is written is translated; the engine judges the outcome.
"""

import json
from typing import Any

from schedlab import _core
from schedlab.errors import UsageError, nearest
from schedlab.specification import Specification
from schedlab.targets.linux import HZ, OTHER_NAME

#: The preset of a guest whose instructions are counted.
GUEST_MACHINE = "guest"
#: How long the turn of its first processor is compared with that of every other one. Two hogs, each bound to a
#: processor, get 56.1 and 43.2 % of the speed, and four 31.4 and three times 22.9 (QEMU 10.0.2, kernel 6.17).
FIRST_TURN, TURN = 4, 3
#: What an idle processor executes from an interrupt to the choice of a task, alone. If the first one is at work, it is
#: 121 us from its wakeup of a task on the second one to the switch, on average, of which that one has 3 parts of 7
#: (bench/remote_wakeups.toml, 6.1 and 6.17).
IDLE_EXIT = "52us"


def with_policy(experiment: Specification, policy: str) -> Specification:
    """The experiment with that scheduler."""
    known = {entry["name"]: entry["parameters"] for entry in json.loads(_core.catalogue())["schedulers"]}
    if policy not in known:
        raise UsageError(f"sim:{policy}: {policy!r} is no scheduler; {nearest(policy, known)}")
    names = {parameter["name"] for parameter in known[policy]}
    definition = dict(experiment.definition)
    settings = definition.get("tunables", {})
    meant = {key: value for key, value in settings.items() if _meant(key, names)}
    given = {key: value for key, value in definition.get("scheduler", {}).items() if key != "name"}
    both = {_meant(key, names) or key: value for key, value in {**meant, **given}.items()}
    definition["scheduler"] = {"name": policy, **both}
    definition["tunables"] = {key: value for key, value in settings.items() if key not in meant}
    if "sweep" in definition:
        definition["sweep"] = _swept(definition["sweep"], policy, names)
    return Specification.from_dict(definition, experiment.name)


def on_a_guests_machine(experiment: Specification, processors: int = 1, counted: bool = True) -> Specification:
    """The experiment with a guest's processors, clock and, where its instructions are counted, costs, if its machine is
    the host."""
    if not experiment.is_of_host:
        return experiment
    machine = experiment.definition["machine"]
    given = machine if isinstance(machine, dict) else {"preset": machine}
    clock = {**given.get("clock", {}), "hz": f"{HZ}/s"}
    kind = {"preset": GUEST_MACHINE} if counted else {}
    if counted and processors > 1:
        turns = [FIRST_TURN, *[TURN] * (processors - 1)]
        kind["topology"] = {**given.get("topology", {}), "turns": turns}
        kind["idle_states"] = [{"residency": "0s", "latency": IDLE_EXIT}]
    translated = {**given, **kind, "title": "a guest's machine", "processors": processors, "clock": clock}
    # The machine "host" brings its kernel's scheduler along where none is named, the preset does not.
    named = {} if "scheduler" in experiment.definition else {"scheduler": _usual(experiment)}
    return experiment.replace(machine=translated, **named)


def _usual(experiment: Specification) -> dict[str, Any]:
    """The scheduler that the experiment has on the simulated host."""
    return {"name": experiment.cells()[0].scenario["scheduler"]["name"]}


def _meant(key: str, names: set[str]) -> str | None:
    """The parameter, among these, that a parameter or a setting of that name is."""
    return next((name for name in (key, OTHER_NAME.get(key)) if name in names), None)


def _swept(sweep: dict[str, Any], policy: str, names: set[str]) -> dict[str, Any]:
    """What is swept, in the same order."""
    translated = {}
    for path, values in sweep.items():
        part, _, key = path.partition(".")
        if path == "scheduler.name":
            raise UsageError(f"sim:{policy} names the scheduler, and the experiment sweeps scheduler.name: use sim")
        name = _meant(key, names) if part in ("scheduler", "tunables") else None
        translated[f"scheduler.{name}" if name else path] = (
            _swept(values, policy, names) if isinstance(values, dict) else values
        )
    return translated
