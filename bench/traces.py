"""How fast a recording is explained and replayed, next to perf on the same file.

`traces.py [--operations N] [--rounds N]`, as root: recording needs it. The recording is that of
`perf sched record` over `perf bench sched pipe`. Each round runs every kind once, in random order; printed are medians
over the rounds with their quartiles: events a second of processor time, and the ratio to
`perf sched timehist --summary` of the same round. Peak memory is that of the last run of the whole command.

    explain    the engine's part of `schedlab trace --json`, percentiles and all
    trace      the whole command, with the start of Python
    prepare    the engine's part of `schedlab whatif`: the recording as work, explained at once
    replay     one replay of that work under the recorded setting
    timehist   perf sched timehist --summary
    script     perf script
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

BIN = pathlib.Path(sys.executable).parent
ENGINE = {
    "explain": "_core.explain('{file}', '{{}}')",
    "prepare": "_core.prepare_replay('{file}', '{{\"measured\": {{}}}}', '{work}')",
}
REPLAY = """
import json, time
from schedlab import _core
from schedlab.specification import Specification
found = json.loads(_core.prepare_replay('{file}', '{{"measured": {{}}}}', '{work}'))
document = found["document"] | {{"recording": {{"file": '{work}', "sha256": found["sha256"]}}}}
cell = Specification.from_text(json.dumps(document), "bench", format="json").cells()[0]
run = json.dumps({{"scenario": cell.scenario, "seed": 1}})
before = time.process_time()
done = json.loads(_core.replay(run, "{{}}"))
print(json.dumps([time.process_time() - before, done["events"]]))
"""
TIMED = """
import json, time
from schedlab import _core
before = time.process_time()
{call}
print(json.dumps([time.process_time() - before, {events}]))
"""


def waited(words: list[str]) -> tuple[float, int]:
    """Run a command without its output; its processor time, seconds, and peak memory, KiB."""
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 3):
        raise SystemExit(f"{' '.join(words)}: status {child.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def python(text: str) -> tuple[float, int]:
    """Run a script that prints its processor time and the events that it handled."""
    return tuple(json.loads(subprocess.check_output([sys.executable, "-c", text], text=True).splitlines()[-1]))


class Kinds:
    """The ways to read one recording."""

    def __init__(self, file: pathlib.Path, events: int):
        """Keep the recording."""
        self.file, self.events, self.peak = file, events, {}

    def run(self, kind: str) -> tuple[float, int]:
        """Processor time and events."""
        work = self.file.with_suffix(".work")
        if kind in ENGINE:
            call = ENGINE[kind].format(file=self.file, work=work)
            return python(TIMED.format(call=call, events=self.events))
        if kind == "replay":
            return python(REPLAY.format(file=self.file, work=work))
        words = {
            "trace": [BIN / "schedlab", "trace", self.file, "--json"],
            "timehist": ["perf", "sched", "-i", self.file, "timehist", "--summary"],
            "script": ["perf", "script", "-i", self.file],
        }[kind]
        seconds, self.peak[kind] = waited([str(word) for word in words])
        return seconds, self.events


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, default=20_000 if os.environ.get("BENCH_QUICK") else 300_000)
    parser.add_argument("--rounds", type=int, default=3 if os.environ.get("BENCH_QUICK") else 9)
    options = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("recording needs root")
    with tempfile.TemporaryDirectory(prefix="schedlab-bench-") as folder:
        file = pathlib.Path(folder, "perf.data")
        load = ["perf", "bench", "sched", "pipe", "-l", str(options.operations)]
        subprocess.run(
            ["perf", "sched", "record", "-m", "16M", "-o", file, "--", *load], check=True, capture_output=True
        )
        explained = subprocess.run([BIN / "schedlab", "trace", file, "--json"], capture_output=True)
        found = json.loads(explained.stdout)
        kinds = Kinds(file, found["events"])
        names = [*ENGINE, "replay", "trace", "timehist", "script"]
        rounds = [{kind: kinds.run(kind) for kind in random.sample(names, len(names))} for _ in range(options.rounds)]
        size = file.stat().st_size / 2**20
    print(f"{kinds.events:,} events, {size:.0f} MiB, {found['lost']} lost, {options.rounds} rounds; [quartiles]")
    for kind in names:
        rates = [one[kind][1] / one[kind][0] / 1e6 for one in rounds]
        # How many times as fast as timehist, in the same round.
        ratios = [
            rate / (one["timehist"][1] / one["timehist"][0] / 1e6) for rate, one in zip(rates, rounds, strict=True)
        ]
        low, rate, high = statistics.quantiles(rates, n=4)
        first, ratio, third = statistics.quantiles(ratios, n=4)
        peak = f"{kinds.peak[kind] / 1024:.0f} MiB" if kind in kinds.peak else ""
        spread = f"{rate:7.2f} M events/s [{low:.2f}, {high:.2f}]"
        print(f"{kind:9} {spread}   {ratio:5.2f} x [{first:.2f}, {third:.2f}]   {peak}")


if __name__ == "__main__":
    main()
