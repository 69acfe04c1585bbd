"""Our misses beside those of libCacheSim, on the same requests: they must be equal, or the difference be explained.

`cache_exactness.py OURS`, in a Python that has requirements-libcachesim.txt; OURS is the example `misses` of
crates/curves, built for release. Sequences are of a million requests each (`BENCH_QUICK=1`: a tenth), made by numpy's
default generator from the seed 1. In the first part objects have one byte and the cache as many bytes as slots; in the
second they have 1 B to 1 MiB, one request in a hundred asks for another size than before, and the cache has bytes;
there the bytes missed are compared, too. Prints a table: misses, how many more theirs are, and ns per request (ours:
the median over parts; libCacheSim: processor time, with the reading of its trace). Exits 1 if a difference
is not explained.
Without a peer: `two_list` and `mru` are not in the wheel; `random` draws other lots. `lirs` and `two_list` count slots
only.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import libcachesim as peer
import lirs_peer
import numpy as np

QUICK = os.environ.get("BENCH_QUICK", "0") not in ("", "0")
REQUESTS = 100_000 if QUICK else 1_000_000
SLOTS = (100, 1_000, 10_000, 50_000)
#: Of the bytes of all objects.
SHARES = (0.001, 0.01, 0.1, 0.4)
S3_FIFO = {"small_size_ratio": 0.25, "ghost_size_ratio": 0.5, "move_to_main_threshold": 1}
# Ours, its parameters, and how the peer is made.
POLICIES = (
    ("fifo", (), peer.FIFO, {}),
    ("lru", (), peer.LRU, {}),
    ("clock", (), peer.Clock, {}),
    ("clock", ("bits=2",), peer.Clock, {"n_bit_counter": 2}),
    ("sieve", (), peer.Sieve, {}),
    ("s3_fifo", (), peer.S3FIFO, {}),
    ("s3_fifo", ("small=25", "ghost=50", "enough=1"), peer.S3FIFO, S3_FIFO),
    ("two_q", (), peer.TwoQ, {}),
    ("arc", (), peer.ARC, {}),
    ("lfu", (), peer.LFU, {}),
    ("lirs", (), peer.LIRS, {}),
    ("belady", (), peer.Belady, {}),
)


def zipf(draws, keys):
    """Key number i (from 0) is asked for with a probability in proportion to 1 / (i + 1)."""
    weights = np.cumsum(1 / np.arange(1, keys + 1))
    return np.searchsorted(weights / weights[-1], draws.random(REQUESTS)).astype("<u4")


def with_scans(draws):
    """Favourites among 50 000 keys; every 20 000 requests a scan over the next 5 000 of 200 000 others."""
    keys = zipf(draws, 50_000)
    for number, begin in enumerate(range(10_000, REQUESTS - 5_000, 20_000)):
        keys[begin : begin + 5_000] = 50_000 + (number * 5_000 + np.arange(5_000)) % 200_000
    return keys


def with_loop(draws):
    """Every other request goes round a loop of 12 000 keys, the rest to favourites among 30 000 others."""
    keys = zipf(draws, 30_000) + 12_000
    keys[::2] = np.arange(len(keys[::2])) % 12_000
    return keys.astype("<u4")


def sequences():
    """By name."""
    draws = np.random.default_rng(1)
    return {"zipf": zipf(draws, 100_000), "scans": with_scans(draws), "loop": with_loop(draws)}


def sized(keys, draws):
    """Sizes of the requests: 1 B to 1 MiB by object, most small; one request in a hundred has half as much again."""
    sizes = np.exp2(draws.random(int(keys.max()) + 1) ** 2 * 20).astype("<u4")[keys]
    changed = draws.random(len(keys)) < 0.01
    return np.where(changed, sizes + sizes // 2, sizes).astype("<u4")


def write_oracle(keys, path, sizes=1):
    """The peer's format with next uses: time u32, key u64, size u32, number of the next request for the key i64."""
    order = np.lexsort((np.arange(len(keys)), keys))
    again = keys[order][1:] == keys[order][:-1]
    records = np.zeros(len(keys), dtype=[("time", "<u4"), ("key", "<u8"), ("size", "<u4"), ("next", "<i8")])
    records["time"], records["key"], records["size"], records["next"] = 1, keys.astype("u8") + 1, sizes, -1
    records["next"][order[:-1][again]] = order[1:][again] + 1
    records.tofile(path)


