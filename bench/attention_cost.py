"""What `schedlab attend` costs itself, next to few programs and to many.

    python3 bench/attention_cost.py --agent python/schedlab/targets/bin/schedlab-agent

Two programs compete for the focus, which changes every five seconds; one of them has idle processes. The share
of a processor that the daemon has used is its own account, from when it is at work on; what it used before that is
printed apart. As root, on a quiet machine.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from attention import DESKTOP, HOG, running

#: A program with that many processes that sleep.
MANY = """
import subprocess, sys, time
children = [subprocess.Popen(["sleep", "1000"]) for _ in range(int(sys.argv[1]))]
print("there", flush=True)
sys.stdin.read()
for child in children:
    child.kill()
"""
#: Seconds from one change of the focus to the next.
REST = 5.0


def cost(agent: Path, processes: int, lasting: float) -> dict:
    """The daemon's state at the end; `began_ms` is what it had used when it was at work."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        hog = stack.enter_context(running([sys.executable, "-c", HOG]))
        many = stack.enter_context(
            running([sys.executable, "-c", MANY, str(processes)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        )
        many.stdout.readline()
        place = f"--socket={folder}/socket"
        words = [str(agent), "attend", "run", f"--layout={DESKTOP}", f"--journal={folder}/journal", place]
        daemon = stack.enter_context(running(words, stdout=subprocess.PIPE))
        daemon.stdout.readline()
        began = used(daemon.pid)
        end = time.monotonic() + lasting
        while (left := end - time.monotonic()) > 0:
            for pid in (hog.pid, many.pid):
                subprocess.run([str(agent), "attend", "focus", str(pid), place], check=True, capture_output=True)
                time.sleep(min(REST, max(left, 0.0)))
        daemon.terminate()
        ended = json.loads(daemon.stdout.read())["ended"]
        many.communicate()
        return ended | {"began_ms": 1e3 * began}


def used(pid: int) -> float:
    """Processor time of a process of one thread, s."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agent", type=Path, required=True)
    parser.add_argument("--lasting", type=float, default=120.0)
    given = parser.parse_args()
    for processes in (0, 100, 400, 1600):
        found = cost(given.agent, processes, given.lasting)
        print(
            f"{processes} idle processes: own use {found['own_share']:.3%} of a processor in {found['up_s']:.0f} s, "
            f"{found['moves']} moves of programs, looked every {found['period_s']:.1f} s at the end; "
            f"{found['began_ms']:.1f} ms until it was at work"
        )


if __name__ == "__main__":
    main()
