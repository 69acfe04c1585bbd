"""Empty file systems in pieces, for guests, which have no program to make one.

    a piece    an extent of the file system that is not all zero; its name is where it begins, in hexadecimal digits

Made by the host's mke2fs with every feature named, and without a clock or random numbers: the same bytes for the same
size, whatever the host's settings are.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from schedlab.errors import UsageError
from schedlab.targets.guest import cache

MAKER = "mke2fs"
#: What every kernel since 3.0 can mount, and no journal: its writes would be no task's.
FEATURES = "none,sparse_super,large_file,huge_file,filetype,dir_index,dir_nlink,ext_attr,extent,flex_bg,extra_isize"
#: Of the file system and of its folders' hashes; any will do.
IDENTITY = "5c4ed1ab-0000-4000-8000-000000000001"
#: Its moment of birth, s since 1970; a guest's clock begins then.
BORN = 1577836800
BLOCK = 4096
#: So much is looked at at a time, bytes.
EXTENT = 1 << 20


def pieces(size: int) -> dict[str, bytes]:
    """The pieces of an empty ext4 of that many bytes, by name."""
    folder = cache.folder() / "filesystems" / f"ext4-{size}"
    with cache.building(folder) as new:
        if new:
            _make(size, new)
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def _make(size: int, folder: Path) -> None:
    """Write the pieces into a folder."""
    program = shutil.which(MAKER) or shutil.which(MAKER, path="/sbin:/usr/sbin")
    if not program:
        raise UsageError(f"{MAKER} is not here, and a guest's drive needs an empty file system: install e2fsprogs")
    # An empty file of settings, so that only the options below count.
    environment = dict(os.environ) | {"MKE2FS_CONFIG": os.devnull, "E2FSPROGS_FAKE_TIME": str(BORN)}
    with tempfile.NamedTemporaryFile(prefix="schedlab-") as image:
        image.truncate(size)
        options = ["-q", "-F", "-t", "ext4", "-b", str(BLOCK), "-m", "0", "-I", "256", "-O", FEATURES, "-U", IDENTITY]
        more = ["-E", f"lazy_itable_init=0,nodiscard,root_owner=0:0,hash_seed={IDENTITY}", image.name]
        done = subprocess.run(
            [program, *options, *more], env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        if done.returncode:
            raise UsageError(f"{MAKER} could not make a file system of {size >> 20} MiB: {done.stderr.strip()}")
        with open(image.name, "rb") as made:
            for offset, contents in _extents(made.fileno(), size):
                (folder / f"{offset:x}").write_bytes(contents)


def _extents(file: int, size: int) -> list[tuple[int, bytes]]:
    """What is not zero, block by block, neighbours together."""
    found: list[tuple[int, bytes]] = []
    for at, block in _written(file, size):
        last, contents = found[-1] if found else (0, b"")
        if found and last + len(contents) == at:
            found[-1] = (last, contents + block)
        else:
            found.append((at, block))
    return found


def _written(file: int, size: int) -> Iterator[tuple[int, bytes]]:
    """The blocks that are not zero. Holes of the file are not looked at."""
    at = 0
    while at < size:
        try:
            at = os.lseek(file, at, os.SEEK_DATA) // BLOCK * BLOCK
        except OSError:
            return
        for offset in range(at, at + EXTENT, BLOCK):
            block = os.pread(file, BLOCK, offset)
            if block.strip(b"\0"):
                yield offset, block
        at += EXTENT
