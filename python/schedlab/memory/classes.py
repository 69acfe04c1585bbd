"""Which runs are counted together: the program, and the class of its arguments.

    program   the name of the executable's file; of an interpreter the script behind it: `python3.11 build.py`
    class     the subcommand, for programs that have them, or what the first word that is no option is: <path>,
              <number>, <word>; then the names of the options in the order of the alphabet, each once
    forked    a process that executed nothing is of a class of its own: it begins with its parent's pages
    ?         its arguments are not known

Names in brackets are ours: a program whose own begins with one, or is a question mark, has `./` before it.

Values are dropped, and digits in long names of options replaced by #. Of `-pWORD` the letter is kept: what follows may
be a password. Only what is in a class is stored, never an argument as it was. `classes.toml` has the rules.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from schedlab.errors import UsageError
from schedlab.system import reading

SHIPPED = Path(__file__).parent / "classes.toml"
UNKNOWN, FORKED, OTHER = "?", "[forked]", "(other)"
#: Signs of a name, and options of a class, at most.
LONGEST, MOST_OPTIONS = 64, 12
_SUBCOMMAND = re.compile(r"[a-z][a-z-]{0,23}")
_LONG, _SHORT = re.compile(r"--[A-Za-z][A-Za-z0-9._-]{0,39}"), re.compile(r"[-+][A-Za-z0-9]")
#: What differs from run to run: long numbers, and hexadecimal ones with digits and letters.
_CHANGING = re.compile(r"(?<![0-9A-Za-z])(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{6,}(?![0-9A-Za-z])|\d{4,}")
#: How our own names begin, or what they are.
_OURS = re.compile(r"[\[(]|\?$")
_NUMBER = re.compile(r"[-+]?[\d.,:]+[A-Za-z%]{0,3}")


@dataclass(frozen=True)
class Rule:
    """How a program's arguments are read."""

    subcommand: bool = False
    valued: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rules:
    """All rules; names may end with *."""

    interpreters: tuple[str, ...]
    module: tuple[str, ...]
    inline: tuple[str, ...]
    multicall: tuple[str, ...]
    program: Mapping[str, Rule]

    def of(self, name: str) -> Rule:
        """The rule for a program of that name."""
        return next((rule for pattern, rule in self.program.items() if fnmatchcase(name, pattern)), Rule())


def rules(file: Path | None = None) -> Rules:
    """The rules of this package, with those of a file. Raises UsageError for what is no rule."""
    found = tomllib.loads(SHIPPED.read_text())
    if file:
        try:
            more = tomllib.loads(reading.text(file, reading.SMALL))
        except tomllib.TOMLDecodeError as why:
            raise UsageError(f"{file}: {why}") from None
        if unknown := more.keys() - found.keys():
            raise UsageError(f"{file}: no such table: {min(unknown)!r}; there are: {', '.join(found)}")
        # Rules of the file are looked at first.
        found = {name: {**more.get(name, {}), **_less(table, more.get(name, {}))} for name, table in found.items()}
    try:
        programs = {
            name: Rule(**{key: _typed(value) for key, value in of.items()}) for name, of in found["program"].items()
        }
        lists = {key: tuple(found["interpreters"][key]) for key in ("module", "inline")}
        return Rules(tuple(found["interpreters"]["names"]), **lists, multicall=tuple(found["multicall"]["names"]),
                     program=programs)  # fmt: skip
    except (TypeError, AttributeError, KeyError) as why:
        raise UsageError(
            f"{file}: a rule has subcommand (true or false) and the lists valued and keep: {why}"
        ) from None


def _less(table: dict, given: dict) -> dict:
    return {name: value for name, value in table.items() if name not in given}


def _typed(value: Any) -> bool | tuple[str, ...]:
    if isinstance(value, bool):
        return value
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise TypeError(f"{value!r} is neither true or false nor a list of words")


def named(path: str | None, name: str, arguments: Sequence[str] | None, forked: bool, rules: Rules) -> tuple[str, str]:
    """Program and class of a process: of its file, the name of its task, and its arguments."""
    program = _base(path or name)
    words = list(arguments or [])
    if words and any(fnmatchcase(program, pattern) for pattern in rules.multicall):
        program = _base(words[0].lstrip("-"))
        if any(fnmatchcase(program, pattern) for pattern in rules.multicall):
            words = words[1:]
            program = _base(words[0]) if words else program
    rest = words[1:]
    if any(fnmatchcase(program, pattern) for pattern in rules.interpreters) and rest:
        script, rest = _script(program, rest, rules)
        program = f"{program} {script}" if script else program
    found = UNKNOWN if arguments is None else _class(rest, rules.of(program.rpartition(" ")[2]))
    program = f"./{program}" if _OURS.match(program) else program
    return program, f"{found} {FORKED}".strip() if forked else found


def of_group(path: str) -> str:
    """The class of a control group: its path without what differs from run to run."""
    return "/".join(_steady(part) for part in path.split("/"))[: 2 * LONGEST]


def _base(path: str) -> str:
    return _steady(PurePosixPath(path).name or path) or UNKNOWN


def _steady(text: str) -> str:
    """A name without what differs from run to run, without blanks and control characters, and not too long."""
    return re.sub(r"[\s\x00-\x1f\x7f]+", "_", _CHANGING.sub("#", text))[:LONGEST]


def _script(program: str, words: list[str], rules: Rules) -> tuple[str, list[str]]:
    """The script that an interpreter runs, and the words behind it."""
    valued = rules.of(program).valued
    at = 0
    while at < len(words):
        word = words[at]
        # Letters may stand together: -xc, -uec.
        last = f"-{word[-1]}" if re.fullmatch(r"-[A-Za-z]+", word) else word
        if last in rules.inline:
            return last, words[at + 2 :]
        if last in rules.module and at + 1 < len(words):
            return f"{last} {_steady(words[at + 1])}", words[at + 2 :]
        if word == "-" or not word.startswith(("-", "+")):
            return _base(word), words[at + 1 :]
        at += 2 if word in valued else 1
    return "", []


def _class(words: list[str], rule: Rule) -> str:
    first, options = "", set()
    skip = False
    for at, word in enumerate(words):
        if skip:
            skip = False
        elif word == "--":
            first = first or (_kind(words[at + 1]) if at + 1 < len(words) else "")
            break
        elif word.startswith(("-", "+")) and len(word) > 1 and not _NUMBER.fullmatch(word):
            options.add(_option(word, rule))
            skip = word in rule.valued
        elif not first:
            first = word if rule.subcommand and _SUBCOMMAND.fullmatch(word) else _kind(word)
    kept = sorted(options)[:MOST_OPTIONS]
    return " ".join([*([first] if first else []), *kept])


def _option(word: str, rule: Rule) -> str:
    if word in rule.keep:
        return word
    if word.startswith("--"):
        found = _LONG.fullmatch(word.partition("=")[0])
        return re.sub(r"\d+", "#", _CHANGING.sub("#", found[0])) if found else "--?"
    found = _SHORT.match(word)
    return found[0] if found else "-?"


def _kind(word: str) -> str:
    if _NUMBER.fullmatch(word):
        return "<number>"
    return "<path>" if "/" in word or "." in word else "<word>"
