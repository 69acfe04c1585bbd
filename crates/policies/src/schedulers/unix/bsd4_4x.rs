//! # bsd4_4x
//!
//! Promises equal tasks round robin with a quantum of a global clock, and that a task that needs less than its share gets
//! it soon; a nice value shifts a task by two priorities a level; from about 18 levels on, a task starves while hogs run.
//!
//! ## The idea
//!
//!     Three sets of 32 lists, four priorities to a list: real time, ordinary, idle. The head of the best list runs.
//!     Each tick of the statistics clock adds 1 to the usage of the running task. Once a second all usage
//!     decays, the more slowly the more tasks there are. Usage makes the priority that a task has in its own code.
//!     A task that sleeps is queued by a priority of the kernel when it wakes, until it returns to its own code.
//!     Inside the kernel no task is preempted; interrupts are not threads and queue no task.
//!     A task that becomes ready preempts the running one on its return to its own code, but only if it is better by a
//!     whole list than the running one was when that last left the kernel.
//!     A global clock ends the slice of the running task every quantum: it goes to the tail of its list.
//!     A child begins with its parent's usage, and is charged to the parent that waits for it; init is never charged.
//!
//! ## The formula
//!
//!     priority  =  50 + 2 * nice + floor(usage / 8)          at most 127
//!     usage     <- floor(usage * 2 L / (2 L + 1))            each second
//!     L         <- floor(0.92 L + 0.08 n)                    every 4 to 6 s, to 11 binary digits
//!
//! L load average, n tasks that are ready or run; usage is cut at 295, which is 36 priorities or 18 levels of nice.
//!
//! ## A schedule
//!
//! Two hogs, one of them nice, and a task that sleeps:
//!
//! ```toml
//! machine = "uniform"
//! scheduler = { name = "bsd4_4x" }
//! workload.hog = { load = "spin", compute = "800ms" }
//! workload.nice = { load = "spin", compute = "400ms", nice = 3 }
//! workload.sleeper = { load = "sleeper", run = "20ms", sleep = "280ms", rounds = 4, start = "50ms" }
//! ```
//!
//! ```text
//!            0ms       200ms     400ms     600ms     800ms     1000ms    1200ms
//!            |         |         |         |         |         |         |
//! hog#0      #####.##############.##############.....#####......##
//! nice#1     ....................................####.....#####...###########
//! sleeper#2    ...#              #              #              #
//! idle 0                                                                     -
//!            a column is 20ms
//!            # running  . ready  - idle
//! ```
//!
//! ## Cost
//!
//! Enqueue and pick: constant. The pass once a second: constant for each task that there is, awake or not.
//!
//! ## Good for, not for
//!
//! Many users of one processor, whose tasks mostly wait. Not for nice hogs that must still make progress. A parent
//! that waits for many children looks like a hog, and so do its next children; one that does not wait for them never pays.
//!
//! ## Departures
//!
//! - **The pass** may request a reschedule, where a task that it visits is better by a list than the running one; a tick
//!   that moves the running task by a whole list since it left the kernel does so too. Both come at most once a second or
//!   every 0.25 s, and what they do the quantum does anyway; they are left out.
//! - **The slice** of a quantum ends within the kernel as the machine's `preemption` says; the original's is `none`: no
//!   other task runs while a task is in the kernel, unless it waits.
//! - **Several processors** share one queue; the original's second processor could only work outside the kernel, which is a
//!   matter of the machine. A task bound to some of them waits in the queue of one, chosen whenever it is queued; the original had no such
//!   binding.
//! - **The clocks of the pass, the samples and the quantum** start at random phases, independent of the clock's ticks.
//!   While no task is ready they stand still, and what they missed is made up for when one is.
//! - **Priorities of sleeps** are those of nanosleep and wait (32), signals (40), pipes and disks (16); locks of user programs
//!   keep the present priority. A wait for a message has no counterpart; it has a socket's (24).
//! - **99 real-time priorities** are mapped to 32; the idle class has one. Tasks under "fifo" are not rotated.
//!
//! ## References
//!
//! - FreeBSD 4.x: sys/kern/kern_synch.c (`schedclock`, `schedcpu`, `updatepri`, `roundrobin`, `maybe_resched`,
//!   `curpriority_cmp`), kern_exit.c (`wait1`), kern_fork.c, sys/proc.h, sys/param.h.

use super::{
    bsd::{Bsd, Due, Rules},
    decay_usage::{Estimator, Step},
};
use crate::schedulers::{
    Balance, Clocks, Context, Dequeue, Enqueue, Features, Pick, Preempt, Scheduler, Ticks,
    kit::priority_lists::{End, PER_LIST},
};
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    info::{Domain, Info, Parameter, Params, Promise, Reach},
    task::{CpuId, Policy, Task, TaskId, Wait},
    topology::Topology,
};

/// The three sets in sequence: the kernel's priority 0 of ordinary tasks comes after 32 lists of real time, and the idle
/// class one list after all others, so that every other task is better than it by a whole list.
const EVERYBODY: u16 = 32 * PER_LIST;
const IDLE: u16 = 65 * PER_LIST;
/// Lists of all three sets, of which the idle class needs one.
const LISTS: usize = 66;
/// The priority of a task at nice 0 that used nothing (`PUSER`).
const USER: u16 = EVERYBODY + 50;
/// The worst one (`MAXPRI`).
const WORST: u16 = EVERYBODY + 127;

