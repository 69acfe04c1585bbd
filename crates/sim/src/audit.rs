//! The audit: observes a run and checks every event against what must hold for any kernel under any policy. Its accounts are
//! independent of the collector's; it trusts only the order of the events.
//!
//! - A task is new, waits, is ready on one processor, runs on one processor, or has ended. It goes from one to the other as
//!   it does in a kernel: only a ready task is switched in, only a running one is switched out or acts, only one that waits
//!   or is new is woken, by a task that has the processor or in an interrupt, and no event follows the end of a task.
//! - A task runs only where it may.
//! - A processor runs one task or idles, and it does not idle while a task is ready on it, unless the policy may.
//! - User, system and overhead time of an interval add up to its length, to the nanosecond; all intervals add up to the run.
//! - A drive serves one request at a time. Time never goes back. Nothing follows the end.
//!
//! A violation is recorded and does not panic, so that a test can show the first ones of a random scenario.

use schedlab_metrics::Totals;
use schedlab_model::{
    Nanos,
    event::{Event, Kind, Leave, NO_TASK, Observer, Waker},
    processors::{CpuSet, MOST_PROCESSORS},
    task::{CpuId, TaskId},
    units::spell_duration,
};

/// At most this many violations are kept; a broken kernel makes millions.
const MOST_KEPT: usize = 50;

const PREEMPTED: u8 = Leave::Preempted as u8;
const SLICE_END: u8 = Leave::SliceEnd as u8;
const YIELDED: u8 = Leave::Yielded as u8;
const BLOCKED: u8 = Leave::Blocked as u8;
const EXITED: u8 = Leave::Exited as u8;
const STOPPED: u8 = Leave::Stopped as u8;

/// Where a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It was never announced.
    Unknown,
    /// Created, and not woken yet. The kernel's own tasks begin so too, and may stay so.
    New,
    Waiting,
    Ready(CpuId),
    Running(CpuId),
    /// Its switch-out said that it ends; the exit must be reported at the same time.
    Leaving,
    /// It ended while it ran; the switch-out must be reported at the same time.
    Exiting(CpuId),
    /// It ran when the run stopped.
    Stopped,
    Ended,
}

/// What a processor does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    /// Between a switch-out and what comes next, which takes no time.
    Choosing,
    Running(TaskId),
    /// Nothing, and whether a task waits for a drive.
    Idle(bool),
    Stopped,
}

#[derive(Debug, Clone)]
struct Processor {
    doing: Doing,
    /// When it began to do so, and the overhead reported since.
    since: Nanos,
    overhead: Nanos,
    /// Tasks ready here.
    ready: u32,
    /// Since when it idles while tasks are ready here.
    asked: Option<Nanos>,
    spent: Totals,
}

/// Listens to a run and finds what cannot be true.
#[derive(Debug, Clone)]
pub struct Audit {
    now: Nanos,
    processors: Vec<Processor>,
    tasks: Vec<Place>,
    /// By task, where it may run; anywhere, where nothing else was reported.
    allowed: Vec<CpuSet>,
    /// Requests queued and not begun, and those in service: first sector, flag, and when it began.
    queued: u64,
    requests: Vec<(u64, u8, Nanos)>,
    /// Requests that the drive serves at a time, at most.
    depth: usize,
    /// Whether a task was stopped, so that nothing may follow but the last accounts of the other processors.
    stopped: bool,
    /// How long a processor may idle while tasks are ready on it.
    idles: Nanos,
    violations: Vec<String>,
    more: u64,
}

impl Audit {
    /// An audit of a run that begins at time 0 with `processors` idle processors and no task.
    pub fn new(processors: u16) -> Self {
        let doing = Doing::Idle(false);
        let idle = Processor { doing, since: 0, overhead: 0, ready: 0, asked: None, spent: Totals::default() };
        Audit {
            now: 0,
            processors: vec![idle; processors.into()],
            tasks: Vec::new(),
            allowed: Vec::new(),
            queued: 0,
            requests: Vec::new(),
            depth: 1,
            stopped: false,
            idles: 0,
            violations: Vec::new(),
            more: 0,
        }
    }

