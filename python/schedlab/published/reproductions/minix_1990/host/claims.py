"""What a live kernel makes of the claims of 1990."""

from math import ceil, floor

from schedlab.published.kernels import KernelRunner
from schedlab.published.reproduction import Finding

TICK_MS = 4
SLICES = ("100ms", "36ms", "18ms", "3ms", "0.1ms")
QUANTA = ("100ms", "50ms", "36ms", "18ms", "4ms")
BATCH = ("100ms", "50ms", "36ms", "18ms", "8ms", "4ms")
SHARED, APART = "[0]", "[1]"


def _ms(
    runner: KernelRunner, file: str, metric: str, slice_key: str, slice: str, cpus: str = SHARED, on: str = "host"
) -> float:
    factors = {slice_key: slice, "workload__hog__cpus": cpus}
    return 1000 * runner.value(file, metric, on=on, **factors).mean


def ordinary_slice_no_effect(runner: KernelRunner) -> Finding:
    wait = {s: _ms(runner, "ordinary", "tasks.io.wakeup_latency.p50", "workload__hog__slice", s) for s in SLICES}
    real = {s: _ms(runner, "ordinary", "tasks.io.real", "workload__hog__slice", s) / 1000 for s in SLICES}
    alone = _ms(runner, "ordinary", "tasks.io.real", "workload__hog__slice", "100ms", APART) / 1000
    largest, smallest = max(wait.values()), min(wait.values())
    text = f"median wait {smallest:.3f} to {largest:.3f} ms over slices of 0.1 to 100 ms; the job takes "
    text += f"{min(real.values()):.2f} to {max(real.values()):.2f} s, alone {alone:.2f} s"
    return Finding.that(largest < 0.5, text)


def round_robin_waits_a_quantum(runner: KernelRunner) -> Finding:
    waits = {q: _ms(runner, "round_robin", "tasks.io.wakeup_latency.p50", "scheduler__rr_timeslice", q) for q in QUANTA}
    wanted = {q: TICK_MS * ceil(float(q[:-2]) / TICK_MS) for q in QUANTA}
    near = [abs(waits[q] - wanted[q]) <= max(0.5, 0.05 * wanted[q]) for q in QUANTA]
    text = "; ".join(f"{q}: {waits[q]:.1f} ms (a quantum in ticks is {wanted[q]})" for q in QUANTA)
    return Finding("holds" if all(near) else "holds in part" if any(near) else "does not hold", text)


def batch_waits_a_slice(runner: KernelRunner) -> Finding:
    waits = {s: _ms(runner, "batch", "tasks.io.wakeup_latency.p50", "workload__hog__slice", s) for s in BATCH}
    wanted = {s: TICK_MS * (floor(float(s[:-2]) / TICK_MS) + 1) for s in BATCH}
    near = [abs(waits[s] - wanted[s]) <= TICK_MS for s in BATCH]
    text = "; ".join(f"{s}: {waits[s]:.1f} ms (next tick after the slice: {wanted[s]})" for s in BATCH)
    return Finding("holds" if all(near) else "holds in part" if any(near) else "does not hold", text)


def system_calls_pay_only_their_half(runner: KernelRunner) -> Finding:
    slices = ("100ms", "18ms", "3ms", "0.1ms")
    alone = _ms(runner, "system_calls", "tasks.calls.real", "workload__hog__slice", "100ms", APART)
    times = {s: _ms(runner, "system_calls", "tasks.calls.real", "workload__hog__slice", s) / alone for s in slices}
    text = "; ".join(f"{s}: {ratio:.2f} times" for s, ratio in times.items())
    return Finding.that(all(1.8 < ratio < 2.2 for ratio in times.values()), text)


def system_time_is_sampled(runner: KernelRunner) -> Finding:
    key = "scheduler__rr_timeslice"
    loaded = [_ms(runner, "round_robin", f"tasks.io.{part}", key, "18ms") for part in ("user", "sys")]
    alone = [_ms(runner, "round_robin", f"tasks.io.{part}", key, "100ms", APART) for part in ("user", "sys")]
    text = f"user and system {loaded[0]:.2f} and {loaded[1]:.2f} ms alongside the hog, {alone[0]:.2f} and {alone[1]:.2f} alone"
    shares = [sys / (user + sys) if user + sys else 0.0 for user, sys in (loaded, alone)]
    return Finding.that(shares[0] < shares[1] / 2, text)
