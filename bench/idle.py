"""What an hour of idle processors costs: with one task of a millisecond a second, or with one processor that is busy.

::

    python3 bench/idle.py --ours target/release/schedlab-bench

Under each scheduler and number of processors the simulator runs several times, of which the least processor time
counts. The ratio is that of 64 processors to one. 1,024 processors, and 64 of which one is busy, are measured under the
scheduler for which a time is wanted: others may tick on each of them. `make bench-idle` runs this and keeps the result.
`BENCH_QUICK=1`: once.
"""

import argparse
import datetime
import json
import sys

from bench import HERE, QUICK, machine
from policies import ask, line

FILE = HERE / "idle.toml"
BUSY = HERE / "busy.toml"
PROCESSORS = (1, 64)
TURNS = 1 if QUICK else 3
# Of the scheduler of current kernels, s, by file and number of processors; none where nothing was fixed beforehand.
WANTED = {"eevdf": {(FILE, 64): 0.2, (FILE, 1024): 3.0, (BUSY, 64): None}}


def main():
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ours", required=True, help="the binary schedlab-bench")
    ours = parser.parse_args().ours
    result = {"date": datetime.date.today().isoformat(), "machine": machine(), "turns": TURNS, "rows": rows(ours)}
    print(table(result["rows"]))
    path = HERE / "results" / f"{result['date']}-idle{'-quick' if QUICK else ''}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(f"\n{path}")


def rows(ours):
    """For each scheduler its processor time in seconds, by number of processors."""
    found = []
    for entry in ask(ours, "policies"):

        def seconds(file, number, scheduler=entry["name"]):
            time = ask(ours, "experiment", scheduler, file, TURNS, f"machine.processors={number}")
            return time and time / 1e9

        row = {"scheduler": entry["name"], "seconds": [seconds(FILE, number) for number in PROCESSORS]}
        row["more"] = [
            {"file": file.name, "processors": number, "wanted_s": wanted, "seconds": seconds(file, number)}
            for (file, number), wanted in WANTED.get(entry["name"], {}).items()
        ]
        found.append(row)
    return found


def table(rows):
    """The table, in Markdown."""
    lines = [line("scheduler", *(f"{number} processors, s" for number in PROCESSORS), "ratio")]
    lines += ["|---|---:|---:|---:|"]
    for row in rows:
        few, many = row["seconds"]
        ratio = f"{many / few:.1f}" if few and many else "not measured"
        lines.append(line(row["scheduler"], *(f"{time:.3f}" if time else "" for time in (few, many)), ratio))
    lines += ["", line("scheduler", "hour", "processors", "s", "wanted"), "|---|---|---:|---:|---|"]
    for row in rows:
        lines += [line(row["scheduler"], *cells(more)) for more in row["more"]]
    return "\n".join(lines)


def cells(more):
    """An hour with a time that is wanted, or worth knowing."""
    time, wanted = more["seconds"], more["wanted_s"]
    verdict = "" if wanted is None else f"{wanted} s: {'met' if time and time <= wanted else 'NOT MET'}"
    return more["file"].removesuffix(".toml"), str(more["processors"]), f"{time:.3f}" if time else "", verdict


if __name__ == "__main__":
    sys.exit(main())
