//! What is kept of a task while it lives, and of a job for good.

use crate::{distribution::Distribution, jain::Jain};
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    event::{Leave, Sample},
};

/// Shorter tasks count as this long in the bounded slowdown. Feitelson and Rudolph (1998) take 10 s for the batch jobs of
/// supercomputers; a request of a server or an interactive command is a thousand times shorter.
const BOUND: Nanos = 10 * MILLISECOND;

/// How a task came into the runqueue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It had been waiting for something.
    Woken = Place::ReadyWoken as isize,
    /// The processor was taken from it.
    Taken = Place::ReadyTaken as isize,
    /// It gave the processor up.
    Yielded = Place::ReadyYielded as isize,
    /// It is new.
    New = Place::ReadyNew as isize,
}

/// Where a task is: in the runqueue for a [`Cause`], whose number it has then, or elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    ReadyWoken,
    ReadyTaken,
    ReadyYielded,
    ReadyNew,
    Waiting,
    Running,
    /// Its end is known, but not yet its last time on the processor.
    Exiting,
    Ended,
}

impl Place {
    /// Why it is in the runqueue, if it is.
    pub fn cause(self) -> Option<Cause> {
        match self {
            Place::ReadyWoken => Some(Cause::Woken),
            Place::ReadyTaken => Some(Cause::Taken),
            Place::ReadyYielded => Some(Cause::Yielded),
            Place::ReadyNew => Some(Cause::New),
            Place::Waiting | Place::Running | Place::Exiting | Place::Ended => None,
        }
    }
}

/// A task. Kept small: a run may have millions of them.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub created: Nanos,
    /// When it came to its present place.
    pub since: Nanos,
    /// True processor time it has had, ns.
    pub ran: Nanos,
    /// Time it has spent in the runqueue until it last got a processor, ns.
    pub waited: Nanos,
    /// Since when it has been in the runqueue or on a processor, unless it waits for something.
    pub able: Nanos,
    /// Index of its job.
    pub job: u32,
    /// Its nice value and 128.
    pub level: u8,
    /// Started by the workload, not forked by a task.
    pub first: bool,
    pub place: Place,
}

const _: () = assert!(size_of::<Task>() == 48);

impl Task {
    pub fn new(created: Nanos, job: u32, level: u8, first: bool) -> Self {
        Task { created, since: created, ran: 0, waited: 0, able: created, job, level, first, place: Place::Waiting }
    }
}

/// A job, its forked children included.
#[derive(Debug, Clone, Default)]
pub(crate) struct Job {
    pub created: u64,
    pub ended: u64,
    /// Page faults: without waiting, from files, from the swap area.
    pub faults: [u64; 3],
    /// First-generation tasks, those of them that ended, and their times from creation to exit, ns.
    pub first: u64,
    pub first_ended: u64,
    pub first_real: u128,
    /// True processor time of its tasks, ns, and how much of it was in the kernel. All of it is known at the end of a run:
    /// meanwhile each task counts its own.
    pub ran: Nanos,
    pub system: Nanos,
    /// Processor time as the ticks charged it, ns, by [`Sample`].
    pub sampled: [Nanos; 3],
    /// Switch-outs, by [`Leave`].
    pub left: [u64; 6],
    /// Times that one of its tasks moved to another processor.
    pub migrations: u64,
    /// Waits in the runqueue, by [`Cause`]. Those that did not end on a processor, because the task or the run ended first, are
    /// censored.
    pub waits: [Distribution; 4],
    pub pass_time: Distribution,
    pub lateness: Distribution,
    pub misses: u64,
    /// From sending a message to its receiver's being done with it, and from requesting a lock or a permit to going on with it.
    pub message_latency: Distribution,
    pub lock_latency: Distribution,
    pub turnaround: Distribution,
    pub queueing: Distribution,
    /// Time in the runqueue of each task that ended.
    pub waiting: Distribution,
    /// Turnaround over processor time, in units of 1e-9.
    pub slowdown: Distribution,
    pub bounded_slowdown: Distribution,
    /// Over the processor time of its tasks per time that each was there.
    pub jain: Jain,
    /// Jain's index in each window of time, in units of 1e-9.
    pub jain_in_windows: Distribution,
    /// Time of those in which it was low, ns.
    pub uneven: Nanos,
    pub signals_overlapped: u64,
    pub memory_refused: u64,
    /// Tasks whose reservation was refused.
    pub refused: u64,
    /// Tasks that can never go on, and those of them that are of the first generation.
    pub stuck: u64,
    pub stuck_first: u64,
    /// Bytes set aside and not used, of the tasks that ended.
    pub memory_unused: u128,
}