@contextlib.contextmanager
def quiet():
    """The peer writes to the standard error of the process."""
    saved, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)


def theirs(make, options, capacity, trace, requests, asked=1):
    """Misses, ns per request, and the bytes missed of those asked for."""
    with quiet():
        reader = peer.TraceReader(str(trace), peer.TraceType.ORACLE_GENERAL_TRACE)
        cache = make(capacity, hashpower=20, **options)
        begun = time.process_time()
        ratio, of_bytes = cache.process_trace(reader)
        took = time.process_time() - begun
    return round(ratio * requests), took / requests * 1e9, round(of_bytes * asked)


def explained(policy, keys, slots, our_misses, their_misses):
    """Why a difference is as it is; empty if nobody knows."""
    if our_misses == their_misses:
        return "equal"
    if policy == "lirs":
        listed = keys.tolist()
        models = [lirs_peer.misses(listed, slots, as_paper) for as_paper in (True, False)]
        if models == [our_misses, their_misses]:
            return "explained: lirs_peer.py"
    return ""


def main(ours):
    """Prints the table; the number of differences that are not explained."""
    unexplained = 0
    print(f"{'sequence':9}{'slots':>7}  {'policy':40}{'ours':>8}{'theirs':>8}{'more':>6}{'ns':>6}{'their ns':>9}")
    with tempfile.TemporaryDirectory() as folder:
        plain, oracle = pathlib.Path(folder, "keys"), pathlib.Path(folder, "keys.oracleGeneral")
        for sequence, keys in sequences().items():
            keys.tofile(plain)
            write_oracle(keys, oracle)
            for slots in SLOTS:
                for policy, parameters, make, options in POLICIES:
                    command = [ours, plain, policy, str(slots), *parameters]
                    ran = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
                    their_misses, their_ns, _ = theirs(make, options, slots, oracle, len(keys))
                    why = explained(policy, keys, slots, ran["misses"], their_misses)
                    unexplained += not why
                    name, more = " ".join((policy, *parameters)), their_misses - ran["misses"]
                    print(
                        f"{sequence:9}{slots:7}  {name:40}{ran['misses']:8}{their_misses:8}{more:6}"
                        f"{ran['ns_per_request']:6.0f}{their_ns:9.0f}  {why or 'NOT EXPLAINED'}",
                        flush=True,
                    )
        unexplained += in_bytes(ours, plain, oracle)
    return unexplained


def in_bytes(ours, plain, oracle):
    """The second part: how many of its rows differ."""
    different = 0
    draws = np.random.default_rng(2)
    print(f"\n{'sequence':9}{'bytes':>12}  {'policy':34}{'ours':>8}{'theirs':>8}{'our bytes':>16}{'theirs':>16}")
    for sequence, keys in sequences().items():
        sizes = sized(keys, draws)
        np.stack([keys, sizes], axis=1).astype("<u4").tofile(plain)
        write_oracle(keys, oracle, sizes)
        asked, footprint = int(sizes.sum(dtype="u8")), int(sizes[np.unique(keys, return_index=True)[1]].sum(dtype="u8"))
        for share in SHARES:
            capacity = int(footprint * share)
            for policy, parameters, make, options in POLICIES:
                if policy == "lirs":
                    continue
                command = [ours, plain, policy, f"{capacity}B", *parameters]
                ran = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
                misses, _, missed = theirs(make, options, capacity, oracle, len(keys), asked)
                same = (ran["misses"], ran["missed_bytes"]) == (misses, missed)
                different += not same
                name = " ".join((policy, *parameters))
                print(
                    f"{sequence:9}{capacity:12}  {name:34}{ran['misses']:8}{misses:8}"
                    f"{ran['missed_bytes']:16}{missed:16}  {'equal' if same else 'DIFFERENT'}",
                    flush=True,
                )
    return different


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1]) else 0)
