//! Recordings of our own, of the simulator, the host and guests, as events of a kernel.
//!
//! Tasks are numbered from 1 on: 0 is the idle task. A task that leaves a processor and the one that gets it next are one switch, at
//! the moment of leaving, as in Linux: what the switch itself takes belongs to the next one.

use super::delivery::Delivery;
use super::state::{self, State};
use super::tasks::Source;
use super::{Call, Context, Event, Head, Kind, Left, Listener, Loss, Pid, ReadError, Recorded};
use crate::Names;
use crate::recording::{Reader, RecordingError};
use schedlab_model::event::{self as model, Attributes, Leave, NO_TASK, Waker};
use schedlab_model::names::RunGroup;
use schedlab_model::processors::CpuSet;
use schedlab_model::task::{CpuId, TaskId};
use std::collections::BTreeMap;
use std::io::Read;

/// How the files are called.
pub const FORMAT: &str = "schedlab recording";
/// How they begin.
pub(super) const MAGIC: &[u8] = b"schedlab";
/// Events that may wait: a switch is known when the next task gets the processor.
const WAITING: usize = 1 << 17;
/// Bytes of a job's name that are kept: its number follows.
const MOST_NAME: usize = 48;
/// At least as many kinds of events are there.
const KINDS: usize = 32;
/// The kernel's priority of a task of nice 0.
const NICE_0: i16 = 120;
/// Priorities of tasks with greater numbers are not kept.
const MOST_TASKS: usize = 1 << 22;
/// Groups of which one is a part that are looked at.
const MOST_ABOVE: usize = 16;
/// Bytes of a sector.
const SECTOR: u64 = 512;

/// Reads a recording.
pub(super) fn read<L: Listener>(input: impl Read, listener: &mut L) -> Result<Head, ReadError> {
    let mut reader = Reader::new(input).map_err(|why| match why {
        RecordingError::Io(why) => ReadError::Io(why),
        why => ReadError::Wrong { format: FORMAT, why: why.to_string() },
    })?;
    let mut names = reader.names().clone();
    names.jobs.iter_mut().chain(&mut names.servers).for_each(cut);
    if let Some(groups) = &mut names.groups {
        groups.truncate(state::MOST_GROUPS);
        groups.iter_mut().for_each(|group| cut(&mut group.name));
    }
    let processors = names.processors;
    let delivery = Delivery::new(FORMAT, WAITING, listener);
    let mut own = Own {
        delivery,
        names,
        counts: Default::default(),
        processors: Vec::new(),
        priorities: Vec::new(),
        first: BTreeMap::new(),
        left_out: 0,
        time: 0,
    };
    let mut damage = None;
    for event in &mut reader {
        match event {
            Ok(event) => own.event(&event),
            Err(RecordingError::Io(why)) => return Err(ReadError::Io(why)),
            Err(why) => damage = Some(why.to_string()),
        }
    }
    let time = own.time;
    for cpu in 0..own.processors.len() {
        own.switch(cpu as u16, 0);
    }
    if let Some(why) = damage {
        own.delivery.loss(Loss { time: Some(time), cpu: None, events: None, why });
    }
    let state = own.state();
    let mut head = own.delivery.finish("events");
    head.state = state;
    let counts = own.counts.into_iter().flatten();
    head.recorded = counts.map(|(kind, recorded)| (format!("{kind:?}"), recorded)).collect();
    head.processors = head.processors.max(processors);
    head.clock = Some("the run's own, from its start".to_owned());
    Ok(head)
}

fn cut(name: &mut String) {
    let end = (0..=MOST_NAME.min(name.len())).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    name.truncate(end);
}

/// A processor: the task that has it, and how and when that left if the next one is not known yet.
#[derive(Debug, Clone, Copy, Default)]
struct Processor {
    task: Pid,
    leaves: Option<(u64, Left)>,
}

struct Own<'a, L> {
    delivery: Delivery<'a, L>,
    names: Names,
    /// By the number of a kind.
    counts: [Option<(model::Kind, Recorded)>; KINDS],
    processors: Vec<Processor>,
    /// By task, the kernel's priority.
    priorities: Vec<i16>,
    /// How the tasks that no task of the run has made were treated when they began; at most [`state::MOST_TASKS`].
    first: BTreeMap<TaskId, First>,
    /// How many more there were.
    left_out: u64,
    time: u64,
}

/// The number of a task here.
fn pid(task: u32) -> Option<Pid> {
    task.checked_add(1).and_then(|task| Pid::try_from(task).ok())
}

