"""What kernels of today make of the claims on nbuf: the live one, and at a tenth of the size those in guests.

The claims are the same everywhere; `SIZES` has what differs by the kind of place.
"""

from dataclasses import dataclass
from itertools import pairwise

from schedlab.published.kernels import KernelRunner
from schedlab.published.reproduction import Finding
from schedlab.targets.names import kind_of

#: What each set's files are, by the path of the swept number.
FILES = "workload__files__steps__0__repeat__steps__0__open__files"
#: All readings but the first, percent: what a cache for all files serves.
ALL_BUT_FIRST = 100 * 2 / 3
#: Points of a percentage that a claim may be missed by: what the cache of folders and inodes takes, and read-ahead.
SLACK = 3.0


@dataclass(frozen=True)
class Sizes:
    """The limits of memory, the sets of files by their number, and how the device's work is known."""

    limits: tuple[str, ...]
    sets: dict[str, str]
    #: Where each request takes the same time: that time, s. Else the kernel's own share of busy time is believed.
    request_seconds: float | None = None


SIZES = {
    "host": Sizes(
        ("24MiB", "128MiB", "256MiB", "384MiB"), {"4": "4 x 75 MB", "100": "100 x 3 MB", "1000": "1000 x 300 KB"}
    ),
    "guest": Sizes(
        ("4MiB", "12MiB", "24MiB", "48MiB"), {"4": "4 x 7.5 MB", "100": "100 x 300 KB", "1000": "1000 x 30 KB"}, 0.001
    ),
}


def _sizes(runner: KernelRunner) -> Sizes:
    return SIZES[kind_of(runner.measured)]


def _curve(runner: KernelRunner, order: str, metric: str, files: str) -> list[float]:
    factors = {FILES: files}
    limits = _sizes(runner).limits
    return [runner.value(order, metric, groups__buffers__memory=limit, **factors).mean for limit in limits]


def _spell(name: str, curve: list[float], digits: int = 0) -> str:
    return f"{name}: {' '.join(f'{value:.{digits}f}' for value in curve)}"


def rcache_rises_with_memory(runner: KernelRunner) -> Finding:
    sizes = _sizes(runner)
    curves = {name: _curve(runner, "random", "rcache", files) for files, name in sizes.sets.items()}
    rises = [a < b for curve in curves.values() for a, b in pairwise(curve)]
    text = "; ".join(_spell(name, curve) for name, curve in curves.items())
    return Finding.that(all(rises), f"rcache in % at {', '.join(sizes.limits)}: {text}")


def order_decides_more_than_memory(runner: KernelRunner) -> Finding:
    sizes = _sizes(runner)
    cliff = {name: _curve(runner, "pass_major", "rcache", files) for files, name in sizes.sets.items()}
    small = _curve(runner, "file_major", "rcache", "1000")
    climbs = all(max(c[:3]) < SLACK and c[3] > ALL_BUT_FIRST - SLACK for c in cliff.values())
    flat = all(abs(value - ALL_BUT_FIRST) < SLACK for value in small)
    spelled = [_spell(f"all files in turn, {name}", curve) for name, curve in cliff.items()]
    spelled.append(_spell(f"each three times, {sizes.sets['1000']}", small))
    text = f"rcache in % at {', '.join(sizes.limits)}: {'; '.join(spelled)}"
    return Finding("holds" if climbs and flat else "holds in part" if climbs or flat else "does not hold", text)


def busy_falls_with_memory(runner: KernelRunner) -> Finding:
    real = _curve(runner, "random", "tasks.files.real", "4")
    busy = _busy(runner, real)
    falls = real[-1] < real[0] and busy[-1] < busy[0]
    limits = ", ".join(_sizes(runner).limits)
    return Finding.that(falls, f"at {limits}: {_spell('real s', real, 2)}; {_spell('device at work s', busy, 2)}")


def _busy(runner: KernelRunner, real: list[float]) -> list[float]:
    """How long the device was at work with four files in no order, s."""
    each = _sizes(runner).request_seconds
    if each is not None:
        return [requests * each for requests in _curve(runner, "random", "disk_requests", "4")]
    return [r * b / 100 for r, b in zip(real, _curve(runner, "random", "disk_busy", "4"), strict=True)]
