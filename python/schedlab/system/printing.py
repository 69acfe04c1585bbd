"""What the command prints for programs, and where it may write files."""

from __future__ import annotations

import os

from schedlab.errors import UsageError
from schedlab.system import escaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

#: What every JSON document begins with, before the verb; and the version of all of them. It changes when a field is
#: removed or changes its meaning. Fields may be added in any version.
FORMATS, VERSION = "schedlab", 1
_verb = FORMATS


def begin(verb: str, inner: str = "") -> None:
    """The verb whose documents are printed from now on, and the verb within its group, if it is one."""
    global _verb
    _verb = f"{verb}-{inner}" if inner else verb


def versioned(value: dict[str, Any], name: str | None = None) -> dict[str, Any]:
    """A JSON document of that name, by default the verb's: it begins with what it is, and in which version."""
    return {"schema": f"{FORMATS}/{name or _verb}/{VERSION}"} | value


def print_json(value: dict[str, Any], name: str | None = None) -> None:
    """Print one JSON document of that name, by default the verb's."""
    print(escaped.json(versioned(value, name), indent=2))


def error_document(kind: str, status: int, message: str) -> str:
    """An error as a line of JSON, for standard error."""
    return escaped.json({"schema": f"{FORMATS}/error/{VERSION}", "kind": kind, "status": status, "message": message})


def refuse_several(**forms: bool) -> None:
    """Refuse more than one form of output, by their options."""
    named = [f"--{name}" for name, given in forms.items() if given]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)}: only one form can be printed; choose one of them")


def refuse_unwritable(**files: Path | None) -> None:
    """Refuse files that cannot be written, by their options, before hours of work go into them."""
    given = {option: path for option, path in files.items() if path is not None}
    if not given:
        return
    from pathlib import Path

    from schedlab.system.writing import is_stream

    for option, path in given.items():
        known = f"--{option} {path}"
        if is_stream(path) and not path.is_dir():
            if not os.access(path, os.W_OK):
                raise UsageError(f"{known}: permission denied")
            continue
        path = Path(os.path.realpath(path))
        if not path.parent.is_dir():
            raise UsageError(f"{known}: there is no folder {path.parent}")
        if path.is_dir():
            raise UsageError(f"{known}: is a folder")
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise UsageError(f"{known}: nothing may be written in the folder {path.parent}")
