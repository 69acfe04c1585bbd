//! The listener: a few additions per event, into vectors indexed by processor, task and job. Nothing is allocated
//! but when a task is created; `observe` folds to the arm of one kind where the caller's kind is a constant.
//!
//! Events may come from a damaged recording, so sums saturate, and an event of an unknown task or processor is
//! counted as stray instead of believed.
//!
//! Long, because it has an arm for each kind of event.

use crate::{
    distribution::Distribution,
    fairness::Windows,
    job::{Job, Place, Task},
    load::Loads,
    processor::{Processor, Totals},
    storage::Storage,
    wasted::Wasted,
};
use schedlab_model::{
    Nanos,
    event::{Event, Kind, NO_TASK, Observer, Unfinished},
    machine::Accounting,
    task::{CpuId, TaskId},
};

/// Task numbers may be this far ahead of the tasks announced; a bound on what a damaged recording can make us allocate.
const GAP: usize = 1 << 16;

/// Where a task is after it left a processor, by `Leave`.
const AFTER: [Place; 6] =
    [Place::ReadyTaken, Place::ReadyTaken, Place::ReadyYielded, Place::Waiting, Place::Waiting, Place::Waiting];

/// What a collector must know before the first event.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// Names of the jobs, by job index. A task with a higher index (a server, a driver) counts for the system only.
    pub jobs: Vec<String>,
    /// Number of processors.
    pub processors: u16,
    /// How the machine charges processor time to the counters that users see.
    pub accounting: Accounting,
    /// Bytes of a page of memory.
    pub page: u64,
    /// Pages of memory, where it has an end.
    pub pages: Option<u64>,
}

/// Counts of the whole system.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    pub interrupts: u64,
    pub system_calls: u64,
    /// Circles of tasks that wait for each other's locks.
    pub deadlocks: u64,
    /// Events that name a task or a processor never announced.
    pub stray: u64,
}

/// Listens to a run and sums it up. Memory grows with the tasks of the run (56 bytes each, and
/// as much again while vectors grow), not with its length.
#[derive(Debug, Clone)]
pub struct Collector {
    pub(crate) setup: Setup,
    pub(crate) end: Nanos,
    pub(crate) counts: Counts,
    pub(crate) storage: Storage,
    pub(crate) processors: Vec<Processor>,
    /// One more than there are names: the last is of tasks that belong to no job.
    pub(crate) jobs: Vec<Job>,
    pub(crate) loads: Loads,
    pub(crate) windows: Windows,
    pub(crate) wasted: Wasted,
    tasks: Vec<Task>,
    /// Memory set aside for a task that it does not use, bytes, by task; as far as tasks have requested any.
    unused: Vec<u64>,
}

impl Collector {
    /// A collector for a run that begins at time 0 with idle processors.
    pub fn new(setup: Setup) -> Self {
        let processors = vec![Processor::default(); usize::from(setup.processors)];
        let jobs = vec![Job::default(); setup.jobs.len() + 1];
        let wasted = Wasted::new(setup.processors);
        Collector {
            setup,
            end: 0,
            counts: Counts::default(),
            storage: Storage::default(),
            processors,
            jobs,
            loads: Loads::default(),
            windows: Windows::default(),
            wasted,
            tasks: Vec::new(),
            unused: Vec::new(),
        }
    }

    /// Ends the run at `end`. Where a task is still on a processor, with no `Leave::Stopped` that says how it used the time
    /// since its switch-in, that time counts as user time.
    pub(crate) fn end_run(&mut self, end: Nanos) {
        self.end = end;
        self.windows_until(end);
        self.wasted.pass_to(end);
        for cpu in 0..self.processors.len() {
            self.end_processor(cpu);
        }
        self.loads.sample(&self.tasks, end);
        for task in &mut self.tasks {
            if task.place != Place::Ended {
                self.loads.lived(task, end);
            }
            if task.place == Place::Waiting {
                self.loads.slept(task, end);
            }
            let job = &mut self.jobs[task.job as usize];
            if let Some(cause) = task.place.cause() {
                job.unserved(end.saturating_sub(task.since), cause);
            }
            if task.place != Place::Ended {
                job.cut(task, end);
            }
            job.collect(task);
        }
        self.storage.finish(end);
    }

    /// Where the processors' time went, ns. Complete after [`Collector::finish`].
    pub fn totals(&self) -> Totals {
        let jobs = self.jobs.iter().map(|job| Totals { user: job.user(), system: job.system, ..Totals::default() });
        let processors = self.processors.iter().map(|processor| processor.spent);
        jobs.chain(processors).fold(Totals::default(), |all, part| all.plus(&part))
    }

