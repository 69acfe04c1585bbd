"""Which effects of experiment files a user has agreed to. They are asked about once, and then remembered by digest.

    <state>/trusted      a digest a line; <state> is $XDG_STATE_HOME/schedlab, /var/lib/schedlab for root,
                         or ~/.local/state/schedlab

What the project itself ships needs no agreement: `shipped.txt` has a digest of all effects of each of its examples
together, and what the reproductions and the parity suite run is started by their own verbs.
"""

import hashlib
import os
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from schedlab.errors import UsageError
from schedlab.run.effects import COMMAND, Effect
from schedlab.system import reading
from schedlab.system.writing import extend
from schedlab.targets.names import HOST

SHIPPED = Path(__file__).parent / "shipped.txt"


def record() -> Path:
    """The file in which this user's digests are."""
    named = os.environ.get("XDG_STATE_HOME", "")
    if os.path.isabs(named):
        return Path(named) / "schedlab" / "trusted"
    if os.geteuid() == 0:
        return Path("/var/lib/schedlab/trusted")
    return Path.home() / ".local" / "state" / "schedlab" / "trusted"


def unknown(effects: Sequence[Effect]) -> list[Effect]:
    """Those to which this user has not agreed."""
    if together([replace(effect, on="") for effect in effects]) in _digests(SHIPPED):
        return []
    known: set[str] = set()
    with suppress(FileNotFoundError):
        _refuse_of_others(record())
        known |= _digests(record())
    return [effect for effect in effects if effect.digest not in known]


def together(effects: Sequence[Effect]) -> str:
    """One digest for all of them, in whatever order."""
    return hashlib.sha256("\n".join(sorted(effect.digest for effect in effects)).encode()).hexdigest()


def remember(effects: Sequence[Effect]) -> None:
    """Never ask about these again."""
    path = record()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    _refuse_of_others(path)
    extend(path, "".join(f"{effect.digest}\n" for effect in effects).encode())


def permit(file: str, effects: Sequence[Effect], trusted: bool, say: Callable[[str], None], on: str = HOST) -> None:
    """Let effects happen that were agreed to on that host; else show them and ask, or refuse without a terminal.

    Commands are never asked about as root: the answer would be given too quickly. On another host they run as whom ssh
    logs in, which may be root.
    """
    new = unknown(effects)
    if not new:
        return
    if trusted:
        remember(new)
        return
    where, who = ("this machine", _who()) if on == HOST else (on, "the user that ssh logs in")
    say(f"{file} is a program. On {where}, as {who}, it would:")
    for effect in effects:
        say(f"  {'new  ' if effect in new else 'known'} {effect.kind:8} {effect.text}")
    if (os.geteuid() == 0 or on != HOST) and any(effect.kind == COMMAND for effect in new):
        of_whom = "as root" if on == HOST else f"on {on}"
        raise UsageError(f"{file}: it runs commands {of_whom} that were not run before; read them, then add --trust")
    if not sys.stdin.isatty():
        raise UsageError(f"{file}: not run before, and no terminal to ask on; read what it does, then add --trust")
    if not _agreed():
        raise UsageError(f"{file}: not run")
    remember(new)


def _agreed() -> bool:
    import typer

    try:
        return typer.confirm("Run it?", err=True)
    except typer.Abort:
        raise KeyboardInterrupt from None


def _who() -> str:
    return "root" if os.geteuid() == 0 else f"user {os.geteuid()}"


def _digests(path: Path) -> set[str]:
    return {line.split()[0] for line in reading.text(path, reading.OBJECT).splitlines() if line.strip()}


def _refuse_of_others(path: Path) -> None:
    """Refuse a record that another user may have written."""
    about = os.lstat(path)
    if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o022:
        raise UsageError(f"{path}: others may have written what you agreed to; remove it")
