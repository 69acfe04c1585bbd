//! # edf
//!
//! Promises every task whose reservation is granted the reserved time in every period, before its deadline, as long as no
//! task uses more than it reserved; with `enforce`, even if other tasks use more.
//!
//! ## The idea
//!
//!     A task with a reservation does one job a period. When it becomes ready and its next period has begun, a new job is
//!     released, whose deadline is the reservation's deadline later. The earliest deadline runs.
//!     A reservation is granted by the first processor that has room for it, and its task stays there. With
//!     `placement = "global"` all processors serve one queue, the earliest deadlines first.
//!     All others run round-robin when no job is ready.
//!     With `enforce` a job also has a budget, the reserved time. One that has used it up gets the next period's, and a
//!     deadline a period later: so it can delay others by what it reserved and no more (constant bandwidth server).
//!
//! ## The formula
//!
//!     room:          sum of  C / min(D, T)  <=  1             on each processor, to 2^-64
//!     room, global:  sum of  C / min(D, T)  <=  m - (m - 1) * (largest C / min(D, T))       on m processors
//!     new job at t:  t >= r + T        then  r = t,  d = t + D
//!     with enforce:  t >= d  or  c * D > (d - t) * C          then  c = C,  d = t + D
//!     and            c <= 0            then  c += C,  d += T
//!
//! C reserved time, D deadline from a job's begin, T period, r begin of the last job, d its deadline, c its budget; in ns.
//! The sums and the largest are over the new reservation and those that are granted. Of three reservations of 60 % of a processor, two
//! processors grant two either way. Of four of 50 % they grant all partitioned, and three global: 4 * 0.5 > 2 - 0.5.
//!
//! ## A schedule
//!
//! Two tasks that reserve 2 ms in 5 and 4 ms in 7, together 97 % of the processor, and one that reserves nothing:
//!
//! ```toml
//! machine = "uniform"
//! duration = "35ms"
//! scheduler = { name = "edf" }
//! workload.five = { load = "periodic", run = "2ms", period = "5ms", reservation = { runtime = "2ms", period = "5ms" } }
//! workload.seven = { load = "periodic", run = "4ms", period = "7ms", reservation = { runtime = "4ms", period = "7ms" } }
//! workload.hog = { load = "spin", passes = "forever" }
//! ```
//!
//! ```text
//!          0ms       10ms      20ms      30ms
//!          |         |         |         |
//! five#0   ##   .##  ..## ##   ##   .##  ..##
//! hog#1    ..................................#
//! seven#2  ..#### .####  #..### .####  ####
//! idle 0
//!          a column is 1ms
//!          # running  . ready
//! ```
//!
//! ## Cost
//!
//! Enqueue and pick: logarithmic in the jobs that wait; global, a pick is linear in those up to the first that may run on the
//! processor, and a wakeup in the processors. Admission: linear in the processors and reservations.
//!
//! ## Good for, not for
//!
//! Periodic work: one processor can be used to the last nanosecond and every deadline met. When tasks use more than they
//! reserved, which tasks are late is unpredictable; with `enforce` it is the task that used more.
//!
//! ## Departures
//!
//! The textbook's jobs are separate; here a task is one job after another, so a job that lasts into its next period goes on
//! under its old deadline until the task next waits (without `enforce`; with it, under the server's). A task that waits
//! within a job and becomes ready again has the same deadline. The capacity of a reservation that ends is available to
//! others from its last deadline on; in a message-passing kernel, whose tasks do not report when they end, never. The
//! textbook has one processor. On several, each has its own jobs (partitioned, first fit in order of number), since that
//! keeps its proof: of two reservations of 50 % both are on the first processor, and one waits while the second idles. Only
//! tasks without a reservation are pulled. Global placement never does that, but grants less: deadlines can be missed at little more than
//! the use of one processor (Dhall), and the bound excludes that. It covers tasks that may run anywhere, so reservations of others are
//! refused there. The server is the soft one of the original: a task that has used up its budget
//! continues under a later deadline, while Linux's SCHED_DEADLINE makes it wait for its next period. Where D < T its
//! deadlines are the reservation's, as in Linux. Real-time policies without a reservation (fifo, rr) are as all others.
//!
//! ## References
//!
//! - C. L. Liu, J. W. Layland: Scheduling Algorithms for Multiprogramming in a Hard-Real-Time Environment, Journal of the
//!   ACM 20(1), 1973, theorem 7.
//! - S. K. Dhall, C. L. Liu: On a Real-Time Scheduling Problem, Operations Research 26(1), 1978.
//! - J. Goossens, S. Funk, S. Baruah: Priority-Driven Scheduling of Periodic Task Systems on Multiprocessors, Real-Time Systems 25(2-3),
//!   2003 (the bound of global placement).
//! - L. Abeni, G. Buttazzo: Integrating Multimedia Applications in Hard Real-Time Systems, RTSS 1998, section 3.
//! - Linux 6.8: kernel/sched/deadline.c (`dl_entity_overflow`, where the same rule is used for D < T).

