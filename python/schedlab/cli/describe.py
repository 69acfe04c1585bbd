"""`schedlab describe`: the page of one policy, workload, machine, metric, step or reproduction."""

import json as json_text
from typing import Annotated

import typer

NAME = "describe"
EXAMPLE = "schedlab describe minix"


def verb(
    name: Annotated[str, typer.Argument(help="A name that `schedlab list` shows.")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the page of a scheduler, elevator, eviction policy, workload, machine, metric, step or reproduction."""
    from schedlab.cli.output import print_json

    entry = _look_up(name)
    if json:
        print_json(entry)
        return
    from rich.markdown import Markdown

    from schedlab.cli.output import console

    # Several families may have the name: each has its page and its parameters.
    for number, one in enumerate(entry.get("entries", [entry])):
        page = one["page"].strip()
        console().print(Markdown(f"---\n\n{page}" if number else page))
        _print_parameters(one["info"])


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


def _print_parameters(info: dict) -> None:
    from schedlab.cli.output import print_table
    from schedlab.units import allowed

    parameters = info.get("parameters") or []
    if not parameters:
        return
    rows = [[p["name"], p.get("default") or "required", allowed(p["domain"]), p["meaning"]] for p in parameters]
    print_table(["parameter", "default", "allowed", "meaning"], rows)
