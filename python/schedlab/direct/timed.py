"""What `schedlab time` does: where the time of a command goes, or how two commands differ."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

EXAMPLE = "schedlab time --repeat 10 -- sort data --versus sort -S 1G data"

#: Separates two commands.
VERSUS = "--versus"
#: What is shown of a remote end.
REMOTE = ["remote end", "connections", "waited for, s", "sent, MiB", "received, MiB", "sent again", "round trip, ms"]
#: A shorter time asleep need not be explained, ns.
SHORT_NS = 20e6
#: From this share of the processors on, others may have disturbed a run, percent.
FOREIGN_PERCENT = 5.0
#: Counts as the agent names them, in words, and whether they are bytes.
COUNTS = {
    "tasks": ("tasks", False),
    "voluntary_switches": ("switches, voluntary", False),
    "involuntary_switches": ("switches, involuntary", False),
    "minor_faults": ("page faults, minor", False),
    "major_faults": ("page faults, major", False),
    "read_bytes": ("read by calls", True),
    "written_bytes": ("written by calls", True),
    "drive_read_bytes": ("read from drives", True),
    "drive_written_bytes": ("written to drives", True),
    "peak_bytes": ("memory at its peak", True),
}


def run(
    command: list[str],
    repeat: int = 1,
    warm_up: int = 0,
    touch_nothing: bool = False,
    seed: int | None = None,
    json: bool = False,
    output: Path | None = None,
    csv: bool = False,
    markdown: bool = False,
) -> int:
    """Carry the verb out; gives the exit status."""
    from schedlab.observe.timing import NotTimed, measure
    from schedlab.system.printing import print_json, refuse_several, refuse_unwritable

    refuse_several(json=json, csv=csv, markdown=markdown)
    commands = _commands(command)
    refuse_unwritable(output=output)
    try:
        timings = measure(
            commands, repeat, warm_up, touch_nothing, seed, aside=(json or csv or markdown) and not output
        )
    except NotTimed as not_timed:
        return not_timed.status
    if output:
        _write(output, timings)
    elif json:
        print_json(_document(timings))
    elif csv or markdown:
        _print_plain(timings, csv)
    elif len(timings) == 1:
        _show(timings[0])
    else:
        _compare(*timings)
    return timings[0].status if len(timings) == 1 and repeat == 1 else 0


def _write(output: Path, timings) -> None:
    from json import dumps

    from schedlab.system.printing import versioned
    from schedlab.system.writing import replace

    text = dumps(versioned(_document(timings)), indent=2, ensure_ascii=False)
    replace(output, f"{text}\n".encode(errors="backslashreplace"))


def _commands(words: list[str]) -> list[list[str]]:
    from schedlab.errors import UsageError

    commands: list[list[str]] = [[]]
    for word in words:
        if word == VERSUS:
            commands.append([])
        else:
            commands[-1].append(word)
    if len(commands) > 2 or not all(commands):
        raise UsageError(f"expected one command, or two with {VERSUS} between them: {EXAMPLE}")
    return commands


def _document(timings) -> dict:
    from schedlab.observe.timing import PARTS, difference
    from schedlab.observe.waits import WAITS

    document: dict = {"commands": [_summary(timing) for timing in timings]}
    if len(timings) == 2:
        found = {part: difference(*timings, part) for part in (*PARTS, *WAITS)}
        document["difference"] = {
            part: it and {**_interval(it.of), "real": it.real if part == "elapsed_ns" else None}
            for part, it in found.items()
        }
    return document


def _summary(timing) -> dict:
    from schedlab.observe.timing import PARTS
    from schedlab.observe.waits import WAITS

    parts = {whose: {part: timing.interval(part, whose) for part in PARTS} for whose in ("main", "whole")}
    waits = {whose: {part: timing.interval(part, whose) for part in WAITS} for whose in ("main", "whole")}
    return {
        "command": list(timing.command),
        "parts": {whose: {part: it and _interval(it) for part, it in of.items()} for whose, of in parts.items()},
        "waits": {whose: {part: it and _interval(it) for part, it in of.items()} for whose, of in waits.items()},
        "remotes": timing.remotes,
        "counts": {name: (it := timing.count(name)) and _interval(it) for name in COUNTS},
        "outlived": timing.outlived,
        "foreign_percent": timing.foreign_percent,
        "unknown": timing.unknown,
        "runs": timing.runs,
    }


def _interval(interval) -> dict:
    """Bounds that one run cannot give are none."""
    known = interval.n > 1
    return {
        "mean": interval.mean,
        "low": interval.low if known else None,
        "high": interval.high if known else None,
        "n": interval.n,
    }


def _print_plain(timings, csv: bool) -> None:
    """All numbers of all commands as one table, for programs and pages."""
    from sys import stderr

    from schedlab.observe.timing import difference
    from schedlab.tables import Cell, Column, Table, formats

    found, parts = [], _parts()
    for timing in timings:
        named = " ".join(timing.command)
        for whose, tasks in (("main", "first"), ("whole", "all")):
            found += [(named, tasks, words, "s", timing.interval(part, whose)) for part, words in parts.items()]
        counts = ((words, "B" if size else "", timing.count(name)) for name, (words, size) in COUNTS.items())
        found += [(named, "all", *count) for count in counts]
    if len(timings) == 2:
        gained = {words: difference(*timings, part) for part, words in parts.items()}
        found += [("second less first", "first", words, "s", it and it.of) for words, it in gained.items()]
    rows = []
    for *names, unit, interval in found:
        known = interval and _interval(interval)
        scale = 1e9 if unit == "s" else 1
        numbers = [known[key] and known[key] / scale if known else None for key in ("mean", "low", "high")]
        texts = ["?" if known is None else _plain(number) for number in numbers]
        cells = [Cell(text, (number,)) for text, number in zip(texts, numbers, strict=True)]
        rows.append([*names, unit, *cells, interval.n if interval else 0])
    heads = ["command", "tasks", "quantity", "unit", "mean", "low", "high", "n"]
    table = Table.of_texts([Column(head, numeric=place > 3) for place, head in enumerate(heads)], rows)
    print(formats.csv(table) if csv else f"{formats.markdown(table)}\n", end="")
    for line in _limits(timings):
        print(line if csv else f"- {formats.meant_as_text(line)}", file=stderr if csv else None)


def _plain(number: float | None) -> str:
    return "" if number is None else f"{number:.6g}"


def _parts() -> dict[str, str]:
    """All parts, by name, in words."""
    from schedlab.observe.timing import PARTS
    from schedlab.observe.waits import WAITS

    return {**PARTS, **{part: f"asleep, {words}" for part, words in WAITS.items()}}


def _seen(timings) -> dict[str, str]:
    """Those that are shown: of the waits while asleep the ones that were seen."""
    from schedlab.observe.waits import WAITS

    def seen(part: str) -> bool:
        found = (timing.interval(part, whose) for timing in timings for whose in ("main", "whole"))
        return any(it and it.mean for it in found)

    return {part: words for part, words in _parts().items() if part not in WAITS or seen(part)}


def _show(timing) -> None:
    from schedlab.tables.printed import print_table

    rows = []
    whole = timing.interval("elapsed_ns")
    for part, words in _seen([timing]).items():
        own = timing.interval(part)
        share = f"{own.mean / whole.mean * 100:.1f} %" if own and whole and whole.mean else ""
        rows.append([words, _spell(own), share, _spell(timing.interval(part, "whole"))])
    lives = timing.interval("elapsed_ns", "whole") is not None
    holds = "all tasks, task-seconds" if lives else "all tasks, s of processor time"
    print_table(["", "first task, s", "", holds], rows, " ".join(timing.command), numeric=(1, 2, 3))
    counts = [[words, _spell_count(timing.count(name), size)] for name, (words, size) in COUNTS.items()]
    print_table(["all tasks", ""], counts, numeric=(1,))
    if timing.remotes:
        print_table(REMOTE, [_remote(one) for one in timing.remotes], numeric=tuple(range(1, len(REMOTE))))
    _say_limits([timing])


def _remote(one: dict) -> list[str]:
    """A remote end, as it is shown."""
    host = f"[{one['address']}]" if ":" in one["address"] else one["address"]
    again = f"{one['retransmits']:,.0f}"
    if one["segments"]:
        again += f" ({100 * one['retransmits'] / one['segments']:.1f} %)"
    return [
        f"{host}:{one['port']}" if one["port"] else f"{host}, which connected",
        f"{one['connections']:,.0f}",
        f"{one['waited_ns'] / 1e9:.3f}",
        *(f"{one[name] / 2**20:,.2f}" for name in ("sent_bytes", "received_bytes")),
        again,
        f"{one['rtt_us'] / 1e3:.2f}",
    ]


def _compare(first, second) -> None:
    from schedlab.observe.timing import difference
    from schedlab.tables.printed import print_table

    rows = []
    for part, words in _seen([first, second]).items():
        found = difference(first, second, part)
        values = [_spell(first.interval(part)), _spell(second.interval(part))]
        rows.append([words, *values, _spell(found and found.of)])
    for name, (words, size) in COUNTS.items():
        rows.append([words, _spell_count(first.count(name), size), _spell_count(second.count(name), size), ""])
    print(f"A: {' '.join(first.command)}\nB: {' '.join(second.command)}")
    print_table(["seconds of the first task", "A", "B", "B - A"], rows, numeric=(1, 2, 3))
    print(_verdict(difference(first, second, "elapsed_ns")))
    _say_limits([first, second])


def _verdict(found) -> str:
    if found is None or found.real is None:
        return "One run of each cannot tell whether they differ: --repeat 10."
    if not found.real:
        return f"No difference of elapsed time can be distinguished from chance, in {found.of.n} blocks."
    mean, low, high = (value / 1e9 for value in found.of[:3])
    blocks = found.of.n
    if mean < 0:
        mean, low, high = -mean, -high, -low
    which = "longer" if found.of.mean > 0 else "less"
    return f"B takes {mean:.3f} s [{low:.3f}, {high:.3f}] {which}: more than chance, in {blocks} blocks."


def _say_limits(timings) -> None:
    """Below a table: what makes the numbers worth less than they look."""
    from schedlab.tables.printed import print_notes

    print_notes(_limits(timings))


def _limits(timings) -> list[str]:
    lines = []
    for process in (process for timing in timings for process in timing.outlived):
        ran = f"{process['ran_ns'] / 1e9:.3f} s of processor time"
        who = f"{process['name']} ({process['pid']})"
        lines.append(f"still running when the command had ended: {who}, counted up to then: {ran}")
    lines += [f"not known: {line}" for line in dict.fromkeys(line for timing in timings for line in timing.unknown)]
    if any(_is_unexplained(run) for timing in timings for run in timing.runs):
        lines.append("not known: what it waited for while asleep: it was over before it could be looked at")
    unseen = max((run["waits"]["unseen_connections"] for timing in timings for run in timing.runs), default=0)
    if unseen:
        lines.append(f"{unseen} connections of this host came and went unseen meanwhile: some may be this command's")
    foreign = max((timing.foreign_percent or 0.0 for timing in timings), default=0.0)
    if foreign > FOREIGN_PERCENT:
        lines.append(f"others used up to {foreign:.0f} % of the processors meanwhile: repeat on a quieter host")
    return lines


def _is_unexplained(run: dict) -> bool:
    asleep = (run["main"] or {}).get("asleep_ns") or 0
    return asleep > SHORT_NS and not run["waits"]["main"]["seen"]


def _spell(interval) -> str:
    """Of ns, in seconds."""
    if interval is None:
        return "?"
    mean, low, high = (value / 1e9 for value in (interval.mean, interval.low, interval.high))
    return f"{mean:.3f}" if interval.n < 2 else f"{mean:.3f} [{low:.3f}, {high:.3f}]"


def _spell_count(interval, size: bool) -> str:
    if interval is None:
        return "?"
    return f"{interval.mean / 2**20:,.2f} MiB" if size else f"{interval.mean:,.0f}"