use crate::schedulers::{
    Balance, Context, Dequeue, Enqueue, Features, Pick, Preempt, Scheduler,
    kit::reserved::{Reserved, reservation},
};
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    info::{Domain, Info, Parameter, Params, Promise, Reach},
    task::{CpuId, Reservation, TaskId},
    topology::Topology,
};

/// A whole processor, in the unit of densities.
const WHOLE: u128 = 1 << 64;

/// The part of a processor that a reservation may need at worst.
fn density(wish: &Reservation) -> u128 {
    (u128::from(wish.runtime) << 64) / u128::from(wish.deadline.min(wish.period).max(1))
}

/// What a task does in the present period.
#[derive(Debug, Default, Clone, Copy)]
struct Job {
    began: Nanos,
    deadline: Nanos,
    /// What is left of the reserved time; below 0 for an instant.
    budget: i64,
}

/// The earliest deadline runs.
#[derive(Debug)]
pub struct Edf {
    slice: Nanos,
    enforce: bool,
    queue: Reserved<Nanos>,
    jobs: Vec<Job>,
    /// For each processor, or for all of them together, what was granted.
    granted: Vec<Granted>,
    /// The processors that each of these stands for.
    each: u16,
}

/// The densities that were granted, with their tasks.
type Granted = Vec<(TaskId, u128)>;

/// Whether that many processors can serve another density as well as those granted: sum <= m - (m - 1) * largest.
fn has_room(granted: &[(TaskId, u128)], density: u128, processors: u16) -> bool {
    let granted = || granted.iter().map(|&(_, density)| density);
    let largest = granted().fold(density, u128::max);
    let needed = granted().sum::<u128>() + density + u128::from(processors - 1) * largest;
    needed <= u128::from(processors) * WHOLE
}

impl Edf {
    /// A task with a reservation becomes ready: with a new job if it is time.
    #[inline]
    fn release(&mut self, now: Nanos, task: TaskId, wish: Reservation) {
        let job = &mut self.jobs[task as usize];
        let fresh = if self.enforce {
            let left = u128::from(job.deadline.saturating_sub(now));
            let keeps = job.budget.max(0).unsigned_abs();
            left == 0 || u128::from(keeps) * u128::from(wish.deadline) > left * u128::from(wish.runtime)
        } else {
            job.deadline == 0 || now >= job.began + wish.period
        };
        if fresh {
            *job = Job { began: now, deadline: now + wish.deadline, budget: wish.runtime as i64 };
        }
    }

    /// A task that may be seen for the first time. One with a reservation that becomes ready has a job from then on; its deadline.
    #[inline]
    fn ready(&mut self, cx: &Context<'_>, task: TaskId, why: Enqueue) -> Option<Nanos> {
        if task as usize >= self.jobs.len() {
            self.jobs.resize(task as usize + 1, Job::default());
        }
        let wish = reservation(cx, task)?;
        if matches!(why, Enqueue::New | Enqueue::Wakeup) {
            self.release(cx.now, task, wish);
        }
        Some(self.jobs[task as usize].deadline)
    }
}

/// Where a processor's part of what was granted is kept: by itself, or with that of all.
fn account(each: u16, cpu: CpuId) -> usize {
    if each == 1 { cpu.into() } else { 0 }
}

/// The deadline of a task's job; those that have none are due last.
#[inline]
fn due(cx: &Context<'_>, jobs: &[Job], task: TaskId) -> Nanos {
    reservation(cx, task).map_or(Nanos::MAX, |_| jobs[task as usize].deadline)
}

