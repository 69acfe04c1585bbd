"""What a context switch costs under every scheduler, as the installed schedlab runs it, and how long the desktop takes.

::

    .venv/bin/python bench/policies.py

Hogs never wait, and take turns of 1 ms where the scheduler has a slice for it; sleepers run 0.1 to 0.5 ms and sleep, at
90 % of the processor. Times are processor time, the least of several turns; a switch is the difference between a
long run and a short one, so that making the tasks does not count. The table gives ns a switch, and beside it how many
times longer than `round_robin` in the same turn. The desktop is `examples/desktop.toml`: 40 tasks, 2 processors, 60 s.
"""

import io
import json
import sys
import time
from pathlib import Path

import polars as pl

from schedlab import _core
from schedlab.experiment import Experiment

DESKTOP = Path(__file__).parent.parent / "examples/desktop.toml"
HOGS = """
machine = {{ preset = "uniform", clock.hz = "1000/s" }}
scheduler = {{ name = "{name}"{slice} }}
duration = "{seconds}s"
workload.hog = {{ load = "spin", passes = "forever", count = {tasks} }}
"""
SLEEPERS = """
machine = {{ preset = "uniform", clock.hz = "1000/s" }}
scheduler = {{ name = "{name}"{slice} }}
duration = "{seconds}s"
workload.sleeper = {{ passes = "forever", count = {tasks}, steps = [
    {{ compute = {{ uniform = ["100us", "500us"] }} }}, {{ sleep = {{ exp = "{sleep}us" }} }}] }}
"""
SIZES = [10, 100, 1000, 10_000]
SHORT, LONG = 2, 22
TURNS = 3


def main() -> None:
    """Print a line for each scheduler, or for those named."""
    names = sys.argv[1:] or [info["name"] for info in json.loads(_core.catalogue())["schedulers"]]
    loads = [(load, tasks) for load in (HOGS, SLEEPERS) for tasks in SIZES]
    print(
        "| scheduler |", " | ".join(f"{'hogs' if load is HOGS else 'sleepers'} {n}" for load, n in loads), "| desktop |"
    )
    print("|---|" + "---:|" * (len(loads) + 1))
    for name in names:
        cells = [cell(name, load, tasks) for load, tasks in loads]
        desktop = least(Experiment.from_toml(DESKTOP, [f"scheduler.name={name}"]))[0]
        print(f"| {name} |", " | ".join(cells), f"| {desktop * 1e3:.0f} ms |", flush=True)


def cell(name: str, load: str, tasks: int) -> str:
    """The cost of a switch, and how many times that of `round_robin` just before it."""
    known, ns = per_switch("round_robin", load, tasks), per_switch(name, load, tasks)
    # Where making the tasks takes longer than running them, the difference is noise.
    return f"{ns:.0f} ({ns / known:.1f})" if ns and known and min(ns, known) > 0 else ""


def per_switch(name: str, load: str, tasks: int) -> float | None:
    """Processor time of a context switch, ns; nothing where there are too few to tell."""
    given = {"round_robin": ', slice = "1ms"', "stride": ', slice = "1ms"', "lottery": ', slice = "1ms"'}.get(name, "")
    texts = [load.format(name=name, slice=given, tasks=tasks, seconds=s, sleep=tasks * 333) for s in (SHORT, LONG)]
    (short, few), (long, many) = (least(Experiment.from_text(text, "bench")) for text in texts)
    return 1e9 * (long - short) / (many - few) if many - few > 1000 else None


def least(experiment: Experiment) -> tuple[float, float]:
    """The least processor time of a run of one seed, s, and its context switches."""
    runs = json.dumps([{"scenario": experiment.cells()[0].scenario, "seed": 1}])
    times = []
    for _ in range(TURNS):
        start = time.process_time()
        table = _core.run_batch(runs, 1)
        times.append(time.process_time() - start)
    rows = pl.read_ipc_stream(io.BytesIO(table))
    return min(times), rows.filter(pl.col("metric") == "context_switches")["value"].item()


if __name__ == "__main__":
    main()
