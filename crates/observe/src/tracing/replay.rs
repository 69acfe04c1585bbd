//! The raw events of all processors as the events of a run.
//!
//! Events before the run's begin are followed but not reported, so that the state of every task is known when it begins.
//! Tasks of no job are reported as far as they touch the run's processors: they are why others wait.
//!
//! A task is woken in the moment of its `sched_waking`. One that is just leaving its processor may be woken before the
//! switch is recorded: then it has no `sched_wakeup` before the switch, and counts as woken at the switch. If its
//! `sched_wakeup` comes while it still runs, it never slept.
//!
//! Long, because what each kind of raw event means depends on all before it.

use super::{
    pages::{IN_INTERRUPT, MOST_TASKS, RawEvent, What},
    roster::Roster,
};
use schedlab_model::{
    event::{Attributes, Event, Kind, Leave, NO_TASK, Observer, Waker},
    task::{Policy, TaskId},
};

/// The entry of `by_pid` for a number that no task has.
const NOBODY: u32 = u32::MAX;
/// Priorities of ordinary tasks: nice -20 to 19 is 100 to 139, nice 0 is 120. Below are the real-time ones.
const ORDINARY: std::ops::RangeInclusive<u8> = 100..=139;
const NICE_0: i16 = 120;

/// What those that belong to no job did on the run's processors, this process's own threads left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Others {
    /// Processor time that they used, ns.
    pub ran_ns: u64,
    /// Times that they woke up.
    pub wakeups: u64,
}

/// How complete the replay of the jobs' tasks is, on the run's processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Whole {
    /// Times that one of them got a processor.
    pub switches: u64,
    /// Places where a switch of one of them may be missing: it had the processor, had it next, or waited for it.
    pub missing: u64,
}

/// Where a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Nothing is known of it yet, or something is missing.
    Unknown,
    Waiting,
    Ready,
    Running,
    Ended,
}

#[derive(Debug, Clone)]
struct Task {
    /// Its number in the run, once it was reported.
    id: Option<TaskId>,
    /// Index of its job; the number of jobs if it has none.
    job: u32,
    nice: i8,
    parent: Option<u32>,
    place: Place,
    /// It was woken before it had left its processor, and not yet put into a runqueue.
    woken_leaving: Option<By>,
    own: bool,
}

/// What woke a task: the kernel's number of a task, or as [`RawEvent::other`], and the processor on which it did.
type By = (i32, u16);

/// Nothing that is known.
const BY_NOTHING: By = (0, 0);

/// A processor of the host.
#[derive(Debug, Clone, Copy)]
struct Processor {
    /// Its number in the run, if it is one of the run's.
    slot: Option<u16>,
    /// The task that has it, by index; none if it is idle or unknown.
    task: Option<u32>,
    /// Since when.
    since: u64,
    /// Time of its last event.
    heard: u64,
}

struct Replay<'a, O> {
    roster: &'a Roster,
    listener: O,
    tasks: Vec<Task>,
    /// Index of the task by the kernel's number.
    by_pid: Vec<u32>,
    /// By the host's number.
    processors: Vec<Processor>,
    ids: TaskId,
    open: bool,
    now: u64,
    others: Others,
    whole: Whole,
}

/// Replays a run for an observer.
pub fn replay<O: Observer>(raw_events: &[RawEvent], roster: &Roster, own: &[i32], listener: O) -> (Others, Whole) {
    let mut replay = Replay::new(roster, raw_events, own, listener);
    for it in raw_events.iter().take_while(|it| it.time <= roster.end_ns) {
        if !replay.open && it.time >= roster.begin_ns {
            replay.begin(raw_events);
        }
        replay.now = it.time;
        replay.handle(it);
    }
    if !replay.open {
        replay.begin(raw_events);
    }
    replay.end()
}

impl<'a, O: Observer> Replay<'a, O> {
    fn new(roster: &'a Roster, raw_events: &[RawEvent], own: &[i32], listener: O) -> Self {
        let highest = raw_events.iter().map(|it| it.cpu).chain(roster.processors.iter().copied()).max().unwrap_or(0);
        let nothing = Processor { slot: None, task: None, since: roster.begin_ns, heard: roster.begin_ns };
        let mut replay = Replay {
            roster,
            listener,
            tasks: Vec::new(),
            by_pid: Vec::new(),
            processors: vec![nothing; usize::from(highest) + 1],
            ids: 0,
            open: false,
            now: roster.begin_ns,
            others: Others::default(),
            whole: Whole::default(),
        };
        for (slot, &processor) in roster.processors.iter().enumerate() {
            replay.processors[usize::from(processor)].slot = Some(slot as u16);
        }
        for member in &roster.tasks {
            let task = replay.add(member.pid, u8::MAX);
            replay.tasks[task as usize].job = member.job.min(roster.jobs.len() as u32);
            replay.tasks[task as usize].nice = member.nice;
        }
        for member in &roster.tasks {
            let parent = member.parent.and_then(|parent| replay.known(parent));
            let task = replay.task(member.pid, u8::MAX);
            replay.tasks[task as usize].parent = parent;
        }
        for &pid in own {
            let task = replay.task(pid, u8::MAX);
            replay.tasks[task as usize].own = true;
        }
        // The task that had a processor until its first event had it from the start.
        for it in raw_events.iter().filter(|it| it.what == What::Start && it.pid != 0) {
            let task = replay.task(it.pid, it.prio);
            replay.tasks[task as usize].place = Place::Running;
            replay.processors[usize::from(it.cpu)].task = Some(task);
        }
        replay
    }

