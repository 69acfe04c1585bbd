"""What calls cost: the values of machines/guest.toml and of the machine `host`, measured on small loads of their own.

    python bench/calls.py [--kernels 6.1]            # a table by kernel, and the lines of the machine
    python bench/calls.py --judge [--kernels 6.1]    # other loads, simulated and in the guests
    python bench/calls.py --host                     # the same values on this host, the median of five; needs root

A guest counts instructions, so each load runs once. Processor time is read off recordings of the scheduler's events:

    per pass  =  (time of the job's turns on the processor  -  turns x context_switch)  /  passes

    send      one message into a pipe, for which nobody waits
    receive   one message out of a pipe that has it
    wake      a message for a task that waits and does not preempt: the sender's time, less its sleep and `send`
    block     the receiver's time of the same, less `receive`
    futex     two tasks of which one waits for the other's lock once a pass: half of what is left without the sleeps, a
              wakeup and a wait
    fork      the parent's time of a fork, whose child has ended before the next
    wait      the same with a wait for the child, less `fork`
    manage    half of a signal, its handler and the next pause, without a wakeup and a wait
    open      four fifths of opening and closing a file; `close` the rest
    exit      the last turn of a child that has slept, less half a sleep, which is on its other side. The waiting parent's
              wakeup is in it
    start     all turns of that child, less a sleep and `exit`
    (exec)    on a host only, where tasks can run commands: all turns of a shell that does nothing, less `start` and `exit`.
              The simulated step is the choice of a processor alone: no machine has this value

Each value is without the trap, which is the cheapest call there is (getppid, as the agent's calibration counts it). The
loads of --judge have no part in any value.
"""

import argparse
import io
import statistics
import tempfile
from pathlib import Path

import polars as pl

from schedlab import _core
from schedlab.experiment import Experiment
from schedlab.targets.guest.target import Guest
from schedlab.targets import agent
from schedlab.targets.simulator import Simulator

KERNELS = "6.1"
#: Of the machine `guest`: what a recording shows at the begin of each turn.
SWITCH = 18.0
#: Of the machine `host`.
HOST_SWITCH = 1.0
HOST = "host"
#: The fields of a machine's `calls` that are measured, and so are in both machines.
FIELDS = ("fork", "start", "exit", "wait", "sleep", "send", "receive", "wake", "block", "futex", "manage") + (
    "read",
    "write",
    "open",
    "close",
    "fault",
)
TURNS_ON_HOST = 5
PASSES = 200
COMMANDS = 50
#: As the model numbers the reasons for leaving a processor.
EXITED = 4


def repeat(times, *steps):
    """A loop."""
    return [{"repeat": {"times": times, "steps": list(steps)}}]


def job(*steps, **more):
    """A job of these steps."""
    return {"steps": list(steps), **more}


#: Loads that the values are measured on.
CALIBRATION = {
    "sleep": {"a": job(*repeat(PASSES, {"sleep": "2ms"}))},
    "send": {"a": job(*repeat(PASSES, {"send": "p"}), {"receive": "p"})},
    "own_pipe": {"a": job(*repeat(PASSES, {"send": "p"}, {"receive": "p"}))},
    "wakeup": {
        "a": job(*repeat(PASSES, {"send": "p"}, {"sleep": "2ms"})),
        "b": job(*repeat(PASSES, {"receive": "p"}), policy="batch"),
    },
    "futex": {
        "a": job(*repeat(PASSES, {"lock": "x"}, {"sleep": "2ms"}, {"unlock": "x"}, {"sleep": "2ms"})),
        "b": job({"sleep": "1ms"}, *repeat(PASSES, {"lock": "x"}, {"unlock": "x"}, {"sleep": "3ms"})),
    },
    "signal": {
        "a": job({"fork": repeat(PASSES, "pause")}, {"sleep": "5ms"}, *repeat(PASSES, "signal", {"sleep": "2ms"}))
    },
    "fork": {"a": job(*repeat(PASSES, {"fork": [{"sleep": "0ns"}]}, {"sleep": "6ms"}))},
    "fork_wait": {"a": job(*repeat(PASSES, {"fork": [{"sleep": "0ns"}]}, {"sleep": "6ms"}, "wait"))},
    "child": {"a": job(*repeat(PASSES, {"fork": [{"sleep": "5ms"}]}, "wait"))},
    "read": {"a": job(*repeat(20, {"open": {"files": 1, "size": "400KiB"}}, *repeat(100, {"read": "4KiB"}), "close"))},
    "write": {
        "a": job(*repeat(20, {"create": {"files": 1, "size": "400KiB"}}, *repeat(100, {"write": "4KiB"}), "close"))
    },
    "open": {"a": job(*repeat(PASSES, {"open": {"files": 1, "size": "4KiB"}}, "close"))},
    "touch": {"a": job({"touch": {"size": "8MiB", "write": True, "compute": "0ns"}})},
}

