"""`schedlab list`: what there is to choose from."""

import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli.forms import Csv, Form, Json, Markdown, chosen

if TYPE_CHECKING:
    from schedlab.tables import Table

NAME = "list"
EXAMPLE = "schedlab list schedulers"

FAMILIES = (
    "schedulers",
    "elevators",
    "caches",
    "reclaims",
    "workloads",
    "machines",
    "drives",
    "metrics",
    "steps",
    "reproductions",
    "results",
)


def verb(
    family: Annotated[str | None, typer.Argument(help=f"One of: {', '.join(FAMILIES)}.")] = None,
    out: Annotated[Path, typer.Option("--out", help="The folder of results.")] = Path("results"),
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """List what there is: schedulers, elevators, eviction policies, workloads, machines, metrics, and more."""
    from schedlab.cli.output import print_json, print_notes, print_result
    from schedlab.errors import UsageError, nearest

    if family is not None and family not in FAMILIES:
        raise UsageError(f"no such list: {family!r}; {nearest(family, FAMILIES)}")
    form = chosen(json, csv, markdown)
    everything = _collect([family] if family else list(FAMILIES), out)
    if form is Form.JSON:
        print_json(everything)
    elif form is Form.CSV:
        print_result(form, _table(everything, named=True))
    else:
        for name, entries in everything.items():
            print_result(form, _table({name: entries}))
        if form is Form.TEXT and family not in ("reproductions", "results", "metrics"):
            print_notes(["", "More about one: schedlab describe NAME"])


def _table(everything: dict[str, list[dict]], named: bool = False) -> "Table":
    """Names and summaries, with the family in front of each if `named`."""
    from schedlab.tables import Column, Table

    heads = ["family", "name", "summary"] if named else [*everything, ""]
    rows = [
        [*([family] if named else []), entry.get("asked") or entry["name"], entry.get("summary") or ""]
        for family, entries in everything.items()
        for entry in entries
    ]
    columns = [Column(head, key=place == 0, prose=head in ("", "summary")) for place, head in enumerate(heads)]
    return Table.of_texts(columns, rows if named or rows else [["(none)", ""]])


def _collect(families: list[str], out: Path) -> dict[str, list[dict]]:
    from schedlab._core import catalogue

    known = json_text.loads(catalogue())
    own = {"reproductions": _reproductions, "results": lambda: _results(out)}
    return {family: own[family]() if family in own else known[family] for family in families}


def _reproductions() -> list[dict]:
    from schedlab.published import reproductions

    return [{"name": name, "summary": reproductions.title(name)} for name in reproductions.names()]


def _results(out: Path) -> list[dict]:
    """From the manifests alone: rows need not be read for this. A damaged one is named, and the others are listed."""
    from schedlab.errors import UsageError
    from schedlab.results.manifest import read_manifest
    from schedlab.system.terminal import say

    entries = []
    for file in sorted(out.glob("*/manifest.json")):
        try:
            manifest = read_manifest(file.parent)
        except (UsageError, OSError) as why:
            say(f"warning: {why}")
            continue
        seeds = manifest["seeds"]
        entries.append(
            {
                "name": file.parent.name,
                "summary": manifest["question"],
                "cells": len(manifest["cells"]),
                "seeds": seeds if isinstance(seeds, int) else len(seeds),
                "created": manifest["created"],
                "folder": str(file.parent),
            }
        )
    return entries