    /// Time elapsed times processors, ns.
    pub(crate) fn capacity(&self) -> u128 {
        u128::from(self.end) * self.processors.len() as u128
    }

    fn end_processor(&mut self, cpu: usize) {
        let (id, since, ran) = self.processors[cpu].end(self.end);
        let Some(task) = self.tasks.get_mut(id as usize) else { return };
        // Else it has left, and no task has come since.
        if task.place == Place::Exiting || task.place == Place::Running && task.since == since {
            task.ran = task.ran.saturating_add(ran);
        }
    }

    /// Evaluates the windows that end at that time or earlier.
    #[inline(always)]
    fn windows_until(&mut self, time: Nanos) {
        if time >= self.windows.due {
            self.windows.evaluate(time, &self.tasks, &self.processors, &mut self.jobs);
        }
    }

    /// The jobs that have names.
    pub(crate) fn named(&self) -> impl Iterator<Item = &Job> {
        self.jobs[..self.setup.jobs.len()].iter().filter(|job| job.created > 0)
    }

    #[cold]
    #[inline(never)]
    fn stray(&mut self) {
        self.counts.stray += 1;
    }

    fn created(&mut self, e: Event) {
        let id = e.task as usize;
        if id >= self.tasks.len() + GAP {
            return self.stray();
        }
        let job = e.a.min(self.jobs.len() as u64 - 1) as u32;
        let first = e.b == u64::from(NO_TASK);
        if id >= self.tasks.len() {
            // A number that is skipped for now belongs to no job.
            let absent = Task { place: Place::Ended, ..Task::new(e.time, self.jobs.len() as u32 - 1, e.flag, false) };
            self.tasks.resize(id + 1, absent);
        }
        let earlier = &mut self.tasks[id];
        if earlier.place.cause().is_some() {
            self.wasted.leaves(id);
        }
        self.jobs[earlier.job as usize].collect(earlier);
        *earlier = Task::new(e.time, job, e.flag, first);
        self.loads.created(earlier);
        self.jobs[job as usize].created += 1;
        self.jobs[job as usize].first += u64::from(first);
    }

    #[inline(always)]
    fn wakeup(&mut self, e: Event) {
        self.windows_until(e.time);
        if e.time > self.loads.due {
            self.loads.sample(&self.tasks, e.time - 1);
        }
        let Some(task) = self.tasks.get_mut(e.task as usize) else { return self.stray() };
        self.loads.slept(task, e.time);
        if task.place.cause().is_none() {
            self.wasted.pass_to(e.time);
            self.wasted.waits(e.task as usize);
        }
        task.place = if e.flag == 0 { Place::ReadyWoken } else { Place::ReadyNew };
        (task.since, task.able) = (e.time, e.time);
    }

    #[inline(always)]
    fn switch_in(&mut self, e: Event) {
        self.windows_until(e.time);
        let Some(processor) = self.processors.get_mut(usize::from(e.cpu)) else { return self.stray() };
        processor.switch_in(e.task, e.time);
        self.wasted.pass_to(e.time);
        self.wasted.busy(e.cpu);
        self.comes(e);
    }

    #[inline(always)]
    fn overhead(&mut self, e: Event) {
        self.windows_until(e.time);
        match self.processors.get_mut(usize::from(e.cpu)) {
            Some(processor) => processor.overhead(e.a),
            None => self.stray(),
        }
    }

    #[inline(always)]
    fn idle(&mut self, e: Event) {
        let Some(processor) = self.processors.get_mut(usize::from(e.cpu)) else { return self.stray() };
        processor.idle(e.flag != 0, e.time);
        self.wasted.pass_to(e.time);
        self.wasted.idles(e.cpu);
    }

    /// A task may use other processors than before.
    fn allowed(&mut self, e: Event) {
        let Some(task) = self.tasks.get(e.task as usize) else { return self.stray() };
        let (id, waits) = (e.task as usize, task.place.cause().is_some());
        self.wasted.pass_to(e.time);
        if waits {
            self.wasted.leaves(id);
        }
        self.wasted.may_use(id, e.b as usize, e.a);
        if waits {
            self.wasted.waits(id);
        }
    }

