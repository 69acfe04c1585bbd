"""`schedlab diagnose`: which resource of this host is short, by what signs, who uses it up, and what to try."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from schedlab.live.diagnose import Finding
    from schedlab.live.watch import Means

NAME = "diagnose"
EXAMPLE = "schedlab diagnose --for 10s --write try.toml"

#: Tasks that are looked at: all of them, on most hosts.
TASKS = 1000


def verb(
    lasting: Annotated[str, typer.Option("--for", help="How long to watch.")] = "10s",
    every: Annotated[str, typer.Option("--every", help="Time between samples.")] = "500ms",
    write: Annotated[Path | None, typer.Option("--write", help="Write an experiment that tries what may help.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Watch this host and name the resource that is short, the evidence, and who uses it up. Nothing is changed."""
    from schedlab.errors import Stopped, UsageError

    if write and not write.absolute().parent.is_dir():
        raise UsageError(f"--write {write}: there is no folder {write.parent}")
    try:
        findings, means, missing = _watch(lasting, every)
    except KeyboardInterrupt:
        raise Stopped("stopped while watching; nothing was judged") from None
    written, note = _write(findings[0], write) if write else (None, None)
    if json:
        _print_json(findings, means, missing, written, note)
    else:
        _print(findings, means, missing, written, note)


def _watch(lasting: str, every: str) -> tuple[list["Finding"], "Means", list[dict]]:
    from contextlib import closing

    from schedlab.errors import UsageError
    from schedlab.live import agent
    from schedlab.live.diagnose import Blame, judge
    from schedlab.live.watch import Means, Rows, Wish, samples

    wish = Wish(every=every, lasting=lasting, tasks=TASKS, by="disk")
    schema = agent.ask(["sample", "--schema"])
    header, lines = samples(wish)
    rows, means, blame = Rows(header, schema, wish), Means(), Blame()
    with closing(lines):
        for line in lines:
            means.add(rows.row(line))
            blame.add(line)
    if not means.samples:
        raise UsageError(f"--for {lasting}: shorter than --every {every}, nothing was seen")
    return judge(header, means, blame, header["pid"]), means, header["missing"]


def _write(finding: "Finding", path: Path) -> tuple[str | None, str]:
    from schedlab.experiment import Experiment
    from schedlab.live import agent, remedy
    from schedlab.store import replace

    if not finding.short:
        return None, "nothing is short, so no experiment was written"
    definition = remedy.experiment(finding, agent.ask(["tunables"]))
    if definition is None:
        return None, f"no tunable of this host is known to help against a shortage of {finding.resource}"
    # What the lab itself would refuse is not handed to anybody.
    Experiment.from_dict(definition, path.stem).cells()
    signs = "; ".join(_sign(entry) for entry in finding.evidence if entry["over"])
    head = (
        f"Written by schedlab diagnose: short of {finding.resource}.\n{signs}\n"
        f'The load resembles what was seen and is not it: put your own in its place (load = "command").\n'
        f"  schedlab run {path.name}"
    )
    replace(path, remedy.toml(definition, head).encode())
    return str(path), f"an experiment that tries what may help: {path}"


def _sign(entry: dict) -> str:
    return f"{entry['sign']} {entry['value']:.1f} {entry['unit']}, from {entry['threshold']} on short"


def _as_json(finding: "Finding") -> dict:
    from dataclasses import asdict

    return asdict(finding) | {"severity": finding.severity}


def _print_json(
    findings: list["Finding"], means: "Means", missing: list[dict], written: str | None, note: str | None
) -> None:
    from schedlab.cli.output import print_json

    print_json(
        {
            "short": [finding.resource for finding in findings if finding.short],
            "findings": [_as_json(finding) for finding in findings],
            "seconds": means.seconds,
            "samples": means.samples,
            "missed": means.missed,
            "own_ns": means.own_ns,
            "missing": missing,
            "written": written,
            "note": note,
        }
    )


def _print(
    findings: list["Finding"], means: "Means", missing: list[dict], written: str | None, note: str | None
) -> None:
    from schedlab.cli.output import print_table

    short = [finding for finding in findings if finding.short]
    print(f"short of {', then '.join(finding.resource for finding in short)}" if short else "short of nothing")
    rows = [
        [
            finding.resource,
            entry["sign"],
            "–" if entry["value"] is None else f"{entry['value']:.1f} {entry['unit']}",
            f"{entry['threshold']} {entry['unit']}",
            {True: "short", False: "", None: "not known"}[entry["over"]],
            entry["why"],
        ]
        for finding in findings
        for entry in finding.evidence
    ]
    print_table(["resource", "sign", "seen", "short from", "", "because"], rows, numeric=(2, 3))
    for finding in short:
        if finding.device:
            print(f"{finding.resource}: mostly {finding.device}")
        for group in finding.groups:
            print(f"{finding.resource}: the control group {group} has reached its limit")
        for task in finding.tasks:
            where = f", in {task.group}" if task.group else ""
            print(f"{finding.resource}: {task.name} ({task.pid}{where}) {task.amount:.0f} {finding.unit}")
    for entry in missing:
        print(f"not known: {entry['what']}: {entry['why']}")
    print(means.story())
    if note:
        print(note)
