"""`schedlab report`: one self-contained page about a result."""

from pathlib import Path
from typing import Annotated

import typer

NAME = "report"
EXAMPLE = "schedlab report results/quantum-1a2b3c4d -o quantum.html"


def verb(
    result: Annotated[str, typer.Argument(help="A results folder, or its name or the beginning of it under --out.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write.")] = Path("report.html"),
    out: Annotated[Path, typer.Option("--out", help="The folder of results.")] = Path("results"),
    json: Annotated[bool, typer.Option("--json", help="Print JSON: what was written.")] = False,
) -> None:
    """Write one HTML page about a result: tables and pictures, light and dark, no network needed."""
    from schedlab.cli.output import refuse_unwritable
    from schedlab.report.measured import write
    from schedlab.results import Results

    refuse_unwritable(output=output)
    results = Results.open(_find(result, out))
    write(results, output)
    if json:
        from schedlab.cli.output import print_json

        print_json({"result": str(results.folder), "page": str(output)})
    else:
        print(f"{results.folder}: {output}")


def _find(result: str, out: Path) -> Path:
    from schedlab.errors import UsageError, nearest
    from schedlab.results import manifest

    if (Path(result) / manifest.NAME).exists():
        return Path(result)
    known = {file.parent.name: file.parent for file in sorted(out.glob(f"*/{manifest.NAME}"))}
    fitting = [folder for name, folder in known.items() if name.startswith(result)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise UsageError(f"{result!r} may mean {', '.join(f.name for f in fitting)}; write more of the name")
    raise UsageError(f"no result {result!r} under {out}; {nearest(result, known)}")
