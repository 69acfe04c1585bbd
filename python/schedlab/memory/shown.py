"""What the verbs of `schedlab memory` print: tables, and documents of the same names."""

from collections.abc import Sequence
from datetime import UTC, datetime
from math import floor, isnan, log10
from typing import Any

from schedlab.memory.advice import Advice, in_words, left_out, without_memory
from schedlab.memory.drift import Drift
from schedlab.memory.history import Group, History
from schedlab.memory.limits import EXTRAPOLATED, MARGIN, Limit
from schedlab.memory.replay import LARGEST, Outcome, Replay
from schedlab.stats import Interval
from schedlab.stats.comparison import LEVEL
from schedlab.tables import Cell, Column, Table

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
MIB = 2**20
#: How a limit was found, in words.
HOW = {EXTRAPOLATED: "extrapolated", MARGIN: "too few runs"}


def _mib(size: float) -> Cell:
    return Cell(f"{size / MIB:,.1f}", (size / MIB,))


def _number(value: float, text: str) -> Cell:
    return Cell("–" if isnan(value) else text, (None if isnan(value) else value,))


def _names(by: str) -> list[Column]:
    return [Column("program", key=True), *([Column("class", prose=True)] if by == "class" else [])]


def _named(group: Group, by: str) -> list[str]:
    return [group.program, *([group.text] if by == "class" else [])]


def _plain(value: float) -> float | None:
    return None if isnan(value) else value


def _interval(found: Interval) -> dict[str, Any]:
    return {"value": _plain(found.mean), "low": _plain(found.low), "high": _plain(found.high), "n": found.n}


