//! Attention over the jobs of an experiment: the rule, and what it has made of tasks. A simulated kernel and a live one do what it says,
//! and differ in nothing else: when the rule is asked, what it learns and how a task is to be treated stand here once.

use super::{Attending, Attention, Home, Level, Placement, Program, layout};
use crate::{
    Nanos,
    request::IoClass,
    scenario::Scenario,
    task::{Policy, TaskId},
};
use std::collections::{BTreeMap, VecDeque};

/// The highest nice value that Linux has, which attention does not pass.
const HIGHEST_NICE: i32 = 19;
/// Levels within the class "best effort" of a level with more, and of one with less, than the usual 4; any, where there are none.
const HIGH: u8 = 2;
const LOW: u8 = 6;
const ANY: u8 = 4;

/// The rule, and what was done by it.
#[derive(Debug)]
pub struct Attended {
    rule: Attention,
    /// For each job that a rule of the layout names, where it belongs.
    homes: Vec<Option<Home>>,
    /// Changes of focus to come, to which job.
    focus: VecDeque<(Nanos, Option<Program>)>,
    period: Nanos,
    period_ends: Nanos,
    /// What jobs had used when the last period ended.
    used: Vec<Nanos>,
    /// By task.
    treated: Vec<Option<Treated>>,
}

/// What attention changes of a task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Treatment {
    /// Its nice value.
    pub nice: i8,
    /// Its policy.
    pub policy: Policy,
    /// The slice that it has asked for.
    pub slice: Option<Nanos>,
    /// The class and the level of its requests to drives, if it has asked for one.
    pub io: Option<(IoClass, u8)>,
}

/// A task as it is found now.
#[derive(Debug, Clone, Copy)]
pub struct Found {
    /// Its number, by which it is known again.
    pub task: TaskId,
    /// The task that made it.
    pub parent: Option<TaskId>,
    /// The number of its job.
    pub job: Program,
    /// How it is treated.
    pub now: Treatment,
}

/// A task that the rule knows.
#[derive(Debug, Clone, Copy)]
struct Treated {
    own: Treatment,
    /// As attention has left it.
    ours: Treatment,
}

impl Attended {
    /// What a scenario asks for, on that many processors.
    pub fn of(scenario: &Scenario, processors: usize) -> Option<Box<Attended>> {
        let attending = scenario.attention.as_ref()?;
        let Attending { layout, focus, period, .. } = attending;
        let jobs = &scenario.workload;
        let program = |job: &Option<String>| Attending::program(jobs.keys(), job.as_ref()?);
        let mut attended = Box::new(Attended {
            rule: Attention::new(layout.clone(), processors, 0),
            homes: jobs.keys().map(|job| attending.home(job)).collect(),
            focus: focus.iter().map(|change| (change.at.0, program(&change.job))).collect(),
            period: period.0,
            period_ends: period.0,
            used: vec![0; jobs.len()],
            treated: Vec::new(),
        });
        for (job, home) in attended.homes.iter().enumerate() {
            home.map(|home| attended.rule.enter(job as Program, home));
        }
        Some(attended)
    }

    /// The run begins; what tasks have used before does not count.
    pub fn begin(&mut self, used: &[Option<Nanos>]) {
        self.used = used.iter().map(|used| used.unwrap_or(0)).collect();
    }

    /// When the rule is to be asked next, ns since the run began.
    pub fn next(&self) -> Nanos {
        let focus = self.focus.front().map_or(Nanos::MAX, |(at, _)| *at);
        self.period_ends.min(focus).min(self.rule.due().unwrap_or(Nanos::MAX))
    }

    /// Where a job is; none, if the rule does not know it.
    pub fn placement(&self, job: Program) -> Option<Placement> {
        self.rule.placement(job)
    }

