//! The kernel's own records of tracepoints, as events. What is where in a record is known from the descriptions in the file.

use super::{
    Context, Event, Kind, Listener, Pid, Recorded,
    calls::Machine,
    comms::{Comms, MOST_TASKS},
    description::{self, Field, Fields, States, Text},
    tracepoints::{self, What},
};
use std::collections::BTreeMap;

/// Bytes of a sector, as the kernel counts them.
const SECTOR: i64 = 512;
/// A field that this kernel does not have.
const NONE: Field = Field { offset: 0, size: 0, signed: false };

/// A record that its description does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Damaged;

/// Where the fields of a known tracepoint are.
#[derive(Debug, Clone, Copy)]
struct Plan {
    what: What,
    pid: Field,
    flags: Field,
    numbers: [Field; 5],
    texts: [Option<Text>; 2],
}

#[derive(Debug)]
struct Tracepoint {
    /// As perf writes it: "sched:sched_switch".
    name: String,
    plan: Option<Plan>,
    events: u64,
}

/// Turns records into events.
#[derive(Debug)]
pub(super) struct Decoder {
    common_type: Field,
    states: States,
    /// Index into `tracepoints` by number of the tracepoint, `u16::MAX` for none.
    by_id: Vec<u16>,
    tracepoints: Vec<Tracepoint>,
    /// The names of tasks.
    pub comms: Comms,
    /// Whose numbers system calls have.
    pub machine: Machine,
}

impl Default for Decoder {
    fn default() -> Self {
        Decoder {
            common_type: Field { offset: 0, size: 2, signed: false },
            states: States { waits: 0, gone: 0, sleeps: 0, stopped: 0 },
            by_id: Vec::new(),
            tracepoints: Vec::new(),
            comms: Comms::default(),
            machine: Machine::default(),
        }
    }
}

impl Decoder {
    /// Takes the description of a tracepoint of a group. Fails if it is one that readers know and lacks what they need.
    pub fn describe(&mut self, system: &str, format: &str) -> Result<(), String> {
        let (id, name) = (description::id(format)?, description::name(format)?);
        let full = format!("{system}:{name}");
        let wrong = |why: String| format!("the description of {full}: {why}");
        let fields = Fields::parse(format);
        let common_type = fields.get("common_type").map_err(wrong)?;
        if !self.tracepoints.is_empty() && common_type != self.common_type {
            return Err(wrong("its common_type is elsewhere than that of others".to_owned()));
        }
        self.common_type = common_type;
        let plan = match tracepoints::find(system, name) {
            Some(known) => {
                let plan = Plan::new(known, &fields).map_err(wrong)?;
                Some(Plan { what: tracepoints::of_one_call(plan.what, name), ..plan })
            }
            None => None,
        };
        if plan.is_some_and(|plan| plan.what == What::Switch) {
            self.states = States::parse(format).map_err(wrong)?;
        }
        let (at, index) = (usize::from(id), self.tracepoints.len());
        if self.by_id.len() <= at {
            self.by_id.resize(at + 1, u16::MAX);
        }
        // A file may describe a tracepoint twice, and there are fewer than u16::MAX numbers of them.
        if self.by_id[at] == u16::MAX && index < usize::from(u16::MAX) {
            self.by_id[at] = index as u16;
            self.tracepoints.push(Tracepoint { name: full, plan, events: 0 });
        }
        Ok(())
    }

    /// Whether any tracepoint was described.
    pub fn is_empty(&self) -> bool {
        self.tracepoints.is_empty()
    }

    /// Whether a tracepoint was described.
    pub fn describes(&self, name: &str) -> bool {
        self.tracepoints.iter().any(|tracepoint| tracepoint.name == name)
    }

    /// The name of a tracepoint that readers know, by its number.
    pub fn known(&self, id: u64) -> Option<&str> {
        let index = usize::from(*self.by_id.get(usize::try_from(id).ok()?)?);
        self.tracepoints.get(index).filter(|it| it.plan.is_some()).map(|it| it.name.as_str())
    }

    /// What was recorded, by name.
    pub fn recorded(&self) -> BTreeMap<String, Recorded> {
        let recorded = |it: &Tracepoint| Recorded { events: it.events, known: it.plan.is_some() };
        self.tracepoints.iter().map(|it| (it.name.clone(), recorded(it))).collect()
    }

    /// Reports the names that are new. To be called before events are given out.
    pub fn report(&mut self, listener: &mut impl Listener) {
        self.comms.report(listener);
    }

    /// Decodes a record and adds its events, none if it is of a tracepoint that readers do not know.
    #[inline]
    pub fn decode(&mut self, time: u64, cpu: u16, record: &[u8], out: &mut Vec<Event>) -> Result<(), Damaged> {
        let id = self.common_type.of(record).ok_or(Damaged)?;
        let index = self.by_id.get(id as usize).copied().unwrap_or(u16::MAX);
        let tracepoint = self.tracepoints.get_mut(usize::from(index)).ok_or(Damaged)?;
        tracepoint.events += 1;
        let Some(plan) = &tracepoint.plan else { return Ok(()) };
        plan.decode(self.states, self.machine, &mut self.comms, Event { cpu, ..empty(time) }, record, out)
            .ok_or(Damaged)
    }

    /// A task has a name since then.
    pub fn named(&mut self, time: u64, pid: Pid, name: &[u8], out: &mut Vec<Event>) {
        named(&mut self.comms, Event { task: pid, cpu: Event::ALL, ..empty(time) }, name, out);
    }
}

