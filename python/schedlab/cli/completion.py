"""`schedlab completion`: what a shell needs to complete verbs, options and names."""

import json as json_text
import shlex
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

import typer

from schedlab.cli.verbs import GROUPS

NAME = "completion"
EXAMPLE = "schedlab completion bash > ~/.local/share/bash-completion/completions/schedlab"


class Shell(StrEnum):
    """Shells that are known."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def verb(shell: Annotated[Shell, typer.Argument(help="bash, zsh or fish.")]) -> None:
    """Print a completion script for a shell: bash, zsh or fish.

    bash: save it as ~/.local/share/bash-completion/completions/schedlab. zsh: as _schedlab in a folder of $fpath.
    fish: as ~/.config/fish/completions/schedlab.fish.
    """
    print({Shell.BASH: bash, Shell.ZSH: zsh, Shell.FISH: fish}[shell](), end="")


def known() -> dict[str, tuple[list[tuple[str, str]], list[tuple[str, str]]]]:
    """For each verb, as typed, its options and what may stand elsewhere, each with a text; no names: files."""
    from schedlab.cli import calling, verbs

    found = {}
    for name in verbs.SUMMARIES:
        page = calling.page(name)
        inner = dict(page.sections).get("Verbs", [])
        found[name] = _options(page), inner or _names(name)
        for verb_of_group, _ in inner:
            found[f"{name} {verb_of_group}"] = _options(calling.page(f"{name} {verb_of_group}")), []
    return found


def _options(page) -> list[tuple[str, str]]:
    """Each spelling of each option, without the name of its value."""
    terms = [entry for title, entries in page.sections if title not in ("Arguments", "Verbs") for entry in entries]
    spelled = [(word.strip().split()[0], text) for term, text in terms for word in term.split(",")]
    return [(word, text) for word, text in spelled if word.startswith("-")]


def _names(verb: str) -> list[tuple[str, str]]:
    """The names that a verb takes in place of files."""
    from schedlab._core import catalogue
    from schedlab.cli import list_, verbs
    from schedlab.published import reproductions

    rebuilt = [(name, reproductions.title(name)) for name in reproductions.names()]
    if verb == "describe":
        entries = {entry["name"]: entry for family in json_text.loads(catalogue()).values() for entry in family}
        return [(name, entry.get("summary") or "") for name, entry in entries.items()] + rebuilt
    return {
        "list": [(family, "") for family in list_.FAMILIES],
        "reproduce": rebuilt,
        "completion": [(shell.value, "") for shell in Shell],
        "man": list(verbs.SUMMARIES.items()),
    }.get(verb, [])


def _of_all() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    from schedlab.cli import manual, verbs

    return _options(manual.of_all()), list(verbs.SUMMARIES.items())


def bash() -> str:
    """The script for bash, 4 or newer."""

    def words(entries) -> str:
        return " ".join(dict.fromkeys(word for word, _ in entries))

    def case(name: str, options, names) -> str:
        return f"    {shlex.quote(name)}) options={shlex.quote(words(options))}; names={shlex.quote(words(names))} ;;"

    cases = [case("", *_of_all()), *(case(name, *what) for name, what in known().items())]
    return "\n".join(
        [
            "# Completion of schedlab for bash, by: schedlab completion bash",
            "_schedlab() {",
            '  local current="${COMP_WORDS[COMP_CWORD]}" verb="" options="" names=""',
            *_WHERE_BASH,
            '  case "$verb" in',
            *cases,
            "  esac",
            "  if [[ $current == -* ]]; then names=$options; fi",
            '  COMPREPLY=($(compgen -W "$names" -- "$current"))',
            "}",
            "complete -o default -o bashdefault -F _schedlab schedlab",
            "",
        ]
    )


#: Whether the first word is a group's: the next one is a verb of it.
_IN_GROUP = " || ".join(f"$verb == {group}" for group in GROUPS)
#: The verb, or the group and its verb, before the word at hand; after `--` comes a command of others.
_WHERE_BASH = [
    "  local place",
    "  for ((place = 1; place < COMP_CWORD; place++)); do",
    '    case "${COMP_WORDS[place]}" in',
    "      --) return ;;",
    "      -*) ;;",
    '      *) if [[ -z $verb ]]; then verb="${COMP_WORDS[place]}"',
    f'         elif [[ {_IN_GROUP} ]]; then verb="$verb ${{COMP_WORDS[place]}}"; fi ;;',
    "    esac",
    "  done",
]


def zsh() -> str:
    """The script for zsh."""

    def described(entries) -> str:
        def one(word: str, text: str) -> str:
            word, text = word.replace(":", r"\:"), " ".join(text.split())
            return shlex.quote(f"{word}:{text}" if text else word)

        return " ".join(one(word, text) for word, text in dict(entries).items())

    def case(name: str, options, names) -> str:
        return f"    {shlex.quote(name)}) options=({described(options)}); names=({described(names)}) ;;"

    cases = [case("", *_of_all()), *(case(name, *what) for name, what in known().items())]
    return "\n".join(
        [
            "#compdef schedlab",
            "# Completion of schedlab for zsh, by: schedlab completion zsh",
            "_schedlab() {",
            '  local verb="" word',
            "  local -a options names",
            '  for word in "${(@)words[2,CURRENT-1]}"; do',
            '    case "$word" in',
            "      --) _normal; return ;;",
            "      -*) ;;",
            '      *) if [[ -z $verb ]]; then verb="$word"',
            f'         elif [[ {_IN_GROUP} ]]; then verb="$verb $word"; fi ;;',
            "    esac",
            "  done",
            '  case "$verb" in',
            *cases,
            "  esac",
            "  if [[ ${words[CURRENT]} == -* ]]; then _describe -o option options",
            "  elif (( ${#names} )); then _describe name names",
            "  else _files; fi",
            "}",
            'if [[ ${funcstack[1]} == _schedlab ]]; then _schedlab "$@"; else compdef _schedlab schedlab; fi',
            "",
        ]
    )


def fish() -> str:
    """The script for fish."""

    def quoted(text: str) -> str:
        return "'" + " ".join(text.split()).replace("\\", "\\\\").replace("'", "\\'") + "'"

    def lines(name: str, options, names) -> Iterator[str]:
        here = f"complete -c schedlab -n {quoted(f'__schedlab_at {quoted(name)}')}"
        for word, text in dict(options).items():
            kind = f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}"
            yield f"{here} {kind} -d {quoted(text)}"
        for word, text in dict(names).items():
            yield f"{here} -f -a {quoted(word)} -d {quoted(text)}"

    every = {"": _of_all(), **known()}
    return "\n".join(
        [
            "# Completion of schedlab for fish, by: schedlab completion fish",
            "function __schedlab_at",
            "    set -l verb",
            "    for word in (commandline -opc)[2..-1]",
            "        switch $word",
            "            case --",
            "                return 1",
            "            case '-*'",
            "            case '*'",
            f"                if test (count $verb) -eq 0; or contains -- $verb[1] {' '.join(GROUPS)}",
            "                    set -a verb $word",
            "                end",
            "        end",
            "    end",
            '    test "$verb" = "$argv[1]"',
            "end",
            *(line for name, what in every.items() for line in lines(name, *what)),
            "",
        ]
    )
