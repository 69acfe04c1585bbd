"""`schedlab attend`: attention levels: the program in focus is served soon, work without attention later."""

from pathlib import Path
from typing import Annotated

import typer

NAME = "attend"
EXAMPLE = "schedlab attend --layout examples/attention/desktop.toml --for 10m"


def verb(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="Nothing: keep levels. status: the state of the one at work. focus PID: that process has it."
        ),
    ] = None,
    layout: Annotated[
        Path | None, typer.Option("--layout", help="The layout: levels, and which programs belong where.")
    ] = None,
    lasting: Annotated[
        str | None, typer.Option("--for", help="How long, such as 10m; until Ctrl-C if left out.")
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(
            "--every",
            help="Length of a period, 100ms to 1min; 2s if left out, longer where 0.1 % of a processor would not do.",
        ),
    ] = None,
    pid_file: Annotated[
        Path | None, typer.Option("--pid-file", help="A file with the number of the process in focus; it is watched.")
    ] = None,
    socket: Annotated[
        Path | None,
        typer.Option("--socket", help="The socket for commands; schedlab/attend below XDG_RUNTIME_DIR by default."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "--once", help="Change nothing; print which programs would be where.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Keep attention levels: nice values, slices and groups of programs by where the focus is and what they use.

    Everything is journalled first and put back at the end, also if this is killed.
    """
    from schedlab.direct import attended

    raise typer.Exit(attended.run(words, layout, lasting, every, pid_file, socket, dry_run, json))
