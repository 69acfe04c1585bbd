"""Limits of memory on a real load, and what recording costs: `schedlab memory`.

`memory.py [--files N] [--rounds N] [--archive FILE]`, as root, with gcc and git. Printed as Markdown for docs/memory.md:

    load       C files of different sizes compiled by two workers, a script of Python with data of different sizes, and
               commands of git in a repository that grows; recorded twice, with other files and data
    second     limits from the first recording, on the runs of the second: what breaks, what is declared
    replay     the same history walked through in time
    simulated  breaches of limits from n runs whose distribution is known
    cost       processor time of a loop of /bin/true and of a build with the recorder and without, in random order; the
               recorder's, also while nothing happens
"""

import argparse
import datetime
import json
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parent.parent / "python")]

from bench import machine

from schedlab.memory import history, limits, replay
from schedlab.targets import agent

QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
SAFETIES = (0.1, 0.01, 0.001)
DECLARED = 512 << 20
SCRIPT = "import sys, zlib; data = bytes(int(sys.argv[1])); print(zlib.crc32(data))\n"
#: Files of the build whose cost is measured.
BUILT = 20
#: Distributions whose limits are judged by many draws.
SIMULATED = {
    "lognormal, sigma 0.1": lambda rng, n: rng.lognormal(0, 0.1, n),
    "lognormal, sigma 0.5": lambda rng, n: rng.lognormal(0, 0.5, n),
    "Pareto, index 3": lambda rng, n: 1 + rng.pareto(3, n),
    "two modes, 5 % eight times as large": lambda rng, n: (
        np.where(rng.random(n) < 0.05, 8, 1) * rng.lognormal(0, 0.1, n)
    ),
    "drift, 0.1 % a run": lambda rng, n: rng.lognormal(0, 0.1, n),
}


def source(rng: random.Random) -> str:
    """A C file with a random number of functions: its compiler's peak depends on it."""
    lines = ["#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>"]
    for n in range(int(rng.lognormvariate(3, 1)) + 1):
        body = "".join(f" x += a[{k}] * (x ^ {rng.randrange(1000)});" for k in range(rng.randrange(5, 60)))
        lines.append(f"int f{n}(int *a, int x) {{ for (int i = 0; i < x; i++) {{{body} }} return x; }}")
    return "\n".join(lines) + "\n"


def build(folder: pathlib.Path, files: int, rng: random.Random) -> None:
    """Compile that number of files, two at a time."""
    for n in range(files):
        (folder / f"unit{n}.c").write_text(source(rng))

    def compiled(n: int) -> None:
        subprocess.run(["gcc", "-O2", "-c", f"unit{n}.c"], cwd=folder, check=True, **QUIET)

    with ThreadPoolExecutor(2) as workers:
        list(workers.map(compiled, range(files)))


def scripts(folder: pathlib.Path, runs: int, rng: random.Random) -> None:
    """Run the script with data of random sizes."""
    (folder / "sums.py").write_text(SCRIPT)
    python = os.path.realpath(sys.executable)
    for _ in range(runs):
        size = int(rng.lognormvariate(16, 0.7))
        subprocess.run([python, "-I", "sums.py", str(size)], cwd=folder, check=True, **QUIET)


def commits(folder: pathlib.Path, runs: int, rng: random.Random) -> None:
    """Work in a repository that grows."""
    own = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0"]
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True, **QUIET)
    for n in range(runs):
        (folder / f"text{n % 50}").write_text("\n".join(str(rng.random()) for _ in range(rng.randrange(10, 2000))))
        for words in (["add", "-A"], ["commit", "-qm", "one"], ["status"], ["log", "--stat"]):
            subprocess.run(["git", *own, *words], cwd=folder, check=False, **QUIET)


class Recording:
    """`schedlab memory record` while the block runs."""

    def __init__(self, database: pathlib.Path):
        """Name the database."""
        self.database = database

    def __enter__(self) -> "Recording":
        """Begin, and wait until it listens."""
        words = [sys.executable, "-c", "from schedlab.__main__ import main; main()"]
        words += ["-q", "memory", "record", "--json", "--db", str(self.database)]
        env = os.environ | {"PYTHONPATH": str(pathlib.Path(__file__).parent.parent / "python")}
        self._child = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True)
        while not self.database.exists() or not self._begun():
            time.sleep(0.05)
        return self

    def _begun(self) -> bool:
        import sqlite3

        try:
            with sqlite3.connect(self.database) as connection:
                return connection.execute("SELECT max(end_ns) FROM recording").fetchone()[0] > self._before
        except (sqlite3.Error, TypeError):
            return False

    _before = 0

    def __exit__(self, *_) -> None:
        """End it and keep what it says."""
        time.sleep(0.2)
        self._child.terminate()
        self.said = json.loads(self._child.communicate()[0])