impl<L: Listener> Own<'_, L> {
    fn event(&mut self, of: &model::Event) {
        self.time = of.time;
        let cpu = usize::from(of.cpu);
        if of.cpu == Event::ALL {
            return self.delivery.unread(Some(of.time), || "one of a processor that does not exist".to_owned());
        }
        if self.processors.len() <= cpu {
            self.processors.resize(cpu + 1, Processor::default());
        }
        let known = self.take(of);
        let (_, recorded) = self.counts[of.kind as usize].get_or_insert((of.kind, Recorded { events: 0, known }));
        recorded.events += 1;
    }

    /// Takes an event; whether its kind is one that is used.
    fn take(&mut self, of: &model::Event) -> bool {
        let Some(task) = pid(of.task).or((of.task == model::NO_TASK).then_some(Event::NO_TASK)) else {
            self.delivery.unread(Some(of.time), || format!("one of the task {}, a number too large", of.task));
            return true;
        };
        let bits = Event::bits(0, Context::Unknown);
        let at = Event {
            time: of.time,
            value: 0,
            task,
            other: Event::NO_TASK,
            extra: 0,
            cpu: of.cpu,
            kind: Kind::New,
            bits,
        };
        let with = |kind, value| Event { kind, value, ..at };
        let write = Event::bits(of.flag & 1, Context::Unknown);
        match of.kind {
            model::Kind::Created => self.created(of, &at),
            model::Kind::Exited => self.deliver(with(Kind::Exit, 0)),
            model::Kind::Wakeup => self.wakes(of, with(Kind::Waking, of.cpu.into())),
            model::Kind::SwitchIn => self.switch(of.cpu, task),
            model::Kind::SwitchOut => self.leaves(of, task),
            model::Kind::Idle => self.switch(of.cpu, 0),
            model::Kind::Treated => self.treated(of, &at, Attributes::of(of.a), of.b),
            model::Kind::Allowed => self.allowed(of),
            model::Kind::Migrated => self.deliver(with(Kind::Migrate, of.a << 32 | u64::from(of.cpu))),
            model::Kind::Executed => self.deliver(with(Kind::Exec, 0)),
            model::Kind::Charged => self.deliver(with(Kind::Runtime, of.a)),
            model::Kind::DiskStart => {
                let bytes = u32::try_from(of.b.saturating_mul(SECTOR)).unwrap_or(u32::MAX);
                self.deliver(Event { extra: bytes, bits: write, ..with(Kind::BlockIssue, of.a) });
            }
            model::Kind::DiskDone => self.deliver(Event { bits: write, ..with(Kind::BlockComplete, of.a) }),
            _ => return false,
        }
        true
    }

    fn deliver(&mut self, event: Event) {
        let time = event.time;
        self.delivery.event(event, || format!("one at {time} ns"));
    }

    /// A task is woken, in the context of the task that wakes it or in an interrupt.
    fn wakes(&mut self, of: &model::Event, at: Event) {
        let kind = if of.flag == 1 { Kind::New } else { Kind::Waking };
        let (context, other) = match Waker::of(of.a) {
            Waker::Task(waker) => (Context::Task, pid(waker).unwrap_or(Event::NO_TASK)),
            Waker::Interrupt => (Context::HardInterrupt, Event::NO_TASK),
            Waker::Unknown => return self.deliver(Event { kind, ..at }),
        };
        let Ok(cpu) = u16::try_from(of.b) else {
            return self.delivery.unread(Some(of.time), || "one of a processor that does not exist".to_owned());
        };
        self.deliver(Event { kind, cpu, other, bits: Event::bits(0, context), ..at });
    }

    fn created(&mut self, of: &model::Event, at: &Event) {
        let name = self.name(of);
        self.delivery.named(at, at.task, name.as_bytes(), Source::Event);
        let task = of.task as usize;
        if task < MOST_TASKS {
            self.priorities.resize(self.priorities.len().max(task + 1), NICE_0);
        }
        // Of others nothing is known: of servers, and of what ran on the host besides.
        let of_job = usize::try_from(of.a).is_ok_and(|job| job < self.names.jobs.len());
        if of_job && of.b == u64::from(NO_TASK) {
            if self.first.len() < state::MOST_TASKS {
                self.first.insert(of.task, First { created: of.time, ..First::default() });
            } else {
                self.left_out += 1;
            }
        }
        self.treated(of, at, Attributes::default(), 0);
        if let Some(parent) = u32::try_from(of.b).ok().and_then(pid) {
            self.deliver(Event { kind: Kind::Fork, task: parent, other: at.task, ..*at });
        }
    }

    /// The name of a new task: that of its job, which all tasks of that share as those of a program do. Servers have names of their own.
    fn name(&self, of: &model::Event) -> String {
        let job = usize::try_from(of.a).ok().and_then(|job| self.names.jobs.get(job));
        let is_server = usize::try_from(of.task).is_ok_and(|task| task < self.names.servers.len());
        job.filter(|_| !is_server).cloned().unwrap_or_else(|| self.names.task(of.task, of.a))
    }

    fn leaves(&mut self, of: &model::Event, task: Pid) {
        if of.flag == Leave::Yielded as u8 {
            let bits = Event::bits(Call::Yield as u8, Context::Task);
            let (value, other) = (u64::MAX, task);
            self.deliver(Event {
                time: of.time,
                value,
                task,
                other,
                extra: 0,
                cpu: of.cpu,
                kind: Kind::SyscallEnter,
                bits,
            });
        }
        let left = match of.flag {
            flag if flag == Leave::Blocked as u8 => Left::Sleeping,
            flag if flag == Leave::Exited as u8 => Left::Dead,
            // The run stopped, not the task, which has run until then: it is given as preempted, as at the end of a replay.
            _ => Left::Runnable,
        };
        self.processors[usize::from(of.cpu)] = Processor { task, leaves: Some((of.time, left)) };
    }

    /// The processor goes to another task, or idles.
    fn switch(&mut self, cpu: u16, next: Pid) {
        let processor = &mut self.processors[usize::from(cpu)];
        let Processor { task, leaves } = std::mem::replace(processor, Processor { task: next, leaves: None });
        // It was idle if no task leaves it, and may be reported as idle twice.
        let (time, left) = leaves.unwrap_or((self.time, Left::Runnable));
        let task = if leaves.is_some() { task } else { 0 };
        if task != next {
            let bits = Event::bits(left as u8, Context::Unknown);
            let value = self.priority(task) << 32 | self.priority(next);
            self.deliver(Event { time, value, task, other: next, extra: 0, cpu, kind: Kind::Switch, bits });
        }
    }

    fn priority(&self, pid: Pid) -> u64 {
        let task = usize::try_from(pid).ok().and_then(|pid| pid.checked_sub(1));
        let priority = task.and_then(|task| self.priorities.get(task)).copied().unwrap_or(NICE_0);
        u64::from(i32::from(priority) as u32)
    }

    /// A task is treated so from now on.
    fn treated(&mut self, of: &model::Event, at: &Event, attributes: Attributes, slice_ns: u64) {
        let nice = (i16::from(of.flag) - 128).clamp(-20, 19) as i8;
        let bits = Event::bits(attributes.number() as u8, Context::Unknown);
        self.deliver(Event { kind: Kind::Treated, value: i64::from(nice) as u64, bits, ..*at });
        if let Some(priority) = self.priorities.get_mut(of.task as usize) {
            *priority = attributes.kernel_priority(nice) as i16;
        }
        if let Some(first) = self.first.get_mut(&of.task).filter(|first| first.created == of.time) {
            *first = First { attributes, nice, slice_ns, ..first.clone() };
        }
    }

    /// The processors of a task are these from now on.
    fn allowed(&mut self, of: &model::Event) {
        let first = self.first.get_mut(&of.task).filter(|first| first.created == of.time);
        if let (Some(first), Ok(word)) = (first, usize::try_from(of.b)) {
            first.allowed.set_word(word, of.a);
        }
    }

    /// How tasks were treated when they began; none of an older recording, which does not say it.
    fn state(&self) -> Option<Box<State>> {
        let groups = self.names.groups.as_ref()?;
        let processor = |number| state::Processor { number, ..state::Processor::default() };
        Some(Box::new(State {
            version: state::VERSION,
            kernel: state::Kernel { tick_ns: self.names.tick, ..state::Kernel::default() },
            processors: (0..self.names.processors).map(processor).collect(),
            tasks: self.first.iter().filter_map(|(&task, first)| first.state(task, groups)).collect(),
            tasks_left_out: self.left_out,
            groups: groups.iter().enumerate().map(|(place, group)| of_group(place + 1, group, groups)).collect(),
            ..State::default()
        }))
    }
}

