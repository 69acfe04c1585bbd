"""The verbs of `schedlab host` for settings that stay: profiles, the files that they become, what departs from them."""

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from schedlab.cli.forms import Csv, Form, Json, Markdown, chosen
from schedlab.cli.hosts import HOST, Journal, On


class As(StrEnum):
    """Who makes the settings at boot."""

    SYSTEMD = "systemd"
    TUNED = "tuned"


Profile = Annotated[str, typer.Argument(help="A profile: its file, or the name of an installed one.")]
AsForm = Annotated[As, typer.Option("--as", help="systemd: sysctl.d, udev rules and units; tuned: a profile of TuneD.")]

#: What is printed of a setting's standing, and in which style.
STANDING = {
    "same": ("as it should be", "green"),
    "differs": ("differs", "yellow"),
    "missing": ("not on this host", "red"),
    "unreadable": ("cannot be read", "red"),
}


def add(app: typer.Typer) -> None:
    """Add the verbs to those of the host."""
    for verb, example in VERBS.items():
        app.command(verb.__name__, epilog=f"Example: schedlab host {example}")(verb)


def save(
    file: Annotated[Path, typer.Argument(help="The profile to write: NAME.toml.")],
    settings: Annotated[list[str], typer.Argument(help="NAME=VALUE, or NAME for its present value.")],
    about: Annotated[str, typer.Option("--about", help="What is said of it: where it comes from, what it gains.")] = "",
    on: On = HOST,
    json: Json = False,
) -> None:
    """Write settings to a profile, a TOML file that can be kept, shared, compared with hosts and installed."""
    from schedlab.cli.output import print_json, refuse_unwritable
    from schedlab.system import writing
    from schedlab.targets.host import profiles

    refuse_unwritable(file=file)
    made = profiles.new(profiles.named(file), settings, about, on)
    writing.replace(file, made["text"].encode())
    if json:
        print_json({"file": str(file), "profile": made["profile"]})
    else:
        print(f"{file}: {_counted(made['profile'])}")


def files(
    profile: Profile,
    form: AsForm = As.SYSTEMD,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write them below this folder instead of printing them.")
    ] = None,
    journal: Journal = None,
    on: On = HOST,
    json: Json = False,
) -> None:
    """Print the files that a profile becomes: sysctl.d, udev rules, systemd units, or a TuneD profile."""
    from schedlab.cli.output import print_json
    from schedlab.targets.host import profiles

    made = profiles.files(profile, form, journal, on)
    if out:
        _write(out, made["files"])
    if json:
        print_json(made)
        return
    for one in made["files"]:
        link = one.get("link", False)
        print(f"# {one['path']}{' -> ' + one['text'] if link else ''}")
        if not link and not out:
            print(one["text"])
    _remarks(made)


def install(
    profile: Profile,
    form: AsForm = As.SYSTEMD,
    journal: Journal = None,
    on: On = HOST,
    json: Json = False,
) -> None:
    """Make the settings of a profile now and at every boot. `schedlab host files` prints what would be put where."""
    from schedlab.cli.output import print_json
    from schedlab.targets.host import profiles

    done = profiles.install(profile, form, journal, on)
    if json:
        print_json(done)
        return
    name = done["profile"]["name"]
    for path in done["files"]:
        print(f"made: {path}")
    for one in done["rounded"]:
        print(f"warning: {one['path']}: wanted {one['expected']}, reads {one['actual']}")
    print(f"{name}: {_counted(done['profile'])}, {_force(done)}")
    _remarks(done)
    where = "" if on == HOST else f" --on {on}"
    print(f"to take it back: schedlab host uninstall {name}{where}")


def uninstall(
    name: Annotated[str, typer.Argument(help="The name of an installed profile.")],
    force: Annotated[bool, typer.Option("--force", help="Remove files too that were changed since.")] = False,
    journal: Journal = None,
    on: On = HOST,
    json: Json = False,
) -> None:
    """Remove what a profile has put on this host, and restore the settings that it changed."""
    from schedlab.cli.output import print_json
    from schedlab.system.status import FOUND
    from schedlab.targets.host import profiles

    done = profiles.uninstall(name, force, journal, on)
    if json:
        print_json(done)
    else:
        _print_uninstalled(name, done)
    if not done["complete"]:
        raise typer.Exit(FOUND)


def _print_uninstalled(name: str, done: dict[str, Any]) -> None:
    for path in done["removed"]:
        print(f"removed: {path}")
    for path in done["gone"]:
        print(f"was not there: {path}")
    for path in done["changed"]:
        print(f"left alone: {path} was changed since; --force removes it")
    for text in done["undone"]["back"]:
        print(f"restored: {text}")
    for text in done["undone"]["gone"]:
        print(f"gone: {text}")
    for one in done["undone"]["foreign"]:
        print(f"left alone: {one['path']} reads {one['actual']}, which is neither ours ({one['expected']}) nor the old")
    _remarks({**done, "commands": []})
    print(f"{name}: {'nothing of it is left' if done['complete'] else 'some of it is left'}")


