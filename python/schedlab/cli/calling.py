"""A verb as a command: its options and those of all verbs, its help, and what it prints, escaped."""

import functools
import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from schedlab.cli import manual, verbs
from schedlab.system import escaped, terminal

_SETTINGS = {"help_option_names": ["-h", "--help"]}
_COMMON = (
    inspect.Parameter(
        "quiet",
        inspect.Parameter.KEYWORD_ONLY,
        default=False,
        annotation=Annotated[bool, typer.Option("-q", "--quiet", help=manual.COMMON[0][1])],
    ),
    inspect.Parameter(
        "verbose",
        inspect.Parameter.KEYWORD_ONLY,
        default=False,
        annotation=Annotated[bool, typer.Option("-v", "--verbose", help=manual.COMMON[1][1])],
    ),
)


class Verb(TyperCommand):
    """A verb whose help is its manual's."""

    def format_help(self, ctx, formatter) -> None:
        """Write the help."""
        formatter.write(_help(self, ctx))


class Group(TyperGroup):
    """A verb with verbs of its own."""

    def format_help(self, ctx, formatter) -> None:
        """Write the help."""
        formatter.write(_help(self, ctx))


def _help(command: Any, context: Any) -> str:
    import sys

    from schedlab.tables.width import of_output

    return manual.as_help(manual.of_command(command, context), of_output(escaped.raw(sys.stdout)))


def command(verb: str) -> Any:
    """The command of a verb, ready to be called with words."""
    module = import_module(verbs.module(verb))
    if verb in verbs.GROUPS:
        app = module.app
        app.rich_markup_mode = None
        app.info.cls, app.info.epilog = Group, f"Example: {module.EXAMPLE}"
        app.info.context_settings = _SETTINGS
        for entry in app.registered_commands:
            if entry.cls is not Verb:
                entry.cls, entry.callback, entry.context_settings = Verb, _wrapped(entry.callback), _SETTINGS
    else:
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(verb, cls=Verb, epilog=f"Example: {module.EXAMPLE}", context_settings=_SETTINGS)(
            _wrapped(module.verb)
        )
    app._add_completion = False
    found = typer.main.get_command(app)
    found.name = verb
    return found


def page(verb: str) -> manual.Page:
    """The manual's page of a verb, or of one of a group's, as in "guest boot"."""
    name, _, inner = verb.partition(" ")
    found, path = command(name), f"schedlab {name}"
    context = found.make_context(path, [], resilient_parsing=True)
    if inner:
        found = found.commands[inner]
        context = found.make_context(inner, [], parent=context, resilient_parsing=True)
    return manual.of_command(found, context)


def run(verb: str, words: list[str]) -> int:
    """Call a verb with its words; gives the exit status."""
    done = command(verb)(args=words, prog_name=f"schedlab {verb}", standalone_mode=False)
    return done if isinstance(done, int) else 0


def _wrapped(verb: Callable) -> Callable:
    """The verb with the options of all verbs, and with all that it prints escaped: much of it is text of others."""

    @functools.wraps(verb)
    def wrapped(*arguments, quiet: bool, verbose: bool, **options):
        if quiet or verbose:
            terminal.set_level(terminal.VERBOSE if verbose else terminal.QUIET)
        with escaped.streams():
            return verb(*arguments, **options)

    signature = inspect.signature(verb, eval_str=True)
    wrapped.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *_COMMON])
    return wrapped
