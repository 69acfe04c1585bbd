"""The command `schedlab`: one file a verb.

A verb is imported when it is called, and imports what it needs when it runs, so that help and the rest answer at once.
Its exit statuses: `schedlab.system.status`.
"""

import os
import sys

from schedlab.system import printing, terminal
from schedlab.system.ending import OF_STREAMS, flushed, pressed, run_command, unwritten
from schedlab.system.status import DONE, FAULT, REFUSED, STOPPED
from schedlab.system.terminal import insist


def main() -> None:
    """Run the command; every error becomes one message and an exit status."""
    run_command(_run)


def _run() -> int:
    """The verb, or help; gives the exit status."""
    from schedlab.cli import verbs

    words = sys.argv[1:]
    while words and words[0] in _LEVELS:
        terminal.set_level(_LEVELS[words.pop(0)])
    try:
        if not words or words[0] in ("-h", "--help"):
            return _help(DONE if words else REFUSED)
        if words[0] == "--version":
            from schedlab._core import version

            print(f"schedlab {version()}")
            return DONE
        if words[0] not in verbs.SUMMARIES:
            return _refuse_unknown(words[0], verbs.SUMMARIES)
        return _called(words[0], words[1:])
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):
            # The library that writes help ends with a status of its own.
            return unwritten(end.__context__)
        return end.code if isinstance(end.code, int) else DONE if end.code is None else REFUSED
    except Exception as error:
        return explain(error)


_LEVELS = {
    "-q": terminal.QUIET,
    "--quiet": terminal.QUIET,
    "-v": terminal.VERBOSE,
    "--verbose": terminal.VERBOSE,
}


def _help(status: int) -> int:
    from schedlab.cli import manual
    from schedlab.tables.width import of_output

    print(manual.as_help(manual.of_all(), of_output(sys.stdout)), end="")
    return status


def _called(verb: str, words: list[str]) -> int:
    """Call a verb; gives the exit status."""
    from time import monotonic

    from schedlab.cli import verbs
    from schedlab.cli.calling import run

    if verb in verbs.GROUPS and not words:
        run(verb, ["--help"])
        return REFUSED
    printing.begin(verb, next((word for word in words if not word.startswith("-")), "") if verb in verbs.GROUPS else "")
    begun = monotonic()
    status = run(verb, words)
    terminal.detail(f"{verb}: {monotonic() - begun:.2f} s, exit status {status}")
    return status


def _refuse_unknown(word: str, verbs) -> int:
    from schedlab.errors import UsageError, nearest

    kind = "option" if word.startswith("-") else "verb"
    return explain(
        UsageError(f"no such {kind}: {word!r}; {nearest(word, verbs) if kind == 'verb' else 'schedlab --help'}")
    )


def explain(error: Exception) -> int:
    """Say what went wrong; gives the exit status."""
    from schedlab._core import ScenarioError
    from schedlab.errors import Interrupted, Stopped, UsageError

    if isinstance(error, Interrupted | Stopped):
        _report("stopped", STOPPED, str(error), plain=str(error))
        # The engine may still be busy with the work in hand; it is not waited for.
        flushed()
        os._exit(STOPPED)
    if pressed():
        return STOPPED
    if isinstance(error, ScenarioError | UsageError):
        return _report("refused", REFUSED, str(error))
    if isinstance(error, OSError) and error.filename:
        return _report("file", REFUSED, f"{os.fsdecode(error.filename)}: {error.strerror}")
    if hasattr(error, "format_message"):
        # Words that the library which reads options could not take.
        from schedlab.cli.manual import refusal

        context = getattr(error, "ctx", None)
        message = refusal(error.format_message().rstrip("."))
        return _report("usage", REFUSED, f"{message[:1].lower()}{message[1:]}", context)
    if type(error).__name__ == "Abort":
        return _report("stopped", STOPPED, "not answered", plain="not answered")
    if isinstance(error, OSError) and error.errno in OF_STREAMS:
        return unwritten(error)
    if os.environ.get("SCHEDLAB_DEBUG"):
        raise error
    reason = str(error).partition("\n")[0]
    message = f"schedlab failed ({type(error).__name__}: {reason}); SCHEDLAB_DEBUG=1 shows where. Please report it."
    return _report("fault", FAULT, message, plain=message)


def _report(kind: str, status: int, message: str, context=None, plain: str | None = None) -> int:
    """Print an error, as JSON if the verb was to print JSON; gives the exit status."""
    words = sys.argv[1:]
    before = words[: words.index("--")] if "--" in words else words
    if "--json" in before:
        insist(printing.error_document(kind, status, message))
        return status
    insist(plain or f"error: {message}")
    if context is not None:
        insist(f"see: {context.command_path} --help")
    return status
