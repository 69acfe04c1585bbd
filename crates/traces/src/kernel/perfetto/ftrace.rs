//! The events of a bundle (`ftrace_event_bundle.proto`, `ftrace_event.proto` and the messages of each event).

use super::super::calls::Machine;
use super::super::delivery::Delivery;
use super::super::printed::{Found, request, state};
use super::super::proto::{Fields, Value};
use super::super::tasks::Source;
use super::super::{Context, Event, Kind, Listener, Recorded};
use super::{compact, pid};
use std::collections::BTreeMap;

/// Why events are missing.
const TOO_SLOW: &str = "the kernel's buffer was not read in time";
/// Processors whose current task is remembered.
const MOST_CPUS: u64 = 1 << 12;
/// Fields of a message of an event that are read.
const FIELDS: usize = 8;
/// Kinds of events that are counted by number.
const KINDS: usize = 1024;
/// The field of an event that this reader has no message for: its name is a field of it.
const GENERIC: u32 = 327;

/// The fields of an event's message by number: numbers, and texts.
type Message<'a> = ([u64; FIELDS], [&'a [u8]; FIELDS]);
/// From these, and an event that has time, processor and current task already.
type Make = for<'a> fn(&Message<'a>, Event) -> Found<'a>;

/// The known events by their field in `FtraceEvent`.
#[rustfmt::skip]
const TABLE: &[(u32, &str, Make)] = &[
    (4, "sched_switch", |(n, t), at| {
        let (prev, next) = (pid(n[2]), pid(n[6]));
        let bits = Event::bits(state(n[4]) as u8, at.context());
        let event = Event { kind: Kind::Switch, task: prev, other: next, value: n[3] << 32 | n[7] & 0xffff_ffff, bits, ..at };
        Found { names: [Some((prev, t[1])), Some((next, t[5]))], ..one(event) }
    }),
    (17, "sched_wakeup", |of, at| woken(of, at, Kind::Woken)),
    (20, "sched_waking", |of, at| woken(of, at, Kind::Waking)),
    (114, "sched_wakeup_new", |of, at| woken(of, at, Kind::New)),
    (24, "softirq_entry", |(n, _), at| valued(at, Kind::SoftirqEntry, n[1])),
    (25, "softirq_exit", |(n, _), at| valued(at, Kind::SoftirqExit, n[1])),
    (36, "irq_handler_entry", |(n, _), at| valued(at, Kind::IrqEntry, n[1])),
    (37, "irq_handler_exit", |(n, _), at| valued(at, Kind::IrqExit, n[1])),
    (45, "block_rq_issue", |(n, t), at| block(on(n[1], at), Kind::BlockIssue, (n[2], n[3], n[4]), t[5])),
    (125, "block_rq_complete", |(n, t), at| block(on(n[1], at), Kind::BlockComplete, (n[2], n[3], 0), t[5])),
    (57, "workqueue_execute_end", |(n, _), at| valued(at, Kind::WorkEnd, n[1])),
    (58, "workqueue_execute_start", |(n, _), at| valued(at, Kind::WorkBegin, n[1])),
    (236, "task_rename", |(n, t), at| Found { event: None, names: [Some((pid(n[1]), t[3])), None], ..one(at) }),
    (237, "sched_process_exec", |(n, _), at| one(Event { kind: Kind::Exec, task: pid(n[2]), ..at })),
    (238, "sched_process_exit", |(n, t), at| named(Event { kind: Kind::Exit, task: pid(n[2]), ..at }, t[1])),
    (239, "sched_process_fork", |(n, t), at| {
        let (parent, child) = (pid(n[2]), pid(n[4]));
        let event = Event { kind: Kind::Fork, task: parent, other: child, ..at };
        Found { names: [Some((parent, t[1])), Some((child, t[3]))], ..one(event) }
    }),
    (242, "sched_process_wait", |(n, _), at| valued(at, Kind::Wait, n[2])),
    (329, "sys_enter", |(n, _), at| valued(at, Kind::SyscallEnter, n[1])),
    (330, "sys_exit", |(n, _), at| valued(at, Kind::SyscallExit, n[1])),
    (491, "sched_migrate_task", |(n, t), at| {
        named(Event { kind: Kind::Migrate, task: pid(n[2]), value: n[4] << 32 | n[5] & 0xffff_ffff, ..at }, t[1])
    }),
    (551, "hrtimer_start", |(n, _), at| {
        let bits = Event::bits((n[5] & 1) as u8, at.context());
        let expiry = Event { kind: Kind::TimerExpiry, value: n[3], bits, ..at };
        Found { second: Some(expiry), ..valued(at, Kind::TimerStart, n[1]) }
    }),
    (552, "hrtimer_cancel", |(n, _), at| valued(at, Kind::TimerCancel, n[1])),
    (553, "hrtimer_expire_entry", |(n, _), at| valued(at, Kind::TimerExpire, n[1])),
    (554, "hrtimer_expire_exit", |(n, _), at| valued(at, Kind::TimerDone, n[1])),
    (555, "timer_start", |(n, _), at| valued(at, Kind::TimerStart, n[1])),
    (556, "timer_cancel", |(n, _), at| valued(at, Kind::TimerCancel, n[1])),
    (557, "timer_expire_entry", |(n, _), at| valued(at, Kind::TimerExpire, n[1])),
    (558, "timer_expire_exit", |(n, _), at| valued(at, Kind::TimerDone, n[1])),
    (559, "local_timer_entry", |(n, _), at| valued(at, Kind::VectorEntry, n[1])),
    (560, "local_timer_exit", |(n, _), at| valued(at, Kind::VectorExit, n[1])),
];

