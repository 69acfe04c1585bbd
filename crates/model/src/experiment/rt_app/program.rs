//! A task's phases as the steps of a job, and those of the tasks that it forks.

use super::{
    Set,
    events::{Events, Thread},
    fixed, repeated,
    task::{Does, Event, Phase, Task, place},
    treatment::{self, Asked, change, microseconds},
    tree_of,
};
use crate::{
    experiment::problem::Fault,
    program::{Forever, Step, Times, Treatment},
    scenario::Job,
    task::Policy,
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::LazyLock};

/// Most forks in forks, as in an experiment.
const DEEPEST: usize = 8;
/// Most steps that a task may become, with those of the tasks that it forks: more than an experiment has.
const MOST_STEPS: usize = 10_000;

/// Fields of a job that need not be written, and their values then.
static USUAL: LazyLock<[(&str, Value); 5]> = LazyLock::new(|| {
    [("count", json!(1)), ("passes", json!(1)), ("nice", json!(0)), ("priority", json!(0)), ("policy", json!("other"))]
});

/// A job before it is known whether it ends the run.
pub(super) struct Draft {
    job: Job,
    steps: Vec<Step>,
    times: Times,
    /// Whether its own threads go on without end.
    is_endless: bool,
    /// Whether they, or those that they fork, do.
    goes_on: bool,
}

impl Draft {
    /// Whether it, or what it forks, goes on without end.
    pub fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// The job in an experiment. Where other threads go on without end, one that ends must not end the run: it makes no pass, and exits.
    pub fn value(self, some_go_on: bool) -> Result<Value, Fault> {
        let forever = Times::Word(Forever::Forever);
        let (steps, passes) = match (self.is_endless, some_go_on) {
            (true, _) => (self.steps, forever),
            (false, true) => ([repeated(self.times, self.steps), vec![Step::Exit]].concat(), forever),
            (false, false) => (self.steps, self.times),
        };
        let mut tree = tree_of(&Job { steps: Some(steps), passes, ..self.job })?;
        if let Some(fields) = tree.as_object_mut() {
            fields.retain(|name, value| !USUAL.iter().any(|(field, usual)| field == name && *value == *usual));
        }
        Ok(tree)
    }
}

/// Translates one task, and those that it forks.
pub(super) struct Writer<'s, 'a, 'j> {
    set: &'s mut Set<'a, 'j>,
    /// Steps that may still come.
    left: usize,
    /// The tasks around the present one, which have forked it.
    around: Vec<&'j str>,
    goes_on: bool,
}

