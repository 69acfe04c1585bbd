"""How right `schedlab whatif` is of recorded runs: of simulated ones, where only the replay errs, and of guests.

`whatif_runs.py TARGET [LOAD ...] [--processors N] [--repeats N] [--archive FILE]`. TARGET is one of `run --on`:
`sim`, `guest:6.17@2` ... The loads are the experiments in whatif_runs/. A run of each is recorded (`--trace`), replayed
under its own setting, predicted for each change, and run under that. What is compared, and how, is as in whatif.py, but
for smaller slacks, since these runs are not disturbed: 1 point (share), 5 % (switches), 25 % or 0.1 ms (latency).
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import tomllib

import whatif

RUNS = pathlib.Path(__file__).parent / "whatif_runs"
#: How far a prediction may lie outside the range of the repeats: in its unit, and as a share.
NUMBERS = whatif.NUMBERS | {"share_pct": (1.0, 0.0), "switches_per_s": (1.0, 0.05)}


def recorded(load: dict, given: argparse.Namespace, setting: str | None, seed: int, file: pathlib.Path) -> None:
    """Run a load with a setting, and record it."""
    settings = [f"machine.processors={given.processors}", f"seeds=[{seed}]", *([setting] if setting else [])]
    options = [word for one in settings for word in ("--set", one)]
    argv = [whatif.SCHEDLAB, "run", load["file"], "--on", given.target, "-q", "--trace", file]
    done = subprocess.run(
        [*map(str, argv), *options, "--fresh", "--out", f"{file}.results"], capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{load['file']}: {done.stderr[-600:]}")


def one_load(name: str, changes: list[dict], given: argparse.Namespace, folder: str) -> list[dict]:
    """A load and all its changes."""
    file = RUNS / f"{name}.toml"
    jobs = tomllib.loads(file.read_text())["workload"]
    load = {"file": file, "parts": {job: {"tasks": job} for job in jobs}}
    first = pathlib.Path(folder, "first.recording")
    recorded(load, given, None, 1, first)
    replayed = whatif.asked(["whatif", first, *whatif.groups(load)])
    rows = whatif.judged(replayed, [whatif.explained(load, first)], whatif.SELF, load)
    found = [{"load": name, "change": {}, "rows": rows} | whatif.limits(replayed)]
    whatif.show(found[-1])
    for change in changes if given.repeats else []:
        predicted = whatif.asked(["whatif", first, "--change", change["whatif"], *whatif.groups(load)])
        truth = []
        for seed in range(2, 2 + given.repeats):
            file = pathlib.Path(folder, "again.recording")
            recorded(load, given, change["set"], seed, file)
            truth.append(whatif.explained(load, file))
        rows = whatif.judged(predicted, truth, NUMBERS, load)
        found.append({"load": name, "change": {"set": change["set"]}, "rows": rows} | whatif.limits(predicted))
        whatif.show(found[-1])
    return found


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target")
    parser.add_argument("loads", nargs="*")
    parser.add_argument("--processors", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3, help="runs of each change; 0: only replay what was recorded")
    parser.add_argument("--archive", type=pathlib.Path, help="write all numbers here")
    given = parser.parse_args()
    loads = tomllib.loads((RUNS / "changes.toml").read_text())
    if unknown := set(given.loads) - set(loads):
        raise SystemExit(f"no such load: {', '.join(unknown)}; there are {', '.join(loads)}")
    found = []
    for name in given.loads or loads:
        with tempfile.TemporaryDirectory(prefix="schedlab-bench-") as folder:
            found += one_load(name, loads[name], given, folder)
        if given.archive:
            given.archive.write_text(json.dumps(found, indent=1))
    whatif.summary(found)


if __name__ == "__main__":
    main()