impl Job {
    pub fn sampled(&self, sample: Sample) -> Nanos {
        self.sampled[sample as usize]
    }

    pub fn voluntary_switches(&self) -> u64 {
        [Leave::Yielded, Leave::Blocked, Leave::Exited].iter().map(|&why| self.left[why as usize]).sum()
    }

    pub fn involuntary_switches(&self) -> u64 {
        [Leave::Preempted, Leave::SliceEnd].iter().map(|&why| self.left[why as usize]).sum()
    }

    pub fn wakeup_latency(&self) -> &Distribution {
        &self.waits[Cause::Woken as usize]
    }

    pub fn run_wait(&self) -> Distribution {
        let mut all = self.waits[0].clone();
        self.waits[1..].iter().for_each(|part| all.merge(part));
        all
    }

    /// Time in the runqueue of all tasks, ns.
    pub fn waited(&self) -> u128 {
        self.waits.iter().map(|waits| waits.sum() + waits.censored_sum()).sum()
    }

    /// The longest wait for a processor that was not a task's own wish.
    pub fn longest_gap(&self) -> Nanos {
        [Cause::Woken, Cause::Taken, Cause::New]
            .map(|cause| self.waits[cause as usize].longest())
            .into_iter()
            .fold(0, Nanos::max)
    }

    /// The longest wait for a processor, whatever led to it.
    pub fn longest_wait(&self) -> Nanos {
        self.waits.iter().map(Distribution::longest).fold(0, Nanos::max)
    }

    /// True processor time of its tasks in their own code, ns.
    pub fn user(&self) -> Nanos {
        self.ran.saturating_sub(self.system)
    }

    /// From a task's creation to its first time on a processor.
    pub fn response(&self) -> &Distribution {
        &self.waits[Cause::New as usize]
    }

    /// Takes over the processor time of one of its tasks.
    pub fn collect(&mut self, task: &mut Task) {
        self.ran = self.ran.saturating_add(std::mem::take(&mut task.ran));
    }

    /// A task left the runqueue without getting a processor, or the run ended.
    pub fn unserved(&mut self, waited: Nanos, cause: Cause) {
        self.waits[cause as usize].censor(waited);
    }

    /// A task had that much processor time while it was there.
    fn had(&mut self, ran: Nanos, there: Nanos) {
        if there > 0 {
            self.jain.add(ran as f64 / there as f64);
        }
    }

    /// The run ended before a task did.
    pub fn cut(&mut self, task: &Task, end: Nanos) {
        let age = end.saturating_sub(task.created);
        let waits = if task.place.cause().is_some() { end.saturating_sub(task.since) } else { 0 };
        self.had(task.ran, age);
        self.turnaround.censor(age);
        self.queueing.censor(age.saturating_sub(task.ran));
        self.waiting.censor(task.waited.saturating_add(waits));
        // The ratio of a task that goes on may rise or fall; it is at least 1.
        self.slowdown.censor(SECOND);
        self.bounded_slowdown.censor(SECOND);
    }

    /// A task ended at `time`, with all its processor time known, and left `unused` bytes of its memory untouched.
    pub fn settle(&mut self, task: &Task, time: Nanos, unused: u64) {
        let turnaround = time.saturating_sub(task.created);
        self.ended += 1;
        self.had(task.ran, turnaround);
        self.turnaround.record(turnaround);
        self.queueing.record(turnaround.saturating_sub(task.ran));
        self.waiting.record(task.waited);
        if task.ran > 0 {
            self.slowdown.record(slowdown(turnaround, task.ran));
            self.bounded_slowdown.record(bounded_slowdown(turnaround, task.ran));
        }
        self.memory_unused += u128::from(unused);
        if task.first {
            self.first_ended += 1;
            self.first_real += u128::from(turnaround);
        }
    }
}

/// slowdown = turnaround / processor time, in units of 1e-9, as a distribution keeps it: lengths of time are read in seconds, so this
/// is read as a ratio. The processor time is more than 0.
pub fn slowdown(turnaround: Nanos, ran: Nanos) -> u64 {
    (u128::from(turnaround) * u128::from(SECOND) / u128::from(ran)).try_into().unwrap_or(u64::MAX)
}

/// bounded slowdown = turnaround / processor time, where neither less than 10 ms of processor time nor a ratio below 1 counts, in units
/// of 1e-9.
pub fn bounded_slowdown(turnaround: Nanos, ran: Nanos) -> u64 {
    slowdown(turnaround, ran.max(BOUND)).max(SECOND)
}
