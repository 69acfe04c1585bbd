"""Folders of results by the name of their experiment: `results/quantum` is the newest `results/quantum-8bf62fde`.

The newest is the one whose experiment was run last, also if all of its runs were known: the one with the
newest lock file.
"""

import re
from pathlib import Path

from schedlab.results import manifest
from schedlab.results.store import LOCK
from schedlab.system.terminal import say

#: What the digest of engines and scenarios adds to a name.
DIGEST = re.compile(r"-[0-9a-f]{8}")


def newest(path: str | Path) -> Path:
    """The path itself if it exists, else the newest results folder of that name; the path if there is none.

    Which one was taken is reported on standard error where there are several.
    """
    path = Path(path)
    if path.exists() or not path.name:
        return path
    found = sorted(of_name(path.parent, path.name), key=_time)
    if len(found) > 1:
        say(f"{path}: {len(found)} folders of results have this name; the newest is read: {found[-1]}")
    return found[-1] if found else path


def of_name(folder: Path, name: str) -> list[Path]:
    """The results folders of an experiment, by its name without a digest."""
    return [
        file.parent
        for file in sorted(folder.glob(f"*/{manifest.NAME}"))
        if file.parent.name.startswith(name) and DIGEST.fullmatch(file.parent.name[len(name) :])
    ]


def _time(folder: Path) -> tuple[int, str]:
    files = [file for file in (folder / LOCK, folder / manifest.NAME) if file.exists()]
    return max((file.stat().st_mtime_ns for file in files), default=0), folder.name
