"""`schedlab reproduce`: published results beside ours, with verdicts."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from schedlab.reproduction import Outcome

NAME = "reproduce"
EXAMPLE = "schedlab reproduce minix-1990 --html minix-1990.html"

_STYLES = {
    "missed": "bold red",
    "does not hold": "bold red",
    "within": "green",
    "fitted": "green",
    "holds": "green",
    "holds in part": "yellow",
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
) -> None:
    """Rebuild published results: claim, published, predicted with its 95 % interval, error, verdict."""
    from schedlab import reproductions
    from schedlab.cli.output import print_json, progress_bar
    from schedlab.reproduction import reproduce

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
    if html:
        print(f"The page with the pictures: {html}")


def _print(outcome: "Outcome") -> None:
    from schedlab.cli.output import print_table

    report = outcome.report
    print(f"{report.name}: {report.published['title']}\n{report.published['source']}")
    header = ["row", "published", "predicted", "95 % interval", "error", "allowed", "verdict"]
    print_table(header, [_row(row) for row in outcome.rows], numeric=range(1, 6))
    claims = [[name, _styled(f.verdict), f.evidence] for name, f in outcome.claims.items()]
    print_table(["claim", "verdict", "evidence"], claims)
    print(_count(outcome))


def _row(row) -> list:
    from schedlab.report.reproduced import row_texts

    return [*row_texts(row), _styled(row.verdict)]


def _styled(verdict: str):
    from rich.text import Text

    return Text(verdict, style=_STYLES.get(verdict, ""))


def _count(outcome: "Outcome") -> str:
    from collections import Counter

    rows = Counter(row.verdict for row in outcome.rows)
    claims = Counter(finding.verdict for finding in outcome.claims.values())
    spell = lambda counts: ", ".join(f"{n} {verdict}" for verdict, n in counts.items())  # noqa: E731
    return f"rows: {spell(rows)}; claims: {spell(claims)}"
