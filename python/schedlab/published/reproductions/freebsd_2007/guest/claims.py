"""What kernels in guests make of the claims of 2007."""

from math import ceil

from schedlab.published.kernels import KernelRunner
from schedlab.published.reproduction import Finding, set_afterwards

TICK = 0.004
#: Weights of nice levels in Linux (sched_prio_to_weight), from nice -20 on.
WEIGHTS = (
    *(88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121, 2501),
    *(1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15),
)
#: The least favoured level; 20 is clamped to it.
LAST = 19
#: A share measured over this many seconds is uncertain by a slice at each end; the relative error allowed.
RUN_SECONDS, NEAR = 60, 0.02
NEAR_AFTERWARDS = "2 % or two ticks of the run; 0.1 point at first"


@set_afterwards(NEAR_AFTERWARDS)
def ladder_of_11_follows_weights(runner: KernelRunner) -> Finding:
    return _ladder(runner, "ladder_11", 4)


@set_afterwards(NEAR_AFTERWARDS)
def ladder_of_21_follows_weights(runner: KernelRunner) -> Finding:
    return _ladder(runner, "ladder_21", 2)


def _ladder(runner: KernelRunner, file: str, step: int) -> Finding:
    weights = {nice: WEIGHTS[min(nice, LAST) + 20] for nice in range(-20, 21, step)}
    parts, good = [], []
    for nice, weight in weights.items():
        wanted = 100 * weight / sum(weights.values())
        name = f"m{-nice:02}" if nice < 0 else f"p{nice:02}"
        share = runner.value(file, f"tasks.{name}.share").mean
        good.append(abs(share - wanted) <= max(NEAR * wanted, 100 * 2 * TICK / RUN_SECONDS))
        parts.append(f"{nice}: {share:.3f} % ({wanted:.3f})")
    return Finding("holds" if all(good) else "holds in part" if any(good) else "does not hold", "; ".join(parts))


def gap_is_hogs_times_slice(runner: KernelRunner) -> Finding:
    parts, good = [], []
    for hogs, slice in (("1", 3), ("4", 3), ("4", 100), ("16", 3), ("16", 20), ("16", 100), ("20", 100)):
        wanted = int(hogs) * TICK * ceil(max(slice / 1000, TICK) / TICK - 1e-9)
        factors = {"workload__hogs__count": hogs, "scheduler__base_slice": f"{slice}ms"}
        gap = runner.value("q1", "tasks.q1.longest_gap", **factors).mean
        good.append(0.6 * wanted <= gap <= 1.6 * wanted + TICK)
        parts.append(f"{hogs} hogs of {slice} ms: {1000 * gap:.0f} ms ({1000 * wanted:.0f})")
    return Finding("holds" if all(good) else "holds in part" if any(good) else "does not hold", "; ".join(parts))
