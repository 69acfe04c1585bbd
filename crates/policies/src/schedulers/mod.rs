//! CPU policies: the interface between a kernel and its scheduler, and the table of all of them.
//!
//! Long, because an interface is defined in one place.
//!
//! A task is at any time in one of four states, and the hooks follow its life:
//!
//! ```text
//!   created -> select_cpu, enqueue(New) -> READY -> pick_next -> RUNNING -> dequeue(Exit)
//!                                            ^                     |
//!                                            |<- enqueue(Preempted, SliceEnd, Yield)
//!   wakeup ->  select_cpu, enqueue(Wakeup) --'                     '-> dequeue(Sleep) -> ASLEEP
//! ```
//!
//! What the kernel guarantees: `charge` is called before every hook that ends a CPU burst; a picked task is returned by
//! exactly one `enqueue` or `dequeue`; hooks of one run are called in order of time. Whether a running task stays in the
//! policy's own list (Minix) or leaves it (most others) is up to the policy.

use schedlab_model::{
    Nanos,
    info::{Info, Params},
    processors::{CpuSet, PerProcessor},
    rng::Rng,
    task::{CpuId, Group, Task, TaskId, Wait},
    topology::Topology,
};
use std::ops::Deref;

mod classic;
mod freebsd;
mod kit;
mod linux;
mod unix;

pub use classic::*;
pub use freebsd::*;
pub use linux::*;
pub use unix::*;

/// Why a task joins the runqueue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueue {
    /// It was just created.
    New,
    /// What it waited for has occurred.
    Wakeup,
    /// It was running and was preempted by a better task.
    Preempted,
    /// It was running and its slice ended.
    SliceEnd,
    /// It was running and yielded.
    Yield,
    /// It comes from another processor, or its record has changed ([`Scheduler::changed`]).
    Migrate,
}

/// Why a task leaves the runqueue (or, if it was running, is not coming back to it).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dequeue {
    /// It waits for that.
    Sleep(Wait),
    /// It ended. A parent that waits for it has been woken before.
    Exit,
    /// It goes to another processor, or its record changes.
    Migrate,
}

/// Why a processor looks for work elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Balance {
    /// It has nothing to run.
    Idle,
    /// A tick; the policy decides how often it acts.
    Tick,
}

/// Whether a task that became ready preempts the running one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preempt {
    /// No.
    No,
    /// As soon as the machine's kernel can preempt the running task: at once in its own code, see
    /// [`Preemption`](schedlab_model::machine::Preemption) inside the kernel.
    Yes,
    /// At once, wherever the running task is.
    AtOnce,
}

impl From<bool> for Preempt {
    fn from(preempts: bool) -> Preempt {
        if preempts { Preempt::Yes } else { Preempt::No }
    }
}

/// The clocks of a machine, in ticks per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clocks {
    /// The periodic clock.
    pub hz: f64,
    /// The statistics clock, if there is one.
    pub stat_hz: Option<f64>,
}

/// The choice of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pick {
    /// The task that runs next.
    pub task: TaskId,
    /// For how long at most, if the policy sets a limit other than its ticks.
    pub slice: Option<Nanos>,
}

/// Numbers of ticks, of the periodic clock and of the statistics clock separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ticks {
    /// Of the periodic one.
    pub clock: u64,
    /// Of the other.
    pub statistics: u64,
}

impl Ticks {
    /// As many as there are.
    pub const ALL: Ticks = Ticks { clock: u64::MAX, statistics: u64::MAX };
}

/// A processor as its scheduler sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Processor {
    /// The task that runs, if any.
    pub running: Option<TaskId>,
    /// The user task on whose behalf the processor works: the last one chosen, even while a server or a driver
    /// works for it; none while idle.
    pub billed: Option<TaskId>,
}

/// What a policy may know of the machine and its tasks.
#[derive(Debug, Default)]
pub struct View {
    /// Length of a clock tick.
    pub tick: Nanos,
    /// All tasks, by id.
    pub tasks: Vec<Task>,
    /// All groups, by id; 0 is the root.
    pub groups: Vec<Group>,
    /// All processors, by id.
    pub processors: PerProcessor<Processor>,
    /// Those on which no task runs, kept by [`View::runs`]: a search for one looks at no others.
    pub idle: CpuSet,
    /// What they share.
    pub topology: Topology,
    /// The running task where a task is woken or created; none if an interrupt or a timer does it.
    pub waker: Option<TaskId>,
    /// What an oracle reports for each task, by id: the processor time it needs before it next waits or ends, as of when it
    /// last became ready. Empty unless the policy is [`Features::clairvoyant`].
    pub bursts: Vec<Nanos>,
}