    fn handle(&mut self, it: &RawEvent) {
        match it.what {
            What::Switch => self.switch(it),
            What::Waking => self.waking(it),
            What::Woken | What::New => self.woken(it),
            What::Migrate => self.migrate(it),
            What::Fork => self.fork(it),
            What::Charged => self.charged(it),
            What::Gap | What::Torn | What::Mended => self.gap(it),
            What::Start => {}
        }
        self.processors[usize::from(it.cpu)].heard = it.time;
    }

    fn begin(&mut self, raw_events: &[RawEvent]) {
        self.open = true;
        self.now = self.roster.begin_ns;
        let within =
            |it: &&RawEvent| it.what == What::Fork && (self.roster.begin_ns..=self.roster.end_ns).contains(&it.time);
        let late: std::collections::HashSet<i32> = raw_events.iter().filter(within).map(|it| it.other).collect();
        for member in &self.roster.tasks {
            // One that is made during the run is reported then.
            if !late.contains(&member.pid)
                && let Some(task) = self.known(member.pid)
            {
                self.introduce(task);
            }
        }
        for task in 0..self.tasks.len() as u32 {
            if !self.in_job(task) || self.tasks[task as usize].place == Place::Unknown {
                continue;
            }
            self.introduce(task);
            match self.tasks[task as usize].place {
                Place::Ready => self.say(Kind::Wakeup, task, 0, 1, 0),
                Place::Ended => self.say(Kind::Exited, task, 0, 0, 0),
                _ => {}
            }
        }
        for cpu in 0..self.processors.len() {
            let Processor { slot: Some(slot), task, .. } = self.processors[cpu] else { continue };
            self.processors[cpu].since = self.now;
            if let Some(task) = task {
                self.say(Kind::SwitchIn, task, slot, 0, 0);
            }
        }
    }

    fn end(mut self) -> (Others, Whole) {
        self.now = self.roster.end_ns.max(self.roster.begin_ns);
        for cpu in 0..self.processors.len() {
            let Processor { slot: Some(slot), task: Some(task), since, .. } = self.processors[cpu] else { continue };
            let ran = self.now.saturating_sub(since);
            self.charge(task, ran);
            self.say(Kind::SwitchOut, task, slot, Leave::Stopped as u8, ran);
        }
        (self.others, self.whole)
    }

    fn switch(&mut self, it: &RawEvent) {
        let cpu = usize::from(it.cpu);
        let Processor { slot, since, .. } = self.processors[cpu];
        if it.pid != 0 {
            let task = self.task(it.pid, it.prio);
            self.leaves(task, slot, it.leave, it.time.saturating_sub(since));
        }
        let next = (it.other != 0).then(|| self.task(it.other, it.other_prio));
        (self.processors[cpu].task, self.processors[cpu].since) = (next, it.time);
        self.comes(next, slot);
    }

    fn leaves(&mut self, task: u32, slot: Option<u16>, why: Leave, ran: u64) {
        if let Some(slot) = slot.filter(|_| self.open) {
            self.charge(task, ran);
            if why == Leave::Exited {
                self.say(Kind::Exited, task, slot, 0, 0);
            }
            self.say(Kind::SwitchOut, task, slot, why as u8, ran);
        }
        let it = &mut self.tasks[task as usize];
        it.place = match why {
            Leave::Exited => Place::Ended,
            Leave::Blocked => Place::Waiting,
            _ => Place::Ready,
        };
        if let Some(by) = it.woken_leaving.take().filter(|_| why == Leave::Blocked) {
            self.wake(task, slot, 0, by);
        }
    }

    fn comes(&mut self, next: Option<u32>, slot: Option<u16>) {
        let Some(task) = next else {
            if let Some(cpu) = slot.filter(|_| self.open) {
                self.listener.observe(self.event(Kind::Idle, NO_TASK, cpu, 0, 0));
            }
            return;
        };
        match slot {
            Some(cpu) if self.open => {
                self.whole.switches += u64::from(self.in_job(task));
                self.say(Kind::SwitchIn, task, cpu, 0, 0);
            }
            Some(_) => {}
            None => self.out_of_sight(task),
        }
        self.tasks[task as usize].place = Place::Running;
        self.tasks[task as usize].woken_leaving = None;
    }

