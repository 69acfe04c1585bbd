"""What kernels in guests make of the claims of 1990."""

from itertools import pairwise
from math import ceil

from schedlab.published.kernels import KernelRunner
from schedlab.published.reproduction import Finding

TICK_MS = 4
QUANTA = ("100ms", "50ms", "36ms", "18ms", "4ms", "1ms")
#: How many of them are longer than the work of the job between two sleeps.
LONG = 4
TURNS = ("100ms", "18ms", "4ms")
#: The job: how often it sleeps and computes, and the length of each, ms.
TIMES, SLEEP_MS, WORK_MS = 30, 5.0, 4.9
ALONE_MS = TIMES * (SLEEP_MS + WORK_MS)


def _by_quantum(runner: KernelRunner, preemption: str) -> dict[str, float]:
    """The job's time by quantum, ms."""
    return {
        quantum: 1000
        * runner.value(
            "quantum", "tasks.job.real", scheduler__wakeup_preemption=preemption, scheduler__base_slice=quantum
        ).mean
        for quantum in QUANTA
    }


def _spelled(real: dict[str, float]) -> str:
    times = "; ".join(f"{quantum}: {ms / 1000:.3f} s" for quantum, ms in real.items())
    return f"{times}; alone {ALONE_MS / 1000:.3f} s"


def preemption_hides_the_quantum(runner: KernelRunner) -> Finding:
    real = _by_quantum(runner, "true")
    return Finding.that(all(ms <= 2 * ALONE_MS for ms in real.values()), _spelled(real))


def without_it_each_wakeup_waits_a_quantum(runner: KernelRunner) -> Finding:
    real = _by_quantum(runner, "false")
    times = list(real.values())
    falls = all(longer > shorter for longer, shorter in pairwise(times[:LONG]))
    return Finding(
        "holds" if falls and times[0] > 5 * ALONE_MS else "holds in part" if falls else "does not hold", _spelled(real)
    )


def round_robin_waits_a_quantum(runner: KernelRunner) -> Finding:
    waits = {
        quantum: 1000
        * runner.value("round_robin", "tasks.job.wakeup_latency.p50", scheduler__rr_timeslice=quantum).mean
        for quantum in TURNS
    }
    good, parts = [], []
    for quantum, wait in waits.items():
        turn = TICK_MS * ceil(float(quantum.removesuffix("ms")) / TICK_MS)
        good.append(turn - SLEEP_MS - TICK_MS <= wait <= turn + TICK_MS)
        parts.append(f"{quantum}: median wait {wait:.1f} ms (a quantum in ticks is {turn})")
    return Finding("holds" if all(good) else "holds in part" if any(good) else "does not hold", "; ".join(parts))