impl View {
    /// Of a machine with that number of processors, all of them idle.
    pub fn of(processors: u16) -> View {
        let idle = CpuSet::all(processors.into());
        View { processors: PerProcessor::new(processors, |_| Processor::default()), idle, ..View::default() }
    }

    /// From now on this task, or none, runs on a processor.
    #[inline(always)]
    pub fn runs(&mut self, cpu: usize, task: Option<TaskId>) {
        self.processors[cpu].running = task;
        self.idle.set(cpu as CpuId, task.is_none());
    }
}

/// What a policy may know and ask for. Made for each call of a hook, so it is small; the machine's fields are accessible
/// as if they were its own: `cx.tasks`.
pub struct Context<'a> {
    /// The time.
    pub now: Nanos,
    /// The machine, its tasks and groups.
    pub view: &'a View,
    /// Random numbers of the policy's own.
    pub rng: &'a mut Rng,
    /// What the policy asks of the kernel; looked at after each hook.
    pub wishes: &'a mut Wishes,
}

/// What a policy asks of the kernel.
#[derive(Debug, Default)]
pub struct Wishes {
    /// Processors that should reschedule: as soon as the kernel can preempt the running task.
    pub resched: CpuSet,
    /// Those of them that should do so at once, even if the running task is inside the kernel.
    pub at_once: CpuSet,
    /// Timers to set: (when, processor, token); [`Scheduler::timer`] is called with the token.
    pub timers: Vec<(Nanos, CpuId, u32)>,
    /// Tasks to move, queued or running, and the processors to which they go.
    pub moves: Vec<(TaskId, CpuId)>,
    /// Processors for which [`Scheduler::balance`] is to be called at this tick, in this order.
    pub balances: Vec<CpuId>,
}

impl Deref for Context<'_> {
    type Target = View;

    #[inline(always)]
    fn deref(&self) -> &View {
        self.view
    }
}

impl Context<'_> {
    /// Requests a reschedule on `cpu`, as soon as the kernel can preempt the running task.
    pub fn resched(&mut self, cpu: CpuId) {
        self.wishes.resched.insert(cpu);
    }

    /// Requests a reschedule on `cpu` at once, even if the running task is inside the kernel.
    pub fn resched_at_once(&mut self, cpu: CpuId) {
        self.wishes.resched.insert(cpu);
        self.wishes.at_once.insert(cpu);
    }

    /// Moves a task, queued or running, to another processor as soon as the hook is over, if it can run then and may run there. (The
    /// kernel's stopper, and what one processor pushes to another.)
    pub fn move_to(&mut self, task: TaskId, to: CpuId) {
        self.wishes.moves.push((task, to));
    }

    /// Asks, when balancing at a tick, for the same for another processor as soon as that for this one is over.
    pub fn balance_for(&mut self, cpu: CpuId) {
        self.wishes.balances.push(cpu);
    }

    /// Asks for a call of [`Scheduler::timer`] at the time `when`.
    pub fn set_timer(&mut self, when: Nanos, cpu: CpuId, token: u32) {
        self.wishes.timers.push((when, cpu, token));
    }
}

/// What a policy wants of the kernel beyond the six hooks that every policy has. Each costs time in the simulator's loop where
/// it is wanted, and none where it is not: these are constants of the policy's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// [`Scheduler::tick`]. Where no policy wants ticks, the simulator omits them.
    pub ticks: bool,
    /// [`Scheduler::stat_tick`].
    pub stat_ticks: bool,
    /// [`Scheduler::interrupted`].
    pub interrupts: bool,
    /// [`Scheduler::return_to_user`].
    pub user_returns: bool,
    /// The running task is charged up to the instant before [`Scheduler::enqueue`] and [`Scheduler::wakeup_preempts`] are
    /// called for a woken one, and the running tasks of all processors before [`Scheduler::timer`]. Otherwise a task has been charged up to
    /// its last event, which is cheaper.
    pub charges_at_wakeups: bool,
    /// [`Scheduler::quiet_ticks`] and [`Scheduler::pass_ticks`]. Between ticks that were passed over, processor time is charged
    /// in one piece, which must have the same effect as several. The running task has all of it: no switch or interrupt takes a
    /// part of the first.
    pub passes_ticks: bool,
    /// [`Scheduler::idle_ticks`] and [`Scheduler::pass_idle_ticks`].
    pub passes_idle_ticks: bool,
    /// The oracle, [`Context::bursts`](View::bursts). No real kernel has one.
    pub clairvoyant: bool,
}

