"""Machines that are kept ready for an order, by content: made once, whoever wants them; the oldest go when many.

a kept machine    a folder: memory (as large as what the guest has touched), state, console
in use            its lock is shared by those who go on from it, so nobody removes it meanwhile
"""

import fcntl
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from schedlab.guest import cache
from schedlab.interrupt import HEARD_SECONDS

#: So much of the disk is theirs, bytes: some thirty machines.
LARGEST_TOTAL = 4 << 30
#: Locked by the one who removes.
SWEEPER = ".sweeper"


def folder() -> Path:
    """Where they are."""
    return cache.folder() / "machines"


@contextmanager
def machine(
    digest: str, make: Callable[[Path], None], stop: threading.Event | None = None, largest: int = LARGEST_TOTAL
) -> Iterator[Path]:
    """The folder of the machine with that digest, for as long as this lasts; `make` fills it, if need be."""
    target = folder() / digest
    while True:
        if not target.exists():
            with cache.building(target, stop) as new:
                if new:
                    make(new)
            remove_oldest(largest, target)
        with open(cache.lock_of(target), "w") as lock:
            if cache.locked(lock, fcntl.LOCK_SH) and target.exists():
                os.utime(target)
                yield target
                return
        # Somebody removes it just now.
        time.sleep(HEARD_SECONDS)


def remove_oldest(largest: int, spared: Path) -> None:
    """Remove those that were not used for longest, until the rest take no more than `largest` bytes of the disk.

    What killed processes have left half made goes in any case. Who finds another process at it leaves it to that one.
    """
    with open(folder() / SWEEPER, "w") as lock:
        if cache.locked(lock, fcntl.LOCK_EX):
            for left in folder().glob(".*-*"):
                _remove(left, folder() / left.name.lstrip(".").rpartition("-")[0])
            total = 0
            for path in _newest_first():
                total += size(path)
                if total > largest and path != spared:
                    _remove(path, path)


def _newest_first() -> list[Path]:
    known = [path for path in folder().iterdir() if path.is_dir() and not path.name.startswith(".")]
    return sorted(known, key=lambda path: path.stat().st_mtime_ns, reverse=True)


def size(path: Path) -> int:
    """How much of the disk a machine takes, bytes: its memory is a file with holes."""
    return sum(file.stat().st_blocks * 512 for file in path.iterdir())


def _remove(path: Path, machine: Path) -> None:
    """Remove a machine, or what a killed process has made of it, unless somebody uses or makes it."""
    with open(cache.lock_of(machine), "w") as lock:
        if cache.locked(lock, fcntl.LOCK_EX):
            shutil.rmtree(path, ignore_errors=True)
