"""`schedlab host`: what this host permits, its tunables, and settings that are restored unless they are confirmed.

The verbs of settings that stay are in `profiles`.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli import profiles
from schedlab.cli.forms import Csv, Form, Json, Markdown, chosen
from schedlab.cli.hosts import HOST, Journal, On

if TYPE_CHECKING:
    from schedlab.tables import Table

NAME = "host"
EXAMPLE = "schedlab host check --json"

app = typer.Typer(
    help="Report what this host permits; try settings and restore them, or make them stay. Every verb has --json.",
    no_args_is_help=True,
)

Settings = Annotated[list[str], typer.Argument(help="NAME=VALUE: swappiness=10, elevator@vda=bfq, rr_slice=36ms.")]

#: How each answer is shown.
STYLES = {"yes": "green", "limited": "yellow", "no": "red", "unknown": "dim"}


@app.command("check", epilog="Example: schedlab host check")
def check(
    look: Annotated[str, typer.Option("--look", help="How long to watch for other activity.")] = "500ms",
    journal: Journal = None,
    on: On = HOST,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Report what this host permits, and how to enable what is missing. Settings that dead runs left are restored."""
    from schedlab.cli.output import print_json, print_result
    from schedlab.tables import Cell, Column, Table
    from schedlab.targets.host import control

    form = chosen(json, csv, markdown)
    lines = control.check(look, journal, on)
    if form is Form.JSON:
        print_json({"answers": lines})
        return
    columns = [Column("", key=True, prose=True, plain=("what",)), Column("", plain=("answer",))]
    columns += [Column("seen", prose=True), Column("what to do", prose=True)]
    rows = [
        [line["what"], Cell(line["answer"], style=STYLES[line["answer"]]), line["seen"], line["advice"] or ""]
        for line in lines
    ]
    print_result(form, Table.of_texts(columns, rows))


@app.command("tunables", epilog="Example: schedlab host tunables swappiness elevator@vda")
def tunables(
    names: Annotated[list[str] | None, typer.Argument(help="Names of tunables; all by default.")] = None,
    on: On = HOST,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """List the tunables with present value, range and meaning; of disks, those of the one below this folder."""
    from schedlab.cli.output import print_json, print_result
    from schedlab.targets.host import control

    form = chosen(json, csv, markdown)
    rows = control.tunables(names or [], on)
    if form is Form.JSON:
        print_json({"tunables": rows})
    elif form is Form.CSV or (form is Form.MARKDOWN and names):
        print_result(form, _table("tunable", rows))
    elif names:
        _print_details(rows)
    else:
        _print_families(rows, form)


def _print_families(rows: list[dict], form: Form) -> None:
    from schedlab.cli.output import print_result

    there = [row for row in rows if row["access"] != "missing"]
    missing = [row["name"] for row in rows if row["access"] == "missing"]
    notes = [f"not on this kernel, or of elevators not at work: {', '.join(missing)}"] if missing else []
    notes.append("Of groups: memory_limit@GROUP, cpu_shares@GROUP. More about one: schedlab host tunables NAME")
    families = list(dict.fromkeys(row["family"] for row in there))
    for family in families:
        shown = _table(family.replace("_", " "), [row for row in there if row["family"] == family])
        print_result(form, shown, notes if family == families[-1] else [])


def _table(title: str, rows: list[dict]) -> "Table":
    """Tunables; in CSV with all that is known of each."""
    from schedlab.tables import Cell, Column, Table

    columns = [
        Column(title, key=True, plain=("family", "tunable")),
        Column("now", prose=True, plain=("now", "access")),
        Column("allowed", prose=True),
        Column("", prose=True, plain=("meaning",)),
    ]
    return Table.of_texts(
        columns,
        [
            [
                Cell(row["name"], (row["family"], row["name"])),
                Cell(_value(row), (row["value"], row["access"])),
                row["allowed"],
                row["meaning"] + (f" ({row['coupled']})" if row["coupled"] else ""),
            ]
            for row in rows
        ],
    )


#: What may be done with a tunable, where that is not everything.
CLOSED = {
    "read_only": "read only",
    "forbidden": "closed",
    "unmounted": "in debugfs",
    "per_task": "of each task",
    "missing": "not there",
}


def _value(row: dict) -> str:
    now = row["value"] or ""
    closed = CLOSED.get(row["access"])
    return f"{now} ({closed})".strip() if closed else now


def _print_details(rows: list[dict]) -> None:
    for row in rows:
        kernels = " to ".join(row["kernels"]) if any(row["kernels"]) else ""
        lines = {
            "now": _value(row),
            "allowed": row["allowed"],
            "file": row["path"],
            "kernels": kernels.removesuffix(" to ") + (" and later" if kernels.endswith(" to ") else ""),
            "minds": row["coupled"],
            "instead": row["elsewhere"],
        }
        print(f"{row['name']}: {row['meaning']}")
        for name, text in lines.items():
            if text:
                print(f"  {name}: {text}")


@app.command("apply", epilog="Example: schedlab host apply swappiness=10 elevator@vda=bfq --confirm-within 60s")
def apply(
    settings: Settings,
    confirm_within: Annotated[
        str, typer.Option("--confirm-within", help="Restore the old values unless confirmed by then.")
    ] = "60s",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write nothing; print the commands that set and restore the values.")
    ] = False,
    journal: Journal = None,
    on: On = HOST,
    json: Json = False,
) -> None:
    """Set tunables until the next boot. They are restored unless `schedlab host confirm` is run in time."""
    from schedlab.cli.output import print_json
    from schedlab.targets.host import control

    done = control.plan(settings, on) if dry_run else control.apply(settings, confirm_within, journal, on)
    if json:
        print_json(done, name="host-plan" if dry_run else None)
    elif dry_run:
        print("\n".join(["# set:", *done["set"], "# to restore:", *done["back"]]))
    else:
        _print_trial(done, on)


