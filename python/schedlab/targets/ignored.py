"""What a target makes of an experiment: decided before the first measurement, and said wherever its numbers are shown.

    given, and the target has it     it is set
    given, and the target has none   ignored: listed before the first run, below the table, in JSON and in the manifest
    swept, and the target has none   refused: the rows would be one measurement under several names

A real kernel has a scheduler, a block cache and costs of its own. A simulated machine ignores nothing: what only a real
one has (tunables, limits of memory, commands), the engine refuses before its first run.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from schedlab.errors import UsageError
from schedlab.specification import Cell, Specification, plain, treatments

#: Of a machine, what a live host takes; a guest takes the size of its memory, too.
OF_A_HOST = ("processors", "disk", "queue.requests", "memory.swap")
OF_A_GUEST = (*OF_A_HOST, "memory.size")
#: What names a machine and is no property of it.
_NAMES = ("preset", "name", "title", "drive")
#: The highest nice level of Linux.
MOST_NICE = 19


def by_kernel(experiment: Specification, scheduler: str, takes: Sequence[str] = OF_A_HOST) -> list[str]:
    """What a real kernel with that scheduler ignores; of the machine it `takes` these fields."""
    definition, cells = experiment.definition, experiment.cells()
    ignored = [*_of_policies(definition, cells, scheduler), *_of_machine(definition, cells, takes)]
    ignored += _of_jobs(cells)
    return list(dict.fromkeys(ignored))


def refuse_alike(cells: Sequence[Cell], on: str, effective: Callable[[Cell], Any]) -> None:
    """Refuse cells that differ in nothing that the target makes anything of: `effective` is what it does."""
    first: dict[str, Cell] = {}
    for cell in cells:
        other = first.setdefault(json.dumps(effective(cell), sort_keys=True), cell)
        if other is cell:
            continue
        differ = [path for path, value in cell.factors.items() if other.factors.get(path) != value]
        values = "; ".join(f"{path} = {other.factors[path]} and {cell.factors[path]}" for path in differ)
        raise UsageError(
            f"{' and '.join(differ)}: {on} makes nothing of it, so {values} would be one measurement under two names; "
            f"take it out of the sweep with --set {differ[0]}=..., or run the sweep where it counts"
        )


def of_kernel(cell: Cell, takes: Sequence[str] = OF_A_HOST) -> Any:
    """What decides a run on a real kernel: the tasks, the settings, and what it takes of the machine."""
    scenario = cell.scenario
    machine = [_bare(_at(scenario["machine"], path)) for path in takes]
    jobs = {name: {**job, "policy": _policy(job)} for name, job in scenario["workload"].items()}
    shared = scenario.get("shared")
    duration, attention = scenario.get("duration"), scenario.get("attention")
    return [jobs, scenario.get("groups"), shared, duration, attention, cell.host["tunables"], machine]


def _of_policies(definition: Mapping, cells: Sequence[Cell], scheduler: str) -> Iterator[str]:
    for field, why in (
        ("scheduler", f"the kernel has its own ({scheduler})"),
        ("cache", "the kernel has its own block cache"),
        ("reclaim", "the kernel has its own"),
    ):
        given = definition.get(field)
        name = given.get("name") if isinstance(given, dict) else given
        if name and (field, name) != ("scheduler", scheduler):
            yield _tell(f"{field}.name", name, why)
    for path in dict.fromkeys(path for cell in cells for path in cell.host["without"]):
        yield _tell(path, None, "real kernels have no such setting")


def _of_machine(definition: Mapping, cells: Sequence[Cell], takes: Sequence[str]) -> Iterator[str]:
    given = definition.get("machine")
    given = given if isinstance(given, dict) else {"preset": given}
    preset = given.get("preset") or given.get("name")
    if preset != "host":
        yield _tell("machine", preset, f"the real machine is used; of this one only {', '.join(takes)}")
    else:
        paths = [path for path in _leaves(given) if path.partition(".")[0] not in _NAMES]
        for path in paths:
            if not any(path == one or path.startswith(f"{one}.") for one in takes):
                yield _tell(f"machine.{path}", _at(given, path), "the real machine has its own")
    if any(cell.scenario["machine"].get("solid_state") for cell in cells):
        yield _tell("machine.solid_state", given.get("drive"), "only rotating drives are modelled there")


def _of_jobs(cells: Sequence[Cell]) -> Iterator[str]:
    for cell in cells:
        for name, job in cell.scenario["workload"].items():
            named = [(f"workload.{name}", job)]
            named += [(f"workload.{name}.steps: set", change) for change in treatments(job)]
            for place, given in named:
                if given.get("policy") == "iso":
                    yield _tell(f"{place}.policy", "iso", "Linux has none, and its tasks are ordinary ones")
                if given.get("nice", 0) > MOST_NICE:
                    yield _tell(f"{place}.nice", given["nice"], f"Linux's highest is {MOST_NICE}, which is taken")


def _policy(job: Mapping) -> Any:
    return "other" if job.get("policy") == "iso" else job.get("policy")


def _leaves(tree: Mapping, path: str = "") -> Iterator[str]:
    """Paths of the values in it; what says where a value comes from is a value."""
    for name, value in tree.items():
        if isinstance(value, dict) and "value" not in value and name != "disk":
            yield from _leaves(value, f"{path}{name}.")
        else:
            yield f"{path}{name}"


def _at(tree: Any, path: str) -> Any:
    for name in path.split("."):
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree


def _bare(value: Any) -> Any:
    """A value without the sources of its parts."""
    value = plain(value)
    if not isinstance(value, dict):
        return value
    return {name: _bare(inner) for name, inner in value.items()}


def _tell(field: str, value: Any, why: str) -> str:
    given = "" if value is None else f" = {value if isinstance(value, str) else json.dumps(value)}"
    return f"{field}{given}: {why}"
