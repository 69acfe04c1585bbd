"""The claims of the report, each checked: a function per id, with underscores for dashes.

A claim that gives a number is judged within a tenth of it, unless its own words give the bounds.
"""

from collections.abc import Mapping

from schedlab.published.reproduction import Finding, ReportRunner
from schedlab.published.rows import Row

SLICES = ["100ms", "50ms", "36ms", "18ms"]
Rows = Mapping[str, Row]

# Intel 80286, protected mode, clocks: an interrupt to an inner ring, PUSHA, four segment pushes; four segment pops, POPA,
# and the return to an outer ring. What the hardware takes to save one process's registers and load another's.
SAVE_AND_RELOAD_CLOCKS = 78 + 17 + 4 * 3 + 4 * 20 + 19 + 55


def _near(value: float, wanted: float, share: float = 0.1) -> bool:
    return abs(value - wanted) <= share * wanted


def bunnell_real_factor(rows: Rows, runner: ReportRunner) -> Finding:
    io = rows["io.loaded.real@100ms"].predicted / rows["io.idle.real@100ms"].predicted
    cpu = rows["cpu.loaded.real@100ms"].predicted / rows["cpu.idle.real@100ms"].predicted
    return Finding.that(
        _near(io, 5.67) and cpu <= 1.23,
        f"loaded over idle real time at 100 ms: I/O job {io:.2f} (published 5.67), CPU job {cpu:.2f} (at most 1.23)",
    )


def bunnell_idle_flat(rows: Rows, runner: ReportRunner) -> Finding:
    spans = {}
    for job in ("io", "cpu"):
        times = [rows[f"{job}.idle.real@{slice}"].predicted for slice in SLICES]
        spans[job] = max(times) - min(times)
    return Finding.that(
        max(spans.values()) <= 1.0,
        f"over quanta of 100 to 18 ms idle real time moves by {spans['io']:.2f} s (I/O job), {spans['cpu']:.2f} s (CPU job)",
    )


def evans_call_cost(rows: Rows, runner: ReportRunner) -> Finding:
    quanta = {"100ms": 100.0, "50ms": 50.0, "36ms": 1000 / 30, "18ms": 1000 / 60}
    calls = 200
    costs = {
        slice: runner.value("call_cost", "tasks.caller.real", "ms", {"scheduler.slice": slice}).mean / calls / quantum
        for slice, quantum in quanta.items()
    }
    said = ", ".join(f"{slice}: {cost:.2f}" for slice, cost in costs.items())
    return Finding.that(
        all(_near(cost, 1.0) for cost in costs.values()), f"quanta per call on a processor without costs: {said}"
    )


def evans_accounting(rows: Rows, runner: ReportRunner) -> Finding:
    user = {slice: rows[f"io.loaded.user@{slice}"].predicted for slice in SLICES}
    true = runner.value("io_loaded", "tasks.io.true_user", cell={"scheduler.slice": "100ms"}).mean
    less = all(rows[f"io.loaded.sys@{s}"].high < rows[f"io.idle.sys@{s}"].low for s in SLICES)
    return Finding.that(
        max(user.values()) < 0.05 and less,
        f"loaded user time of the I/O job at most {max(user.values()):.3f} s (true: {true:.2f} s); loaded sys "
        f"{rows['io.loaded.sys@100ms'].predicted:.1f} s against idle {rows['io.idle.sys@100ms'].predicted:.1f} s, "
        f"{'less at every quantum' if less else 'not less at every quantum'}",
    )


def evans_head_of_queue(rows: Rows, runner: ReportRunner) -> Finding:
    tail, head, idle = (
        rows[row].predicted
        for row in ("ls.loaded.real@100ms", "ls.loaded.real@100ms,ready_at=head", "ls.idle.real@100ms")
    )
    order = {}
    for where in ("tail", "head"):
        first, third = (
            runner.value("order", f"tasks.{job}.real", cell={"scheduler.ready_at": where}).mean
            for job in ("first", "third")
        )
        order[where] = "first in, first out" if first < third else "last in, first out"
    return Finding.that(
        head < 2 * idle and order == {"tail": "first in, first out", "head": "last in, first out"},
        f"ls alongside a hog: {tail:.1f} s with the tail, {head:.2f} s with the head, {idle:.2f} s idle; three processes "
        f"woken by the same tick run {order['tail']} with the tail and {order['head']} with the head",
    )


