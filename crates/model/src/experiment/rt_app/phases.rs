//! The steps of a job as phases and events of rt-app.

use super::{
    json::Json,
    task::UNIQUE,
    writing::{Used, cpus, group_path, looped, microseconds, nice, number, policy_name, text},
};
use crate::{
    experiment::{path::Path, problem::Fault},
    program::{Repeat, Span, Step, Timer, TimerMode, Times, Treatment},
    scenario::{Job, Scenario, Shared},
    task::Policy,
    units::Duration,
};
use std::collections::BTreeMap;

/// Entries of an object whose events get a number each: json-c, with which rt-app reads, keeps one of two equal keys.
#[derive(Debug, Default)]
pub(super) struct Numbered {
    entries: Vec<(String, Json)>,
    events: usize,
}

impl Numbered {
    /// Adds a setting.
    pub fn put(&mut self, key: &str, value: Json) {
        self.entries.push((key.to_owned(), value));
    }

    fn event(&mut self, key: &str, value: Json) {
        self.entries.push((format!("{key}{}", self.events), value));
        self.events += 1;
    }

    pub fn table(self) -> Json {
        Json::Table(self.entries)
    }
}

/// Whether a step in it is repeated without end.
pub(super) fn has_endless_loop(steps: &[Step]) -> bool {
    steps.iter().any(|step| match step {
        Step::Repeat(Repeat { times, steps }) => times.count().is_none() || has_endless_loop(steps),
        _ => false,
    })
}

/// Puts the steps of a job into its task, as events or as phases.
pub(super) fn put(
    at: &Path,
    job: &Job,
    steps: &[Step],
    scenario: &Scenario,
    used: &mut Used,
    task: &mut Numbered,
) -> Result<(), Fault> {
    let mut writer = Writer { job, scenario, used, modes: BTreeMap::new(), now: Now::of(job) };
    let (at, steps, times) = body(at, job, steps);
    if steps.iter().any(|step| matches!(step, Step::Repeat(_) | Step::Set(_))) {
        task.put("loop", looped(times));
        let phases = writer.phases(&at, steps, times)?;
        task.put("phases", Json::Table(phases));
        return Ok(());
    }
    task.put("loop", looped(times));
    steps.iter().enumerate().try_for_each(|(i, step)| writer.event(&at.index(i), step, task))
}

/// What is repeated in a job, and how often. A job that must not end the run is written with "forever", a repeat, and an exit.
fn body<'s>(at: &Path, job: &Job, steps: &'s [Step]) -> (Path, &'s [Step], Times) {
    match steps {
        [Step::Repeat(Repeat { times, steps }), Step::Exit] if job.passes.count().is_none() => {
            (at.index(0).key("repeat").key("steps"), steps, *times)
        }
        [inner @ .., Step::Exit] if job.passes.count().is_none() => (at.clone(), inner, Times::Count(1)),
        _ => (at.clone(), steps, job.passes),
    }
}

/// How a thread is treated at a step.
#[derive(Debug, Clone)]
struct Now {
    policy: Policy,
    nice: i8,
    cpus: Vec<u16>,
}

impl Now {
    fn of(job: &Job) -> Now {
        Now { policy: job.policy, nice: job.nice, cpus: job.cpus.clone() }
    }
}

struct Writer<'w> {
    job: &'w Job,
    scenario: &'w Scenario,
    used: &'w mut Used,
    /// By timer, whether it keeps its pace.
    modes: BTreeMap<String, TimerMode>,
    now: Now,
}