/// How a task was treated when it began.
#[derive(Debug, Clone, Default)]
struct First {
    created: u64,
    attributes: Attributes,
    nice: i8,
    slice_ns: u64,
    /// No processor: all of them.
    allowed: CpuSet,
}

impl First {
    fn state(&self, task: TaskId, groups: &[RunGroup]) -> Option<state::Task> {
        let pid = pid(task)?;
        Some(state::Task {
            pid,
            process: pid,
            nice: self.nice,
            policy: self.attributes.number(),
            priority: self.attributes.priority.into(),
            slice_ns: self.slice_ns,
            processors: list(&self.allowed),
            group: path(usize::from(self.attributes.group), groups),
            ..state::Task::default()
        })
    }
}

/// Processors as the kernel lists them: "0-3,8".
fn list(set: &CpuSet) -> String {
    let mut ranges: Vec<(CpuId, CpuId)> = Vec::new();
    for cpu in set.iter() {
        match ranges.last_mut().filter(|range| range.1 + 1 == cpu) {
            Some(range) => range.1 = cpu,
            None => ranges.push((cpu, cpu)),
        }
    }
    let range = |&(first, last): &(CpuId, CpuId)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

fn of_group(number: usize, group: &RunGroup, groups: &[RunGroup]) -> state::Group {
    state::Group {
        path: path(number, groups),
        shares: Some(group.weight),
        quota_ns: group.quota.map(|(quota, _)| quota),
        period_ns: group.quota.map(|(_, period)| period),
        burst_ns: Some(group.burst).filter(|&burst| burst > 0),
        ..state::Group::default()
    }
}

/// The path of a group, from the root on; "/" is the root. A circle, which no run has, ends somewhere.
fn path(number: usize, groups: &[RunGroup]) -> String {
    let mut names = Vec::new();
    let mut next = number;
    while let Some(group) = next.checked_sub(1).and_then(|place| groups.get(place)).filter(|_| names.len() < MOST_ABOVE)
    {
        names.push(format!("/{}", group.name));
        next = group.parent.into();
    }
    names.reverse();
    if names.is_empty() { "/".to_owned() } else { names.concat() }
}
