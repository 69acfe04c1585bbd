//! Events of rt-app as steps.
//!
//! | event | steps |
//! |---|---|
//! | run | compute |
//! | runtime | busy |
//! | sleep | sleep |
//! | timer | timer |
//! | lock, unlock, wait, signal, broad | those of the same meaning |
//! | sync | condition_signal, condition_wait; in lock and unlock where the mutex is not held |
//! | suspend | lock, condition_wait, unlock, by the name of the task |
//! | resume | lock, condition_broadcast, unlock, by the name given |
//! | barrier, sem_wait, sem_post, yield, fork | barrier, acquire, release, yield, fork |
//! | mem, memrun | touch |
//! | iorun | print: a host's tasks write that to /dev/null |

use super::{
    global::{Global, MOST},
    json::Node,
    names::{Kind, Names},
    task::{Does, Event, Survey, Task, UNIQUE},
    treatment::microseconds,
};
use crate::{
    experiment::problem::Fault,
    program::{ConditionWait, Span, Step, Timer, TimerMode, Touch, TouchOrder},
    scenario::Shared,
    units::{Duration, Size},
};
use std::collections::{BTreeMap, BTreeSet};

/// What events need to know, and what they leave behind.
pub(super) struct Events<'a, 'j> {
    pub global: &'a Global,
    pub survey: &'a Survey<'j>,
    pub names: &'a mut Names,
    pub shared: &'a mut BTreeMap<String, Shared>,
    pub thread: &'a mut Thread<'j>,
}