def evans_16_hogs(rows: Rows, runner: ReportRunner) -> Finding:
    idle = rows["ls.idle.real@100ms"].predicted
    shares = {}
    for user, cost in (("700us", "2ms"), ("1900us", "800us"), ("2300us", "400us")):
        cell = {"workload.ls.user": user, "workload.ls.cost": cost}
        shares[user] = 17 * idle / runner.value("hogs_16", "tasks.ls.real", cell=cell).mean
    likely = shares["700us"]
    verdict = "holds" if 1.0 < likely <= 1.25 else "holds in part" if likely > 1.0 else "does not hold"
    return Finding(
        verdict,
        f"ls gets {likely:.2f}/17 with our 0.7 ms of user time a call, more than 1/17 but "
        f"{'slightly' if likely <= 1.25 else 'not slightly'}; the share depends on how much of a call is user time, which "
        f"no fit row tells: {shares['1900us']:.2f}/17 with 1.9 ms, {shares['2300us']:.2f}/17 with 2.3 ms of 2.7",
    )


def evans_signal_race(rows: Rows, runner: ReportRunner) -> Finding:
    overlapped = {
        where: runner.value("signals", "tasks.family.signals_overlapped", "1", {"scheduler.ready_at": where}).mean
        for where in ("tail", "head")
    }
    return Finding.that(
        overlapped["head"] >= 1 and overlapped["tail"] == 0,
        f"signals that found an earlier one unhandled: {overlapped['head']:.0f} a run with the head, "
        f"{overlapped['tail']:.0f} with the tail (the second child is taken to wait for the first one's signal)",
    )


def evans_quantum_overhead(rows: Rows, runner: ReportRunner) -> Finding:
    user, elapsed = runner.value("overhead", "user"), runner.value("overhead", "elapsed")
    lost = 100 * (1 - user.mean / elapsed.mean)
    reload = 100 * SAVE_AND_RELOAD_CLOCKS / 10_000
    parts = (2 <= lost <= 5, _near(reload, 2, 0.5))
    return Finding(
        "holds" if all(parts) else "holds in part" if any(parts) else "does not hold",
        f"two hogs at 10 MHz with 1 ms quanta lose {lost:.1f} % (claimed: 2 to 5 %) to clock interrupts, the clock task and "
        f"its messages, with the costs assumed for this machine; saving and reloading registers takes "
        f"{SAVE_AND_RELOAD_CLOCKS} clocks by Intel's table, {reload:.1f} % of a quantum (claimed: about 2 %)",
    )


def evans_memory_high_water(rows: Rows, runner: ReportRunner) -> Finding:
    unused, refused = {}, {}
    for sizing in ("declared", "high_water"):
        cell = {"machine.memory.sizing": sizing}
        unused[sizing] = runner.value("memory", "tasks.shell.memory_unused", "KiB", cell).mean
        refused[sizing] = runner.value("memory", "tasks.shell.memory_refused", "1", cell).mean
    rare = refused["high_water"] <= 0.05 * 200
    return Finding(
        "holds" if unused["high_water"] < unused["declared"] and rare else "does not hold",
        f"200 runs of a program that wants 20 to 60 KiB and declares 128: {unused['declared']:.0f} KiB unused a run as "
        f"declared, {unused['high_water']:.0f} KiB by the most ever held; the price is {refused['high_water']:.1f} runs "
        f"that found too little",
    )


def evans_response_17(rows: Rows, runner: ReportRunner) -> Finding:
    claimed = {"100ms": 1.7, "17ms": 0.29}
    found = {
        slice: runner.value("response_17", "tasks.editor.wakeup_latency.mean", cell={"scheduler.slice": slice}).mean
        for slice in claimed
    }
    said = ", ".join(f"{slice}: {found[slice]:.2f} s (claimed {claimed[slice]} s)" for slice in claimed)
    return Finding.that(
        all(_near(found[slice], claimed[slice]) for slice in claimed),
        f"mean wait of the seventeenth process: {said}; hogs run two quanta each, because the clock task rotates only "
        f"when the same process is billed at two quantum ends",
    )
