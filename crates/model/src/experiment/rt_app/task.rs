//! The tasks of an rt-app file: their phases and events, read and checked against each other before they become steps.

use super::{
    global::{MOST, refuse_unknown},
    json::{Node, Table},
    treatment,
};
use crate::{
    experiment::{path::Path, problem::Fault},
    program::{Forever, Times},
};
use std::collections::{BTreeMap, BTreeSet};

/// What an event does. rt-app knows it by how its key begins, longer beginnings first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    Runtime,
    Run,
    Sleep,
    Memrun,
    Mem,
    Iorun,
    Lock,
    Unlock,
    Signal,
    Broad,
    Wait,
    Sync,
    Barrier,
    Timer,
    Resume,
    Suspend,
    Yield,
    Fork,
    SemPost,
    SemWait,
}

const EVENTS: [(&str, Does); 20] = [
    ("runtime", Does::Runtime),
    ("run", Does::Run),
    ("sleep", Does::Sleep),
    ("memrun", Does::Memrun),
    ("mem", Does::Mem),
    ("iorun", Does::Iorun),
    ("lock", Does::Lock),
    ("unlock", Does::Unlock),
    ("signal", Does::Signal),
    ("broad", Does::Broad),
    ("wait", Does::Wait),
    ("sync", Does::Sync),
    ("barrier", Does::Barrier),
    ("timer", Does::Timer),
    ("resume", Does::Resume),
    ("suspend", Does::Suspend),
    ("yield", Does::Yield),
    ("fork", Does::Fork),
    ("sem_post", Does::SemPost),
    ("sem_wait", Does::SemWait),
];

/// Keys of a task that a phase has not, besides those of how it is treated.
const OF_TASK: [&str; 3] = ["instance", "delay", "phases"];
/// The ref of a wait or timer that gives none, and the mutex.
const NAMELESS: &str = "unknown";

/// An event and its place.
#[derive(Debug, Clone)]
pub(super) struct Event<'j> {
    pub does: Does,
    pub node: Node<'j>,
}

impl<'j> Event<'j> {
    fn of(key: &str, node: Node<'j>) -> Option<Event<'j>> {
        EVENTS.iter().find(|(start, _)| key.starts_with(start)).map(|&(_, does)| Event { does, node })
    }

    /// The name in the field `key` of its value.
    pub fn named(&self, key: &str) -> Result<&'j str, Fault> {
        Ok(self.node.table()?.text(key)?.unwrap_or(NAMELESS))
    }

    /// The condition that it signals, of a task or of its own name.
    fn signalled(&self) -> Result<Option<&'j str>, Fault> {
        match self.does {
            Does::Signal | Does::Broad | Does::Resume => self.node.text().map(Some),
            Does::Sync => self.named("ref").map(Some),
            _ => Ok(None),
        }
    }
}

/// A phase: events, how often they are done, and what changes before.
#[derive(Debug, Clone)]
pub(super) struct Phase<'j> {
    pub table: Table<'j>,
    pub times: Times,
    pub events: Vec<Event<'j>>,
    pub cpus: Option<Vec<u16>>,
}

/// A task as written.
#[derive(Debug, Clone)]
pub(super) struct Task<'j> {
    pub name: &'j str,
    pub table: Table<'j>,
    pub instances: u32,
    /// us.
    pub delay: i64,
    pub times: Times,
    pub cpus: Option<Vec<u16>>,
    pub phases: Vec<Phase<'j>>,
    /// Whether it has no object "phases": the one phase is the task itself.
    pub is_plain: bool,
}

