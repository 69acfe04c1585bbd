"""`schedlab diagnose`: which resource of this host is short, by which indicators, who uses it up, and what to try."""

from pathlib import Path
from typing import Annotated

import typer

from schedlab.cli.forms import Csv, Json, Markdown

NAME = "diagnose"
EXAMPLE = "schedlab diagnose --for 10s --write try.toml"


def verb(
    lasting: Annotated[str, typer.Option("--for", help="How long to watch.")] = "10s",
    every: Annotated[str, typer.Option("--every", help="Time between samples.")] = "500ms",
    write: Annotated[Path | None, typer.Option("--write", help="Write an experiment that tries what may help.")] = None,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Watch this host and name the resource that is short, the evidence, and who uses it up.

    No setting is changed. As root, calls of futex are traced for a second, in a tracing instance of its own.
    """
    from schedlab.direct import diagnosed

    raise typer.Exit(diagnosed.run(lasting, every, write, json, csv, markdown))
