"""What it takes to start: processor time and memory of short commands, as ratios to an interpreter that does nothing.

    python3 bench/start.py --schedlab .venv/bin/schedlab --agent python/schedlab/targets/bin/schedlab-agent

Each round runs every command once, in random order, so that what drifts meets all of them. `over`: the wall time more than the
agent's alone, for the verbs that pass on what it says.
"""

import argparse
import csv
import io
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

TINY = """
machine = "at_286"
seeds = 1
metrics = ["tasks.hog.share"]
duration = "1s"
[scheduler]
name = "minix"
[workload]
hog = { load = "spin", compute = "1s", passes = "forever" }
"""
#: As TINY, with cells enough for a sweep of some size.
SWEEP = """
machine = "at_286"
seeds = %d
metrics = ["tasks.io.real", "tasks.hog.share", "wakeup_latency.p99"]
duration = "30s"
[scheduler]
name = "minix"
[workload]
io = { load = "read_files", files = 3, size = "4KiB" }
hog = { load = "spin", compute = "1s", passes = "forever" }
[sweep]
"scheduler.slice" = %s
"""
CELLS = 200
#: A run that simulates next to nothing: what a sweep of these takes is schedlab itself.
NOTHING = """
machine = "uniform"
seeds = %d
metrics = ["tasks.a.real", "context_switches"]
[scheduler]
name = "fifo"
[workload]
a = { steps = [{ compute = { exp = "1ms" } }] }
[sweep]
"workload.a.passes" = %s
"""


