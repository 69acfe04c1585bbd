"""The manifest of a results folder, read as what it is: text that may have been changed.

A cell is its scenario's hash, its factors, where it ran, and the definition of its scenario without the machine. Sweeps
of many cells leave out the definitions of simulated ones: the experiment and the hash decide them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from schedlab.errors import UsageError
from schedlab.specification import MOST_SEEDS, Cell
from schedlab.system import reading, writing

NAME = "manifest.json"
#: What to do about a damaged manifest.
REMEDY = "remove the folder, and the same command makes it again"
#: Before the first of its lines, between two, and after the last.
BEGIN, NEXT, END = b"{\n", b",\n", b"\n}\n"
#: What every manifest has; what each of its cells and warnings has.
WHOLE = {"name": str, "question": str, "created": str, "seeds": int | list, "experiment": dict, "machines": list,
         "cells": list, "warnings": list, "versions": dict}  # fmt: skip
CELL = {"scenario": str, "on": str, "factors": dict, "machine": int}
WARNING = {"scenario": str, "warning": str, "seeds": list}
#: Of more cells the definitions are not repeated: those of 20,000 take 40 MB.
MOST_DEFINED = 1000


def described(cells: Sequence[Cell]) -> tuple[list[dict], list[dict]]:
    """The machines of these cells, each once, and the cells as a manifest has them."""
    machines: dict[str, tuple[int, dict]] = {}

    def number(machine: dict) -> int:
        return machines.setdefault(json.dumps(machine), (len(machines), machine))[0]

    entries, known = [], {}
    of_machine = [path for path in (cells[0].factors if cells else ()) if path.startswith("machine")]
    for cell in cells:
        entry = {"scenario": cell.hash, "on": cell.on, "factors": cell.factors}
        if len(cells) > MOST_DEFINED and cell.is_of_sweep:
            # What is swept of a machine decides which one it is.
            swept = tuple([cell.factors[path] for path in of_machine])
            if swept not in known:
                known[swept] = number(cell.scenario["machine"])
            entry["machine"] = known[swept]
        else:
            definition = dict(cell.scenario)
            entry["machine"], entry["definition"] = number(definition.pop("machine")), definition
        entries.append(entry)
    return [machine for _, machine in machines.values()], entries


def read_manifest(folder: Path) -> dict:
    """The manifest of a results folder; empty if there is none yet."""
    path = folder / NAME
    try:
        found = reading.json(path, reading.MANIFEST, REMEDY)
    except FileNotFoundError:
        return {}
    return _sound(found, path)


def read_again(folder: Path, about: Mapping[str, Any], lines: Mapping[str, bytes]) -> dict:
    """As `read_manifest`. Fields of `about` that have the same `lines` in the file are given and not read."""
    path = folder / NAME
    try:
        text = reading.data(path, reading.MANIFEST)
    except FileNotFoundError:
        return {}
    is_whole = text.startswith(BEGIN) and text.endswith(END)
    there = set(text[len(BEGIN) : -len(END)].split(NEXT)) if is_whole else set()
    same = {name: about[name] for name, line in lines.items() if line in there}
    if not {"cells", "machines"} <= same.keys():
        return read_manifest(folder)
    others = there - {lines[name] for name in same}
    return _sound(reading.document(BEGIN + NEXT.join(others) + END, path, REMEDY) | same, path, cells_are_ours=True)


def line(name: str, value: Any) -> bytes:
    """A field as a manifest has it."""
    return f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}".encode()


def write_manifest(folder: Path, about: dict, known: Mapping[str, bytes] = MappingProxyType({})) -> None:
    """Put the manifest into its folder, a line for each field; some lines may be `known`."""
    lines = (known.get(name) or line(name, value) for name, value in about.items())
    writing.replace(folder / NAME, BEGIN + NEXT.join(lines) + END)


def _sound(found: Any, path: Path, cells_are_ours: bool = False) -> dict:
    """The manifest in that file, refused if it is damaged."""
    if fault := next(_faults(found, cells_are_ours), None):
        raise UsageError(f"{path} is damaged ({fault}); {REMEDY}")
    return found


def _faults(found: Any, cells_are_ours: bool) -> Iterator[str]:
    """What is not as runs write it."""
    yield from _lacking("it", found, WHOLE)
    if not found["cells"]:
        yield "it has no cells"
    for cell in () if cells_are_ours else found["cells"]:
        yield from _lacking("a cell", cell, CELL)
        if cell["machine"] not in range(len(found["machines"])):
            yield f"a cell has machine {cell['machine']} of {len(found['machines'])}"
        if cell["factors"].keys() != found["cells"][0]["factors"].keys():
            yield "its cells have different factors"
        if not all(isinstance(text, str) for text in cell["factors"].values()):
            yield "a factor is no text"
        if not isinstance(_dictionary(cell, "definition").get("workload", {}), dict):
            yield "a cell has no workload"
    for warning in found["warnings"]:
        yield from _lacking("a warning", warning, WARNING)
    for seeds in (found["seeds"], found["experiment"].get("seeds"), *(one["seeds"] for one in found["warnings"])):
        if not _are_seeds(seeds):
            yield "its seeds are none"
    if not isinstance(found["experiment"].get("workload", {}), dict):
        yield "its workload is none"
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
