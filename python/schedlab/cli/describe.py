"""`schedlab describe`: the page of one policy, workload, machine, metric, step or reproduction."""

import json as json_text
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli.forms import Csv, Form, Json, Markdown, chosen

if TYPE_CHECKING:
    from schedlab.tables import Table

NAME = "describe"
EXAMPLE = "schedlab describe minix"


def verb(
    name: Annotated[str, typer.Argument(help="A name that `schedlab list` shows.")],
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Show the page of a scheduler, elevator, eviction policy, workload, machine, metric, step or reproduction.

    With --csv its parameters are printed.
    """
    from schedlab.cli.output import print_json, print_result

    form = chosen(json, csv, markdown)
    entry = _look_up(name)
    entries = entry.get("entries", [entry])
    if form is Form.JSON:
        print_json(entry)
        return
    if form is Form.CSV:
        print_result(form, _parameters(entries))
        return
    if form is Form.MARKDOWN:
        for one in entries:
            print(f"{one['page'].strip()}\n")
            if one["info"].get("parameters"):
                print_result(form, _parameters([one]))
        return
    from rich.markdown import Markdown

    from schedlab.cli.output import console

    # Several families may have the name: each has its page and its parameters.
    for number, one in enumerate(entries):
        page = one["page"].strip()
        console().print(Markdown(f"---\n\n{page}" if number else page))
        if one["info"].get("parameters"):
            print_result(form, _parameters([one]))
            print()


def _look_up(name: str) -> dict:
    from schedlab import _core
    from schedlab.published import reproductions

    if name in reproductions.names():
        return {
            "family": "reproductions",
            "name": name,
            "page": reproductions.page(name),
            "info": {"summary": reproductions.title(name)},
        }
    return json_text.loads(_core.page(name))


def _parameters(entries: list[dict]) -> "Table":
    """The parameters of an entry, or of those of one name in several families."""
    from schedlab.tables import Cell, Column, Table
    from schedlab.units import allowed

    rows = [
        [
            Cell(p["name"], (one["family"], p["name"])),
            Cell(p.get("default") or "required", (p.get("default"),)),
            allowed(p["domain"]),
            p["meaning"],
        ]
        for one in entries
        for p in one["info"].get("parameters") or []
    ]
    columns = [
        Column("parameter", key=True, plain=("family", "parameter")),
        Column("default", prose=True),
        Column("allowed", prose=True),
        Column("meaning", prose=True),
    ]
    return Table.of_texts(columns, rows)