def installed(
    journal: Journal = None, on: On = HOST, json: Json = False, csv: Csv = False, markdown: Markdown = False
) -> None:
    """List the installed profiles."""
    from schedlab.cli.output import print_json, print_result
    from schedlab.tables import Cell, Column, Table
    from schedlab.targets.host import profiles

    form, found = chosen(json, csv, markdown), profiles.installed(journal, on)
    if form is Form.JSON:
        print_json({"profiles": found})
        return
    if not found and form is Form.TEXT:
        print("No profile is installed.")
        return
    columns = [Column("profile", key=True), Column("as"), Column("since"), Column("settings", prose=True)]
    columns += [Column("about", prose=True)]
    rows = [
        [
            one["profile"]["name"] + ("" if one["complete"] else " (in part)"),
            one["form"],
            Cell(time.strftime("%Y-%m-%d %H:%M", time.localtime(one["since"])), (one["since"],)),
            ", ".join(f"{name}={value}" for name, value in one["profile"]["tunables"].items()),
            one["profile"].get("about", ""),
        ]
        for one in found
    ]
    print_result(form, Table.of_texts(columns, rows))


def diff(
    profile: Profile,
    journal: Journal = None,
    on: On = HOST,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Report what on this host departs from a profile. Exit status 1 if anything does."""
    from schedlab.cli.output import print_json, print_result
    from schedlab.system.status import FOUND
    from schedlab.tables import Cell, Column, Table
    from schedlab.targets.host import profiles

    form, found = chosen(json, csv, markdown), profiles.departures(profile, journal, on)
    settings = found["settings"]
    if form is Form.JSON:
        print_json(found)
    else:
        columns = [Column("setting", key=True), Column("profile"), Column("now"), Column("", plain=("standing",))]
        rows = [
            [
                one["setting"],
                one["wanted"],
                Cell(one["now"] or "–", (one["now"],)),
                Cell(STANDING[one["standing"]][0], (one["standing"],), style=STANDING[one["standing"]][1]),
            ]
            for one in settings
        ]
        print_result(form, Table.of_texts(columns, rows))
    if any(one["standing"] != "same" for one in settings):
        raise typer.Exit(FOUND)


def watch(
    profile: Profile,
    every: Annotated[str, typer.Option("--every", help="How often the settings are read.")] = "1s",
    lasting: Annotated[str | None, typer.Option("--for", help="For how long; until Ctrl-C by default.")] = None,
    journal: Journal = None,
    json: Json = False,
) -> None:
    """Report each change of a profile's settings on this host as it happens: the value, and as root who wrote it.

    Exit status 1 if anything has changed, 130 if Ctrl-C ends it then. With --json a line for each change.
    """
    from contextlib import closing

    from schedlab.system.status import FOUND
    from schedlab.targets.host import profiles

    changed = False
    with closing(profiles.watched(profile, every, lasting, journal)) as lines:
        try:
            first = next(lines)
            _watched(first, json)
            for line in lines:
                changed = True
                _altered(line, json)
        except KeyboardInterrupt:
            pass
    if changed:
        raise typer.Exit(FOUND)


def _watched(first: dict[str, Any], json: bool) -> None:
    """What is watched, and what departs already."""
    from schedlab.system.terminal import say

    if json:
        _print_line(first)
        return
    for one in first["settings"]:
        if one["standing"] != "same":
            print(f"{one['setting']} = {one['now'] or '–'} already, {one['wanted']} in the profile", flush=True)
    if not first["names_writers"]:
        say("who writes a setting is not known: that needs root")


def _altered(line: dict[str, Any], json: bool) -> None:
    if json:
        _print_line(line)
        return
    when, by = time.strftime("%H:%M:%S", time.localtime(line["at"])), line["by"]
    who = "; who wrote it is not known"
    if by:
        # A line stays one, whatever a process calls itself.
        name, command = (" ".join((by[key] or "").split()) for key in ("comm", "command"))
        known = f"{name} ({by['pid']})" if name else f"process {by['pid']}, which has ended"
        who = f", written by {known}{': ' + command if command else ''}"
    again = " (as in the profile)" if line["standing"] == "same" else ""
    print(f"{when} {line['setting']}: {line['was'] or '–'} -> {line['now'] or '–'}{again}{who}", flush=True)


def _print_line(line: dict[str, Any]) -> None:
    import json
    import sys

    from schedlab.system import escaped

    out = escaped.raw(sys.stdout)
    out.write(escaped.of_json(json.dumps({"schema": "schedlab/host-watch/1", **line})) + "\n")
    out.flush()


def _counted(profile: dict[str, Any]) -> str:
    count = len(profile["tunables"])
    return f"{count} setting{'' if count == 1 else 's'}"


def _force(done: dict[str, Any]) -> str:
    return "in force now and at every boot" if done["form"] == As.SYSTEMD else "in force once TuneD has this profile"


def _remarks(made: dict[str, Any]) -> None:
    for note in made["notes"]:
        print(f"note: {note}")
    for command in made["commands"]:
        print(f"then: {command}")


def _write(folder: Path, made: list[dict[str, Any]]) -> None:
    """Write files below a folder, as they lie below /."""
    from schedlab.system import writing

    for one in made:
        path = folder / one["path"].lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        if one.get("link", False):
            path.unlink(missing_ok=True)
            path.symlink_to(one["text"])
        else:
            writing.replace(path, one["text"].encode())


#: The verbs, each with its example.
VERBS = {
    save: "save web.toml swappiness=10 elevator@vda",
    files: "files web.toml --as tuned",
    install: "install web.toml",
    uninstall: "uninstall web",
    installed: "installed --json",
    diff: "diff web.toml",
    watch: "watch web --for 1h",
}
