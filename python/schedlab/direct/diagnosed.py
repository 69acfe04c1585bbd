"""What `schedlab diagnose` does: which resource of this host is short, by which indicators, and who uses it up."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from schedlab.observe.diagnose import Finding
    from schedlab.observe.usage import Task
    from schedlab.observe.watch import Means
    from schedlab.targets.agent import Running

#: Tasks that are looked at: all of them, on most hosts.
TASKS = 1000


def run(
    lasting: str = "10s",
    every: str = "500ms",
    write: Path | None = None,
    json: bool = False,
    csv: bool = False,
    markdown: bool = False,
) -> int:
    """Carry the verb out; gives the exit status."""
    from schedlab.errors import Stopped
    from schedlab.system.printing import refuse_several, refuse_unwritable

    refuse_several(json=json, csv=csv, markdown=markdown)
    refuse_unwritable(write=write)
    try:
        findings, means, missing, whole = watch(lasting, every)
    except KeyboardInterrupt:
        raise Stopped("stopped while watching; nothing was judged") from None
    written, note = _write(findings[0], write) if write else (None, None)
    if json:
        _print_json(findings, means, missing, written, note)
    elif csv or markdown:
        _print_plain(findings, csv)
    else:
        _print(findings, means, missing, whole, note)
    return 0


def _print_plain(findings: list[Finding], csv: bool) -> None:
    """The indicators as a table for programs and pages; with CSV the summary goes to standard error."""
    from sys import stderr

    from schedlab.tables import Cell, Column, Table, formats

    heads = ["resource", "sign", "value", "unit", "short from", "verdict", "because"]
    rows = [
        [
            finding.resource,
            entry["sign"],
            Cell("–" if entry["value"] is None else f"{entry['value']:.1f}", (entry["value"],)),
            entry["unit"],
            Cell(str(entry["threshold"]), (entry["threshold"],)),
            _mark(finding, entry),
            entry["why"],
        ]
        for finding in findings
        for entry in finding.evidence
    ]
    table = Table.of_texts([Column(head, numeric=head in ("value", "short from")) for head in heads], rows)
    print(formats.csv(table) if csv else f"{formats.markdown(table)}\n", end="")
    print(
        first_line(findings) if csv else f"- {formats.meant_as_text(first_line(findings))}",
        file=stderr if csv else None,
    )


def watch(lasting: str, every: str) -> tuple[list[Finding], Means, list[dict], list[Task]]:
    """Watch the host: what was found of each resource, the means, what is not known, and tasks at full speed."""
    from schedlab.observe.watch import Request, samples
    from schedlab.targets.agent import Running

    request = Request(every=every, lasting=lasting, tasks=TASKS, by="disk")
    # All agents are at work before anything is imported for the judgement.
    with Running(["sample", "--schema"]) as described, Running(["suspects", "--for", lasting]) as suspects:
        header, lines = samples(request)
        try:
            from schedlab.errors import UsageError
            from schedlab.observe.diagnose import at_full_speed, judge
            from schedlab.observe.usage import Usage
            from schedlab.observe.watch import Means, Rows
            from schedlab.tables import printed  # noqa: F401

            rows, means = Rows(header, described.answer(), request), Means()
            usage = Usage([header["pid"]])
            for line in lines:
                means.add(rows.row(line))
                usage.add(line)
        finally:
            lines.close()
        if not means.samples:
            raise UsageError(f"--for {lasting}: shorter than --every {every}, nothing was seen")
        seen, unknown = _seen(suspects)
    findings = judge(header, means, usage, seen)
    return findings, means, header["missing"] + unknown, at_full_speed(usage)


def _seen(suspects: Running) -> tuple[dict, list[dict]]:
    """What the agent's `suspects` saw, and what is not known, and why."""
    from schedlab.errors import UsageError

    try:
        seen = suspects.answer() or {}
    except UsageError as why:
        return {}, [{"what": "groups, locks, sockets, ends of tasks", "why": str(why)}]
    unanswered = [line.split(": ", 1) for line in seen.get("unknown", [])]
    return seen, [{"what": what, "why": why} for what, why in unanswered]


