"""What a request costs under every eviction policy, as the installed schedlab runs it, beside libCacheSim.

::

    .venv/bin/python bench/caches.py --libcachesim .venv-bench-libcachesim/bin/python

The trace, the same for all: independent draws from a million things, the r-th of which is asked for with a probability
proportional to 1/r (Zipf's law, exponent 1); the things are numbered in random order; numpy's PCG64, seed 1. Everything
runs on one processor. A turn is one policy on the whole trace, once; within a round the turns of all contestants are in
random order; medians of the rounds are told, and ratios are formed within a round.

Two comparisons. *End to end*, one question: a file in, one miss ratio out; both read the file, and ours numbers its
keys. *Core*: ours is the call that runs a trace that was read, with the cache made and next uses found, as for every
question after the first; libCacheSim cannot be run without its reading of the records, which is in its time here
too, so this ratio is for many questions and not for one. Reading and numbering are also told by themselves.
`BENCH_QUICK=1` does less.
"""

import argparse
import datetime
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import numpy as np
import polars as pl
from bench import DISTURBED, PATIENCE, machine, summary

from schedlab import _core

HERE = pathlib.Path(__file__).parent
QUICK = os.environ.get("BENCH_QUICK", "0") not in ("", "0")
THINGS = 1_000_000
REQUESTS = 1_000_000 if QUICK else 10_000_000
ROUNDS = 3 if QUICK else 5
#: Of the different things in the trace.
SIZES = ("1%", "10%")
#: The same policies there.
PEERS = {
    "arc": "ARC",
    "belady": "Belady",
    "clock": "Clock",
    "fifo": "FIFO",
    "lfu": "LFU",
    "lirs": "LIRS",
    "lru": "LRU",
    "random": "Random",
    "s3_fifo": "S3FIFO",
    "sieve": "Sieve",
    "two_q": "TwoQ",
}
RECORD = np.dtype([("time", "<u4"), ("key", "<u8"), ("size", "<u4"), ("next", "<i8")])


def write_trace(path):
    """Draw the trace and write it as libCacheSim's oracleGeneral, next uses and all."""
    rng = np.random.Generator(np.random.PCG64(1))
    weights = np.cumsum(1.0 / np.arange(1, THINGS + 1))
    ranks = np.searchsorted(weights, rng.random(REQUESTS) * weights[-1], side="right")
    keys = rng.permutation(THINGS)[np.minimum(ranks, THINGS - 1)]
    order = np.argsort(keys, kind="stable")
    following = np.full(REQUESTS, -1, dtype=np.int64)
    same = keys[order[1:]] == keys[order[:-1]]
    following[order[:-1][same]] = order[1:][same]
    records = np.empty(REQUESTS, dtype=RECORD)
    records["time"] = np.arange(REQUESTS) // 1000
    records["key"], records["size"], records["next"] = keys + 1, 1, following
    records.tofile(path)


class Bench:
    """The trace, and who takes part."""

    def __init__(self, trace, peer):
        """Reads the trace; `peer` is a Python that has libCacheSim, or None."""
        self.trace, self.peer = trace, peer
        self.keys, _, told = _core.read_requests(str(trace), "{}")
        self.told = json.loads(told)

    def slots(self, size):
        """Slots of a size."""
        return int(self.told["objects"] * float(size.removesuffix("%")) / 100 + 0.5)

    def reading(self):
        """Processor time of reading and numbering, ns a request."""
        begin = time.process_time_ns()
        _core.read_requests(str(self.trace), "{}")
        return (time.process_time_ns() - begin) / self.told["requests"]

    def ours(self, policy, size, one_pass=False):
        """One turn: misses and ns a request."""
        plan = json.dumps({"policies": policy, "sizes": size, "one_pass": one_pass})
        begin = time.process_time_ns()
        stream = _core.cache_curves(self.keys, self.told["objects"], plan, 1)
        elapsed = time.process_time_ns() - begin
        row = pl.read_ipc_stream(stream).rows(named=True)[0]
        return {"misses": row["misses"], "ns": elapsed / self.told["requests"]}

    def end_to_end(self, policy, size):
        """One turn from the file: misses and ns a request."""
        plan = json.dumps({"policies": policy, "sizes": size})
        begin = time.process_time_ns()
        keys, _, told = _core.read_requests(str(self.trace), "{}")
        stream = _core.cache_curves(keys, json.loads(told)["objects"], plan, 1)
        elapsed = time.process_time_ns() - begin
        (row,) = pl.read_ipc_stream(stream).rows(named=True)
        return {"misses": row["misses"], "ns": elapsed / self.told["requests"]}

    def one_pass(self, policy, size):
        """One turn for the whole curve, where the policy is of that kind."""
        return self.ours(policy, "0.1%..50%:16", one_pass=True)

    def libcachesim(self, policy, size):
        """One turn of the peer; None if it fails or takes too long."""
        command = [self.peer, str(HERE / "libcachesim_peer.py"), str(self.trace), PEERS[policy], str(self.slots(size))]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
            turn = json.loads(done.stdout.splitlines()[-1])
            return {"misses": turn["misses"], "ns": turn["cpu_ns"] / turn["requests"]}
        except (subprocess.SubprocessError, OSError, ValueError, IndexError) as why:
            print(f"{' '.join(command)}: {getattr(why, 'stderr', None) or why}", file=sys.stderr)
            return None

    def turns(self, policies):
        """All turns: {(contestant, policy, size): [turn of each round]}."""
        cells = [(policy, size) for policy in policies for size in SIZES]
        wanted = [(contestant, *cell) for contestant in (self.ours, self.end_to_end) for cell in cells]
        wanted += [(self.one_pass, "lru", SIZES[-1])] if "lru" in policies else []
        if self.peer:
            wanted += [(self.libcachesim, policy, size) for policy in policies if policy in PEERS for size in SIZES]
        done = {(contestant.__name__, policy, size): [] for contestant, policy, size in wanted}
        for number in range(ROUNDS):
            print(f"\rround {number + 1} of {ROUNDS}", end="", file=sys.stderr, flush=True)
            for contestant, policy, size in random.sample(wanted, len(wanted)):
                done[contestant.__name__, policy, size].append(contestant(policy, size))
        print(file=sys.stderr)
        return done


