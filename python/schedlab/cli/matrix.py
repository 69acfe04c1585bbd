"""`schedlab matrix`: every scheduler on a standard set of loads."""

from pathlib import Path
from typing import Annotated

import typer

from schedlab.cli.forms import Csv, Form, Json, Markdown, chosen

NAME = "matrix"
EXAMPLE = "schedlab matrix round_robin minix --loads interactive,audio --html matrix.html"


def verb(
    schedulers: Annotated[list[str] | None, typer.Argument(help="Schedulers; all by default.")] = None,
    loads: Annotated[list[str] | None, typer.Option("--loads", help="Loads, with commas; all by default.")] = None,
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, help="Number of seeds; by default those of the loads' files.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="The folder of results.")] = Path("results"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Run again what was run before.")] = False,
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="Processors to use; all by default.")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write one self-contained page of heat maps.")] = None,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Run every scheduler on a standard set of loads: fairness, latency, switches, throughput, missed deadlines."""
    from schedlab import matrix
    from schedlab.cli.output import print_json, print_result, progress_bar, refuse_unwritable
    from schedlab.report.matrix import table, tidy
    from schedlab.units import counted

    form = chosen(json, csv, markdown)
    refuse_unwritable(html=html)
    named = [name.strip() for names in loads or [] for name in names.split(",")]
    with progress_bar("matrix") as progress:
        done = matrix.run(schedulers or [], named, seeds, out, threads, fresh, progress)
    if html:
        from schedlab.report.matrix import write

        write(done, html)
    if form is Form.JSON:
        print_json(done.as_json() | {"page": str(html) if html else None})
        return
    runs = f"{counted(done.computed, 'run')} ({done.total - done.computed - done.skipped} known before)"
    notes = [f"mean ± half of the 95 % interval over seeds; {runs}"]
    notes += [f"page with the heat maps: {html}"] if html else []
    shown = [tidy(done)] if form is Form.CSV else [table(done, measure) for measure in done.measures]
    for place, one in enumerate(shown):
        print_result(form, one, notes if place == len(shown) - 1 else [], first=place == 0)
