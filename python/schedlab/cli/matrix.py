"""`schedlab matrix`: every scheduler on a standard set of loads."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from schedlab.matrix import Matrix, Measure

NAME = "matrix"
EXAMPLE = "schedlab matrix round_robin minix --loads interactive,audio --html matrix.html"

#: Loads that stand side by side in a table.
COLUMNS = 6


def verb(
    schedulers: Annotated[list[str] | None, typer.Argument(help="Schedulers; all by default.")] = None,
    loads: Annotated[list[str] | None, typer.Option("--loads", help="Loads, with commas; all by default.")] = None,
    seeds: Annotated[int | None, typer.Option("--seeds", min=1, help="Seeds; those of the loads' files.")] = None,
    out: Annotated[Path, typer.Option("--out", help="The folder of results.")] = Path("results"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Run again what was run before.")] = False,
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="Processors to use; all by default.")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write one self-contained page of heat maps.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run every scheduler on a standard set of loads: fairness, latency, switches, throughput, missed deadlines."""
    from schedlab import matrix
    from schedlab.cli.output import print_json, progress_bar, refuse_unwritable

    refuse_unwritable(html=html)
    named = [name.strip() for names in loads or [] for name in names.split(",")]
    with progress_bar("matrix") as progress:
        done = matrix.run(schedulers or [], named, seeds, out, threads, fresh, progress)
    if html:
        from schedlab.report.matrix import write

        write(done, html)
    if json:
        print_json(done.as_json() | {"page": str(html) if html else None})
        return
    for measure in done.measures:
        _print(done, measure)
    print(
        f"mean ± half of the 95 % interval over seeds; {done.computed} runs ({done.total - done.computed} known before)"
    )
    if html:
        print(f"The page with the heat maps: {html}")


def _print(done: "Matrix", measure: "Measure") -> None:
    from schedlab.cli.output import print_table
    from schedlab.report.matrix import text

    print(f"{measure.title} [{measure.unit}], {measure.better} is better")
    loads = done.seen_by(measure)
    for first in range(0, len(loads), COLUMNS):
        shown = loads[first : first + COLUMNS]
        rows = [[name, *(text(done.cells[measure.name, load, name]) for load in shown)] for name in done.schedulers]
        print_table(["scheduler", *shown], rows, numeric=range(1, len(shown) + 1))