def row(turns, policy, size, slots):
    """What a policy came to in a cache of that size."""
    ours, whole = turns["ours", policy, size], turns["end_to_end", policy, size]
    peer = turns.get(("libcachesim", policy, size), [])
    if len({turn["misses"] for turn in ours + whole}) != 1:
        sys.exit(f"{policy} {size}: not the same misses every time")
    theirs = [turn for turn in peer if turn]

    def times(own):
        """How many times longer the peer takes, in each round."""
        return summary([other["ns"] / one["ns"] for one, other in zip(own, peer, strict=False) if other])

    return {
        "policy": policy,
        "size": size,
        "slots": slots,
        "misses": ours[0]["misses"],
        "ns": summary([turn["ns"] for turn in ours]),
        "libcachesim_misses": theirs[0]["misses"] if theirs else None,
        "libcachesim_ns": summary([turn["ns"] for turn in theirs]),
        "end_to_end_ns": summary([turn["ns"] for turn in whole]),
        "end_to_end_over_libcachesim": times(whole),
        "core_over_libcachesim": times(ours),
    }


def show(result):
    """Prints it for the eye."""
    print("\n".join(f"{name:14}{value}" for name, value in result["machine"].items()))
    print(f"\n{result['requests']:,} requests for {result['objects']:,} things; ns a request, medians")
    print(f"reading and numbering {result['reading_ns']['median']:.1f}")
    if result["one_pass_ns"]:
        print(f"the whole curve of lru in one pass {result['one_pass_ns']['median']:.1f}")
    head = ("policy", "slots", "core ns", "whole ns", "libCacheSim", "whole ratio", "core ratio", "misses", "theirs")
    print("\n{:10}{:>8}{:>9}{:>10}{:>13}{:>20}{:>20}{:>12}{:>12}".format(*head))

    def spread(ratio):
        return f"{ratio['median']:.2f} ({ratio['low']:.2f}-{ratio['high']:.2f})" if ratio else "-"

    for row in result["rows"]:
        ns, whole, theirs = row["ns"]["median"], row["end_to_end_ns"]["median"], row["libcachesim_ns"]
        peer = f"{theirs['median']:.1f}" if theirs else "-"
        other = f"{row['libcachesim_misses']:,}" if theirs else "-"
        ratios = [spread(row[f"{part}_over_libcachesim"]) for part in ("end_to_end", "core")]
        print(
            f"{row['policy']:10}{row['slots']:>8,}{ns:>9.1f}{whole:>10.1f}{peer:>13}{ratios[0]:>20}{ratios[1]:>20}"
            f"{row['misses']:>12,}{other:>12}"
        )
    if result["machine"]["load_average"][0] > DISTURBED:
        print("\nOther work was running.")


def main():
    """Measures, prints, and writes the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("policies", nargs="*", help="all by default")
    parser.add_argument("--libcachesim", help="a Python that has libCacheSim")
    arguments = parser.parse_args()
    policies = arguments.policies or [info["name"] for info in json.loads(_core.catalogue())["caches"]]
    description = machine()
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "zipf.oracleGeneral"
        write_trace(trace)
        bench = Bench(trace, arguments.libcachesim)
        reading = summary([bench.reading() for _ in range(ROUNDS)])
        turns = bench.turns(policies)
        rows = [row(turns, policy, size, bench.slots(size)) for policy in policies for size in SIZES]
    one_pass = turns.get(("one_pass", "lru", SIZES[-1]), [])
    result = {
        "date": datetime.date.today().isoformat(),
        "quick": QUICK,
        "rounds": ROUNDS,
        "machine": description,
        "engine": _core.version(),
        "requests": bench.told["requests"],
        "objects": bench.told["objects"],
        "reading_ns": reading,
        "one_pass_ns": summary([turn["ns"] for turn in one_pass]),
        "rows": rows,
    }
    show(result)
    path = HERE / "results" / f"caches-{result['date']}{'-quick' if QUICK else ''}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(f"\n{path}")


if __name__ == "__main__":
    main()
