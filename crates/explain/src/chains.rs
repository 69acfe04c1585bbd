//! Repairs chains of switches in which events are missing: the task that leaves a processor is not the one that came to it.
//!
//! Kernels drop events without a word. Where `sched_stat_runtime` is recorded, it says how long each of the two ran: the one that came left
//! after what it was charged, and the one that leaves came that long before. Where only one of them was charged, one switch is taken to be
//! missing, at the moment that is known. Otherwise the time is counted as unknown.

use crate::{
    explainer::Explainer,
    processor::Current,
    queues::within,
    slot::{IDLE, Slot, is_task},
    task::{Again, Before, State, Waking},
};
use schedlab_traces::kernel::Call;

impl Explainer {
    /// The task that had a processor is gone, and no event says so. `came`: when the next one came, if that is known. Gives when it left,
    /// if that is known.
    #[cold]
    pub(crate) fn missing(&mut self, cpu: u16, now: u64, came: Option<u64>) -> Option<u64> {
        let processor = &mut self.queues.all[usize::from(cpu)];
        let Current::Known(pid) = processor.current else { return None };
        (processor.current, processor.interrupts) = (Current::Missing, Default::default());
        let slot = self.tasks.known(pid)?;
        let here = self.options.cpu.is_none_or(|only| only == cpu);
        let task = &mut self.tasks.all[slot as usize];
        if task.state != State::Running || task.cpu != Some(cpu) {
            return None;
        }
        let from = task.since;
        let charged = (task.charged > 0).then(|| from.saturating_add(task.charged).min(now));
        let left = charged.or(came.map(|came| came.max(from)));
        let to = left.unwrap_or(from);
        if let Some(timeline) = &mut self.timeline {
            match left {
                Some(to) => timeline.leave(slot, to, None, self.window),
                None => timeline.forget(slot),
            }
        }
        if left.is_some() {
            self.chains.from_runtime += 1;
            if here {
                task.spent.run += within(self.window, from, to);
                task.runs.record(to - from, to);
            }
            processor.ran += within(self.window, from, to);
            self.history.remember(slot, cpu, from, to);
            processor.since = to;
        } else {
            self.chains.unknown += 1;
        }
        (task.state, task.since, task.charged, task.sleeps_in) = (State::Lost, to, 0, Call::Other);
        // Woken after it had left: that was a wakeup.
        match task.waking.filter(|waking| to > from && waking.time >= to) {
            Some(waking) => {
                task.spent.unknown += within(self.window, to, waking.time);
                (task.state, task.since, task.slept) = (State::Woken, waking.time, 0);
            }
            None => task.waking = None,
        }
        left
    }

    /// A task comes to a processor while it is thought to have another one.
    #[inline]
    pub(crate) fn gone_elsewhere(&mut self, slot: Slot, now: u64) {
        let task = &self.tasks.all[slot as usize];
        if let (State::Running, Some(cpu)) = (task.state, task.cpu) {
            self.missing(cpu, now, None);
        }
    }

    /// When a task came to a processor that it leaves now, by what it was charged.
    pub(crate) fn charged_since(&self, slot: Slot, now: u64) -> Option<u64> {
        let charged = self.tasks.all.get(slot as usize)?.charged;
        (charged > 0).then(|| now.saturating_sub(charged))
    }

    /// A task leaves a processor to which it was never seen to come; whether it is known when it came. `left`: when the one before left, if
    /// that is known.
    #[cold]
    pub(crate) fn came_unseen(&mut self, cpu: u16, slot: Slot, now: u64, left: Option<u64>) -> bool {
        self.gone_elsewhere(slot, now);
        let since = self.queues.all[usize::from(cpu)].since;
        if let Some(from) = self.charged_since(slot, now).or(left) {
            let again = self.woken_meanwhile(slot, from);
            let from = from.max(self.tasks.all[slot as usize].since).max(since);
            self.chains.from_runtime += 1;
            self.enter(slot, from, cpu);
            again.into_iter().for_each(|waking| self.woken_by(slot, waking));
            self.queues.all[usize::from(cpu)].since = from;
            return true;
        }
        self.chains.unknown += 1;
        self.unknown_until(slot, cpu, now);
        false
    }

    /// The waking of a task that came unseen at that time and ran when it was woken: it came as it was seen before.
    fn woken_meanwhile(&mut self, slot: Slot, from: u64) -> Option<Waking> {
        let task = self.tasks.all.get_mut(slot as usize)?;
        let Again { waking, had } = task.again.take().filter(|again| again.waking.time > from)?;
        if let Some((Before { state, since, waking }, _)) = had.filter(|(_, woken)| *woken > from) {
            if state == State::Lost {
                task.spent.unknown -= within(self.window, since, task.since);
            }
            (task.state, task.since, task.waking, task.slept) = (state, since, None, 0);
            waking.into_iter().for_each(|waking| self.woken_by(slot, waking));
        }
        Some(waking)
    }

    /// The first switch of a processor: the task that leaves it was there before, unless it was seen elsewhere.
    #[cold]
    pub(crate) fn was_there(&mut self, cpu: u16, slot: Slot, now: u64) -> bool {
        let processor = &mut self.queues.all[usize::from(cpu)];
        let before = within(self.window, self.start, now);
        processor.counted = now;
        if slot == IDLE {
            processor.idle += before;
        } else {
            processor.ran += before;
        }
        if !is_task(slot) {
            return false;
        }
        let task = &mut self.tasks.all[slot as usize];
        let only_woken = task.state == State::Woken && task.cpu.is_none();
        if task.state != State::Unseen && !only_woken {
            return self.came_unseen(cpu, slot, now, None);
        }
        if let Some(timeline) = &mut self.timeline {
            timeline.was_there(slot, cpu, self.start);
        }
        // Woken while it ran: its waking is kept for the case that it sleeps now.
        task.spent.before += within(self.window, task.since, now);
        (task.state, task.since, task.cpu) = (State::Running, now, Some(cpu));
        if let Some(queue) = task.queue.take() {
            self.queues.wait(queue, false, now);
        }
        false
    }

    /// Counts the time of a task up to now as unknown; it runs now.
    fn unknown_until(&mut self, slot: Slot, cpu: u16, now: u64) {
        let task = &mut self.tasks.all[slot as usize];
        task.spent.unknown += within(self.window, task.since, now);
        if let (State::Woken, Some(waking)) = (task.state, task.waking) {
            task.spent.blocked[waking.cause as usize] += std::mem::take(&mut task.slept);
            task.counts.unmeasured += 1;
        }
        (task.state, task.since, task.cpu, task.waking) = (State::Running, now, Some(cpu), None);
        if let Some(queue) = task.queue.take() {
            self.queues.wait(queue, false, now);
        }
    }

    /// Forgets wakeups that were counted by `sched_wakeup` before the first `sched_waking` was met.
    #[cold]
    pub(crate) fn forget_wakeups(&mut self) {
        for task in &mut self.tasks.all {
            task.latency = Default::default();
            (task.counts.wakeups, task.counts.unmeasured) = (0, 0);
        }
        self.wakers.edges.iter_mut().for_each(|edge| (edge.count, edge.latency, edge.longest) = (0, 0, 0));
    }
}
