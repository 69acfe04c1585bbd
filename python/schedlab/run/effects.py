"""What an experiment file would run and change on a real machine: it is a program, and may come from a stranger.

    effect                                     digest
    a command of the shell                     its text, and the scripts of the user's that it names
    a setting of the host (`tunables`)         name and value
    a real-time policy, a negative nice        job, policy, priority; by a step or a lock's ceiling, too
    a drive, a limit of memory, a swap area    what it is

Ordinary tasks, their files in the scratch folder and the shares of their groups are no effects: they end with the run.
"""

import hashlib
import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from schedlab.errors import UsageError
from schedlab.specification import Cell, plain, treatments
from schedlab.system import reading
from schedlab.targets.linux import REAL_TIME, SLICE
from schedlab.targets.names import HOST

COMMAND, SETTING, TASKS, STORAGE = "command", "setting", "tasks", "storage"
#: Programs here are the system's: a user who can change them needs no experiment file to run commands.
_OF_THE_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/opt", "/nix", "/etc")


@dataclass(frozen=True)
class Effect:
    """One command that is run, or setting that is changed."""

    kind: str
    #: In words, as people read it in a plan.
    text: str
    #: What else decides what it does.
    detail: str = ""
    #: The other host on which it happens; none is this computer.
    on: str = ""

    @property
    def digest(self) -> str:
        """Equal for what does the same in the same place."""
        what = [self.kind, self.text, self.detail, *([self.on] if self.on else [])]
        return hashlib.sha256(json.dumps(what).encode()).hexdigest()


def of(cells: Sequence[Cell], on: str = HOST) -> list[Effect]:
    """All effects of these cells on a live host, each once. Scripts that are on another host are not looked at."""
    found = dict.fromkeys(effect for cell in cells for effect in _of(cell))
    if on == HOST:
        return list(found)
    return [replace(effect, on=on, detail="" if effect.kind == COMMAND else effect.detail) for effect in found]


def _of(cell: Cell) -> Iterator[Effect]:
    scenario = cell.scenario
    for name, job in scenario["workload"].items():
        tasks = f"{name} ({job['count']} tasks)" if job.get("count", 1) > 1 else name
        for command in commands(job):
            yield Effect(COMMAND, f"{tasks} runs: {command}", _scripts(command))
        for treatment in (job, *treatments(job)):
            if treatment.get("policy") in REAL_TIME:
                priority = f" {treatment['priority']}" if treatment.get("priority") else ""
                yield Effect(TASKS, f"{tasks}: real time, {treatment['policy']}{priority}")
            if treatment.get("nice", 0) < 0:
                yield Effect(TASKS, f"{tasks}: nice {treatment['nice']}")
    for name, one in scenario.get("shared", {}).items():
        if isinstance(one.get("lock"), dict) and (priority := one["lock"].get("ceiling")):
            yield Effect(TASKS, f"lock {name}: its holder is real time, {priority}")
    for name, value in cell.host["tunables"].items():
        # A slice is an attribute of the run's own tasks.
        if name != SLICE:
            yield Effect(SETTING, f"{name} = {value}")
    yield from _of_storage(scenario)


def _of_storage(scenario: Mapping[str, Any]) -> Iterator[Effect]:
    machine = scenario["machine"]
    if disk := machine.get("disk"):
        yield Effect(
            STORAGE, "a file system on a modelled drive (FUSE, a loop device)", json.dumps(disk, sort_keys=True)
        )
    for name, group in scenario.get("groups", {}).items():
        if group.get("memory"):
            swap = plain(machine["memory"]["swap"])
            yield Effect(STORAGE, f"group {name}: memory limited to {group['memory']}, a swap file of {swap}")


def commands(job: Mapping[str, Any]) -> list[str]:
    """The commands that a job runs, of its load or among its steps."""
    of_load = [job["run"]] if job.get("load") == "command" and "run" in job else []
    return list(dict.fromkeys([*of_load, *_in_steps(job.get("steps"))]))


def _in_steps(steps: Any) -> Iterator[str]:
    if isinstance(steps, dict):
        for name, value in steps.items():
            if name == "run" and isinstance(value, str):
                yield value
            else:
                yield from _in_steps(value)
    elif isinstance(steps, list):
        for step in steps:
            yield from _in_steps(step)


def _scripts(command: str) -> str:
    """Digests of the files of the user's that a command names: another script is another command."""
    try:
        words = shlex.split(command, comments=False)
    except ValueError:
        words = command.split()
    found = {}
    for word in words:
        path = Path(os.path.realpath(word.rstrip(";&|")))
        if path.is_file() and not str(path).startswith(_OF_THE_SYSTEM):
            with suppress(OSError, UsageError):
                found[word] = hashlib.sha256(reading.data(path, reading.OBJECT)).hexdigest()
    return json.dumps(found, sort_keys=True) if found else ""
