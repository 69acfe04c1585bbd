"""What a context switch costs under every scheduler, beside the bare loop with that scheduler's data structure.

::

    python3 bench/policies.py --ours target/release/schedlab-bench [NAME...]
    python3 bench/policies.py --docs bench/results/DATE-policies.json

The first measures all schedulers that the binary lists, or those named; `make bench` ends with it. A cell is one
process, in which the simulator and the bare loop take turns, each with a short run and a long one; told is the median
over the turns of the processor time between the two, for each switch. A ceiling that is slower than the simulator
(a ratio below 0.95) is a fault of the bench: its cell is named and the exit status is 1. The second puts the tables
of an archive into docs/performance.md. `BENCH_QUICK=1` does less of everything.
"""

import argparse
import datetime
import json
import pathlib
import random
import statistics
import subprocess
import sys

from bench import DISTURBED, HERE, QUICK, check_ceilings, machine, summary

SIZES = (10, 100) if QUICK else (10, 100, 1_000, 10_000)
LOADS = {"ring": "hogs", "sleepers": "sleepers"}
TURNS = 3 if QUICK else 5
DESKTOP = HERE.parent / "examples/desktop.toml"
PAGE = HERE.parent / "docs/performance.md"
PATIENCE = 300  # seconds for one cell
# 64 processors with a hundred tasks each; and tasks in 64 groups on three levels.
CROWD = ("sleepers", 6_400, 64, "flat")
# A switch there, of one on one processor with a hundred of the same tasks.
WANTED_OF_CROWD = 1.5
GROUPED = [(load, 1_024, 1, "grouped") for load in LOADS]
# So many times the ceiling is wanted at most.
WANTED = dict.fromkeys(("round_robin", "cfs", "eevdf"), 2)
WANTED_OF_OTHERS = 3
DESKTOP_MS = 50