    /// A task that was elsewhere runs.
    #[inline(always)]
    fn comes(&mut self, e: Event) {
        let Some(task) = self.tasks.get_mut(e.task as usize) else { return self.stray() };
        // Elsewhere than in the runqueue there is no wait.
        if let Some(waits) = self.jobs[task.job as usize].waits.get_mut(task.place as usize) {
            let waited = e.time.saturating_sub(task.since);
            waits.record(waited);
            task.waited = task.waited.saturating_add(waited);
            self.wasted.leaves(e.task as usize);
        }
        (task.place, task.since) = (Place::Running, e.time);
    }

    #[inline(always)]
    fn switch_out(&mut self, e: Event) {
        self.windows_until(e.time);
        if usize::from(e.cpu) >= self.processors.len() {
            return self.stray();
        }
        self.leaves(e);
    }

    /// A task that ran is elsewhere.
    #[inline(always)]
    fn leaves(&mut self, e: Event) {
        let Some(task) = self.tasks.get_mut(e.task as usize) else { return self.stray() };
        task.ran = task.ran.saturating_add(e.a.saturating_add(e.b));
        let job = &mut self.jobs[task.job as usize];
        if e.b > 0 {
            job.system = job.system.saturating_add(e.b);
        }
        let why = usize::from(e.flag).min(AFTER.len() - 1);
        job.left[why] += 1;
        if task.place < Place::Exiting {
            task.place = AFTER[why];
            task.since = e.time;
            if task.place < Place::Waiting {
                self.wasted.pass_to(e.time);
                self.wasted.waits(e.task as usize);
            }
        } else if task.place == Place::Exiting {
            let end = task.since;
            self.ended(e.task, end);
        }
    }

    /// What does not come with every context switch.
    #[inline(never)]
    fn rare(&mut self, e: Event) {
        match e.kind {
            Kind::Created => self.created(e),
            Kind::Exited => self.exited(e),
            // A tick that found no task charges no task.
            Kind::Sampled if e.task == NO_TASK => {}
            Kind::Sampled => {
                if let Some(job) = self.job(e) {
                    let charged = &mut job.sampled[usize::from(e.flag).min(2)];
                    *charged = charged.saturating_add(e.a);
                }
            }
            // Linux does not count where a new task is put as a migration. (wake_up_new_task: __set_task_cpu)
            Kind::Migrated if e.flag == 1 => {}
            Kind::Migrated => {
                if let Some(job) = self.job(e) {
                    job.migrations += 1;
                }
            }
            Kind::Allowed => self.allowed(e),
            Kind::CacheLookup | Kind::DiskQueued | Kind::DiskStart | Kind::DiskDone | Kind::MemoryUse => {
                self.storage.observe(e);
            }
            Kind::Fault => {
                if let Some(job) = self.job(e) {
                    job.faults[usize::from(e.flag).min(2)] += 1;
                }
            }
            Kind::Pass => {
                if let Some(job) = self.job(e) {
                    job.pass_time.record(e.a);
                }
            }
            Kind::Period => {
                if let Some(job) = self.job(e) {
                    job.lateness.record(e.a);
                    job.misses += u64::from(e.flag == 0);
                }
            }
            Kind::Message => {
                if let Some(job) = self.job(e) {
                    job.message_latency.record(e.a);
                }
            }
            Kind::Granted => {
                if let Some(job) = self.job(e) {
                    job.lock_latency.record(e.a);
                }
            }
            Kind::Signal => {
                if let Some(job) = self.job(e) {
                    job.signals_overlapped += u64::from(e.flag == 0 && e.a > 1);
                }
            }
            Kind::Memory => self.memory(e),
            Kind::Unfinished => self.unfinished(e),
            Kind::Refused => {
                if let Some(job) = self.job(e) {
                    job.refused += 1;
                }
            }
            Kind::Mark | Kind::Charged | Kind::Treated | Kind::Executed => {}
            Kind::Wakeup | Kind::SwitchIn | Kind::SwitchOut | Kind::Overhead => unreachable!("taken by observe"),
            Kind::Idle | Kind::Interrupt | Kind::SystemCall => unreachable!("taken by observe"),
        }
    }

