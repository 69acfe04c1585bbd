"""Tables for other programs: CSV with plain values, and Markdown as GitHub shows it."""

import csv as csv_text
import io
import re
from typing import Any

from schedlab.system.escaped import escaped
from schedlab.tables.table import Table

#: What Markdown would take for its own: an underscore within a word, and brackets without an address, are not.
_MEANT = re.compile(r"[\\|*`<~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|(?<=\])\(")


def csv(table: Table) -> str:
    """One line of headings, then a line for each row; numbers in full precision, empty where there is none."""
    text = io.StringIO()
    # Carriage returns would be part of the last field for most tools of the shell.
    writer = csv_text.writer(text, lineterminator="\n")
    writer.writerow([name for column in table.columns for name in column.plain_headings])
    for row in table.rows:
        writer.writerow(
            [_plain(value) for cell in row for value in ((cell.text,) if cell.plain is None else cell.plain)]
        )
    return text.getvalue()


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).lower()
    return repr(value) if isinstance(value, float) else value


def markdown(table: Table) -> str:
    """The title in bold, then the table, headings and cells as in the terminal."""
    heads = [meant_as_text(column.heading) for column in table.columns]
    bars = ["---:" if column.numeric else "---" for column in table.columns]
    rows = [[meant_as_text(cell.text) for cell in row] for row in table.rows]
    body = "\n".join(f"| {' | '.join(row)} |" for row in [heads, bars, *rows])
    return f"**{meant_as_text(table.title)}**\n\n{body}\n" if table.title else f"{body}\n"


def meant_as_text(text: str) -> str:
    """Text in one line that Markdown shows literally."""
    return _MEANT.sub(r"\\\g<0>", " ".join(escaped(text).split()))