def measured(words: list[str]) -> tuple[float, float, float]:
    """Wall time and processor time of a command, s, and the most memory that it had, MB."""
    began = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(words)} ended with status {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def commands(schedlab: str, agent: str, folder: Path) -> dict[str, tuple[list[str], str]]:
    """Short commands by name, and the name of what each is compared with."""
    python = str(Path(schedlab).resolve().with_name("python"))
    tiny = folder / "tiny.toml"
    tiny.write_text(TINY)
    found = {
        "python": ([python, "-P", "-c", "pass"], ""),
        "--help": ([schedlab, "--help"], ""),
        "tiny run": ([schedlab, "run", str(tiny), "--fresh", "--out", str(folder / "fresh")], ""),
        "known run": ([schedlab, "run", str(tiny), "--out", str(folder / "known")], ""),
        "agent time": ([agent, "time", "--", "true"], ""),
        "time": ([schedlab, "time", "--", "true"], "agent time"),
        "agent sample": ([agent, "sample", "--every", "100ms", "--count", "5"], ""),
        "watch --json": ([schedlab, "watch", "--json", "--every", "100ms", "--for", "500ms"], "agent sample"),
        "agent suspects": ([agent, "suspects", "--for", "500ms"], ""),
        "diagnose": ([schedlab, "diagnose", "--for", "500ms", "--every", "100ms"], "agent suspects"),
    }
    try:
        import pandas  # noqa: F401

        found["import pandas"] = ([sys.executable, "-c", "import pandas"], "")
    except ImportError:
        pass
    return found


def starts(schedlab: str, agent: str, rounds: int, folder: Path) -> list[dict]:
    """Medians over the rounds, and the medians of the paired ratios and differences."""
    asked = commands(schedlab, agent, folder)
    seen: dict[str, list[tuple[float, float, float]]] = {name: [] for name in asked}
    for _ in range(rounds):
        for name in random.sample(list(asked), len(asked)):
            seen[name].append(measured(asked[name][0]))
    rows = []
    for name, (_, base) in asked.items():
        wall, cpu, memory = (median(one[place] for one in seen[name]) for place in range(3))
        ratio = median(one[1] / max(other[1], 1e-3) for one, other in zip(seen[name], seen["python"], strict=True))
        row = {"command": name, "wall_s": wall, "cpu_s": cpu, "memory_mb": memory, "cpu_to_python": ratio}
        if base:
            row["over_s"] = median(one[0] - other[0] for one, other in zip(seen[name], seen[base], strict=True))
        rows.append(row)
    return rows


def sweeps(schedlab: str, runs: int, folder: Path) -> list[dict]:
    """Sweeps of that number of runs, as few cells of many seeds and as many cells of one; a sweep of five times as many
    runs that simulate next to nothing; and the same commands once more.
    """
    slices = lambda cells: json.dumps([f"{10_000 + cell * 200_000 // cells}us" for cell in range(cells)])  # noqa: E731
    asked = {
        "sweep": (f"{runs} runs", SWEEP % (runs // CELLS, slices(CELLS))),
        "cells": (f"{runs} cells", SWEEP % (1, slices(runs))),
        "nothing": (f"{5 * runs} empty runs", NOTHING % (5 * runs // CELLS, [*range(1, CELLS + 1)])),
    }
    rows = []
    for name, (title, text) in asked.items():
        file = folder / f"{name}.toml"
        file.write_text(text)
        for state in ("new", "known"):
            wall, cpu, memory = measured([schedlab, "run", str(file), "--out", str(folder / name)])
            rows.append({"command": f"{title}, {state}", "wall_s": wall, "cpu_s": cpu, "memory_mb": memory})
    return rows


#: The metrics that SWEEP asks for.
METRICS = ["tasks.io.real", "tasks.hog.share", "wakeup_latency.p99"]


def summaries(schedlab: str, pandas: str | None, runs: int, folder: Path) -> list[dict]:
    """Reading the results of the sweep, and a mean with its interval for each cell and metric: here, and in pandas."""
    (results,) = (path for path in (folder / "sweep").iterdir() if path.is_dir())
    asked = {"report --csv": [schedlab, "report", str(results), "--csv"]}
    if pandas is None:
        print("pandas is not installed in .venv-bench-pandas and is left out", file=sys.stderr)
    else:
        asked["pandas"] = [pandas, str(Path(__file__).with_name("pandas_peer.py")), str(results), *METRICS]
        done = [subprocess.run(words, check=True, capture_output=True, text=True) for words in asked.values()]
        _refuse_difference(*done)
    rows = []
    for name, words in asked.items():
        wall, cpu, memory = (median(one) for one in zip(*(measured(words) for _ in range(3)), strict=True))
        rows.append({"command": f"{name} of {runs}", "wall_s": wall, "cpu_s": cpu, "memory_mb": memory})
    return rows


def _refuse_difference(ours, theirs) -> None:
    """A comparison of two programs that do not compute the same is none."""
    mine = {row["scheduler.slice"]: row for row in csv.DictReader(io.StringIO(ours.stdout))}
    for row in csv.DictReader(io.StringIO(theirs.stdout)):
        column = next(name for name in mine[row["scheduler.slice"]] if name.split(" [")[0] == row["metric"])
        here, there = float(mine[row["scheduler.slice"]][column]), float(row["mean"])
        if abs(here - there) > 1e-9 * max(abs(here), abs(there)):
            raise SystemExit(f"{row}: pandas has another mean than {here}")


def by_hyperfine(schedlab: str, agent: str, rounds: int, folder: Path) -> list[str]:
    """The short commands again, as hyperfine sees them: lines of mean ± standard deviation."""
    if not shutil.which("hyperfine"):
        return ["hyperfine is not installed and is left out"]
    asked = {name: shlex.join(words) for name, (words, _) in commands(schedlab, agent, folder).items()}
    out = folder / "hyperfine.json"
    options = ["--shell=none", "--warmup=1", f"--runs={max(2, rounds)}", "--style=none", f"--export-json={out}"]
    subprocess.run(["hyperfine", *options, *asked.values()], check=True, stdout=subprocess.DEVNULL)
    found = zip(asked, json.loads(out.read_text())["results"], strict=True)
    return [f"{name:24}{one['mean']:10.3f} ± {one['stddev']:.3f} s" for name, one in found]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--schedlab", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--rounds", type=int, default=3 if os.environ.get("BENCH_QUICK") else 9)
    parser.add_argument("--runs", type=int, default=2_000 if os.environ.get("BENCH_QUICK") else 20_000)
    parser.add_argument("--pandas", help="a Python with pandas, to compare the summary of the sweep with")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = starts(given.schedlab, given.agent, given.rounds, folder) + sweeps(given.schedlab, given.runs, folder)
        rows += summaries(given.schedlab, given.pandas, given.runs, folder)
        lines = by_hyperfine(given.schedlab, given.agent, given.rounds, folder)
    if given.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"{'':24}{'wall [s]':>10}{'cpu [s]':>10}{'memory [MB]':>13}{'cpu / python':>14}{'over [s]':>10}")
    for row in rows:
        ratio = f"{row['cpu_to_python']:.1f}" if "cpu_to_python" in row else ""
        over = f"{row['over_s']:.3f}" if "over_s" in row else ""
        print(
            f"{row['command']:24}{row['wall_s']:10.3f}{row['cpu_s']:10.3f}{row['memory_mb']:13.0f}{ratio:>14}{over:>10}"
        )
    print("\nby hyperfine, wall time")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
