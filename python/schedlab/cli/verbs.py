"""The verbs: the module of each, and what it does. The help of all verbs comes from here and imports none of them.

A verb's summary is the first paragraph of its documentation; a test compares them.
"""

SUMMARIES = {
    "new": "Write a commented experiment file: by five questions, or by options.",
    "lint": "Check experiment files without running them, and name what may mislead.",
    "run": "Run an experiment file and print means with 95 % intervals; what was run before is not run again.",
    "compare": "Compare results with others, pair by pair: what differs, what is the same, and how many more "
    "repeats would tell.",
    "tune": "Search for the best settings: what to set, what it is worth and costs, how far each field may move.",
    "matrix": "Run every scheduler on a standard set of loads: fairness, latency, switches, throughput, "
    "missed deadlines.",
    "cache": "Run eviction policies over a trace of requests: miss ratios by size of the cache, in "
    "objects or in bytes.",
    "trace": "Explain a recording of a kernel: run time, wakeup latency, waits and their causes, by task and "
    "processor.",
    "whatif": "Predict what other settings would have done to the tasks of a recording, with intervals.",
    "list": "List what there is: schedulers, elevators, eviction policies, workloads, machines, metrics, and more.",
    "describe": "Show the page of a scheduler, elevator, eviction policy, workload, machine, metric, step "
    "or reproduction.",
    "reproduce": "Rebuild published results: claim, published, predicted with its 95 % interval, error, verdict.",
    "report": "Write one HTML page about a result: verdict first, then tables, pictures and method; no network needed.",
    "lab": "Write one HTML page that holds the simulator and runs an experiment in the browser; no network needed.",
    "serve": "Open the lab from a server on this computer: results, recordings, runs on the host and in guests.",
    "schema": "Print the JSON Schema of experiment files, or write it to a file for your editor.",
    "parity": "Run every scenario of the suite on the simulator and on this host, or in guests, and report "
    "where they agree.",
    "judge": "Run every setting in random order while a person works at this machine, and ask for a score after each.",
    "unseal": "Record the verdict on a blind experiment, then reveal which setting each letter was.",
    "watch": "Watch processors, memory, drives, pressure and tasks of this host; or time a command and "
    "report the means.",
    "time": "Run a command and say where its time went: user, system, waiting for processor, disk and memory, asleep.",
    "diagnose": "Watch this host and name the resource that is short, the evidence, and who uses it up.",
    "record": "Record what the kernel does, for other verbs, trace-cmd and KernelShark: switches, wakeups, interrupts, "
    "timers.",
    "attend": "Keep attention levels: nice values, slices and groups of programs by where the focus is and what they "
    "use.",
    "advise": "Find what this host is short of, try settings that could matter, and say which to set, or to leave it.",
    "memory": "Record the largest memory of each program, suggest limits with a chosen share of breaches, and prove "
    "them by replay. Every verb has --json.",
    "guest": "Real kernels on an emulated machine that counts instructions: schedlab run FILE --on guest:6.1. "
    "guest:6.1@2 has two processors and is noisy; with guest:6.1@2-counted they take turns. Every verb has --json.",
    "host": "Report what this host permits; try settings and restore them, or make them stay. Every verb has --json.",
    "completion": "Print a completion script for a shell: bash, zsh or fish.",
    "man": "Print the manual page of a verb, or write all pages into a folder.",
}
#: Verbs with verbs of their own.
GROUPS = ("guest", "host", "memory")
#: Python has names of its own for these.
_MODULES = {"list": "list_", "time": "time_"}

ABOUT = "A lab for operating-system performance: describe an experiment in a file, get a table with 95 % intervals."
EXAMPLE = "schedlab run examples/quantum.toml --set scheduler.slice=36ms"


def module(verb: str) -> str:
    """The name of the module that a verb is in."""
    return f"schedlab.cli.{_MODULES.get(verb, verb)}"
