//! Takes the events of a recording one by one and keeps what is to be said of them.

use crate::{
    drives::Drives,
    history::History,
    options::Options,
    queues::Queues,
    slot::{IDLE, Slot},
    task::State,
    tasks::Tasks,
    timeline::Timeline,
    wakers::Wakers,
    worst::Worst,
};
use schedlab_traces::kernel::{Call, Event, Kind, Listener, Pid};

/// What was seen that a question may need.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    pub switches: u64,
    pub wakings: u64,
    /// `sched_wakeup`.
    pub wakeups: u64,
    pub runtimes: u64,
    pub migrations: u64,
    pub members: u64,
    /// Wakings of which the file does not say in what context.
    pub without_context: u64,
    pub timers: u64,
    pub interrupts: u64,
    pub completions: u64,
}

/// Chains of switches that do not fit: the task that leaves a processor is not the one that came.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Chains {
    pub broken: u64,
    /// Runs whose length was taken from `sched_stat_runtime`.
    pub from_runtime: u64,
    /// Runs whose length is not known.
    pub unknown: u64,
}

/// Explains a recording. Memory grows with its tasks, processors and pairs of waker and woken, not with its events.
#[derive(Debug)]
pub struct Explainer {
    pub(crate) options: Options,
    pub(crate) tasks: Tasks,
    pub(crate) queues: Queues,
    pub(crate) wakers: Wakers,
    pub(crate) worst: Worst,
    pub(crate) history: History,
    pub(crate) drives: Drives,
    pub(crate) timeline: Option<Box<Timeline>>,
    pub(crate) names: Vec<Box<str>>,
    pub(crate) seen: Seen,
    pub(crate) chains: Chains,
    pub(crate) events: u64,
    /// How often events were lost so far.
    pub(crate) losses: u32,
    pub(crate) begun: bool,
    pub(crate) start: u64,
    pub(crate) now: u64,
    /// Where time counts, from and to.
    pub(crate) window: (u64, u64),
}

/// The latest time that counts, ns: a clock gets there after 146 years, and sums of few such times still fit.
const LATEST: u64 = 1 << 62;
/// Names beyond that number are not kept: a kernel has four million tasks at most.
const MOST_NAMES: usize = 1 << 23;

impl Explainer {
    /// Begins with no event.
    pub fn new(options: Options) -> Explainer {
        Explainer {
            timeline: options.timeline.then(Box::default),
            options,
            tasks: Tasks::default(),
            queues: Queues::new(0, (0, u64::MAX)),
            wakers: Wakers::default(),
            worst: Worst::default(),
            history: History::default(),
            drives: Drives::default(),
            names: Vec::new(),
            seen: Seen::default(),
            chains: Chains::default(),
            events: 0,
            losses: 0,
            begun: false,
            start: 0,
            now: 0,
            window: (0, u64::MAX),
        }
    }

    #[cold]
    fn begin(&mut self, now: u64) {
        (self.begun, self.start, self.now) = (true, now, now);
        let from = now.saturating_add(self.options.from.unwrap_or(0));
        let to = self.options.to.map_or(u64::MAX, |to| now.saturating_add(to));
        self.window = (from, to.max(from));
        self.queues = Queues::new(now, self.window);
        for task in &mut self.tasks.all {
            (task.born, task.since) = (now, now);
        }
    }

    /// What the file says of a task, whenever it says it.
    fn about(&mut self, event: &Event) {
        let slot = match event.kind {
            Kind::Named => self.alive(event.task, Some(event.value)),
            _ => self.tasks.slot(event.task, self.start),
        };
        self.seen.members += u64::from(event.kind == Kind::Member);
        if slot >= IDLE {
            return;
        }
        let task = &mut self.tasks.all[slot as usize];
        match event.kind {
            Kind::Named => task.name = Some(event.value),
            Kind::Member => task.tgid = Some(event.other),
            Kind::Treated => (task.nice, task.policy) = (Some(event.value as i32), Some(event.flag())),
            _ => {}
        }
    }

    /// The slot of a number whose task does something. One that ended was another task of the same number, unless it is only named again.
    pub(crate) fn alive(&mut self, pid: Pid, name: Option<u64>) -> Slot {
        let slot = self.tasks.slot(pid, self.start);
        let Some(task) = self.tasks.all.get(slot as usize) else { return slot };
        if task.state != State::Dead || (name.is_some() && task.name == name) {
            return slot;
        }
        self.tasks.renew(pid, self.now)
    }