/// What a thread has at an event.
#[derive(Debug)]
pub(super) struct Thread<'j> {
    /// The mutexes that it holds.
    held: BTreeSet<&'j str>,
    /// Its timers that keep their pace.
    absolute: BTreeSet<&'j str>,
    /// Its buffers by kind and size, and where each begins in its memory.
    buffers: Vec<((&'static str, u64), u64)>,
}

impl<'j> Thread<'j> {
    /// At the start of a task.
    pub fn new(task: &Task<'j>) -> Result<Thread<'j>, Fault> {
        Ok(Thread { held: BTreeSet::new(), absolute: task.absolute_timers()?, buffers: Vec::new() })
    }
}

impl<'j> Events<'_, 'j> {
    /// The steps of an event that is not a fork.
    pub fn steps(&mut self, task: &Task<'j>, event: &Event<'j>) -> Result<Vec<Step>, Fault> {
        let node = &event.node;
        let length = || node.whole(0, MOST).map(microseconds);
        Ok(match event.does {
            Does::Run => vec![Step::Compute(Span::Fixed(length()?))],
            // rt-app works once before it looks at the clock.
            Does::Runtime => vec![Step::Busy(Duration(length()?.0.max(1)))],
            Does::Sleep => vec![Step::Sleep(Span::Fixed(length()?))],
            Does::Timer => vec![self.timer(task, event)?],
            Does::Lock => vec![self.lock(node, node.text()?)?],
            Does::Unlock => vec![self.unlock(node, node.text()?)?],
            Does::Wait => vec![self.wait(event)?],
            Does::Signal => vec![Step::ConditionSignal(self.names.of(Kind::Condition, node.text()?))],
            Does::Broad => vec![Step::ConditionBroadcast(self.names.of(Kind::Condition, node.text()?))],
            Does::Sync => self.sync(event)?,
            Does::Suspend => self.suspend(task, node)?,
            Does::Resume => {
                let name = node.text()?;
                let wake = Step::ConditionBroadcast(self.names.of(Kind::Condition, name));
                self.under(node, name, vec![wake])?
            }
            Does::Barrier if self.survey.forked.contains(task.name) => {
                return Err(node.fault("is a barrier of a forked thread: for how many threads it is cannot be known"));
            }
            Does::Barrier => vec![self.barrier(node)?],
            Does::SemPost => vec![Step::Release(self.semaphore(node)?)],
            Does::SemWait => vec![Step::Acquire(self.semaphore(node)?)],
            Does::Yield => vec![Step::Yield],
            Does::Mem => {
                let (bytes, size) = (node.whole(0, MOST)?.unsigned_abs(), self.global.buffer);
                self.touches("mem", size, bytes, true)
            }
            Does::Memrun => self.memrun(event)?,
            Does::Iorun => match &self.global.device {
                None => vec![Step::Print(Size(node.whole(0, MOST)?.unsigned_abs()))],
                Some(file) => {
                    let reason = format!(
                        "writes to {file:?} where all threads share the offset, which no step does; leave out \
                         global.io_device for /dev/null, or write an experiment with open and write"
                    );
                    return Err(node.fault(reason));
                }
            },
            Does::Fork => Vec::new(),
        })
    }

    fn timer(&mut self, task: &Task<'j>, event: &Event<'j>) -> Result<Step, Fault> {
        let node = &event.node;
        let (table, name) = (node.table()?, event.named("ref")?);
        if self.survey.forked.contains(task.name) {
            let reason = "is a timer of a forked thread, which rt-app counts from the start of the run; steps count from that of the task";
            return Err(node.fault(reason));
        }
        if self.survey.timers.get(name).is_some_and(|&threads| threads > 1) {
            let reason = format!(
                "{name:?} is shared by several threads, each of which moves its expiry on; no step does that: give \
                 each its own by a name that begins with \"{UNIQUE}\""
            );
            return Err(node.fault(reason));
        }
        let Some(period) = table.whole("period", 0, MOST)?.filter(|&period| period > 0) else {
            return Err(node.fault("has no period in us of at least 1"));
        };
        // "unique" is the timer without a name.
        let written = name.strip_prefix(UNIQUE).filter(|rest| !self.survey.timers.contains_key(rest)).unwrap_or(name);
        let mode = if self.thread.absolute.contains(name) { TimerMode::Absolute } else { TimerMode::Relative };
        Ok(Step::Timer(Timer { name: self.names.of(Kind::Timer, written), period: microseconds(period), mode }))
    }

    /// A mutex by its name here. All of them inherit priorities, or none.
    fn mutex(&mut self, name: &str) -> String {
        let name = self.names.of(Kind::Mutex, name);
        if self.global.inherits {
            self.shared.insert(name.clone(), Shared::Lock(crate::scenario::Protocol::Inherit));
        }
        name
    }

    fn lock(&mut self, node: &Node<'j>, name: &'j str) -> Result<Step, Fault> {
        if !self.thread.held.insert(name) {
            return Err(node.fault(format!("the thread holds the mutex {name:?} here: it would wait for itself")));
        }
        Ok(Step::Lock(self.mutex(name)))
    }

    fn unlock(&mut self, node: &Node<'j>, name: &'j str) -> Result<Step, Fault> {
        if !self.thread.held.remove(name) {
            return Err(node.fault(format!("the thread does not hold the mutex {name:?} here: lock it first")));
        }
        Ok(Step::Unlock(self.mutex(name)))
    }

    /// Steps under a mutex that the thread does not hold.
    fn under(&mut self, node: &Node<'j>, mutex: &'j str, steps: Vec<Step>) -> Result<Vec<Step>, Fault> {
        let lock = self.lock(node, mutex)?;
        let unlock = self.unlock(node, mutex)?;
        Ok([vec![lock], steps, vec![unlock]].concat())
    }

    /// A wait for a condition that some event signals.
    fn await_signal(&mut self, node: &Node<'j>, condition: &str, mutex: &str) -> Result<Step, Fault> {
        if !self.survey.signalled.contains(condition) {
            let what = "no event signals, broadcasts or resumes";
            return Err(node.fault(format!("{what} {condition:?}: the thread would wait forever")));
        }
        let lock = self.mutex(mutex);
        Ok(Step::ConditionWait(ConditionWait { condition: self.names.of(Kind::Condition, condition), lock }))
    }

    fn wait(&mut self, event: &Event<'j>) -> Result<Step, Fault> {
        let (condition, mutex) = (event.named("ref")?, event.named("mutex")?);
        if !self.thread.held.contains(mutex) {
            let reason = format!(
                "the thread does not hold the mutex {mutex:?} here, which POSIX leaves undefined: lock it first"
            );
            return Err(event.node.fault(reason));
        }
        self.await_signal(&event.node, condition, mutex)
    }

    /// As documented it takes the mutex itself; rt-app leaves that to events around it.
    fn sync(&mut self, event: &Event<'j>) -> Result<Vec<Step>, Fault> {
        let (condition, mutex) = (event.named("ref")?, event.named("mutex")?);
        let signal = Step::ConditionSignal(self.names.of(Kind::Condition, condition));
        let steps = vec![signal, self.await_signal(&event.node, condition, mutex)?];
        if self.thread.held.contains(mutex) { Ok(steps) } else { self.under(&event.node, mutex, steps) }
    }

    /// The text of the event is ignored: a thread waits by the name of its task.
    fn suspend(&mut self, task: &Task<'j>, node: &Node<'j>) -> Result<Vec<Step>, Fault> {
        if !self.survey.signalled.contains(task.name) {
            let written =
                node.text().map_or_else(|_| String::new(), |text| format!("; rt-app ignores the text {text:?}"));
            let reason = format!("no event resumes {:?}, so the thread would wait forever{written}", task.name);
            return Err(node.fault(reason));
        }
        let wait = self.await_signal(node, task.name, task.name)?;
        self.under(node, task.name, vec![wait])
    }

    /// For as many threads as come to it, each counted once for each event.
    fn barrier(&mut self, node: &Node<'j>) -> Result<Step, Fault> {
        let name = node.text()?;
        let parties = self.survey.parties.get(name).copied().unwrap_or(0);
        let fitting = u32::try_from(parties).ok().filter(|&parties| parties > 0);
        let parties = fitting.ok_or_else(|| node.fault("is used by no thread, or by more than can be counted"))?;
        let name = self.names.of(Kind::Barrier, name);
        self.shared.insert(name.clone(), Shared::Barrier(parties));
        Ok(Step::Barrier(name))
    }

    fn semaphore(&mut self, node: &Node<'j>) -> Result<String, Fault> {
        let name = self.names.of(Kind::Semaphore, node.text()?);
        self.shared.insert(name.clone(), Shared::Semaphore(0));
        Ok(name)
    }

    fn memrun(&mut self, event: &Event<'j>) -> Result<Vec<Step>, Fault> {
        let table = event.node.table()?;
        if let Some(node) = table.get("ref")? {
            return Err(
                node.fault("a buffer that threads share cannot be expressed: leave it out for buffers of their own")
            );
        }
        let number = |key: &str, least: i64| {
            let given = table.whole(key, least, MOST)?;
            given.map(i64::unsigned_abs).ok_or_else(|| Fault::new(table.at.key(key), "is missing"))
        };
        let kind = table.get("type")?.ok_or_else(|| Fault::new(table.at.key("type"), "is missing"))?;
        let (size, count) = (number("size", 1)?, number("count", 0)?);
        match kind.text()? {
            "read" => Ok(self.touches("read", size, count, false)),
            "write" => Ok(self.touches("write", size, count, true)),
            "chase" => Err(kind.fault(
                "a chase of pointers through the caches cannot be expressed: a job with footprint has work that is one",
            )),
            other => Err(Fault::unknown(kind.at, other, "is not a type of memrun", ["read", "write", "chase"])),
        }
    }

    /// So many bytes of a buffer, from its beginning again and again.
    fn touches(&mut self, kind: &'static str, size: u64, bytes: u64, write: bool) -> Vec<Step> {
        let known = self.thread.buffers.iter().find(|(buffer, _)| *buffer == (kind, size)).map(|(_, from)| *from);
        let end = self.thread.buffers.last().map_or(0, |((_, size), from)| (from + size).next_multiple_of(4096));
        let from = known.unwrap_or_else(|| {
            self.thread.buffers.push(((kind, size), end));
            end
        });
        let part = |size: u64, times: u64| {
            Step::Touch(Touch {
                image: None,
                from: Size(from),
                size: Size(size),
                times: times as u32,
                order: TouchOrder::Sequential,
                write,
                compute: Span::Fixed(Duration(0)),
            })
        };
        let (whole, rest) = (bytes / size, bytes % size);
        let whole = (whole > 0).then(|| part(size, whole));
        whole.into_iter().chain((rest > 0).then(|| part(rest, 1))).collect()
    }
}
