"""`schedlab memory`: the largest memory of programs, recorded as processes end, and limits that follow from it."""

from pathlib import Path
from typing import Annotated

import typer

from schedlab.cli.forms import Csv, Form, Json, Markdown, chosen

NAME = "memory"
EXAMPLE = "schedlab memory record --for 1h"

app = typer.Typer(
    help="Record the largest memory of each program, suggest limits with a chosen share of breaches, and prove them "
    "by replay. Every verb has --json.",
    no_args_is_help=True,
)

Db = Annotated[
    Path | None,
    typer.Option("--db", help="The database: /var/lib/schedlab/memory.db, or in $XDG_STATE_HOME, unless it is named."),
]
Program = Annotated[
    str | None, typer.Argument(help="A program, or 'name*'; '[cgroup]': control groups. All by default.")
]
By = Annotated[str, typer.Option("--by", help="Count together: class (of arguments), or program.")]
Safety = Annotated[float, typer.Option("--safety", help="Share of runs that may exceed the limit.")]


@app.command("record", epilog="Example: schedlab memory record --for 1h")
def record(
    lasting: Annotated[str | None, typer.Option("--for", help="How long; without it, until Ctrl-C.")] = None,
    db: Db = None,
    every: Annotated[
        str, typer.Option("--every", help="Time between two looks at processes, where they have to be looked at.")
    ] = "50ms",
    polled: Annotated[
        bool, typer.Option("--polled", help="Look at processes also where the kernel would report their ends.")
    ] = False,
    rules: Annotated[
        Path | None, typer.Option("--rules", help="Rules for classes of arguments (TOML), before the built-in ones.")
    ] = None,
    json: Json = False,
) -> None:
    """Record the largest memory of every process that ends, until Ctrl-C; as root of all users, else of your own.

    Without root, processes are looked at every so often: peaks are lower bounds, and short runs are missed. Arguments
    are never stored, only their class. What was recorded is stored every second.
    """
    from schedlab.cli.output import print_json
    from schedlab.memory import store
    from schedlab.memory.history import lost
    from schedlab.memory.recording import record
    from schedlab.system.terminal import insist, say

    options = [f"--every={every}", *([f"--for={lasting}"] if lasting else []), *(["--polled"] if polled else [])]
    found = record(db or store.usual(), options, rules)
    if json:
        print_json(found._asdict() | {"database": str(found.database), "missing": list(found.missing)})
    own = "" if found.own_ns is None else f", {found.own_ns / 1e9:.2f} s of processor time"
    say(f"{found.database}: {found.processes:,} processes, {found.unknown:,} of unknown arguments{own}")
    for line in found.missing:
        say(f"not known: {line}")
    for line in lost(found.gaps, found.program_gaps):
        insist(line)


@app.command("show", epilog="Example: schedlab memory show git")
def show(
    program: Program = None,
    by: By = "class",
    db: Db = None,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Show the recorded peaks of each program and class of arguments: runs, largest, quantiles, versions."""
    from schedlab.cli.output import print_json, print_result
    from schedlab.memory import shown

    form, (path, history) = chosen(json, csv, markdown), _loaded(db, program, by)
    if form is Form.JSON:
        print_json({"database": str(path), "by": by} | shown.programs_document(history))
        return
    print_result(form, shown.programs(history, by), history.notes, first=True)


@app.command("suggest", epilog="Example: schedlab memory suggest 'python3* build.py' --safety 1e-3 --unit build")
def suggest(
    program: Program = None,
    safety: Safety = 1e-3,
    by: By = "class",
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit", help="Print a drop-in for this unit of systemd; for one program, or its own control group."
        ),
    ] = None,
    newest: Annotated[bool, typer.Option("--newest", help="Use runs of the newest known version alone.")] = False,
    db: Db = None,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Suggest limits that at most a chosen share of runs exceeds, and say how many breaches are expected.

    With too few runs for that share, the tail is extrapolated, and said to be. Where versions differ, use --newest.
    """
    from schedlab.cli.output import print_json, print_result
    from schedlab.errors import UsageError
    from schedlab.memory import advice, limits, shown
    from schedlab.memory.history import GROUP

    form = chosen(json, csv, markdown)
    limits.refuse_wrong_safety(safety)
    if unit is not None:
        advice.unit_name(unit)
        by = "class" if program == GROUP else "program"
    path, history = _loaded(db, program, by)
    groups = history.groups if unit is None else [advice.of_unit(history, program, unit)]
    each = [(group, advice.of(group, safety, newest)) for group in groups]
    found, without = [one for _, one in each if one], [group for group, one in each if not one]
    if not found:
        raise UsageError(f"{path}: {advice.without_memory(without)}")
    text = advice.drop_in(unit, found[0]) if unit is not None else None
    if form is Form.JSON:
        print_json({"database": str(path), "by": by} | shown.limits_document(found, without, safety, text))
    elif text and form is Form.TEXT:
        print(text, end="")
    else:
        notes = shown.limit_notes(found, without, safety, newest) + history.notes
        print_result(form, shown.limits(found, by, safety), notes, first=True)


@app.command("drift", epilog="Example: schedlab memory drift cc1 --by program")
def drift(
    program: Program = None,
    by: By = "class",
    db: Db = None,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Compare versions of programs: does a newer one need another amount of memory?"""
    from schedlab.cli.output import print_json, print_result
    from schedlab.memory import shown
    from schedlab.memory.drift import compared
    from schedlab.memory.history import processes

    form, (path, history) = chosen(json, csv, markdown), _loaded(db, program, by)
    found = compared(processes(history, program))
    if form is Form.JSON:
        print_json({"database": str(path), "by": by} | shown.drifts_document(found))
        return
    print_result(form, shown.drifts(found, by), shown.drift_notes(found) + history.notes, first=True)


@app.command("replay", epilog="Example: schedlab memory replay --safety 1e-2 --declared 512M --declared cc1=256M")
def replay(
    program: Program = None,
    safety: Safety = 1e-3,
    declared: Annotated[
        list[str] | None, typer.Option("--declared", help="A declared size: 512M for all, or PROGRAM=512M.")
    ] = None,
    by: By = "class",
    db: Db = None,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Replay the recorded history under limits known at the time: what they would have declared, saved and broken."""
    from schedlab.cli.output import print_json, print_result
    from schedlab.errors import UsageError
    from schedlab.memory import limits, shown
    from schedlab.memory.history import processes
    from schedlab.memory.replay import refuse_unknown, replay, sizes

    form = chosen(json, csv, markdown)
    limits.refuse_wrong_safety(safety)
    path, history = _loaded(db, program, by)
    groups, given = processes(history, program), sizes(declared or [])
    refuse_unknown(given, groups, "among those asked for" if program else "recorded")
    found = replay(groups, safety, given)
    if not all(one.runs for one in found.outcomes.values()):
        raise UsageError(f"{path}: no run has one before it; there is nothing to replay")
    if form is Form.JSON:
        print_json({"database": str(path), "by": by} | shown.replay_document(found, safety))
        return
    print_result(form, shown.replayed(found), shown.replay_notes(found) + history.notes, first=True)


def _loaded(db: Path | None, program: str | None, by: str):
    from schedlab.memory import history, store

    path = db or store.usual()
    return path, history.load(path, program, by)