#: What only a host can do.
ON_HOST = {"command": {"a": job(*repeat(COMMANDS, {"run": ":"}))}}

#: And others, on which they are judged: metric by load.
JUDGED = {
    "forks_with_work": ("tasks.a.real", {"a": job(*repeat(100, {"fork": [{"compute": "1ms"}]}, "wait"))}, None),
    "build": (
        "tasks.a.share",
        {"a": job(*repeat(50, {"fork": [{"compute": "3ms"}]}, {"compute": "1ms"}, "wait"), passes="forever"),
         "hog": {"load": "spin", "compute": "100s"}},
        "3s",
    ),
    "arrivals": (
        "tasks.a.share",
        {"a": job({"compute": "25ms"}, count=40, gap="70ms"), "hog": {"load": "spin", "compute": "100s"}},
        "3s",
    ),
    "pipeline": (
        "tasks.b.passes",
        {"a": job({"compute": "200us"}, {"send": "p"}, passes="forever"),
         "b": job({"receive": "p"}, {"compute": "300us"}, {"send": "q"}, passes="forever"),
         "c": job({"receive": "q"}, {"compute": "100us"}, passes="forever", nice=-5)},
        "2s",
    ),
    "nice_pipe": (
        "context_switches",
        {"a": job(*repeat(20, {"send": "p"}), {"compute": "1ms"}, passes="forever", nice=10),
         "b": job({"receive": "p"}, {"compute": "20us"}, passes="forever")},
        "2s",
    ),
    "shared_lock": (
        "tasks.a.passes",
        {"a": job({"lock": "x"}, {"compute": "300us"}, {"unlock": "x"}, {"sleep": "500us"}, passes="forever", count=3)},
        "2s",
    ),
}  # fmt: skip


def experiment(workload, duration=None, machine="host"):
    """The workload on a guest's machine, under its scheduler."""
    whole = {"machine": machine, "scheduler": {"name": "cfs", "autogroup": False}, "workload": workload, "seeds": 1}
    return Experiment.from_dict(whole | ({"duration": duration} if duration else {}), "calls")


def turns(kernel, workload, folder):
    """The turns of the jobs' tasks in a guest or on the host, and how long each lasted without its switch, us."""
    path = Path(folder) / "recording"
    if kernel == HOST:
        record_on_host(workload, path)
    else:
        guest = Guest(kernel, of_host=True, trace="required")
        (cell,) = guest.cells(experiment(workload).cells())
        guest.record(cell, 1, path)
    table = pl.read_ipc_stream(io.BytesIO(_core.turns(str(path)))).filter(pl.col("job").is_not_null())
    length = (pl.col("end_ns").cast(pl.Int64) - pl.col("begin_ns").cast(pl.Int64)) / 1000
    return table.with_columns(us=length - (HOST_SWITCH if kernel == HOST else SWITCH))


def time_of(table):
    """Time of these turns, us."""
    return table["us"].sum()


def of_parent(table):
    """That of the task which was there first."""
    return time_of(table.filter(pl.col("task") == table["task"].min()))


def of_job(table, name):
    """The turns of a job."""
    return table.filter(pl.col("job") == name)


def record_on_host(workload, path):
    """Run it on one processor of the live host, recorded."""
    machine = {"preset": HOST, "processors": 1}
    (cell,) = experiment(workload, machine=machine).cells()
    options = {
        "trace": "required",
        "recording": str(path),
        "scratch": str(path.parent),
        "journal": str(path.parent / "j"),
    }
    plan = {"scenario": cell.scenario, "seed": 1, "calibration": agent.ask(["calibrate"]), "options": options}
    agent.ask(["run"], plan)


