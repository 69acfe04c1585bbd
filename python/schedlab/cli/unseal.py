"""`schedlab unseal`: the verdict first, then which setting each letter was."""

from pathlib import Path
from typing import Annotated

import typer

from schedlab.cli.forms import Csv, Form, Json, Markdown, chosen

NAME = "unseal"
EXAMPLE = 'schedlab unseal results/quantum --verdict "B is quicker than A, and C no worse"'


def verb(
    folder: Annotated[Path, typer.Argument(help="A blind experiment's results: results/NAME.")],
    verdict: Annotated[
        str, typer.Option("--verdict", help="Your conclusion, in terms of the letters; kept with the results.")
    ],
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Record the verdict on a blind experiment, then reveal which setting each letter was."""
    from schedlab.cli.output import print_json, print_result
    from schedlab.results.folders import newest
    from schedlab.tables import Column, Table
    from schedlab.targets.host.blinded import unseal

    form = chosen(json, csv, markdown)
    folder = newest(folder)
    meant = unseal(folder, verdict)
    if form is Form.JSON:
        print_json({"folder": str(folder), "verdict": verdict, "letters": meant})
        return
    names = list(dict.fromkeys(name for factors in meant.values() for name in factors))
    rows = [[letter, *(factors.get(name, "") for name in names)] for letter, factors in sorted(meant.items())]
    columns = [Column("setting", key=True), *(Column(name) for name in names)]
    note = f"the results are under their own names now: {folder}; show them with: schedlab report {folder}"
    print_result(form, Table.of_texts(columns, rows, f"verdict: {verdict}"), [note], first=True)
