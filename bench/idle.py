"""What an hour of idle processors costs: one task of a millisecond a second, on 1 and on 64 processors.

::

    python3 bench/idle.py --ours target/release/schedlab-bench

Under each scheduler and number of processors the simulator runs several times, of which the least processor time counts.
The ratio is that of 64 processors to one. `make bench-idle` runs this and keeps the result. `BENCH_QUICK=1`: once.
"""

import argparse
import datetime
import json
import sys

from bench import HERE, QUICK, machine
from policies import ask, line

FILE = HERE / "idle.toml"
PROCESSORS = (1, 64)
TURNS = 1 if QUICK else 3
# Wanted on 64 processors, s, of the scheduler of current kernels.
WANTED = {"eevdf": 0.2}


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
        times = [
            ask(ours, "experiment", entry["name"], FILE, TURNS, f"machine.processors={number}") for number in PROCESSORS
        ]
        row = {"scheduler": entry["name"], "seconds": [time and time / 1e9 for time in times]}
        if wanted := WANTED.get(entry["name"]):
            row |= {"wanted_s": wanted, "met": times[-1] is not None and times[-1] / 1e9 <= wanted}
        found.append(row)
    return found


def table(rows):
    """The table, in Markdown."""
    lines = [line("scheduler", *(f"{number} processors, s" for number in PROCESSORS), "ratio", "wanted")]
    lines += ["|---|---:|---:|---:|---|"]
    for row in rows:
        few, many = row["seconds"]
        ratio = f"{many / few:.1f}" if few and many else "not measured"
        verdict = f"{row['wanted_s']} s: {'met' if row['met'] else 'NOT MET'}" if "met" in row else ""
        lines.append(line(row["scheduler"], *(f"{time:.3f}" if time else "" for time in (few, many)), ratio, verdict))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