    /// A processor may idle for so long, ns, while tasks are ready on it: it takes time to leave its idle state, and without end where a
    /// quota may hold ready tasks back.
    pub fn may_idle(self, at_most: Nanos) -> Self {
        Audit { idles: at_most, ..self }
    }

    /// The drive serves up to `depth` requests at a time.
    pub fn drive_depth(self, depth: u32) -> Self {
        Audit { depth: depth as usize, ..self }
    }

    /// Where the processors' time went, ns, by these books. Complete after [`Audit::finish`].
    pub fn totals(&self) -> Totals {
        self.processors.iter().fold(Totals::default(), |all, p| Totals {
            user: all.user + p.spent.user,
            system: all.system + p.spent.system,
            overhead: all.overhead + p.spent.overhead,
            idle: all.idle + p.spent.idle,
            io_wait: all.io_wait + p.spent.io_wait,
        })
    }

    /// Ends the run at `end` and gives every violation, each with its time; the last line counts those not kept.
    pub fn finish(&mut self, end: Nanos) -> Vec<String> {
        self.pass_to(end);
        for cpu in 0..self.processors.len() {
            self.close(cpu, Doing::Stopped);
            let spent = self.processors[cpu].spent.sum();
            if spent != end {
                self.complain(format!("processor {cpu} accounts for {spent} ns of {end} ns"));
            }
        }
        for task in 0..self.tasks.len() {
            let place = self.tasks[task];
            if matches!(place, Place::Running(_) | Place::Exiting(_) | Place::Leaving) {
                self.complain(format!("task {task} is left as {place:?}: the end of this state was not reported"));
            }
        }
        let mut all = std::mem::take(&mut self.violations);
        if self.more > 0 {
            all.push(format!("and {} more", self.more));
        }
        all
    }

    fn complain(&mut self, what: String) {
        match self.violations.len() {
            MOST_KEPT.. => self.more += 1,
            _ => self.violations.push(format!("at {}: {what}", spell_duration(self.now))),
        }
    }

    /// Complains unless it is so.
    fn hold(&mut self, so: bool, event: &Event, what: &str) {
        if !so {
            self.complain(format!("{what}: {event:?}, the task was {:?}", self.place(event.task)));
        }
    }

    fn place(&self, task: TaskId) -> Place {
        self.tasks.get(task as usize).copied().unwrap_or(Place::Unknown)
    }

    /// A task is somewhere else now; the processors' counts of ready tasks follow.
    fn put(&mut self, task: TaskId, place: Place) {
        let old = std::mem::replace(&mut self.tasks[task as usize], place);
        for (place, change) in [(old, -1), (place, 1)] {
            if let Place::Ready(cpu) = place {
                let ready = &mut self.processors[cpu as usize].ready;
                *ready = ready.saturating_add_signed(change);
            }
        }
    }

    /// Time moves on: what may be true only for an instant must be over.
    fn pass_to(&mut self, time: Nanos) {
        if time < self.now {
            self.complain(format!("time goes back to {time} ns"));
        }
        if time <= self.now {
            return;
        }
        for cpu in 0..self.processors.len() {
            let Processor { doing, ready, asked, .. } = self.processors[cpu];
            let asked = (ready > 0 && matches!(doing, Doing::Idle(_))).then(|| asked.unwrap_or(self.now));
            self.processors[cpu].asked = asked;
            match doing {
                _ if asked.is_some_and(|asked| time - asked > self.idles) => {
                    self.complain(format!("processor {cpu} idles while {ready} tasks are ready on it"));
                }
                Doing::Choosing => self.complain(format!("processor {cpu} neither runs nor idles")),
                _ => {}
            }
        }
        self.now = time;
    }