impl Writer<'_> {
    /// A phase for each repeat, and for the steps between two repeats or changes.
    fn phases(&mut self, at: &Path, steps: &[Step], times: Times) -> Result<Vec<(String, Json)>, Fault> {
        let mut all: Vec<Numbered> = Vec::new();
        let mut open: Option<Numbered> = None;
        let mut first_cpus = None;
        for (i, step) in steps.iter().enumerate() {
            let here = at.index(i);
            match step {
                Step::Set(change) => {
                    if let Some(phase) = open.take() {
                        all.push(closed(&here, phase)?);
                    }
                    let phase = open.insert(Numbered::default());
                    set(&here.key("set"), change, &mut self.now, self.scenario, phase)?;
                    continue;
                }
                Step::Repeat(Repeat { times, steps }) => {
                    // Changes right before a loop are those of its phase.
                    let mut phase = match open.take() {
                        Some(phase) if phase.events > 0 => {
                            all.push(phase);
                            self.opened()
                        }
                        Some(phase) => self.placed(phase),
                        None => self.opened(),
                    };
                    phase.put("loop", looped(*times));
                    let within = here.key("repeat").key("steps");
                    for (i, step) in steps.iter().enumerate() {
                        self.event(&within.index(i), step, &mut phase)?;
                    }
                    all.push(closed(&here, phase)?);
                }
                _ => {
                    let mut phase = match open.take() {
                        Some(phase) if phase.events == 0 => self.placed(phase),
                        Some(phase) => phase,
                        None => self.opened(),
                    };
                    self.event(&here, step, &mut phase)?;
                    open = Some(phase);
                }
            }
            first_cpus.get_or_insert_with(|| self.now.cpus.clone());
        }
        if let Some(phase) = open {
            all.push(closed(at, phase)?);
        }
        if times != Times::Count(1)
            && first_cpus.is_some_and(|first| first != self.now.cpus)
            && !begins_with_cpus(steps)
        {
            let reason = "end on other processors than they began on, where the next pass goes on; in rt-app it goes back: set cpus first";
            return Err(Fault::new(at.clone(), reason));
        }
        Ok(all.into_iter().enumerate().map(|(n, phase)| (format!("phase{n}"), phase.table())).collect())
    }

    fn opened(&self) -> Numbered {
        self.placed(Numbered::default())
    }

    /// rt-app goes back to the processors of the task where a phase names none.
    fn placed(&self, mut phase: Numbered) -> Numbered {
        if self.now.cpus != self.job.cpus {
            phase.put("cpus", cpus(&self.now.cpus));
        }
        phase
    }

    fn event(&mut self, at: &Path, step: &Step, to: &mut Numbered) -> Result<(), Fault> {
        let fixed = |field: &str, span: &Span| match span {
            Span::Fixed(length) => microseconds(&at.key(field), *length).map(number),
            _ => Err(Fault::new(at.key(field), "is drawn; rt-app's lengths are fixed")),
        };
        match step {
            Step::Compute(span) => to.event("run", fixed("compute", span)?),
            Step::Sleep(span) => to.event("sleep", fixed("sleep", span)?),
            Step::Busy(length) => to.event("runtime", number(microseconds(&at.key("busy"), *length)?)),
            Step::Timer(timer) => {
                let written = self.timer(&at.key("timer"), timer)?;
                to.event("timer", written);
            }
            Step::Lock(name) => {
                self.used.lock(&at.key("lock"), name, self.scenario)?;
                to.event("lock", text(name));
            }
            Step::Unlock(name) => to.event("unlock", text(name)),
            Step::ConditionWait(wait) => {
                let value = vec![("ref".to_owned(), text(&wait.condition)), ("mutex".to_owned(), text(&wait.lock))];
                to.event("wait", Json::Table(value));
            }
            Step::ConditionSignal(name) => to.event("signal", text(name)),
            Step::ConditionBroadcast(name) => to.event("broad", text(name)),
            Step::Barrier(name) => {
                self.used.barrier(name, self.job.count);
                to.event("barrier", text(name));
            }
            Step::Acquire(name) => to.event("sem_wait", self.semaphore(&at.key("acquire"), name)?),
            Step::Release(name) => to.event("sem_post", self.semaphore(&at.key("release"), name)?),
            Step::Print(bytes) if i32::try_from(bytes.0).is_ok() => to.event("iorun", number(bytes.0 as i64)),
            Step::Yield => to.event("yield", text("")),
            // A mark does nothing.
            Step::Mark(_) => {}
            Step::Period(_) => {
                let reason = "goes on at the next multiple after one that was missed; no timer of rt-app does: write timer = { period = ... }";
                return Err(Fault::new(at.key("period"), reason));
            }
            Step::Repeat(_) => {
                return Err(Fault::new(at.key("repeat"), "is a loop in a loop, which a phase cannot have"));
            }
            Step::Set(_) => {
                return Err(Fault::new(at.key("set"), "is within a loop; in rt-app only a phase as a whole sets it"));
            }
            _ => return Err(Fault::new(at.clone(), "is a step for which rt-app has no event")),
        }
        Ok(())
    }

    fn timer(&mut self, at: &Path, timer: &Timer) -> Result<Json, Fault> {
        if *self.modes.entry(timer.name.clone()).or_insert(timer.mode) != timer.mode {
            let reason = "is not that of the same timer before; in rt-app a timer has one mode";
            return Err(Fault::new(at.key("mode"), reason));
        }
        let mode = if timer.mode == TimerMode::Absolute { "absolute" } else { "relative" };
        let value = vec![
            ("ref".to_owned(), text(&format!("{UNIQUE}{}", timer.name))),
            ("period".to_owned(), number(microseconds(&at.key("period"), timer.period)?)),
            ("mode".to_owned(), text(mode)),
        ];
        Ok(Json::Table(value))
    }

    fn semaphore(&self, at: &Path, name: &str) -> Result<Json, Fault> {
        match self.scenario.shared.get(name) {
            Some(Shared::Semaphore(0)) | None => Ok(text(name)),
            _ => {
                Err(Fault::new(at.clone(), format!("{name:?} has permits at the start; rt-app's semaphores have none")))
            }
        }
    }
}

