//! Tunables of the processor's schedulers.
//!
//! Ranges are those of the kernel where it checks, and else what cannot lock the machine up. Linux moved the numbers of the
//! ordinary scheduler from `/proc/sys/kernel/sched_*` to debugfs in 5.13 and renamed or dropped some with EEVDF in 6.6.

use crate::entry::{
    Encoding::{Chosen, Flag, Named, Number, Switch, Time},
    Family::{RealTime, Scheduler},
    Place::{Debug, Sysctl, Task},
    Tunable,
};
use schedlab_model::{MICROSECOND, MILLISECOND, SECOND, info::Domain};

/// Linux: 0.1 ms to 1 s for the granularities (kernel/sched/debug.c); the same.
const GRAIN: Domain = Domain::Duration { low: 100 * MICROSECOND, high: SECOND };
/// Linux: `sched_setattr` clamps to 0.1 ms to 100 ms (kernel/sched/fair.c); the same.
const SLICE: Domain = Domain::Duration { low: 100 * MICROSECOND, high: 100 * MILLISECOND };

/// A flag of the features, in debugfs since 5.13 as `sched/features`, before as `sched_features`.
const fn feature(
    name: &'static str,
    flag: &'static str,
    kernels: (&'static str, &'static str),
    meaning: &'static str,
) -> Tunable {
    const PLACES: &[crate::entry::Place] = &[Debug("sched/features"), Debug("sched_features")];
    Tunable { kernels, ..Tunable::new(name, Scheduler, Domain::Switch, Flag(flag), PLACES, meaning) }
}

/// Ordinary tasks.
pub(super) const ORDINARY: &[Tunable] = &[
    Tunable {
        kernels: ("6.12", ""),
        coupled: Some("what is shorter than a tick of the clock acts as one tick, unless the kernel has HRTICK on"),
        ..Tunable::new(
            "slice",
            Scheduler,
            SLICE,
            Time(1),
            &[Task],
            "slice that a task asks for: sched_setattr, runtime",
        )
    },
    Tunable {
        kernels: ("6.6", ""),
        also: Some("min_granularity"),
        coupled: Some("the file holds the value already scaled by the number of processors (tunable_scaling)"),
        ..Tunable::new(
            "base_slice",
            Scheduler,
            GRAIN,
            Time(1),
            &[Debug("sched/base_slice_ns")],
            "slice of tasks that ask for none",
        )
    },
    Tunable {
        kernels: ("2.6.23", "6.5"),
        also: Some("base_slice"),
        ..Tunable::new(
            "min_granularity",
            Scheduler,
            GRAIN,
            Time(1),
            &[Debug("sched/min_granularity_ns"), Sysctl("kernel/sched_min_granularity_ns")],
            "shortest turn of CFS; since 6.6 base_slice",
        )
    },
    Tunable {
        kernels: ("2.6.23", "6.5"),
        gone: Some("EEVDF (6.6) has no period in which all run; a task's wait follows from base_slice and slice"),
        ..Tunable::new(
            "latency",
            Scheduler,
            GRAIN,
            Time(1),
            &[Debug("sched/latency_ns"), Sysctl("kernel/sched_latency_ns")],
            "period of CFS in which all ready tasks run once",
        )
    },
    Tunable {
        kernels: ("2.6.23", "6.5"),
        gone: Some("EEVDF (6.6) preempts by deadline; run_to_parity and wakeup_preemption govern it now"),
        ..Tunable::new(
            "wakeup_granularity",
            Scheduler,
            Domain::Duration { low: 0, high: SECOND },
            Time(1),
            &[Debug("sched/wakeup_granularity_ns"), Sysctl("kernel/sched_wakeup_granularity_ns")],
            "how far a woken task must be behind to take the processor under CFS",
        )
    },
    Tunable::new(
        "autogroup",
        Scheduler,
        Domain::Switch,
        Switch,
        &[Sysctl("kernel/sched_autogroup_enabled")],
        "whether each session is a group: then nice acts only within a session",
    ),
    Tunable::new(
        "migration_cost",
        Scheduler,
        Domain::Duration { low: 0, high: SECOND },
        Time(1),
        &[Debug("sched/migration_cost_ns"), Sysctl("kernel/sched_migration_cost_ns")],
        "a task that ran less than this ago is left where its cache is",
    ),
    Tunable::new(
        "nr_migrate",
        Scheduler,
        Domain::Count { low: 1, high: 1024 },
        Number,
        &[Debug("sched/nr_migrate"), Sysctl("kernel/sched_nr_migrate")],
        "tasks moved in one step of load balancing",
    ),
    Tunable::new(
        "tunable_scaling",
        Scheduler,
        Domain::Choice { names: &["none", "logarithmic", "linear"] },
        Named(&[("none", "0"), ("logarithmic", "1"), ("linear", "2")]),
        &[Debug("sched/tunable_scaling"), Sysctl("kernel/sched_tunable_scaling")],
        "how base_slice grows with the processors",
    ),
    Tunable {
        kernels: ("5.12", ""),
        ..Tunable::new(
            "preempt",
            Scheduler,
            Domain::Choice { names: &["none", "voluntary", "full", "lazy"] },
            Chosen,
            &[Debug("sched/preempt"), Debug("sched_preempt")],
            "preemption model of the kernel (PREEMPT_DYNAMIC)",
        )
    },
    Tunable::new(
        "cfs_bandwidth_slice",
        Scheduler,
        Domain::Duration { low: MICROSECOND, high: SECOND },
        Time(MICROSECOND),
        &[Sysctl("kernel/sched_cfs_bandwidth_slice_us")],
        "part of a group's quota that a processor takes at a time",
    ),
    Tunable::new(
        "child_runs_first",
        Scheduler,
        Domain::Switch,
        Switch,
        &[Sysctl("kernel/sched_child_runs_first")],
        "whether a new child runs before its parent (until 6.6)",
    ),
    feature("wakeup_preemption", "WAKEUP_PREEMPTION", ("2.6.28", ""), "whether a woken task may preempt"),
    feature("run_to_parity", "RUN_TO_PARITY", ("6.6", ""), "whether the running task is protected for a slice"),
    feature("place_lag", "PLACE_LAG", ("6.6", ""), "whether a task keeps its lag over a sleep"),
    feature(
        "preempt_short",
        "PREEMPT_SHORT",
        ("6.12", ""),
        "whether a shorter slice ends the running task's protection",
    ),
    feature("delay_dequeue", "DELAY_DEQUEUE", ("6.12", ""), "whether a sleeper stays queued until its lag is gone"),
    feature("next_buddy", "NEXT_BUDDY", ("2.6.23", ""), "whether a task that preempts at a wakeup is preferred next"),
    feature("last_buddy", "LAST_BUDDY", ("2.6.28", "6.5"), "whether a task preempted by a wakeup is preferred next"),
    feature(
        "gentle_sleepers",
        "GENTLE_FAIR_SLEEPERS",
        ("2.6.32", "6.5"),
        "whether a sleeper is placed half a period back",
    ),
    feature("start_debit", "START_DEBIT", ("2.6.23", "6.5"), "whether a new task begins a turn behind"),
    feature("hrtick", "HRTICK", ("2.6.25", ""), "whether a slice ends by a timer of its own and not at a tick"),
    Tunable::new(
        "rr_interval",
        Scheduler,
        Domain::Duration { low: MILLISECOND, high: SECOND },
        Time(MILLISECOND),
        &[Sysctl("kernel/rr_interval")],
        "slice of MuQSS and BFS, in kernels patched with them",
    ),
    Tunable::new(
        "interactive",
        Scheduler,
        Domain::Switch,
        Switch,
        &[Sysctl("kernel/interactive")],
        "whether MuQSS looks at all processors for the earliest deadline",
    ),
    Tunable::new(
        "yield_type",
        Scheduler,
        Domain::Count { low: 0, high: 2 },
        Number,
        &[Sysctl("kernel/yield_type")],
        "what sched_yield does under MuQSS: 0 nothing, 1 to better ones only, 2 end of the slice",
    ),
];

