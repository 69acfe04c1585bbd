"""What a live kernel makes of the claims of 2007."""

from math import ceil

from schedlab.published.kernels import KernelRunner
from schedlab.published.reproduction import Finding

TICK = 0.004
#: Weights of nice levels in Linux (sched_prio_to_weight); 20 is clamped to 19.
WEIGHTS = {-20: 88761, -16: 36291, -12: 14949, -8: 6100, -4: 2501, 0: 1024, 4: 423, 8: 172, 12: 70, 16: 29, 20: 15}
#: A share is uncertain by a slice at each end of the run: as a fraction of the duration.
RUN_SECONDS = 15


def ladder_follows_weights(runner: KernelRunner) -> Finding:
    total = sum(WEIGHTS.values())
    parts, good = [], []
    for nice, weight in WEIGHTS.items():
        name = f"m{-nice:02d}" if nice < 0 else f"p{nice:02d}"
        wanted = 100 * weight / total
        share = runner.value("ladder_11", f"tasks.{name}.share").mean
        # The share of the whole machine, of which the ladder has one processor.
        share *= _processors(runner)
        good.append(abs(share - wanted) <= max(0.02 * wanted, 100 * 2 * TICK / RUN_SECONDS))
        parts.append(f"{nice}: {share:.3f} % ({wanted:.3f})")
    return Finding("holds" if all(good) else "holds in part" if any(good) else "does not hold", "; ".join(parts))


def _processors(runner: KernelRunner) -> int:
    machine = runner.run("ladder_11").manifest["machines"][0]["processors"]
    return machine["value"] if isinstance(machine, dict) else machine


def autogroup_hides_nice(runner: KernelRunner) -> Finding:
    share = {}
    for on in ("true", "false"):
        both = [
            runner.value("sessions", f"tasks.{job}.share", scheduler__autogroup=on).mean
            for job in ("favoured", "niced")
        ]
        share[on] = 100 * both[1] / sum(both)
    text = f"nice 19 gets {share['true']:.1f} % alongside nice 0 with autogroup, {share['false']:.1f} % without"
    return Finding.that(share["true"] > 45 and share["false"] < 5, text)


def gap_is_hogs_times_slice(runner: KernelRunner) -> Finding:
    parts, good = [], []
    for hogs, slice in (("1", 3), ("4", 3), ("4", 100), ("16", 3), ("16", 20), ("16", 100), ("20", 100)):
        wanted = int(hogs) * TICK * ceil(max(slice / 1000, TICK) / TICK - 1e-9)
        factors = {"workload__hogs__count": hogs, "workload__hogs__slice": f"{slice}ms"}
        gap = runner.value("q1", "tasks.q1.longest_gap", **factors).mean
        good.append(0.6 * wanted <= gap <= 1.6 * wanted + TICK)
        parts.append(f"{hogs} hogs of {slice} ms: {1000 * gap:.0f} ms ({1000 * wanted:.0f})")
    return Finding("holds" if all(good) else "holds in part" if any(good) else "does not hold", "; ".join(parts))


def weights_are_shares(runner: KernelRunner) -> Finding:
    parts, good = [], []
    for weight in ("1024", "4096"):
        heavy, light = (
            runner.value("weights", f"tasks.{j}.share", groups__heavy__weight=weight).mean for j in ("heavy", "light")
        )
        wanted = int(weight) / 512
        good.append(abs(heavy / light / wanted - 1) < 0.03)
        parts.append(f"{weight}:512 is {heavy / light:.3f} ({wanted:g})")
    return Finding.that(all(good), "; ".join(parts))