fn one(event: Event) -> Found<'static> {
    Found { event: Some(event), second: None, names: [None, None] }
}

fn named(event: Event, comm: &[u8]) -> Found<'_> {
    Found { names: [Some((event.task, comm)), None], ..one(event) }
}

fn valued(at: Event, kind: Kind, value: u64) -> Found<'static> {
    one(Event { kind, value, ..at })
}

/// 1 name, 2 task, 3 priority, 5 target processor.
fn woken<'a>((n, t): &Message<'a>, at: Event, kind: Kind) -> Found<'a> {
    named(Event { kind, task: pid(n[2]), value: n[3] << 32 | n[5] & 0xffff_ffff, ..at }, t[1])
}

/// On a drive of that number.
fn on(drive: u64, at: Event) -> Event {
    Event { task: drive as u32 as i32, ..at }
}

/// Sector, sectors and bytes of a request, of which the bytes may not be given.
fn block(at: Event, kind: Kind, (sector, sectors, bytes): (u64, u64, u64), letters: &[u8]) -> Found<'static> {
    let bytes = if bytes > 0 { bytes } else { sectors.saturating_mul(512) };
    let extra = u32::try_from(bytes).unwrap_or(u32::MAX);
    one(Event { kind, value: sector, extra, bits: Event::bits(request(letters), at.context()), ..at })
}

/// What is known of all bundles so far.
#[derive(Debug, Default)]
pub(super) struct Bundles {
    /// Time of the event read last.
    pub(super) time: Option<u64>,
    /// The clock of the bundles.
    pub(super) clock: Option<&'static str>,
    /// Whose numbers system calls have.
    pub(super) machine: Machine,
    /// Events by field.
    counts: BTreeMap<u32, u64>,
    /// Events by name, for those that have it in them.
    generic: BTreeMap<String, u64>,
    processors: Vec<compact::Current>,
}

