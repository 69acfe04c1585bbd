//! What the schedulers of the BSDs have in common, below the rules in which their versions differ: a task's two priorities,
//! the one computed from its usage and the one by which it is queued; sleeping and waking; the pass over all tasks once a
//! second; children and parents.

use super::{
    decay_usage::{Estimator, Load},
    global_queue::GlobalQueue,
};
use crate::schedulers::{Context, Dequeue, Pick, kit::priority_lists::End};
use schedlab_model::{
    Nanos, SECOND,
    task::{CpuId, Policy, Task, TaskId, Wait},
};
use thread::{State, Thread, Threads, UNBORN};

mod thread;

/// Where the versions differ. Lower priorities are better.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    pub estimator: Estimator,
    /// A pass or a tick moves a task only while the priority by which it is queued is in this range.
    pub follows: (u16, u16),
    /// The best of 32 real-time priorities, and how far they lie apart.
    pub realtime: (u16, u16),
    /// The priority of the idle class.
    pub idle: u16,
    /// The priority that a task has from a sleep until it returns to its own code; none where it keeps what it has.
    pub asleep: fn(Wait) -> Option<u16>,
    /// Whether real-time and idle tasks too have it.
    pub asleep_in_any_class: bool,
    /// Whether a task that sleeps at a pass counts as awake there if it ran since the one before.
    pub ran_is_awake: bool,
}

impl Rules {
    /// The priority of a task that does not depend on its usage, if it has one.
    fn fixed(&self, task: &Task) -> Option<u16> {
        match task.policy {
            // The best of 99 priorities is the best of 32.
            Policy::Fifo | Policy::Rr => {
                let rank = 31 - (u16::from(task.priority.max(1)) - 1) * 31 / 98;
                Some(self.realtime.0 + rank * self.realtime.1)
            }
            Policy::Idle => Some(self.idle),
            Policy::Other | Policy::Batch | Policy::Iso | Policy::Deadline => None,
        }
    }
}

/// The tokens of the timers of the first two events of [`Due`].
const PASS: usize = 0;
const SAMPLE: usize = 1;

/// An event due by the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// The pass over all tasks: [`Bsd::pass`].
    Pass,
    /// A sample of the load average, which has been taken.
    Sample,
    /// A quantum has ended.
    Quantum,
}

/// The scheduler's state, with `LISTS` lists in its queue.
#[derive(Debug)]
pub struct Bsd<const LISTS: usize> {
    rules: Rules,
    threads: Threads,
    pub queue: GlobalQueue<LISTS>,
    load: Load,
    /// What is ready or runs, as the load average counts it.
    ready: u64,
    /// When the pass, the next sample and the end of the quantum are due, and whether a timer is set.
    due: [Nanos; 3],
    timed: [bool; 3],
    /// The period of the quantum; none if nothing is due then.
    quantum: Option<Nanos>,
}

impl<const LISTS: usize> Bsd<LISTS> {
    pub fn new(rules: Rules, processors: u16, quantum: Option<Nanos>) -> Self {
        Bsd {
            rules,
            threads: Threads::default(),
            queue: GlobalQueue::new(processors),
            load: Load::default(),
            ready: 0,
            due: [Nanos::MAX; 3],
            timed: [false; 3],
            quantum,
        }
    }

    /// The priority by which a task is queued and compared.
    #[inline]
    pub fn priority(&self, task: TaskId) -> u16 {
        self.threads.all[task as usize].priority
    }

    /// The priority that a task has in its own code.
    #[inline]
    pub fn user_priority(&self, task: TaskId) -> u16 {
        self.threads.all[task as usize].user_priority
    }

    /// What `ps -l` shows of a task: its usage, and the priority that it has in its own code.
    pub fn usage(&self, task: TaskId) -> (u32, u16) {
        let thread = &self.threads.all[task as usize];
        (thread.estimate, thread.user_priority)
    }

    /// A new or woken task is queued.
    #[inline(never)]
    pub fn arrive(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) {
        if self.ready == 0 {
            self.wind_clocks(cx);
        }
        self.threads.know(task);
        match self.threads.all[task as usize].state {
            State::Unborn => self.bear(cx, task),
            _ => self.unwind(task),
        }
        self.ready += self.rules.estimator.load(cx.tasks[task as usize].nice);
        self.put(cx, cpu, task, End::Tail);
    }

    /// A running task is queued again.
    #[inline(always)]
    pub fn put(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, end: End) {
        let thread = self.threads.stir(task);
        thread.state = State::Queued;
        let priority = thread.priority;
        self.queue.add(cx, cpu, task, priority, end);
        self.queue.tell_idle(cx, task);
        if cx.processors.len() > 1 {
            self.kick_other(cx, cpu, task);
        }
    }

