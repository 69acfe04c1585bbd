"""Eviction policies over traces of requests: miss ratios by size of the cache.

::

    from schedlab import caches

    trace = caches.read("trace.oracleGeneral.zst")
    curves = caches.curves(trace, "lru,arc", "0.1%..50%:16")
    curves.summary()      # policy, size, slots, n, miss_ratio, low, high

    trace = caches.read("trace.vscsi", bytes=True)
    curves = caches.curves(trace, "lru,arc", "64MiB,1GiB,10%", bytes=True)
    curves.summary()      # policy, size, bytes, n, miss_ratio, low, high, byte_miss_ratio

A cache has room for a number of objects, or for bytes.
"""

import io
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import polars as pl

from schedlab import _core, stats
from schedlab.errors import Stopped
from schedlab.system.interrupt import ctrl_c, until_stopped

#: Sizes that are looked at if none are named.
SIZES = "0.1%,1%,10%"
#: Runs handed over at once, for each thread: enough that none waits long for the others.
RUNS_PER_THREAD = 4


@dataclass(frozen=True)
class Trace:
    """A trace that was read: its keys as numbers from 0, in 32 bits each.

    `sizes` are the bytes of each request, in 64 bits, if they were wanted. `left_out` requests of no size are then left
    out.
    `object_bytes` are those of all objects together, `requested_bytes` of all requests; None if the trace has no sizes.
    """

    path: str
    keys: bytes
    sizes: bytes | None
    format: str
    requests: int
    objects: int
    smallest_bytes: int | None
    largest_bytes: int | None
    object_bytes: int | None
    requested_bytes: int | None
    left_out: int

    @property
    def compulsory_miss_ratio(self) -> float:
        """Each object misses once, however large the cache."""
        return self.objects / self.requests


@dataclass(frozen=True)
class Curves:
    """The runs of some policies over a trace.

    `runs` has a row for each policy and size, and sample if there are any: policy, size, slots, group, requests,
    misses, miss_ratio. `samples` is their number. Where the cache counts bytes, `bytes` replaces slots, and
    missed_bytes and byte_miss_ratio follow.
    """

    trace: Trace
    runs: pl.DataFrame
    sample: float | None
    samples: int | None

    def summary(self) -> pl.DataFrame:
        """A row for each policy and size: the miss ratio and the bounds of its 95 % interval, null if exact."""
        of_bytes = {"byte_miss_ratio": pl.col("byte_miss_ratio").first()} if self.room == "bytes" else {}
        table = self.runs.group_by("policy", "size", self.room, maintain_order=True).agg(
            n=pl.len().cast(pl.Int64),
            mean=pl.col("miss_ratio").mean(),
            deviation=pl.col("miss_ratio").std(),
            **of_bytes,
        )
        both = table.select(pl.col("deviation").fill_null(float("nan")), "n").iter_rows()
        half = pl.Series([stats.half_width(*one) for one in both], dtype=pl.Float64).fill_nan(None)
        # A ratio is between 0 and 1 whatever a sample says.
        bounds = {"miss_ratio": pl.col("mean"), "low": pl.col("mean") - half, "high": pl.col("mean") + half}
        return table.select(
            "policy",
            "size",
            self.room,
            "n",
            **{name: value.clip(0, 1) for name, value in bounds.items()},
            **{name: pl.col(name) for name in of_bytes},
        )

    @property
    def room(self) -> str:
        """What a cache has room for: "slots" or "bytes", which is also the name of the column."""
        return "bytes" if "bytes" in self.runs.columns else "slots"

    @property
    def policies(self) -> list[str]:
        """As requested."""
        return self.runs["policy"].unique(maintain_order=True).to_list()

    @property
    def sizes(self) -> list[tuple[str, int]]:
        """As requested, and the number of slots or bytes that each is."""
        return self.runs.select("size", self.room).unique(maintain_order=True).rows()

    @property
    def notes(self) -> list[str]:
        """What one should know before believing the numbers."""
        notes = []
        trace = self.trace
        if self.room == "bytes":
            notes.append(
                "an object that is too large for the cache, or for the policy's part for new ones, never comes in"
            )
            if trace.left_out:
                notes.append(f"{trace.left_out:,} requests of no size are left out")
        elif trace.smallest_bytes != trace.largest_bytes:
            notes.append(
                f"the objects have {trace.smallest_bytes:,} to {trace.largest_bytes:,} bytes, and the cache counts "
                "objects; with --bytes, or sizes such as 64MiB, it counts bytes"
            )
        if self.sample:
            notes.append(
                f"mean ± half of the 95 % interval over {self.samples} samples, each {self.sample:.4g} of the objects; "
                "it covers the choice of objects, not that a small cache may behave unlike a large one; "
                "without --sample the whole trace is run"
            )
        return notes


