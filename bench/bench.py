"""The benchmark of the event loop: ours beside the ceiling and beside peers, taking turns in random order.

Each turn is a process of its own that does a load once and tells its switches and its time; a round is one turn of
every contestant. Ratios are formed within a round, and their median is told: whatever slows the machine for a while
slows all contestants alike. Then policies.py measures every scheduler. `BENCH_QUICK=1` does less of everything. What is
measured stands in docs/performance.md.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import random
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
QUICK = os.environ.get("BENCH_QUICK", "0") not in ("", "0")
LOADS = ("ring", "sleepers", "passes")
SIZES = (10, 100, 1_000, 100_000)
ROUNDS, PEER_ROUNDS = (3, 1) if QUICK else (9, 2)
SWITCHES = {"ring": 3_000_000, "sleepers": 1_500_000, "passes": 1_500_000}
if not QUICK:
    SWITCHES = {"ring": 10_000_000, "sleepers": 4_000_000, "passes": 4_000_000}
# At least so many of each task, so that making the tasks is a small part of the work.
SWITCHES_PER_TASK = 30 if QUICK else 50
PEER_SWITCHES = {"simpy": 50_000 if QUICK else 150_000, "simso": 3_000 if QUICK else 10_000}
# SimSo looks at all its tasks at every decision.
PEER_LOADS = ("ring", "sleepers")
PEER_SIZES = {"simpy": SIZES, "simso": (10, 100, 1_000)}
SWEEP_SWITCHES = 8_000_000 if QUICK else 24_000_000
PATIENCE = 120  # seconds for one turn
DISTURBED = 0.5  # load average at the beginning
# A ceiling that takes longer than what it is a ceiling of does more than it needs to: the bench is wrong.
SOUND = 0.95
WORDS = {True: "met", False: "NOT MET", None: "not measured"}


class Bench:
    """Who takes part, and what they did."""

    def __init__(self, ours, peers):
        """Ours is a binary; each peer has a Python of its own."""
        self.ours = ours
        self.peers = {name: [python, "-W", "ignore", str(HERE / f"{name}_peer.py")] for name, python in peers.items()}

    def turn(self, contestant, load, tasks, switches, **environment):
        """One turn; None if it fails or takes too long."""
        command = self.peers.get(contestant) or [self.ours, contestant]
        command = [*command, load, str(tasks), str(switches)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=True, timeout=PATIENCE, env=os.environ | environment
            )
            return json.loads(done.stdout)
        except (subprocess.SubprocessError, OSError, ValueError) as why:
            print(f"{' '.join(command)}: {getattr(why, 'stderr', None) or why}", file=sys.stderr)
            return None

    def rounds(self):
        """All turns, in random order within a round: {(load, tasks): {contestant: [turn of each round]}}."""
        turns = {(load, tasks): {} for load in LOADS for tasks in SIZES}
        for number in range(ROUNDS):
            print(f"\rround {number + 1} of {ROUNDS}", end="", file=sys.stderr, flush=True)
            for load, tasks in random.sample(sorted(turns), len(turns)):
                contestants = ["ours", "ceiling", "unheard", "recorded", "traced"]
                if number < PEER_ROUNDS and load in PEER_LOADS:
                    contestants += [name for name in self.peers if tasks in PEER_SIZES[name]]
                for name in random.sample(contestants, len(contestants)):
                    switches = PEER_SWITCHES.get(name) or max(SWITCHES[load], SWITCHES_PER_TASK * tasks)
                    done = self.turn(name, load, tasks, switches)
                    turns[load, tasks].setdefault(name, []).append(done)
        print(file=sys.stderr)
        return turns

    def memory_per_task(self, load):
        """Bytes: the peak with a million tasks, less that with a thousand."""
        few, many = (self.turn("ours", load, tasks, 1_000_000) for tasks in (1_000, 1_000_000))
        return few and many and (many["peak_bytes"] - few["peak_bytes"]) / 999_000

    def memory_of_recording(self):
        """How much more memory a recording of eight times the length takes."""
        short, long = (self.turn("recorded", "sleepers", 100, n) for n in (1_000_000, 8_000_000))
        return short and long and long["peak_bytes"] / short["peak_bytes"]

    def sweep_efficiency(self):
        """Share of two processors that a sweep uses, half of the time on one thread over the time on two; and the
        processor time on one thread over that on two, which other work on the machine does not disturb."""
        shares, costs = [], []
        for _ in range(ROUNDS):
            done = {}
            for threads in random.sample((1, 2), 2):
                done[threads] = self.turn("sweep", "sleepers", 100, SWEEP_SWITCHES, RAYON_NUM_THREADS=str(threads))
            if all(done.values()):
                shares.append(done[1]["wall_ns"] / done[2]["wall_ns"] / 2)
                costs.append(done[1]["cpu_ns"] / done[2]["cpu_ns"])
        return summary(shares), summary(costs)


def summary(values):
    """Median, smallest and largest; None of nothing."""
    return {"median": statistics.median(values), "low": min(values), "high": max(values)} if values else None


def per_switch(turn, clock):
    """Nanoseconds per switch."""
    return turn[clock] / turn["switches"]


def compare(turns, one, other, clock):
    """The ratio of two contestants, round by round."""
    pairs = zip(turns.get(one, []), turns.get(other, []), strict=False)
    return summary([per_switch(a, clock) / per_switch(b, clock) for a, b in pairs if a and b])


def row(load, tasks, turns):
    """What a load of so many tasks came to."""
    ours, bare = (next((turn for turn in turns[name] if turn), None) for name in ("ours", "ceiling"))
    same = ("switches", "mean_wait_s", "user_s") + (("passes", "mean_pass_s") if load == "passes" else ())
    if not (ours and bare) or any(abs(ours[k] / bare[k] - 1) > 1e-9 for k in same):
        sys.exit(f"{load} of {tasks}: the ceiling does not do the same simulated work: {ours} {bare}")
    result = {"load": load, "tasks": tasks, "switches": ours["switches"], "mean_wait_s": ours["mean_wait_s"]}
    for name, done in turns.items():
        result[f"{name}_ns"] = summary([per_switch(turn, "cpu_ns") for turn in done if turn])
    result["over_ceiling"] = compare(turns, "ours", "ceiling", "cpu_ns")
    result["recording"] = compare(turns, "recorded", "ours", "wall_ns")
    result["recording_cpu"] = compare(turns, "recorded", "ours", "cpu_ns")
    recorded = [turn for turn in turns["recorded"] if turn]
    result["event_bytes"] = (recorded and recorded[0]["recorded_bytes"] / recorded[0]["recorded_events"]) or None
    traced = [turn for turn in turns["traced"] if turn]
    result["trace_bytes"] = (traced and traced[0]["trace_bytes"] / traced[0]["switches"]) or None
    result["tracing"] = compare(turns, "traced", "unheard", "cpu_ns")
    for peer in PEER_SIZES:
        result[f"over_{peer}"] = compare(turns, peer, "ours", "cpu_ns")
    return result


def first_line(path, start):
    """The value of the first line that begins so."""
    try:
        lines = pathlib.Path(path).read_text().splitlines()
    except OSError:
        return "unknown"
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(start)), "unknown")


def machine():
    """The machine, as far as it tells."""
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=False)
    return {
        "processor": first_line("/proc/cpuinfo", "model name"),
        "processors": os.cpu_count(),
        "memory": first_line("/proc/meminfo", "MemTotal"),
        "system": f"{platform.system()} {platform.release()}",
        "rustc": rustc.stdout.strip(),
        "python": platform.python_version(),
        "load_average": os.getloadavg(),
    }


def verdicts(rows, memory, recording_memory, sweep):
    """What was wanted, what was measured, and whether it is met: None where it was not measured."""

    def worst(key, choose):
        return choose((row[key]["median"] for row in rows if row[key]), default=None)

    def verdict(what, measured, met):
        return {"wanted": what, "measured": measured, "met": None if measured is None else bool(met(measured))}

    over = [
        verdict(
            f"{row['load']} of {row['tasks']:,}: at most 2 x the ceiling", row["over_ceiling"]["median"], at_most(2)
        )
        for row in rows
    ]
    event = max((row["event_bytes"] for row in rows if row["event_bytes"]), default=None)
    trace = max((row["trace_bytes"] for row in rows if row["trace_bytes"]), default=None)
    traced = [
        verdict(
            f"{row['load']} of {row['tasks']:,}, with a trace for Perfetto: at most 2 x a run alone",
            row["tracing"] and row["tracing"]["median"],
            at_most(2),
        )
        for row in rows
    ]
    return [
        *over,
        verdict("quicker than SimPy, more than 15 x", worst("over_simpy", min), lambda ratio: ratio > 15),
        verdict("quicker than SimSo, more than 1,000 x", worst("over_simso", min), lambda ratio: ratio > 1000),
        verdict("recording: at most 1.5 x slower", worst("recording", max), at_most(1.5)),
        verdict("recording: at most 32 bytes an event", event, at_most(32)),
        verdict("recording: memory of 8 x the length, at most 1.1 x", recording_memory, at_most(1.1)),
        verdict("a trace for Perfetto: at most 60 bytes a switch", trace, at_most(60)),
        *traced,
        verdict("at most 512 bytes a task", max(memory.values(), key=lambda v: v or 0), at_most(512)),
        verdict("a sweep uses at least 90 % of two processors", sweep and sweep["median"], lambda share: share >= 0.9),
    ]


def check_ceilings(ratios):
    """The status to exit with: 1 if any ceiling is slower than what it is a ceiling of, and such cells are named."""
    wrong = {cell: ratio for cell, ratio in ratios.items() if ratio < SOUND}
    for cell, ratio in wrong.items():
        print(f"the ceiling is slower than the simulator: {cell}, ratio {ratio:.2f}, below {SOUND}", file=sys.stderr)
    return int(bool(wrong))


def at_most(limit):
    """A judge of a measured value."""
    return lambda value: value <= limit


def show(result):
    """Prints it for the eye."""
    print("\n".join(f"{name:14}{value}" for name, value in result["machine"].items()))
    head = ("load", "tasks", "ours ns", "unheard", "ceiling", "ratio")
    head += ("recorded", "B/event", "traced", "SimPy", "SimSo")
    print("\n" + "{:9}{:>9}{:>9}{:>9}{:>9}{:>19}{:>10}{:>9}{:>9}{:>9}{:>9}".format(*head))

    def middle(row, key, form):
        return form.format(row[key]["median"]) if row.get(key) else "-"

    for row in result["rows"]:
        ratio = row["over_ceiling"]
        spread = f"{ratio['median']:.2f} ({ratio['low']:.2f}-{ratio['high']:.2f})"
        ours, unheard, bare = (middle(row, f"{name}_ns", "{:.1f}") for name in ("ours", "unheard", "ceiling"))
        peers = [middle(row, f"over_{peer}", "{:,.0f} x") for peer in PEER_SIZES]
        size = f"{row['event_bytes']:.1f}" if row["event_bytes"] else "-"
        print(
            f"{row['load']:9}{row['tasks']:>9,}{ours:>9}{unheard:>9}{bare:>9}{spread:>19}"
            f"{middle(row, 'recording', '{:.2f} x'):>10}{size:>9}"
            f"{middle(row, 'tracing', '{:.2f} x'):>9}{peers[0]:>9}{peers[1]:>9}"
        )
    print()
    for verdict in result["verdicts"]:
        measured = "-" if verdict["met"] is None else f"{verdict['measured']:,.2f}"
        print(f"{WORDS[verdict['met']]:13} {verdict['wanted']}: {measured}")
    if result["machine"]["load_average"][0] > DISTURBED:
        print("\nOther work was running: the sweep and the recordings, which use two processors, suffer most from it.")
        if result["sweep_cpu"]:
            print(f"Processor time of the sweep, one thread over two: {result['sweep_cpu']['median']:.2f}")


def main():
    """Measures, prints, and writes the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ours", required=True, help="the binary schedlab-bench")
    parser.add_argument("--simpy", help="a Python that has SimPy")
    parser.add_argument("--simso", help="a Python that has SimSo")
    arguments = parser.parse_args()
    peers = {name: getattr(arguments, name) for name in PEER_SIZES if getattr(arguments, name)}
    bench = Bench(arguments.ours, peers)
    description = machine()
    rows = [row(*cell, turns) for cell, turns in bench.rounds().items()]
    memory = {load: bench.memory_per_task(load) for load in LOADS}
    recording_memory = bench.memory_of_recording()
    sweep, sweep_cpu = bench.sweep_efficiency()
    result = {
        "date": datetime.date.today().isoformat(),
        "quick": QUICK,
        "rounds": ROUNDS,
        "machine": description,
        "rows": rows,
        "bytes_per_task": memory,
        "recording_memory": recording_memory,
        "sweep_efficiency": sweep,
        "sweep_cpu": sweep_cpu,
        "verdicts": verdicts(rows, memory, recording_memory, sweep),
    }
    show(result)
    path = HERE / "results" / f"{result['date']}{'-quick' if QUICK else ''}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(f"\n{path}\n", flush=True)
    status = check_ceilings({f"{row['load']} of {row['tasks']:,}": row["over_ceiling"]["median"] for row in rows})
    done = subprocess.run([sys.executable, HERE / "policies.py", "--ours", arguments.ours], check=False)
    sys.exit(done.returncode or status)


if __name__ == "__main__":
    main()
