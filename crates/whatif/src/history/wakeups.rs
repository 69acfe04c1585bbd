//! What wakeups and moves show besides who woke whom: how long the way to a processor takes, which answers were there before they were waited
//! for, whether processors halt, what looking for work costs them, and whether tasks wait for locks.

use super::{
    History, Processor,
    task::{State, Step},
};
use crate::{causes::Cause, pairing::Flips};
use schedlab_model::replay::Waking;
use schedlab_traces::kernel::{Event, Left, Pid};

/// A task for which another is preempted within this, ns, after it was woken there had no other in its way: a switch takes some
/// microseconds, the shortest slice a tick.
pub(super) const AT_ONCE: u64 = 100_000;

/// A task that was woken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Woken {
    /// When.
    pub at: u64,
    waking: Waking,
    /// For which processor.
    cpu: u16,
}

impl Woken {
    /// Whether nothing was in its way to a processor that has been idle since then: the one for which it was woken, and no other task has
    /// been there.
    pub fn leaves_idle(&self, cpu: u16, idle: Option<u64>) -> bool {
        self.waking == Waking::Idle && self.cpu == cpu && idle.is_some_and(|since| since <= self.at)
    }
}

impl History {
    /// A task was woken: how long the way to its processor takes is measured at the switch, if it is idle or its task is preempted. Where
    /// that goes on until it waits, there is no such way.
    pub(super) fn note_woken(&mut self, event: &Event, cause: Cause) {
        let cpu = event.value as u16;
        let idle = self.processors.get(usize::from(cpu)).copied().flatten().is_some_and(|at| at.idle.is_some());
        let waking = match cause {
            _ if idle => Waking::Idle,
            Cause::Task(_) => Waking::Task,
            _ => Waking::Interrupted,
        };
        self.woken.insert(event.task, Woken { at: self.now, waking, cpu });
    }

    /// What the wakeup of a task by a running one shows of processors that halt.
    pub(super) fn note_idle(&mut self, event: &Event) {
        let Some(&at) = self.index.get(&event.task) else { return };
        let (processors, Some(task)) = (&self.processors, self.recording.tasks.get_mut(at)) else { return };
        // One for which another was woken just now is idle no longer, though the switch to it comes later.
        let free = |cpu: u16| processors.get(usize::from(cpu))?.as_ref().filter(|at| at.waiting == 0)?.idle;
        task.halting.woken(self.now, event.cpu, free);
    }

    /// What a wakeup shows of whether the woken task waited for a lock. It ran on that processor before.
    pub(super) fn note_pairing(&mut self, event: &Event, cause: Cause, ran: Option<u16>) {
        let (now, by_task) = (self.now, matches!(cause, Cause::Task(_)));
        let mut waker = Flips::default();
        if let Some(task) = self.known(event.other).filter(|_| by_task) {
            task.pairing.flips.wakes(now, event.task);
            waker = task.pairing.flips;
        }
        let processors = self.processors.len();
        let busy =
            |cpu: u16| self.processors.get(usize::from(cpu)).is_some_and(|at| at.is_some_and(|at| at.running > 0));
        let before = ran.filter(|&cpu| by_task && busy(cpu));
        let alone = self.processor(event.cpu).waiting == 0;
        if let Some(task) = self.known(event.task) {
            let shows = alone && !task.pairing.flips.are_wide(waker, processors);
            task.pairing.woken(before.filter(|_| shows).map(|before| (event.cpu, before)));
        }
    }

    /// A task waits for that processor now, or for none.
    pub(super) fn queue(&mut self, pid: Pid, cpu: Option<u16>) {
        let Some(task) = self.known(pid) else { return };
        let (cpu, before) = (cpu.filter(|_| task.state == State::Ready), task.queued.take());
        let movable = task.halting.has_moved() && matches!(task.steps.last(), Some(Step::Preempted | Step::Yielded(_)));
        let mut count = |(cpu, movable): (u16, bool), more: i32| {
            let processor = self.processors.get_mut(usize::from(cpu))?.as_mut()?;
            processor.waiting = processor.waiting.saturating_add_signed(more);
            processor.movable = processor.movable.saturating_add_signed(more * i32::from(movable));
            Some((cpu, movable))
        };
        before.and_then(|waits| count(waits, -1));
        let counted = cpu.and_then(|cpu| count((cpu, movable), 1));
        if let Some(task) = self.known(pid) {
            task.queued = counted;
        }
    }

