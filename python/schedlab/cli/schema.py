"""`schedlab schema`: the JSON Schema of experiment files, for editors."""

from pathlib import Path
from typing import Annotated

import typer

NAME = "schema"
EXAMPLE = "schedlab schema -o schema/experiment.json"


def verb(
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write it to this file.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Accepted for uniformity; the schema is JSON anyway.")] = False,
) -> None:
    """Print the JSON Schema of experiment files, or write it to a file for your editor."""
    from schedlab._core import schema

    text = schema().rstrip("\n") + "\n"
    if output is None:
        print(text, end="")
        return
    from schedlab.cli.output import refuse_unwritable
    from schedlab.system.writing import replace

    refuse_unwritable(output=output)
    replace(output, text.encode())
