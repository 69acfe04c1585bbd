//! # edf
//!
//! Promises every task whose reservation is granted the reserved time in every period, before its deadline, as long as no
//! task uses more than it reserved; with `enforce`, even if other tasks use more.
//!
//! ## The idea
//!
//!     A task with a reservation does one job a period. When it becomes ready and its next period has begun, a new job is
//!     released, whose deadline is the reservation's deadline later. The earliest deadline runs.
//!     A reservation is granted by the first processor that has room for it, and its task stays there.
//!     All others run round-robin when no job is ready.
//!     With `enforce` a job also has a budget, the reserved time. One that has used it up gets the next period's, and a
//!     deadline a period later: so it can delay others by what it reserved and no more (constant bandwidth server).
//!
//! ## The formula
//!
//!     room:          sum of  C / min(D, T)  <=  1             on each processor, to 2^-64
//!     new job at t:  t >= r + T        then  r = t,  d = t + D
//!     with enforce:  t >= d  or  c * D > (d - t) * C          then  c = C,  d = t + D
//!     and            c <= 0            then  c += C,  d += T
//!
//! C reserved time, D deadline from a job's begin, T period, r begin of the last job, d its deadline, c its budget; in ns.
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
//! Enqueue and pick: logarithmic in the jobs that wait. Admission: linear in the processors.
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
//! textbook has one processor; on several, each has its own jobs (partitioned, first fit in order of number), and only
//! tasks without a reservation are pulled. The server is the soft one of the original: a task that has used up its budget
//! continues under a later deadline, while Linux's SCHED_DEADLINE makes it wait for its next period. Where D < T its
//! deadlines are the reservation's, as in Linux. Real-time policies without a reservation (fifo, rr) are as all others.
//!
//! ## References
//!
//! - C. L. Liu, J. W. Layland: Scheduling Algorithms for Multiprogramming in a Hard-Real-Time Environment, Journal of the
//!   ACM 20(1), 1973, theorem 7.
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
    /// For each processor, the sum of the densities that it has granted.
    granted: Vec<u128>,
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

    /// The deadline of a task's job; those that have none are due last.
    #[inline]
    fn due(&self, cx: &Context<'_>, task: TaskId) -> Nanos {
        reservation(cx, task).map_or(Nanos::MAX, |_| self.jobs[task as usize].deadline)
    }
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
        Edf {
            slice: params.whole("slice"),
            enforce: params.switch("enforce"),
            queue: Reserved::new(processors),
            jobs: Vec::new(),
            granted: vec![0; processors.into()],
        }
    }

    fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, _: Enqueue) -> CpuId {
        self.queue.place(cx, task)
    }

    #[inline]
    fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        if task as usize >= self.jobs.len() {
            self.jobs.resize(task as usize + 1, Job::default());
        }
        let wish = reservation(cx, task);
        if let (Some(wish), Enqueue::New | Enqueue::Wakeup) = (wish, why) {
            self.release(cx.now, task, wish);
        }
        self.queue.join(cpu, task, wish.map(|_| self.jobs[task as usize].deadline));
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
        let task = self.queue.next(cpu)?;
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
    fn wakeup_preempts(&mut self, cx: &mut Context<'_>, _: CpuId, running: TaskId, woken: TaskId) -> Preempt {
        (self.due(cx, woken) < self.due(cx, running)).into()
    }

    fn admits(&mut self, cx: &mut Context<'_>, task: TaskId) -> bool {
        let Some(wish) = reservation(cx, task) else { return false };
        let density = density(&wish);
        let room = |cpu: CpuId| self.granted[cpu as usize] + density <= WHOLE;
        let home = self.queue.grant(cx, task, room);
        home.into_iter().for_each(|cpu| self.granted[cpu as usize] += density);
        home.is_some()
    }

    /// The last deadline of a task that has ended.
    fn timer(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: u32) {
        let ended = reservation(cx, task).map_or(0, |wish| density(&wish));
        self.granted[cpu as usize] -= ended;
    }

    fn balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, why: Balance) -> Option<TaskId> {
        if why == Balance::Idle { self.queue.pull(cx, cpu) } else { None }
    }
}
