"""`schedlab cache`: a trace of requests in, the miss ratio of eviction policies by size of the cache out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from schedlab.caches import Curves

NAME = "cache"
EXAMPLE = "schedlab cache trace.csv --policy lru,arc --sizes 0.1%..50%:16 --html curves.html"

#: Sizes that stand side by side in a table.
COLUMNS = 8


def verb(
    trace: Annotated[Path, typer.Argument(help="The trace; it may be packed with zstd.")],
    policy: Annotated[
        str, typer.Option("--policy", help="Eviction policies with commas, as lru,arc or NAME:parameter=value.")
    ] = "all",
    sizes: Annotated[
        str, typer.Option("--sizes", help="In things (1000), shares of the different ones (1%), ranges (0.1%..50%:16).")
    ] = "0.1%,1%,10%",
    format: Annotated[
        str | None, typer.Option("--format", help="csv, twitter or oracle_general; found out by default.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", help="Of a csv: time,key,size,op in its order, - for any other.")
    ] = None,
    only: Annotated[
        str | None, typer.Option("--only", help="Operations that count as requests, as get,gets; all by default.")
    ] = None,
    first: Annotated[int | None, typer.Option("--first", min=1, help="Read only so many requests.")] = None,
    sample: Annotated[
        float | None, typer.Option("--sample", help="Look at samples of the things, 0.01 each, and tell intervals.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Another number: other samples, other lots.")] = 0,
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="Processors to use; all by default.")] = None,
    output: Annotated[Path | None, typer.Option("--output", help="Write every run, as .parquet.")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write one self-contained page with the curves.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run eviction policies over a trace of requests: miss ratios by size of the cache, in things, not bytes."""
    from schedlab import caches
    from schedlab.cli.output import print_json, progress_bar

    # What is wrong shall be said before a long trace is read.
    _check_places(output, html)
    caches.check(policy, sizes, sample, seed)
    operations = [name.strip() for name in only.split(",")] if only else []
    with progress_bar(trace.name) as progress:
        read = caches.read(trace, format, columns, operations, first)
        curves = caches.curves(read, policy, sizes, sample, seed, threads, progress)
    if output:
        from schedlab.store import parquet, replace

        replace(output, parquet(curves.runs))
    if html:
        from schedlab.report.curves import write

        write(curves, html)
    if json:
        print_json(_as_json(curves, output, html))
    else:
        _print(curves, output, html)


def _check_places(output: Path | None, html: Path | None) -> None:
    from schedlab.errors import UsageError

    if output and output.suffix != ".parquet":
        raise UsageError(f"--output {output}: the name must end in .parquet")
    for option, path in {"--output": output, "--html": html}.items():
        if path and not path.parent.is_dir():
            raise UsageError(f"{option} {path}: there is no folder {path.parent}")
        if path and path.is_dir():
            raise UsageError(f"{option} {path}: is a folder")


def _print(curves: "Curves", output: Path | None, html: Path | None) -> None:
    from schedlab.cli.output import print_table
    from schedlab.report.curves import heading, rows, story

    print(story(curves))
    for place in range(0, len(curves.sizes), COLUMNS):
        shown = curves.sizes[place : place + COLUMNS]
        header = ["miss ratio", *(heading(size) for size in shown)]
        print_table(header, rows(curves, shown), numeric=range(1, len(header)))
    for note in curves.notes:
        print(note)
    for what, path in {"every run": output, "the page with the curves": html}.items():
        if path:
            print(f"{what}: {path}")


def _as_json(curves: "Curves", output: Path | None, html: Path | None) -> dict:
    trace = curves.trace
    points: dict[str, list[dict]] = {policy: [] for policy in curves.policies}
    for row in curves.summary().iter_rows(named=True):
        points[row.pop("policy")].append(row)
    return {
        "trace": {
            "path": trace.path,
            "format": trace.format,
            "requests": trace.requests,
            "objects": trace.objects,
            "compulsory_miss_ratio": trace.compulsory_miss_ratio,
            "smallest_bytes": trace.smallest_bytes,
            "largest_bytes": trace.largest_bytes,
        },
        "sample": {"rate": curves.sample, "samples": curves.samples} if curves.sample else None,
        "curves": [{"policy": policy, "points": found} for policy, found in points.items()],
        "notes": curves.notes,
        "output": str(output) if output else None,
        "page": str(html) if html else None,
    }