impl Scheduler for Edf {
    const INFO: Info = Info {
        name: "edf",
        summary: "earliest deadline first, by reservation; the rest round-robin",
        year: 1973,
        origin: "Liu and Layland; servers by Abeni and Buttazzo",
        promises: &[Promise::WorkConserving(Reach::EachProcessor)],
        parameters: &[
            Parameter {
                name: "enforce",
                meaning: "whether a task that uses up its reserved time gets a later deadline",
                domain: Domain::Switch,
                default: Some("false"),
                logarithmic: false,
                grows: false,
                host: None,
            },
            Parameter {
                name: "placement",
                meaning: "whether a reservation is one processor's, the first that has room, or all processors serve one queue",
                domain: Domain::Choice { names: &["partitioned", "global"] },
                default: Some("partitioned"),
                logarithmic: false,
                grows: false,
                host: None,
            },
            Parameter {
                name: "slice",
                meaning: "slice of a task without reservation while others wait",
                domain: Domain::Duration { low: MILLISECOND / 1000, high: 100 * SECOND },
                default: Some("100ms"),
                logarithmic: true,
                grows: false,
                host: None,
            },
        ],
        source: schedlab_model::documentation!("edf.rs"),
    };
    const FEATURES: Features = Features {
        // Deadlines are compared at wakeups, and charging may move them.
        charges_at_wakeups: true,
        ..Features::NONE
    };

    fn new(params: &Params, topology: &Topology, _: Nanos) -> Self {
        let processors = topology.processors();
        let global = params.name("placement") == "global";
        Edf {
            slice: params.whole("slice"),
            enforce: params.switch("enforce"),
            queue: if global { Reserved::global(processors) } else { Reserved::partitioned(processors) },
            jobs: Vec::new(),
            granted: vec![Vec::new(); if global { 1 } else { processors.into() }],
            each: if global { processors } else { 1 },
        }
    }

    fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, why: Enqueue) -> CpuId {
        let own = self.ready(cx, task, why).unwrap_or(Nanos::MAX);
        let worse = |running: TaskId| Some(due(cx, &self.jobs, running)).filter(|&theirs| theirs > own);
        self.queue.place(cx, task, worse)
    }

    #[inline]
    fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        let deadline = self.ready(cx, task, why);
        self.queue.join(cx, cpu, task, why, deadline);
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Dequeue) {
        self.queue.leave(cx, cpu, task);
        if why == Dequeue::Exit && reservation(cx, task).is_some() {
            cx.set_timer(self.jobs[task as usize].deadline, cpu, task);
        }
    }

    #[inline]
    fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        let task = self.queue.next(cx, cpu)?;
        let slice = match reservation(cx, task) {
            None => Some(self.slice),
            Some(_) if self.enforce => Some(self.jobs[task as usize].budget.max(1).unsigned_abs()),
            Some(_) => None,
        };
        Some(Pick { task, slice })
    }

    #[inline]
    fn charge(&mut self, cx: &mut Context<'_>, _: CpuId, task: TaskId, ran: Nanos) {
        let (true, Some(wish)) = (self.enforce, reservation(cx, task)) else { return };
        let job = &mut self.jobs[task as usize];
        job.budget = job.budget.saturating_sub_unsigned(ran);
        if job.budget <= 0 {
            let more = job.budget.unsigned_abs() / wish.runtime.max(1) + 1;
            job.budget = job.budget.saturating_add_unsigned(more.saturating_mul(wish.runtime));
            job.deadline = job.deadline.saturating_add(more.saturating_mul(wish.period));
        }
    }

    #[inline]
    fn wakeup_preempts(&mut self, cx: &mut Context<'_>, cpu: CpuId, running: TaskId, woken: TaskId) -> Preempt {
        let earlier = due(cx, &self.jobs, woken) < due(cx, &self.jobs, running);
        self.queue.preempts(cpu, earlier)
    }

    fn admits(&mut self, cx: &mut Context<'_>, task: TaskId) -> bool {
        let Some(wish) = reservation(cx, task) else { return false };
        let (density, each) = (density(&wish), self.each);
        let bound = (cx.tasks[task as usize].allowed.count() as usize) < cx.processors.len();
        if each > 1 && bound {
            return false;
        }
        let granted = &mut self.granted;
        let home = self.queue.grant(cx, task, |cpu| has_room(&granted[account(each, cpu)], density, each));
        home.into_iter().for_each(|cpu| granted[account(each, cpu)].push((task, density)));
        home.is_some()
    }

    /// The last deadline of a task that has ended.
    fn timer(&mut self, _: &mut Context<'_>, cpu: CpuId, task: u32) {
        self.granted[account(self.each, cpu)].retain(|&(granted, _)| granted != task);
    }

    fn balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, why: Balance) -> Option<TaskId> {
        if why == Balance::Idle { self.queue.pull(cx, cpu) } else { None }
    }
}
