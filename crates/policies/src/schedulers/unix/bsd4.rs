//! # bsd4
//!
//! Promises that tasks that need less than their share run nearly at once, and that tasks that need more run round-robin
//! with slices of about a quantum; nice shifts a task by one priority a level, which may have no effect in the long run.
//!
//! ## The idea
//!
//!     One queue of 64 lists for all processors, four priorities to a list. The head of the best list runs.
//!     Each tick of the statistics clock adds 1 to the usage of the running task. Once a second all usage
//!     decays, the more slowly the more tasks there are. Usage makes the priority that a task has in its own code.
//!     A task that sleeps is queued by a priority of the kernel when it wakes, better than any user's, until it
//!     returns to its own code; so a short CPU burst runs at once whatever its previous usage.
//!     A better task that becomes ready preempts the running one when that is in its own code. An interrupt always
//!     preempts: its handler is a thread. The interrupted task goes back to the head of its list.
//!     `quantum_form = "head"`, as it stood from 2005 to 27 October 2007: the end of a quantum is such an interrupt and
//!     no more, so on one processor tasks of equal priority alternate only when usage moves them from list to list.
//!     `quantum_form = "slice"`, the change of that day: a task that has run for a quantum, interrupts not counted, goes
//!     to the tail.
//!
//! ## The formula
//!
//!     priority  =  160 + (nice + 20) + floor(usage / (8 * processors))      at least 160, at most 223
//!     usage     <- floor(usage * 2 L / (2 L + 1))                            each second
//!     L         <- floor(0.92 L + 0.08 n)                                    every 4 to 6 s, to 11 binary digits
//!
//! L load average, n tasks that are ready or run; usage is cut at 295 for each processor. With n hogs it tends to
//! 133 * (2 + 1/n) just before it decays, so that up to four hogs are all at the limit.
//!
//! ## A schedule
//!
//! Two hogs, one of them nice, and a task that sleeps:
//!
//! ```toml
//! machine = "uniform"
//! scheduler = { name = "bsd4", quantum_form = "slice" }
//! workload.hog = { load = "spin", compute = "800ms" }
//! workload.nice = { load = "spin", compute = "400ms", nice = 5 }
//! workload.sleeper = { load = "sleeper", run = "20ms", sleep = "280ms", rounds = 4, start = "50ms" }
//! ```
//!
//! ```text
//!            0ms       200ms     400ms     600ms     800ms     1000ms    1200ms
//!            |         |         |         |         |         |         |
//! hog#0      ########.##############.#####.....####.#####.....####.#
//! nice#1     .............................#####..........#####......#########
//! sleeper#2    ......#              #              #              #
//! idle 0                                                                     ----
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
//! Many users of one processor, whose tasks mostly wait. Not for hogs that are to be distinguished by nice: ten levels move
//! a share from a half to four tenths, and between -20 and 20 one gets nothing at all. Not for many short children: a child
//! inherits its parent's usage and returns it with its own added.
//!
//! ## Departures
//!
//! - **The weights.** `weights = "evans"` is what B. Evans describes of a kernel of his own: a table of 2 ** (nice / 4). How it
//!   acts there is not published; we assume that nice does not move the priority, that a tick adds 2 ** (nice / 4) to the
//!   usage, and that a task counts 2 ** (-nice / 4) in the load average. Tasks of equal priority then have equal usage, that is
//!   shares as 1 to 2 ** (-nice / 4); and since usage tends to 133 * (2 + 1/L) whatever the weights, it does not decay
//!   before a heavy task runs again. Usage is kept in 32,768ths, priorities start at 160, and usage is cut where they end,
//!   at 511. Where all are nice, L is far below 1, usage is cut, and shares are more equal than the weights.
//! - **Several processors.** The queue is one for all and any processor takes its head, as in the kernel; so tasks migrate
//!   without need in both. A bound task joins the shortest queue that it may whenever it is queued, as in the kernel since 7.1; the
//!   processor where it was takes it back if it has nothing else. Timers interrupt the first processor.
//! - **The clocks of the pass, the samples and the quantum** start at random phases, independent of the clock's ticks.
//!   While no task is ready they stop; what they missed is made up for when one is. A quantum is compared in ns, not in ticks.
//! - **Ticks of the statistics clock** come evenly; the kernel derives them from a timer of 2000 Hz, and they jitter by 0.5 ms.
//! - **Interrupt threads take no time of their own** here but what the machine says; of kernel threads only the one that makes
//!   the pass is there.
//! - **Inside the kernel** a task is preempted as the machine's `preemption` says; the original's is `none`, except for
//!   what preempts at once (an interrupt, or any other task against the idle class).
//! - **Priorities of sleeps** are those of nanosleep and wait (92), signals (104), pipes and disks (76); locks keep the
//!   present priority. A wait for a message has no counterpart; it has a socket's (88).
//! - **99 real-time priorities** are mapped to 32; the idle class has one. Groups, slices and reservations are not known.
//!
//! ## References
//!
//! - FreeBSD 7-CURRENT of October 2007: sys/kern/sched_4bsd.c (`sched_clock`, `schedcpu`, `updatepri`, `sched_add`,
//!   `sched_exit`, `maybe_preempt`, `roundrobin`), kern_switch.c (`runq_add`), kern_synch.c (`loadav`), sys/priority.h.
//! - B. Evans, J. Roberson, cvs-all, 1-2 October 2007.
//!
//! Long, because the page and the rule belong in one file.

