"""What this program makes for a while, and removal of what a killed process has left of it. A name proves nothing.

a marker        a random number, the user, the process with its boot and start time, and the device and inode of what is
                marked: a copy or another of the same name is not it. In a folder it is a file, of a file an attribute.
is left         carries its own marker, belongs to this user, and its process is dead
"""

import json
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

#: The marker's file in a folder, the same as the agent's, and the attribute of a file.
FILE = ".schedlab-made"
ATTRIBUTE = "user.schedlab"
#: No marker is longer, bytes.
LONGEST = 4096


def mark(folder: Path) -> None:
    """Mark a new folder as this process's."""
    text = json.dumps(_of(folder.stat()) | {"id": os.urandom(8).hex()})
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with open(os.open(folder / FILE, flags, 0o600), "w") as file:
        file.write(text)


def unmark(folder: Path) -> None:
    """A folder that is to stay."""
    (folder / FILE).unlink(missing_ok=True)


def mark_file(file: int) -> None:
    """Mark a new file by its descriptor; where there are no attributes it stays without, and is never swept."""
    with suppress(OSError):
        os.setxattr(file, ATTRIBUTE, json.dumps(_of(os.fstat(file))).encode())


def unmark_file(file: int) -> None:
    """A file that is to stay."""
    with suppress(OSError):
        os.removexattr(file, ATTRIBUTE)


def remove_left(paths: Iterable[Path]) -> None:
    """Remove those folders and files that dead processes of this user have left."""
    for path in paths:
        if is_left(path):
            if path.is_dir():
                import shutil

                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def is_left(path: Path) -> bool:
    """Whether it carries its own marker, is this user's, and its process is dead."""
    try:
        about = path.lstat()
        if stat.S_ISDIR(about.st_mode):
            text = _read(path / FILE)
        elif stat.S_ISREG(about.st_mode):
            text = os.getxattr(path, ATTRIBUTE, follow_symlinks=False)
        else:
            return False
        marker = json.loads(text)
        own = _of(about)
        is_ours = all(marker[name] == own[name] for name in ("uid", "device", "inode")) and about.st_uid == own["uid"]
        return is_ours and not (marker["boot"] == own["boot"] and _start(int(marker["pid"])) == marker["start"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _read(marker: Path) -> bytes:
    file = os.open(marker, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        return os.read(file, LONGEST) if stat.S_ISREG(os.fstat(file).st_mode) else b""
    finally:
        os.close(file)


def _of(about: os.stat_result) -> dict[str, int | str | None]:
    """What a marker that this process makes says of something."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    process = {"boot": boot, "pid": os.getpid(), "start": _start(os.getpid())}
    return {"uid": os.geteuid(), "device": about.st_dev, "inode": about.st_ino, **process}


def _start(pid: int) -> int | None:
    """When a process began, in ticks since boot; none if there is none, or only what is left of it."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The name is in parentheses and may hold any byte. The state is field 3, the start time field 22.
    fields = text[text.rindex(b")") + 2 :].split()
    return None if fields[0] in (b"Z", b"X") else int(fields[19])
