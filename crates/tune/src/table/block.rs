//! Tunables of block devices: `NAME@DEVICE`, as in `elevator@vda`.
//!
//! Names and units are those of `Documentation/block/queue-sysfs.rst` and of each elevator's file in block/. A change of
//! elevator discards the old one's numbers: they are remembered and written again.

use crate::entry::{
    Encoding::{Bytes, Chosen, Number, Switch, Time},
    Family::{Elevator, Queue},
    Place::{self, Depth, Iosched},
    Tunable,
};
use schedlab_model::{MICROSECOND, MILLISECOND, SECOND, info::Domain};

const MQ: &[&str] = &["mq-deadline"];
const DEADLINES: &[&str] = &["mq-deadline", "deadline"];
const BFQ: &[&str] = &["bfq"];
const KYBER: &[&str] = &["kyber"];
const CFQ: &[&str] = &["cfq"];
const QUEUES: &[&str] = &["bfq", "cfq"];
const ANTICIPATORY: &[&str] = &["anticipatory"];
/// Linux: INT_MAX ms; we stop at 1000 s, as the simulated elevators do.
const LONG: u64 = 1000 * SECOND;

const fn queue(
    name: &'static str,
    domain: Domain,
    encoding: super::super::entry::Encoding,
    places: &'static [Place],
    meaning: &'static str,
) -> Tunable {
    Tunable::new(name, Queue, domain, encoding, places, meaning)
}

/// A length of time in ms.
const fn time(name: &'static str, places: &'static [Place], meaning: &'static str) -> Tunable {
    Tunable::new(name, Elevator, Domain::Duration { low: 0, high: LONG }, Time(MILLISECOND), places, meaning)
}

const fn count(name: &'static str, low: u64, high: u64, places: &'static [Place], meaning: &'static str) -> Tunable {
    Tunable::new(name, Elevator, Domain::Count { low, high }, Number, places, meaning)
}

/// A number of an elevator that newer kernels do not have.
const fn old(tunable: Tunable, last: &'static str, gone: &'static str) -> Tunable {
    Tunable { kernels: ("2.6", last), gone: Some(gone), ..tunable }
}

const CFQ_GONE: &str = "cfq went with 4.20; bfq is its successor";
const ANTICIPATORY_GONE: &str = "anticipatory went with 2.6.33; cfq, and later bfq, took its idea up";

/// The queue itself.
pub(super) const QUEUE: &[Tunable] = &[
    Tunable {
        coupled: Some("its own numbers, nr_requests and wbt_lat change with it; they come back with the old one"),
        ..queue(
            "elevator",
            Domain::Choice { names: &["none", "mq-deadline", "kyber", "bfq"] },
            Chosen,
            &[Place::Queue("scheduler")],
            "in which order requests go to the device",
        )
    },
    queue(
        "read_ahead",
        Domain::Size { low: 0, high: 1 << 30 },
        Bytes(1024),
        &[Place::Queue("read_ahead_kb")],
        "how far files are read ahead",
    ),
    Tunable {
        coupled: Some("set after the elevator, which resets it; async_depth of mq-deadline follows it"),
        ..queue(
            "nr_requests",
            Domain::Count { low: 4, high: 65_536 },
            Number,
            &[Place::Queue("nr_requests")],
            "requests that the elevator holds at most",
        )
    },
    Tunable {
        coupled: Some("written while the queue has no elevator; a deep device leaves an elevator nothing to sort"),
        ..queue(
            "depth",
            Domain::Count { low: 4, high: 65_536 },
            Number,
            &[Depth],
            "requests that the device itself is given at most",
        )
    },
    queue(
        "nomerges",
        Domain::Count { low: 0, high: 2 },
        Number,
        &[Place::Queue("nomerges")],
        "0 requests are joined, 1 simple cases only, 2 never",
    ),
    queue(
        "rq_affinity",
        Domain::Count { low: 0, high: 2 },
        Number,
        &[Place::Queue("rq_affinity")],
        "where a request is ended: 1 on its group's processors, 2 on its own",
    ),
    Tunable {
        words: &[("default", "-1")],
        coupled: Some("bfq turns it off"),
        ..queue(
            "wbt_lat",
            Domain::Duration { low: 0, high: 10 * SECOND },
            Time(MICROSECOND),
            &[Place::Queue("wbt_lat_usec")],
            "write-back is held back to keep reads within this; 0s is off",
        )
    },
    queue(
        "rotational",
        Domain::Switch,
        Switch,
        &[Place::Queue("rotational")],
        "whether the kernel takes the device for a turning disk",
    ),
    queue(
        "max_request",
        Domain::Size { low: 4096, high: 1 << 30 },
        Bytes(1024),
        &[Place::Queue("max_sectors_kb")],
        "largest request",
    ),
];

