"""Reads the files that a user names: only ordinary ones, only up to a limit, only as UTF-8 where text is wanted.

A device has no end, a pipe none that is known, and opening one may wait forever; so a file is opened without waiting,
looked at, and refused before a byte of it is read.
"""

import json as json_text
import os
import re
import stat
from pathlib import Path
from typing import Any

from schedlab.errors import UsageError
from schedlab.system.terminal import detail

MIB = 1 << 20
#: Largest file of each kind, bytes.
EXPERIMENT, MANIFEST, LOG, SMALL, OBJECT = 4 * MIB, 256 * MIB, 1024 * MIB, MIB, 64 * MIB
#: How JSON spells half of a character of two halves.
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_KINDS = {
    stat.S_ISDIR: "a folder",
    stat.S_ISFIFO: "a pipe (FIFO)",
    stat.S_ISCHR: "a device",
    stat.S_ISBLK: "a device",
    stat.S_ISSOCK: "a socket",
}
_WRITTEN = "write what comes through it to a file, and name that"


def data(path: str | Path, most: int) -> bytes:
    """The bytes of an ordinary file of at most `most` bytes. OSError if it cannot be opened, else UsageError."""
    with os.fdopen(_opened(path), "rb", buffering=0) as file:
        # Its size may be reported wrongly (/proc) or grow meanwhile, so the limit is on what is read.
        pieces, left = [], most + 1
        while left and (piece := file.read(min(left, MIB))):
            pieces.append(piece)
            left -= len(piece)
    detail(f"read {path}")
    if not left:
        raise UsageError(f"{path}: is longer than {_spelled(most)}, the most that is read of such a file")
    return b"".join(pieces)


def text(path: str | Path, most: int) -> str:
    """The text of an ordinary file, which must be UTF-8."""
    found = data(path, most)
    try:
        return found.decode()
    except UnicodeDecodeError as why:
        byte = found[why.start]
        raise UsageError(f"{path}: is not UTF-8: byte {why.start} (from 0) is 0x{byte:02x}; save it as UTF-8") from None


def json(path: str | Path, most: int, remedy: str) -> Any:
    """The document in an ordinary file; `remedy` is what to do if it is damaged."""
    return document(text(path, most), path, remedy)


def document(found: str | bytes, path: str | Path, remedy: str) -> Any:
    """What JSON says, read from that file. Its texts can be written as UTF-8: no half of a character is alone."""
    try:
        spelled = found if isinstance(found, str) else found.decode()
        read = json_text.loads(spelled)
        if _HALF.search(spelled):
            json_text.dumps(read, ensure_ascii=False).encode()
        return read
    except UnicodeEncodeError:
        raise UsageError(f"{path} is damaged (half of a character, a lone surrogate, is in a text); {remedy}") from None
    except (ValueError, RecursionError) as why:
        raise UsageError(f"{path} is damaged ({why}); {remedy}") from None


def refuse_unusual(path: str | Path) -> None:
    """Refuse what is no ordinary file, before others open it."""
    os.close(_opened(path))


def refuse_unusual_but_pipes(path: str | Path, folders: bool = False) -> None:
    """As `refuse_unusual`, but what a command writes, as in <(zcat x) and on standard input, is read as it comes.

    A pipe with a name is refused: opening one waits, perhaps forever, for a program that writes into it. With
    `folders`, a folder is left to its reader, which looks at each file in it.
    """
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        is_read = os.readlink(f"/proc/self/fd/{descriptor}").startswith("pipe:") or (folders and stat.S_ISDIR(mode))
        if not is_read and stat.S_ISFIFO(mode):
            raise UsageError(f"{path}: is a pipe with a name; give it as <(cat {path}), or name an ordinary file")
    finally:
        os.close(descriptor)
    if not is_read:
        refuse_unusual(path)


def _opened(path: str | Path) -> int:
    # A pipe without a writer would wait here, and a terminal could become that of this process.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    what = next((name for test, name in _KINDS.items() if test(mode)), "no ordinary file")
    raise UsageError(f"{path}: is {what}; {_WRITTEN if stat.S_ISFIFO(mode) else 'name an ordinary file'}")


def _spelled(size: int) -> str:
    return f"{size // MIB} MiB"