use super::{
    bsd::{Bsd, Due, Rules},
    decay_usage::{Estimator, Step},
};
use crate::schedulers::kit::priority_lists::End;
use crate::schedulers::{Balance, Clocks, Context, Dequeue, Enqueue, Features, Pick, Preempt, Scheduler, Ticks};
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    info::{Domain, Info, Parameter, Params, Promise, Reach},
    task::{CpuId, Task, TaskId, Wait},
    topology::Topology,
};

/// Priorities up to here are interrupt threads' (`PRI_MAX_ITHD`): such a task preempts at once.
const WORST_INTERRUPT: u16 = 63;
/// Priorities from here on are the idle class's (`PRI_MIN_IDLE`): any other task preempts it at once.
pub const IDLE: u16 = 224;
/// Usage that makes a priority worse by one (`INVERSE_ESTCPU_WEIGHT`), on one processor.
const STEP: u32 = 8;

/// The priority that a sleep gives (`PWAIT`, `PPAUSE`, `PRIBIO`, `PSOCK`).
pub fn asleep(wait: Wait) -> Option<u16> {
    match wait {
        Wait::Timer | Wait::Child => Some(92),
        Wait::Signal => Some(104),
        Wait::Pipe | Wait::Disk => Some(76),
        Wait::Message => Some(88),
        Wait::Lock => None,
    }
}

/// Priorities of FreeBSD 5 to 7, with the usage of the given number of processors and nice as stock or by weights.
pub fn estimator(processors: u32, weighted: bool) -> Estimator {
    let (step, range) = (STEP * processors, (160, 223));
    if weighted {
        let tick = Estimator::WEIGHTED_TICK;
        let step = step * tick;
        let limit = step * u32::from(range.1 - range.0 + 1) - 1;
        return Estimator { tick, step: Step::new(step), limit, base: range.0, nice: 0, range, weighted };
    }
    // 36 priorities: the range of nice, less one list.
    Estimator { tick: 1, step: Step::new(step), limit: step * 36 + step - 1, base: 180, nice: 1, range, weighted }
}

/// How slices end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Head,
    Slice,
}

/// What is known of a processor.
#[derive(Debug, Clone, Copy, Default)]
struct Cpu {
    /// Its task is preempted at once by an interrupt thread or a better task, not on its return to its own code.
    preempted: bool,
    /// When it last chose a task to run.
    switched: Nanos,
}

/// One queue for all, by what was used.
#[derive(Debug)]
pub struct Bsd4 {
    bsd: Bsd<64>,
    cpus: Vec<Cpu>,
    form: Form,
    quantum: Nanos,
    /// The thread that makes the pass is about to run.
    pass_due: bool,
}

impl Bsd4 {
    /// What `ps -l` shows of a task: its usage, and the priority that it has in its own code.
    pub fn usage(&self, task: TaskId) -> (u32, u16) {
        self.bsd.usage(task)
    }

    /// An interrupt thread runs: the task that it interrupts is queued again.
    fn interrupt(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        if cx.processors[usize::from(cpu)].running.is_some() {
            self.cpus[usize::from(cpu)].preempted = true;
            cx.resched_at_once(cpu);
        }
    }
}