def recorded(database: pathlib.Path, seed: int, files: int) -> dict:
    """One recording of the load."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, Recording(database) as recording:
        place = pathlib.Path(folder)
        build(place, files, rng)
        scripts(place, files // 2, rng)
        (place / "tree").mkdir()
        commits(place / "tree", files // 3, rng)
    return recording.said


def of_load(database: pathlib.Path) -> list:
    """The classes of the load, without what else ran on the machine."""
    wanted = ("cc1", "as", "gcc*", "x86_64-linux-gnu-*", "python3* sums.py", "git")
    groups = {}
    for name in wanted:
        try:
            groups |= {group.name: group for group in history.load(database, name).groups}
        except Exception:
            continue
    return list(groups.values())


def second(first: list, then: list) -> list[dict]:
    """Limits from the first recording, on the runs of the second."""
    known = {group.name: group for group in first}
    largest = {}
    for group in first:
        largest[group.program] = max(largest.get(group.program, 0), group.peak)
    pairs = [(known[group.name], group) for group in then if group.name in known]
    rules = {"largest of the program": lambda group: limits.declared(largest[group.program])}
    rules["declared 512 MiB"] = lambda group: DECLARED
    for safety in SAFETIES:
        rules[f"suggested, {safety:g}"] = lambda group, safety=safety: limits.suggest(group.kept, safety).bytes
    found = []
    for name, rule in rules.items():
        outcome = replay.Outcome(name)
        for before, group in pairs:
            limit = rule(before)
            for run in group.runs:
                outcome.add(limit, run)
        share = outcome.share()
        row = {"limit": name, "runs": outcome.runs, "broken": outcome.broken, "low": share.low, "high": share.high}
        found.append(row | {"declared": outcome.declared / 2**30, "used": outcome.used / 2**30})
    return found


def walked(groups: list) -> list[dict]:
    """The history walked through."""
    found = []
    for safety in SAFETIES:
        done = replay.replay(groups, safety, {"": DECLARED})
        for one in done.outcomes.values():
            if one.rule == replay.SUGGESTED or safety == SAFETIES[0]:
                name = f"suggested, {safety:g}" if one.rule == replay.SUGGESTED else one.rule
                share, saved = one.share(), one.saved(done.outcomes[replay.LARGEST])
                row = {"limit": name, "runs": one.runs, "broken": one.broken, "low": share.low, "high": share.high}
                row |= {"declared": one.declared / 2**30, "used": one.used / 2**30}
                found.append(row | {"saved": [100 * value for value in saved[:3]], "first": done.first})
    return sorted(found, key=lambda row: row["limit"].startswith("suggested"))


def simulated(safety: float = 1e-3, draws: int = 400) -> list[dict]:
    """The mean share beyond limits from n runs, and the limit next to the size that keeps the safety exactly."""
    rng = np.random.default_rng(11)
    found = []
    for name, drawn in SIMULATED.items():
        for n in (10, 30, 100, 400, 2000):
            drifts = name.startswith("drift")
            shift = 1.001 ** np.arange(n) if drifts else np.ones(n)
            last = 1.001**n if drifts else 1.0
            many = np.sort(drawn(rng, 1_000_000) * last * 50 * 2**20)
            shares, sizes = [], []
            for _ in range(draws):
                limit = limits.suggest(np.sort(drawn(rng, n) * shift * 50 * 2**20).astype(int).tolist(), safety)
                shares.append(1 - np.searchsorted(many, limit.bytes, side="right") / len(many))
                sizes.append(limit.bytes / np.quantile(many, 1 - safety))
            how = limit.how
            found.append(
                {"of": name, "n": n, "how": how, "share": float(np.mean(shares)), "size": float(np.median(sizes))}
            )
    return found


LOADS = {
    "2,000 times /bin/true": ["sh", "-c", "i=0; while [ $i -lt 2000 ]; do /bin/true; i=$((i+1)); done"],
    f"a build of {BUILT} files": ["sh", "-c", "for f in *.c; do gcc -O2 -c $f; done"],
}


def processor_time(words: list[str], folder: str) -> float:
    """What a command and its children use, seconds: others on the machine change it less than the time of the clock."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, cwd=folder, check=True, **QUIET)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cost(rounds: int) -> tuple[dict, float]:
    """Processor time of each load with the recorder and without, by round; the recorder's in a minute of rest, seconds."""
    rng = random.Random(3)
    found = {name: {"bare": [], "recorded": [], "own": []} for name in LOADS}
    with tempfile.TemporaryDirectory() as folder:
        for n in range(BUILT):
            (pathlib.Path(folder) / f"unit{n}.c").write_text(source(rng))
        order = [(name, kind) for name in LOADS for kind in ("bare", "recorded")] * rounds
        rng.shuffle(order)
        for at, (name, kind) in enumerate(order):
            if kind == "bare":
                found[name][kind].append(processor_time(LOADS[name], folder))
                continue
            with Recording(pathlib.Path(folder) / f"{at}.db") as recording:
                found[name][kind].append(processor_time(LOADS[name], folder))
            own = recording.said
            found[name]["own"].append((own["own_ns"] / 1e9, own["processes"], own["unknown"]))
    with agent.Running(["peaks", "--for", "20s"]) as resting:
        lines = [agent.read(line) for line in resting.texts()]
    return found, 3 * lines[-2]["own_ns"] / 1e9