def measured(kernel):
    """The values of a kernel, us, by the names of the machine's fields."""
    own_clock = agent.ask(["calibrate"]) if kernel == HOST else Guest(kernel, of_host=True).machine.calibration()
    trap = 1e6 / own_clock["calls_per_second"]
    with tempfile.TemporaryDirectory() as folder:
        loads = CALIBRATION | (ON_HOST if kernel == HOST else {})
        of = {name: turns(kernel, workload, folder) for name, workload in loads.items()}
    sleep = time_of(of["sleep"]) / PASSES
    send = time_of(of["send"]) / PASSES
    receive = time_of(of["own_pipe"]) / PASSES - send
    wake = time_of(of_job(of["wakeup"], "a")) / PASSES - sleep - send
    block = time_of(of_job(of["wakeup"], "b")) / PASSES - receive
    futex = (time_of(of["futex"]) / PASSES - 3 * sleep - wake - block) / 2
    fork = of_parent(of["fork"]) / PASSES - sleep
    wait = (of_parent(of["fork_wait"]) - of_parent(of["fork"])) / PASSES
    child = of["child"].filter(pl.col("task") != of["child"]["task"].min())
    last = statistics.median(child.filter(pl.col("left") == EXITED)["us"])
    exit_ = last - sleep / 2
    start = time_of(child) / PASSES - sleep - exit_
    # The job's fork is the least part of it.
    manage = (time_of(of["signal"]) / PASSES - sleep - wake - block) / 2 - (fork + start + exit_) / PASSES / 2
    files = {"read": time_of(of["read"]) / 2000, "write": time_of(of["write"]) / 2000}
    open_ = time_of(of["open"]) / PASSES
    files |= {"open": 0.8 * open_, "close": 0.2 * open_, "fault": time_of(of["touch"]) / 2048}
    values = {"fork": fork, "start": start, "exit": exit_, "wait": wait, "sleep": sleep}
    values |= {"send": send, "receive": receive, "futex": futex, "manage": manage, **files}
    calls = {name: value - (trap if name != "start" else 0) for name, value in values.items()}
    more, exec_ = {"wake": wake, "block": block}, {}
    if kernel == HOST:
        shell = of["command"].filter(pl.col("task") != of["command"]["task"].min())
        exec_ = {"(exec)": time_of(shell) / COMMANDS - start - exit_}
    return {"trap": trap, **{name: (calls | more)[name] for name in FIELDS}, **exec_}


def judge(kernel):
    """Each load of --judge in the guest and simulated."""
    for name, (metric, workload, duration) in JUDGED.items():
        real, simulated = experiment(workload, duration), experiment(workload, duration, "guest")
        values = []
        for place, wanted in ((Guest(kernel, of_host=True), real), (Simulator(1), simulated)):
            frame = next(iter(place.runs([(place.cells(wanted.cells())[0], 1)], Path(tempfile.mkdtemp()), NEVER)))[1]
            values.append(frame.filter(pl.col("metric") == metric)["value"][0])
        print(f"{kernel:6} {name:16} {metric:18} guest {values[0]:12.5g}  simulated {values[1]:12.5g}", flush=True)


class Never:
    """Nobody stops it."""

    def is_set(self):
        """No."""
        return False

    def wait(self, timeout=None):
        """For nothing."""
        return False


NEVER = Never()


def main():
    """Measure, or judge."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kernels", default=KERNELS)
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--host", action="store_true")
    arguments = parser.parse_args()
    if arguments.host:
        rounds = [measured(HOST) for _ in range(TURNS_ON_HOST)]
        for name in rounds[0]:
            each = sorted(values[name] for values in rounds)
            print(f"  {name:26} {statistics.median(each):8.2f} us  ({each[0]:.2f} to {each[-1]:.2f})", flush=True)
        return
    for kernel in arguments.kernels.split(","):
        if arguments.judge:
            judge(kernel)
            continue
        print(kernel)
        for name, us in measured(kernel).items():
            print(f"  {name:26} {us:8.1f} us", flush=True)


if __name__ == "__main__":
    main()
