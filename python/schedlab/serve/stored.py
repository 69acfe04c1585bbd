"""What is in the folders of results and of recordings, and which of it a name in an address opens.

A name is that of an entry right in the folder: no path, nothing hidden, no link. Results in which there is a link are
not opened either, so that no address leads out of the folders.
"""

import os
import stat
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from schedlab._core import ScenarioError
from schedlab.errors import UsageError
from schedlab.lab.given import refused
from schedlab.results import manifest, store
from schedlab.serve.refused import Refused
from schedlab.specification import Specification

#: Entries of each kind that are listed, the newest.
MOST_LISTED = 300
#: Summaries of results that are remembered.
REMEMBERED = 2000
#: Characters of a text that are listed, and places: a page asks for the list again and again.
LONGEST, MOST_PLACES = 300, 10


def results(out: Path) -> tuple[list[dict[str, Any]], int]:
    """The results in a folder, the newest first, and how many are left out."""
    found = []
    for entry in _entries(out):
        times = [_time(Path(entry.path) / name) for name in (manifest.NAME, store.LOCK)]
        if entry.is_dir(follow_symlinks=False) and times[0]:
            found.append((max(times), times[0], entry))
    shown = _newest(found)
    summaries = [{"name": e.name, "when": when / 1e9} | _summary(e.path, made) for when, made, e in shown]
    return summaries, len(found) - len(shown)


def result(out: Path, name: str) -> Path:
    """The folder of the results of that name."""
    folder = out / name
    if not _is(folder, name, stat.S_ISDIR) or not _time(folder / manifest.NAME):
        raise Refused(404, f"there are no results {name!r} in the folder of results")
    with os.scandir(folder) as entries:
        if any(entry.is_symlink() for entry in entries):
            raise Refused(404, f"{name}: has links in it, which are not followed")
    return folder


def recordings(folder: Path) -> tuple[list[dict[str, Any]], int]:
    """The files in a folder, the newest first, and how many are left out. What is no recording says so when opened."""
    found = [
        (about.st_mtime_ns, about.st_size, entry)
        for entry in _entries(folder)
        if entry.is_file(follow_symlinks=False) and (about := entry.stat(follow_symlinks=False))
    ]
    shown = _newest(found)
    return [{"name": e.name, "when": when / 1e9, "bytes": size} for when, size, e in shown], len(found) - len(shown)


def recording(folder: Path | None, name: str) -> Path:
    """The file of that name."""
    if folder is None or not _is(folder / name, name, stat.S_ISREG):
        raise Refused(404, f"there is no recording {name!r} in the folder of recordings")
    return folder / name


def _newest(found: list[tuple]) -> list[tuple]:
    return sorted(found, key=lambda one: (-one[0], one[-1].name))[:MOST_LISTED]


def _entries(folder: Path) -> Iterator[os.DirEntry]:
    """Those that can be named; none if there is no such folder."""
    try:
        with os.scandir(folder) as entries:
            yield from (entry for entry in entries if _is_name(entry.name))
    except (FileNotFoundError, NotADirectoryError):
        return


def _is_name(name: str) -> bool:
    return name.isprintable() and not name.startswith(".") and "/" not in name and bool(name)


def _is(path: Path, name: str, kind: Any) -> bool:
    """Whether it is a name, and what has it is of that kind."""
    try:
        return _is_name(name) and kind(os.lstat(path).st_mode)
    except OSError:
        return False


def _time(file: Path) -> int:
    """When an ordinary file was written, ns; 0 if there is none."""
    try:
        about = os.lstat(file)
    except OSError:
        return 0
    return about.st_mtime_ns if stat.S_ISREG(about.st_mode) else 0


@lru_cache(maxsize=REMEMBERED)
def _summary(folder: str, made: int) -> dict[str, Any]:
    """What the manifest says, which was written at that time."""
    try:
        about = manifest.read_manifest(Path(folder))
        experiment = Specification(about["name"], about["experiment"])
        places = [_cut(on) for on in sorted({cell["on"] for cell in about["cells"]})[:MOST_PLACES]]
        known = {"question": _cut(about["question"]), "cells": len(about["cells"]), "on": places, "fault": ""}
        return known | {"lab": _has_lab(experiment)}
    except (OSError, UsageError, KeyError, TypeError, AttributeError) as why:
        return {"question": "", "cells": 0, "on": [], "fault": _cut(str(why)), "lab": False}


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _has_lab(experiment: Specification) -> bool:
    """Whether a page can run the experiment."""
    try:
        refused(experiment, "")
    except (UsageError, ScenarioError):
        return False
    return True
