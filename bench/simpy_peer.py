"""The loads of the benchmark in SimPy, as one writes them there: `simpy_peer.py LOAD TASKS SWITCHES`.

Prints one line of JSON: the context switches and the processor time they took.
"""

import json
import random
import sys
import time

import simpy

SLICE = 1_000_000
RUN = (100_000, 500_000)
BETWEEN_STARTS = sum(RUN) // 2 * 10 // 9


class Books:
    """What a run counts."""

    def __init__(self):
        """Nothing so far."""
        self.switches = 0
        self.waits = []


def turn(env, cpu, books):
    """Runs for one slice, again and again."""
    while True:
        ready = env.now
        with cpu.request() as request:
            yield request
            books.waits.append(env.now - ready)
            yield env.timeout(SLICE)
        books.switches += 1


def sleeper(env, cpu, books, start, sleep):
    """Runs a little, sleeps a little, again and again."""
    yield env.timeout(start)
    while True:
        ready = env.now
        with cpu.request() as request:
            yield request
            books.waits.append(env.now - ready)
            yield env.timeout(random.randint(*RUN))
        books.switches += 1
        yield env.timeout(random.randint(*sleep))


def run(load, tasks, switches):
    """Simulates about so many switches and returns the books."""
    env = simpy.Environment()
    cpu = simpy.Resource(env)
    books = Books()
    mean = tasks * BETWEEN_STARTS - sum(RUN) // 2
    for number in range(tasks):
        if load == "ring":
            env.process(turn(env, cpu, books))
        else:
            start = number * BETWEEN_STARTS
            env.process(sleeper(env, cpu, books, start, (mean // 2, mean + mean // 2)))
    if load == "ring":
        env.run(until=switches * SLICE + 1)
    else:
        env.run(until=switches * BETWEEN_STARTS + tasks * BETWEEN_STARTS // 2)
    return books


if __name__ == "__main__":
    random.seed(1)
    began = time.process_time_ns()
    done = run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    print(json.dumps({"switches": done.switches, "cpu_ns": time.process_time_ns() - began}))
