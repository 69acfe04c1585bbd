"""What a recording costs the recorded load, and what an event takes on disk: `schedlab record` and `perf sched record`.

`record.py [--agent PATH] [--rounds N] [--operations N] [--sets "SET,SET SET ..."] [--archive FILE]`, as root. The load
is `perf bench sched pipe`: two tasks that wake each other, the most switches that two tasks can make. Each round runs
every kind once and the bare load, in random order. Printed are medians over the rounds with their quartiles: time and
processor time of the load for an operation, processor time of the recorder, events, bytes an event; and the ratios to
the bare load and to perf, round by round.
"""

import argparse
import datetime
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from bench import machine

ROOT = pathlib.Path(__file__).parent.parent
AGENT = ROOT / "python/schedlab/targets/bin/schedlab-agent"


def timed(words: list[str], folder: str) -> tuple[dict, str]:
    """Run a command with all that it starts: its processor time, seconds, and what it said."""
    with open(f"{folder}/said", "w+") as said:
        child = subprocess.Popen(words, cwd=folder, stdout=said, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read()
    if child.returncode:
        raise SystemExit(f"{' '.join(words)}: status {child.returncode}: {text}")
    return {"all_s": usage.ru_utime + usage.ru_stime}, text


def load(operations: int) -> list[str]:
    """The load, which says its own time: of the clock, in user mode, in the kernel."""
    return ["bash", "-c", f"TIMEFORMAT='took %3R %3U %3S'; time perf bench sched pipe -l {operations}"]


class Kinds:
    """The ways to run a load."""

    def __init__(self, agent: pathlib.Path, operations: int):
        """Keep what is common to all."""
        self.agent, self.operations = agent, operations

    def run(self, kind: str) -> dict:
        """Run the load in one way: its numbers for an operation, and those of the recording."""
        with tempfile.TemporaryDirectory(prefix="schedlab-bench-") as folder:
            words = self.words(kind)
            found, text = timed([*words, *load(self.operations)], folder)
            real, user, system = (float(word) for word in re.search(r"took (\S+) (\S+) (\S+)", text).groups())
            found |= {"real_us": real / self.operations * 1e6, "cpu_us": (user + system) / self.operations * 1e6}
            found["recorder_s"] = max(0.0, found.pop("all_s") - user - system)
            return found | self.recorded(kind, folder, text)

    def words(self, kind: str) -> list[str]:
        """What goes before the load."""
        if kind == "bare":
            return []
        if kind == "perf":
            return ["perf", "sched", "record", "-o", "perf.data", "--"]
        events = [] if kind == "schedlab" else [f"--events={kind}"]
        return [str(self.agent), "capture", "-o", "trace.dat", "--answer=answer", *events, "--"]

    def recorded(self, kind: str, folder: str, text: str) -> dict:
        """Events, bytes and losses of a recording."""
        if kind == "bare":
            return {}
        if kind == "perf":
            events = int(re.search(r"\((\d+) samples\)", text)[1])
            lost = sum(int(count) for count in re.findall(r"lost (\d+) ", text))
            size = os.path.getsize(f"{folder}/perf.data")
            return {"events": events, "lost": lost, "bytes_per_event": size / events}
        found = json.loads(pathlib.Path(folder, "answer").read_text())["recorded"]
        return {
            "events": found["events"],
            "lost": found["lost"],
            "bytes_per_event": found["bytes"] / found["events"],
            "page_bytes_per_event": found["page_bytes"] / found["events"],
        }


def summed_up(rounds: list[dict[str, dict]], kind: str) -> dict:
    """Median and quartiles of each number, and of the ratios to the bare load of the same round."""
    numbers = {name: [one[kind][name] for one in rounds] for name in rounds[0][kind]}
    for name in ("real_us", "cpu_us"):
        numbers[f"{name}_ratio"] = [one[kind][name] / one["bare"][name] for one in rounds]
        if "perf" in rounds[0]:
            numbers[f"{name}_to_perf"] = [one[kind][name] / one["perf"][name] for one in rounds]
    return {
        name: dict(zip(("q1", "median", "q3"), statistics.quantiles(values, n=4), strict=True))
        for name, values in numbers.items()
    }


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agent", type=pathlib.Path, default=AGENT)
    parser.add_argument("--rounds", type=int, default=3 if os.environ.get("BENCH_QUICK") else 15)
    parser.add_argument("--operations", type=int, default=100_000)
    parser.add_argument("--sets", default="", help="more kinds: sets of events, with blanks between kinds")
    parser.add_argument("--archive", type=pathlib.Path)
    options = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("recording needs root")
    kinds = Kinds(options.agent.resolve(), options.operations)
    names = ["bare", "schedlab", "perf", *options.sets.split()]
    rounds = [{kind: kinds.run(kind) for kind in random.sample(names, len(names))} for _ in range(options.rounds)]
    found = {kind: summed_up(rounds, kind) for kind in names}
    for kind, numbers in found.items():
        for name, value in numbers.items():
            print(f"{kind:20} {name:22} {value['median']:14.3f} [{value['q1']:.3f}, {value['q3']:.3f}]")
    if options.archive:
        date = datetime.date.today().isoformat()
        about = {"date": date, "machine": machine(), "operations": options.operations, "rounds": options.rounds}
        options.archive.write_text(json.dumps(about | {"kinds": found, "each": rounds}, indent=1) + "\n")


if __name__ == "__main__":
    main()
