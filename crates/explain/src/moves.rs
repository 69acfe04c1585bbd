//! What a switch and a waking do to tasks: the definitions of run, wakeup, preempted and blocked.
//!
//! ```text
//! run         from a switch in to the next switch out
//! wakeup      a waking of a task that is off the processor and not runnable; its latency lasts until the switch in. A waking of a running
//!             task counts only if the task then leaves in a sleeping state and comes back without another waking; then from its leaving
//! preempted   from a switch out in state R to the next switch in
//! blocked     from a switch out in a sleeping state to the waking
//! ```
//!
//! A first run is no wakeup. With a window of time, times are cut to it, and distributions take what ends within it; with
//! a processor, what ran there and the waits that ended there.

use crate::{
    cause::Cause,
    explainer::Explainer,
    processor::Current,
    queues::within,
    slot::{IDLE, NONE, Slot, is_task},
    task::{Again, Before, State, Waking},
    wakers,
    worst::{After, Wait},
};
use schedlab_traces::kernel::{Call, Event, Left, Pid};

impl Explainer {
    /// A processor goes from a task to another.
    #[inline]
    pub(crate) fn switch(&mut self, event: &Event) {
        let (cpu, now) = (event.cpu, event.time);
        self.seen.switches += 1;
        self.queues.ensure(cpu);
        let (prev, next) = (self.alive(event.task, None), self.alive(event.other, None));
        let processor = &mut self.queues.all[usize::from(cpu)];
        self.chains.broken += u64::from(processor.switches > 0 && processor.next_pid != event.task);
        processor.next_pid = event.other;
        let known = self.came(cpu, event.task, prev, now);
        if is_task(prev) {
            self.tasks.all[prev as usize].priority = (event.value >> 32) as u32;
            self.leave(prev, event.left(), now, cpu, next, known);
        }
        if is_task(next) {
            self.tasks.all[next as usize].priority = event.value as u32;
            self.gone_elsewhere(next, now);
        }
        let processor = &mut self.queues.all[usize::from(cpu)];
        if known {
            let time = within(self.window, processor.since, now);
            if prev == IDLE {
                processor.idle += time;
            } else {
                processor.ran += time;
            }
            self.history.remember(prev, cpu, processor.since, now);
        }
        (processor.current, processor.since) = (Current::Known(event.other), now);
        processor.interrupts = Default::default();
        if self.history.is_full() {
            self.sum_up(now);
        }
        if is_task(next) {
            self.enter(next, now, cpu);
        }
        self.queues.switch(cpu, next != IDLE, now);
    }

    /// Makes sure that the task that leaves a processor has come; whether it is known when, and so how long it ran.
    #[inline]
    fn came(&mut self, cpu: u16, pid: Pid, prev: Slot, now: u64) -> bool {
        match self.queues.all[usize::from(cpu)].current {
            Current::Known(current) if current == pid && self.runs(prev) => return true,
            Current::Unseen => return self.was_there(cpu, prev, now),
            Current::Known(_) | Current::Missing => {}
        }
        let left = self.missing(cpu, now, self.charged_since(prev, now));
        is_task(prev) && self.came_unseen(cpu, prev, now, left)
    }

    #[inline]
    fn runs(&self, slot: Slot) -> bool {
        self.tasks.all.get(slot as usize).is_none_or(|task| task.state == State::Running)
    }

    /// A task leaves its processor.
    #[inline]
    fn leave(&mut self, slot: Slot, left: Left, now: u64, cpu: u16, next: Slot, known: bool) {
        let counts = self.counts(cpu, now);
        let here = self.options.cpu.is_none_or(|only| only == cpu);
        if let Some(timeline) = &mut self.timeline {
            timeline.leave(slot, now, Some(left), self.window);
        }
        let task = &mut self.tasks.all[slot as usize];
        if known && here {
            task.spent.run += within(self.window, task.since, now);
            if self.options.blocks {
                task.series.run(&self.queues.clock, task.since.max(self.window.0), now.min(self.window.1));
            }
            if counts {
                task.runs.record(now - task.since, now);
            }
        }
        (task.since, task.charged, task.slept) = (now, 0, 0);
        task.sleeps_in = if left == Left::Sleeping { task.call(self.losses) } else { Call::Other };
        let preempted = left == Left::Runnable;
        if counts {
            task.counts.preempted += u64::from(preempted);
            task.counts.voluntary += u64::from(!preempted);
            if self.options.blocks {
                let sums = task.series.at(&self.queues.clock, now);
                sums.switches += 1;
                sums.preempted += u64::from(preempted);
            }
        }
        task.state = match left {
            Left::Runnable => State::Preempted,
            Left::Sleeping | Left::Uninterruptible => State::Blocked,
            Left::Stopped => State::Stopped,
            Left::Dead => State::Dead,
        };
        if preempted {
            (task.waking, task.preempter, task.queue) = (None, next, Some(cpu));
            self.queues.wait(cpu, true, now);
        }
    }

