"""The command `schedlab`: one file a verb. A verb imports what it needs when it runs, so that the rest answer at once.

Exit status: 0 done, 2 the user can mend it (one message on stderr), 70 a fault of schedlab, 130 stopped by Ctrl-C.
"""

import os
import sys

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
        app()
    except Exception as error:
        sys.exit(_explain(error))


def _explain(error: Exception) -> int:
    from schedlab._core import ScenarioError
    from schedlab.errors import Interrupted, Stopped, UsageError

    if isinstance(error, Interrupted | Stopped):
        _say(str(error))
        # The engine may still be busy with the work in hand; nobody waits for it.
        sys.stdout.flush()
        os._exit(130)
    if isinstance(error, ScenarioError | UsageError):
        _say(f"error: {error}")
        return 2
    if isinstance(error, OSError) and error.filename:
        _say(f"error: {error.filename}: {error.strerror}")
        return 2
    if os.environ.get("SCHEDLAB_DEBUG"):
        raise error
    reason = str(error).partition("\n")[0]
    _say(f"schedlab failed ({type(error).__name__}: {reason}); SCHEDLAB_DEBUG=1 shows where. Please report it.")
    return 70


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
