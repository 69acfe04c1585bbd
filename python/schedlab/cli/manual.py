"""What there is to know of a verb, as `--help` prints it and as a manual page: both from one description."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from schedlab.cli import verbs
from schedlab.system.status import MEANINGS

#: Columns of a term before its text begins, at most; and of all help.
TERM, WIDEST = 30, 100
#: What stands for a value of each kind.
VALUES = {"str": "TEXT", "path": "PATH", "int": "N", "int range": "N", "float": "NUMBER", "float range": "NUMBER"}
#: Options that every verb has.
COMMON = (
    ("-q, --quiet", "Print errors only: no notes, no progress."),
    ("-v, --verbose", "Print which files are read and written, and the time taken."),
    ("-h, --help", "Show this message and exit."),
)


@dataclass
class Page:
    """The description of a verb: `sections` hold terms and their texts."""

    path: str
    usage: str
    paragraphs: list[str]
    sections: list[tuple[str, list[tuple[str, str]]]] = field(default_factory=list)
    example: str = ""


def statuses() -> list[tuple[str, str]]:
    """Every exit status and its meaning."""
    return [(str(status), meaning) for status, meaning in MEANINGS.items()]


def of_all() -> Page:
    """The page of the command itself; imports no verb."""
    listed = [(name, summary) for name, summary in verbs.SUMMARIES.items()]
    options = [("--version", "Print the version of the engine and the digest of its sources."), *COMMON]
    sections = [("Verbs", listed), ("Options", options), ("Exit status", statuses())]
    return Page("schedlab", "schedlab VERB [OPTIONS] ...", [verbs.ABOUT], sections, verbs.EXAMPLE)


def of_command(command: Any, context: Any) -> Page:
    """The page of a verb, from its options as they are declared."""
    arguments, options = [], {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if not record or parameter.name in ("quiet", "verbose", "help"):
            continue
        if parameter.param_type_name == "argument":
            arguments.append((_name(record[0].partition(" ")[0]), record[1]))
        else:
            named = (_spelled(record[0]), _bounds_spelled(record[1]))
            options.setdefault(getattr(parameter, "rich_help_panel", None) or "Options", []).append(named)
    listed = [(name, _first(command.commands[name].help)) for name in getattr(command, "commands", ())]
    options["Options"] = [*options.get("Options", []), *COMMON]
    sections = [("Arguments", arguments), ("Verbs", listed), *options.items()]
    pieces = " ".join(_name(piece) for piece in command.collect_usage_pieces(context))
    return Page(
        context.command_path,
        f"{context.command_path} {pieces}",
        [" ".join(part.split()) for part in (command.help or "").split("\n\n")],
        [section for section in sections if section[1]],
        (command.epilog or "").removeprefix("Example: "),
    )


def _name(argument: str) -> str:
    """An argument without the words that it may be: `SHELL` of `shell:<bash|zsh|fish>`."""
    return re.sub(r":<[^>]*>|[{}]", "", argument).upper()


def _spelled(term: str) -> str:
    """An option with its value as manual pages write it: `--set TEXT` of `--set <list[str]>`."""
    return re.sub(r"<(?:list\[)?([^\]>]+)\]?>", lambda kind: VALUES.get(kind[1], kind[1]), term)


def refusal(message: str) -> str:
    """What the library that reads options says of a value, in words: `0 is out of range: at least 1`."""
    out = r"is not in the range (\S+)$"
    message = re.sub(out, lambda bounds: f"is out of range: {_bounds_spelled(bounds[1])}", message)
    whole = {"integer": "a whole number", "int range": "a whole number"}
    kinds = r"is not a valid (integer|int range|float range|float)$"
    return re.sub(kinds, lambda kind: f"is not {whole.get(kind[1], 'a number')}", message)


def _bounds_spelled(text: str) -> str:
    """A description with bounds in words: `[at least 1]` of `[x>=1]`."""
    text = re.sub(r"(?<![\d=])x<=([\d.]+)", r"at most \1", text)
    return re.sub(r"x>=([\d.]+)", r"at least \1", re.sub(r"([\d.]+)<=x<=([\d.]+)", r"\1 to \2", text))


def _first(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split())


def as_help(page: Page, width: int) -> str:
    """The page for a terminal of that width."""
    width = max(40, min(width, WIDEST))
    lines = [f"Usage: {page.usage}", ""]
    for paragraph in page.paragraphs:
        lines += [*textwrap.wrap(paragraph, width), ""]
    for title, entries in page.sections:
        lines += [f"{title}:", *_entries(entries, width), ""]
    if page.path != "schedlab":
        lines += ["Exit statuses: schedlab --help"]
    if page.example:
        lines += [f"Example: {page.example}"]
    return "\n".join(lines) + "\n"


def _entries(entries: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """Terms with their texts next to them, or below those that are long."""
    column = min(TERM, max((len(term) for term, _ in entries), default=0)) + 4
    for term, text in entries:
        head = f"  {term}"
        if len(head) > column - 2:
            yield head
            head = ""
        yield from textwrap.wrap(
            text or " ",
            width,
            initial_indent=head.ljust(column),
            subsequent_indent=" " * column,
            break_on_hyphens=False,
        ) or [head]


def as_roff(page: Page, version: str) -> str:
    """The page for `man`."""
    name = page.path.replace(" ", "-")
    summary = page.paragraphs[0]
    lines = [
        f'.TH "{name.upper()}" "1" "" "schedlab {version}" "schedlab"',
        ".SH NAME",
        _roff(f"{name} - {summary[0].lower()}{summary[1:].rstrip('.')}"),
        ".SH SYNOPSIS",
        ".nf",
        _roff(page.usage),
        ".fi",
        ".SH DESCRIPTION",
    ]
    lines += [line for paragraph in page.paragraphs for line in (".PP", _roff(paragraph))][1:]
    sections = page.sections if page.path == "schedlab" else [*page.sections, ("Exit status", statuses())]
    for title, entries in sections:
        lines.append(f".SH {title.upper()}")
        for term, text in entries:
            lines += [".TP", f"\\fB{_roff(term)}\\fR", _roff(text)]
    if page.example:
        lines += [".SH EXAMPLE", ".nf", _roff(page.example), ".fi"]
    if page.path != "schedlab":
        lines += [".SH SEE ALSO", r"\fBschedlab\fR(1)"]
    return "\n".join(lines) + "\n"


def _roff(text: str) -> str:
    """Text that roff takes as it is: a line of it must not look like a request."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text.startswith((".", "'")) else text
