"""Snapshots of booted machines, stored by content: each is made once, and the oldest are removed above a size.

a snapshot        a folder: memory (as large as what the guest has touched), state, console, and a digest of each
in use            processes that resume from it share its lock, so it is not removed meanwhile
damaged           a file whose contents are not those of its digest: the machine is removed and made again

A process verifies a machine before it first resumes from it, and again whenever size or times of a file change.
"""

import fcntl
import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from schedlab.system import leftovers
from schedlab.system.interrupt import HEARD_SECONDS
from schedlab.targets.guest import cache
from schedlab.targets.guest.apt import Say

#: Most disk space of all snapshots, bytes: about thirty machines.
LARGEST_TOTAL = 4 << 30
#: The lock of the process that removes snapshots.
SWEEPER = ".sweeper"
#: The digests of the other files.
DIGESTS = "digests.json"
#: Bytes of a file that are read at once.
PIECE = 1 << 20
_ZEROS = bytes(PIECE)
#: What this process has verified: size and times of the files, by folder.
_whole: dict[Path, list[tuple]] = {}


def folder() -> Path:
    """The folder of all snapshots."""
    return cache.folder() / "machines"


@contextmanager
def machine(
    digest: str,
    make: Callable[[Path], None],
    stop: threading.Event | None = None,
    largest: int = LARGEST_TOTAL,
    say: Say = lambda text: None,
) -> Iterator[Path]:
    """The folder of the machine with that digest, for as long as this lasts; `make` fills it, if need be."""
    target = folder() / digest
    while True:
        if stop and stop.is_set():
            raise KeyboardInterrupt
        if not target.exists():
            with cache.building(target, stop) as new:
                if new:
                    make(new)
                    _seal(new)
            remove_oldest(largest, target)
        with open(cache.lock_of(target), "w") as lock:
            if cache.locked(lock, fcntl.LOCK_SH) and target.exists():
                damaged = _damaged(target)
                if not damaged:
                    os.utime(target)
                    yield target
                    return
                say(f"{target / damaged} is damaged; the machine is made again")
                # Only the process that gets the exclusive lock removes it; the others find it gone, or made again.
                if cache.locked(lock, fcntl.LOCK_EX):
                    shutil.rmtree(target, ignore_errors=True)
                    continue
        # Another process is removing it or resuming from it.
        time.sleep(HEARD_SECONDS)


def _seal(machine: Path) -> None:
    """Write the digests of a machine's files, once they are on the disk."""
    files = (file for file in sorted(machine.iterdir()) if file.name != leftovers.FILE)
    digests = {file.name: _digest(file) for file in files}
    (machine / DIGESTS).write_text(json.dumps(digests))


def _damaged(machine: Path) -> str | None:
    """The name of a file that is not what it was when the machine was made; none, if all are."""
    try:
        digests = json.loads((machine / DIGESTS).read_text())
        seen = [(name, *_marks(machine / name)) for name in digests]
        if _whole.get(machine) == seen:
            return None
        bad = next((name for name, digest in digests.items() if _digest(machine / name) != digest), None)
    except (OSError, ValueError, AttributeError):
        return DIGESTS
    if bad is None:
        _whole[machine] = seen
    return bad


def _marks(file: Path) -> tuple[int, ...]:
    """What changes when a file is written to."""
    about = file.stat()
    return about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def _digest(file: Path) -> str:
    """The digest of a file's size and of all pieces that are not zero: holes are not read."""
    digest = hashlib.sha256(str(file.stat().st_size).encode())
    with open(file, "rb", buffering=0) as opened:
        for offset in _written(opened.fileno()):
            piece = os.pread(opened.fileno(), PIECE, offset)
            if piece != _ZEROS[: len(piece)]:
                digest.update(offset.to_bytes(8, "little"))
                digest.update(piece)
    return digest.hexdigest()


def _written(file: int) -> Iterator[int]:
    """The offsets of the pieces of a file that are not wholly holes."""
    end, offset = os.fstat(file).st_size, 0
    while offset < end:
        try:
            data = os.lseek(file, offset, os.SEEK_DATA)
        except OSError:
            return
        offset = max(offset, data - data % PIECE)
        yield offset
        offset += PIECE


def remove_oldest(largest: int, spared: Path) -> None:
    """Remove the least recently used machines, until the rest take no more than `largest` bytes of the disk.

    Incomplete machines that killed processes left are always removed. One process at a time removes.
    """
    with open(folder() / SWEEPER, "w") as lock:
        if cache.locked(lock, fcntl.LOCK_EX):
            for left in filter(leftovers.is_left, folder().glob(".*-*")):
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
    """Remove a machine, or what a killed process has made of it, unless a process uses or makes it."""
    with open(cache.lock_of(machine), "w") as lock:
        if cache.locked(lock, fcntl.LOCK_EX):
            shutil.rmtree(path, ignore_errors=True)
