"""`schedlab cache`: a trace of requests in, the miss ratio of eviction policies by size of the cache out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli.forms import Csv, Form, Json, Markdown, chosen

if TYPE_CHECKING:
    from schedlab.caches import Curves

NAME = "cache"
EXAMPLE = "schedlab cache trace.csv --policy lru,arc --sizes 0.1%..50%:16 --html curves.html"

#: The formats of traces.
FORMATS = "oracle_general, oracle_general_op_ns, oracle_sim_twr_ns, oracle_sys_twr_ns, vscsi, lcs, twitter, csv or txt"


def verb(
    trace: Annotated[Path, typer.Argument(help="The trace, or a pipe; packed with zstd or gzip if you like.")],
    policy: Annotated[
        str, typer.Option("--policy", help="Eviction policies with commas, as lru,arc or NAME:parameter=value.")
    ] = "all",
    sizes: Annotated[
        str,
        typer.Option("--sizes", help="Objects (1000), bytes (64MiB), shares of either (1%), ranges (0.1%..50%:16)."),
    ] = "0.1%,1%,10%",
    bytes: Annotated[
        bool, typer.Option("--bytes", help="Count bytes: objects have their sizes, and byte miss ratios are reported.")
    ] = False,
    format: Annotated[str | None, typer.Option("--format", help=f"{FORMATS}; recognised by default.")] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", help="Of a csv: time,key,size,op in its order, - for any other.")
    ] = None,
    only: Annotated[
        str | None, typer.Option("--only", help="Operations that count as requests, as get,gets; all by default.")
    ] = None,
    first: Annotated[int | None, typer.Option("--first", min=1, help="Read at most this number of requests.")] = None,
    sample: Annotated[
        float | None,
        typer.Option("--sample", help="Sample a fraction of the objects (0.01) and report confidence intervals."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Random seed.")] = 0,
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="Processors to use; all by default.")] = None,
    output: Annotated[Path | None, typer.Option("--output", help="Write every run, as .parquet.")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write one self-contained page with the curves.")] = None,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Run eviction policies over a trace of requests: miss ratios by size of the cache, in objects or in bytes."""
    from schedlab import caches
    from schedlab.cli.output import print_json, progress_bar
    from schedlab.system.reading import refuse_unusual_but_pipes

    form = chosen(json, csv, markdown)
    # What is wrong shall be said before a long trace is read.
    _check_places(output, html)
    in_bytes = caches.check(policy, sizes, sample, seed, bytes)["bytes"]
    refuse_unusual_but_pipes(trace)
    operations = [name.strip() for name in only.split(",")] if only else []
    with progress_bar(trace.name) as progress:
        read = caches.read(trace, format, columns, operations, first, in_bytes)
        curves = caches.curves(read, policy, sizes, sample, seed, threads, progress, bytes)
    if output:
        from schedlab.results.frames import parquet
        from schedlab.system.writing import replace

        replace(output, parquet(curves.runs))
    if html:
        from schedlab.report.curves import write

        write(curves, html)
    if form is Form.JSON:
        print_json(_as_json(curves, output, html))
    else:
        _print(curves, output, html, form)


def _check_places(output: Path | None, html: Path | None) -> None:
    from schedlab.cli.output import refuse_unwritable
    from schedlab.errors import UsageError

    if output and output.suffix != ".parquet":
        raise UsageError(f"--output {output}: the name must end in .parquet")
    refuse_unwritable(output=output, html=html)


def _print(curves: "Curves", output: Path | None, html: Path | None, form: Form) -> None:
    from schedlab.cli.output import print_result
    from schedlab.report.curves import ratios, story, table, tidy

    written = {"every run": output, "the page with the curves": html}
    notes = [*curves.notes, *(f"{what}: {path}" for what, path in written.items() if path)]
    if form is Form.CSV:
        print_result(form, tidy(curves), [story(curves), *notes])
        return
    print(story(curves))
    *first, last = (table(curves, ratio) for ratio in ratios(curves))
    for one in first:
        print_result(form, one)
    print_result(form, last, notes)


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
            "object_bytes": trace.object_bytes,
            "requested_bytes": trace.requested_bytes,
            "left_out": trace.left_out,
        },
        "sample": {"rate": curves.sample, "samples": curves.samples} if curves.sample else None,
        "curves": [{"policy": policy, "points": found} for policy, found in points.items()],
        "notes": curves.notes,
        "output": str(output) if output else None,
        "page": str(html) if html else None,
    }
