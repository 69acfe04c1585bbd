"""`schedlab trace`: what happened in a recording of a kernel, task by task and processor by processor."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from schedlab.cli.forms import Csv, Form, Json, Markdown, chosen

if TYPE_CHECKING:
    from schedlab.traces.asked import Question

NAME = "trace"
EXAMPLE = "schedlab trace perf.data --from 1.2s --to 3s --group server=redis.*"


def verb(
    recording: Annotated[Path, typer.Argument(help="The recording; its format is recognised by its content.")],
    against: Annotated[
        Path | None,
        typer.Option("--against", help="Compare with this recording, or folder of results, by names and groups."),
    ] = None,
    by: Annotated[str | None, typer.Option("--by", help="What is a row: pid (default), comm, tgid or cgroup.")] = None,
    group: Annotated[
        list[str] | None,
        typer.Option("--group", help="Also report tasks whose whole name matches together: NAME=REGEX."),
    ] = None,
    task: Annotated[str | None, typer.Option("--task", help="Only tasks of this name or number.")] = None,
    cpu: Annotated[
        int | None, typer.Option("--cpu", min=0, max=65535, help="Only runs on this processor, waits that ended there.")
    ] = None,
    begin: Annotated[str | None, typer.Option("--from", help="From when, after the first event: 1.2s.")] = None,
    end: Annotated[str | None, typer.Option("--to", help="Until when, after the first event: 3s.")] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Rows of each table for the eye.")] = 20,
    perfetto: Annotated[
        Path | None, typer.Option("--perfetto", help="Write the recording as a trace for ui.perfetto.dev.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", help="Write one page: a timeline that zooms, distributions of waits, the worst waits."),
    ] = None,
    allow_loss: Annotated[
        bool, typer.Option("--allow-loss", help="Exit with 0 though the recording lacks events.")
    ] = False,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Explain a recording of a kernel: run time, wakeup latency, waits and their causes, by task and processor.

    Of drives: requests, their times from issue to completion, and how busy they were; blktrace has only these.
    Lost events are reported first, and the exit status is 3 then. Times are counted from the first event.
    """
    from schedlab.cli.output import refuse_unwritable
    from schedlab.errors import UsageError
    from schedlab.system.reading import refuse_unusual_but_pipes
    from schedlab.traces.asked import Question, check, explain, lacks, moment

    form = chosen(json, csv, markdown)
    by = by or ("comm" if against else "pid")
    question = Question(cpu, task, moment("--from", begin), moment("--to", end), by, tuple(group or ()), bool(against))
    check(question)
    if against and (perfetto or html):
        raise UsageError("--perfetto and --html are of one recording: leave them out, or --against")
    refuse_unwritable(perfetto=perfetto, html=html)
    from schedlab.traces.runs import are_runs

    runs = against if against and are_runs(against) else None
    files = [recording, *([against] if against and not runs else [])]
    for file in files:
        refuse_unusual_but_pipes(file, folders=True)
    if html:
        from schedlab.report import recorded

        found = [recorded.explained(recording, question, perfetto, html, top)]
    else:
        found = [explain(file, question, perfetto) for file in files]
    for file, one in zip(files, found, strict=True):
        _warn_of_empty_groups(file, one)
    if against:
        _compare(found, files, runs, form, top, question)
    else:
        _show(found[0], recording, form, top)
    if any(map(lacks, found)) and not allow_loss:
        from schedlab.system.status import LOST

        raise typer.Exit(LOST)


def _warn_of_empty_groups(file: Path, found: dict[str, Any]) -> None:
    """On standard error, in all forms: all numbers of such a group are zero, which may look like an answer."""
    from schedlab.system.terminal import insist

    for name, row in found["groups"].items():
        if not row["tasks"]:
            pattern = "the pattern has to match the whole name, as redis.* does"
            insist(f"warning: {file}: no task is in the group {name}: {pattern}")


def _show(found: dict[str, Any], recording: Path, form: Form, top: int) -> None:
    from schedlab.cli.output import print_json, print_notes, print_result
    from schedlab.traces import shown

    if form is Form.JSON:
        print_json({"recording": str(recording)} | found)
        return
    rows = found["tasks"]
    if form is Form.CSV:
        table = shown.everything(rows) if found["processors"] else shown.drives(found)
        print_result(form, table, [*shown.losses(found), *shown.notes(found, len(rows))])
        return
    print_notes([shown.head(recording, found), *shown.losses(found)])
    if not found["processors"]:
        print_result(form, shown.drives(found), list(shown.notes(found, len(rows))))
        return
    rows = rows[:top]
    groups = [row | {"pid": None} for row in found["groups"].values()]
    tables = [
        shown.tasks(rows, "tasks by run time"),
        shown.waits([*groups, *rows]),
        shown.sleeps([*groups, *rows]),
        *([shown.tasks(groups, "groups")] if groups else []),
        shown.processors(found),
        *([shown.drives(found)] if found["drives"] else []),
        shown.worst(found),
    ]
    for table in tables:
        print_result(form, table)
    print_result(form, shown.wakers(found, top), list(shown.notes(found, len(rows))))


def _compare(
    found: list[dict[str, Any]], files: list[Path], runs: Path | None, form: Form, top: int, question: "Question"
) -> None:
    from schedlab.cli.output import print_json, print_notes, print_result
    from schedlab.errors import UsageError
    from schedlab.traces import runs as of_runs
    from schedlab.traces import shown
    from schedlab.traces.against import compared, table

    if question.by != "comm":
        raise UsageError(f"--by {question.by}: two recordings are compared by names; leave out --by, or use --group")
    differences = of_runs.compared(found[0], runs, top) if runs else compared(*found, top)
    base = runs or files[1]
    said = [line for file, one in zip(files, found, strict=True) for line in _said(file, one)]
    if form is Form.JSON:
        print_json(
            {"recording": str(files[0]), "against": str(base), "differences": differences, "notes": said},
            "trace-against",
        )
        return
    if form is Form.TEXT:
        print_notes([shown.head(file, one) for file, one in zip(files, found, strict=True)])
    print_result(form, table(differences, f"{files[0]} compared with {base}, 95 % intervals"), said)


def _said(file: Path, found: dict[str, Any]) -> list[str]:
    from schedlab.traces import shown

    return [f"{file}: {line}" for line in (*shown.losses(found), *found["warnings"])]
