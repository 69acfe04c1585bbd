//! Rules of programs written as steps: which step must precede which, which needs a counterpart in another program, and that a
//! repeated program takes time.

use super::{between, jobs::span, lasting, locks, time::Time, treatment};
use crate::{
    experiment::{
        path::{Path, Segment},
        problem::Fault,
    },
    machine::{Machine, Personality},
    program::{Demand, FileSet, Repeat, Span, Step, Times, Touch},
    scenario::{Job, Protocol, Scenario, Shared},
    units::{Size, spell_size},
};
use std::collections::BTreeSet;

/// Deepest nesting of repeats, and of forks.
const DEEPEST: usize = 8;
/// Most steps written in one scenario.
const MOST_STEPS: usize = 10_000;
/// Most steps in a row that take no time.
const MOST_INSTANT: u64 = 10_000_000;
/// Most files of a set.
const MOST_FILES: u64 = 1_000_000;
/// Most bytes of memory that a program touches.
const MOST_TOUCHED: u64 = 1 << 36;
/// Most pages touched in one step, and the smallest page there is.
const MOST_TOUCHES: u64 = 1 << 28;
const LEAST_PAGE: u64 = 512;
/// Most bytes of a file, a transfer or a program.
const LARGEST: u64 = 1 << 40;

pub(super) fn check(scenario: &Scenario) -> Result<(), Fault> {
    let mut names = Names::default();
    for (_, _, steps) in programs(scenario) {
        names.collect(steps);
    }
    let mut written = 0;
    for (title, job, steps) in programs(scenario) {
        let at = Path::top("workload").key(title).key("steps");
        written += size(steps);
        if written > MOST_STEPS {
            return Err(Fault::new(at, format!("makes {written} steps in all; at most {MOST_STEPS}")));
        }
        let time = Time::new(scenario, steps);
        let mut program =
            Program { names: &names, scenario, machine: &scenario.machine, time, at, repeats: 0, forks: 0 };
        program.list(steps, false)?;
        if job.arrivals.is_none() {
            program.takes_time(steps, job.passes)?;
        }
        locks::check(&program.at, job, steps, &scenario.shared)?;
    }
    Ok(())
}

fn programs(scenario: &Scenario) -> impl Iterator<Item = (&str, &Job, &[Step])> {
    scenario.workload.iter().filter_map(|(title, job)| Some((title.as_str(), job, job.steps.as_deref()?)))
}

/// Whether the job ends by itself.
pub(super) fn ends(job: &Job) -> bool {
    job.is_finite() && job.steps.as_ref().is_none_or(|steps| !steps.iter().any(endless))
}

fn endless(step: &Step) -> bool {
    match step {
        Step::Repeat(Repeat { times, steps }) => {
            let left = steps.iter().any(|step| matches!(step, Step::Exit));
            (times.count().is_none() && !left) || steps.iter().any(endless)
        }
        Step::Fork(steps) => steps.iter().any(endless),
        _ => false,
    }
}

fn size(steps: &[Step]) -> usize {
    let one = |step: &Step| match step {
        Step::Fork(steps) | Step::Repeat(Repeat { steps, .. }) => 1 + size(steps),
        _ => 1,
    };
    steps.iter().map(one).sum()
}

/// What can be waited for, in all programs together.
#[derive(Default)]
struct Names<'s> {
    locks: BTreeSet<&'s str>,
    senders: BTreeSet<&'s str>,
    signalled: BTreeSet<&'s str>,
}

impl<'s> Names<'s> {
    fn collect(&mut self, steps: &'s [Step]) {
        for step in steps {
            match step {
                Step::Lock(name) | Step::ReadLock(name) => drop(self.locks.insert(name)),
                Step::Send(name) => drop(self.senders.insert(name)),
                Step::ConditionSignal(name) | Step::ConditionBroadcast(name) => drop(self.signalled.insert(name)),
                Step::Fork(steps) | Step::Repeat(Repeat { steps, .. }) => self.collect(steps),
                _ => {}
            }
        }
    }
}

/// One program, followed step by step.
struct Program<'s> {
    names: &'s Names<'s>,
    scenario: &'s Scenario,
    machine: &'s Machine,
    time: Time<'s>,
    at: Path,
    repeats: usize,
    forks: usize,
}