    /// The run's end cut something off.
    fn unfinished(&mut self, e: Event) {
        const PASS: u8 = Unfinished::Pass as u8;
        const PERIOD: u8 = Unfinished::Period as u8;
        const DEADLOCK: u8 = Unfinished::Deadlock as u8;
        const MESSAGE: u8 = Unfinished::Message as u8;
        const GRANT: u8 = Unfinished::Grant as u8;
        if e.flag == Unfinished::Request as u8 {
            return self.storage.observe(e);
        }
        let Some(task) = self.tasks.get(e.task as usize) else { return self.stray() };
        let job = &mut self.jobs[task.job as usize];
        match e.flag {
            PASS => job.pass_time.censor(e.a),
            MESSAGE => job.message_latency.censor(e.a),
            GRANT => job.lock_latency.censor(e.a),
            PERIOD => {
                job.lateness.censor(e.a);
                job.misses += 1;
            }
            stuck => {
                job.stuck += 1;
                job.stuck_first += u64::from(task.first);
                self.counts.deadlocks += u64::from(stuck == DEADLOCK);
            }
        }
    }

    fn exited(&mut self, e: Event) {
        self.windows_until(e.time);
        if e.time > self.loads.due {
            self.loads.sample(&self.tasks, e.time - 1);
        }
        let Some(task) = self.tasks.get_mut(e.task as usize) else { return self.stray() };
        match task.place {
            // The switch-out is still to come, and brings its last processor time.
            Place::Running => (task.place, task.since) = (Place::Exiting, e.time),
            Place::Exiting | Place::Ended => {}
            before => {
                match before.cause() {
                    Some(cause) => {
                        let waited = e.time.saturating_sub(task.since);
                        self.jobs[task.job as usize].unserved(waited, cause);
                        task.waited = task.waited.saturating_add(waited);
                        task.since = e.time;
                        self.wasted.pass_to(e.time);
                        self.wasted.leaves(e.task as usize);
                    }
                    None => self.loads.slept(task, e.time),
                }
                self.ended(e.task, e.time);
            }
        }
    }

    /// A task has ended, and all its processor time is known.
    #[inline(never)]
    fn ended(&mut self, id: TaskId, time: Nanos) {
        let task = &mut self.tasks[id as usize];
        task.place = Place::Ended;
        self.loads.lived(task, time);
        let unused = self.unused.get(id as usize).copied().unwrap_or(0);
        self.jobs[task.job as usize].settle(task, time, unused);
    }

    fn memory(&mut self, e: Event) {
        let Some(task) = self.tasks.get_mut(e.task as usize) else { return self.stray() };
        self.jobs[task.job as usize].memory_refused += u64::from(e.flag == 0);
        let id = e.task as usize;
        if id >= self.unused.len() {
            self.unused.resize(id + 1, 0);
        }
        self.unused[id] = e.b.saturating_sub(e.a);
    }

    /// The job of an event's task.
    #[inline]
    fn job(&mut self, e: Event) -> Option<&mut Job> {
        let Some(task) = self.tasks.get(e.task as usize) else {
            self.stray();
            return None;
        };
        Some(&mut self.jobs[task.job as usize])
    }
}

impl Observer for Collector {
    // Always, so that the match on a constant kind disappears: a call with the event in memory costs 2 ns more.
    #[inline(always)]
    fn observe(&mut self, e: Event) {
        match e.kind {
            Kind::Wakeup => self.wakeup(e),
            Kind::SwitchIn => self.switch_in(e),
            Kind::SwitchOut => self.switch_out(e),
            Kind::Overhead => self.overhead(e),
            Kind::Idle => self.idle(e),
            Kind::Interrupt => self.counts.interrupts += 1,
            Kind::SystemCall => self.counts.system_calls += 1,
            _ => self.rare(e),
        }
    }

    // Both are of one processor and one time.
    #[inline(always)]
    fn observe_switch(&mut self, left: Event, next: Event) {
        self.windows_until(next.time);
        let Some(processor) = self.processors.get_mut(usize::from(next.cpu)) else {
            self.stray();
            return self.stray();
        };
        processor.switch_in(next.task, next.time);
        self.wasted.pass_to(next.time);
        self.wasted.busy(next.cpu);
        self.leaves(left);
        self.comes(next);
    }

    #[inline]
    fn observe_row(&mut self, e: Event, processors: CpuId, times: impl ExactSizeIterator<Item = Nanos> + Clone) {
        match e.kind {
            Kind::Interrupt => self.counts.interrupts += u64::from(processors) * times.len() as u64,
            _ => times.for_each(|time| (0..processors).for_each(|cpu| self.observe(Event { time, cpu, ..e }))),
        }
    }
}

/// The distribution over all tasks, those of no job included.
pub(crate) fn over_all<'a>(parts: impl Iterator<Item = &'a Distribution>) -> Distribution {
    let mut all = Distribution::default();
    parts.for_each(|part| all.merge(part));
    all
}
