//! A task of a recording: its steps, and what is known of it while the events are read.

use crate::{
    causes::Cause,
    halting::Halting,
    pairing::Pairing,
    timers::{Starts, median},
    treatment::{Places, Policy, Treatment},
    yields::{Shown, Yield},
};
use schedlab_traces::kernel::{Left, Pid};

/// Less than one of that many waits is rare.
pub(crate) const RARE: usize = 20;

/// A step of a task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// Used its processor for that long, ns, interrupts left out.
    Compute(u64),
    /// Woke the task that waits for that edge.
    Signal {
        /// The edge.
        edge: u32,
        /// Whether for the processor on which it runs itself.
        here: bool,
    },
    /// Waited.
    Wait {
        /// From when, ns since the recording began.
        from: u64,
        /// Until when it was woken.
        to: u64,
        /// Why it ended.
        cause: Cause,
    },
    /// Found an answer of the task that it had woken before: that edge, which no event shows. See `find_hidden`.
    Found(u32),
    /// Has come to a round of a barrier, and goes on when all its tasks have come. See `meetings`.
    Meet {
        /// The round.
        number: u32,
        /// From when until when it waited, ns since the recording began; the last that comes does not.
        waited: Option<(u64, u64)>,
    },
    /// Sends a request to a server, and waits for its answer. This and the next three are put in by `calls`.
    Ask {
        /// The server.
        server: u32,
        /// Whether it waited for the answer in the recording.
        waited: bool,
    },
    /// Takes the next request.
    Take {
        /// The server that it is.
        server: u32,
        /// Whether it waited for one in the recording.
        waited: bool,
    },
    /// Answers the request that it took.
    Answer {
        /// The server that it is.
        server: u32,
        /// Whether it woke the client for the processor on which it runs itself.
        here: bool,
    },
    /// Waited for another task, and waits as long.
    Pause {
        /// From when, ns since the recording began.
        from: u64,
        /// Until when.
        to: u64,
    },
    /// Another task ran instead, though it could have gone on.
    Preempted,
    /// The same, but as it seems by its own wish: see `yields`.
    Yielded(Yield),
    /// Executed another program.
    Exec,
    /// Made that task.
    Fork(Pid),
    /// Ended.
    Exit,
}

impl Step {
    /// What these steps compute, ns.
    pub fn computed(steps: &[Step]) -> u64 {
        steps.iter().map(|step| if let Step::Compute(length) = step { *length } else { 0 }).sum()
    }
}

/// Packets to the same host that a task has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Send {
    /// When, ns since the recording began.
    pub at: u64,
    /// What it had computed before, in all, ns.
    pub work: u64,
}

/// One task.
#[derive(Debug)]
pub struct Task {
    /// Its number.
    pub pid: Pid,
    /// Its name, the last that it had.
    pub name: String,
    /// Whether it was made within the recording.
    pub forked: bool,
    /// The task that made it, if the recording shows it.
    pub parent: Option<Pid>,
    /// Its steps, in order.
    pub steps: Vec<Step>,
    /// When it was first seen, and when it ended, ns since the recording began.
    pub life: (u64, Option<u64>),
    /// How it was treated.
    pub(super) policy: Policy,
    pub(super) places: Places,
    pub(super) state: State,
    /// Since when it can run, while it waits for a processor.
    pub(super) ready: u64,
    /// Computed since the last step.
    pub(super) computed: u64,
    /// Computed by all its steps, ns.
    pub(super) done: u64,
    /// What it sent to the same host, in order.
    pub(crate) sends: Vec<Send>,
    /// Waits that were ended by packets to itself or from outside, by their steps.
    pub(super) doubtful: Vec<usize>,
    /// The task that preempted it, and whether that has waited since.
    pub(super) nested: Option<(Pid, bool)>,
    /// The task that it woke last, since it came to its processor.
    pub(super) asked: Option<Pid>,
    /// How often it woke a task again that had waited meanwhile, and had not left its processor: it needed no answer.
    pub(super) went_on: usize,
    pub(super) named: u64,
    /// It left its processor by a switch that was not recorded, and perhaps to sleep.
    pub(super) lost: bool,
    /// An event was recorded while it ran; and it left by such a switch once.
    pub(super) heard: bool,
    pub(super) vanished: bool,
    pub(super) halting: Halting,
    pub(super) pairing: Pairing,
    /// The processor for which it waits, as far as that is known, and whether it was preempted and has
    /// moved before: another might pull it.
    pub(super) queued: Option<(u16, bool)>,
    /// What other processors charged it since it can run, ns.
    pub(super) charged: u64,
    /// Whether what it waits for are locks.
    pub(super) locks: bool,
    /// How it left its processors while it could go on.
    pub(super) yields: Shown,
    /// How it started its timers.
    pub(crate) starts: Starts,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum State {
    /// On that processor since then; a waking that came while it was still there.
    Running(u16, u64, Option<(u64, Cause)>),
    Ready,
    Waiting(u64, Left),
    Dead,
}

impl Task {
    /// How it was treated, the last that was seen.
    pub fn treatment(&self) -> Treatment {
        Treatment { policy: self.policy, bound: self.places.bound(&self.name) }
    }

