//! The steps of a hub or of one of its ends, with messages in place of wakeups: before each answer it takes a message, where it waited for one
//! or right after the answer before.

use crate::{
    calls::kept,
    edges::Edges,
    history::{Step, Task},
};
use hashbrown::HashSet;

/// Within a software interrupt the kernel wakes who waits for the packets; it ends within this computing, ns, or the wakeup was another one's.
const DELIVERED: u64 = 50_000;

/// The steps so far.
struct Answering {
    steps: Vec<Step>,
    number: u32,
    /// It has taken a message that it has not answered.
    taken: bool,
    /// Where it takes the next if it does not wait for it: after its last answer.
    since: usize,
}

impl Answering {
    fn take(&mut self, waited: bool) {
        if !std::mem::replace(&mut self.taken, true) {
            self.since = self.steps.len();
            self.steps.push(Step::Take { server: self.number, waited });
        }
    }

    fn answer(&mut self, here: bool) {
        if !std::mem::take(&mut self.taken) {
            self.steps.insert(self.since, Step::Take { server: self.number, waited: false });
        }
        self.steps.push(Step::Answer { server: self.number, here });
        self.since = self.steps.len();
    }

    /// A step that is no message. What comes after a wait for something else came after it.
    fn keep(&mut self, step: Step) {
        self.steps.extend(kept(step));
        if matches!(step, Step::Wait { .. }) && !self.taken {
            self.since = self.steps.len();
        }
    }

    fn compute(&mut self, length: u64) {
        if length > 0 {
            self.steps.push(Step::Compute(length));
        }
    }
}

/// The steps of a task that answers its partners; messages of the surplus it does not send.
pub(super) fn answering(
    task: &Task,
    partner: impl Fn(usize) -> bool,
    surplus: &HashSet<usize>,
    number: u32,
    edges: &Edges,
) -> Vec<Step> {
    let sends = task.sends.iter().enumerate().filter(|(number, _)| !surplus.contains(number));
    let mut sends = sends.map(|(_, send)| send.work).peekable();
    let mut all = Answering { steps: Vec::with_capacity(task.steps.len()), number, taken: false, since: 0 };
    let mut work = 0_u64;
    for &step in &task.steps {
        if let Step::Compute(length) = step {
            let end = work.saturating_add(length);
            while let Some(at) = sends.next_if(|&at| at < end) {
                all.compute(at.saturating_sub(work));
                work = work.max(at);
                all.answer(false);
            }
            all.compute(end - work);
            work = end;
            continue;
        }
        if let (Step::Signal { here, .. }, true) = (step, edges.woken(&step).is_some_and(&partner)) {
            if sends.next_if(|&at| at <= work.saturating_add(DELIVERED)).is_some() {
                all.answer(here);
            }
            continue;
        }
        if sends.next_if(|&at| at <= work).is_some() {
            all.answer(false);
        }
        if edges.waker(&step).is_some_and(&partner) {
            all.take(matches!(step, Step::Wait { .. }));
        } else {
            all.keep(step);
        }
    }
    if all.taken {
        all.steps.remove(all.since); // the end of the recording cut off its answer
    }
    all.steps
}
