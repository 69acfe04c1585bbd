"""`schedlab reproduce`: published results compared with ours, with verdicts."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from schedlab.published.kernels import Outcome as OfKernels
    from schedlab.published.reproduction import Outcome

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
    seeds: Annotated[int | None, typer.Option("--seeds", min=2, help="Random phases for each row.")] = None,
    out: Annotated[Path, typer.Option("--out", help="The folder of results.")] = Path("results"),
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="Processors to use; all by default.")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write one self-contained page with pictures.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
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

    With --on host or --on guest:KERNEL, the reports are asked again: what a present kernel makes of the same questions.
    """
    from schedlab.cli.output import refuse_unwritable
    from schedlab.published import reproductions

    refuse_unwritable(html=html)
    if on != "sim":
        return _ask_kernels(names, on, seeds, out, dirty, json, html)
    from schedlab.cli.output import print_json, progress_bar
    from schedlab.published.reproduction import reproduce

    chosen = names or reproductions.names()
    for name in chosen:
        reproductions.folder(name)
    options = {"out": out, "seeds": seeds, "threads": threads, "progress": progress_bar}
    outcomes = [reproduce(name, options) for name in chosen]
    if html:
        from schedlab.report.reproduced import write

        write(outcomes, html)
    if json:
        documents = [outcome.as_json() for outcome in outcomes]
        print_json(documents[0] if len(documents) == 1 else documents)
        return
    for outcome in outcomes:
        _print(outcome)
    _print_scores(outcomes)
    if html:
        print(f"The page with the pictures: {html}")


def _ask_kernels(names, on: str, seeds: int | None, out: Path, dirty: bool, json: bool, html: Path | None) -> None:
    from schedlab.cli.output import print_json, progress_bar
    from schedlab.errors import UsageError
    from schedlab.published import kernels
    from schedlab.targets.host.conditions import Conditions

    if html:
        raise UsageError("--html is for the rebuilt reports; the live versions are printed: leave out --html or --on")
    options = {"on": on, "seeds": seeds, "out": out, "conditions": Conditions(dirty=dirty), "progress": progress_bar}
    done = [kernels.ask_again(name, **options) for name in names or kernels.names(kernels.version_for(on))]
    if json:
        print_json([_json_of_kernels(one) for one in done])
        return
    for one in done:
        _print_of_kernels(one)


def _print_of_kernels(live: "OfKernels") -> None:
    from schedlab.cli.output import print_table
    from schedlab.published.kernels import Skipped
    from schedlab.published.reproduction import notes
    from schedlab.report.warnings import gathered

    print(f"{live.name}: {live.title}")
    for title, results in live.experiments:
        if isinstance(results, Skipped):
            print(f"\n{title}\nskipped: {results}")
            continue
        header, rows = results.summary_table()
        print_table(header, rows, title, numeric=range(len(results.factors), len(header)))
        for note in results.notes:
            print(f"note: {note}")
        for warning, runs in gathered(results.warnings).items():
            print(f"warning: {warning} ({runs} runs)")
    claims = [[text, _styled(f.verdict, f.afterwards), f.evidence] for _, text, f in live.claims]
    if claims:
        print_table(["claim", "verdict", "evidence"], claims)
    for note in notes((id, finding.afterwards) for id, _, finding in live.claims):
        print(note)


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


def _print(outcome: "Outcome") -> None:
    from schedlab.cli.output import print_table

    report = outcome.report
    print(f"{report.name}: {report.published['title']}\n{report.published['source']}")
    header = ["row", "published", "predicted", "95 % interval", "error", "allowed", "verdict"]
    print_table(header, [_row(row) for row in outcome.rows], numeric=range(1, 6))
    claims = [[name, _styled(f.verdict, f.afterwards), f.evidence] for name, f in outcome.claims.items()]
    print_table(["claim", "verdict", "evidence"], claims)
    for note in outcome.notes():
        print(note)
    print(_count(outcome))


def _print_scores(outcomes: "list[Outcome]") -> None:
    from schedlab.cli.output import print_table
    from schedlab.report.reproduced import score_texts

    header = ["report", "kept back: predicted", "judged blind", "fitted"]
    print_table(
        header, score_texts(outcomes), "published rows, by what was known when they were predicted", numeric=range(1, 4)
    )


def _row(row) -> list:
    from schedlab.report.reproduced import row_texts

    return [*row_texts(row), _styled(row.verdict, row.afterwards)]


def _styled(verdict: str, afterwards: str):
    from rich.text import Text

    from schedlab.published.reproduction import with_mark

    return Text(with_mark(verdict, afterwards), style=_STYLES.get(verdict, ""))


def _count(outcome: "Outcome") -> str:
    from collections import Counter

    rows = Counter(row.verdict for row in outcome.rows)
    claims = Counter(finding.verdict for finding in outcome.claims.values())
    spell = lambda counts: ", ".join(f"{n} {verdict}" for verdict, n in counts.items())  # noqa: E731
    return f"rows: {spell(rows)}; claims: {spell(claims)}"
