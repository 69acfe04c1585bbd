"""`schedlab time`: where the time of a command goes, or how two commands differ."""

from pathlib import Path
from typing import Annotated

import typer

from schedlab.cli.forms import Csv, Markdown

NAME = "time"
EXAMPLE = "schedlab time --repeat 10 -- sort data --versus sort -S 1G data"


def verb(
    command: Annotated[list[str], typer.Argument(help="After --: the command, or two with --versus between them.")],
    repeat: Annotated[int, typer.Option("--repeat", min=1, help="Runs of each command.")] = 1,
    warm_up: Annotated[int, typer.Option("--warm-up", min=0, help="Unmeasured runs before the measured ones.")] = 0,
    touch_nothing: Annotated[
        bool, typer.Option("--touch-nothing", help="Change no setting of the kernel, even if waits stay unknown.")
    ] = False,
    seed: Annotated[int | None, typer.Option("--seed", help="Random seed for the order of two commands.")] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON; what the command prints goes to standard error, as with --csv.")
    ] = False,
    csv: Csv = False,
    markdown: Markdown = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Write JSON to this file, or /dev/fd/N, and print only what the command does."
        ),
    ] = None,
) -> None:
    """Run a command and say where its time went: user, system, waiting for processor, disk and memory, asleep.

    The command's own output passes through. Two commands are run in interleaved random order and compared.
    The exit status is the command's if it is run once, else 0.
    """
    from schedlab.direct import timed

    raise typer.Exit(timed.run(command, repeat, warm_up, touch_nothing, seed, json, output, csv, markdown))