    /// A task that waited in a runqueue does so no longer, or perhaps: that wait is not to be counted.
    fn out_of_sight(&mut self, task: u32) {
        let it = &mut self.tasks[task as usize];
        if it.place == Place::Ready {
            it.place = Place::Unknown;
            if self.open && it.id.is_some() {
                self.say(Kind::SwitchOut, task, 0, Leave::Stopped as u8, 0);
            }
        }
    }

    fn waking(&mut self, it: &RawEvent) {
        let task = self.task(it.pid, it.prio);
        match self.tasks[task as usize].place {
            Place::Running => self.tasks[task as usize].woken_leaving = Some((it.other, it.cpu)),
            Place::Waiting | Place::Unknown => self.wake(task, self.slot(it.there), 0, (it.other, it.cpu)),
            Place::Ready | Place::Ended => {}
        }
    }

    fn woken(&mut self, it: &RawEvent) {
        let task = self.task(it.pid, it.prio);
        let slot = self.slot(it.there);
        let new = it.what == What::New;
        match self.tasks[task as usize].place {
            // It had not left yet, and stays.
            Place::Running => self.tasks[task as usize].woken_leaving = None,
            Place::Waiting | Place::Unknown => {
                let by = if new { (it.other, it.cpu) } else { BY_NOTHING };
                self.wake(task, slot, u8::from(new), by);
            }
            Place::Ready | Place::Ended => {}
        }
        let other = !self.in_job(task) && !self.tasks[task as usize].own;
        self.others.wakeups += u64::from(self.open && other && slot.is_some());
    }

    fn wake(&mut self, task: u32, slot: Option<u16>, new: u8, by: By) {
        self.tasks[task as usize].place = Place::Ready;
        if self.open && (slot.is_some() || self.in_job(task)) {
            let (waker, on) = self.waker(by);
            let id = self.introduce(task);
            let wakeup = self.event(Kind::Wakeup, id, slot.unwrap_or(0), new, waker.packed());
            self.listener.observe(Event { b: on.into(), ..wakeup });
        }
    }

    /// What woke a task, if it did so on a processor of the run's.
    fn waker(&mut self, (by, cpu): By) -> (Waker, u16) {
        match (by, self.slot(cpu)) {
            (IN_INTERRUPT, Some(on)) => (Waker::Interrupt, on),
            (1.., Some(on)) => {
                let waker = self.task(by, u8::MAX);
                (Waker::Task(self.introduce(waker)), on)
            }
            _ => (Waker::Unknown, 0),
        }
    }

    fn migrate(&mut self, it: &RawEvent) {
        let from = u16::try_from(it.other).ok().and_then(|cpu| self.slot(cpu));
        if let (true, Some(from), Some(to)) = (self.open, from, self.slot(it.there)) {
            let task = self.task(it.pid, it.prio);
            self.say(Kind::Migrated, task, to, 0, from.into());
        }
    }

    fn fork(&mut self, it: &RawEvent) {
        let parent = self.task(it.pid, u8::MAX);
        let known = self.known(it.other).filter(|&child| self.tasks[child as usize].place == Place::Unknown);
        // A number that was in use belongs to another task from now on.
        let child = known.unwrap_or_else(|| self.add(it.other, u8::MAX));
        let Task { job, nice, own, .. } = self.tasks[parent as usize];
        let it = &mut self.tasks[child as usize];
        if it.job == self.roster.jobs.len() as u32 {
            (it.job, it.nice, it.own, it.parent) = (job, nice, own, Some(parent));
        }
        it.place = Place::Waiting;
        if self.open && self.in_job(child) {
            self.introduce(child);
        }
    }

    /// A charge belongs to the processor that the task has, whichever processor recorded it.
    fn charged(&mut self, it: &RawEvent) {
        let task = self.task(it.pid, u8::MAX);
        let has_it = self.processors.iter().find(|processor| processor.task == Some(task));
        if let Some(slot) = has_it.unwrap_or(&self.processors[usize::from(it.cpu)]).slot.filter(|_| self.open) {
            self.say(Kind::Charged, task, slot, 0, it.other.unsigned_abs().into());
        }
    }

