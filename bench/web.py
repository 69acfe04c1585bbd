"""The engine for pages in node next to the engine of the command: how many times as long a run takes.

::

    .venv/bin/python bench/web.py [ENGINE.wasm]

Three built-in examples, each under the scheduler and the settings of its first cell. A round runs each engine once, in
turn; the ratio is the median over the rounds of a round's ratio, with the smallest and the largest. Both times are
processor time from a question in JSON to an answer: of the page's engine without spans, and once more with as many as a
page draws. `BENCH_QUICK=1`: three rounds instead of nine.
"""

import argparse
import datetime
import json
import subprocess
import time
from pathlib import Path
from statistics import median

from bench import HERE, QUICK, machine

from schedlab import _core

ROOT = HERE.parent
EXAMPLES = ("desktop", "memory", "pool")
ROUNDS = 3 if QUICK else 9
SPANS = 1_000_000
#: The most that it may take, as a multiple of the engine of the command.
WANTED = 3.0


def main():
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    engine = ROOT / "python" / "schedlab" / "lab" / "engine.wasm"
    parser.add_argument("engine", nargs="?", type=Path, default=engine, help="the module; the one that setup makes")
    engine = parser.parse_args().engine
    with subprocess.Popen(
        ["node", ROOT / "scripts" / "ask_engine.mjs", engine], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as page:
        rows = [measured(name, page) for name in EXAMPLES]
    result = {"date": datetime.date.today().isoformat(), "machine": machine(), "rounds": ROUNDS, "rows": rows}
    print(table(rows))
    path = HERE / "results" / f"{result['date']}-web{'-quick' if QUICK else ''}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(f"\n{path}")


def measured(name, page):
    """The times of an example in ms, round by round: command, page, page with spans."""
    text = (ROOT / "examples" / f"{name}.toml").read_text()
    scenario = json.loads(_core.expand(_core.read_experiment(text, name, "toml", [], {}), 0, 1))[0]["scenario"]
    rounds = [
        (native(scenario, seed), took(page, scenario, seed, 0), took(page, scenario, seed, SPANS))
        for seed in range(ROUNDS + 1)
    ]
    # The first one warms up: node compiles the module's hot functions a second time.
    return {"example": name, "scheduler": scenario["scheduler"]["name"], "rounds_ms": rounds[1:]}


def native(scenario, seed):
    """The processor time of the engine of the command, ms."""
    runs = json.dumps([{"scenario": scenario, "seed": seed}])
    start = time.process_time()
    _core.run_batch(runs, 1)
    return (time.process_time() - start) * 1e3


def took(page, scenario, seed, spans):
    """The processor time of the engine for pages, ms."""
    page.stdin.write(json.dumps({"do": "run", "scenario": scenario, "seed": seed, "spans": spans}) + "\n")
    page.stdin.flush()
    answer = json.loads(page.stdout.readline())
    if "fault" in answer:
        raise SystemExit(answer["fault"]["message"])
    return answer["took"]


def table(rows):
    """The table, in Markdown."""
    lines = ["| example | scheduler | command, ms | page, ms | ratio (least to most) | with spans, ms | wanted |"]
    lines += ["|---|---|---:|---:|---:|---:|---|"]
    for row in rows:
        command, page, with_spans = (median(times) for times in zip(*row["rounds_ms"], strict=True))
        ratios = sorted(page / command for command, page, _ in row["rounds_ms"])
        verdict = "met" if median(ratios) <= WANTED else "NOT MET"
        lines.append(
            f"| {row['example']} | {row['scheduler']} | {command:.1f} | {page:.1f} | {median(ratios):.2f} "
            f"({ratios[0]:.2f} to {ratios[-1]:.2f}) | {with_spans:.1f} | {WANTED:g}: {verdict} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
