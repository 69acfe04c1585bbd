"""`schedlab advise`, for a person who has no file: see what is short, try settings that could matter, and say."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from schedlab.cli.forms import Csv, Form, Json, Markdown, chosen

if TYPE_CHECKING:
    from schedlab.observe.diagnose import Finding
    from schedlab.tune.tuning import Tuning

NAME = "advise"
EXAMPLE = "schedlab advise --budget 40 -- make -j4"


def verb(
    command: Annotated[
        list[str] | None, typer.Argument(help="What shall end sooner; without it, a load like the one that is seen.")
    ] = None,
    lasting: Annotated[
        str, typer.Option("--for", help="How long to watch, or how long the command is watched.")
    ] = "5s",
    budget: Annotated[int, typer.Option(min=1, help="Runs that may be made in all.")] = 60,
    within: Annotated[str | None, typer.Option(help="Accept levels within this share of the best: 2%.")] = None,
    write: Annotated[Path | None, typer.Option("--write", help="Only write the experiment to this file.")] = None,
    out: Annotated[Path, typer.Option("--out", help="The folder of results.")] = Path("results"),
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Find what this host is short of, try settings that could matter, and say which to set, or to leave it.

    Every change is journalled before it is made and taken back after its run; nothing is kept. A command is run again
    and again, so it has to do the same each time.
    """
    from schedlab.cli.output import print_json, refuse_unwritable
    from schedlab.errors import UsageError
    from schedlab.experiment import Experiment
    from schedlab.observe import remedy
    from schedlab.results import compared
    from schedlab.targets.host import control
    from schedlab.tune.document import document

    form = chosen(json, csv, markdown)
    refuse_unwritable(write=write)
    bound = compared.read_within(within) if within else None
    text = _text(command) if command else None
    findings = _watched(lasting, text)
    short = next((one for one in findings if one.short), None)
    said = _first_line(findings)
    definition = remedy.search(short, control.tunables([]), text)
    if definition is None:
        if write:
            raise UsageError(f"--write {write}: {said}; there is nothing to try")
        _print(said, "leave it: nothing is short that settings could help", json)
        return
    if write:
        from schedlab.system.toml import headed
        from schedlab.system.writing import replace

        replace(write, headed(definition, f"{said}\nschedlab tune {write} --budget {budget}").encode())
        _print(said, f"written: {write}; schedlab tune {write} --budget {budget} searches", json, write)
        return
    found = _tuned(Experiment.from_dict(definition, "advice"), budget, out, bound)
    if json:
        tuning = document(found)
        print_json({"seen": said, "advice": tuning["words"], "tuning": tuning, "written": None})
        return
    _show(found, said, form)


def _text(command: list[str]) -> str:
    """A command as the shell takes it: one word may be a whole line."""
    import shlex

    return command[0] if len(command) == 1 else shlex.join(command)


def _watched(lasting: str, command: str | None) -> "list[Finding]":
    """What is seen, while the command runs if there is one."""
    import subprocess

    from schedlab.direct import diagnosed

    running = None
    if command:
        running = subprocess.Popen(["sh", "-c", command], stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    try:
        findings, *_ = diagnosed.watch(lasting, "250ms")
        if running:
            running.wait()
    except KeyboardInterrupt:
        from schedlab.errors import Stopped

        raise Stopped("stopped while watching; nothing was changed") from None
    finally:
        if running and running.poll() is None:
            running.terminate()
            running.wait()
    if running and running.returncode:
        from schedlab.errors import UsageError

        raise UsageError(f"{command}: ended with status {running.returncode}; nothing was tried")
    return findings


def _first_line(findings: "list[Finding]") -> str:
    from schedlab.direct import diagnosed

    return diagnosed.first_line(findings)


def _tuned(experiment: Any, budget: int, out: Path, within: float | None) -> "Tuning":
    from schedlab.cli.output import progress_bar
    from schedlab.system.terminal import say
    from schedlab.targets.factory import targets
    from schedlab.targets.host.conditions import Conditions
    from schedlab.tune.tuning import tune

    # The host is busy with what is asked about.
    conditions = Conditions(dirty=True, patience=0.7)
    place = lambda part: targets("host", part, None, conditions, None, say)[0]  # noqa: E731
    with progress_bar(experiment.name) as progress:
        return tune(experiment, budget, place, out, within, progress=progress, tell=say)


def _show(found: "Tuning", said: str, form: Form) -> None:
    from schedlab.cli.output import print_compared
    from schedlab.tune import summary

    kept = "nothing was kept on this host"
    words = [said, *summary.words(found)]
    commands = summary.commands(found, "", found.chosen) if summary.recommended(found) else []
    print_compared(
        form,
        summary.front_table(found).but(title=found.experiment.question),
        words,
        [*summary.notes(found), *commands, kept],
        first=True,
    )


def _print(said: str, what: str, json: bool, written: Path | None = None) -> None:
    from schedlab.cli.output import print_json

    if json:
        print_json({"seen": said, "advice": [what], "tuning": None, "written": str(written) if written else None})
    else:
        print(f"{said}\n{what}")
