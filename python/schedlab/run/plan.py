"""The whole plan of a command: targets, cells, repeats, and all that would be run, set and made. Writes nothing."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schedlab.run import effects
from schedlab.specification import Cell, Specification
from schedlab.targets import agent, ignored
from schedlab.targets.factory import refuse_unsimulated
from schedlab.targets.guest.qemu import processors
from schedlab.targets.guest.refused import refuse_impossible
from schedlab.targets.host import target as on_host
from schedlab.targets.host.cell import settings, volume
from schedlab.targets.host.conditions import Conditions
from schedlab.targets.names import GUEST, HOST, is_live
from schedlab.units import counted, seconds

#: Policies of a simulated kernel other than the scheduler. A cache that is not named may follow from reclaim.
POLICIES = ("elevator", "cache", "reclaim")
#: Cells of which the plan has lines.
MOST_CELLS = 200
#: What is not known of another host, because a plan connects to none.
UNSEEN = "no connection was made: whether it can be reached, has these settings, and how many processors"


def document(experiment: Specification, names: Sequence[str], conditions: Conditions) -> dict[str, Any]:
    """The plan. What would be refused is refused now; no kernel is fetched, and no earlier result looked up."""
    cells = experiment.cells()
    refuse_unsimulated(names, experiment)
    on = {name: _target(name, experiment, cells, conditions) for name in names}
    total = len(cells) * len(experiment.seeds)
    return {
        "experiment": experiment.name,
        "question": experiment.question,
        "targets": list(names),
        "cells": [_cell(cell) for cell in cells],
        "repeats": len(experiment.seeds),
        "runs": total * len(names),
        "duration_s": _longest(cells),
        "order": _order(names),
        "jobs": _jobs(cells),
        "groups": _groups(cells),
        "on": on,
    }


def _target(name: str, experiment: Specification, cells: list[Cell], conditions: Conditions) -> dict[str, Any]:
    if name == HOST:
        host = on_host.Host(conditions)
        placed = host.cells(cells)
        on_host.refuse_impossible(placed, conditions, host.place)
        settings = _settings(placed, conditions)
        return {"effects": _effects(placed, name), "settings": settings, "ignored": host.ignores(experiment)}
    if is_live(name):
        return {"effects": _effects(cells, name), "unseen": UNSEEN}
    if name.startswith(GUEST):
        kernel, own = processors(name.removeprefix(GUEST))
        ignored.refuse_alike(cells, name, lambda cell: ignored.of_kernel(cell, ignored.OF_A_GUEST))
        for cell in cells:
            refuse_impossible(cell, experiment.is_of_host, own)
        return {"kernel": kernel, "processors": own.count, "noisy": not own.counted}
    return {}


def _effects(cells: list[Cell], on: str) -> list[dict[str, str]]:
    found = effects.of(cells, on)
    return [{"kind": one.kind, "text": one.text, "detail": one.detail, "digest": one.digest} for one in found]


def _settings(cells: Sequence[Cell], conditions: Conditions) -> list[dict[str, list[str]]]:
    """For each different set of settings the commands that do the same, and those that take it back."""
    requests = [settings(cell) for cell in cells if volume(cell, conditions) is None]
    distinct = {json.dumps(request, sort_keys=True): request for request in requests if request}.values()
    plans = [agent.ask(["apply", "--dry-run", "--", *(f"{k}={v}" for k, v in request.items())]) for request in distinct]
    return [plan for plan in plans if plan]


def _cell(cell: Cell) -> dict[str, Any]:
    disk = cell.scenario["machine"].get("disk")
    return {
        "factors": cell.factors,
        "machine": cell.scenario["machine"]["name"],
        "scheduler": cell.scenario["scheduler"]["name"],
        "tunables": cell.host["tunables"],
        "drive": bool(disk or cell.scenario["machine"].get("solid_state")),
        "policies": {name: cell.scenario[name]["name"] for name in POLICIES if cell.scenario.get(name)},
    }


def _jobs(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Every job once, as its first cell has it, with the commands of all cells."""
    found: dict[str, dict[str, Any]] = {}
    for cell in cells:
        for name, job in cell.scenario["workload"].items():
            what = job.get("load") or "steps"
            entry = found.setdefault(name, {"name": name, "does": what, "tasks": job.get("count", 1), "commands": []})
            entry["commands"] += [one for one in effects.commands(job) if one not in entry["commands"]]
    return list(found.values())


def _groups(cells: Sequence[Cell]) -> dict[str, Mapping]:
    return {name: group for cell in cells for name, group in cell.scenario.get("groups", {}).items()}


def _longest(cells: Sequence[Cell]) -> float | None:
    """How long one repeat of all cells lasts at most, s; None if some end when their jobs do."""
    lengths = [cell.scenario.get("duration") for cell in cells]
    return None if None in lengths else sum(seconds(str(length)) for length in lengths)


def _order(names: Sequence[str]) -> str:
    noisy = [name for name in names if is_live(name) or _is_noisy_guest(name)]
    return f"{', '.join(noisy)}: repeat by repeat, all cells shuffled" if noisy else "as in the file"


def _is_noisy_guest(name: str) -> bool:
    return name.startswith(GUEST) and not processors(name.removeprefix(GUEST))[1].counted


def lines(plan: Mapping[str, Any], file: Path) -> list[str]:
    """The plan in words."""
    cells, repeats, targets = (
        counted(number, noun)
        for number, noun in (
            (len(plan["cells"]), "cell"),
            (plan["repeats"], "repeat"),
            (len(plan["targets"]), "target"),
        )
    )
    total = f"{cells} x {repeats} on {targets}"
    longest = plan["duration_s"]
    lasting = "as long as their jobs take" if longest is None else f"at most {longest:g} s a repeat of all cells"
    text = [f"{file}: {plan['question'] or plan['experiment']}", f"targets: {', '.join(plan['targets'])}"]
    text += [f"runs: {plan['runs']} ({total}), {lasting}", f"order: {plan['order']}"]
    shown = plan["cells"][:MOST_CELLS]
    for cell in shown:
        factors = ", ".join(f"{name} = {value}" for name, value in cell["factors"].items()) or "the only one"
        given = ", ".join(f"{name} = {value}" for name, value in cell["tunables"].items())
        chosen = ", ".join(f"{name} {policy}" for name, policy in cell["policies"].items())
        text.append(f"cell: {factors}" + (f"; on a real kernel {given}" if given else ""))
        text += [f"cell: simulated with {chosen}"] if chosen else []
    if len(shown) < len(plan["cells"]):
        text.append(f"cells: {len(plan['cells']) - len(shown):,} more; --json has all of them")
    for job in plan["jobs"]:
        text.append(f"job {job['name']}: {job['does']}, {counted(job['tasks'], 'task')}")
        text += [f"job {job['name']} runs: {command}" for command in job["commands"]]
    text += [f"group {name}: {json.dumps(group)}" for name, group in plan["groups"].items()]
    for name, found in plan["on"].items():
        text += [f"on {name}: {one['kind']}: {one['text']}" for one in found.get("effects", [])]
        for setting in found.get("settings", []):
            text += [f"on {name}: set:  {command}" for command in setting["set"]]
            text += [f"on {name}: back: {command}" for command in setting["back"]]
        text += [f"on {name}: ignored: {what}" for what in found.get("ignored", [])]
        text += [f"on {name}: not looked at: {found['unseen']}"] if "unseen" in found else []
    return [*text, "nothing was run, fetched or written"]