impl Scheduler for Bsd4 {
    const INFO: Info = Info {
        name: "bsd4",
        summary: "priorities from decayed usage, one queue for all processors; FreeBSD's 4BSD of 2007",
        year: 2007,
        origin: "FreeBSD 7-CURRENT, October 2007",
        promises: &[Promise::WorkConserving(Reach::Unbound)],
        parameters: &[
            Parameter {
                name: "quantum",
                meaning: "kern.sched.quantum, cut to whole clock ticks",
                domain: Domain::Duration { low: MILLISECOND, high: 10 * SECOND },
                default: Some("100ms"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "quantum_form",
                meaning: "what ends a quantum: an interrupt after which the task continues (head), or a quantum of running time (slice)",
                domain: Domain::Choice { names: &["head", "slice"] },
                default: Some("head"),
                logarithmic: false,
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
                default: Some("1000/s"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "stathz",
                meaning: "ticks of the statistics clock; 0/s for what the kernel derives from hz (133/s at 1000/s)",
                domain: Domain::Rate { low: 0.0, high: 10_000.0 },
                default: Some("0/s"),
                logarithmic: false,
                grows: false,
                host: None,
            },
        ],
        source: schedlab_model::documentation!("bsd4.rs"),
    };
    const FEATURES: Features = Features {
        stat_ticks: true,
        interrupts: true,
        user_returns: true,
        passes_ticks: true,
        passes_idle_ticks: true,
        ..Features::NONE
    };

    /// A local APIC's timer runs at a small multiple of hz, and every n-th of its interrupts is a statistics tick; n is
    /// the largest that gives at least 128 a second.
    fn clocks(params: &Params, _: Clocks) -> Clocks {
        let hz = params.real("hz");
        let timer = match hz {
            1500.0.. => hz,
            750.0.. => 2.0 * hz,
            _ => 4.0 * hz,
        };
        let derived = (timer / (timer / 128.0).floor().max(1.0)).floor();
        let asked = params.real("stathz");
        Clocks { hz, stat_hz: Some(if asked > 0.0 { asked } else { derived }) }
    }

    fn new(params: &Params, topology: &Topology, tick: Nanos) -> Self {
        let weighted = params.name("weights") == "evans";
        let form = if params.name("quantum_form") == "head" { Form::Head } else { Form::Slice };
        // A tick is 1/hz rounded to a nanosecond, hence the tolerance.
        let quantum = ((params.whole("quantum") + 1_000) / tick).max(1) * tick;
        let rules = Rules {
            estimator: estimator(topology.processors().into(), weighted),
            follows: (160, 223),
            realtime: (128, 1),
            idle: IDLE,
            asleep,
            asleep_in_any_class: true,
            ran_is_awake: true,
        };
        Bsd4 {
            bsd: Bsd::new(rules, topology.processors(), (form == Form::Head).then_some(quantum)),
            cpus: vec![Cpu::default(); topology.processors().into()],
            form,
            quantum,
            pass_due: false,
        }
    }

    fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, _: Enqueue) -> CpuId {
        self.bsd.queue.place(cx, task)
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        let end = match why {
            Enqueue::New | Enqueue::Wakeup => return self.bsd.arrive(cx, cpu, task),
            Enqueue::Migrate => return self.bsd.move_in(cx, cpu, task),
            Enqueue::Yield => End::Tail,
            _ if std::mem::take(&mut self.cpus[usize::from(cpu)].preempted) => End::Head,
            _ => {
                self.bsd.return_to_user(task);
                End::Tail
            }
        };
        self.bsd.put(cx, cpu, task, end);
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
        self.cpus[usize::from(cpu)] = Cpu { preempted: false, switched: cx.now };
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
        let (better, worse) = (self.bsd.priority(woken), self.bsd.priority(running));
        let softclock = cx.waker.is_none() && cpu == 0;
        if softclock || better < worse && (better <= WORST_INTERRUPT || worse >= IDLE) {
            self.cpus[usize::from(cpu)].preempted = true;
            return Preempt::AtOnce;
        }
        (better < worse).into()
    }

    #[inline]
    fn return_to_user(&mut self, _: &mut Context<'_>, _: CpuId, task: TaskId) {
        self.bsd.return_to_user(task);
    }

    #[inline]
    fn stat_tick(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        let Some(task) = cx.processors[usize::from(cpu)].running else { return };
        self.bsd.charge_ticks(task, 1);
        if self.form == Form::Slice && cx.now - self.cpus[usize::from(cpu)].switched >= self.quantum {
            cx.resched(cpu);
        }
    }

    #[inline]
    fn quiet_ticks(&self, _: &Context<'_>, _: CpuId, _: TaskId) -> Ticks {
        if self.form == Form::Head { Ticks::ALL } else { Ticks::default() }
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

    /// All that is due by the clock is done in an interrupt thread of the first processor, or woken by it.
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

    fn clocks(settings: &[(&str, &str)]) -> (f64, f64) {
        let given = settings.iter().map(|(name, value)| (*name, (*value).to_owned()));
        let clocks = Bsd4::clocks(&Params::check(&Bsd4::INFO, given).unwrap(), Clocks { hz: 60.0, stat_hz: None });
        (clocks.hz, clocks.stat_hz.unwrap())
    }

    #[test]
    fn the_statistics_clock_follows_from_hz_as_a_local_apic_gives_it() {
        assert_eq!(clocks(&[]), (1000.0, 133.0));
        for (hz, stathz) in [(100, 133.0), (500, 133.0), (2000, 133.0), (3000, 130.0)] {
            assert_eq!(clocks(&[("hz", &format!("{hz}/s"))]), (f64::from(hz), stathz));
        }
        assert_eq!(clocks(&[("stathz", "128/s")]), (1000.0, 128.0));
    }

    #[test]
    fn usage_is_cut_at_36_priorities_for_each_processor() {
        assert_eq!((estimator(1, false).limit, estimator(2, false).limit), (295, 591));
        for processors in [1, 2] {
            let estimator = estimator(processors, false);
            assert_eq!(estimator.priority(estimator.limit, 0), 216);
        }
    }

    #[test]
    fn weighted_usage_is_cut_where_priorities_end() {
        let estimator = estimator(1, true);
        assert_eq!(estimator.limit / Estimator::WEIGHTED_TICK, 511);
        assert_eq!((estimator.priority(0, 20), estimator.priority(estimator.limit, -20)), (160, 223));
    }
}
