"""The command `schedlab`: one file a verb. A verb imports what it needs when it runs, so that the rest answer at once.

Exit status: 0 done, 1 done with runs in which tasks wait forever, 2 the user can correct it (one message on stderr),
70 a fault of schedlab, 130 stopped by Ctrl-C, 141 the output is not read any more.
"""

import functools
import os
import sys
from collections.abc import Callable

import typer

from schedlab.cli import (
    cache,
    describe,
    diagnose,
    guest,
    host,
    judge,
    list_,
    matrix,
    parity,
    report,
    reproduce,
    run,
    schema,
    time_,
    unseal,
    watch,
)
from schedlab.cli.ending import OF_STREAMS, command, flushed, pressed, unwritten
from schedlab.system import escaped
from schedlab.system.status import STOPPED
from schedlab.system.terminal import say

app = typer.Typer(
    name="schedlab",
    help="A lab for operating-system performance: ask in an experiment file, get a table with intervals.",
    epilog="Example: schedlab run examples/quantum.toml --set scheduler.slice=36ms",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

VERBS = (run, matrix, cache, list_, describe, reproduce, report, schema, parity, judge, unseal, watch, time_, diagnose)
for verb in VERBS:
    app.command(verb.NAME, epilog=f"Example: {verb.EXAMPLE}")(verb.verb)
app.add_typer(guest.app, name=guest.NAME, epilog=f"Example: {guest.EXAMPLE}")
app.add_typer(host.app, name=host.NAME, epilog=f"Example: {host.EXAMPLE}")


def _escaping(verb: Callable) -> Callable:
    """The verb, with all that it prints escaped: much of it is text of others."""

    @functools.wraps(verb)
    def wrapped(*arguments, **options):
        with escaped.streams():
            return verb(*arguments, **options)

    return wrapped


for _typer in (app, guest.app, host.app):
    for _entry in _typer.registered_commands:
        _entry.callback = _escaping(_entry.callback)


def _show_version(wanted: bool) -> None:
    if wanted:
        from schedlab._core import version

        print(f"schedlab {version()}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", help="Print the version.", callback=_show_version, is_eager=True),
) -> None:
    pass


def main() -> None:
    """Run the command; every error becomes one message and an exit status."""
    try:
        status = command(_run)
    except KeyboardInterrupt:
        # Pressed once more while the first one was being answered.
        os._exit(STOPPED)
    sys.exit(status)


def _run() -> int:
    """The verb, or help; gives the exit status."""
    try:
        # By its name, whatever started it: `python -m schedlab` is no command that a user typed.
        app(prog_name="schedlab")
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):
            # The library that writes help ends with a status of its own.
            return unwritten(end.__context__)
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 2
    except Exception as error:
        return _explain(error)
    return 0


def _explain(error: Exception) -> int:
    from schedlab._core import ScenarioError
    from schedlab.errors import Interrupted, Stopped, UsageError

    if isinstance(error, Interrupted | Stopped):
        say(str(error))
        # The engine may still be busy with the work in hand; it is not waited for.
        flushed()
        os._exit(STOPPED)
    if pressed():
        return STOPPED
    if isinstance(error, ScenarioError | UsageError):
        say(f"error: {error}")
        return 2
    if isinstance(error, OSError) and error.filename:
        say(f"error: {os.fsdecode(error.filename)}: {error.strerror}")
        return 2
    if isinstance(error, OSError) and error.errno in OF_STREAMS:
        return unwritten(error)
    if os.environ.get("SCHEDLAB_DEBUG"):
        raise error
    reason = str(error).partition("\n")[0]
    say(f"schedlab failed ({type(error).__name__}: {reason}); SCHEDLAB_DEBUG=1 shows where. Please report it.")
    return 70