    /// Whether its waits for other tasks are waits for locks.
    pub fn locks(&self) -> bool {
        self.locks
    }

    /// The processor on which it was first seen.
    pub fn first_processor(&self) -> Option<u16> {
        self.places.first()
    }

    /// Processor time of all its steps, ns.
    pub fn work(&self) -> u64 {
        Step::computed(&self.steps)
    }

    /// Doubtful waits are from outside, unless they are rare among those for other tasks.
    pub(super) fn settle_doubts(&mut self) {
        let is_by_task = |step: &&Step| matches!(step, Step::Wait { cause: Cause::Task(_), .. });
        let certain = self.steps.iter().filter(is_by_task).count() - self.doubtful.len();
        if RARE * self.doubtful.len() <= certain {
            return;
        }
        for at in self.doubtful.drain(..) {
            if let Step::Wait { cause, .. } = &mut self.steps[at] {
                *cause = Cause::Outside;
            }
        }
    }

    /// Where it left by its own wish only as it seemed, it was preempted.
    pub(super) fn settle_yields(&mut self, ticks: bool) {
        for step in &mut self.steps {
            if let Step::Yielded(how) = *step
                && !self.yields.is_yield(how, ticks)
            {
                *step = Step::Preempted;
            }
        }
    }

    /// It needs the answers that it was found to have: it did not go on without them more often than it waited for others.
    pub(super) fn needs_answers(&self) -> bool {
        let by_tasks =
            self.steps.iter().filter(|step| matches!(step, Step::Wait { cause: Cause::Task(_), .. })).count();
        self.went_on <= by_tasks
    }

    /// Of its waits, more than half were ended by tasks that go on: by these edges.
    pub(super) fn mostly_waits_for(&self, lasting: &[bool]) -> bool {
        let (mut by_tasks, mut all) = (0, 0);
        for step in &self.steps {
            if let Step::Wait { cause, .. } = *step {
                by_tasks += usize::from(matches!(cause, Cause::Task(edge) if lasting[edge as usize]));
                all += 1;
            }
        }
        2 * by_tasks > all
    }

    /// How long it sleeps, in the median, if timers ended more than half of its waits.
    pub(super) fn usual_sleep(&self) -> Option<u64> {
        let waits = self.steps.iter().filter_map(|step| match *step {
            Step::Wait { from, to, cause } => Some((cause == Cause::Timer, to.saturating_sub(from))),
            _ => None,
        });
        let (sleeps, others): (Vec<_>, Vec<_>) = waits.partition(|&(by_timer, _)| by_timer);
        (sleeps.len() > others.len()).then(|| median(sleeps.into_iter().map(|(_, length)| length).collect()))
    }

    /// It left by a switch that was not recorded and is woken now: it had left to sleep. From when on.
    pub(super) fn slept_unseen(&mut self) -> Option<u64> {
        if self.state != State::Ready || !std::mem::take(&mut self.lost) {
            return None;
        }
        if self.steps.last() == Some(&Step::Preempted) {
            self.steps.pop();
        }
        Some(self.ready)
    }

    /// It runs, and was taken to have come at a time; it has at another.
    pub(super) fn came_at(&mut self, taken: u64, came: u64) {
        match &mut self.state {
            State::Running(_, since, _) if *since == taken && came > taken => *since = came,
            State::Running(..) if came > taken => self.come_later(came - taken),
            State::Running(..) => self.computed += taken - came,
            _ => {}
        }
    }

    /// It has come so much later: what it computed first since then was shorter.
    pub(super) fn come_later(&mut self, mut time: u64) {
        let stands = |step: &Step| matches!(step, Step::Wait { .. } | Step::Preempted | Step::Yielded(_));
        let first = self.steps.iter().rposition(stands).map_or(0, |at| at + 1);
        for step in &mut self.steps[first..] {
            if let Step::Compute(length) = step {
                let less = time.min(*length);
                (*length, time) = (*length - less, time - less);
                self.done -= less;
            }
        }
        self.computed = self.computed.saturating_sub(time);
    }

    /// Its last computing was shorter.
    pub(super) fn take_back(&mut self, time: u64) {
        self.ready = self.ready.saturating_sub(time);
        let last = self.steps.iter_mut().rev().find_map(|step| match step {
            Step::Compute(length) => Some(length),
            _ => None,
        });
        if let Some(length) = last {
            let less = time.min(*length);
            *length -= less;
            self.done -= less;
        }
    }

    pub(super) fn compute(&mut self) {
        if self.computed > 0 {
            self.done += self.computed;
            self.steps.push(Step::Compute(std::mem::take(&mut self.computed)));
        }
    }

    /// It has sent packets to the same host.
    pub(super) fn send(&mut self, now: u64) {
        if let State::Running(_, since, _) = self.state {
            let work = self.done + self.computed + now.saturating_sub(since);
            self.sends.push(Send { at: now, work });
        }
    }

    pub(super) fn wait(&mut self, from: u64, to: u64, cause: Cause) {
        self.compute();
        self.steps.push(Step::Wait { from, to, cause });
    }
}