    /// Asks the rule. If a period has ended, `used` gives what the tasks of each job have used since the run began, ns; none if all of
    /// them have ended: such a job is no program any more.
    pub fn ask(&mut self, now: Nanos, used: impl FnOnce() -> Vec<Option<Nanos>>) {
        self.change_focus(now);
        if self.period_ends > now {
            return self.rule.settle(now);
        }
        let mut in_period = BTreeMap::new();
        for (job, used) in used().into_iter().enumerate() {
            match used {
                None => self.rule.leave(job as Program),
                Some(used) => {
                    in_period.insert(job as Program, used.saturating_sub(self.used[job]));
                    // A child that has ended is in no account until its parent has waited for it.
                    self.used[job] = self.used[job].max(used);
                }
            }
        }
        self.rule.period(now, &in_period);
        self.period_ends = now + self.period;
    }

    /// The focus changes that are due.
    fn change_focus(&mut self, now: Nanos) {
        while let Some(&(_, job)) = self.focus.front().filter(|(at, _)| *at <= now) {
            self.focus.pop_front();
            if let Some(job) = job {
                let home = self.homes[job as usize].unwrap_or(self.rule.usual_home());
                self.rule.enter(job, home);
            }
            self.rule.focus(now, job);
        }
    }

    /// Of living tasks of ordinary policy, which are to be treated otherwise from now on, and how. All are seen before the first is
    /// changed, and those of jobs that the rule does not know are left alone, as are those that were changed by another than it.
    pub fn due(&mut self, found: &[Found]) -> Vec<(TaskId, Treatment)> {
        let level = |attended: &Self, job| attended.rule.placement(job).map(|placement| placement.level);
        let known: Vec<(&Found, usize)> =
            found.iter().filter_map(|found| Some((found, level(self, found.job)?))).collect();
        known.iter().for_each(|(found, _)| self.see(found));
        let mut due = Vec::new();
        for (Found { task, now, .. }, level) in known {
            let Some(known) = &mut self.treated[*task as usize] else { continue };
            let wanted = known.own.at(&self.rule.layout().level[level]);
            if wanted != known.ours && *now == known.ours {
                known.ours = wanted;
                due.push((*task, wanted));
            }
        }
        due
    }

    /// A task is treated like this and not as [`Attended::due`] has said: the kernel has made something else of it.
    pub fn became(&mut self, task: TaskId, now: Treatment) {
        if let Some(Some(known)) = self.treated.get_mut(task as usize) {
            known.ours = now;
        }
    }

    /// Learns of a task that is new.
    fn see(&mut self, found: &Found) {
        let at = found.task as usize;
        if self.treated.len() <= at {
            self.treated.resize(at + 1, None);
        }
        if self.treated[at].is_none() {
            let parent = found.parent.and_then(|parent| self.treated.get(parent as usize).copied().flatten());
            let own = parent.map_or(found.now, |parent| found.now.without(&parent));
            self.treated[at] = Some(Treated { own, ours: found.now });
        }
    }
}

impl Treatment {
    /// What a task has by itself that came from a treated one: what that one had, but for what it has changed since.
    fn without(self, parent: &Treated) -> Treatment {
        let Treated { own, ours } = parent;
        Treatment {
            nice: if self.nice == ours.nice { own.nice } else { self.nice },
            policy: if self.policy == ours.policy { own.policy } else { self.policy },
            slice: if self.slice == ours.slice { own.slice } else { self.slice },
            io: if self.io == ours.io { own.io } else { self.io },
        }
    }

    /// What a level makes of it.
    fn at(self, level: &Level) -> Treatment {
        let highest = HIGHEST_NICE.max(self.nice.into());
        let io = level.io.map(|class| match class {
            layout::IoClass::High => (IoClass::BestEffort, HIGH),
            layout::IoClass::Low => (IoClass::BestEffort, LOW),
            layout::IoClass::Idle => (IoClass::Idle, ANY),
        });
        Treatment {
            nice: (i32::from(self.nice) + level.nice).clamp(-20, highest) as i8,
            policy: level.policy.map_or(self.policy, |policy| match policy {
                layout::Policy::Other => Policy::Other,
                layout::Policy::Batch => Policy::Batch,
            }),
            slice: self.slice.or(level.slice.map(|slice| slice.0)),
            io: self.io.or(io),
        }
    }
}
