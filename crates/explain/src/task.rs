//! A task: its state, and the sums of what it did.

use crate::{
    blocks::Series,
    cause::Cause,
    distribution::Distribution,
    slot::{NONE, Slot},
    wakers::NO_EDGE,
};
use schedlab_traces::kernel::{Call, Pid};

/// What a task does, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing was seen of it.
    Unseen,
    /// It runs.
    Running,
    /// It was switched out in state R.
    Preempted,
    /// It was switched out in a sleeping state.
    Blocked,
    /// It was switched out in a stopped state.
    Stopped,
    /// It was woken and waits for a processor.
    Woken,
    /// It is new and waits for its first run.
    New,
    /// An event is missing: it left its processor, and how is unknown.
    Lost,
    /// It ended.
    Dead,
}

impl State {
    /// Whether it waits in a runqueue.
    pub fn waits(self) -> bool {
        matches!(self, State::Preempted | State::Woken | State::New)
    }
}

/// A waking: by what, and the place of waker and woken in the table of wakers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Waking {
    pub time: u64,
    pub cause: Cause,
    pub waker: Slot,
}

/// How its time was spent, ns. All of it together is the time from its beginning (or that of the recording) to its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// In whole runs.
    pub run: u64,
    /// From wakings to the switches in.
    pub wakeup: u64,
    /// From switches out in state R to the switches in.
    pub preempted: u64,
    /// From its making to its first switch in.
    pub start: u64,
    /// Asleep or stopped, by cause of the end.
    pub blocked: [u64; Cause::ALL.len()],
    /// Events are missing.
    pub unknown: u64,
    /// Before its first event, running or not.
    pub before: u64,
    /// After its last event: running, waiting, asleep.
    pub after: [u64; 3],
}

impl Spent {
    /// Asleep or stopped, whatever the cause.
    pub fn all_blocked(&self) -> u64 {
        self.blocked.iter().sum()
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        let waits = self.wakeup + self.preempted + self.start;
        self.run + waits + self.all_blocked() + self.unknown + self.before + self.after.iter().sum::<u64>()
    }

    /// Adds that of another task. The times of many tasks of a hostile file may be more than fits.
    pub fn add(&mut self, other: &Spent) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.run, other.run);
        add(&mut self.wakeup, other.wakeup);
        add(&mut self.preempted, other.preempted);
        add(&mut self.start, other.start);
        add(&mut self.unknown, other.unknown);
        add(&mut self.before, other.before);
        self.blocked.iter_mut().zip(other.blocked).for_each(|(sum, more)| add(sum, more));
        self.after.iter_mut().zip(other.after).for_each(|(sum, more)| add(sum, more));
    }
}

/// How often what happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Switches out in a sleeping state, or at its end.
    pub voluntary: u64,
    /// Switches out in state R.
    pub preempted: u64,
    /// Wakeups that were followed by a switch in.
    pub wakeups: u64,
    /// Of these, those whose time of the switch in is not known.
    pub unmeasured: u64,
    /// Times it came back from sleep without a waking.
    pub unwoken: u64,
    /// `sched_migrate_task`.
    pub migrated: u64,
    /// Switches in on another processor than that of the run before.
    pub moved: u64,
}

impl Counts {
    pub fn add(&mut self, other: &Counts) {
        self.voluntary += other.voluntary;
        self.preempted += other.preempted;
        self.wakeups += other.wakeups;
        self.unmeasured += other.unmeasured;
        self.unwoken += other.unwoken;
        self.migrated += other.migrated;
        self.moved += other.moved;
    }
}

/// A waking that may have come while the task ran, where no switch to it was recorded: what it was charged says so.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Again {
    pub waking: Waking,
    /// What was taken for it before it was taken for woken, and when that was.
    pub had: Option<(Before, u64)>,
}

/// How a task was seen before a waking.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Before {
    pub state: State,
    pub since: u64,
    pub waking: Option<Waking>,
}

/// A task of a recording.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub pid: Pid,
    pub tgid: Option<Pid>,
    /// The number of its name.
    pub name: Option<u64>,
    pub state: State,
    /// Since when.
    pub since: u64,
    /// Since when there is such a task, or the recording.
    pub born: u64,
    /// Where it runs, or ran last.
    pub cpu: Option<u16>,
    /// In whose runqueue it waits.
    pub queue: Option<u16>,
    /// The waking that it waits after, or that it had while it was still running.
    pub waking: Option<Waking>,
    /// The last one since it was seen to run.
    pub again: Option<Again>,
    /// Its place in the table of wakers for that waking.
    pub edge: u32,
    /// The waker of its last waking, whose place that is.
    pub last_waker: Slot,
    /// Who took the processor from it.
    pub preempter: Slot,
    /// The task that made it during the recording.
    pub parent: Slot,
    /// The system call that it is in, and how often events had been lost when it entered it.
    pub call: (Call, u32),
    /// The one that it sleeps in.
    pub sleeps_in: Call,
    /// How long it had slept when it was woken, ns.
    pub slept: u64,
    /// What it was charged since its last switch, ns.
    pub charged: u64,
    /// The kernel's priority, nice value and policy, where known.
    pub priority: u32,
    pub nice: Option<i32>,
    pub policy: Option<u8>,
    pub spent: Spent,
    pub counts: Counts,
    pub latency: Distribution,
    pub runs: Distribution,
    pub preempt_waits: Distribution,
    pub series: Series,
}

impl Task {
    /// The system call that it is in; not known if its exit may be among the events that were lost since.
    #[inline]
    pub fn call(&self, losses: u32) -> Call {
        if self.call.1 == losses { self.call.0 } else { Call::Other }
    }

    pub fn new(pid: Pid, born: u64) -> Task {
        Task {
            pid,
            tgid: None,
            name: None,
            state: State::Unseen,
            since: born,
            born,
            cpu: None,
            queue: None,
            waking: None,
            again: None,
            edge: NO_EDGE,
            last_waker: NONE,
            preempter: NONE,
            parent: NONE,
            call: (Call::Other, 0),
            sleeps_in: Call::Other,
            slept: 0,
            charged: 0,
            priority: 0,
            nice: None,
            policy: None,
            spent: Spent::default(),
            counts: Counts::default(),
            latency: Distribution::default(),
            runs: Distribution::default(),
            preempt_waits: Distribution::default(),
            series: Series::default(),
        }
    }
}
