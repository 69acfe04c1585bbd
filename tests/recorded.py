"""A recording explained by other means: a script over the text of `perf script`, and `perf sched timehist`.

The script follows the definitions of docs/traces.md by itself, and shares nothing with the engine. It repairs nothing:
a task at a place where a switch is missing is named in `broken`, and its numbers are not compared.
"""

import math
import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field

LINE = re.compile(
    r"^.{16} +(?P<tid>-?\d+) +\[(?P<cpu>\d+)\] +(?P<s>\d+)\.(?P<ns>\d{9}): +(?:sched:)?(?P<event>\w+): (?P<rest>.*)$"
)
SWITCH = re.compile(
    r"prev_comm=(.*) prev_pid=(\d+) prev_prio=\d+ prev_state=(\S+) ==> next_comm=(.*) next_pid=(\d+) next_prio=\d+"
)
PID = re.compile(r"comm=(.*) pid=(\d+) prio=")
CHILD = re.compile(r"child_comm=(.*) child_pid=(\d+)")
TIMEHIST = re.compile(r"^ *(\d+\.\d{6}) \[(\d+)\] +(.*?) +(\d+\.\d{3}) +(\d+\.\d{3}) +(\d+\.\d{3}) *$")


@dataclass
class Followed:
    """A task, ns."""

    state: str = "unseen"
    since: int = 0
    woken_running: bool = False
    slept: int = 0
    runs: list = field(default_factory=list)
    latencies: list = field(default_factory=list)
    preempt_waits: list = field(default_factory=list)
    blocked: int = 0
    #: Whether `perf sched timehist` counts latencies otherwise: it was new, or woken while it ran or was runnable.
    otherwise: bool = False
    switches: int = 0


class Script:
    """What the text of `perf script --ns` says."""

    def __init__(self, file):
        self.tasks = defaultdict(Followed)
        self.broken = set()
        self.breaks = 0
        self.current = {}
        self.first = self.last = None
        self.events = 0
        asked = ["perf", "script", "--ns", "-i", file]
        text = subprocess.run(asked, capture_output=True, text=True, errors="replace", check=True).stdout
        for line in text.splitlines():
            if found := LINE.match(line):
                self.take(found)
        # What is asleep after a waking was asleep until then.
        for task in self.tasks.values():
            task.blocked += task.slept

    def take(self, found):
        now = int(found["s"]) * 10**9 + int(found["ns"])
        self.first = now if self.first is None else self.first
        self.last = now
        self.events += 1
        match found["event"]:
            case "sched_switch":
                _, prev, state, _, next_ = SWITCH.match(found["rest"]).groups()
                self.switch(now, found["cpu"], int(prev), state, int(next_))
            case "sched_waking":
                self.waking(now, int(PID.match(found["rest"])[2]))
            case "sched_wakeup_new":
                task = self.tasks[int(PID.match(found["rest"])[2])]
                task.state, task.since, task.otherwise = "new", now, True

    def switch(self, now, cpu, prev, state, next_):
        here = self.current.get(cpu)
        if here is not None and here != prev:
            self.breaks += 1
            self.broken |= {here, prev}
        if here is None and prev and self.tasks[prev].switches and self.tasks[prev].state != "running":
            # It left a processor before and has another one now, whose first switch was dropped.
            self.broken.add(prev)
        if prev:
            self.leaves(self.tasks[prev], now, state)
        if next_:
            task = self.tasks[next_]
            if task.state == "running":
                self.broken.add(next_)
            self.comes(task, now)
        self.current[cpu] = next_

    def leaves(self, task, now, state):
        if task.state == "running":
            task.runs.append(now - task.since)
        elif task.state == "woken":
            # It ran before the recording began, and was woken while it did.
            task.woken_running = True
        task.switches += 1
        task.since, task.slept = now, 0
        if state.startswith("R"):
            task.state, task.woken_running = "preempted", False
        elif state[0] in "XZ":
            task.state = "dead"
        else:
            task.state = "blocked"

    def comes(self, task, now):
        wait = now - task.since
        if task.state == "woken" or (task.state == "blocked" and task.woken_running):
            task.latencies.append(wait)
            task.blocked += task.slept
        elif task.state == "blocked":
            task.blocked += wait
        elif task.state == "preempted":
            task.preempt_waits.append(wait)
        task.state, task.since, task.woken_running, task.slept = "running", now, False, 0

    def waking(self, now, pid):
        task = self.tasks[pid]
        match task.state:
            case "running":
                task.woken_running = task.otherwise = True
            case "blocked":
                task.state, task.slept, task.since = "woken", now - task.since, now
            case "unseen" | "dead":
                task.state, task.since = "woken", now
            case _:
                task.otherwise = True


def rank(values, share):
    """The least value that this share of the values does not exceed."""
    return sorted(values)[max(0, math.ceil(round(len(values) * share, 9)) - 1)]


def timehist(file):
    """Runs and scheduling delays by tid, in the microseconds that `perf sched timehist` prints."""
    asked = ["perf", "sched", "timehist", "-i", file]
    text = subprocess.run(asked, capture_output=True, text=True, errors="replace", check=True).stdout
    runs, delays = defaultdict(list), defaultdict(list)
    for line in text.splitlines():
        if not (found := TIMEHIST.match(line)) or found[3].strip() == "<idle>":
            continue
        # A long name is cut, and its number with it.
        if not (named := re.search(r"\[(\d+)(?:/\d+)?\]$", found[3].strip())):
            continue
        tid = int(named[1])
        runs[tid].append(microseconds(found[6]))
        delays[tid].append(microseconds(found[5]))
    return runs, delays


def microseconds(text):
    """A time in ms, as perf prints it, in whole microseconds."""
    whole, part = text.split(".")
    return int(whole) * 1000 + int(part)
