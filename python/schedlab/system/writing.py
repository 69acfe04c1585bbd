"""Writes files so that a kill or a power loss at any moment leaves them whole.

A file is replaced, never changed: the new text goes to a temporary file, to the disk, and then under its name. A line
of a log is there whole or not at all.
"""

import os
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

from schedlab.system import leftovers
from schedlab.system.terminal import detail

#: Threads extend the same log: one line after the other, or a failing one would cut off another's.
_extending = threading.Lock()


def replace(path: Path, content: bytes) -> None:
    """Put `content` under `path` so that a reader sees the old file or the whole new one, power loss included.

    A link stays, and the file that it names is replaced. A device, a pipe or a descriptor is written into.
    """
    if is_stream(path):
        with named(path), open(_stream(path), "wb", buffering=0) as stream:
            _write(stream, content)
        return
    path = Path(os.path.realpath(path))
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with named(path), open(temporary, "wb", buffering=0) as file:
            leftovers.mark_file(file.fileno())
            _write(file, content)
            os.fsync(file.fileno())
            leftovers.unmark_file(file.fileno())
        os.replace(temporary, path)
        detail(f"wrote {path}")
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def is_stream(path: Path) -> bool:
    """Whether this is the name of something other than a file: a device, a pipe, a descriptor. No file replaces it."""
    is_descriptor = os.path.abspath(path).startswith(("/dev/std", "/dev/fd/", "/proc/"))
    return os.path.exists(path) and (is_descriptor or not os.path.isfile(path))


def pour(file: Path, path: Path) -> None:
    """Write what is in a file into a stream."""
    import shutil

    with named(path), open(file, "rb") as source, open(_stream(path), "wb") as stream:
        shutil.copyfileobj(source, stream)


def _stream(path: Path) -> str | int:
    """What to open: of a descriptor of our own a copy, so that what it has been given already is not written over."""
    name = os.path.abspath(path)
    number = {"/dev/stdout": "1", "/dev/stderr": "2"}.get(name) or name.removeprefix("/dev/fd/")
    if not number.isdecimal():
        return name
    if number == "1":
        sys.stdout.flush()
    return os.dup(int(number))


def extend(path: Path, line: bytes) -> None:
    """Add a line to a log, all of it or nothing, and have it on the disk before going on."""
    with named(path), _extending, open(path, "ab", buffering=0) as log:
        before = log.tell()
        try:
            _write(log, line)
            os.fsync(log.fileno())
        except OSError:
            log.truncate(before)
            raise


def _write(file, content: bytes) -> None:
    """All of it: without a buffer, one call may write less."""
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]


@contextmanager
def named(path: Path):
    """Give errors the name of the file that they are of: the kernel does not report it for a full disk."""
    try:
        yield
    except OSError as why:
        raise OSError(why.errno, why.strerror, str(path)) from None