/// An event without anything.
fn empty(time: u64) -> Event {
    Event { time, value: 0, task: 0, other: Event::NO_TASK, extra: 0, cpu: 0, kind: Kind::Named, bits: 0 }
}

/// A number that a kernel gives to tasks.
#[inline]
fn checked(pid: i64) -> Option<Pid> {
    (0..=i64::from(MOST_TASKS)).contains(&pid).then_some(pid as Pid)
}

/// Two numbers of 32 bits as one.
#[inline]
fn pair(high: i64, low: i64) -> u64 {
    u64::from(high as u32) << 32 | u64::from(low as u32)
}

#[inline]
fn named(comms: &mut Comms, of: Event, name: &[u8], out: &mut Vec<Event>) {
    if let Some(number) = comms.seen(of.task, name) {
        out.push(Event { kind: Kind::Named, value: number, extra: 0, other: Event::NO_TASK, ..of });
    }
}

/// What a request to a drive does, by the letters of `rwbs`: a flush may come before ("FWS"), what it is like after ("RA").
fn direction(letters: &[u8]) -> u8 {
    let letters = if letters.len() > 1 && letters[0] == b'F' { &letters[1..] } else { letters };
    match letters.first() {
        Some(b'R') => 0,
        Some(b'W') => 1,
        _ => 2,
    }
}

impl Plan {
    fn new(known: &tracepoints::Known, fields: &Fields) -> Result<Plan, String> {
        let mut plan = Plan {
            what: known.what,
            pid: fields.get("common_pid")?,
            flags: fields.get("common_flags").unwrap_or(NONE),
            numbers: [NONE; 5],
            texts: [None; 2],
        };
        for (into, name) in plan.numbers.iter_mut().zip(known.numbers) {
            *into = match (name.strip_prefix('?'), name.split_once('|')) {
                (Some(name), _) => fields.get(name).unwrap_or(NONE),
                (_, Some((name, other))) => fields.get(name).or_else(|_| fields.get(other))?,
                _ => fields.get(name)?,
            };
        }
        for (into, name) in plan.texts.iter_mut().zip(known.texts) {
            *into = Some(fields.text(name)?);
        }
        Ok(plan)
    }

    #[inline]
    fn number(&self, at: usize, record: &[u8]) -> Option<i64> {
        if self.numbers[at].size == 0 { Some(0) } else { self.numbers[at].of(record) }
    }

    /// Long, because each kind of tracepoint has its own fields.
    #[inline]
    fn decode(
        &self,
        states: States,
        machine: Machine,
        comms: &mut Comms,
        mut it: Event,
        record: &[u8],
        out: &mut Vec<Event>,
    ) -> Option<()> {
        let number = |at| self.number(at, record);
        let text = |at: usize| self.texts[at].map_or(Some(&[][..]), |text| text.of(record));
        let current = checked(self.pid.of(record)?)?;
        let context = self.flags.of(record).map_or(Context::Unknown, Context::of_flags);
        (it.task, it.other, it.bits) = (current, current, Event::bits(0, context));
        match self.what {
            What::Switch => {
                (it.task, it.other) = (checked(number(0)?)?, checked(number(3)?)?);
                (it.kind, it.value) = (Kind::Switch, pair(number(1)?, number(4)?));
                it.bits = Event::bits(states.left(number(2)?) as u8, context);
                named(comms, it, text(0)?, out);
                named(comms, Event { task: it.other, ..it }, text(1)?, out);
            }
            What::Wake(kind) => {
                (it.task, it.kind, it.value) = (checked(number(0)?)?, kind, pair(number(1)?, number(2)?));
                named(comms, it, text(0)?, out);
            }
            What::Migrate => {
                (it.task, it.kind, it.value) = (checked(number(0)?)?, Kind::Migrate, pair(number(1)?, number(2)?));
                named(comms, it, text(0)?, out);
            }
            What::Fork => {
                (it.task, it.other, it.kind) = (checked(number(0)?)?, checked(number(1)?)?, Kind::Fork);
                named(comms, it, text(0)?, out);
                named(comms, Event { task: it.other, ..it }, text(1)?, out);
            }
            What::Of(kind) => {
                (it.task, it.kind) = (checked(number(0)?)?, kind);
                named(comms, it, text(0)?, out);
            }
            What::Runtime => {
                (it.task, it.kind, it.value) = (checked(number(0)?)?, Kind::Runtime, number(1)? as u64);
                named(comms, it, text(0)?, out);
            }
            What::Value(kind, flag) => {
                (it.kind, it.value, it.bits) = (kind, number(0)? as u64, Event::bits(flag, context));
            }
            What::Enter => {
                (it.kind, it.value) = (Kind::SyscallEnter, number(0)? as u64);
                it.bits = Event::bits(machine.call(it.value) as u8, context);
            }
            What::HrtimerStart => {
                (it.kind, it.value) = (Kind::TimerStart, number(0)? as u64);
                out.push(it);
                // The lowest bit of a mode: the caller gave a time from now. The kernel has added now to it already.
                (it.kind, it.value) = (Kind::TimerExpiry, number(1)? as u64);
                it.bits = Event::bits((number(2)? & 1) as u8, context);
            }
            What::Block(kind) => {
                let bytes = if self.numbers[3].size == 0 { number(2)?.wrapping_mul(SECTOR) } else { number(3)? };
                (it.kind, it.value, it.task) = (kind, number(0)? as u64, number(1)? as Pid);
                (it.extra, it.bits) = (bytes as u32, Event::bits(direction(text(0)?), context));
            }
        }
        out.push(it);
        Some(())
    }
}