def _print_trial(done: dict, on: str) -> None:
    for name, value in done["settings"].items():
        print(f"{name} = {value}")
    for one in done["rounded"]:
        print(f"warning: {one['path']}: wanted {one['expected']}, reads {one['actual']}")
    where = "" if on == HOST else f" --on {on}"
    within = f"schedlab host confirm{where} within {done['within_seconds']} s"
    print(f"{within} keeps it; schedlab host restore{where} undoes it now.")
    print("It holds until the next boot; for longer: schedlab host save FILE, schedlab host install FILE.")


@app.command("confirm", epilog="Example: schedlab host confirm")
def confirm(journal: Journal = None, on: On = HOST, json: Json = False) -> None:
    """Keep the settings that are on trial."""
    from schedlab.cli.output import print_json
    from schedlab.targets.host import control

    confirmed = control.confirm(journal, on)
    if json:
        print_json({"confirmed": confirmed})
    else:
        print("The settings stay.")


#: What is printed of what else a restore has found.
LISTS = {
    "gone": "gone",
    "living": "left alone",
    "unreadable": "cannot be read",
    "strays": "not in the journal, left alone",
}


@app.command("restore", epilog="Example: schedlab host restore --dry-run")
def restore(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be restored.")] = False,
    journal: Journal = None,
    on: On = HOST,
    json: Json = False,
) -> None:
    """Restore settings and remove objects that dead runs left, and end trials; living runs are left alone."""
    from schedlab.cli.output import print_json
    from schedlab.targets.host import control

    done = control.restore(dry_run, journal, on)
    if json:
        print_json(done)
        return
    for text in done["back"]:
        print(f"{'would restore' if dry_run else 'restored'}: {text}")
    for one in done["foreign"]:
        print(f"left alone: {one['path']} reads {one['actual']}, which is neither ours ({one['expected']}) nor the old")
    for name, what in LISTS.items():
        for text in done[name]:
            print(f"{what}: {text}")
    if not any(found for name, found in done.items() if name != "strays"):
        print("Nothing is left to restore.")


@app.command("unit", epilog="Example: schedlab host unit > /etc/systemd/system/schedlab-restore.service")
def unit(json: Json = False) -> None:
    """Print a systemd unit that restores at boot what the last run could not."""
    from schedlab.cli.output import print_json
    from schedlab.targets.host import control

    text = control.unit()
    if json:
        print_json({"unit": text})
    else:
        print(text, end="")


profiles.add(app)