impl Features {
    /// None of them: the six hooks are enough.
    pub const NONE: Features = Features {
        ticks: false,
        stat_ticks: false,
        interrupts: false,
        user_returns: false,
        charges_at_wakeups: false,
        passes_ticks: false,
        passes_idle_ticks: false,
        clairvoyant: false,
    };
}

/// A CPU policy: six hooks, of which `enqueue`, `dequeue` and `pick_next` have no default, and those of its [`Features`].
pub trait Scheduler: Sized {
    /// Its entry in the table.
    const INFO: Info;
    /// What it wants beyond the six hooks.
    const FEATURES: Features = Features::NONE;

    /// Makes the policy for a machine with the given processors and length of a tick.
    fn new(params: &Params, topology: &Topology, tick: Nanos) -> Self;

    /// Chooses the processor for a new or woken task, or for one that may no longer use the one where it is queued
    /// ([`Enqueue::Migrate`]). Default: where it was, if it still may run there. Not asked where there
    /// is but one processor.
    #[inline]
    fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, _why: Enqueue) -> CpuId {
        cx.tasks[task as usize].last_or_first()
    }

    /// A task joins the runqueue of `cpu`.
    fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue);

    /// A task, queued or running, leaves.
    fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Dequeue);

    /// Chooses the task that runs on `cpu` and for how long; `None` makes it idle.
    fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick>;

    /// The running task used `ran` ns of processor time.
    #[inline]
    fn charge(&mut self, _cx: &mut Context<'_>, _cpu: CpuId, _task: TaskId, _ran: Nanos) {}

    /// Whether `woken`, just enqueued on `cpu`, preempts `running`.
    #[inline]
    fn wakeup_preempts(&mut self, _cx: &mut Context<'_>, _cpu: CpuId, _running: TaskId, _woken: TaskId) -> Preempt {
        Preempt::No
    }

    // These are called only for policies with the feature, or only where the policy requested it, or rarely; the defaults do nothing.

    /// The clocks it wants; its parameters may say so. Default: those of the machine.
    fn clocks(_params: &Params, machine: Clocks) -> Clocks {
        machine
    }

    /// Whether it wants [`Scheduler::tick`] with these parameters, if it has the feature. Default: always.
    fn ticks(_params: &Params) -> bool {
        Self::FEATURES.ticks
    }

    /// Chooses the processor for a running task that executes another program. Default: it stays. Not asked where there is but one processor.
    #[inline]
    fn exec_cpu(&mut self, cx: &mut Context<'_>, task: TaskId) -> CpuId {
        cx.tasks[task as usize].cpu
    }

    /// The running task leaves the kernel for its own code: after a system call, or after a wait that ended.
    #[inline]
    fn return_to_user(&mut self, _cx: &mut Context<'_>, _cpu: CpuId, _task: TaskId) {}

    /// A clock tick on `cpu`, idle or not.
    #[inline]
    fn tick(&mut self, _cx: &mut Context<'_>, _cpu: CpuId) {}

    /// A tick of the statistics clock on `cpu`, idle or not; of the periodic clock, where there is no other.
    #[inline]
    fn stat_tick(&mut self, _cx: &mut Context<'_>, _cpu: CpuId) {}

    /// How many upcoming ticks are no-ops: while `running` continues and nothing else happens, they request nothing, and
    /// their effect depends only on how many there are of each clock. A number lower than the true one is allowed. Only
    /// asked where there is one processor.
    #[inline]
    fn quiet_ticks(&self, _cx: &Context<'_>, _cpu: CpuId, _running: TaskId) -> Ticks {
        Ticks::default()
    }

    /// Accounts for n quiet ticks that have passed, in place of a call for each.
    #[inline]
    fn pass_ticks(&mut self, _cx: &Context<'_>, _cpu: CpuId, _running: TaskId, _ticks: Ticks) {}

    /// As [`Scheduler::quiet_ticks`], while all processors are idle: how many upcoming ticks request nothing, pull nothing, and have
    /// an effect that depends only on their number. A tick of all processors counts once.
    #[inline]
    fn idle_ticks(&self, _cx: &Context<'_>) -> Ticks {
        Ticks::default()
    }

    /// Whether a tick of this idle processor does nothing at all now, while others are busy: it requests and pulls nothing, and nothing
    /// remembers it. Such ticks are omitted.
    #[inline(always)]
    fn omits_tick(&self, _cx: &Context<'_>, _cpu: CpuId) -> bool {
        false
    }

    /// Accounts for n such ticks that have passed on every processor, looks for work included.
    #[inline]
    fn pass_idle_ticks(&mut self, _cx: &Context<'_>, _ticks: Ticks) {}

    /// A timer or a device interrupted `cpu`, and its handler is done. Kernels whose handlers are threads have switched to
    /// one and back: such a policy asks for a new choice here.
    #[inline]
    fn interrupted(&mut self, _cx: &mut Context<'_>, _cpu: CpuId) {}

    /// Whether it grants the reservation of a new task; else the task is an ordinary one. Only asked of tasks that have one.
    fn admits(&mut self, _cx: &mut Context<'_>, _task: TaskId) -> bool {
        true
    }

    /// The record of a task is not what it was: its nice value, policy, priority, slice, group or processors. It runs on `cpu`, or
    /// sleeps, or was just taken from the runqueue ([`Dequeue::Migrate`]) and joins it again next. A policy that keeps what follows
    /// from a record brings that up to date here, and asks for a new choice where the original does. Default: nothing, for policies
    /// that look at the record whenever they need it.
    #[inline]
    fn changed(&mut self, _cx: &mut Context<'_>, _cpu: CpuId, _task: TaskId, _before: &Task) {}

    /// A parent learns of the end of one of its children by waiting for it: in its own call, which goes on when it runs after the child
    /// has woken it. The child has left its processor ([`Dequeue::Exit`]); in a message-passing kernel it sleeps, for it asks a server to end
    /// it and waits.
    fn reaped(&mut self, _cx: &mut Context<'_>, _parent: TaskId, _child: TaskId) {}

    /// Whether this tick's work is more than the interrupt itself may do, so that it must be left to the kernel's
    /// clock task ([`Scheduler::clock_task`]) in place of [`Scheduler::tick`].
    #[inline]
    fn tick_needs_clock_task(&self, _cx: &Context<'_>, _cpu: CpuId) -> bool {
        false
    }

    /// The clock task runs after a tick that needed it (or that had an alarm due). A kernel without such a task calls
    /// this within the tick.
    #[inline]
    fn clock_task(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        self.tick(cx, cpu);
    }

    /// A timer that the policy set has expired.
    #[inline]
    fn timer(&mut self, _cx: &mut Context<'_>, _cpu: CpuId, _token: u32) {}

    /// A queued task that `cpu` should pull from another processor, if any. At a tick it is called until it names no task.
    #[inline]
    fn balance(&mut self, _cx: &mut Context<'_>, _cpu: CpuId, _why: Balance) -> Option<TaskId> {
        None
    }
}

/// Something to do with a scheduler whose type is known to the compiler: the simulator is compiled once for each policy,
/// so that no call in its loop is looked up at run time.
pub trait Visitor {
    /// What comes of it.
    type Output;
    /// Does it.
    fn visit<S: Scheduler>(self) -> Self::Output;
}

/// A set of policies that are looked up by name: [`All`], a single policy, or a pair of sets. The simulator is compiled for
/// the policies of the set that it is given, and for no others.
pub trait Table {
    /// Passes the policy of that name to the visitor; `None` if the set has no such policy.
    fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Output>;
}

impl<S: Scheduler> Table for S {
    fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
        (name == S::INFO.name).then(|| visitor.visit::<S>())
    }
}

impl<A: Table, B: Table> Table for (A, B) {
    fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
        // Only one of the two sets can take the visitor, so the first one is asked whether it has the name.
        if A::visit(name, Present).is_some() { A::visit(name, visitor) } else { B::visit(name, visitor) }
    }
}

/// Asks only whether there is such a policy.
struct Present;

impl Visitor for Present {
    type Output = ();

    fn visit<S: Scheduler>(self) {}
}

/// The policies of this crate.
#[derive(Debug, Clone, Copy)]
pub struct All;

macro_rules! table {
    ($($policy:ty),* $(,)?) => {
        /// The entries of [`All`].
        pub const SCHEDULERS: &[Info] = &[$(<$policy as Scheduler>::INFO),*];

        impl Table for All {
            fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
                $(if name == <$policy as Scheduler>::INFO.name {
                    return Some(visitor.visit::<$policy>());
                })*
                None
            }
        }
    };
}

table![
    Bsd4,
    Bsd44x,
    Bsd452,
    Cfs,
    CfsV3,
    Edf,
    Eevdf,
    Fifo,
    Linux10,
    Lottery,
    Minix,
    Mlfq,
    Muqss,
    O1,
    RateMonotonic,
    RefreshCycle,
    RoundRobin,
    Rsdl,
    Srtf,
    Stride,
    Ule
];
