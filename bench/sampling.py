"""What a sample of the system's counters costs: ours beside vmstat, sar, dool (or dstat) and atop.

Every contestant samples each second, into nowhere, so many times, and beside it only twice: the difference of processor
times (of the process and its children, by the kernel's own account) over the difference of samples is the cost of one,
start and end left out. All sample side by side, each begun at a random moment of a second, so that whatever slows the
machine slows all alike. `BENCH_QUICK=1` does one round.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time

QUICK = os.environ.get("BENCH_QUICK", "0") not in ("", "0")
ROUNDS, LONG, SHORT = 1 if QUICK else 5, 25, 2
#: Milliseconds of processor time that a sample of all counters with pressure may cost.
WANTED_MS = 0.30
PEERS = {
    "vmstat": ["vmstat", "-n", "1"],
    "sar": ["sar", "-u", "-w", "-q", "-r", "-B", "-d", "-n", "DEV", "1"],
    "dool": ["dool", "--nocolor", "--noheaders", "1"],
    "dstat": ["dstat", "--nocolor", "--noheaders", "1"],
    "atop": ["atop", "1"],
}


def contestants(agent):
    """The commands, to which the number of samples is added."""
    ours = [agent, "sample", "--every", "1s", "--count"]
    more = {
        "ours": ours,
        "ours, interrupts": [*ours[:-1], "--with", "interrupts", "--count"],
        "ours, nice and tasks": [*ours[:-1], "--with", "nice,tasks=20", "--count"],
    }
    there = {name: command for name, command in PEERS.items() if shutil.which(command[0])}
    for name in sorted(set(PEERS) - set(there)):
        print(f"{name} is not installed and is left out", file=sys.stderr)
    return more | there


def processor_times(commands):
    """Seconds that each command used, its children included: {name: seconds}."""
    running = {}
    for name in random.sample(sorted(commands), len(commands)):
        child = subprocess.Popen(
            commands[name], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        running[child.pid] = (name, child)
        time.sleep(random.random() / len(commands))
    used = {}
    while running:
        pid, status, usage = os.wait3(0)
        name, child = running.pop(pid)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"{' '.join(commands[name])} ended with status {child.returncode}")
        used[name] = usage.ru_utime + usage.ru_stime
    return used


def main():
    """Measure and tell; exit status 1 if ours costs more than it may."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--agent", required=True)
    arguments.add_argument("--json", action="store_true")
    given = arguments.parse_args()
    commands = contestants(given.agent)
    costs = {name: [] for name in commands}
    for number in range(ROUNDS):
        print(f"\rround {number + 1} of {ROUNDS}", end="", file=sys.stderr, flush=True)
        lengths = {(name, n): [*command, str(n)] for name, command in commands.items() for n in (SHORT, LONG)}
        used = processor_times(lengths)
        for name, found in costs.items():
            found.append(1000 * (used[name, LONG] - used[name, SHORT]) / (LONG - SHORT))
    print(file=sys.stderr)
    medians = {name: statistics.median(found) for name, found in costs.items()}
    if given.json:
        print(json.dumps({"ms_per_sample": costs, "wanted_ms": WANTED_MS}, indent=2))
    else:
        for name, found in sorted(costs.items(), key=lambda item: medians[item[0]]):
            times = medians[name] / medians["ours"]
            print(f"{name:22} {medians[name]:7.3f} ms  [{min(found):.3f} to {max(found):.3f}]  {times:5.1f} x ours")
        print(f"at most {WANTED_MS} ms a sample: {'met' if medians['ours'] <= WANTED_MS else 'NOT MET'}")
    return int(medians["ours"] > WANTED_MS)


if __name__ == "__main__":
    sys.exit(main())