fn begins_with_cpus(steps: &[Step]) -> bool {
    matches!(steps.first(), Some(Step::Set(change)) if change.cpus.is_some())
}

/// rt-app refuses a phase without an event.
fn closed(at: &Path, phase: Numbered) -> Result<Numbered, Fault> {
    match phase.events {
        0 => Err(Fault::new(at.clone(), "has no step after a set before it: rt-app has no phase without an event")),
        _ => Ok(phase),
    }
}

/// A change as the settings of a phase.
fn set(at: &Path, change: &Treatment, now: &mut Now, scenario: &Scenario, phase: &mut Numbered) -> Result<(), Fault> {
    if change.io_class.is_some() || change.io_level.is_some() || change.job.is_some() {
        return Err(Fault::new(at.clone(), "changes what no phase of rt-app does: drive class, or another job"));
    }
    now.policy = change.policy.unwrap_or(now.policy);
    now.nice = change.nice.unwrap_or(now.nice);
    let is_fair = matches!(now.policy, Policy::Other | Policy::Batch);
    if change.policy.is_some() || change.nice.is_some() || change.slice.is_some() {
        phase.put("policy", text(policy_name(&at.key("policy"), now.policy)?));
        match (change.priority, is_fair) {
            (Some(priority), _) => phase.put("priority", number(priority.into())),
            (None, true) => phase.put("priority", number(nice(&at.key("nice"), now.nice)?)),
            (None, false) => {}
        }
    }
    match change.slice {
        None => {}
        Some(slice) if is_fair && slice > Duration(0) => {
            phase.put("dl-runtime", number(microseconds(&at.key("slice"), slice)?));
        }
        Some(_) => {
            return Err(Fault::new(
                at.key("slice"),
                "cannot be given back, nor asked for under another policy, in rt-app",
            ));
        }
    }
    if let Some(named) = &change.cpus {
        now.cpus.clone_from(named);
    }
    if let Some(group) = &change.group {
        phase.put("taskgroup", text(&group_path(&at.key("group"), group, scenario)?));
    }
    Ok(())
}