impl Bundles {
    /// Takes a bundle; what is wrong with it.
    pub(super) fn take<L: Listener>(&mut self, bundle: &[u8], delivery: &mut Delivery<'_, L>) -> Option<&'static str> {
        // Fields may come in any order, and the processor is needed first.
        let (mut cpu, mut lost) = (0, false);
        let mut fields = Fields::new(bundle);
        for field in fields.by_ref() {
            match field {
                (1, Value::Number(value)) => cpu = value,
                (3, Value::Number(value)) => lost = value != 0,
                (5, Value::Number(value)) => self.clock = clock(value),
                _ => {}
            }
        }
        if cpu >= MOST_CPUS {
            return Some("its processor is out of bounds");
        }
        self.clock = self.clock.or(Some("boot"));
        let (cpu, mut even) = (cpu as u16, true);
        for field in Fields::new(bundle) {
            match field {
                (2, Value::Bytes(event)) => self.event(event, cpu, &mut lost, delivery),
                (4, Value::Bytes(sched)) => even &= self.compact(sched, cpu, &mut lost, delivery),
                _ => {}
            }
        }
        if lost {
            delivery.lost(self.time.unwrap_or(0), Some(cpu), None, TOO_SLOW);
        }
        match () {
            () if fields.damaged() => Some("its bundle of events is damaged"),
            () if !even => Some("its columns of events have different lengths"),
            () => None,
        }
    }

    fn event<L: Listener>(&mut self, event: &[u8], cpu: u16, lost: &mut bool, delivery: &mut Delivery<'_, L>) {
        let (mut time, mut current, mut kind, mut context) = (0, Event::NO_TASK, None, Context::Unknown);
        for field in Fields::new(event) {
            match field {
                (1, Value::Number(value)) => time = value,
                (2, Value::Number(value)) => current = pid(value),
                (5, Value::Number(flags)) => context = Context::of_flags(flags as i64),
                (field, Value::Bytes(message)) => kind = Some((field, message)),
                _ => {}
            }
        }
        self.at(time, cpu, lost, delivery);
        let Some((field, message)) = kind else { return };
        self.count(field, message);
        let Some((_, _, make)) = TABLE.iter().find(|(known, ..)| *known == field) else { return };
        let bits = Event::bits(0, context);
        let at = Event { time, value: 0, task: current, other: current, extra: 0, cpu, kind: Kind::Named, bits };
        let mut of: Message<'_> = ([0; FIELDS], [b""; FIELDS]);
        for (field, value) in Fields::new(message) {
            match value {
                Value::Number(number) if (field as usize) < FIELDS => of.0[field as usize] = number,
                Value::Bytes(text) if (field as usize) < FIELDS => of.1[field as usize] = text,
                _ => {}
            }
        }
        let found = make(&of, at);
        for (task, comm) in found.names.into_iter().flatten() {
            delivery.named(&at, task, comm, Source::Event);
        }
        for mut event in found.event.into_iter().chain(found.second) {
            if event.kind == Kind::SyscallEnter {
                event.bits = Event::bits(self.machine.call(event.value) as u8, context);
            }
            delivery.event(event, || format!("one at {time} ns on processor {cpu}"));
        }
    }

    /// Switches and wakeups in columns. Whether these have the same length; else some are missing.
    fn compact<L: Listener>(
        &mut self,
        sched: &[u8],
        cpu: u16,
        lost: &mut bool,
        delivery: &mut Delivery<'_, L>,
    ) -> bool {
        if self.processors.len() <= usize::from(cpu) {
            self.processors.resize(usize::from(cpu) + 1, compact::Current::default());
        }
        if *lost {
            self.processors[usize::from(cpu)] = compact::Current::default();
        }
        delivery.put_switches_last();
        let columns = compact::Columns::read(sched);
        let even = columns.even();
        for (event, task, comm) in columns.events(cpu, self.processors[usize::from(cpu)]) {
            self.at(event.time, cpu, lost, delivery);
            *self.counts.entry(if event.kind == Kind::Switch { 4 } else { 20 }).or_default() += 1;
            delivery.named(&event, task, comm, Source::Event);
            delivery.event(event, || format!("one at {} ns on processor {cpu}", event.time));
            if event.kind == Kind::Switch {
                self.processors[usize::from(cpu)] =
                    compact::Current { task: event.other, priority: event.value & 0xffff_ffff };
            }
        }
        even
    }

    /// Notes the time of an event, and that others were lost before it.
    fn at<L: Listener>(&mut self, time: u64, cpu: u16, lost: &mut bool, delivery: &mut Delivery<'_, L>) {
        self.time = Some(time);
        if std::mem::take(lost) {
            delivery.lost(time, Some(cpu), None, TOO_SLOW);
        }
    }

    fn count(&mut self, field: u32, message: &[u8]) {
        if field == GENERIC && self.generic.len() < KINDS {
            let name = Fields::new(message)
                .find_map(|field| if let (1, Value::Bytes(name)) = field { Some(name) } else { None });
            let name = name.map(|name| String::from_utf8_lossy(&name[..name.len().min(64)]).into_owned());
            *self.generic.entry(name.unwrap_or_default()).or_default() += 1;
        } else if self.counts.len() < KINDS || self.counts.contains_key(&field) {
            *self.counts.entry(field).or_default() += 1;
        }
    }

    /// The counts for a head.
    pub(super) fn recorded(&self) -> BTreeMap<String, Recorded> {
        let of = |(field, events): (&u32, &u64)| match TABLE.iter().find(|(known, ..)| known == field) {
            Some((_, name, _)) => ((*name).to_owned(), Recorded { events: *events, known: true }),
            None => (format!("field {field} of FtraceEvent"), Recorded { events: *events, known: false }),
        };
        let generic =
            self.generic.iter().map(|(name, events)| (name.clone(), Recorded { events: *events, known: false }));
        generic.chain(self.counts.iter().map(of)).collect()
    }
}

/// The name of a clock (`FtraceClock`). Where none is named, it is that of boot.
fn clock(number: u64) -> Option<&'static str> {
    Some(match number {
        0 => "boot",
        2 => "global",
        3 => "local",
        4 => "mono_raw",
        _ => "unknown",
    })
}