    fn gap(&mut self, it: &RawEvent) {
        let cpu = usize::from(it.cpu);
        let Processor { slot, task, since, heard } = self.processors[cpu];
        let next = (it.pid != 0).then(|| self.task(it.pid, it.prio));
        self.whole.missing +=
            u64::from(self.open && slot.is_some() && it.what != What::Mended && self.touches([task, next]));
        let heard = if it.what == What::Mended { it.time } else { heard };
        if let Some(task) = task {
            let ran = heard.saturating_sub(since);
            if let Some(slot) = slot.filter(|_| self.open) {
                self.charge(task, ran);
                self.say(Kind::SwitchOut, task, slot, Leave::Stopped as u8, ran);
            }
            self.tasks[task as usize].place = Place::Unknown;
        }
        if it.what == What::Gap {
            // A ready task may have run meanwhile.
            (0..self.tasks.len() as u32).for_each(|task| self.out_of_sight(task));
        }
        if it.what != What::Mended {
            next.into_iter().for_each(|task| self.out_of_sight(task));
        }
        (self.processors[cpu].task, self.processors[cpu].since) = (next, it.time);
        self.comes(next, slot);
    }

    /// Whether a task of a job is among these, or waits for a processor.
    fn touches(&self, known: [Option<u32>; 2]) -> bool {
        let waits = |task: u32| self.tasks[task as usize].place == Place::Ready;
        (0..self.tasks.len() as u32).any(|task| self.in_job(task) && (known.contains(&Some(task)) || waits(task)))
    }

    fn charge(&mut self, task: u32, ran: u64) {
        if !self.in_job(task) && !self.tasks[task as usize].own {
            self.others.ran_ns += ran;
        }
    }

    fn in_job(&self, task: u32) -> bool {
        (self.tasks[task as usize].job as usize) < self.roster.jobs.len()
    }

    fn slot(&self, cpu: u16) -> Option<u16> {
        self.processors.get(usize::from(cpu))?.slot
    }

    fn known(&self, pid: i32) -> Option<u32> {
        let found = *self.by_pid.get(usize::try_from(pid).ok()?)?;
        (found != NOBODY).then_some(found)
    }

    /// The task of that number; an unknown one belongs to no job.
    fn task(&mut self, pid: i32, prio: u8) -> u32 {
        self.known(pid).unwrap_or_else(|| self.add(pid, prio))
    }

    /// A new task of that number, of no job.
    fn add(&mut self, pid: i32, prio: u8) -> u32 {
        let index = self.tasks.len() as u32;
        let nice = if ORDINARY.contains(&prio) { (i16::from(prio) - NICE_0) as i8 } else { 0 };
        let job = self.roster.jobs.len() as u32;
        let task = Task { id: None, job, nice, parent: None, place: Place::Unknown, woken_leaving: None, own: false };
        self.tasks.push(task);
        let pid = pid.clamp(0, MOST_TASKS) as usize;
        if pid >= self.by_pid.len() {
            self.by_pid.resize(pid + 1, NOBODY);
        }
        self.by_pid[pid] = index;
        index
    }

    /// The number of a task in the run; it is reported if it was not.
    fn introduce(&mut self, task: u32) -> TaskId {
        let it = &self.tasks[task as usize];
        if let Some(id) = it.id {
            return id;
        }
        let (job, flag) = (u64::from(it.job), (i16::from(it.nice) + 128) as u8);
        let parent = it.parent.and_then(|parent| self.tasks[parent as usize].id).unwrap_or(NO_TASK);
        let id = self.ids;
        self.ids += 1;
        self.tasks[task as usize].id = Some(id);
        let created = self.event(Kind::Created, id, 0, flag, job);
        self.listener.observe(Event { b: parent.into(), ..created });
        let ordinary = (Attributes::default(), 0);
        // A child of a reservation is an ordinary task.
        let known = self.roster.treated.get(job as usize);
        let known = known.filter(|it| **it != ordinary && (parent == NO_TASK || it.0.policy != Policy::Deadline));
        if let Some(&(attributes, slice)) = known {
            let treated = self.event(Kind::Treated, id, 0, flag, attributes.packed());
            self.listener.observe(Event { b: slice, ..treated });
        }
        if !self.roster.allowed.is_empty() {
            // Others may have reasons of their own to wait for the processor on which they are.
            let allowed = self.roster.allowed.get(job as usize).cloned().unwrap_or_default();
            for word in (0..self.roster.processors.len().div_ceil(64)).rev() {
                let event = self.event(Kind::Allowed, id, 0, 0, allowed.word(word));
                self.listener.observe(Event { b: word as u64, ..event });
            }
        }
        id
    }

    fn say(&mut self, kind: Kind, task: u32, cpu: u16, flag: u8, a: u64) {
        let id = self.introduce(task);
        self.listener.observe(self.event(kind, id, cpu, flag, a));
    }

    fn event(&self, kind: Kind, task: TaskId, cpu: u16, flag: u8, a: u64) -> Event {
        Event { time: self.now.saturating_sub(self.roster.begin_ns), a, b: 0, task, cpu, kind, flag }
    }
}