    /// A processor changes its state; the interval that ends is accounted for.
    fn close(&mut self, cpu: usize, next: Doing) {
        let processor = &mut self.processors[cpu];
        let length = (self.now - processor.since).checked_sub(processor.overhead);
        processor.spent.overhead = processor.spent.overhead.saturating_add(processor.overhead);
        match processor.doing {
            Doing::Idle(true) => processor.spent.io_wait += length.unwrap_or(0),
            Doing::Idle(false) => processor.spent.idle += length.unwrap_or(0),
            // The switch-out reports the time of a running task; a choice takes none.
            Doing::Running(_) | Doing::Choosing | Doing::Stopped => {}
        }
        (processor.doing, processor.since, processor.overhead) = (next, self.now, 0);
        if length.is_none() {
            self.complain(format!("processor {cpu} reports more overhead than time"));
        }
    }

    fn created(&mut self, event: &Event) {
        let task = event.task as usize;
        if task >= self.tasks.len() {
            self.tasks.resize(task + 1, Place::Unknown);
            self.allowed.resize(task + 1, CpuSet::all(MOST_PROCESSORS));
        }
        self.hold(self.tasks[task] == Place::Unknown, event, "a task is created twice");
        self.put(event.task, Place::New);
    }

    fn wakeup(&mut self, event: &Event) {
        let place = self.place(event.task);
        let may = place == Place::New || place == Place::Waiting && event.flag == 0;
        self.hold(may, event, "only a task that waits or is new can be woken");
        self.put(event.task, Place::Ready(event.cpu));
        if let Waker::Task(waker) = Waker::of(event.a) {
            let on = event.b as CpuId;
            let runs = [Place::Running(on), Place::Exiting(on)].contains(&self.place(waker));
            self.hold(runs, event, "a task that wakes another has the processor");
        }
    }

    fn switch_in(&mut self, event: &Event) {
        let cpu = event.cpu as usize;
        self.hold(
            self.place(event.task) == Place::Ready(event.cpu),
            event,
            "only a task ready here can be switched in",
        );
        let free = !matches!(self.processors[cpu].doing, Doing::Running(_));
        self.hold(free, event, "the processor runs another task");
        let allowed = self.allowed.get(event.task as usize).is_none_or(|set| set.has(event.cpu));
        self.hold(allowed, event, "a task runs where it may not");
        self.close(cpu, Doing::Running(event.task));
        self.put(event.task, Place::Running(event.cpu));
    }

    fn switch_out(&mut self, event: &Event) {
        let cpu = event.cpu as usize;
        let place = self.place(event.task);
        let runs = [Place::Running(event.cpu), Place::Exiting(event.cpu)].contains(&place);
        self.hold(runs, event, "only the running task can be switched out");
        let Processor { doing, since, overhead, .. } = self.processors[cpu];
        self.hold(doing == Doing::Running(event.task), event, "the processor runs another task or none");
        let reported = event.a.saturating_add(event.b).saturating_add(overhead);
        let length = self.now - since;
        self.hold(
            reported == length,
            event,
            &format!("user, system and {overhead} ns of overhead are not {length} ns"),
        );
        let spent = &mut self.processors[cpu].spent;
        spent.user = spent.user.saturating_add(event.a);
        spent.system = spent.system.saturating_add(event.b);
        let next = match (event.flag, place) {
            (EXITED, Place::Exiting(_)) => Place::Ended,
            (EXITED, _) => Place::Leaving,
            (PREEMPTED | SLICE_END | YIELDED, _) => Place::Ready(event.cpu),
            (BLOCKED, _) => Place::Waiting,
            (STOPPED, _) => Place::Stopped,
            _ => place,
        };
        self.hold(next != place, event, "the switch-out has no known reason");
        self.stopped |= event.flag == STOPPED;
        self.close(cpu, if event.flag == STOPPED { Doing::Stopped } else { Doing::Choosing });
        self.put(event.task, next);
    }

    fn exited(&mut self, event: &Event) {
        let place = self.place(event.task);
        let next = match place {
            Place::Running(cpu) => Place::Exiting(cpu),
            _ => Place::Ended,
        };
        let may = matches!(place, Place::Running(_) | Place::Leaving | Place::Waiting);
        self.hold(may, event, "only a task that runs or waits can end");
        self.put(event.task, next);
    }

