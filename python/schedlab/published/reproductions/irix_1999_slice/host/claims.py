"""What a live kernel makes of slice_size."""

from schedlab.published.kernels import KernelRunner
from schedlab.published.reproduction import Finding
from schedlab.stats import Interval

SLICES = ("0.1ms", "5ms", "10ms", "30ms", "100ms")


def _user(runner: KernelRunner, copies: str, slice: str) -> Interval:
    return runner.value("slices", "tasks.copies.user", workload__copies__count=copies, workload__copies__slice=slice)


def _spell(user: dict[str, Interval]) -> str:
    return "; ".join(f"{slice}: {u.mean:.3f} s [{u.low:.3f} to {u.high:.3f}]" for slice, u in user.items())


def user_time_falls_with_the_slice(runner: KernelRunner) -> Finding:
    user = {slice: _user(runner, "20", slice) for slice in SLICES}
    return Finding.that(user["0.1ms"].low > user["100ms"].high, f"20 copies: {_spell(user)}")


def one_copy_does_not_care(runner: KernelRunner) -> Finding:
    user = {slice: _user(runner, "1", slice) for slice in SLICES}
    overlap = max(u.low for u in user.values()) <= min(u.high for u in user.values())
    return Finding.that(overlap, _spell(user))
