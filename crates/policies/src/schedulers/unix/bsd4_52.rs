//! # bsd4_52
//!
//! Promises what `bsd4` does, and in addition round robin among equals: every interrupt sends the running task to the tail
//! of its list.
//!
//! ## The idea
//!
//!     One queue of 64 lists, four priorities to a list; usage that ticks raise and every second lowers makes the
//!     priority; a task that slept runs at once, by a priority of the kernel, until it returns to its own code: all as
//!     in `bsd4`.
//!     An interrupt's handler is a thread that preempts at once. The task that it interrupts is queued again as any task
//!     that yields: at the tail of its list.
//!     So the quantum need do nothing on its own processor: the timer that ends it is an interrupt. Other processors are
//!     requested to switch. Every other interrupt ends a slice as well.
//!     A task that is woken by another one never preempts inside the kernel, not even from the idle class.
//!
//! ## The formula
//!
//!     slices per second <=  1 / q  +  1  +  i
//!
//! q the quantum, one slice for the pass over all tasks, i interrupts per second other than the clock's own: among hogs in the
//! same list each of them is a switch. Priorities are those of `bsd4` at 128 ticks of the statistics clock a second.
//!
//! ## A schedule
//!
//! Two hogs that only the quantum rotates, until another device interrupts:
//!
//! ```toml
//! machine = "uniform"
//! scheduler = { name = "bsd4_52" }
//! workload.a = { load = "spin", compute = "600ms" }
//! workload.b = { load = "spin", compute = "600ms" }
//! workload.sleeper = { load = "sleeper", run = "10ms", sleep = "40ms", rounds = 8, start = "600ms" }
//! ```
//!
//! ```text
//!            0ms       200ms     400ms     600ms     800ms     1000ms    1200ms
//!            |         |         |         |         |         |         |
//! a#0        .....#####..###.....#####..........#######......####.....#######
//! b#1        #####.....##...#####.....##########........####......####
//! sleeper#2                                .....  #    #    #    #
//! idle 0
//!            a column is 20ms
//!            # running  . ready
//! ```
//!
//! ## Cost
//!
//! Enqueue and pick: constant. The pass once a second: constant for each task that there is, awake or not.
//!
//! ## Good for, not for
//!
//! As `bsd4`. Equal hogs run smoothly on a machine with many interrupts, which make them round robin; on one with few they
//! wait for whole quanta.
//!
//! ## Departures
//!
//! As `bsd4` in the weights, the clocks, interrupt threads and what sleeps give. And:
//!
//! - **The parent is charged when the child ends**, as the kernel does since 2003; whether 5.2 did or still at wait is not
//!   known. It matters only where a parent delays its wait.
//! - **Usage is not scaled by the number of processors**, as it was from the end of 2003 on; with several, every
//!   processor's ticks feed it and it saturates sooner.
//! - **Inside the kernel** an interrupt preempts the task and queues it at the tail of its list, by the priority that it
//!   has there; otherwise a task is preempted as the machine's `preemption` says; the original's is `none`.
//!
//! ## References
//!
//! - FreeBSD 5.1 to 5.2: sys/kern/sched_4bsd.c (`roundrobin`, `sched_clock`, `schedcpu`, `maybe_resched`), kern_intr.c
//!   (`ithread_schedule`), kern_switch.c.
//! - B. Evans, cvs-all, 1-2 October 2007: interrupts that switch and queue at the tail make loads round robin.

use super::{
    bsd::{Bsd, Due, Rules},
    bsd4,
};
use crate::schedulers::{
    Balance, Clocks, Context, Dequeue, Enqueue, Features, Pick, Preempt, Scheduler, Ticks, kit::priority_lists::End,
};
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    info::{Domain, Info, Parameter, Params, Promise, Reach},
    task::{CpuId, Task, TaskId},
    topology::Topology,
};

/// One queue for all, by what was used; interrupts rotate it.
#[derive(Debug)]
pub struct Bsd452 {
    bsd: Bsd<64>,
    /// For each processor, whether its task is preempted by an interrupt thread, not on its return to its own code.
    interrupted: Vec<bool>,
    /// The interrupt thread that makes the pass is about to run.
    pass_due: bool,
}

impl Bsd452 {
    /// What `ps -l` shows of a task: its usage, and the priority that it has in its own code.
    pub fn usage(&self, task: TaskId) -> (u32, u16) {
        self.bsd.usage(task)
    }

    /// An interrupt thread runs: the task that it interrupts is queued again.
    fn interrupt(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        if cx.processors[usize::from(cpu)].running.is_some() {
            self.interrupted[usize::from(cpu)] = true;
            cx.resched_at_once(cpu);
        }
    }
}