    /// A task makes another one.
    fn fork(&mut self, event: &Event) {
        let parent = self.tasks.slot(event.task, self.start);
        let name = self.tasks.all.get(parent as usize).and_then(|task| task.name);
        let child = self.made(event.other, event.time);
        if let Some(task) = self.tasks.all.get_mut(child as usize) {
            task.name = task.name.or(name);
            task.parent = parent;
        }
    }

    fn migrate(&mut self, event: &Event) {
        self.seen.migrations += 1;
        let slot = self.tasks.slot(event.task, self.start);
        if slot >= IDLE {
            return;
        }
        let counts = self.counts(event.cpu, event.time);
        let task = &mut self.tasks.all[slot as usize];
        task.counts.migrated += u64::from(counts);
        let to = event.value as u32 as u16;
        if let Some(queue) = task.queue.filter(|queue| *queue != to) {
            task.queue = Some(to);
            self.queues.wait(queue, false, event.time);
            self.queues.wait(to, true, event.time);
        }
    }

    fn runtime(&mut self, event: &Event) {
        self.seen.runtimes += 1;
        let slot = self.tasks.slot(event.task, self.start);
        if let Some(task) = self.tasks.all.get_mut(slot as usize) {
            task.charged = task.charged.saturating_add(event.value);
        }
    }

    /// The current task enters a system call, or leaves the one that it is in.
    fn system_call(&mut self, event: &Event, call: Call) {
        let slot = self.tasks.slot(event.task, self.start);
        if let Some(task) = self.tasks.all.get_mut(slot as usize) {
            task.call = (call, self.losses);
        }
    }

    fn interrupt(&mut self, event: &Event) {
        self.seen.interrupts +=
            u64::from(matches!(event.kind, Kind::IrqEntry | Kind::SoftirqEntry | Kind::VectorEntry));
        self.seen.timers += u64::from(event.kind == Kind::TimerExpire);
        self.seen.completions += u64::from(event.kind == Kind::BlockComplete);
        self.queues.ensure(event.cpu);
        self.queues.all[usize::from(event.cpu)].interrupts.take(event);
    }

    /// Events were lost here.
    fn lost(&mut self) {
        self.losses = self.losses.wrapping_add(1);
        self.drives.lose(self.now, self.window);
    }

    /// A request to a drive begins or ends.
    fn request(&mut self, event: &Event) {
        let counts = event.time >= self.window.0 && event.time <= self.window.1;
        self.drives.take(event, self.window, counts);
    }

    /// Whether something that happens there and then is counted.
    #[inline]
    pub(crate) fn counts(&self, cpu: u16, now: u64) -> bool {
        self.options.cpu.is_none_or(|only| only == cpu) && now >= self.window.0 && now <= self.window.1
    }
}

impl Listener for Explainer {
    fn event(&mut self, event: &Event) {
        if matches!(event.kind, Kind::Named | Kind::Member | Kind::Treated | Kind::Lost) {
            match event.kind {
                Kind::Lost => self.lost(),
                _ => self.about(event),
            }
            return;
        }
        let time = event.time.min(LATEST);
        // perf adds records of its own of these, also of what was before the first event.
        let of_the_recorder = matches!(event.kind, Kind::Fork | Kind::Exec | Kind::Exit);
        if !self.begun && !of_the_recorder {
            self.begin(time);
        }
        // A recording of several processors may step back a little; time spent is never negative.
        let event = &Event { time: time.max(self.now), ..*event };
        if !of_the_recorder {
            self.now = event.time;
        }
        self.queues.clock.advance(event.time.min(self.window.1));
        self.events += u64::from(event.kind != Kind::TimerExpiry);
        match event.kind {
            Kind::Switch => self.switch(event),
            Kind::Waking => self.waking(event),
            Kind::Woken => self.woken(event),
            Kind::New => self.new_task(event),
            Kind::Fork => self.fork(event),
            Kind::Migrate => self.migrate(event),
            Kind::Runtime => self.runtime(event),
            Kind::SyscallEnter => self.system_call(event, event.call()),
            Kind::SyscallExit => self.system_call(event, Call::Other),
            Kind::IrqEntry
            | Kind::IrqExit
            | Kind::VectorEntry
            | Kind::VectorExit
            | Kind::SoftirqEntry
            | Kind::SoftirqExit
            | Kind::TimerExpire
            | Kind::TimerDone => self.interrupt(event),
            Kind::BlockIssue => self.request(event),
            Kind::BlockComplete => {
                self.interrupt(event);
                self.request(event);
            }
            _ => {}
        }
    }

    fn name(&mut self, number: u64, name: &str) {
        if self.names.len() < MOST_NAMES && number == self.names.len() as u64 {
            self.names.push(name.into());
        }
    }
}
