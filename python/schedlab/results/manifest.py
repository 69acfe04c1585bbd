"""The manifest of a results folder, read as what it is: text that may have been changed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from schedlab.errors import UsageError
from schedlab.specification import MOST_SEEDS
from schedlab.system import reading

NAME = "manifest.json"
#: What to do about a damaged manifest.
REMEDY = "remove the folder, and the same command makes it again"
#: What every manifest has; what each of its cells and warnings has.
WHOLE = {"name": str, "question": str, "created": str, "seeds": int | list, "experiment": dict, "machines": list,
         "cells": list, "warnings": list, "versions": dict}  # fmt: skip
CELL = {"scenario": str, "on": str, "factors": dict, "machine": int, "definition": dict}
WARNING = {"scenario": str, "warning": str, "seeds": list}


def read_manifest(folder: Path) -> dict:
    """The manifest of a results folder; empty if there is none yet."""
    path = folder / NAME
    try:
        found = reading.json(path, reading.MANIFEST, REMEDY)
    except FileNotFoundError:
        return {}
    fault = next(_faults(found), None)
    if fault:
        raise UsageError(f"{path} is damaged ({fault}); {REMEDY}")
    return found


def _faults(found: Any) -> Iterator[str]:
    """What is not as runs write it."""
    yield from _lacking("it", found, WHOLE)
    if not found["cells"]:
        yield "it has no cells"
    for cell in found["cells"]:
        yield from _lacking("a cell", cell, CELL)
        if cell["machine"] not in range(len(found["machines"])):
            yield f"a cell has machine {cell['machine']} of {len(found['machines'])}"
        if cell["factors"].keys() != found["cells"][0]["factors"].keys():
            yield "its cells have different factors"
        if not all(isinstance(text, str) for text in cell["factors"].values()):
            yield "a factor is no text"
        if not isinstance(cell["definition"].get("workload"), dict):
            yield "a cell has no workload"
    for warning in found["warnings"]:
        yield from _lacking("a warning", warning, WARNING)
    for seeds in (found["seeds"], found["experiment"].get("seeds"), *(one["seeds"] for one in found["warnings"])):
        if not _are_seeds(seeds):
            yield "its seeds are none"
    if not isinstance(found["versions"].get("engine"), str):
        yield "it names no version of the engine"
    metrics = found["experiment"].get("metrics") or []
    if not isinstance(metrics, list) or not all(isinstance(name, str) for name in metrics):
        yield "its metrics are no names"
    if not all(isinstance(machine, dict) and isinstance(machine.get("name"), str) for machine in found["machines"]):
        yield "a machine has no name"
    if not all(isinstance(about, dict) for about in _dictionary(found, "places").values()):
        yield "a place is not described"


def _lacking(what: str, found: Any, shape: dict[str, Any]) -> Iterator[str]:
    for name, kind in shape.items():
        if not isinstance(found, dict) or not isinstance(found.get(name), kind):
            yield f"{what} has no {name}, or of another kind"


def _are_seeds(found: Any) -> bool:
    """A number of seeds, or some."""
    listed = found if isinstance(found, list) else [found]
    known = [seed for seed in listed if isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < 1 << 64]
    return bool(listed) and len(known) == len(listed) and (isinstance(found, list) or 0 < found <= MOST_SEEDS)


def _dictionary(found: dict, name: str) -> dict:
    """A field that may be left out."""
    value = found.get(name, {})
    return value if isinstance(value, dict) else {name: None}