def _write(finding: Finding, path: Path) -> tuple[str | None, str]:
    from schedlab.experiment import Experiment
    from schedlab.observe import remedy
    from schedlab.system.toml import headed
    from schedlab.system.writing import replace
    from schedlab.targets import agent

    if not finding.short:
        return None, "nothing is short, so no experiment was written"
    definition = remedy.experiment(finding, agent.ask(["tunables"]))
    if definition is None:
        return None, f"no tunable of this host is known to help against a shortage of {finding.resource}"
    # What the lab itself would refuse is not proposed.
    Experiment.from_dict(definition, path.stem).cells()
    indicators = "; ".join(_indicator(entry) for entry in finding.evidence if entry["over"])
    head = (
        f"Written by schedlab diagnose: short of {finding.resource}.\n{indicators}\n"
        f'The load resembles what was seen and is not it: put your own in its place (load = "command").\n'
        f"  schedlab run {path.name}"
    )
    replace(path, headed(definition, head).encode())
    return str(path), f"an experiment that tries what may help: {path}"


def _indicator(entry: dict) -> str:
    return f"{entry['sign']} {entry['value']:.1f} {entry['unit']}, from {entry['threshold']} on short"


def _as_json(finding: Finding) -> dict:
    return finding.as_dict() | {"severity": finding.severity}


def _print_json(
    findings: list[Finding], means: Means, missing: list[dict], written: str | None, note: str | None
) -> None:
    from schedlab.system.printing import print_json

    print_json(
        {
            "summary": first_line(findings),
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


def _print(findings: list[Finding], means: Means, missing: list[dict], whole: list[Task], note: str | None) -> None:
    from schedlab.tables.printed import print_notes, print_table

    print(first_line(findings))
    rows = [
        [
            finding.resource,
            entry["sign"],
            "–" if entry["value"] is None else f"{entry['value']:.1f} {entry['unit']}",
            f"{entry['threshold']} {entry['unit']}",
            _mark(finding, entry),
            entry["why"],
        ]
        for finding in findings
        for entry in finding.evidence
    ]
    print_table(["resource", "sign", "seen", "short from", "", "because"], rows, numeric=(2, 3))
    print_notes(_notes(findings, means, missing, whole, note))


def _notes(
    findings: list[Finding], means: Means, missing: list[dict], whole: list[Task], note: str | None
) -> Iterator[str]:
    """What is said below the table."""
    for finding in findings:
        if finding.device:
            yield f"{finding.resource}: mostly {finding.device}"
        for group in finding.groups:
            yield f"{finding.resource}: the control group {group} has reached its limit"
        for task in finding.tasks:
            yield f"{finding.resource}: {task}: {task.amount:,.1f} {task.unit or finding.unit}".rstrip()
        for line in finding.notes:
            yield f"{finding.resource}: {line}"
    if whole and not any(finding.short for finding in findings):
        for task in whole:
            yield f"no shortage, but {task} uses a whole processor and can go no faster"
    for entry in missing:
        yield f"not known: {entry['what']}: {entry['why']}"
    yield means.story()
    if note:
        yield note


def first_line(findings: list[Finding]) -> str:
    """Says no more and no less than the marks in the table below."""
    short = [finding for finding in findings if finding.short]
    if short:
        return f"short of {'; then '.join(finding.story for finding in short)}"
    high = [entry["sign"] for finding in findings for entry in finding.evidence if entry["over"]]
    return f"short of nothing (high, and no task is held up: {', '.join(high)})" if high else "short of nothing"


def _mark(finding: Finding, entry: dict) -> str:
    if entry["over"] is None:
        return "not known"
    if not entry["over"]:
        return ""
    return "short" if finding.short else "high"
