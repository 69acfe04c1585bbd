//! A small catalogue for the tests of experiment files: two schedulers, two loads, two machines, five metrics.

use schedlab_model::{
    experiment::Catalogue,
    info::{Domain, Info, MetricInfo, Parameter, Promise, Scope},
};

const MILLISECOND: u64 = 1_000_000;

const SLICE: Parameter = Parameter {
    name: "slice",
    meaning: "Longest time on the processor in one go.",
    domain: Domain::Duration { low: MILLISECOND, high: 10_000 * MILLISECOND },
    default: Some("100ms"),
    logarithmic: true,
    grows: false,
    host: None,
};

const fn info(name: &'static str, summary: &'static str, parameters: &'static [Parameter]) -> Info {
    Info { name, summary, year: 1987, origin: "a test", promises: &[], parameters, source: "" }
}

const ELEVATORS: &[Info] = &[info("fifo", "First come, first served.", &[]), info("c_look", "One way round.", &[])];
const CACHES: &[Info] = &[
    info("lru", "The least recently used goes.", &[]),
    info("two_list", "The last inactive one goes.", &[]),
    Info { promises: &[Promise::Clairvoyant], ..info("belady", "The object that is requested last is evicted.", &[]) },
];
const RECLAIMS: &[Info] =
    &[info("two_list", "Active and inactive pages.", &[]), info("by_age", "The oldest page goes.", &[])];

const SCHEDULERS: &[Info] = &[
    info("round_robin", "Everyone in turn.", &[SLICE]),
    info(
        "minix",
        "Three queues by strict priority.",
        &[
            SLICE,
            Parameter {
                name: "ready_at",
                meaning: "Where a user task joins its queue.",
                domain: Domain::Choice { names: &["tail", "head"] },
                default: Some("tail"),
                logarithmic: false,
                grows: false,
                host: None,
            },
        ],
    ),
];

const WORKLOADS: &[Info] = &[
    info(
        "spin",
        "Computes and does nothing else.",
        &[Parameter {
            name: "compute",
            meaning: "Processor time of one pass.",
            domain: Domain::Duration { low: 1, high: 3_600_000 * MILLISECOND },
            default: Some("1s"),
            logarithmic: true,
            grows: false,
            host: None,
        }],
    ),
    info(
        "read_files",
        "Reads files, one after the other.",
        &[
            Parameter {
                name: "files",
                meaning: "How many files.",
                domain: Domain::Count { low: 1, high: 100_000 },
                default: None,
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "size",
                meaning: "Size of each file.",
                domain: Domain::Size { low: 0, high: 1 << 30 },
                default: Some("4KiB"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "sorted",
                meaning: "Whether in the order of the directory.",
                domain: Domain::Switch,
                default: Some("false"),
                logarithmic: false,
                grows: false,
                host: None,
            },
            Parameter {
                name: "rate",
                meaning: "Files per second.",
                domain: Domain::Rate { low: 0.1, high: 1e6 },
                default: Some("1000/s"),
                logarithmic: true,
                grows: false,
                host: None,
            },
        ],
    ),
];

const AT_286: &str = r#"
name = "at_286"
title = "A small computer of 1987"
processors = 1
personality = "message_passing"
accounting = "sampled"
[clock]
hz = { value = "60/s", source = "clock.c" }
[costs]
trap = { value = "100us", source = "fitted" }
[disk]
rotation = "3600/min"
cylinders = 615
heads = 4
sectors = 17
interleave = 3
seek_track = "8ms"
seek_full = "150ms"
command = "1ms"
sector_copy = "500us"
"#;

/// A machine on which only computing takes time.
const IDEAL: &str = "name = \"ideal\"\nprocessors = 4\n";

/// A drive.
const QUICK: &str = r#"name = "quick"
title = "A drive of the tests."
[solid_state]
size = "1GiB"
read = "50us"
write = "100us"
page = "4KiB"
channels = 4
queue_depth = 8
"#;

const fn metric(name: &'static str, unit: &'static str, scope: Scope, distribution: bool) -> MetricInfo {
    MetricInfo { name, unit, meaning: "A metric of the tests.", scope, distribution }
}

const METRICS: &[MetricInfo] = &[
    metric("context_switches", "1", Scope::System, false),
    metric("wakeup_latency", "s", Scope::System, true),
    metric("wakeup_latency", "s", Scope::Task, true),
    metric("real", "s", Scope::Task, false),
    metric("user", "s", Scope::Task, false),
    metric("load1", "1", Scope::System, false),
    metric("load1", "1", Scope::Nice, false),
    metric("niceness", "1", Scope::Nice, false),
];

/// All of it.
pub const CATALOGUE: Catalogue<'static> = Catalogue {
    schedulers: SCHEDULERS,
    elevators: ELEVATORS,
    caches: CACHES,
    reclaims: RECLAIMS,
    workloads: WORKLOADS,
    machines: &[("at_286", AT_286), ("ideal", IDEAL)],
    drives: &[("quick", QUICK)],
    metrics: METRICS,
    host_scheduler: "ideal",
};

/// A file with some of everything, and nothing wrong.
#[allow(dead_code, reason = "a file of tests may need the catalogue alone")]
pub const GOOD: &str = r#"question = "Which slice keeps an interactive job quick next to a hog?"
machine = "at_286"
metrics = ["tasks.io.real", "tasks.*.wakeup_latency.max", "wakeup_latency.p99", "context_switches", "nice.*.load1"]
seeds = 30

[scheduler]
name = "minix"
slice = "50ms"

[workload]
io = { load = "read_files", files = 700, size = "4KiB" }
hog = { load = "spin", compute = "30s", start = { exp = "10ms" } }

[workload.shell]
count = 3
passes = "forever"
group = "users"
gap = { uniform = ["1ms", "5ms"] }
steps = [
    { open = { files = 4, size = "10KiB" } },
    { repeat = { times = 5, steps = [{ read = "1KiB" }, { compute = "2ms" }] } },
    "close",
    { lock = "screen" },
    { print = "80B" },
    { unlock = "screen" },
    { fork = [{ compute = { exp = "3ms" } }, { send = "done" }] },
    { receive = "done" },
    "wait",
    { sleep = "1s" },
]

[groups]
users = { weight = 512 }

[sweep]
"scheduler.slice" = ["100ms", "50ms", "36ms", "18ms"]
[sweep.zip]
"workload.hog.nice" = [0, 5]
"workload.io.files" = [700, 100]

[goal]
minimize = ["tasks.io.real", "tasks.hog.real"]
"#;
