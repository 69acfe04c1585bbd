"""The forms in which a verb prints a table of results: text, JSON, CSV, Markdown."""

from enum import Enum
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV: plain numbers, interval bounds in columns of their own.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")]


class Form(Enum):
    """What is printed."""

    TEXT = ""
    JSON = "--json"
    CSV = "--csv"
    MARKDOWN = "--markdown"


def chosen(json: bool, csv: bool, markdown: bool) -> Form:
    """The form that the options name. Raises `UsageError` if they name several."""
    from schedlab.system.printing import refuse_several

    refuse_several(json=json, csv=csv, markdown=markdown)
    return Form.JSON if json else Form.CSV if csv else Form.MARKDOWN if markdown else Form.TEXT