/// Real-time tasks.
pub(super) const REAL_TIME: &[Tunable] = &[
    Tunable {
        coupled: Some("rounded up to ticks of the clock; reads back as written"),
        ..Tunable::new(
            "rr_slice",
            RealTime,
            Domain::Duration { low: MILLISECOND, high: 10 * SECOND },
            Time(MILLISECOND),
            &[Sysctl("kernel/sched_rr_timeslice_ms")],
            "slice of SCHED_RR tasks",
        )
    },
    Tunable {
        words: &[("unlimited", "-1")],
        coupled: Some(
            "at most rt_period; with RT_GROUP_SCHED at least what the groups' budgets (cpu.rt_runtime_us) add up to",
        ),
        ..Tunable::new(
            "rt_runtime",
            RealTime,
            Domain::Duration { low: 0, high: 1000 * SECOND },
            Time(MICROSECOND),
            &[Sysctl("kernel/sched_rt_runtime_us")],
            "time that real-time tasks may use of each rt_period",
        )
    },
    Tunable {
        coupled: Some("at least rt_runtime; with RT_GROUP_SCHED long enough for the groups' budgets"),
        ..Tunable::new(
            "rt_period",
            RealTime,
            Domain::Duration { low: MICROSECOND, high: 1000 * SECOND },
            Time(MICROSECOND),
            &[Sysctl("kernel/sched_rt_period_us")],
            "period in which the time of real-time tasks is counted",
        )
    },
    Tunable::new(
        "deadline_period_max",
        RealTime,
        Domain::Duration { low: 100 * MICROSECOND, high: 4294 * SECOND },
        Time(MICROSECOND),
        &[Sysctl("kernel/sched_deadline_period_max_us")],
        "longest period that a SCHED_DEADLINE task may ask for",
    ),
    Tunable::new(
        "deadline_period_min",
        RealTime,
        Domain::Duration { low: MICROSECOND, high: 4294 * SECOND },
        Time(MICROSECOND),
        &[Sysctl("kernel/sched_deadline_period_min_us")],
        "shortest period that a SCHED_DEADLINE task may ask for",
    ),
];
