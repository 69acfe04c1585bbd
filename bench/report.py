"""What the page of a large sweep costs: 20,000 runs of five shown metrics, which are 100,000 rows of the table.

    python3 bench/report.py --schedlab .venv/bin/schedlab [--rounds 7] [--runs 20000] [--json]

The runs are 20,000 cells of one seed, 1,000 of 20, and 400 of 50: the last have the most permutations to make. The
files hold every metric of each run, so some 8 million rows. Next to it: an interpreter that reads the five metrics with
polars and makes a mean and a deviation for each cell and metric, and writes nothing. Each round runs all, in random
order; medians, and the median of the ratios within a round. Nothing here is a test.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from start import measured

METRICS = ["tasks.a.real", "tasks.b.real", "context_switches", "wakeup_latency.p99", "tasks.a.share"]
SWEEP = f"""
question = "What does the page of a large sweep cost?"
machine = "uniform"
seeds = %d
metrics = {json.dumps(METRICS)}
duration = "1s"
[scheduler]
name = "round_robin"
[workload]
a = {{ count = 2, steps = [{{ compute = {{ exp = "2ms" }} }}, {{ sleep = "3ms" }}], passes = 5 }}
b = {{ steps = [{{ compute = {{ exp = "3ms" }} }}], passes = 3 }}
[sweep]
"scheduler.slice" = %s
"workload.a.passes" = {json.dumps(list(range(1, 21)))}
"""
#: Seeds of each cell.
SEEDS = (1, 20, 50)
POLARS = """
import sys, polars as pl
rows = pl.scan_parquet(sys.argv[1] + "/runs-*.parquet").filter(pl.col("metric").is_in(sys.argv[2:]))
made = rows.group_by("scenario", "metric").agg(mean=pl.col("value").mean(), scatter=pl.col("value").std()).collect()
print(len(made))
"""


def asked(schedlab: str, runs: int, folder: Path) -> dict[str, list[str]]:
    """The commands by name, over results that are made here."""
    python = str(Path(schedlab).resolve().with_name("python"))
    found = {}
    for seeds in SEEDS:
        file = folder / f"of_{seeds}.toml"
        slices = [f"{100 * (place + 1)}us" for place in range(max(1, runs // seeds // 20))]
        file.write_text(SWEEP % (seeds, json.dumps(slices)))
        subprocess.run([schedlab, "run", file, "--out", folder, "-q"], check=True, stdout=subprocess.DEVNULL)
        (results,) = (path for path in folder.glob(f"of_{seeds}-*") if path.is_dir())
        name = f"{20 * len(slices)} cells of {seeds}"
        found[name] = [schedlab, "report", str(results), "-o", str(folder / "page.html"), "-q"]
        found[f"polars, {name}"] = [python, "-c", POLARS, str(results), *METRICS]
    return found


def rows(commands: dict[str, list[str]], rounds: int) -> list[dict]:
    """Medians of each command, and of its ratio to polars alone."""
    seen: dict[str, list[tuple[float, float, float]]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name in random.sample(list(commands), len(commands)):
            seen[name].append(measured(commands[name]))
    found = []
    for name, values in seen.items():
        wall, cpu, memory = (median(one[place] for one in values) for place in range(3))
        row = {"command": name, "wall_s": wall, "cpu_s": cpu, "memory_mb": memory}
        if peer := seen.get(f"polars, {name}"):
            row["wall_to_polars"], row["cpu_to_polars"] = (
                median(one[place] / other[place] for one, other in zip(values, peer, strict=True)) for place in (0, 1)
            )
        found.append(row)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--schedlab", required=True)
    parser.add_argument("--rounds", type=int, default=3 if os.environ.get("BENCH_QUICK") else 7)
    parser.add_argument("--runs", type=int, default=2_000 if os.environ.get("BENCH_QUICK") else 20_000)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        found = rows(asked(given.schedlab, given.runs, Path(name)), given.rounds)
    if given.json:
        print(json.dumps(found, indent=2))
        return
    print(f"{'':26}{'wall [s]':>10}{'cpu [s]':>10}{'memory [MB]':>13}{'wall / polars':>15}{'cpu / polars':>14}")
    for row in found:
        ratios = [f"{row[key]:.1f}" if key in row else "" for key in ("wall_to_polars", "cpu_to_polars")]
        numbers = f"{row['wall_s']:10.2f}{row['cpu_s']:10.2f}{row['memory_mb']:13.0f}"
        print(f"{row['command']:26}{numbers}{ratios[0]:>15}{ratios[1]:>14}")


if __name__ == "__main__":
    sys.exit(main())
