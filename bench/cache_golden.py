"""The misses of libCacheSim that a test of ours must give: writes crates/curves/tests/libcachesim.toml.

`cache_golden.py`, in a Python that has requirements-libcachesim.txt. The sequences are made with whole numbers only, so
that the test makes the same ones: a million requests each, objects of one byte, as many bytes as slots; then one
of them with sizes, in caches of bytes: misses, and the bytes that they asked for.
"""

import bisect
import itertools
import pathlib
import tempfile

import cache_exactness
import libcachesim as peer
import numpy as np

REQUESTS = 1_000_000
SLOTS = (100, 1_000, 10_000)
BYTES = (1 << 20, 1 << 24, 1 << 28)
POLICIES = {
    "fifo": peer.FIFO,
    "lru": peer.LRU,
    "clock": peer.Clock,
    "arc": peer.ARC,
    "s3_fifo": peer.S3FIFO,
    "sieve": peer.Sieve,
    "two_q": peer.TwoQ,
    "lfu": peer.LFU,
    "belady": peer.Belady,
}
MASK = (1 << 64) - 1


def splitmix(state):
    """Numbers of 64 bits (S. Vigna's splitmix64)."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


def zipf(keys, seed):
    """Key number i (from 0) is drawn with the weight 2^32 / (i + 1), rounded down."""
    sums = list(itertools.accumulate((1 << 32) // (i + 1) for i in range(keys)))
    return (bisect.bisect_right(sums, number % sums[-1]) for number in splitmix(seed))


def sizes(keys):
    """1 B to 1 MiB by key, most of them small; every hundredth request has half as much again."""
    of_key = {key: 1 + (mixed >> 44 >> (mixed & 15)) for key in set(keys) for mixed in [next(splitmix(key))]}
    return [of_key[key] * (3 if number % 100 == 99 else 2) // 2 for number, key in enumerate(keys)]


def sequences():
    """Favourites; and favourites that a scan over others interrupts every 20 000 requests for 5 000."""
    plain = list(itertools.islice(zipf(100_000, 1), REQUESTS))
    scans = list(itertools.islice(zipf(50_000, 2), REQUESTS))
    for number, begin in enumerate(range(10_000, REQUESTS - 5_000, 20_000)):
        scans[begin : begin + 5_000] = [50_000 + (number * 5_000 + n) % 200_000 for n in range(5_000)]
    return {"zipf": plain, "scans": scans}


def main():
    """Write the table."""
    into = pathlib.Path(__file__).parent.parent / "crates/curves/tests/libcachesim.toml"
    lines = ["# Misses of libCacheSim 0.3.5 in a million requests, written by bench/cache_golden.py."]
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder, "keys.oracleGeneral")
        for name, keys in sequences().items():
            cache_exactness.write_oracle(np.array(keys, dtype="<u4"), trace)
            lines.append(f"\n[{name}]")
            for policy, make in POLICIES.items():
                misses = [cache_exactness.theirs(make, {}, slots, trace, REQUESTS)[0] for slots in SLOTS]
                lines.append(f"{policy} = {misses}")
        keys = sequences()["scans"]
        asked = np.array(sizes(keys), dtype="<u4")
        cache_exactness.write_oracle(np.array(keys, dtype="<u4"), trace, asked)
        lines.append("\n[bytes]")
        for policy, make in POLICIES.items():
            total = int(asked.sum(dtype="u8"))
            found = [cache_exactness.theirs(make, {}, bytes_, trace, REQUESTS, total) for bytes_ in BYTES]
            lines.append(f"{policy} = {[[misses, missed] for misses, _, missed in found]}")
    into.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
