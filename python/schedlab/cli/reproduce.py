"""`schedlab reproduce`: published results compared with ours, with verdicts."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli.forms import Csv, Form, Json, Markdown, chosen

if TYPE_CHECKING:
    from schedlab.published.kernels import Outcome as OfKernels
    from schedlab.published.reproduction import Outcome
    from schedlab.tables import Table

NAME = "reproduce"
EXAMPLE = "schedlab reproduce minix-1990 --html minix-1990.html"

_STYLES = {
    "missed": "bold red",
    "does not hold": "bold red",
    "predicted": "green",
    "fitted": "green",
    "holds": "green",
    "holds in part": "yellow",
    "not shown": "yellow",
    "not modelled": "yellow",
    "not checked": "yellow",
}


def verb(
    names: Annotated[list[str] | None, typer.Argument(help="Reports; all by default.")] = None,
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=2, help="Runs of each row, each with a random phase of its own.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="The folder of results.")] = Path("results"),
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="Processors to use; all by default.")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write one self-contained page with pictures.")] = None,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
    on: Annotated[
        str,
        typer.Option(
            "--on",
            help="sim: rebuild what was printed. host, or sim,host: ask the kernel at hand. guest:6.1, or "
            "sim,guest:6.1,7.2: ask kernels in guests; guest:6.1@2, one of two processors (noisy).",
        ),
    ] = "sim",
    dirty: Annotated[bool, typer.Option("--dirty", help="Measure on a host that does not become quiet.")] = False,
) -> None:
    """Rebuild published results: claim, published, predicted with its 95 % interval, error, verdict.

    With --on host or --on guest:KERNEL the same questions are asked of a present kernel.
    --csv prints the rows of all reports, or the results of all experiments; claims are in the other forms.
    """
    from schedlab.cli.output import refuse_unwritable
    from schedlab.published import reproductions

    form = chosen(json, csv, markdown)
    refuse_unwritable(html=html)
    if on != "sim":
        return _ask_kernels(names, on, seeds, out, dirty, form, html)
    from schedlab.cli.output import print_json, print_result, progress_bar
    from schedlab.published.reproduction import reproduce
    from schedlab.report.reproduced import rows_table

    reports = names or reproductions.names()
    for name in reports:
        reproductions.folder(name)
    options = {"out": out, "seeds": seeds, "threads": threads, "progress": progress_bar}
    outcomes = []
    for name in reports:
        outcomes.append(reproduce(name, options))
        if form in (Form.TEXT, Form.MARKDOWN):
            _print(outcomes[-1], form)
            sys.stdout.flush()
    if html:
        from schedlab.report.reproduced import write

        write(outcomes, html)
    if form is Form.JSON:
        documents = [outcome.as_json() for outcome in outcomes]
        print_json(documents[0] if len(documents) == 1 else {"reports": documents})
    elif form is Form.CSV:
        print_result(form, rows_table(outcomes, {}, named=True), [note for one in outcomes for note in one.notes()])
    else:
        _print_scores(outcomes, form, html)
    return None


def _ask_kernels(names, on: str, seeds: int | None, out: Path, dirty: bool, form: Form, html: Path | None) -> None:
    from schedlab.cli.output import print_json, progress_bar
    from schedlab.errors import UsageError
    from schedlab.published import kernels
    from schedlab.targets.host.conditions import Conditions

    if html:
        raise UsageError("--html is for the rebuilt reports; the live versions are printed: leave out --html or --on")
    options = {"on": on, "seeds": seeds, "out": out, "conditions": Conditions(dirty=dirty), "progress": progress_bar}
    done = [kernels.ask_again(name, **options) for name in names or kernels.names(kernels.version_for(on))]
    if form is Form.JSON:
        print_json({"reports": [_json_of_kernels(one) for one in done]}, name="reproduce-kernels")
        return
    if form is Form.CSV:
        _print_tidy(done)
        return
    for one in done:
        _print_of_kernels(one, form)


def _print_tidy(done: "list[OfKernels]") -> None:
    """Print the means of all experiments as one table: a row for each cell and metric, its factors in one column."""
    from schedlab.cli.output import print_result
    from schedlab.published.kernels import Skipped
    from schedlab.system.terminal import say
    from schedlab.tables import Cell, Column, Table

    names = ["report", "experiment", "factors", "metric", "unit", "n", "mean", "low", "high"]
    rows = []
    for live in done:
        for title, results in live.experiments:
            if isinstance(results, Skipped):
                say(f"{live.name}: {title}: skipped: {results}")
                continue
            for row in results.summary().iter_rows(named=True):
                factors = ", ".join(f"{name}={row[name]}" for name in results.factors)
                rows.append([Cell("", (value,)) for value in (live.name, title, factors, *(row[n] for n in names[3:]))])
    print_result(Form.CSV, Table([Column(name) for name in names], rows))


def _print_of_kernels(live: "OfKernels", form: Form = Form.TEXT) -> None:
    from schedlab.cli.output import print_result
    from schedlab.published.kernels import Skipped
    from schedlab.published.reproduction import notes
    from schedlab.report.warnings import gathered
    from schedlab.units import counted

    print(f"{live.name}: {live.title}")
    for title, results in live.experiments:
        if isinstance(results, Skipped):
            print(f"\n{title}\nskipped: {results}")
            continue
        table, others = results.summary_tables()
        lines = [f"note: {note}" for note in results.notes]
        lines += [f"warning: {text} ({counted(n, 'run')})" for text, n in gathered(results.warnings).items()]
        print_result(form, table.but(title=title), lines, others)
    claims = [[text, finding] for _, text, finding in live.claims]
    if claims:
        print_result(form, _claims_table(claims), notes((id, finding.afterwards) for id, _, finding in live.claims))


def _claims_table(claims: "list[list]") -> "Table":
    """Claims, each with its verdict and evidence, from their names or texts and findings."""
    from schedlab.published.reproduction import with_mark
    from schedlab.tables import Cell, Column, Table

    columns = [Column("claim", prose=True), Column("verdict", prose=True), Column("evidence", prose=True)]
    rows = [
        [name, Cell(with_mark(f.verdict, f.afterwards), style=_STYLES.get(f.verdict, "")), f.evidence]
        for name, f in claims
    ]
    return Table.of_texts(columns, rows)


def _json_of_kernels(live: "OfKernels") -> dict:
    from schedlab.published.kernels import Skipped

    def result(results) -> dict:
        if isinstance(results, Skipped):
            return {"skipped": str(results)}
        about = {
            "folder": str(results.folder),
            "noisy": results.noisy,
            "notes": results.notes,
            "warnings": results.warnings,
        }
        return about | {"summary": results.summary().to_dicts()}

    return {
        "report": live.name,
        "title": live.title,
        "experiments": [{"title": title} | result(results) for title, results in live.experiments],
        "claims": [{"id": id, **finding.as_json()} for id, _, finding in live.claims],
    }


def _print(outcome: "Outcome", form: Form = Form.TEXT) -> None:
    from schedlab.cli.output import print_result
    from schedlab.report.reproduced import rows_table

    report = outcome.report
    print(f"{report.name}: {report.published['title']}\n{report.published['source']}")
    if form is Form.MARKDOWN:
        print()
    print_result(form, rows_table([outcome], _STYLES))
    claims = [[name, finding] for name, finding in outcome.claims.items()]
    print_result(form, _claims_table(claims), [*outcome.notes(), _count(outcome)])


def _print_scores(outcomes: "list[Outcome]", form: Form = Form.TEXT, html: Path | None = None) -> None:
    from schedlab.cli.output import print_result
    from schedlab.report.reproduced import SCORES, score_texts
    from schedlab.tables import Column, Table

    columns = [Column("report", key=True)]
    columns += [Column(name, numeric=True) for name in SCORES]
    title = "published rows, by what was known when they were predicted"
    written = [f"The page with the pictures: {html}"] if html else []
    print_result(form, Table.of_texts(columns, score_texts(outcomes), title), written)


def _count(outcome: "Outcome") -> str:
    from schedlab.published.reproduction import tally

    rows = tally(row.verdict for row in outcome.rows)
    claims = tally(finding.verdict for finding in outcome.claims.values())
    return f"rows: {rows}; claims: {claims}"
