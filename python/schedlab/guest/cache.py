"""Where guests' kernels, emulator and images are kept: `~/.cache/schedlab`, or below `XDG_CACHE_HOME`."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def folder() -> Path:
    """The folder; it is made."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(named) if os.path.isabs(named) else Path.home() / ".cache"
    path = base / "schedlab" / "guest"
    path.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def building(target: Path) -> Iterator[Path | None]:
    """A new folder to fill, which becomes `target` when it is full, or nothing; none, if `target` is there.

    Of two processes that want the same one, the second waits and then finds it there.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.parent / f".{target.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.exists():
            yield None
            return
        new = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            yield new
            new.chmod(0o755)
            new.rename(target)
        finally:
            shutil.rmtree(new, ignore_errors=True)


def write(target: Path, contents: bytes) -> None:
    """Write a file as a whole: whoever reads it finds all of it or none."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}-", delete=False) as new:
        try:
            new.write(contents)
            new.flush()
            os.replace(new.name, target)
        except BaseException:
            os.unlink(new.name)
            raise