impl Scheduler for Bsd452 {
    const INFO: Info = Info {
        name: "bsd4_52",
        summary: "as bsd4, but an interrupt sends the running task to the tail of its list; FreeBSD 5.2",
        year: 2003,
        origin: "FreeBSD 5.2, autumn 2003",
        promises: &[Promise::WorkConserving(Reach::Unbound)],
        parameters: &[
            Parameter {
                name: "quantum",
                meaning: "kern.quantum, cut to whole clock ticks",
                domain: Domain::Duration { low: MILLISECOND, high: 10 * SECOND },
                default: Some("100ms"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "weights",
                meaning: "what nice does: shift the priority (stock), or weight usage by 2 ** (nice / 4) (evans)",
                domain: Domain::Choice { names: &["stock", "evans"] },
                default: Some("stock"),
                logarithmic: false,
                grows: false,
                host: None,
            },
            Parameter {
                name: "hz",
                meaning: "clock ticks",
                domain: Domain::Rate { low: 10.0, high: 10_000.0 },
                default: Some("100/s"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "stathz",
                meaning: "ticks of the statistics clock",
                domain: Domain::Rate { low: 1.0, high: 10_000.0 },
                default: Some("128/s"),
                logarithmic: true,
                grows: false,
                host: None,
            },
        ],
        source: schedlab_model::documentation!("bsd4_52.rs"),
    };
    const FEATURES: Features = Features {
        stat_ticks: true,
        interrupts: true,
        user_returns: true,
        passes_ticks: true,
        passes_idle_ticks: true,
        ..Features::NONE
    };

    fn clocks(params: &Params, _: Clocks) -> Clocks {
        Clocks { hz: params.real("hz"), stat_hz: Some(params.real("stathz")) }
    }

    fn new(params: &Params, topology: &Topology, tick: Nanos) -> Self {
        let processors = topology.processors();
        let rules = Rules {
            estimator: bsd4::estimator(1, params.name("weights") == "evans"),
            follows: (160, 255),
            realtime: (128, 1),
            idle: bsd4::IDLE,
            asleep: bsd4::asleep,
            asleep_in_any_class: true,
            ran_is_awake: true,
        };
        // A tick is 1/hz rounded to a nanosecond, hence the tolerance.
        let quantum = ((params.whole("quantum") + 1_000) / tick).max(1) * tick;
        Bsd452 {
            bsd: Bsd::new(rules, processors, Some(quantum)),
            interrupted: vec![false; processors.into()],
            pass_due: false,
        }
    }

    fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, _: Enqueue) -> CpuId {
        self.bsd.queue.place(cx, task)
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        match why {
            Enqueue::New | Enqueue::Wakeup => self.bsd.arrive(cx, cpu, task),
            Enqueue::Migrate => self.bsd.move_in(cx, cpu, task),
            Enqueue::Yield | Enqueue::Preempted | Enqueue::SliceEnd => {
                let interrupted = std::mem::take(&mut self.interrupted[usize::from(cpu)]);
                if why != Enqueue::Yield && !interrupted {
                    self.bsd.return_to_user(task);
                }
                self.bsd.put(cx, cpu, task, End::Tail);
            }
        }
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>, _: CpuId, task: TaskId, why: Dequeue) {
        self.bsd.leave(cx, task, why);
        if why == Dequeue::Exit
            && let Some(parent) = cx.tasks[task as usize].parent
        {
            self.bsd.charge_parent(parent, task);
        }
    }

    #[inline(always)]
    fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        if std::mem::take(&mut self.pass_due) {
            self.bsd.pass();
        }
        self.interrupted[usize::from(cpu)] = false;
        self.bsd.choose(cx, cpu)
    }

    fn changed(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, before: &Task) {
        self.bsd.changed(cx, cpu, task, before);
    }

    fn balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, why: Balance) -> Option<TaskId> {
        if why == Balance::Idle { self.bsd.queue.elsewhere(cx, cpu) } else { None }
    }

    #[inline]
    fn wakeup_preempts(&mut self, cx: &mut Context<'_>, cpu: CpuId, running: TaskId, woken: TaskId) -> Preempt {
        if cx.waker.is_none() && cpu == 0 {
            self.interrupted[usize::from(cpu)] = true;
            return Preempt::AtOnce;
        }
        (self.bsd.priority(woken) < self.bsd.priority(running)).into()
    }

    #[inline]
    fn return_to_user(&mut self, _: &mut Context<'_>, _: CpuId, task: TaskId) {
        self.bsd.return_to_user(task);
    }

    #[inline]
    fn stat_tick(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        if let Some(task) = cx.processors[usize::from(cpu)].running {
            self.bsd.charge_ticks(task, 1);
        }
    }

    #[inline]
    fn quiet_ticks(&self, _: &Context<'_>, _: CpuId, _: TaskId) -> Ticks {
        Ticks::ALL
    }

    #[inline]
    fn pass_ticks(&mut self, _: &Context<'_>, _: CpuId, running: TaskId, ticks: Ticks) {
        self.bsd.charge_ticks(running, ticks.statistics);
    }

    #[inline]
    fn idle_ticks(&self, _: &Context<'_>) -> Ticks {
        Ticks::ALL
    }

    #[inline]
    fn interrupted(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        self.interrupt(cx, self.bsd.queue.interrupted(cx, cpu));
    }

    /// All that is due by the clock is done in an interrupt thread of the first processor.
    #[inline]
    fn timer(&mut self, cx: &mut Context<'_>, _: CpuId, token: u32) {
        let due = self.bsd.timer(cx, token as usize);
        self.interrupt(cx, 0);
        match due {
            Due::Sample => {}
            Due::Pass if cx.processors[0].running.is_none() => self.bsd.pass(),
            Due::Pass => self.pass_due = true,
            Due::Quantum => (1..cx.processors.len()).for_each(|cpu| cx.resched(cpu as CpuId)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_clocks_are_those_of_an_old_pc() {
        let machine = Clocks { hz: 60.0, stat_hz: None };
        let clocks = |given: &[(&str, &str)]| {
            let given = given.iter().map(|(name, value)| (*name, (*value).to_owned()));
            Bsd452::clocks(&Params::check(&Bsd452::INFO, given).unwrap(), machine)
        };
        assert_eq!(clocks(&[]), Clocks { hz: 100.0, stat_hz: Some(128.0) });
        assert_eq!(clocks(&[("hz", "1000/s")]), Clocks { hz: 1000.0, stat_hz: Some(128.0) });
    }
}