const RULES: Rules = Rules {
    // NICE_WEIGHT is 2; 36 priorities are what 18 levels of nice are.
    estimator: Estimator {
        tick: 1,
        step: Step::new(8),
        limit: 8 * 36 + 7,
        base: USER,
        nice: 2,
        range: (EVERYBODY, WORST),
        weighted: false,
    },
    follows: (USER, WORST),
    realtime: (0, PER_LIST),
    idle: IDLE,
    asleep,
    asleep_in_any_class: false,
    ran_is_awake: false,
};

/// The priority that a sleep gives (`PWAIT`, `PPAUSE`, `PRIBIO`, `PSOCK`).
fn asleep(wait: Wait) -> Option<u16> {
    match wait {
        Wait::Timer | Wait::Child => Some(EVERYBODY + 32),
        Wait::Signal => Some(EVERYBODY + 40),
        Wait::Pipe | Wait::Disk => Some(EVERYBODY + 16),
        Wait::Message => Some(EVERYBODY + 24),
        Wait::Lock => None,
    }
}

/// One queue for all, by what was used; a global clock ends slices.
#[derive(Debug)]
pub struct Bsd44x {
    bsd: Bsd<LISTS>,
    /// For each processor, the priority that its task had when it last left the kernel (`curpriority`).
    left_with: Vec<u16>,
}

impl Bsd44x {
    /// What `ps -l` shows of a task: its usage, and the priority that it has in its own code.
    pub fn usage(&self, task: TaskId) -> (u32, u16) {
        let (usage, priority) = self.bsd.usage(task);
        (usage, priority.saturating_sub(EVERYBODY))
    }
}

impl Scheduler for Bsd44x {
    const INFO: Info = Info {
        name: "bsd4_4x",
        summary: "priorities from decayed usage, round-robin by a global clock, children charged at wait; FreeBSD 4",
        year: 2000,
        origin: "FreeBSD 4.x",
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
        source: schedlab_model::documentation!("bsd4_4x.rs"),
    };
    const FEATURES: Features = Features {
        stat_ticks: true,
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
        // A tick is 1/hz rounded to a nanosecond, hence the tolerance.
        let quantum = ((params.whole("quantum") + 1_000) / tick).max(1) * tick;
        Bsd44x { bsd: Bsd::new(RULES, processors, Some(quantum)), left_with: vec![0; processors.into()] }
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
                self.bsd.return_to_user(task);
                self.bsd.put(cx, cpu, task, End::Tail);
            }
        }
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>, _: CpuId, task: TaskId, why: Dequeue) {
        self.bsd.leave(cx, task, why);
    }

    #[inline(always)]
    fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        let pick = self.bsd.choose(cx, cpu)?;
        self.left_with[usize::from(cpu)] = self.bsd.user_priority(pick.task);
        Some(pick)
    }

    fn changed(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, before: &Task) {
        self.bsd.changed(cx, cpu, task, before);
    }

    fn balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, why: Balance) -> Option<TaskId> {
        if why == Balance::Idle { self.bsd.queue.elsewhere(cx, cpu) } else { None }
    }

    #[inline]
    fn wakeup_preempts(&mut self, _: &mut Context<'_>, cpu: CpuId, _: TaskId, woken: TaskId) -> Preempt {
        (self.bsd.priority(woken) + PER_LIST <= self.left_with[usize::from(cpu)]).into()
    }

    #[inline]
    fn return_to_user(&mut self, _: &mut Context<'_>, cpu: CpuId, task: TaskId) {
        self.bsd.return_to_user(task);
        self.left_with[usize::from(cpu)] = self.bsd.user_priority(task);
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

    fn reaped(&mut self, _: &mut Context<'_>, parent: TaskId, child: TaskId) {
        self.bsd.charge_parent(parent, child);
    }

    #[inline]
    fn timer(&mut self, cx: &mut Context<'_>, _: CpuId, token: u32) {
        match self.bsd.timer(cx, token as usize) {
            Due::Sample => {}
            Due::Pass => self.bsd.pass(),
            Due::Quantum => self.end_turns(cx),
        }
    }
}

impl Bsd44x {
    /// The clock ends the slices of all running tasks, except those that run until they wait.
    fn end_turns(&mut self, cx: &mut Context<'_>) {
        for cpu in 0..cx.processors.len() {
            let running = cx.processors[cpu].running;
            if running.is_some_and(|task| cx.tasks[task as usize].policy != Policy::Fifo) {
                cx.resched(cpu as CpuId);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn priority(usage: u32, nice: i8) -> u16 {
        RULES.estimator.priority(usage, nice) - EVERYBODY
    }

    #[test]
    fn a_level_of_nice_is_two_priorities() {
        assert_eq!((priority(0, -20), priority(0, 0), priority(0, 20)), (10, 50, 90));
        assert_eq!((priority(295, 0), priority(0, 18), priority(0, 19)), (86, 86, 88));
        assert_eq!(priority(295, 20), 126);
    }

    #[test]
    fn real_time_is_better_than_any_and_the_idle_class_worse_by_a_list() {
        let worst_real_time = RULES.realtime.0 + 31 * RULES.realtime.1;
        assert!(worst_real_time + PER_LIST <= EVERYBODY);
        assert!(WORST + PER_LIST <= IDLE && usize::from(IDLE / PER_LIST) < LISTS);
    }
}
