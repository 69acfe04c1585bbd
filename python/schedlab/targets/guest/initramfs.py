"""Writes initial file systems for a guest's kernel: cpio archives of the kind "newc", byte for byte the same each time.

    a member    header (6 + 13 * 8 hexadecimal digits), name, zero byte, zeros to 4, contents, zeros to 4
    an archive  members, then one called TRAILER!!!
    archives    may follow each other: the kernel unpacks one after the other

Only what a kernel needs is in a header; owner and times are zero, numbers of files count from 1.
"""

import stat
from collections.abc import Mapping
from dataclasses import dataclass

MAGIC = b"070701"
TRAILER = "TRAILER!!!"
#: The kernel wants every header, and the contents of every file, at a multiple of this.
ALIGNMENT = 4


@dataclass(frozen=True)
class File:
    """A regular file."""

    contents: bytes
    executable: bool = False


def archive(files: Mapping[str, File]) -> bytes:
    """An archive of these files by their paths without a leading slash, with the folders that they need."""
    members = []
    for folder in sorted({parent for path in files for parent in _parents(path)}):
        members.append((folder, stat.S_IFDIR | 0o755, b""))
    for path, file in sorted(files.items()):
        members.append((path, stat.S_IFREG | (0o755 if file.executable else 0o644), file.contents))
    packed = [_member(name, number, mode, contents) for number, (name, mode, contents) in enumerate(members, 1)]
    return b"".join([*packed, _member(TRAILER, 0, 0, b"")])


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    if not all(part not in ("", ".", "..") for part in parts):
        raise ValueError(f"{path!r} is no path inside an archive")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _member(name: str, number: int, mode: int, contents: bytes) -> bytes:
    encoded = name.encode() + b"\0"
    links = 2 if stat.S_ISDIR(mode) else 1
    # Number, mode, owner, group, links, time, size, device and device described (two numbers each), name, checksum.
    fields = (number, mode, 0, 0, links, 0, len(contents), 0, 0, 0, 0, len(encoded), 0)
    header = MAGIC + b"".join(b"%08x" % field for field in fields)
    return _filled(header + encoded) + _filled(contents)


def _filled(data: bytes) -> bytes:
    return data + bytes(-len(data) % ALIGNMENT)