    /// A bound task has joined the queue of another processor, which looks at it if it idles or runs a worse one (kick_other_cpu).
    #[inline(never)]
    fn kick_other(&self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) {
        let Some(home) = self.queue.moved(cpu, task) else { return };
        let running = cx.processors[usize::from(home)].running;
        if running.is_none_or(|running| self.priority(task) < self.priority(running)) {
            cx.resched(home);
        }
    }

    /// A task is new: it is as its parent is, usage and all.
    fn bear(&mut self, cx: &Context<'_>, task: TaskId) {
        let seen = &cx.tasks[task as usize];
        let rules = &self.rules;
        let fixed = rules.fixed(seen);
        let priority = fixed.unwrap_or(rules.estimator.priority(0, seen.nice));
        let fresh = Thread { timeshare: fixed.is_none(), user_priority: priority, priority, ..UNBORN };
        let parent = seen.parent.and_then(|parent| self.threads.all.get(parent as usize));
        let inherited = parent.map(|&parent| Thread { ran: false, asleep: 0, ..parent });
        *self.threads.stir(task) = Thread { nice: seen.nice, ..inherited.unwrap_or(fresh) };
    }

    /// The record of a task has changed: its usage stays, and its own priority follows. That of a running task counts when a choice
    /// is made (resetpriority), which a worse class or real-time priority asks for.
    pub fn changed(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, before: &Task) {
        let known = self.threads.all.get(task as usize);
        if known.is_none_or(|thread| thread.state == State::Unborn) {
            return;
        }
        let after = &cx.tasks[task as usize];
        let fixed = self.rules.fixed(after);
        let thread = self.threads.stir(task);
        let old = *thread;
        (thread.nice, thread.timeshare) = (after.nice, fixed.is_none());
        let estimator = self.rules.estimator;
        thread.user_priority = fixed.unwrap_or_else(|| estimator.priority(thread.estimate, after.nice));
        let asks = fixed != self.rules.fixed(before);
        if asks {
            thread.priority = thread.user_priority;
        } else {
            thread.follow(&self.rules);
        }
        let now = *thread;
        if matches!(old.state, State::Queued | State::Running) {
            self.ready = self.ready - estimator.load(before.nice) + estimator.load(after.nice);
        }
        // One that may use some processors only has departed, and moves in by its new priority.
        if now.state == State::Queued && now.priority != old.priority && !self.queue.has_home(task) {
            self.queue.change(task, now.priority);
        }
        if asks && now.state == State::Running && now.user_priority > old.user_priority {
            cx.resched(cpu);
        }
    }

    /// A queued task comes to another processor.
    pub fn move_in(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) {
        let priority = self.priority(task);
        self.queue.add_bound(cx, cpu, task, priority);
        self.kick_other(cx, cpu, task);
    }

    /// A task wakes.
    fn unwind(&mut self, task: TaskId) {
        self.threads.stir(task).unwind(&self.rules, &self.load);
    }

    /// A running task takes its own priority: it returns from the kernel to its own code.
    #[inline]
    pub fn return_to_user(&mut self, task: TaskId) {
        let thread = self.threads.stir(task);
        thread.priority = thread.user_priority;
    }

    /// A running task sleeps or ends, or a queued one leaves a processor that it may no longer use. One that may use all of them
    /// stays where it is, for the queue is the same.
    #[inline]
    pub fn leave(&mut self, cx: &Context<'_>, task: TaskId, why: Dequeue) {
        if why == Dequeue::Migrate {
            return self.queue.take_bound(task);
        }
        self.ready -= self.rules.estimator.load(cx.tasks[task as usize].nice);
        let Rules { asleep, asleep_in_any_class, .. } = self.rules;
        let thread = self.threads.stir(task);
        let Dequeue::Sleep(wait) = why else {
            thread.state = State::Ended;
            return;
        };
        thread.state = State::Asleep;
        thread.asleep = 0;
        if (thread.timeshare || asleep_in_any_class)
            && let Some(priority) = asleep(wait)
        {
            thread.priority = priority;
        }
    }

    /// A child's usage is charged to its parent, unless that has ended.
    pub fn charge_parent(&mut self, parent: TaskId, child: TaskId) {
        if matches!(self.threads.all[parent as usize].state, State::Ended | State::Unborn) {
            return;
        }
        let of_child = self.threads.all[child as usize].estimate;
        let estimator = self.rules.estimator;
        let thread = self.threads.stir(parent);
        thread.estimate = estimator.sum(thread.estimate, of_child);
    }

