"""What a live kernel makes of the desktop of 2007."""

from schedlab.published.kernels import KernelRunner
from schedlab.published.reproduction import Finding

#: Periods of 20 ms in a run of 6 s.
PERIODS = 300


def music_does_not_skip(runner: KernelRunner) -> Finding:
    misses = {
        p: runner.value("desktop", "tasks.music.deadline_misses", workload__build__policy=p) for p in ("other", "batch")
    }
    text = "; ".join(f"beside a build of {p}: {m.mean:.1f} of {PERIODS} missed" for p, m in misses.items())
    return Finding.that(all(m.mean <= 0.01 * PERIODS for m in misses.values()), text)


def batch_build_is_gentler(runner: KernelRunner) -> Finding:
    metric = "tasks.mouse.wakeup_latency.p99"
    other, batch = (runner.value("desktop", metric, workload__build__policy=p) for p in ("other", "batch"))
    text = f"p99 of the mouse's waits: {1000 * other.mean:.2f} ms [{1000 * other.low:.2f} to {1000 * other.high:.2f}] alongside "
    text += f"an ordinary build, {1000 * batch.mean:.2f} ms [{1000 * batch.low:.2f} to {1000 * batch.high:.2f}] alongside a batch one"
    return Finding.that(batch.low <= other.high, text)