def table(heads: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, the first column to the left."""
    marks = ["---", *["---:"] * (len(heads) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, marks, *rows])


def shown_rows(rows: list[dict]) -> str:
    """Outcomes of rules."""
    heads = ["limit", "runs", "broken", "share, %", "declared, GiB s", "used, GiB s", "declared per used"]
    return table(
        heads,
        [
            [
                row["limit"],
                f"{row['runs']:,}",
                f"{row['broken']:,}",
                f"{100 * row['broken'] / row['runs']:.2f} [{100 * row['low']:.2f}, {100 * row['high']:.2f}]",
                f"{row['declared']:.2f}",
                f"{row['used']:.2f}",
                f"{row['declared'] / row['used']:.2f}",
            ]
            for row in rows
        ],
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--archive", type=pathlib.Path)
    parser.add_argument("--only-cost", action="store_true")
    asked = parser.parse_args()
    if asked.only_cost:
        show_cost(*cost(asked.rounds))
        return
    with tempfile.TemporaryDirectory() as folder:
        bases = [pathlib.Path(folder) / f"{name}.db" for name in ("first", "second", "both")]
        said = [recorded(bases[0], 1, asked.files), recorded(bases[1], 2, asked.files)]
        first, then = of_load(bases[0]), of_load(bases[1])
        merged = {group.name: group for group in of_load(bases[0])}
        for group in of_load(bases[1]):
            merged[group.name].add(group) if group.name in merged else merged.update({group.name: group})
        found = {"machine": machine(), "date": datetime.date.today().isoformat(), "recordings": said}
        found |= {"second": second(first, then), "replay": walked(list(merged.values())), "simulated": simulated()}
        found["size"] = bases[0].stat().st_size
    found["cost"], found["rest_s_per_minute"] = cost(asked.rounds)
    show(found)
    if asked.archive:
        asked.archive.write_text(json.dumps(found, indent=1) + "\n")


def show(found: dict) -> None:
    """Print all tables."""
    for one in found["recordings"]:
        counts = f"{one['processes']:,} processes, {one['unknown']:,} of unknown arguments, gaps {one['gaps']}"
        print(f"{counts}, {one['own_ns'] / 1e9:.2f} s; database {found['size']:,} bytes")
    print(f"\n{shown_rows(found['second'])}\n\n{shown_rows(found['replay'])}\n")
    for row in found["replay"]:
        print(
            row["limit"],
            "saved of the largest, %:",
            " ".join(f"{value:.1f}" for value in row["saved"]),
            "first",
            row["first"],
        )
    rows = [
        [one["of"], str(one["n"]), one["how"], f"{one['share']:.1e}", f"{one['size']:.2f}"]
        for one in found["simulated"]
    ]
    print(f"\n{table(['peaks', 'n', 'limit', 'mean share beyond', 'limit / exact limit'], rows)}\n")
    show_cost(found["cost"], found["rest_s_per_minute"])


def show_cost(found: dict, rest: float) -> None:
    """Print what recording costs."""
    rows = []
    for name, one in found.items():
        ratio = statistics.median(one["recorded"]) / statistics.median(one["bare"])
        texts = [
            f"{statistics.median(one[kind]):.2f} [{min(one[kind]):.2f}, {max(one[kind]):.2f}]"
            for kind in ("bare", "recorded")
        ]
        own, processes, unknown = (statistics.median(values) for values in zip(*one["own"], strict=True))
        rows.append([name, *texts, f"{ratio:.2f}", f"{1e6 * own / processes:.0f}", f"{unknown:.0f} of {processes:.0f}"])
    heads = ["load", "bare, s", "recorded, s", "ratio", "recorder, us a process", "unknown arguments"]
    print(f"{table(heads, rows)}\n\nat rest: {1000 * rest:.1f} ms a minute")


if __name__ == "__main__":
    main()