def read(
    path: str | Path,
    format: str | None = None,
    columns: str | None = None,
    operations: Sequence[str] = (),
    first: int | None = None,
    bytes: bool = False,
) -> Trace:
    """Read and number a trace. Its format is recognised by its first records if not given, or `SchedlabError` raised.

    Only requests with one of the `operations` count, if any are named, and of these only the `first`. With `bytes` the
    size of each request is kept, for caches of bytes. Ctrl-C raises `Stopped`.
    """
    wanted = {"format": format, "columns": columns, "operations": list(operations), "first": first, "bytes": bytes}
    try:
        with ctrl_c() as stop:
            keys, sizes, about = until_stopped(stop, _core.read_requests, str(path), json.dumps(wanted))
    except KeyboardInterrupt:
        raise Stopped("stopped while the trace was being read; nothing was written") from None
    return Trace(str(path), keys, sizes, **json.loads(about))


def check(policies: str, sizes: str, sample: float | None = None, seed: int = 0, bytes: bool = False) -> dict[str, Any]:
    """Check what `curves` takes, before a long trace is read.

    Gives the `policies` one by one, the number of `samples`, and whether the caches count `bytes`.
    """
    return json.loads(_core.cache_plan(_plan(policies, sizes, sample, seed, bytes)))


def curves(
    trace: Trace,
    policies: str = "all",
    sizes: str = SIZES,
    sample: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    bytes: bool = False,
) -> Curves:
    """Run policies in caches of some sizes over a trace.

    Write `policies` as "lru,arc", or "all", or with parameters "s3_fifo:name=value"; `sizes` as "1000", "1%", several
    with commas, or "0.1%..50%:16"; with a unit ("64MiB") or with `bytes` they are bytes, for which the trace must have
    been read with `bytes`. A `sample` of 0.01 runs several hundredths of the objects instead of all of them, and the
    summary then has intervals. `progress` is called with (policies done, all). Ctrl-C raises `Stopped`.
    """
    checked = check(policies, sizes, sample, seed, bytes)
    threads = threads or os.cpu_count() or 1
    wanted, report = checked["policies"], progress or (lambda done, total: None)
    at_once = ceil(RUNS_PER_THREAD * threads / (checked["sizes"] * (checked["samples"] or 1)))
    tables, done = [], 0
    try:
        with ctrl_c() as stop:
            report(0, len(wanted))
            for place in range(0, len(wanted), at_once):
                chunk = wanted[place : place + at_once]
                plan = _plan(",".join(chunk), sizes, sample, seed, bytes)
                of_bytes = (trace.sizes, trace.object_bytes) if checked["bytes"] else ()
                given = (trace.keys, trace.objects, plan, threads, *of_bytes)
                stream = until_stopped(stop, _core.cache_curves, *given)
                tables.append(pl.read_ipc_stream(io.BytesIO(stream)))
                done += len(chunk)
                report(done, len(wanted))
    except KeyboardInterrupt:
        raise Stopped(f"stopped after {done} of {len(wanted)} policies; nothing was written") from None
    return Curves(trace, pl.concat(tables), sample, checked["samples"])


def _plan(policies: str, sizes: str, sample: float | None, seed: int, bytes: bool) -> str:
    return json.dumps({"policies": policies, "sizes": sizes, "sample": sample, "seed": seed, "bytes": bytes})
