"""What a request of an open load costs: a pool of 64 tasks on 32 processors, next to another simulator.

::

    python3 bench/open_load.py --schedlab .venv/bin/schedlab [--peer PATH]

The requests of `open_load.toml` are run under `eevdf`. Processor time and the most memory are those of the whole
command, its start included. The peer is the program of github.com/epfl-dcsl/schedsim, built with `cores = 32` in
topologies/common.go: one queue, which it serves in order of arrival, with no scheduler, switches or ticks. It keeps
every latency, so it gets fewer requests, and the ratio is of times a request. The 99th percentiles of the latencies
must agree, or the bench stops: 99 of 100 requests find a processor free (M/M/32 at 62.5 %), so that the order of
service hardly matters. `make bench-open` runs this. `BENCH_QUICK=1`: a million requests in place of a hundred
million.
"""

import argparse
import csv
import datetime
import io
import json
import os
import subprocess
import sys
import tempfile

from bench import HERE, QUICK, machine
from policies import line

FILE = HERE / "open_load.toml"
REQUESTS = 1_000_000 if QUICK else 100_000_000
PEERS_REQUESTS = 1_000_000
#: As in the file: arrivals and services a microsecond.
ARRIVALS, SERVICES, PROCESSORS = 0.2, 0.01, 32
#: Wanted of a hundred million requests.
WANTED_S, WANTED_MB = 90, 200
#: How far apart the 99th percentiles may be: the peer has no switches between tasks that share a processor.
AGREE = 0.05


def main():
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schedlab", required=True, help="the command schedlab")
    parser.add_argument("--peer", help="the program schedsim, built for 32 processors")
    words = parser.parse_args()
    rows = [ours(words.schedlab, REQUESTS)]
    if words.peer:
        rows += [peer(words.peer)]
    print(table(rows))
    if words.peer and abs(rows[0]["p99_us"] / rows[1]["p99_us"] - 1) > AGREE:
        print(f"the 99th percentiles differ by more than {AGREE:.0%}", file=sys.stderr)
        return 1
    result = {"date": datetime.date.today().isoformat(), "machine": machine(), "rows": rows}
    path = HERE / "results" / f"{result['date']}-open-load{'-quick' if QUICK else ''}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(f"\n{path}")
    return 0


def used(command, folder=None):
    """What a command prints, its processor time, s, and the most memory that it had, MB."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder)
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with status {os.waitstatus_to_exitcode(status)}")
    return printed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def ours(schedlab, requests):
    """The row of schedlab."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            os.path.abspath(schedlab),
            "run",
            str(FILE),
            "--set",
            f"workload.server.requests={requests}",
            "--csv",
        ]
        printed, seconds, most = used(command, folder)
    (row,) = csv.DictReader(io.StringIO(printed))
    latency = float(row["tasks.server.message_latency.p99 [s]"])
    return {"who": "schedlab, eevdf", "requests": requests, "seconds": seconds, "mb": most, "p99_us": latency * 1e6}


def peer(program):
    """The row of the peer; its last line is a row of numbers below their names, among them the percentiles."""
    length = int(PEERS_REQUESTS / ARRIVALS)
    command = [program, f"--lambda={ARRIVALS}", f"--mu={SERVICES}", f"--duration={length}"]
    printed, seconds, most = used(command)
    if f"Cores:{PROCESSORS}\t" not in printed:
        raise SystemExit(
            f"{program} has not {PROCESSORS} processors: set `cores` in topologies/common.go and build it anew"
        )
    *_, names, values = (text.split() for text in printed.strip().splitlines())
    found = dict(zip(names, map(float, values), strict=True))
    return {
        "who": "schedsim, one queue",
        "requests": int(found["Count"]),
        "seconds": seconds,
        "mb": most,
        "p99_us": found["99th"],
    }


def table(rows):
    """The table, in Markdown."""
    lines = [line("", "requests", "processor time, s", "us a request", "ratio", "memory, MB", "p99, us", "wanted")]
    lines += ["|---|---:|---:|---:|---:|---:|---:|---|"]
    first = rows[0]["seconds"] / rows[0]["requests"]
    for row in rows:
        each = row["seconds"] / row["requests"]
        cells = (f"{row['requests']:,}", f"{row['seconds']:.1f}", f"{each * 1e6:.2f}", f"{each / first:.1f}")
        met = row["seconds"] <= WANTED_S and row["mb"] <= WANTED_MB
        wanted = f"{WANTED_S} s, {WANTED_MB} MB: {'met' if met else 'NOT MET'}" if row["requests"] == 10**8 else ""
        lines.append(line(row["who"], *cells, f"{row['mb']:.0f}", f"{row['p99_us']:.0f}", wanted))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
