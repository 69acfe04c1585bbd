"""`schedlab judge`: a person scores sessions without knowing which setting was at work."""

import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TextIO

import typer

from schedlab.cli.forms import Csv, Form, Json, Markdown, chosen

NAME = "judge"
EXAMPLE = "schedlab judge desktop.toml --sessions 4"

#: The longest that a Ctrl-C can go unnoticed while a person is asked.
WAIT_S = 0.2


def verb(
    file: Annotated[Path, typer.Argument(help="The experiment file; its duration is that of a session.")],
    sessions: Annotated[int, typer.Option(min=1, help="Sessions with each setting.")] = 4,
    best: Annotated[int, typer.Option(min=1, help="The best score; the worst is 0.")] = 10,
    out: Annotated[Path, typer.Option("--out", help="The folder of results.")] = Path("results"),
    set: Annotated[
        list[str] | None, typer.Option("--set", help="Override a field: --set scheduler.slice=36ms; may be repeated.")
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Agree to what the file runs and changes on this host; remembered.")
    ] = False,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Run every setting in random order while a person works at this machine, and ask for a score after each.

    Neither the person nor the screen knows the setting: it has a letter until `schedlab unseal`. The results are
    printed after the last score.
    """
    from schedlab.cli.output import print_json
    from schedlab.cli.run import as_json, show
    from schedlab.errors import UsageError
    from schedlab.experiment import Experiment
    from schedlab.run import effects
    from schedlab.run.trust import permit
    from schedlab.system.escaped import escaped
    from schedlab.system.terminal import insist, say
    from schedlab.targets.host.blinded import BlindedHost
    from schedlab.targets.host.conditions import Conditions
    from schedlab.targets.host.session import SCORE
    from schedlab.targets.host.target import Host

    form = chosen(json, csv, markdown)
    experiment = Experiment.from_toml(file, set=[*(set or []), f"seeds={sessions}"])
    for note in experiment.notes:
        say(f"{escaped(str(file))}: {note}")
    if not experiment.is_of_host:
        raise UsageError(
            f"{file}: its machine is simulated, and a person judges the machine in front of them: write machine = "
            '"host" (or --set machine=host), or compare simulated runs with: schedlab run'
        )
    permit(escaped(str(file)), effects.of(experiment.cells()), trust, insist)
    if _is_at_its_end(sys.stdin):
        raise UsageError(
            "standard input is at its end, so no session could be scored: start this in a terminal; scores that are "
            f"there are shown by: schedlab report {out}/NAME"
        )
    host = Host(Conditions(quiet_below=100.0, dirty=True), judge=lambda seen, session: asked(seen, session, best))
    results = experiment.run(out, targets=[BlindedHost(host, experiment, out)])
    results.metrics[:] = [SCORE, *results.metrics]
    if form is Form.JSON:
        print_json(as_json(results, []), name="run")
        return
    show(results, form)
    say(f"conclude from the letters, then: schedlab unseal {results.folder} --verdict ...")


def _is_at_its_end(stream: TextIO | None) -> bool:
    """Whether nothing will ever be read from it, as far as can be known without waiting; None is a closed one."""
    if stream is None:
        return True
    ready, _, _ = select.select([stream], [], [], 0)
    return bool(ready) and not stream.isatty() and not stream.buffer.peek(1)


def asked(seen: dict[str, str], session: int, best: int) -> float:
    """A person's score for the session just over; asked again until it is one. Ctrl-C and the end of input stop all."""
    while True:
        # A person may answer the moment that the question is seen.
        with _stoppable():
            typer.echo(f"session {session} is over: your score, 0 (worst) to {best}: ", nl=False, err=True)
            answer = _line()
        try:
            score = float(answer.replace(",", "."))
        except ValueError:
            score = -1.0
        if 0 <= score <= best:
            return score
        typer.echo(f"{answer!r} is no score: a number from 0 to {best}", err=True)


def _line() -> str:
    """The next line of input; its end counts as Ctrl-C.

    Python does not notice a Ctrl-C that comes between its last look and the call that waits for the line, so at a
    terminal each wait is short; there a line is ready as a whole.
    """
    while sys.stdin.isatty() and not select.select([sys.stdin], [], [], WAIT_S)[0]:
        pass
    line = sys.stdin.readline()
    if not line:
        raise KeyboardInterrupt
    return line.strip()


@contextmanager
def _stoppable() -> Iterator[None]:
    """Elsewhere Ctrl-C sets a flag that is looked at between two steps; there are none while a person is asked."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