    /// A processor whose task goes to sleep has none to run, or pulls one that waited for another: it has looked for one.
    pub(super) fn note_look(&mut self, event: &Event) {
        let (now, cpu) = (self.now, event.cpu);
        let Processor { rest, pulled, .. } = *self.processor(cpu);
        let pulled = pulled == Some(event.other);
        let idle = event.other == 0;
        let movable = |(other, at): (u16, &Option<Processor>)| other != cpu && at.is_some_and(|at| at.movable > 0);
        let sleeps = event.task > 0 && !matches!(event.left(), Left::Runnable);
        if sleeps && (pulled || (idle && (0..).zip(&self.processors).any(movable))) {
            self.looks.add(rest, pulled);
        }
        let processor = self.processor(cpu);
        processor.pulled = None;
        processor.rest.is_idle(idle.then_some(now));
    }

    /// A task that was preempted and waits moves to another processor, on which that is recorded if it pulls the task.
    pub(super) fn note_move(&mut self, event: &Event) {
        let (pid, to) = (event.task, event.value as u16);
        let waits = self.known(pid).and_then(|task| task.queued).is_some_and(|(from, movable)| movable && from != to);
        if waits && event.cpu == to {
            self.processor(to).pulled = Some(pid);
        }
        self.queue(pid, Some(to));
    }

    /// A woken task gets a processor, which was idle since then, if at all.
    pub(super) fn measure_delay(&mut self, event: &Event, idle: Option<u64>) {
        let at_once = self.preempts_at_once(event).is_some();
        let Some(woken) = self.woken.remove(&event.other) else { return };
        let length = self.now.saturating_sub(woken.at);
        if at_once || (event.task == 0 && woken.leaves_idle(event.cpu, idle)) {
            self.recording.delays[woken.waking as usize].push(u32::try_from(length).unwrap_or(u32::MAX));
        }
    }

    /// When the task was woken for which another is preempted, if that was just now.
    pub(super) fn preempts_at_once(&self, event: &Event) -> Option<u64> {
        let woken = self.woken.get(&event.other)?;
        let preempts = woken.waking != Waking::Idle && event.task > 0 && event.left() == Left::Runnable;
        (preempts && self.now.saturating_sub(woken.at) < AT_ONCE).then_some(woken.at)
    }

    /// What a running task still uses of its processor since then is the way of the woken one to it, which takes it in the replay.
    pub(super) fn give_way(&mut self, pid: Pid, woken: u64) {
        let now = self.now;
        let Some(task) = self.known(pid) else { return };
        if let State::Running(_, since, _) = &mut task.state {
            let since = std::mem::replace(since, now);
            task.computed += woken.saturating_sub(since);
        }
    }

    /// A task wakes another for which it was preempted since it had woken it the last time, and which has waited since: it has found the
    /// answer to what it had sent, though it did not wait for it. The answer was there when the other began its wait.
    pub(super) fn find_hidden(&mut self, waker: Pid, woken: Pid) {
        let edge = self.recording.edges;
        let Some(task) = self.known(waker) else { return };
        let again = task.asked.replace(woken) == Some(woken);
        if task.nested.take() != Some((woken, true)) {
            task.went_on += usize::from(again);
            return;
        }
        let acts = |step: &Step| !matches!(step, Step::Compute(_) | Step::Preempted | Step::Yielded(_));
        let at = task.steps.iter().rposition(acts).map_or(0, |at| at + 1);
        task.steps.insert(at, Step::Found(edge));
        self.recording.edges += 1;
        self.task(woken, State::Ready).steps.push(Step::Signal { edge, here: true });
    }

    /// A task leaves its processor to another.
    pub(super) fn note_nested(&mut self, event: &Event) {
        let (from, to, left) = (event.task, event.other, event.left());
        if let Some(task) = self.known(from) {
            task.nested = (left == Left::Runnable).then_some((to, false));
        }
        if let Some(task) = self.known(to) {
            // It goes on after the task that had preempted it.
            task.nested = match task.nested {
                Some((by, _)) if by == from && matches!(left, Left::Sleeping | Left::Uninterruptible) => {
                    Some((by, true))
                }
                _ => None,
            };
        }
    }
}
