"""`schedlab compare`: results of several folders against the first, in words, numbers and a picture."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli.forms import Csv, Form, Json, Markdown, chosen

if TYPE_CHECKING:
    from schedlab.results import Results

NAME = "compare"
EXAMPLE = "schedlab compare results/cfs results/eevdf --within 2% --svg effects.svg"


def verb(
    base: Annotated[
        str, typer.Argument(help="What to compare with: results/NAME (the newest of that name) or a folder.")
    ],
    others: Annotated[list[str], typer.Argument(help="What to compare: results/NAME or folders.")],
    metrics: Annotated[
        str | None, typer.Option(help="Metrics, with commas; * for any job. By default those that BASE shows.")
    ] = None,
    within: Annotated[str | None, typer.Option(help="Also say what is the same, or no worse, within: 2%.")] = None,
    of: Annotated[str, typer.Option(help="What to compare of the repeats: mean, median, p90.")] = "mean",
    out: Annotated[Path, typer.Option("--out", help="The folder of results.")] = Path("results"),
    svg: Annotated[Path | None, typer.Option("--svg", help="Draw the effects with their intervals.")] = None,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Compare results with others, pair by pair: what differs, what is the same, and how many more repeats would tell.

    Cells are matched by what is swept, runs by their seeds. Results of other work (another workload, machine or
    duration) are refused. `schedlab run FILE --over FIELD=V1,V2` runs and compares at once, on a live host in turns.
    """
    from schedlab.cli.output import print_compared, print_json, refuse_unwritable
    from schedlab.cli.report import find
    from schedlab.results import Results, compared, tables
    from schedlab.results.matched import match
    from schedlab.stats.comparison import Question

    form = chosen(json, csv, markdown)
    refuse_unwritable(svg=svg)
    bound = compared.read_within(within) if within else None
    first, *rest = (Results.open(find(name, out)) for name in (base, *others))
    asked = [name.strip() for name in metrics.split(",")] if metrics else []
    matched, shown = match(first, rest, asked)
    exact = all(cell["on"] == "sim" for one in matched.both for cell in (one.cell, one.base))
    question = Question(compared.read_statistic(of), bound, exact)
    found = compared.frame(matched.rows(question, shown), matched.factors).to_dicts()
    said = compared.words(found, matched.factors, question, matched.name)
    if svg:
        compared.picture(found, matched.factors, question, matched.name).write(svg)
    misleading = [
        line for name, one in zip(matched.names, (first, *rest), strict=True) for line in _misleading(name, one)
    ]
    if form is Form.JSON:
        print_json(
            {
                "base": str(first.folder),
                "compared": [str(one.folder) for one in rest],
                "within": bound,
                "words": said,
                "notes": [*matched.notes, *misleading],
                "differences": found,
                "picture": str(svg) if svg else None,
            }
        )
        return
    alike = {
        side["scenario"]
        for one in matched.both
        for side, same in zip((one.cell, one.base), one.alike, strict=True)
        if same
    }
    table = tables.differences(matched.factors, found, matched.seeds, alike, bound)
    notes = [*compared.notes(found, question), *(f"note: {note}" for note in matched.notes), *misleading]
    notes += [f"picture: {svg}"] if svg else []
    print_compared(form, table.but(title=f"compared with {matched.name}"), said, notes, first=True)


def _misleading(name: str, results: "Results") -> list[str]:
    """What may mislead in one of the results, a line each."""
    from schedlab.report.warnings import gathered
    from schedlab.units import counted

    ignored = [f"{name}: ignored on {place}: {'; '.join(what)}" for place, what in results.ignored.items()]
    said = gathered(results.warnings).items()
    return [*ignored, *(f"{name}: warning: {text} ({counted(runs, 'run')})" for text, runs in said)]
