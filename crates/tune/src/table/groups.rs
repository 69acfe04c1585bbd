//! Tunables of groups of tasks (`NAME@GROUP`), and what the kernel counts.

use crate::entry::{
    Encoding::{Bytes, Number, Switch, Time},
    Family::{Accounting, Group},
    Place::{Group1, Group2, Sysctl},
    Tunable,
};
use schedlab_model::{MICROSECOND, MILLISECOND, SECOND, info::Domain};

/// Groups.
pub(super) const GROUPS: &[Tunable] = &[
    Tunable::new(
        "cpu_shares",
        Group,
        Domain::Count { low: 2, high: 262_144 },
        Number,
        &[Group1("cpu", "cpu.shares")],
        "weight of a version 1 group, 1024 by default",
    ),
    Tunable::new(
        "cpu_weight",
        Group,
        Domain::Count { low: 1, high: 10_000 },
        Number,
        &[Group2("cpu.weight")],
        "weight of a version 2 group, 100 by default",
    ),
    Tunable {
        words: &[("unlimited", "-1")],
        ..Tunable::new(
            "cpu_quota",
            Group,
            Domain::Duration { low: MILLISECOND, high: 1000 * SECOND },
            Time(MICROSECOND),
            &[Group1("cpu", "cpu.cfs_quota_us"), Group2("cpu.max")],
            "time that a group may use of each cpu_period",
        )
    },
    Tunable::new(
        "cpu_period",
        Group,
        Domain::Duration { low: MILLISECOND, high: SECOND },
        Time(MICROSECOND),
        &[Group1("cpu", "cpu.cfs_period_us")],
        "period of cpu_quota",
    ),
    Tunable {
        coupled: Some("what all groups have must fit into rt_runtime"),
        ..Tunable::new(
            "group_rt_runtime",
            Group,
            Domain::Duration { low: 0, high: 1000 * SECOND },
            Time(MICROSECOND),
            &[Group1("cpu", "cpu.rt_runtime_us")],
            "time that real-time tasks of a group may use, with RT_GROUP_SCHED",
        )
    },
    Tunable {
        words: &[("unlimited", "-1")],
        coupled: Some("the page cache of a group is limited with it: this is the size of its cache"),
        ..Tunable::new(
            "memory_limit",
            Group,
            Domain::Size { low: 1 << 20, high: 1 << 46 },
            Bytes(1),
            &[Group1("memory", "memory.limit_in_bytes"), Group2("memory.max")],
            "memory that a group may use, its page cache included",
        )
    },
    Tunable::new(
        "group_swappiness",
        Group,
        Domain::Count { low: 0, high: 200 },
        Number,
        &[Group1("memory", "memory.swappiness")],
        "swappiness of a version 1 group",
    ),
    Tunable::new(
        "io_weight",
        Group,
        Domain::Count { low: 1, high: 1000 },
        Number,
        &[Group1("blkio", "blkio.bfq.weight"), Group2("io.bfq.weight")],
        "weight of a group at the elevator bfq, 100 by default",
    ),
];

/// What is counted.
pub(super) const COUNTS: &[Tunable] = &[
    Tunable {
        kernels: ("5.14", ""),
        ..Tunable::new(
            "delay_accounting",
            Accounting,
            Domain::Switch,
            Switch,
            &[Sysctl("kernel/task_delayacct")],
            "whether each task's waits are counted; for tasks begun after it is on",
        )
    },
    Tunable::new(
        "schedstats",
        Accounting,
        Domain::Switch,
        Switch,
        &[Sysctl("kernel/sched_schedstats")],
        "whether the scheduler's statistics are kept (needs CONFIG_SCHEDSTATS)",
    ),
];