def main():
    """Measures, prints and writes; or writes the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ours", help="the binary schedlab-bench")
    parser.add_argument("--docs", type=pathlib.Path, metavar="ARCHIVE", help="put its tables into docs/performance.md")
    parser.add_argument("names", nargs="*", help="these schedulers only; nothing is archived then")
    arguments = parser.parse_args()
    if arguments.docs:
        return replace(PAGE, tables(json.loads(arguments.docs.read_text())))
    if not arguments.ours:
        parser.error("--ours or --docs")
    result = everything(arguments.ours, arguments.names)
    print(tables(result))
    status = check_ceilings({place(row): row["ratio"] for row in result["rows"]})
    if arguments.names:
        return status
    path = HERE / "results" / f"{result['date']}-policies{'-quick' if QUICK else ''}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(f"\n{path}")
    return status


def place(row):
    """What a cell is called."""
    groups = " in groups" if row["grouped"] else ""
    return f"{row['scheduler']}, {row['tasks']:,} {row['load']} on {row['processors']} processors{groups}"


def everything(ours, names):
    """All that is measured."""
    description = machine()
    entries = [entry for entry in ask(ours, "policies") if not names or entry["name"] in names]
    result = {
        "date": datetime.date.today().isoformat(),
        "quick": QUICK,
        "turns": TURNS,
        "machine": description,
        "schedulers": entries,
        "rows": measure(ours, entries),
        "desktop_ms": {entry["name"]: desktop(ours, entry["name"]) for entry in entries},
    }
    return result | {"verdicts": verdicts(result)}


def ask(ours, *words):
    """What the binary answers; None if it fails or takes too long."""
    command = [ours, *map(str, words)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
        return json.loads(done.stdout)
    except (subprocess.SubprocessError, OSError, ValueError) as why:
        print(f"{' '.join(command)}: {getattr(why, 'stderr', None) or why}", file=sys.stderr)
        return None


def measure(ours, entries):
    """A row for every cell in which anybody switches, in random order of measuring and in order of the table."""
    cells = []
    for entry in entries:
        kinds = [(load, tasks, 1, "flat") for load in LOADS for tasks in SIZES] + [CROWD]
        cells += [(entry, *kind) for kind in kinds + (GROUPED if entry["groups"] else [])]
    done = {}
    for number, cell in enumerate(random.sample(range(len(cells)), len(cells))):
        print(f"\rcell {number + 1} of {len(cells)}", end="", file=sys.stderr, flush=True)
        entry, load, tasks, processors, form = cells[cell]
        done[cell] = ask(ours, "policy", entry["name"], load, tasks, processors, form, TURNS)
    print(file=sys.stderr)
    rows = []
    for cell, (entry, load, tasks, processors, form) in enumerate(cells):
        row = {"scheduler": entry["name"], "structure": entry["structure"]}
        row |= {"load": LOADS[load], "tasks": tasks, "processors": processors, "grouped": form == "grouped"}
        # A disturbed run can be shorter than a shorter one: then there is nothing to tell.
        if (turns := done[cell]) and all(statistics.median(turns[name]) > 0 for name in ("ours", "ceiling")):
            rows.append(row | told(turns))
    return rows


def told(turns):
    """Medians, their ratio, and what it was within the turns."""
    ours, ceiling = (statistics.median(turns[name]) for name in ("ours", "ceiling"))
    ratios = [a / b for a, b in zip(turns["ours"], turns["ceiling"], strict=True) if b > 0]
    counted = {name: turns[name] for name in ("switches", "bare_switches", "ticks", "bare_ticks", "migrations")}
    return {"ours_ns": ours, "ceiling_ns": ceiling, "ratio": ours / ceiling, "ratios": summary(ratios), **counted}


def desktop(ours, name):
    """Processor time of a minute of the desktop, ms."""
    time = ask(ours, "experiment", name, DESKTOP, TURNS)
    return time and time / 1e6


def verdicts(result):
    """What was wanted of a scheduler, where, what was measured, and whether it is met."""
    found = []
    for row in (row for row in result["rows"] if row["processors"] == 1 and not row["grouped"]):
        limit, where = WANTED.get(row["scheduler"], WANTED_OF_OTHERS), f"{row['tasks']:,} {row['load']}"
        found.append(verdict(row, f"at most {limit} x the ceiling", where, row["ratio"], row["ratio"] <= limit))
        if (row["scheduler"], row["tasks"], row["load"]) == ("eevdf", 100, "hogs"):
            speed = 1000 / row["ours_ns"]
            found.append(verdict(row, "at least 10 million switches a second", where, speed, speed >= 10))
    few = {row["scheduler"]: row for row in result["rows"] if (row["load"], row["tasks"]) == ("sleepers", 100)}
    for row in (row for row in result["rows"] if row["processors"] > 1 and row["scheduler"] in few):
        ratio, wanted = (
            row["ours_ns"] / few[row["scheduler"]]["ours_ns"],
            f"at most {WANTED_OF_CROWD} x 100 sleepers on 1",
        )
        found.append(verdict(row, wanted, f"{row['tasks']:,} sleepers on 64", ratio, ratio <= WANTED_OF_CROWD))
    for name, time in result["desktop_ms"].items():
        met = None if time is None else time < DESKTOP_MS
        found.append(verdict({"scheduler": name}, f"below {DESKTOP_MS} ms", "a minute of the desktop", time, met))
    return found


def verdict(row, wanted, where, measured, met):
    """One of them."""
    return {"scheduler": row["scheduler"], "wanted": wanted, "where": where, "measured": measured, "met": met}


def tables(result):
    """The tables of the page, in Markdown."""
    model, rustc = result["machine"]["processor"], result["machine"]["rustc"]
    load = result["machine"]["load_average"][0]
    beside = f"beside other work (load average {load:.1f})" if load > DISTURBED else "with nothing else running"
    lines = [f"{result['date']}, {model}, {rustc}, {beside}; {result['turns']} turns a cell.", ""]
    heads = [f"{load} {tasks:,}" for load in LOADS.values() for tasks in SIZES]
    lines += line("scheduler", "against", *heads, "desktop"), "|---|---|" + "---:|" * (len(heads) + 1)
    for entry in result["schedulers"]:
        name = entry["name"]
        rows = {(row["load"], row["tasks"]): row for row in flat(result, name)}
        cells = [cell(rows.get((load, tasks))) for load in LOADS.values() for tasks in SIZES]
        time = result["desktop_ms"][name]
        lines.append(line(f"`{name}`", entry["structure"], *cells, "" if time is None else f"{time:.0f} ms"))
    lines += ["", "What each is measured against:", ""]
    lines += sorted({f"- {entry['structure']}: {entry['why']}." for entry in result["schedulers"]})
    lines += ["", "Groups on three levels, 1,024 tasks in 64 of them:", ""]
    lines += line("scheduler", *LOADS.values()), "|---|---:|---:|"
    for entry in result["schedulers"]:
        rows = {r["load"]: r for r in result["rows"] if r["grouped"] and r["scheduler"] == entry["name"]}
        if rows:
            lines.append(line(f"`{entry['name']}`", *(cell(rows.get(load)) for load in LOADS.values())))
    lines += ["", "64 processors, 6,400 sleepers; schedulers that moved a task:", ""]
    lines += line("scheduler", "a switch", "moved, of 1,000 switches"), "|---|---:|---:|"
    for row in result["rows"]:
        if row["processors"] > 1 and row["migrations"] > 0:
            lines.append(line(f"`{row['scheduler']}`", cell(row), f"{1000 * row['migrations']:.1f}"))
    missed = {}
    for one in result["verdicts"]:
        if one["met"] is not True:
            found = "not measured" if one["measured"] is None else f"{one['measured']:.1f}"
            missed.setdefault((one["scheduler"], one["wanted"]), []).append(f"{one['where']} {found}")
    met = sum(one["met"] is True for one in result["verdicts"])
    lines += ["", f"Met: {met} of {len(result['verdicts'])}. NOT MET:", ""]
    lines += [f"- `{name}`, {wanted}: {'; '.join(places)}" for (name, wanted), places in missed.items()]
    return "\n".join(lines)


def flat(result, name):
    """A scheduler's rows of one processor without groups."""
    return [r for r in result["rows"] if r["scheduler"] == name and r["processors"] == 1 and not r["grouped"]]


def cell(row):
    """Ns a switch, that of the ceiling, and their ratio."""
    return f"{row['ours_ns']:.0f} / {row['ceiling_ns']:.0f} = {row['ratio']:.1f}" if row else ""


def line(*cells):
    """A line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def replace(page, text):
    """Puts the tables between their marks."""
    begin, end = "<!-- policies: begin -->", "<!-- policies: end -->"
    before, rest = page.read_text().split(begin)
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{rest.split(end)[1]}")


if __name__ == "__main__":
    sys.exit(main())
