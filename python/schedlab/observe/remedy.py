"""An experiment that tries what could help a host that is short of something: a load like the one seen, on the host."""

import json
from typing import Any

from schedlab.observe.diagnose import Finding

#: Hogs in an experiment at most.
MOST_HOGS = 16


def experiment(finding: Finding, tunables: list[dict]) -> dict[str, Any] | None:
    """The experiment for a shortage, of tunables that this host has; None where the lab has nothing to try."""
    here = {entry["name"]: entry for entry in tunables if entry["value"] is not None}
    make = {
        "processor": _processor,
        "run queue": _processor,
        "disk": _disk,
        "memory and paging": _memory,
    }.get(finding.resource)
    made = make(finding, here) if make else None
    return made and {"machine": "host", "seeds": 3, **made}


def _processor(finding: Finding, here: dict) -> dict[str, Any]:
    hogs = min(MOST_HOGS, max(1, sum(max(1, len(task.members)) for task in finding.tasks if task.amount >= 25)))
    return {
        "question": "Which nice value or policy of the hogs keeps a short job quick, and what does it cost them?",
        "duration": "5s",
        "metrics": ["tasks.short.wakeup_latency.p99", "tasks.hog.share"],
        "workload": {
            "hog": {"load": "spin", "count": hogs, "passes": "forever"},
            "short": {"load": "sleeper", "passes": "forever"},
        },
        "sweep": {"workload.hog.nice": [0, 10, 19], "workload.hog.policy": ["other", "batch"]},
    }


def _disk(finding: Finding, here: dict) -> dict[str, Any] | None:
    elevator = here.get(f"elevator@{finding.device}")
    names = (elevator or {}).get("domain", {}).get("names", [])
    if len(names) < 2:
        return None
    return {
        "question": f"Which elevator of {finding.device} serves readers best while writers run?",
        "duration": "20s",
        "metrics": ["tasks.reader.real", "tasks.writer.real"],
        "workload": {
            "reader": {"load": "random_io", "size": "64MiB", "rounds": 500, "reads": 1},
            "writer": {"load": "random_io", "size": "64MiB", "rounds": 500, "reads": 0, "writes": 1, "sync": True},
        },
        "sweep": {f"tunables.elevator@{finding.device}": names},
    }


def _memory(finding: Finding, here: dict) -> dict[str, Any] | None:
    if "swappiness" not in here:
        return None
    return {
        "question": "Whom does swappiness favour when memory is short: programs or files?",
        "duration": "30s",
        "metrics": ["tasks.program.real", "tasks.reader.real", "swap_out", "page_in"],
        "workload": {
            "program": {"load": "working_set", "size": "64MiB", "rounds": 20},
            "reader": {"load": "read_files", "files": 20, "size": "4MiB", "passes": 3},
        },
        "sweep": {"tunables.swappiness": [10, 60, 150]},
    }


def toml(definition: dict[str, Any], head: str) -> str:
    """The text of an experiment, with comment lines before it."""
    lines = [f"# {line}".rstrip() for line in head.splitlines()]
    tables = {name: value for name, value in definition.items() if isinstance(value, dict)}
    lines += [f"{name} = {_value(value)}" for name, value in definition.items() if name not in tables]
    for name, table in tables.items():
        lines += ["", f"[{name}]", *(f"{_key(key)} = {_value(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() else json.dumps(name)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
