"""`schedlab run`: an experiment file in, a table with intervals out. Long, because the verb declares every option."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli.executing import Address, Executor
from schedlab.cli.forms import Csv, Form, Json, Markdown, chosen

if TYPE_CHECKING:
    from schedlab.experiment import Experiment
    from schedlab.results import Results
    from schedlab.stats.comparison import Question
    from schedlab.tables import Table
    from schedlab.targets.host.conditions import Conditions
    from schedlab.targets.target import Target

NAME = "run"
EXAMPLE = "schedlab run examples/quantum.toml --set scheduler.ready_at=head --seeds 30"
HOST = "On a live host"
COMPARING = "Comparing"


def verb(
    file: Annotated[Path, typer.Argument(help="The experiment file (TOML), or a task set of rt-app (JSON).")],
    set: Annotated[
        list[str] | None, typer.Option("--set", help="Override a field: --set scheduler.slice=36ms; may be repeated.")
    ] = None,
    seeds: Annotated[int | None, typer.Option("--seeds", min=1, help="Number of seeds.")] = None,
    out: Annotated[Path, typer.Option("--out", help="The folder of results.")] = Path("results"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Run again what was run before.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Require existing results; finished runs are always reused.")
    ] = False,
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="Processors to use; all by default.")] = None,
    executor: Executor = None,
    address: Address = None,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            help="Write the first run for ui.perfetto.dev; as JSON if the name ends in .json, and as a recording for "
            "schedlab trace and whatif if in .recording.",
        ),
    ] = None,
    gantt: Annotated[
        Path | None,
        typer.Option(
            "--gantt", help="Draw a run around the first wakeup that waits longer than the median, as .svg or .txt."
        ),
    ] = None,
    begin: Annotated[str | None, typer.Option("--from", metavar="TIME", help="Where --gantt begins.")] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Where --gantt ends.")] = None,
    first: Annotated[float | None, typer.Option("--first", min=0.001, help="Seconds that --gantt draws.")] = None,
    cell: Annotated[
        str | None,
        typer.Option("--cell", help="Draw this cell, not the first: KEY=VALUE[,KEY=VALUE] of what is swept."),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(
            help="sim, sim:SCHEDULER, host, host@NAME (over ssh), guest:KERNEL, guest:KERNEL@PROCESSORS (noisy); side "
            "by side: sim:cfs,guest:5.10,6.1."
        ),
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Agree to what the file runs and changes on this host; remembered.")
    ] = False,
    progress: Annotated[
        bool,
        typer.Option(
            "--progress", help="Print finished runs on standard error, a line each time, if that is no terminal."
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the whole plan; run and write nothing.")] = False,
    write: Annotated[
        Path | None, typer.Option("--write", metavar="FILE", help="Write the experiment in TOML; run nothing.")
    ] = None,
    write_rt_app: Annotated[
        Path | None,
        typer.Option("--write-rt-app", metavar="FILE", help="Write it as a task set of rt-app (JSON); run nothing."),
    ] = None,
    over: Annotated[
        str | None,
        typer.Option(
            help="Sweep a field and compare with its first value: scheduler.name=cfs,eevdf; or on, the places of --on.",
            rich_help_panel=COMPARING,
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            help="Compare every cell with this one: KEY=VALUE[,KEY=VALUE] of what is swept.", rich_help_panel=COMPARING
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(help="Also say what is the same, or no worse, within this share: 2%.", rich_help_panel=COMPARING),
    ] = None,
    of: Annotated[
        str, typer.Option(help="What to compare of the repeats: mean, median, p90.", rich_help_panel=COMPARING)
    ] = "mean",
    until_known: Annotated[
        bool,
        typer.Option(
            "--until-known",
            help="Repeat pair by pair until every answer is known, at most --seeds times.",
            rich_help_panel=COMPARING,
        ),
    ] = False,
    svg: Annotated[
        Path | None,
        typer.Option(help="Draw the differences with their intervals.", rich_help_panel=COMPARING),
    ] = None,
    quiet_below: Annotated[
        float,
        typer.Option(
            min=0.0, help="Processor time of other programs, %, above which a run is disturbed.", rich_help_panel=HOST
        ),
    ] = 5.0,
    patience: Annotated[
        float, typer.Option(min=0.7, help="Longest wait for a quiet host before each run, s.", rich_help_panel=HOST)
    ] = 30.0,
    dirty: Annotated[
        bool, typer.Option("--dirty", help="Measure on a host that does not become quiet.", rich_help_panel=HOST)
    ] = False,
    warm_up: Annotated[
        int, typer.Option(min=0, help="Unmeasured runs of each cell before the measured ones.", rich_help_panel=HOST)
    ] = 0,
    drop_caches: Annotated[
        bool, typer.Option("--drop-caches", help="Drop the kernel's caches before each run.", rich_help_panel=HOST)
    ] = False,
    scratch: Annotated[
        Path | None, typer.Option(help="Folder for the files that tasks use, or loop:SIZE.", rich_help_panel=HOST)
    ] = None,
    blind: Annotated[
        bool, typer.Option("--blind", help="Hide settings under letters until schedlab unseal.", rich_help_panel=HOST)
    ] = False,
    no_record: Annotated[
        bool, typer.Option("--no-record", help="Do not record the scheduler's events.", rich_help_panel=HOST)
    ] = False,
) -> None:
    """Run an experiment file and print means with 95 % intervals; what was run before is not run again.

    The exit status is 1 if tasks of a run can never go on (a deadlock), and 2 if a metric that was asked for has no
    value in any run.
    """
    from schedlab.cli import comparing, executing
    from schedlab.cli.output import refuse_unwritable
    from schedlab.errors import UsageError
    from schedlab.experiment import Experiment
    from schedlab.results import read_baseline
    from schedlab.run import effects
    from schedlab.run.pictures import Shown, draw, refuse_impossible
    from schedlab.run.runner import placed
    from schedlab.run.trust import permit
    from schedlab.system.escaped import escaped
    from schedlab.system.terminal import insist, say
    from schedlab.targets.factory import targets
    from schedlab.targets.host.conditions import Conditions
    from schedlab.targets.names import is_live, named

    form = chosen(json, csv, markdown)
    pictures = _pictures(trace, gantt)
    refuse_unwritable(trace=trace, gantt=gantt, svg=svg, write=write, **{"write-rt-app": write_rt_app})
    experiment = Experiment.from_toml(file, set=[*(set or []), *([f"seeds={seeds}"] if seeds else [])])
    for note in experiment.notes:
        say(f"{escaped(str(file))}: {note}")
    if write or write_rt_app:
        return _write(experiment, write, write_rt_app)
    if over:
        experiment, baseline, on = comparing.over(experiment, over, baseline, on)
    question = comparing.question(within, of, until_known, baseline, svg)
    if resume:
        _refuse_beginning(experiment.name, out, fresh)
    conditions = Conditions(quiet_below, patience, "off" if no_record else "auto", scratch, warm_up, drop_caches, dirty)
    names = named(on, experiment)
    cluster = executing.cluster(executor, address, threads, names)
    if dry_run:
        return _show_plan(experiment, names, conditions, file, blind, form)
    for name in filter(is_live, names):
        permit(escaped(str(file)), effects.of(experiment.cells(), name), trust, insist, name)
    where = executing.on(cluster, targets(on, experiment, threads, conditions, out if blind else None, say))
    refuse_impossible(pictures, where[0])
    shown = Shown(cell, begin, end, first)
    if pictures:
        # A wrong time or cell is refused before the runs.
        shown.of(placed(experiment, where))
        shown.stretch()
    elif cell or begin or end:
        raise UsageError("--from, --to and --cell say what is drawn: add --gantt FILE.svg, or for --cell --trace")
    if baseline:
        read_baseline(baseline, [cell.factors for cell in placed(experiment, where)])
    with executing.connected(cluster):
        if until_known:
            in_turns = not all(target.repeatable for target in where)
            some = lambda part, **how: _run(part, out, threads, where, lines=progress, **how)  # noqa: E731
            results = comparing.until_known(experiment, fresh, some, in_turns, baseline, question)
        else:
            results = _run(experiment, out, threads, where, fresh, lines=progress)
    drawn = [(path, kind, draw(experiment, where, path, kind, shown)) for path, kind in pictures]
    which = f"the cell {escaped(cell)}" if cell else "the first cell"
    said = [(path, kind, ", ".join(filter(None, [which, stretch and str(stretch)]))) for path, kind, stretch in drawn]
    _tell(results, said, baseline, question, form, svg)
    return _judge(results, unrecorded=no_record and any(map(is_live, names)))


def _write(experiment: "Experiment", toml: Path | None, rt_app: Path | None) -> None:
    """Write the experiment as it was read. Both texts are made before a file is written."""
    from schedlab.system.writing import replace

    texts = [(path, experiment.written(format)) for path, format in ((toml, "toml"), (rt_app, "rt-app")) if path]
    for path, text in texts:
        replace(path, text.encode())
        print(path)


def _show_plan(
    experiment: "Experiment", names: list[str], conditions: "Conditions", file: Path, blind: bool, form: Form
) -> None:
    """Print what would be run, set and made."""
    from schedlab.cli.output import print_json
    from schedlab.errors import UsageError
    from schedlab.run import plan

    if blind:
        raise UsageError("--dry-run shows the settings that --blind hides: leave out one of them")
    if form in (Form.CSV, Form.MARKDOWN):
        raise UsageError(f"--dry-run prints a plan, which is no table: leave out {form.value}, or use --json")
    found = plan.document(experiment, names, conditions)
    if form is Form.JSON:
        print_json(found, name="plan")
    else:
        print("\n".join(plan.lines(found, file)))


def _judge(results: "Results", unrecorded: bool) -> None:
    """Report what no table may hide: requested numbers that are missing, and tasks that wait forever.

    `unrecorded`: the user wanted no events recorded, and numbers that need them are left out.
    """
    from schedlab.errors import UsageError
    from schedlab.system.status import FOUND
    from schedlab.system.terminal import say

    if results.missing and unrecorded:
        say(f"left out, since nothing was recorded: {', '.join(one.partition(';')[0] for one in results.missing)}")
    elif results.missing:
        raise UsageError(f"{results.name}: no run has {'; nor '.join(results.missing)}")
    if results.stuck:
        raise typer.Exit(FOUND)


def _tell(
    results: "Results",
    pictures: list[tuple[Path, str, str]],
    baseline: str | None,
    question: "Question",
    form: Form,
    svg: Path | None,
) -> None:
    """Print the results, and draw what differs. CSV has one table: the differences if a baseline was named."""
    from schedlab.cli import comparing

    found = comparing.differences(results, baseline, question) if baseline else None
    if svg:
        comparing.draw(results, found, baseline, question, svg)
    if form is Form.JSON:
        from schedlab.cli.output import print_json

        print_json(as_json(results, pictures) | comparing.document(results, found, baseline, question, svg))
        return
    if found is None or form is not Form.CSV:
        show(results, form, pictures)
    if found is not None:
        comparing.show(results, found, baseline, question, form, svg)


def _refuse_beginning(name: str, out: Path, fresh: bool) -> None:
    """Refuse --resume where nothing was begun."""
    from schedlab.errors import UsageError
    from schedlab.results import manifest

    if fresh:
        raise UsageError("--resume requires existing results, and --fresh discards them: leave out one of them")
    if not any((folder / manifest.NAME).exists() for folder in out.glob("*") if folder.name.startswith(f"{name}-")):
        raise UsageError(f"--resume: {out} has nothing of {name} to go on with; leave out --resume to begin")


def _pictures(trace: Path | None, gantt: Path | None) -> list[tuple[Path, str]]:
    from schedlab.errors import UsageError

    kinds = {".svg": "gantt_svg", ".txt": "gantt_text"}
    if gantt and gantt.suffix not in kinds:
        raise UsageError(f"--gantt {gantt}: the name must end in .svg or .txt")
    format = {".json": "chrome", ".recording": "recording"}.get(trace.suffix if trace else "", "perfetto")
    wanted = [(trace, format), (gantt, kinds[gantt.suffix] if gantt else "")]
    return [(path, kind) for path, kind in wanted if path]


def _run(
    experiment: "Experiment",
    out: Path,
    threads: int | None,
    targets: "list[Target]",
    fresh: bool,
    enough: "Callable[[Results], bool] | None" = None,
    lines: bool = False,
) -> "Results":
    """Run it, with a bar on a terminal; elsewhere with lines, if they are wanted."""
    from schedlab.cli.output import progress_bar, progress_lines
    from schedlab.system.terminal import say

    if not sys.stderr.isatty():
        return experiment.run(out, threads, fresh, progress_lines() if lines else None, targets, say, enough)

    with progress_bar(experiment.name) as progress:
        return experiment.run(out, threads, fresh, progress, targets, say, enough)


def show(results: "Results", form: Form = Form.TEXT, pictures: Sequence[tuple[Path, str, str]] = ()) -> None:
    """Print the table of means with their intervals, and what may mislead."""
    from schedlab.cli.output import print_result
    from schedlab.report.warnings import gathered
    from schedlab.units import counted

    table, others = results.summary_tables()
    seeds, total = len(results.seeds), len(results.manifest["cells"]) * len(results.seeds)
    over = "mean ± half of the 95 % interval over" if results.repeats > 1 else "no interval:"
    total -= results.skipped
    runs = f"{counted(results.computed, 'run')} ({total - results.computed} known before)"
    lines = [f"{over} {counted(seeds, 'seed')}; {runs}; {results.folder}"]
    lines += [f"note: {note}" for note in results.notes]
    lines += [f"ignored on {target}: {'; '.join(ignored)}" for target, ignored in results.ignored.items()]
    for text, found in gathered(results.warnings).items():
        lines.append(f"warning: {text} ({found} of {counted(total, 'run')})")
    for path, kind, what in pictures:
        lines.append(f"{kind} of seed {results.seeds[0]} of {what}: {path}{_which_run(results)}")
    if form is Form.CSV:
        table = _with_notes(results, table)
    print_result(form, table.but(title=results.manifest["question"]), lines, others, first=True)


def _with_notes(results: "Results", table: "Table") -> "Table":
    """A last column with the warnings of each row, if any row has one: a reader of the CSV may not see the others."""
    from schedlab.report.warnings import gathered
    from schedlab.tables import Cell, Column, Table

    of: dict[str, list[dict]] = {}
    for one in results.warnings:
        of.setdefault(one["scenario"], []).append(one)
    notes = [" | ".join(gathered(of.get(cell["scenario"], ()))) for cell in results.manifest["cells"]]
    if not any(notes):
        return table
    rows = [[*row, Cell(note)] for row, note in zip(table.rows, notes, strict=True)]
    return Table([*table.columns, Column("notes", prose=True)], rows)


def _which_run(results: "Results") -> str:
    """What a picture shows, where it is not the run of the table."""
    target = results.manifest["cells"][0]["on"]
    return f" (a run of its own: {target} is noisy)" if target in results.noisy else ""


def as_json(results: "Results", pictures: list[tuple[Path, str, str]]) -> dict:
    """What --json prints."""

    shown = results.shown_metrics
    measured: dict[str, dict] = {cell["scenario"]: {} for cell in results.manifest["cells"]}
    for row in results.entries():
        if row["metric"] in shown:
            numbers = {key: row[key] for key in ("unit", "n", "mean", "low", "high")}
            measured[row["scenario"]][row["metric"]] = numbers
    total = len(measured) * len(results.seeds)
    known = total - results.computed - results.skipped
    return {
        "experiment": results.name,
        "question": results.manifest["question"],
        "folder": str(results.folder),
        "runs": {"total": total, "computed": results.computed, "known": known, "skipped": results.skipped},
        "cells": [
            {"factors": cell["factors"], "scenario": cell["scenario"], "metrics": measured[cell["scenario"]]}
            for cell in results.manifest["cells"]
        ],
        "noisy": results.noisy,
        "notes": results.notes,
        "ignored": results.ignored,
        "warnings": results.warnings,
        "pictures": [{"kind": kind, "path": str(path)} for path, kind, _ in pictures],
    }
