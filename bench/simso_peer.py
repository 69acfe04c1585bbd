"""The loads of the benchmark in SimSo, as near as it has them: `simso_peer.py LOAD TASKS SWITCHES`.

SimSo has no round robin: the ring is a scheduler of our own on its interface and its timers. It has no sleep either:
the sleepers are periodic tasks of the same mean run and the same utilization under its own EDF for one processor.
Prints one line of JSON: how often a job was put on the processor, and the processor time that took.
"""

import collections
import contextlib
import json
import os
import sys
import time

from simso.configuration import Configuration
from simso.core import Model, Scheduler, Timer

RUN_MS = 0.3
UTILIZATION = 0.9
CYCLES_PER_MS = 1_000_000


class RoundRobin(Scheduler):
    """Turns of 1 ms."""

    def init(self):
        """Starts the slices."""
        self.queue = collections.deque()
        cpu = self.processors[0]
        self.timer = Timer(self.sim, RoundRobin.slice_ended, (self, cpu), 1, one_shot=False, cpu=cpu)
        self.timer.start()

    def on_activate(self, job):
        """Queues a new job."""
        self.queue.append(job)
        if len(self.queue) == 1:
            job.cpu.resched()

    def on_terminated(self, job):
        """Forgets a job."""
        self.queue.remove(job)
        job.cpu.resched()

    def slice_ended(self, cpu):
        """Moves the head to the tail."""
        self.queue.rotate(-1)
        cpu.resched()

    def schedule(self, cpu):
        """Runs the head."""
        return (self.queue[0] if self.queue else None, cpu)


def configuration(load, tasks, switches):
    """A SimSo configuration in which about so many jobs are put on the processor."""
    config = Configuration()
    config.cycles_per_ms = CYCLES_PER_MS
    config.add_processor(name="CPU 1", identifier=1)
    if load == "ring":
        length, period, wcet = switches, 10.0**9, 10.0**9
        config.scheduler_info.clas = RoundRobin
    else:
        length, period, wcet = switches * RUN_MS / UTILIZATION, tasks * RUN_MS / UTILIZATION, RUN_MS
        config.scheduler_info.clas = "simso.schedulers.EDF_mono"
    config.duration = int(length * CYCLES_PER_MS)
    for number in range(tasks):
        start = 0 if load == "ring" else number * RUN_MS / UTILIZATION
        config.add_task(
            name=f"T{number}",
            identifier=number + 1,
            period=period,
            deadline=period,
            wcet=wcet,
            activation_date=start,
            abort_on_miss=False,
        )
    config.check_all()
    return config


def dispatches(model):
    """How often a job got the processor."""
    events = (event for _, event in model.processors[0].monitor)
    return sum(type(event).__name__ == "ProcRunEvent" for event in events)


if __name__ == "__main__":
    # SimSo tells what it does on the standard output.
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        model = Model(configuration(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
        began = time.process_time_ns()
        model.run_model()
        spent = time.process_time_ns() - began
    print(json.dumps({"switches": dispatches(model), "cpu_ns": spent}))