    /// The best task that is queued on a processor begins to run there.
    #[inline(always)]
    pub fn choose(&mut self, cx: &Context<'_>, cpu: CpuId) -> Option<Pick> {
        let task = self.queue.take(cx, cpu)?;
        let thread = self.threads.stir(task);
        thread.state = State::Running;
        thread.ran = true;
        Some(Pick { task, slice: None })
    }

    /// Accounts for n ticks of the statistics clock that find a task running.
    #[inline(always)]
    pub fn charge_ticks(&mut self, task: TaskId, ticks: u64) {
        self.threads.all[task as usize].charge_ticks(&self.rules, ticks);
    }

    /// The pass over all tasks, the newest first: usage decays, priorities follow, tasks change their lists.
    #[inline(never)]
    pub fn pass(&mut self) {
        for word in (0..self.threads.stirred.len()).rev() {
            let mut left = self.threads.stirred[word];
            while left != 0 {
                let bit = left.ilog2();
                left ^= 1 << bit;
                let task = word as TaskId * u64::BITS + bit;
                let thread = &mut self.threads.all[task as usize];
                let usage = self.load.decayed(thread.estimate);
                if usage >= thread.floor {
                    thread.estimate = usage;
                } else {
                    self.pass_over(task, usage);
                }
            }
        }
    }

    /// The part of a pass that is one task's, of whose usage the given part is left.
    fn pass_over(&mut self, task: TaskId, usage: u32) {
        let thread = &mut self.threads.all[task as usize];
        let before = thread.priority;
        if thread.pass(&self.rules, usage) {
            self.threads.stirred[(task / u64::BITS) as usize] ^= 1 << (task % u64::BITS);
        }
        if thread.priority != before && thread.state == State::Queued {
            self.queue.change(task, thread.priority);
        }
    }

    /// A timer has expired: what is due. Where no task is left to run, it is not set again until one is.
    #[inline]
    pub fn timer(&mut self, cx: &mut Context<'_>, token: usize) -> Due {
        if token == SAMPLE {
            self.load.sample(self.ready);
        }
        self.rewind(cx, token);
        self.timed[token] = self.ready > 0;
        if self.timed[token] {
            cx.set_timer(self.due[token], 0, token as u32);
        }
        [Due::Pass, Due::Sample, Due::Quantum][token]
    }

    /// Sets when something is due next: the pass every second, a sample every four to six.
    #[inline(always)]
    fn rewind(&mut self, cx: &mut Context<'_>, token: usize) {
        self.due[token] += match token {
            PASS => SECOND,
            SAMPLE => 4 * SECOND + cx.rng.below(2 * SECOND + 1),
            _ => self.quantum.unwrap_or(SECOND),
        };
    }

    /// A task is ready after none was: what was due meanwhile is made up for, and timers are set again.
    fn wind_clocks(&mut self, cx: &mut Context<'_>) {
        if self.due[PASS] == Nanos::MAX {
            let periods = [Some(SECOND), Some(5 * SECOND), self.quantum];
            self.due = periods.map(|period| period.map_or(Nanos::MAX, |period| cx.now + 1 + cx.rng.below(period)));
        }
        let mut passes = 0;
        while let Some(token) = (0..3).filter(|&token| self.is_late(cx, token)).min_by_key(|&token| self.due[token]) {
            match token {
                PASS if passes > 2 && self.load.is_zero() => self.pass_over_sleepers(cx.now),
                PASS => self.pass(),
                SAMPLE => self.load.sample(0),
                _ => {}
            }
            passes += u32::from(token == PASS);
            self.rewind(cx, token);
        }
        for token in 0..3 {
            if !std::mem::replace(&mut self.timed[token], true) && self.due[token] < Nanos::MAX {
                cx.set_timer(self.due[token], 0, token as u32);
            }
        }
    }

    fn is_late(&self, cx: &Context<'_>, token: usize) -> bool {
        !self.timed[token] && self.due[token] < cx.now
    }

    /// All passes up to now but the last, after a time in which all were asleep: sleeps grow longer, and that is all.
    fn pass_over_sleepers(&mut self, now: Nanos) {
        let passes = (now - self.due[PASS]) / SECOND;
        self.due[PASS] += passes * SECOND;
        let longer = |asleep: u32| asleep.saturating_add(1 + passes as u32);
        self.threads.all.iter_mut().for_each(|thread| thread.asleep = longer(thread.asleep));
    }
}