impl<'j> Task<'j> {
    /// Reads the task of that name.
    pub fn read(name: &'j str, node: &Node<'j>) -> Result<Task<'j>, Fault> {
        let table = node.table()?;
        let phases = table.get("phases")?;
        let is_plain = phases.is_none();
        let times = looped(&table, if is_plain { 1 } else { -1 })?;
        // Without "phases" and "loop" the one phase, done once, is repeated; with "loop" it is the phase that is.
        let times = if is_plain && table.get("loop")?.is_none() { Times::Word(Forever::Forever) } else { times };
        let read = match phases {
            None => vec![Phase {
                times: Times::Count(1),
                cpus: None,
                ..Phase::read(&table, &[&OF_TASK[..], &treatment::OLD_KEYS].concat())?
            }],
            Some(phases) => {
                let event = table
                    .entries()
                    .find(|(key, node)| !treatment::OLD_KEYS.contains(key) && Event::of(key, node.clone()).is_some());
                if let Some((_, node)) = event {
                    return Err(node.fault("is an event next to phases, which rt-app does not do: put it into a phase"));
                }
                let known = [&["loop"], &OF_TASK[..], &treatment::KEYS, &treatment::OLD_KEYS].concat();
                refuse_unknown(&table, &known, &table.at)?;
                let read = phases.table()?.entries().map(|(_, node)| Phase::read(&node.table()?, &[]));
                read.collect::<Result<Vec<_>, _>>()?
            }
        };
        if read.is_empty() {
            return Err(Fault::new(table.at.key("phases"), "has no phase"));
        }
        let instances = table.whole("instance", 0, 1_000_000)?.unwrap_or(1) as u32;
        let delay = table.whole("delay", 0, MOST)?.unwrap_or(0);
        Ok(Task { name, instances, delay, times, cpus: treatment::processors(&table)?, phases: read, is_plain, table })
    }

    /// All of its events.
    pub fn events(&self) -> impl Iterator<Item = &Event<'j>> {
        self.phases.iter().flat_map(|phase| &phase.events)
    }

    /// Whether it goes on without end, if what it forks does not.
    pub fn is_endless(&self) -> bool {
        let endless = |times: Times| times.count().is_none();
        endless(self.times) || self.phases.iter().any(|phase| endless(phase.times))
    }

    /// The timers of this task that keep their pace: one event that says so is enough.
    pub fn absolute_timers(&self) -> Result<BTreeSet<&'j str>, Fault> {
        let mut all = BTreeSet::new();
        for event in self.events().filter(|event| event.does == Does::Timer) {
            let mode = event.node.table()?.get("mode")?;
            match mode.as_ref().map(|node| node.text()).transpose()? {
                None | Some("relative") => {}
                Some("absolute") => drop(all.insert(event.named("ref")?)),
                Some(other) => {
                    let known = ["relative", "absolute"];
                    return Err(Fault::unknown(event.node.at.key("mode"), other, "is not a mode of a timer", known));
                }
            }
        }
        Ok(all)
    }
}

impl<'j> Phase<'j> {
    /// Reads the events and the loop of a table, which may have these keys too.
    fn read(table: &Table<'j>, more: &[&str]) -> Result<Phase<'j>, Fault> {
        let events: Vec<Event<'j>> = table.entries().filter_map(|(key, node)| Event::of(key, node)).collect();
        let known = [&["loop"], more, &treatment::KEYS].concat();
        if let Some((key, _)) =
            table.entries().find(|(key, node)| Event::of(key, node.clone()).is_none() && !known.contains(key))
        {
            let all = EVENTS.iter().map(|(name, _)| *name).chain(known.iter().copied());
            return Err(Fault::field(&table.at, key, all));
        }
        if events.is_empty() {
            return Err(Fault::new(table.at.clone(), "has no event: rt-app refuses it"));
        }
        Ok(Phase { table: table.clone(), times: looped(table, 1)?, events, cpus: treatment::processors(table)? })
    }
}

/// How often: -1 is without end.
fn looped(table: &Table<'_>, default: i64) -> Result<Times, Fault> {
    let Some(node) = table.get("loop")? else { return Ok(times(default)) };
    match node.whole(-1, MOST)? {
        0 => Err(node.fault("0 is out of range: at least 1, or -1 for without end")),
        number => Ok(times(number)),
    }
}

fn times(number: i64) -> Times {
    u32::try_from(number).map_or(Times::Word(Forever::Forever), Times::Count)
}

/// What the tasks of a file do to each other.
#[derive(Debug, Default)]
pub(super) struct Survey<'j> {
    /// Names of conditions, and of tasks, that some event signals.
    pub signalled: BTreeSet<&'j str>,
    /// By barrier, the threads that use it, once for each event.
    pub parties: BTreeMap<&'j str, u64>,
    /// Tasks that some event forks.
    pub forked: BTreeSet<&'j str>,
    /// By timer that is not unique, the threads that use it.
    pub timers: BTreeMap<&'j str, u64>,
}

impl<'j> Survey<'j> {
    pub fn of(tasks: &[Task<'j>]) -> Result<Survey<'j>, Fault> {
        let mut survey = Survey::default();
        for task in tasks {
            let mut timers = BTreeSet::new();
            for event in task.events() {
                survey.signalled.extend(event.signalled()?);
                match event.does {
                    Does::Barrier => {
                        *survey.parties.entry(event.node.text()?).or_default() += u64::from(task.instances)
                    }
                    Does::Fork => drop(survey.forked.insert(event.node.text()?)),
                    Does::Timer => drop(timers.insert(event.named("ref")?)),
                    _ => {}
                }
            }
            for name in timers.into_iter().filter(|name| !name.starts_with(UNIQUE)) {
                *survey.timers.entry(name).or_default() += u64::from(task.instances);
            }
        }
        Ok(survey)
    }
}

/// How the names of timers begin of which each thread has its own.
pub(super) const UNIQUE: &str = "unique";

/// The place of a task.
pub(super) fn place(name: &str) -> Path {
    Path::top("tasks").key(name)
}
