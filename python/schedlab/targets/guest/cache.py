"""Where guests' kernels, emulator, images and machines are kept: `~/.cache/schedlab`, or below `XDG_CACHE_HOME`."""

import errno
import fcntl
import glob
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from schedlab.errors import UsageError
from schedlab.system import leftovers
from schedlab.system.interrupt import HEARD_SECONDS

#: Why nothing can be written to a folder, whatever it is.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EFBIG)


def folder() -> Path:
    """The folder; it is made."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(named) if os.path.isabs(named) else Path.home() / ".cache"
    path = base / "schedlab" / "guest"
    path.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def room(path: Path, variable: str = "XDG_CACHE_HOME") -> Iterator[None]:
    """Report a file that cannot be written because its disk is full or not to be written to, as an error for the user.

    `variable` is that of the environment which names another folder.
    """
    try:
        yield
    except OSError as why:
        if why.errno not in NO_ROOM:
            raise
        free = f", {shutil.disk_usage(path).free >> 20} MiB free" if path.exists() else ""
        raise UsageError(
            f"{path} cannot be written to: {why.strerror}{free}; {variable} names another folder"
        ) from None


def refuse_full(path: Path, needed: int) -> None:
    """Refuse a disk with less than `needed` bytes free: programs that fill one do not always say so."""
    free = shutil.disk_usage(path).free
    if free < needed:
        room = f"{free >> 20} MiB free, and up to {needed >> 20} are needed"
        raise UsageError(f"{path} has {room}; XDG_CACHE_HOME names another folder")


@contextmanager
def building(target: Path, stop: threading.Event | None = None) -> Iterator[Path | None]:
    """A new folder to fill, which becomes `target` when it is full, or nothing; none, if `target` is there.

    Of two processes that want the same one, the second waits and then finds it there; KeyboardInterrupt when `stop` is
    set meanwhile. What a killed process has half made of it goes.
    """
    with alone_at(target, stop):
        if target.exists():
            yield None
            return
        leftovers.remove_left(target.parent.glob(f".{glob.escape(target.name)}-*"))
        with room(target.parent):
            new = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            with room(target.parent):
                leftovers.mark(new)
                yield new
                leftovers.unmark(new)
                new.chmod(0o755)
                new.rename(target)
        finally:
            shutil.rmtree(new, ignore_errors=True)


@contextmanager
def alone_at(target: Path, stop: threading.Event | None = None) -> Iterator[None]:
    """Keep other processes from the same target; KeyboardInterrupt when `stop` is set while another one has it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(lock_of(target), "w") as lock:
        while not locked(lock, fcntl.LOCK_EX):
            if stop and stop.is_set():
                raise KeyboardInterrupt
            time.sleep(HEARD_SECONDS)
        yield


def lock_of(target: Path) -> Path:
    """The file that is locked by the process that makes, uses or removes a folder."""
    return target.parent / f".{target.name}.lock"


def locked(file: IO, how: int) -> bool:
    """Lock a file at once, or not at all."""
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def write(target: Path, contents: bytes) -> None:
    """Write a file as a whole: a reader finds all of it or none."""
    with room(target.parent):
        _write(target, contents)


def _write(target: Path, contents: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}-", delete=False) as new:
        try:
            new.write(contents)
            new.flush()
            os.replace(new.name, target)
        except BaseException:
            os.unlink(new.name)
            raise
