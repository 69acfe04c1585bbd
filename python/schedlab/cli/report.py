"""`schedlab report`: one self-contained page about a result, or its table."""

from pathlib import Path
from typing import Annotated

import typer

from schedlab.cli.forms import Csv, Form, Json, Markdown, chosen

NAME = "report"
EXAMPLE = "schedlab report results/quantum -o quantum.html"


def verb(
    result: Annotated[
        str, typer.Argument(help="Results: results/NAME (the newest of that name), a folder, or NAME under --out.")
    ],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The page to write: report.html.")] = None,
    out: Annotated[Path, typer.Option("--out", help="The folder of results.")] = Path("results"),
    baseline: Annotated[
        str | None,
        typer.Option(
            help="What cells are compared with: KEY=VALUE[,KEY=VALUE] of what is swept; by default the first of the "
            "same work."
        ),
    ] = None,
    within: Annotated[
        str | None, typer.Option(help="Count as acceptable also what is worse by less than this share: 2%.")
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Put the simulator into the page: its figures go beyond what was run.")
    ] = False,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Write one HTML page about a result: verdict first, then tables, pictures and method; no network needed.

    With --csv the table of its means is printed, with --markdown a text for a pull request: verdict, table, method. No
    page is written then, unless -o names one. A page made with --live checks stored numbers against those that it
    computes with the same seeds.
    """
    from schedlab.cli.output import print_json, refuse_unwritable
    from schedlab.cli.run import show
    from schedlab.errors import UsageError
    from schedlab.report.measured import write
    from schedlab.results import Results, compared, verdict

    form = chosen(json, csv, markdown)
    if output is None and form in (Form.TEXT, Form.JSON):
        output = Path("report.html")
    if form is Form.CSV and output is None and (baseline or within):
        raise UsageError(
            "--baseline and --within are of the verdict, which --csv does not print: add -o, or --markdown"
        )
    if live and output is None:
        raise UsageError("--live is of the page, which --csv and --markdown do not write: add -o")
    refuse_unwritable(output=output)
    bound = compared.read_within(within) if within else None
    results = Results.open(find(result, out))
    if not results.runs and not results.warnings:
        raise UsageError(f"{results.folder} has no runs: none was finished, or its files are gone; run it again")
    if output:
        write(results, output, baseline, bound, live)
    if form is Form.JSON:
        said = verdict.lines(results.judged(baseline, bound))
        print_json({"result": str(results.folder), "page": str(output), "verdict": said})
    elif form is Form.TEXT:
        print(f"wrote {output}, the page about {results.folder}")
    elif form is Form.MARKDOWN:
        from schedlab.report import text

        print(text.markdown(results, results.judged(baseline, bound)), end="")
    else:
        show(results, form)


def find(result: str, out: Path) -> Path:
    """The folder of results that a user names; refused with the nearest if there is none."""
    from schedlab.errors import UsageError, nearest
    from schedlab.results import folders, manifest

    for named in (Path(result), out / result):
        folder = folders.newest(named)
        if (folder / manifest.NAME).exists():
            return folder
    known = {file.parent.name: file.parent for file in sorted(out.glob(f"*/{manifest.NAME}"))}
    fitting = [folder for name, folder in known.items() if name.startswith(result)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise UsageError(f"{result!r} may mean {', '.join(f.name for f in fitting)}; write more of the name")
    raise UsageError(f"no result {result!r} under {out}; {nearest(result, known)}")
