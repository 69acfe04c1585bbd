//! What is kept of a task while it lives, and of a job for good.

use crate::distribution::Distribution;
use schedlab_model::{
    Nanos,
    event::{Leave, Sample},
};

/// How a task came into the runqueue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It had been waiting for something.
    Woken = Place::ReadyWoken as isize,
    /// It is new, or the processor was taken from it.
    Taken = Place::ReadyTaken as isize,
    /// It gave the processor up.
    Yielded = Place::ReadyYielded as isize,
}

/// Where a task is: in the runqueue for a [`Cause`], whose number it has then, or elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    ReadyWoken,
    ReadyTaken,
    ReadyYielded,
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
    /// Index of its job.
    pub job: u32,
    /// Its nice value and 128.
    pub level: u8,
    /// Started by the workload, not forked by a task.
    pub first: bool,
    pub place: Place,
}

const _: () = assert!(size_of::<Task>() == 32);

impl Task {
    pub fn new(created: Nanos, job: u32, level: u8, first: bool) -> Self {
        Task { created, since: created, ran: 0, job, level, first, place: Place::Waiting }
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
    /// Waits in the runqueue, by [`Cause`]. Those that did not end on a processor, because the task or the run ended first, are
    /// censored.
    pub waits: [Distribution; 3],
    pub pass_time: Distribution,
    pub lateness: Distribution,
    pub misses: u64,
    pub response: Distribution,
    pub queueing: Distribution,
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
        [Cause::Woken, Cause::Taken].map(|cause| self.waits[cause as usize].longest()).into_iter().fold(0, Nanos::max)
    }

    /// The longest wait for a processor, whatever led to it.
    pub fn longest_wait(&self) -> Nanos {
        self.waits.iter().map(Distribution::longest).fold(0, Nanos::max)
    }

    /// True processor time of its tasks in their own code, ns.
    pub fn user(&self) -> Nanos {
        self.ran.saturating_sub(self.system)
    }

    /// Takes over the processor time of one of its tasks.
    pub fn collect(&mut self, task: &mut Task) {
        self.ran = self.ran.saturating_add(std::mem::take(&mut task.ran));
    }

    /// A task left the runqueue without getting a processor, or the run ended.
    pub fn unserved(&mut self, waited: Nanos, cause: Cause) {
        self.waits[cause as usize].censor(waited);
    }

    /// The run ended before a task did, which has had so much processor time.
    pub fn cut(&mut self, age: Nanos, ran: Nanos) {
        self.response.censor(age);
        self.queueing.censor(age.saturating_sub(ran));
    }

    /// A task ended at `time`, with all its processor time known, and left `unused` bytes of its memory untouched.
    pub fn settle(&mut self, task: &Task, time: Nanos, unused: u64) {
        let response = time.saturating_sub(task.created);
        self.ended += 1;
        self.response.record(response);
        self.queueing.record(response.saturating_sub(task.ran));
        self.memory_unused += u128::from(unused);
        if task.first {
            self.first_ended += 1;
            self.first_real += u128::from(response);
        }
    }
}