    fn migrated(&mut self, event: &Event) {
        self.hold(event.a != u64::from(event.cpu), event, "a task moves to where it is");
        match self.place(event.task) {
            Place::Ready(from) => {
                self.hold(u64::from(from) == event.a, event, "a task leaves a processor on which it is not");
                self.put(event.task, Place::Ready(event.cpu));
            }
            place => self.hold(matches!(place, Place::New | Place::Waiting), event, "a task moves that is not queued"),
        }
    }

    fn idle(&mut self, event: &Event) {
        let cpu = event.cpu as usize;
        let free = !matches!(self.processors[cpu].doing, Doing::Running(_));
        self.hold(free, event, "an idle processor runs a task");
        self.close(cpu, Doing::Idle(event.flag == 1));
    }

    fn disk(&mut self, event: &Event) {
        match event.kind {
            Kind::DiskQueued => self.queued += 1,
            Kind::DiskStart => {
                self.hold(self.queued > 0, event, "the drive begins a request that was not queued");
                self.queued = self.queued.saturating_sub(1);
                self.hold(self.requests.len() < self.depth, event, "the drive has not ended a request before");
                self.requests.push((event.a, event.flag, event.time));
            }
            _ => {
                let took = event.time.saturating_sub(event.b);
                let begun = self.requests.iter().position(|begun| *begun == (event.a, event.flag, took));
                self.hold(begun.is_some(), event, "the drive ends a request that it did not begin then");
                begun.map(|place| self.requests.swap_remove(place));
            }
        }
    }

    /// Whether an event can be looked at: it names a task and a processor that there are.
    fn known(&mut self, event: &Event) -> bool {
        let task = match event.kind {
            Kind::Created => event.task != NO_TASK,
            Kind::Overhead | Kind::Idle | Kind::Interrupt | Kind::Sampled => true,
            Kind::DiskQueued | Kind::DiskStart | Kind::DiskDone | Kind::MemoryUse | Kind::Unfinished => true,
            _ => self.place(event.task) != Place::Unknown,
        };
        let processor = (event.cpu as usize) < self.processors.len();
        self.hold(task, event, "this task was never created");
        self.hold(processor, event, "there is no such processor");
        task && processor
    }
}

impl Observer for Audit {
    fn observe(&mut self, event: Event) {
        self.pass_to(event.time);
        let last = event.kind == Kind::Overhead || event.kind == Kind::SwitchOut && event.flag == STOPPED;
        self.hold(!self.stopped || last, &event, "something follows the end");
        if !self.known(&event) {
            return;
        }
        match event.kind {
            Kind::Created => self.created(&event),
            Kind::Wakeup => self.wakeup(&event),
            Kind::SwitchIn => self.switch_in(&event),
            Kind::SwitchOut => self.switch_out(&event),
            Kind::Exited => self.exited(&event),
            Kind::Migrated => self.migrated(&event),
            Kind::Idle => self.idle(&event),
            Kind::Overhead => {
                let total = &mut self.processors[event.cpu as usize].overhead;
                *total = total.saturating_add(event.a);
            }
            Kind::DiskQueued | Kind::DiskStart | Kind::DiskDone => self.disk(&event),
            Kind::MemoryUse => {}
            Kind::SystemCall | Kind::Fault | Kind::Pass | Kind::Period | Kind::Mark | Kind::Executed => {
                let runs = self.place(event.task) == Place::Running(event.cpu);
                self.hold(runs, &event, "a task acts that does not run");
            }
            Kind::Refused => {
                let new = self.place(event.task) == Place::New;
                self.hold(new, &event, "a task that is not new is refused");
            }
            Kind::Allowed => {
                if let Some(set) = self.allowed.get_mut(event.task as usize) {
                    set.set_word(event.b as usize, event.a);
                }
            }
            Kind::Unfinished | Kind::Message | Kind::Granted | Kind::Treated => {}
            Kind::Interrupt | Kind::Sampled | Kind::CacheLookup | Kind::Signal | Kind::Memory | Kind::Charged => {}
        }
    }
}
