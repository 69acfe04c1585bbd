//! Switches and wakeups in columns (`FtraceEventBundle.CompactSched`): times as differences, names as places in a table, and of a
//! switch only the task that comes. The one that leaves is the one that came before.

use super::super::printed::state;
use super::super::proto::{Fields, Value, packed};
use super::super::{Context, Event, Kind, Pid};
use super::pid;

/// Names of a table that are read: more than a bundle of a recorder ever had.
const MOST_NAMES: usize = 1 << 16;

/// The task that a processor has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Current {
    pub(super) task: Pid,
    pub(super) priority: u64,
}

impl Default for Current {
    fn default() -> Self {
        Current { task: Event::NO_TASK, priority: 0 }
    }
}

/// The columns. Those of one kind have the same length in a whole file.
#[derive(Debug, Default)]
pub(super) struct Columns<'a> {
    names: Vec<&'a [u8]>,
    lists: [&'a [u8]; 13],
}

impl<'a> Columns<'a> {
    pub(super) fn read(sched: &'a [u8]) -> Self {
        let mut columns = Columns::default();
        for field in Fields::new(sched) {
            match field {
                (5, Value::Bytes(name)) if columns.names.len() < MOST_NAMES => columns.names.push(name),
                (field, Value::Bytes(list)) if field < 13 => columns.lists[field as usize] = list,
                _ => {}
            }
        }
        columns
    }

    /// Whether the columns of each kind have the same length; that with the flags may be missing.
    pub(super) fn even(&self) -> bool {
        let length = |list: usize| self.lists[list].iter().filter(|byte| **byte & 0x80 == 0).count();
        [2, 3, 4, 6].iter().all(|list| length(*list) == length(1))
            && [8, 9, 10, 11].iter().all(|list| length(*list) == length(7))
            && [0, length(7)].contains(&length(12))
    }

    /// The events in order of time, wakeups before the switches of their time, each with a task and its name; `current` is the task at the beginning.
    pub(super) fn events(self, cpu: u16, mut current: Current) -> impl Iterator<Item = (Event, Pid, &'a [u8])> {
        let bits = Event::bits(0, Context::Unknown);
        let at = Event { time: 0, value: 0, task: 0, other: Event::NO_TASK, extra: 0, cpu, kind: Kind::Switch, bits };
        let mut switches = self.switches(at).peekable();
        let mut wakings = self.wakings(Event { kind: Kind::Waking, ..at }).peekable();
        std::iter::from_fn(move || {
            let first = match (switches.peek(), wakings.peek()) {
                (Some((switch, _)), Some((waking, _))) => switch.time < waking.time,
                (switch, _) => switch.is_some(),
            };
            if first {
                let (switch, comm) = switches.next()?;
                let value = current.priority << 32 | switch.value;
                let switch = Event { task: current.task, value, ..switch };
                current = Current { task: switch.other, priority: switch.value & 0xffff_ffff };
                Some((switch, switch.other, comm))
            } else {
                let (waking, comm) = wakings.next()?;
                Some((Event { other: current.task, ..waking }, waking.task, comm))
            }
        })
    }

    fn name(names: &[&'a [u8]], index: u64) -> &'a [u8] {
        usize::try_from(index).ok().and_then(|index| names.get(index)).copied().unwrap_or_default()
    }

    fn switches(&self, at: Event) -> impl Iterator<Item = (Event, &'a [u8])> + use<'a> {
        let [_, times, states, tasks, priorities, _, comms, ..] = self.lists;
        let columns = packed(times).zip(packed(states)).zip(packed(tasks)).zip(packed(priorities)).zip(packed(comms));
        let (names, mut time) = (self.names.clone(), 0u64);
        columns.map(move |((((step, left), task), priority), comm)| {
            time = time.saturating_add(step);
            let bits = Event::bits(state(left) as u8, Context::Unknown);
            let event = Event { time, other: pid(task), value: priority & 0xffff_ffff, bits, ..at };
            (event, Self::name(&names, comm))
        })
    }

    fn wakings(&self, at: Event) -> impl Iterator<Item = (Event, &'a [u8])> + use<'a> {
        let [_, _, _, _, _, _, _, times, tasks, cpus, priorities, comms, flags] = self.lists;
        let columns = packed(times).zip(packed(tasks)).zip(packed(cpus)).zip(packed(priorities)).zip(packed(comms));
        let (names, mut time, mut flags) = (self.names.clone(), 0u64, packed(flags));
        columns.map(move |((((step, task), cpu), priority), comm)| {
            time = time.saturating_add(step);
            // Older files have no such column.
            let context = flags.next().map_or(Context::Unknown, |flags| Context::of_flags(flags as i64));
            let value = priority << 32 | cpu & 0xffff_ffff;
            let event = Event { time, task: pid(task), value, bits: Event::bits(0, context), ..at };
            (event, Self::name(&names, comm))
        })
    }
}
