"""`schedlab watch`: the counters of this host, live, as rows, or as means with a command's times."""

from typing import Annotated

import typer

NAME = "watch"
EXAMPLE = "schedlab watch --every 1s --tasks 10 --nice"


def verb(
    command: Annotated[list[str] | None, typer.Argument(help="A command to run and time: -- CMD ARGUMENTS")] = None,
    every: Annotated[str, typer.Option("--every", help="Time between samples, 10ms at least.")] = "1s",
    lasting: Annotated[
        str | None, typer.Option("--for", help="How long, such as 30s; until Ctrl-C if left out.")
    ] = None,
    csv: Annotated[str | None, typer.Option("--csv", help="Write rows to this file; - prints them.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON lines, a header first.")] = False,
    nice: Annotated[bool, typer.Option("--nice", help="Also report the loads of each nice level.")] = False,
    tasks: Annotated[
        int, typer.Option("--tasks", min=0, max=1000, help="Number of tasks to show, the largest users first.")
    ] = 0,
    by: Annotated[str, typer.Option("--by", help="What --tasks sorts by: cpu, memory or disk.")] = "cpu",
    cgroup: Annotated[
        list[str] | None, typer.Option("--cgroup", help="Also report this control group; may be repeated.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="One sample only.")] = False,
) -> None:
    """Watch processors, memory, drives, pressure and tasks of this host; or time a command and report the means."""
    from schedlab.direct import watched

    raise typer.Exit(watched.run(command, every, lasting, csv, json, nice, tasks, by, cgroup, once))
