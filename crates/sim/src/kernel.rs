//! The simulated kernel: its state. Its operations are in the other files, each of which adds to it.

use crate::{
    caches::Caches,
    clock::Clock,
    costs::Costs,
    cpu::Cpu,
    earliest::Earliest,
    process::Process,
    replayed::Replayed,
    resources::{Device, Resources},
    servers::Servers,
    speeds::Speeds,
    storage::Storage,
    timers::Timers,
};
use schedlab_model::{
    Nanos,
    attention::Attended,
    event::{Event, Kind, Observer},
    machine::Preemption,
    processors::{CpuSet, PerProcessor},
    rng::Rng,
    task::{CpuId, TaskId},
};
use schedlab_policies::schedulers::{View, Wishes};
use schedlab_workloads::Programs;

/// The limit of a run that has none: later than anything that happens, earlier than what never happens.
pub(crate) const FOREVER: Nanos = Nanos::MAX - 1;

/// How a system call is carried out.
pub(crate) enum Personality {
    /// In the caller's context.
    Monolithic(Box<Storage>),
    /// By servers.
    MessagePassing(Box<Servers>),
}

/// A simulated kernel under one scheduler, with one listener.
pub(crate) struct Kernel<S, O> {
    pub now: Nanos,
    pub limit: Nanos,
    pub scheduler: S,
    pub observer: O,
    /// What the scheduler sees, in one place, so that a hook is handed one reference to it.
    pub view: View,
    pub wishes: Wishes,
    pub processes: Vec<Process>,
    pub cpus: PerProcessor<Cpu>,
    /// Which of many processors has something to do first.
    pub earliest: Option<Box<Earliest>>,
    pub timers: Timers,
    pub clock: Clock,
    /// The statistics clock, if there is one apart.
    pub stat_clock: Option<Clock>,
    /// Whether ticks that only count may be passed over, see [`Kernel::boot`].
    pub passes_ticks: bool,
    /// The same while all processors are idle.
    pub passes_idle_ticks: bool,
    /// Timers expire at ticks only.
    pub tick_timers: bool,
    pub costs: Costs,
    pub sampled: bool,
    /// Interrupts and switching are charged to the running task.
    pub charges_interrupts: bool,
    pub preemption: Preemption,
    /// Processors whose task is to be preempted as soon as it leaves the kernel.
    pub deferred: CpuSet,
    pub policy_rng: Rng,
    /// What moving from task to task and from processor to processor costs in caches, if it does; and how long tasks have run, if attention asks.
    pub caches: Option<Box<Caches>>,
    /// The rule of attention, where an experiment has one.
    pub attended: Option<Box<Attended>>,
    /// How fast processors are, where they are not all alike at all times.
    pub speeds: Option<Box<Speeds>>,
    pub devices: Vec<Device>,
    pub device_rng: Rng,
    /// Timers that are always set: of devices, of the statistics clock and of attention.
    pub perpetual: usize,
    pub programs: Programs,
    /// For each job, whether the run waits for it.
    pub finite: Vec<bool>,
    /// Tasks that the run waits for.
    pub awaited: u32,
    /// No job ends by itself: the run goes on to its limit.
    pub endless: bool,
    pub personality: Personality,
    pub resources: Resources,
    /// What tasks of a recording do again, if there are any.
    pub replayed: Option<Box<Replayed>>,
    /// Tasks that wait for the drive.
    pub disk_waiters: u32,
    /// The task that runs without advancing the clock.
    pub stuck: Option<TaskId>,
    pub seed: u64,
}

/// What a policy may see of this kernel, borrowed apart from the policy itself.
macro_rules! context {
    ($kernel:ident) => {
        Context { now: $kernel.now, view: &$kernel.view, rng: &mut $kernel.policy_rng, wishes: &mut $kernel.wishes }
    };
}
pub(crate) use context;

impl<S, O: Observer> Kernel<S, O> {
    /// Whether this task belongs to the kernel itself.
    #[inline]
    pub fn is_kernel(&self, task: TaskId) -> bool {
        self.processes[task as usize].kernel
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn emit(&mut self, kind: Kind, flag: u8, cpu: CpuId, task: TaskId, a: u64, b: u64) {
        self.observer.observe(Event { time: self.now, a, b, task, cpu, kind, flag });
    }
}