def programs(history: History, by: str) -> Table:
    """What was recorded of each program or class, those with most runs first."""
    columns = [*_names(by), Column("runs", numeric=True), Column("max", "MiB", numeric=True)]
    columns += [Column(name, "MiB", numeric=True) for name in QUANTILES]
    columns += [Column("versions", numeric=True), Column("last seen", "UTC")]
    rows = []
    for group in sorted(history.groups, key=lambda group: -group.n):
        sizes = [_mib(group.peak), *(_mib(group.quantile(share)) for share in QUANTILES.values())]
        count = len([version for version in group.versions if version])
        seen = datetime.fromtimestamp(group.last_ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M")
        rows.append([*_named(group, by), Cell(f"{group.n:,}", (group.n,)), *sizes, count, seen])
    return Table.of_texts(columns, rows)


def programs_document(history: History) -> dict[str, Any]:
    """The same for programs."""
    return {
        "programs": [
            {
                **_identity(group),
                "runs": group.n,
                "polled": group.polled,
                "failed": group.failed,
                "max_bytes": group.peak,
                **{f"{name}_bytes": group.quantile(share) for name, share in QUANTILES.items()},
                "max_mapped_bytes": group.mapped,
                "first_seen_ns": group.first_ns,
                "last_seen_ns": group.last_ns,
                "versions": group.versions,
                "kept": len(group.runs),
            }
            for group in history.groups
        ],
        "recordings": [one._asdict() for one in history.recordings],
        "notes": history.notes,
    }


def _identity(group: Group) -> dict[str, Any]:
    return {"program": group.program, "class": group.text or None}


def limits(found: Sequence[Advice], by: str, safety: float) -> Table:
    """A limit for each program or class. Shares have the digits in which the safety has three."""
    digits = max(2 - floor(log10(safety * 1000)), 0)
    columns = [*_names(by), Column("runs", numeric=True), Column("max", "MiB", numeric=True)]
    columns += [Column(name, "MiB", numeric=True) for name in ("memory.high", "memory.max")]
    beyond = ("beyond", "beyond low", "beyond high")
    columns += [Column("expected beyond", "per 1,000 runs", numeric=True, plain=beyond), Column("")]
    rows = []
    for advice in found:
        limit, group = advice.limit, advice.group
        bounds = (limit.expected * 1000, limit.low * 1000, limit.high * 1000)
        expected, low, high = (f"{value:.{digits}f}" for value in bounds)
        sizes = [_mib(group.kept[-1]), _mib(advice.high), _mib(limit.bytes)]
        rows.append(
            [
                *_named(group, by),
                Cell(f"{limit.n:,}", (limit.n,)),
                *sizes,
                Cell(f"{expected} [{low}, {high}]", bounds),
                _how(limit),
            ]
        )
    return Table.of_texts(columns, rows)


def _how(limit: Limit) -> str:
    return HOW.get(limit.how, "")


def limit_notes(found: Sequence[Advice], without: Sequence[Group], safety: float, newest: bool) -> list[str]:
    """What the words in the table of limits mean, what is not in it, and how to set a single one."""
    kinds = {advice.limit.how for advice in found}
    notes = [
        f"memory.max: at most {safety:g} of the runs are expected beyond it; brackets: 95 % interval of that share; "
        "memory.high: ten times as many, which are throttled"
    ]
    if EXTRAPOLATED in kinds:
        notes.append(
            "extrapolated: too few runs to show that share; the tail is taken to be a power of the size (Pareto), and "
            "if it falls more quickly the share is likely below the interval; without any assumption at most "
            "1 / (runs + 1) is expected beyond"
        )
    if MARGIN in kinds:
        notes.append("too few runs: twice the largest peak, and that share is not claimed")
    if unknown := sum(one.unknown for one in found):
        notes.append(f"newest versions: {left_out(unknown)}")
    if newest and (same := sum(not any(run.version for run in one.group.runs) for one in found)):
        notes.append(f"no version is known of {same:,} of {len(found):,}: all of their runs are used")
    if without:
        notes.append(without_memory(without))
    return notes + (in_words(found[0]) if len(found) == 1 else [])


def limits_document(
    found: Sequence[Advice], without: Sequence[Group], safety: float, unit: str | None
) -> dict[str, Any]:
    """The same for programs; with a unit the text of its drop-in."""
    rows = [
        {
            **_identity(advice.group),
            "memory_max_bytes": advice.limit.bytes,
            "memory_high_bytes": advice.high,
            "how": advice.limit.how,
            "expected_share": advice.limit.expected,
            "low": advice.limit.low,
            "high": advice.limit.high,
            "share_without_assumption": advice.limit.certain,
            "runs": advice.limit.n,
            "unknown_version_runs": advice.unknown,
        }
        for advice in found
    ]
    none = [_identity(group) | {"runs": group.n} for group in without]
    return {"safety": safety, "limits": rows, "without_memory": none, "drop_in": unit}


def drifts(found: Sequence[Drift], by: str) -> Table:
    """Versions compared."""
    columns = [*_names(by), Column("versions"), Column("runs")]
    columns += [
        Column(name, numeric=True, plain=(name, f"{name} low", f"{name} high"))
        for name in ("median ratio", "p99 ratio")
    ]
    columns += [Column("p adjusted", numeric=True), Column("verdict")]
    rows = [
        [
            *_named(one.group, by),
            f"{one.older} → {one.newer}",
            f"{one.runs[0]}, {one.runs[1]}",
            _ratio(one.median),
            _ratio(one.p99),
            _number(one.adjusted, f"{one.adjusted:.3g}"),
            one.verdict,
        ]
        for one in found
    ]
    return Table.of_texts(columns, rows)


def _ratio(found: Interval) -> Cell:
    known = (_plain(found.low), _plain(found.high))
    text = f"{found.mean:.3f}" + ("" if None in known else f" [{found.low:.3f}, {found.high:.3f}]")
    return Cell(text, (found.mean, *known))


def drift_notes(found: Sequence[Drift]) -> list[str]:
    """What was compared."""
    if not found:
        return ["no program has two versions with enough runs"]
    return [
        "newer to older, with 95 % intervals by bootstrap; a verdict by permutation of runs, p adjusted for all "
        f"{len(found)} comparisons (Holm), real up to {LEVEL:g}"
    ]


def drifts_document(found: Sequence[Drift]) -> dict[str, Any]:
    """The same for programs."""
    return {
        "comparisons": [
            {
                **_identity(one.group),
                "older": one.older,
                "newer": one.newer,
                "runs": list(one.runs),
                "median_ratio": _interval(one.median),
                "p99_ratio": _interval(one.p99),
                "p": one.p,
                "adjusted": one.adjusted,
                "verdict": one.verdict,
            }
            for one in found
        ]
    }


def replayed(found: Replay) -> Table:
    """What each rule would have cost and broken."""
    columns = [Column("limit", key=True), Column("runs", numeric=True), Column("broken", numeric=True)]
    columns += [Column("share broken", "%", numeric=True, plain=("share", "share low", "share high"))]
    columns += [Column(name, "GiB s", numeric=True) for name in ("declared", "used")]
    columns += [Column("declared per used", numeric=True)]
    columns += [Column("saved", "% of the largest", numeric=True, plain=("saved", "saved low", "saved high"))]
    return Table.of_texts(columns, [_outcome(one, found) for one in found.outcomes.values()])


def _outcome(one: Outcome, found: Replay) -> list[Any]:
    share, saved = one.share(), one.saved(found.outcomes[LARGEST])
    return [
        one.rule,
        Cell(f"{one.runs:,}", (one.runs,)),
        Cell(f"{one.broken:,}", (one.broken,)),
        _percent(share),
        *(Cell(f"{value / 2**30:,.2f}", (value / 2**30,)) for value in (one.declared, one.used)),
        _number(one.declared / one.used, f"{one.declared / one.used:.2f}") if one.used else "–",
        "" if one.rule == LARGEST else _percent(saved),
    ]


def _percent(found: Interval) -> Cell:
    values = [_plain(value * 100) for value in found[:3]]
    if values[0] is None:
        return Cell("–", tuple(values))
    text = f"{values[0]:.2f}" + ("" if None in values else f" [{values[1]:.2f}, {values[2]:.2f}]")
    return Cell(text, tuple(values))


def replay_notes(found: Replay) -> list[str]:
    """What was left out, and what the words mean."""
    notes = [
        "largest: the largest peak of the program so far; used: at most that, as no run holds its peak all the time",
        f"{found.first:,} first runs of a program or class have no limit by history and are in no row",
    ]
    if not any(one.used for one in found.outcomes.values()):
        notes.append("no memory recorded over any time: nothing was used that limits could be compared with")
    if found.gone:
        notes.append(f"{found.gone:,} older runs are no longer kept one by one: the history begins later")
    return notes


def replay_document(found: Replay, safety: float) -> dict[str, Any]:
    """The same for programs."""
    rows = [
        {
            "rule": one.rule,
            "runs": one.runs,
            "broken": one.broken,
            "share": _interval(one.share()),
            "declared_byte_seconds": one.declared,
            "used_byte_seconds": one.used,
            "saved_of_largest": _interval(one.saved(found.outcomes[LARGEST])),
        }
        for one in found.outcomes.values()
    ]
    return {"safety": safety, "rules": rows, "first_runs": found.first, "runs_not_kept": found.gone}
