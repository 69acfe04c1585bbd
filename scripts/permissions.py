"""Give the files of an archive of the sources the permissions of the tree: `scripts/permissions.py dist/*.tar.gz`

maturin writes every file as one that cannot be run, and pip installs the command with the permissions that it has in
the archive.
"""

import copy
import os
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def restore(archive: Path) -> None:
    """Write the archive anew, whole or not at all."""
    made = archive.with_suffix(".part")
    with tarfile.open(archive) as old, tarfile.open(made, "w:gz") as new:
        for entry in old:
            file = ROOT / entry.name.partition("/")[2]
            kept = copy.copy(entry)
            if entry.isfile() and os.access(file, os.X_OK):
                kept.mode |= 0o111
            new.addfile(kept, old.extractfile(entry) if entry.isfile() else None)
    made.replace(archive)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        restore(Path(name))