impl<'a, 'j> Writer<'_, 'a, 'j> {
    /// The job of a task.
    pub fn job(set: &mut Set<'a, 'j>, task: &Task<'j>) -> Result<Draft, Fault> {
        let asked = treatment::of_task(&task.table, set.global.policy)?;
        let group = treatment::group(&task.table, asked.policy, &mut set.names, &mut set.groups)?;
        let mut writer = Writer { set, left: MOST_STEPS, around: Vec::new(), goes_on: false };
        let steps = writer.phases(task, asked)?;
        let Writer { goes_on, .. } = writer;
        let job = Job {
            replay: None,
            load: None,
            steps: None,
            count: task.instances,
            passes: task.times,
            arrivals: None,
            requests: None,
            start: (task.delay > 0).then(|| fixed(microseconds(task.delay))),
            gap: None,
            nice: asked.nice,
            policy: asked.policy,
            priority: asked.priority,
            slice: asked.slice,
            io_class: None,
            io_level: None,
            cpus: task.cpus.clone().unwrap_or_default(),
            group: group.filter(|group| group != Treatment::ROOT_GROUP),
            // One process is one session.
            session: Some("rt-app".to_owned()),
            reservation: asked.reservation,
            footprint: None,
            settings: BTreeMap::new(),
        };
        Ok(Draft { job, steps, times: task.times, is_endless: task.is_endless(), goes_on })
    }

    /// The steps of all phases, once.
    fn phases(&mut self, task: &Task<'j>, asked: Asked) -> Result<Vec<Step>, Fault> {
        self.goes_on |= task.is_endless();
        self.around.push(task.name);
        let (mut steps, mut policy) = (Vec::new(), asked.policy);
        let places = Places::of(task)?;
        let mut thread = Thread::new(task)?;
        for (n, phase) in task.phases.iter().enumerate() {
            let change = self.change(task, phase, &mut policy)?;
            let change = Treatment { cpus: places.at(n), ..change };
            steps.extend((change != Treatment::default()).then_some(Step::Set(change)));
            let body = self.body(task, phase, &mut thread)?;
            steps.extend(repeated(phase.times, body));
        }
        self.around.pop();
        Ok(steps)
    }

    /// What a phase changes before its first event, besides its processors.
    fn change(&mut self, task: &Task<'j>, phase: &Phase<'j>, policy: &mut Policy) -> Result<Treatment, Fault> {
        if task.is_plain {
            return Ok(Treatment::default());
        }
        let asked = treatment::of_phase(&phase.table, *policy)?;
        if let Some(asked) = asked {
            *policy = asked.policy;
        }
        let group = treatment::group(&phase.table, *policy, &mut self.set.names, &mut self.set.groups)?;
        Ok(Treatment { group, ..asked.as_ref().map(change).unwrap_or_default() })
    }

    fn body(&mut self, task: &Task<'j>, phase: &Phase<'j>, thread: &mut Thread<'j>) -> Result<Vec<Step>, Fault> {
        let mut steps = Vec::new();
        for event in &phase.events {
            if event.does == Does::Fork {
                steps.push(self.fork(event)?);
            } else {
                let Set { global, survey, names, shared, .. } = &mut *self.set;
                let mut events = Events { global, survey, names, shared, thread };
                steps.extend(events.steps(task, event)?);
            }
            self.left = self.left.checked_sub(4).ok_or_else(|| {
                event.node.fault(format!(
                    "makes more than {MOST_STEPS} steps of this task, with those of the tasks that it forks"
                ))
            })?;
        }
        Ok(steps)
    }

    /// A child: what its task asks for, its delay, and its program.
    fn fork(&mut self, event: &Event<'j>) -> Result<Step, Fault> {
        let (node, name) = (&event.node, event.node.text()?);
        let tasks = self.set.tasks;
        let Some(task) = tasks.iter().find(|task| task.name == name) else {
            let known = tasks.iter().map(|task| task.name);
            return Err(Fault::unknown(node.at.clone(), name, "is not a task", known));
        };
        if self.around.contains(&name) {
            return Err(node.fault(format!("{name:?} would fork itself without end")));
        }
        if self.around.len() > DEEPEST {
            return Err(node.fault(format!("is a fork in more than {DEEPEST} forks")));
        }
        if task.delay > 0 {
            let reason = "is of a task that is forked: rt-app counts it from the start of the run; use sleep";
            return Err(Fault::new(place(name).key("delay"), reason));
        }
        let asked = treatment::of_task(&task.table, self.set.global.policy)?;
        if asked.reservation.is_some() {
            return Err(node.fault(format!("{name:?} is under SCHED_DEADLINE, which a child cannot ask for")));
        }
        let group = treatment::group(&task.table, asked.policy, &mut self.set.names, &mut self.set.groups)?;
        let first = Step::Set(Treatment { cpus: task.cpus.clone(), group, ..change(&asked) });
        let program = self.phases(task, asked)?;
        Ok(Step::Fork([vec![first], repeated(task.times, program)].concat()))
    }
}

/// The processors of each phase: its own, or those of the task.
struct Places<'p> {
    of_task: Option<&'p Vec<u16>>,
    phases: Vec<Option<&'p Vec<u16>>>,
    loops: bool,
}

impl<'p> Places<'p> {
    fn of(task: &'p Task<'_>) -> Result<Places<'p>, Fault> {
        let of_task = task.cpus.as_ref();
        let phases: Vec<_> = task.phases.iter().map(|phase| phase.cpus.as_ref().or(of_task)).collect();
        let places = Places { of_task, phases, loops: task.times != Times::Count(1) };
        if task.is_plain {
            return Ok(Places { phases: vec![of_task], ..places });
        }
        let nowhere = places.phases.iter().zip(&task.phases).find(|(cpus, _)| cpus.is_none());
        match nowhere.filter(|_| places.phases.iter().any(Option::is_some)) {
            None => Ok(places),
            Some((_, phase)) => {
                let reason = "is missing: another phase has it, and without it rt-app goes back to all processors, whose number a file does not say";
                Err(Fault::new(phase.table.at.key("cpus"), reason))
            }
        }
    }

    /// What a phase must set, if those before it left another place.
    fn at(&self, phase: usize) -> Option<Vec<u16>> {
        let here = self.phases[phase];
        let before = if phase == 0 { self.of_task } else { self.phases[phase - 1] };
        let from_the_end = phase == 0 && self.loops && self.phases.last().is_some_and(|last| *last != here);
        (here != before || from_the_end).then(|| here.cloned()).flatten()
    }
}
