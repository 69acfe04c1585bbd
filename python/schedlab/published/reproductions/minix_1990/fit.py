"""Fits the machine and the two jobs to the rows of published.toml that are marked `use = "fit"`, and to no others.

Run as `python -m schedlab.published.reproductions.minix_1990.fit`. It tries a grid of the values that no data sheet gives:

    per_kib   processor time to print 1 KiB                  machines/at_286.toml, terminal
    spread    cylinders over which the files are spread      machines/at_286.toml, files
    size      size of each of the 23 files of the I/O job    io_*.toml, cpu_loaded.toml
    reads     calls in which the CPU job reads its input     cpu_*.toml, io_loaded.toml

and prints the best by the sum over the fit rows of ((predicted - published) / scale)^2, where scale is what a stopwatch in
whole seconds (real: 1 s) and a clock of 60 ticks a second (user, sys: 0.3 s) can resolve.
The chosen values are then written into those files by hand, with "fitted" as their source.
"""

import itertools
import tempfile
import tomllib

import polars

from schedlab.experiment import Experiment
from schedlab.published import reproductions

FOLDER = reproductions.folder("minix-1990")
SCALE = {"real": 1.0, "user": 0.3, "sys": 0.3}
SEEDS = 8
PER_KIB = ["18ms", "19ms", "20ms", "21ms", "22ms"]
SPREAD = [20, 60, 120, 200]
SIZE = ["16KiB", "17KiB", "18KiB", "19KiB", "20KiB"]
READS = [15, 25, 75]
INPUT_KIB = 75


def cpu_steps(reads: int) -> list:
    """The CPU job: its input in a number of calls, then the training."""
    read = {"read": f"{INPUT_KIB // reads}KiB"}
    return [
        {"open": {"files": 1, "size": f"{INPUT_KIB}KiB"}},
        {"repeat": {"times": reads, "steps": [{"compute": "1ms"}, read]}},
        "close",
        {"compute": "28.7s"},
    ]


def fit_rows() -> list[dict]:
    """Published values that may be fitted to: job, state, quantum, counter, value."""
    return [
        {
            "job": row["job"],
            "state": state,
            "slice": f"{round(row['quantum_s'] * 1000)}ms",
            "counter": counter,
            "value": value,
        }
        for row in reproductions.fit_rows("minix-1990")
        if row["job"] in ("io", "cpu")
        for state in ("idle", "loaded")
        for counter, value in row.get(state, {}).items()
    ]


def predict(job: str, state: str, reads: int, out: str) -> dict:
    """Means over seeds, by (slice, per_kib, spread, size, counter)."""
    file = tomllib.loads((FOLDER / f"{job}_{state}.toml").read_text(encoding="utf-8"))
    file["seeds"] = SEEDS
    file["metrics"] = [f"tasks.{job}.{counter}" for counter in SCALE]
    if "cpu" in file["workload"]:
        file["workload"]["cpu"]["steps"] = cpu_steps(reads)
    sweep = {
        "scheduler.slice": ["100ms", "18ms"],
        "machine.terminal.per_kib": PER_KIB,
        "machine.files.spread_cylinders": SPREAD,
    }
    if "io" in file["workload"]:
        sweep["workload.io.size"] = SIZE
    file["sweep"] = sweep
    results = Experiment.from_dict(file).run(out)
    asked = results.frame.filter(polars.col("metric").is_in(file["metrics"]))
    frame = asked.group_by([*sweep, "metric"]).agg(polars.col("value").mean())
    found = {}
    for row in frame.iter_rows(named=True):
        sizes = [row["workload.io.size"]] if "workload.io.size" in row else SIZE
        for size in sizes:
            key = (
                row["scheduler.slice"],
                row["machine.terminal.per_kib"],
                str(row["machine.files.spread_cylinders"]),
                size,
            )
            found[*key, row["metric"].rsplit(".", 1)[1]] = row["value"]
    return found


def main() -> None:
    """Print the ten best points of the grid, and the fit rows at the best."""
    rows = fit_rows()
    points = []
    with tempfile.TemporaryDirectory() as out:
        for reads in READS:
            known = {(j, s): predict(j, s, reads, out) for j in ("io", "cpu") for s in ("idle", "loaded")}
            for per_kib, spread, size in itertools.product(PER_KIB, map(str, SPREAD), SIZE):
                values = [known[r["job"], r["state"]][r["slice"], per_kib, spread, size, r["counter"]] for r in rows]
                loss = sum(((v - r["value"]) / SCALE[r["counter"]]) ** 2 for v, r in zip(values, rows, strict=True))
                points.append((loss, per_kib, spread, size, reads, values))
    points.sort(key=lambda point: point[0])
    for loss, per_kib, spread, size, reads, _ in points[:10]:
        print(f"loss {loss:7.2f}  per_kib {per_kib}  spread {spread:>3}  size {size}  reads {reads}")
    for row, value in zip(rows, points[0][-1], strict=True):
        print(
            f"{row['job']}.{row['state']}.{row['counter']}@{row['slice']}: published {row['value']}, fitted {value:.2f}"
        )


if __name__ == "__main__":
    main()
