"""`schedlab record`: what the kernel does, as a trace.dat that trace-cmd and KernelShark read, too."""

from pathlib import Path
from typing import Annotated

import typer

NAME = "record"
EXAMPLE = "schedlab record -o server.dat --for 10s"


def verb(
    command: Annotated[
        list[str] | None, typer.Argument(help="After --: a command; recorded until it has ended.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The file to write, trace.dat by default; only you may read it."),
    ] = None,
    lasting: Annotated[
        str | None, typer.Option("--for", help="How long; without it, until the command has ended, or Ctrl-C.")
    ] = None,
    events: Annotated[
        str | None,
        typer.Option(
            "--events",
            help="Sets of events, with commas between them: sched,runtime,interrupts,timers,blocks (the default), "
            "syscalls, faults.",
        ),
    ] = None,
    size: Annotated[str, typer.Option("--size", help="Most bytes to record; it stops there and says so.")] = "1GiB",
    buffer: Annotated[
        str | None,
        typer.Option("--buffer", help="Size of the kernel's buffer for each processor, 16MiB on most hosts."),
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Do not compress the file.")] = False,
    allow_loss: Annotated[bool, typer.Option("--allow-loss", help="Lost events are no failure.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON; what the command prints goes to standard error.")
    ] = False,
) -> None:
    """Record what the kernel does, for other verbs, trace-cmd and KernelShark: switches, wakeups, interrupts, timers.

    Needs root, and changes no setting: it has a tracing instance of its own, which goes also if this is killed.
    The exit status is that of the command, or 3 if events were lost.
    """
    from schedlab.direct import recorded

    raise typer.Exit(recorded.run(command, output, lasting, events, size, buffer, plain, allow_loss, json))
