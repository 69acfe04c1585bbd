"""Fits the compile to the rows of published.toml that are marked `use = "fit"`, and to no others.

Run as `python -m schedlab.published.reproductions.rsdl_2007.fit`. Three values of compile.toml are unknown: the processor time of a
piece of a file in its own code and in the kernel, and how long a file waits for the drives. Each moves one counter almost
alone (user, sys, real), and by as much as it is changed. So a few rounds of correcting each by what its counter is off, as the mean
over the two published schedulers, find all three. The values are then written into compile.toml by hand.
"""

import tempfile
import tomllib

from schedlab.experiment import Experiment
from schedlab.published import reproductions

FOLDER = reproductions.folder("rsdl-2007")
SCHEDULERS = {"CFS v3": {"name": "cfs_v3"}, "RSDL 0.46": {"name": "rsdl"}}
COUNTERS = ["user", "sys", "real"]
FILES, PIECES = 1000, 10
SEEDS, ROUNDS = 4, 4


def steps(own_us: float, kernel_us: float, wait_us: float) -> list:
    """The compile with these values, in us: of a piece in its own code and in the kernel, and of a wait for the drives."""
    piece = [{"compute": f"{own_us:.0f}us"}, {"call": f"{kernel_us:.0f}us"}]
    wait = {"sleep": {"exp": f"{wait_us:.0f}us"}}
    return [{"repeat": {"times": FILES, "steps": [wait, {"repeat": {"times": PIECES, "steps": piece}}, wait]}}]


def predict(values: list[float], out: str) -> dict[str, dict[str, float]]:
    """Each counter under each scheduler, in s."""
    file = tomllib.loads((FOLDER / "compile.toml").read_text(encoding="utf-8"))
    file["seeds"] = SEEDS
    file["metrics"] = [f"tasks.compile.{counter}" for counter in COUNTERS]
    file["workload"]["compile"]["steps"] = steps(*values)
    found = {}
    for name, scheduler in SCHEDULERS.items():
        results = Experiment.from_dict({**file, "scheduler": scheduler, "sweep": {}}).run(out)
        found[name] = {c: results.interval_at(f"tasks.compile.{c}", {}).mean for c in COUNTERS}
    return found


def main() -> None:
    """Print each round's values, and how far the fit rows are from print with them."""
    rows = {row["scheduler"]: row for row in reproductions.fit_rows("rsdl-2007")}
    values = [70_000.0, 8_000.0, 50_000.0]
    with tempfile.TemporaryDirectory() as out:
        for _ in range(ROUNDS):
            found = predict(values, out)
            off = {c: sum(rows[s][c] - found[s][c] for s in rows) / len(rows) for c in COUNTERS}
            print("own {:.0f} us, kernel {:.0f} us, wait {:.0f} us".format(*values), found, off, sep="\n  ")
            values[2] += (off["real"] - _growth(found, values[2]) * (off["user"] + off["sys"])) * 1e6 / (2 * FILES)
            values[0] += off["user"] * 1e6 / (FILES * PIECES)
            values[1] += off["sys"] * 1e6 / (FILES * PIECES)


def _growth(found: dict[str, dict[str, float]], wait_us: float) -> float:
    """By how much the real time grows with the processor time, as others run meanwhile."""
    waits = 2 * FILES * wait_us / 1e6
    return sum((run["real"] - waits) / (run["user"] + run["sys"]) for run in found.values()) / len(found)


if __name__ == "__main__":
    main()