impl Program<'_> {
    fn fault(&self, reason: impl AsRef<str>) -> Fault {
        Fault::new(self.at.clone(), reason)
    }

    /// Does `work` one level or more down.
    fn below<T>(&mut self, down: &[Segment], work: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        let here = self.at.0.len();
        self.at.0.extend_from_slice(down);
        let done = work(self);
        self.at.0.truncate(here);
        done
    }

    /// Checks steps in their order; `open` is whether a file is open, before and after.
    fn list(&mut self, steps: &[Step], mut open: bool) -> Result<bool, Fault> {
        if steps.is_empty() {
            return Err(self.fault("has no steps"));
        }
        for (i, step) in steps.iter().enumerate() {
            open = self.below(&[Segment::Index(i)], |program| program.step(step, open))?;
        }
        Ok(open)
    }

    fn step(&mut self, step: &Step, open: bool) -> Result<bool, Fault> {
        match step {
            Step::Compute(length) => self.span("compute", *length)?,
            Step::Call(length) => self.span("call", *length)?,
            Step::Sleep(length) => self.span("sleep", *length)?,
            Step::Period(length) => self.below(&[field("period")], |program| lasting(&program.at, *length))?,
            Step::Timer(timer) => self.below(&[field("timer"), field("period")], |p| lasting(&p.at, timer.period))?,
            Step::Busy(length) => self.below(&[field("busy")], |program| lasting(&program.at, *length))?,
            Step::Open(set) => {
                self.below(&[field("open")], |program| program.file_set(set))?;
                return Ok(true);
            }
            Step::Create(_) | Step::Write(_) | Step::Seek(_) | Step::Delete(_) | Step::Sync | Step::Touch(_)
                if self.machine.personality == Personality::MessagePassing =>
            {
                let reason = "the file server and memory manager of a message-passing machine only read; \
                              this step needs a monolithic one";
                return Err(self.fault(reason));
            }
            Step::Create(set) => {
                self.below(&[field("create")], |program| program.file_set(set))?;
                return Ok(true);
            }
            Step::Delete(set) => self.below(&[field("delete")], |program| program.file_set(set))?,
            Step::Read(_) | Step::Write(_) | Step::Seek(_) | Step::Close if !open => {
                return Err(self.fault("no file is open here: open or create comes first"));
            }
            Step::Write(bytes) => self.bytes("write", *bytes)?,
            Step::Touch(touch) => self.below(&[field("touch")], |program| program.touch(touch))?,
            Step::Seek(_) | Step::Sync => {}
            Step::Close => return Ok(false),
            Step::Read(bytes) => self.bytes("read", *bytes)?,
            Step::Print(bytes) => self.bytes("print", *bytes)?,
            Step::Grow(demand) => self.below(&[field("grow")], |program| program.demand(*demand))?,
            Step::Unlock(name) => self.other_half("unlock", name, "lock", &self.names.locks)?,
            Step::Receive(name) => self.other_half("receive", name, "send", &self.names.senders)?,
            Step::Acquire(name) => {
                self.shared("acquire", name, "semaphore", |it| matches!(it, Shared::Semaphore(_)))?
            }
            Step::Release(name) => {
                self.shared("release", name, "semaphore", |it| matches!(it, Shared::Semaphore(_)))?
            }
            Step::Barrier(name) => self.shared("barrier", name, "barrier", |it| matches!(it, Shared::Barrier(_)))?,
            Step::ConditionWait(wait) => self.below(&[field("condition_wait")], |program| {
                program.other_half("condition", &wait.condition, "condition_signal", &program.names.signalled)
            })?,
            Step::Set(change) => {
                self.below(&[field("set")], |program| treatment::check(&program.at, change, program.scenario))?
            }
            Step::ReadLock(name) if self.has_protocol(name) => {
                let reason = format!("{name:?} has a protocol, and so one holder at a time: lock it instead");
                return Err(Fault::new(self.at.key("read_lock"), reason));
            }
            Step::Fork(steps) => self.fork(steps)?,
            Step::Repeat(repeat) => return self.repeat(repeat, open),
            Step::Run(command) if command.trim().is_empty() => {
                return Err(Fault::new(self.at.key("run"), "is empty: write a command of the shell"));
            }
            Step::Lock(_) | Step::ReadLock(_) | Step::Send(_) | Step::Mark(_) | Step::Run(_) => {}
            Step::ConditionSignal(_) | Step::ConditionBroadcast(_) => {}
            Step::Wait | Step::Signal | Step::Pause | Step::Yield | Step::Exec | Step::Exit => {}
        }
        Ok(open)
    }

    fn has_protocol(&self, lock: &str) -> bool {
        matches!(self.scenario.shared.get(lock), Some(Shared::Lock(Protocol::Inherit | Protocol::Ceiling(_))))
    }

    fn span(&self, name: &str, length: Span) -> Result<(), Fault> {
        span(&self.at.key(name), length)
    }

    fn bytes(&self, name: &str, size: Size) -> Result<(), Fault> {
        if size.0 <= LARGEST {
            return Ok(());
        }
        Err(Fault::new(self.at.key(name), format!("{} is too large: at most 1024GiB", spell_size(size.0))))
    }

    fn file_set(&self, set: &FileSet) -> Result<(), Fault> {
        between(|| self.at.key("files"), set.files.into(), 1, MOST_FILES)?;
        set.name.as_ref().map_or(Ok(()), |name| super::name(&self.at.key("name"), name))?;
        if set.direct && self.machine.personality == Personality::MessagePassing {
            let reason = "the file server of a message-passing machine reads through its cache only";
            return Err(Fault::new(self.at.key("direct"), reason));
        }
        self.bytes("size", set.size)
    }

    fn touch(&self, touch: &Touch) -> Result<(), Fault> {
        touch.image.as_ref().map_or(Ok(()), |name| super::name(&self.at.key("image"), name))?;
        if touch.image.is_some() && touch.write {
            return Err(Fault::new(self.at.key("write"), "program files are not written: leave out image, or write"));
        }
        let end = touch.from.0.saturating_add(touch.size.0);
        if touch.size.0 == 0 || end > MOST_TOUCHED {
            let sizes = format!("from {} on, {}", spell_size(touch.from.0), spell_size(touch.size.0));
            return Err(self.fault(format!("{sizes}: at least 1B and up to 64GiB in all")));
        }
        between(|| self.at.key("times"), touch.times.into(), 1, 1 << 20)?;
        let touched = (touch.size.0 / LEAST_PAGE + 1).saturating_mul(touch.times.into());
        if touched > MOST_TOUCHES {
            return Err(self.fault(format!("touches up to {touched} pages; at most {MOST_TOUCHES}")));
        }
        self.span("compute", touch.compute)
    }

    fn demand(&self, demand: Demand) -> Result<(), Fault> {
        self.bytes("to", demand.to)?;
        self.bytes("declared", demand.declared)?;
        if demand.from.0 <= demand.to.0 {
            return Ok(());
        }
        let (from, to) = (spell_size(demand.from.0), spell_size(demand.to.0));
        Err(Fault::new(self.at.key("from"), format!("{from} is more than the {to} of \"to\"")))
    }

    /// Some task must do `half` with that name, or the step waits forever or has no effect.
    fn other_half(&self, step: &str, name: &str, half: &str, done: &BTreeSet<&str>) -> Result<(), Fault> {
        if done.contains(name) {
            return Ok(());
        }
        let reason = format!("no program has the step {half} = {name:?}");
        Err(Fault::unknown(self.at.key(step), name, &reason, done.iter().copied()))
    }

    /// What the step names must be declared, and be of that kind.
    fn shared(&self, step: &str, name: &str, kind: &str, is: fn(&Shared) -> bool) -> Result<(), Fault> {
        let at = self.at.key(step);
        match self.scenario.shared.get(name) {
            Some(it) if is(it) => Ok(()),
            Some(_) => Err(Fault::new(at, format!("shared.{name} is no {kind}: declare it as {{ {kind} = ... }}"))),
            None => {
                let known = self.scenario.shared.iter().filter(|(_, it)| is(it)).map(|(name, _)| name.as_str());
                let reason = format!("no {kind} is called {name:?}: declare it as shared.{name} = {{ {kind} = ... }}");
                Err(Fault::unknown(at, name, &reason, known))
            }
        }
    }

    /// A child begins with no file open.
    fn fork(&mut self, steps: &[Step]) -> Result<(), Fault> {
        if self.forks == DEEPEST {
            return Err(self.fault(format!("is the {}th fork in a fork; at most {DEEPEST}", DEEPEST + 1)));
        }
        self.forks += 1;
        self.below(&[field("fork")], |program| program.list(steps, false))?;
        self.forks -= 1;
        Ok(())
    }

    fn repeat(&mut self, repeat: &Repeat, open: bool) -> Result<bool, Fault> {
        if self.repeats == DEEPEST {
            return Err(self.fault(format!("is the {}th repeat in a repeat; at most {DEEPEST}", DEEPEST + 1)));
        }
        if repeat.times == Times::Count(0) {
            return Err(Fault::new(
                self.at.key("repeat").key("times"),
                "0 is out of range: at least 1, or \"forever\"",
            ));
        }
        self.repeats += 1;
        let after = self.below(&[field("repeat"), field("steps")], |program| {
            let after = program.list(&repeat.steps, open)?;
            // The second time round the file may be closed that was open the first time.
            if open && !after && repeat.times != Times::Count(1) {
                program.list(&repeat.steps, after)
            } else {
                Ok(after)
            }
        })?;
        self.repeats -= 1;
        self.below(&[field("repeat")], |program| program.takes_time(&repeat.steps, repeat.times))?;
        Ok(after)
    }

    /// A long or endless repetition must be able to take time, else the clock of the run would not advance. Whether it does can
    /// depend on other tasks and on the contents of memory; the run itself finds those that do not.
    fn takes_time(&self, steps: &[Step], times: Times) -> Result<(), Fault> {
        let Some(instant) = self.time.instant(steps) else { return Ok(()) };
        if times.count().is_some_and(|times| instant.saturating_mul(times.into()) <= MOST_INSTANT) {
            return Ok(());
        }
        let reason = "takes no time on this machine and is repeated without end or nearly so: \
                      compute, sleep or wait for a period in it";
        Err(self.fault(reason))
    }
}

fn field(name: &str) -> Segment {
    Segment::Key(name.to_owned())
}