/// The numbers of elevators.
pub(super) const ELEVATORS: &[Tunable] = &[
    time("read_expire", &[Iosched(DEADLINES, "read_expire")], "after this long in the queue a read is urgent"),
    time("write_expire", &[Iosched(DEADLINES, "write_expire")], "after this long in the queue a write is urgent"),
    count(
        "writes_starved",
        0,
        1_000_000,
        &[Iosched(DEADLINES, "writes_starved")],
        "batches of reads before a batch of writes",
    ),
    count("fifo_batch", 1, 1_000_000, &[Iosched(DEADLINES, "fifo_batch")], "requests of a batch, at most"),
    Tunable::new(
        "front_merges",
        Elevator,
        Domain::Switch,
        Switch,
        &[Iosched(DEADLINES, "front_merges")],
        "whether requests are joined that touch a queued one at its front",
    ),
    time(
        "prio_aging_expire",
        &[Iosched(MQ, "prio_aging_expire")],
        "after this long a request of lower class is served",
    ),
    count("async_depth", 1, 1_000_000, &[Iosched(MQ, "async_depth")], "writes and background reads that may be queued"),
    Tunable::new(
        "slice_idle",
        Elevator,
        Domain::Duration { low: 0, high: SECOND },
        Time(MICROSECOND),
        &[Iosched(QUEUES, "slice_idle_us")],
        "how long the device is kept idle for a task's next request",
    ),
    Tunable::new(
        "low_latency",
        Elevator,
        Domain::Switch,
        Switch,
        &[Iosched(QUEUES, "low_latency")],
        "whether interactive tasks are found out and preferred",
    ),
    time("timeout_sync", &[Iosched(BFQ, "timeout_sync")], "longest turn of a task's queue"),
    count(
        "max_budget",
        0,
        1 << 24,
        &[Iosched(BFQ, "max_budget")],
        "sectors that a queue may be served in a turn; 0 is found out by itself",
    ),
    Tunable::new(
        "strict_guarantees",
        Elevator,
        Domain::Switch,
        Switch,
        &[Iosched(BFQ, "strict_guarantees")],
        "whether idling is done even where it costs throughput",
    ),
    time("fifo_expire_sync", &[Iosched(QUEUES, "fifo_expire_sync")], "after this long a read is urgent"),
    time("fifo_expire_async", &[Iosched(QUEUES, "fifo_expire_async")], "after this long a write is urgent"),
    Tunable::new(
        "back_seek_max",
        Elevator,
        Domain::Size { low: 0, high: 1 << 30 },
        Bytes(1024),
        &[Iosched(QUEUES, "back_seek_max")],
        "how far back the head may go",
    ),
    count("back_seek_penalty", 1, 1000, &[Iosched(QUEUES, "back_seek_penalty")], "how much longer a way back counts"),
    Tunable::new(
        "read_lat",
        Elevator,
        Domain::Duration { low: MICROSECOND, high: LONG },
        Time(1),
        &[Iosched(KYBER, "read_lat_nsec")],
        "within this time a read shall be answered",
    ),
    Tunable::new(
        "write_lat",
        Elevator,
        Domain::Duration { low: MICROSECOND, high: LONG },
        Time(1),
        &[Iosched(KYBER, "write_lat_nsec")],
        "within this time a write shall be answered",
    ),
    old(time("slice_sync", &[Iosched(CFQ, "slice_sync")], "slice of a task of level 4"), "4.20", CFQ_GONE),
    old(time("slice_async", &[Iosched(CFQ, "slice_async")], "slice of the write-back of level 4"), "4.20", CFQ_GONE),
    old(count("slice_async_rq", 1, 1000, &[Iosched(CFQ, "slice_async_rq")], "writes of a slice"), "4.20", CFQ_GONE),
    old(count("quantum", 1, 1000, &[Iosched(CFQ, "quantum")], "requests of a round"), "4.20", CFQ_GONE),
    old(
        time("antic_expire", &[Iosched(ANTICIPATORY, "antic_expire")], "how long a near read is waited for"),
        "2.6.32",
        ANTICIPATORY_GONE,
    ),
    old(
        time("read_batch_expire", &[Iosched(ANTICIPATORY, "read_batch_expire")], "length of a batch of reads"),
        "2.6.32",
        ANTICIPATORY_GONE,
    ),
    old(
        time("write_batch_expire", &[Iosched(ANTICIPATORY, "write_batch_expire")], "length of a batch of writes"),
        "2.6.32",
        ANTICIPATORY_GONE,
    ),
];