    /// A task gets a processor.
    #[inline]
    pub(crate) fn enter(&mut self, slot: Slot, now: u64, cpu: u16) {
        let counts = self.counts(cpu, now);
        let here = self.options.cpu.is_none_or(|only| only == cpu);
        let task = &mut self.tasks.all[slot as usize];
        let (since, waking, queue) = (task.since, task.waking.take(), task.queue.take());
        let whole = now.saturating_sub(since);
        let part = if here { within(self.window, since, now) } else { 0 };
        let after = match (task.state, waking) {
            // Woken while it ran, it went to sleep all the same: it was runnable from then on.
            (State::Woken | State::Blocked, Some(waking)) => {
                task.spent.wakeup += part;
                let slept = if here { std::mem::take(&mut task.slept) } else { 0 };
                task.spent.blocked[waking.cause as usize] += slept;
                if counts {
                    task.counts.wakeups += 1;
                    task.latency.record(whole, now);
                    self.wakers.add(task.edge, slept, whole);
                    if self.options.blocks {
                        let sums = task.series.at(&self.queues.clock, now);
                        sums.latency(whole);
                        sums.blocked = sums.blocked.saturating_add(slept);
                    }
                }
                Some(After::Waking(waking))
            }
            (State::Preempted, _) => {
                task.spent.preempted += part;
                if counts {
                    task.preempt_waits.record(whole, now);
                    if self.options.blocks {
                        let sums = task.series.at(&self.queues.clock, now);
                        sums.preempt_wait = sums.preempt_wait.saturating_add(whole);
                    }
                }
                Some(After::Preemption(task.preempter))
            }
            (State::New, _) => {
                task.spent.start += part;
                Some(After::Start)
            }
            (state, _) => {
                self.came_back(slot, state, part, counts);
                None
            }
        };
        let task = &mut self.tasks.all[slot as usize];
        task.counts.moved += u64::from(counts && task.cpu.is_some_and(|before| before != cpu));
        (task.state, task.since, task.cpu, task.charged, task.again) = (State::Running, now, Some(cpu), 0, None);
        if let Some(queue) = queue {
            self.queues.wait(queue, false, now);
        }
        if let Some(timeline) = &mut self.timeline {
            timeline.enter(slot, cpu, now, after.map(|after| (after, since)));
        }
        if let Some(after) = after.filter(|_| counts && self.worst.takes(whole)) {
            self.add_to_the_worst(slot, after, since, now, cpu);
        }
    }

    /// A task gets a processor that did not wait for it, as far as events say.
    #[cold]
    fn came_back(&mut self, slot: Slot, state: State, part: u64, counts: bool) {
        let task = &mut self.tasks.all[slot as usize];
        match state {
            State::Blocked | State::Stopped | State::Woken => {
                task.spent.blocked[Cause::Unknown as usize] += part;
                task.counts.unwoken += u64::from(counts);
            }
            State::Unseen => task.spent.before += part,
            _ => task.spent.unknown += part,
        }
    }

    #[cold]
    fn add_to_the_worst(&mut self, slot: Slot, after: After, from: u64, to: u64, cpu: u16) {
        let task = &self.tasks.all[slot as usize];
        if !self.is_asked_for(task.pid, task.name) {
            return;
        }
        let (ran, priority) = (Vec::new(), task.priority);
        let nothing = (0, 0, 0, false);
        let (others, idle, idle_elsewhere, forgotten) = nothing;
        let wait = Wait { task: slot, after, from, to, cpu, priority, ran, others, idle, idle_elsewhere, forgotten };
        self.worst.add(wait, &self.history, &self.queues.all);
    }

    /// Sums up what ran, but for what waits that go on may ask for.
    #[cold]
    fn sum_up(&mut self, now: u64) {
        let begins = self.tasks.all.iter().flat_map(|task| {
            let waits = task.state.waits() || task.waking.is_some();
            // Of one that ran when it was woken, the wait before is taken up again.
            let before = task.again.as_ref().and_then(|again| again.had.as_ref()).map(|(before, _)| before.since);
            waits.then_some(task.since).into_iter().chain(before)
        });
        self.history.sum_up(begins.collect(), now, self.tasks.all.len());
    }

