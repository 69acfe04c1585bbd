"""Options of the verbs that start at once, as the command line gives them.

Only what is beyond doubt is read here. Everything else, help and errors included, is left to the command's own parser,
which declares the same options (`cli`); `tests/test_direct.py` holds the two to each other.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any


class Option:
    """An option with a value, or a flag: its name in Python, what reads the value, and the least one."""

    def __init__(
        self,
        name: str,
        read: Callable[[str], Any] | None = None,
        least: int | None = None,
        most: int | None = None,
        many: bool = False,
    ):
        """Keep them; without `read`, it is a flag."""
        self.name, self.read, self.least, self.most, self.many = name, read, least, most, many


def _path(text: str) -> Path:
    from pathlib import Path

    return Path(text)


#: For each verb its options by the words that a user writes.
OPTIONS: dict[str, dict[str, Option]] = {
    "time": {
        "--repeat": Option("repeat", int, least=1),
        "--warm-up": Option("warm_up", int, least=0),
        "--touch-nothing": Option("touch_nothing"),
        "--seed": Option("seed", int),
        "--json": Option("json"),
        "--csv": Option("csv"),
        "--markdown": Option("markdown"),
        "--output": Option("output", _path),
        "-o": Option("output", _path),
    },
    "watch": {
        "--every": Option("every", str),
        "--for": Option("lasting", str),
        "--csv": Option("csv", str),
        "--json": Option("json"),
        "--nice": Option("nice"),
        "--tasks": Option("tasks", int, least=0, most=1000),
        "--by": Option("by", str),
        "--cgroup": Option("cgroup", str, many=True),
        "--once": Option("once"),
    },
    "diagnose": {
        "--for": Option("lasting", str),
        "--every": Option("every", str),
        "--write": Option("write", _path),
        "--json": Option("json"),
        "--csv": Option("csv"),
        "--markdown": Option("markdown"),
    },
    "record": {
        "--output": Option("output", _path),
        "-o": Option("output", _path),
        "--for": Option("lasting", str),
        "--events": Option("events", str),
        "--size": Option("size", str),
        "--buffer": Option("buffer", str),
        "--plain": Option("plain"),
        "--allow-loss": Option("allow_loss"),
        "--json": Option("json"),
    },
    "attend": {
        "--layout": Option("layout", _path),
        "--for": Option("lasting", str),
        "--every": Option("every", str),
        "--pid-file": Option("pid_file", _path),
        "--socket": Option("socket", _path),
        "--dry-run": Option("dry_run"),
        "--once": Option("dry_run"),
        "--json": Option("json"),
    },
}
#: The verbs that take a command after `--`, and whether it may be left out.
COMMANDS = {"time": False, "watch": True, "record": True}


def read(words: list[str]) -> tuple[str, dict[str, Any]] | None:
    """The verb and its arguments by name; None if the words are not understood here."""
    verb, *rest = words or [""]
    options = OPTIONS.get(verb)
    if options is None:
        return None
    given: dict[str, Any] = {}
    while rest:
        word = rest.pop(0)
        if word == "--":
            given["command"] = rest
            break
        name, equals, value = word.partition("=")
        option = options.get(name)
        if option is None or (equals and not name.startswith("--")):
            return None
        if option.read is None:
            if equals:
                return None
            given[option.name] = True
            continue
        if not equals:
            if not rest or (rest[0].startswith("-") and rest[0] != "-"):
                return None
            value = rest.pop(0)
        if not _put(given, option, value):
            return None
    command = given.get("command")
    if ((command == [] or command is None) and COMMANDS.get(verb) is False) or (command and verb not in COMMANDS):
        return None
    return verb, {name: value for name, value in given.items() if value != []}


def _put(given: dict[str, Any], option: Option, text: str) -> bool:
    """Read a value; False if it is not one."""
    if not text or (option.read is int and not text.isdecimal()):
        return False
    value = option.read(text)
    if (option.least is not None and value < option.least) or (option.most is not None and value > option.most):
        return False
    if option.many:
        given.setdefault(option.name, []).append(value)
    else:
        given[option.name] = value
    return True