    /// A task is woken.
    #[inline]
    pub(crate) fn waking(&mut self, event: &Event) {
        if self.seen.wakings == 0 && self.seen.wakeups > 0 {
            self.forget_wakeups();
        }
        self.seen.wakings += 1;
        self.wake(event);
    }

    /// A task was put into a runqueue. Where wakings are not recorded, this stands for them.
    #[inline]
    pub(crate) fn woken(&mut self, event: &Event) {
        self.seen.wakeups += 1;
        if self.seen.wakings == 0 {
            self.wake(event);
            return;
        }
        let slot = self.tasks.slot(event.task, self.start);
        let to = event.value as u32 as u16;
        let Some(task) = self.tasks.all.get_mut(slot as usize) else { return };
        if let Some(queue) = task.queue.filter(|queue| *queue != to) {
            task.queue = Some(to);
            self.queues.wait(queue, false, event.time);
            self.queues.wait(to, true, event.time);
        }
    }

    #[inline]
    fn wake(&mut self, event: &Event) {
        let now = event.time;
        let slot = self.alive(event.task, None);
        if !is_task(slot) {
            return;
        }
        self.queues.ensure(event.cpu);
        let interrupts = self.queues.all[usize::from(event.cpu)].interrupts;
        self.seen.without_context += u64::from(event.context() == schedlab_traces::kernel::Context::Unknown);
        let task = &mut self.tasks.all[slot as usize];
        let mut cause = if task.state == State::Stopped { Cause::Stopped } else { interrupts.cause(event) };
        let mut waker = NONE;
        if cause == Cause::Task {
            let sleeps_in = if task.state == State::Running { task.call(self.losses) } else { task.sleeps_in };
            waker = self.tasks.slot(event.other, self.start);
            let wakes_in = self.tasks.all.get(waker as usize).map_or(Call::Other, |task| task.call(self.losses));
            cause = Cause::between(sleeps_in, wakes_in);
        }
        let waking = Waking { time: now, cause, waker };
        let task = &mut self.tasks.all[slot as usize];
        if task.state.waits() {
            task.again = Some(Again { waking, had: task.again.and_then(|again| again.had) });
            return;
        }
        if matches!((task.state, task.waking), (State::Blocked, Some(_)) | (State::Lost, _)) {
            let before = Before { state: task.state, since: task.since, waking: task.waking };
            task.again = Some(Again { waking, had: Some((before, now)) });
        }
        self.woken_by(slot, waking);
        let task = &mut self.tasks.all[slot as usize];
        if task.state == State::Running {
            return;
        }
        let part = within(self.window, task.since, now);
        task.slept = 0;
        match task.state {
            State::Unseen => task.spent.before += part,
            State::Lost => task.spent.unknown += part,
            _ => task.slept = part,
        }
        let to = event.value as u32 as u16;
        (task.state, task.since, task.queue) = (State::Woken, now, Some(to));
        self.queues.wait(to, true, now);
    }

    /// That is the waking that it waits after, or had while it ran.
    #[inline]
    pub(crate) fn woken_by(&mut self, slot: Slot, waking: Waking) {
        let number = wakers::number(waking.cause, waking.waker);
        let task = &mut self.tasks.all[slot as usize];
        if task.last_waker != number {
            (task.last_waker, task.edge) = (number, self.wakers.place(waking.cause, waking.waker, slot));
        }
        task.waking = Some(waking);
    }

    /// A new task is put into a runqueue.
    pub(crate) fn new_task(&mut self, event: &Event) {
        let slot = self.made(event.task, event.time);
        let Some(task) = self.tasks.all.get_mut(slot as usize).filter(|task| task.state == State::Unseen) else {
            return;
        };
        task.spent.before += within(self.window, task.since, event.time);
        let to = event.value as u32 as u16;
        (task.state, task.since, task.queue) = (State::New, event.time, Some(to));
        self.queues.wait(to, true, event.time);
    }

    /// The slot of a task that is made now. Fork and first wakeup both say so.
    pub(crate) fn made(&mut self, pid: Pid, now: u64) -> Slot {
        let slot = self.tasks.slot(pid, self.start);
        let Some(task) = self.tasks.all.get_mut(slot as usize) else { return slot };
        match task.state {
            State::New => slot,
            State::Unseen if task.runs.count() == 0 && task.spent.total() == 0 => {
                if task.born == self.start {
                    (task.born, task.since) = (now, now);
                }
                slot
            }
            _ => {
                if let Some(queue) = task.queue.take() {
                    self.queues.wait(queue, false, now);
                }
                self.tasks.renew(pid, now)
            }
        }
    }
}
