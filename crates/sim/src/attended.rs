//! The rule of attention and what it has made of tasks: data and rules, without the kernel, which `attention.rs` changes by them.

use schedlab_model::{
    Nanos,
    attention::{self, Attending, Attention, Home, Level, Program},
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
pub(crate) const ANY: u8 = 4;

/// The rule, and what was done by it.
#[derive(Debug)]
pub(crate) struct Attended {
    pub rule: Attention,
    /// For each job that a rule of the layout names, where it belongs.
    pub homes: Vec<Option<Home>>,
    /// Changes of focus to come, to which job.
    focus: VecDeque<(Nanos, Option<Program>)>,
    period: Nanos,
    pub period_ends: Nanos,
    /// What jobs had used when the last period ended.
    pub used: BTreeMap<Program, Nanos>,
    /// By task.
    pub treated: Vec<Option<Treated>>,
}

/// What attention changes of a task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Treatment {
    pub nice: i8,
    pub policy: Policy,
    pub slice: Option<Nanos>,
    pub io: Option<(IoClass, u8)>,
}

/// A task that the rule knows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Treated {
    pub own: Treatment,
    /// As attention has left it.
    pub ours: Treatment,
}

impl Attended {
    /// What a scenario asks for.
    pub fn of(scenario: &Scenario) -> Option<Box<Attended>> {
        let attending = scenario.attention.as_ref()?;
        let Attending { layout, focus, period, .. } = attending;
        let jobs = &scenario.workload;
        let program = |job: &Option<String>| Attending::program(jobs.keys(), job.as_ref()?);
        let mut attended = Box::new(Attended {
            rule: Attention::new(layout.clone(), scenario.machine.processors.get().into(), 0),
            homes: jobs.keys().map(|job| attending.home(job)).collect(),
            focus: focus.iter().map(|change| (change.at.0, program(&change.job))).collect(),
            period: period.0,
            period_ends: period.0,
            used: BTreeMap::new(),
            treated: Vec::new(),
        });
        for (job, home) in attended.homes.iter().enumerate() {
            home.map(|home| attended.rule.enter(job as Program, home));
        }
        Some(attended)
    }

    /// When the rule is to be asked next.
    pub fn next(&self) -> Nanos {
        let focus = self.focus.front().map_or(Nanos::MAX, |(at, _)| *at);
        self.period_ends.min(focus).min(self.rule.due().unwrap_or(Nanos::MAX))
    }

    /// The focus changes that are due.
    pub fn change_focus(&mut self, now: Nanos) {
        while let Some(&(_, job)) = self.focus.front().filter(|(at, _)| *at <= now) {
            self.focus.pop_front();
            if let Some(job) = job {
                let home = self.homes[job as usize].unwrap_or(self.rule.usual_home());
                self.rule.enter(job, home);
            }
            self.rule.focus(now, job);
        }
    }

    /// A period ends; jobs have used that much up to now.
    pub fn end_period(&mut self, now: Nanos, used: BTreeMap<Program, Nanos>) {
        let before = |job| self.used.get(job).copied().unwrap_or(0);
        let in_period = used.iter().map(|(job, used)| (*job, used - before(job))).collect();
        self.rule.period(now, &in_period);
        self.used = used;
        self.period_ends = now + self.period;
    }

    /// Learns of a task that is new, and is treated like this now.
    pub fn see(&mut self, task: TaskId, parent: Option<TaskId>, now: Treatment) {
        let at = task as usize;
        if self.treated.len() <= at {
            self.treated.resize(at + 1, None);
        }
        if self.treated[at].is_none() {
            let parent = parent.and_then(|parent| self.treated[parent as usize]);
            let own = parent.map_or(now, |parent| now.without(&parent));
            self.treated[at] = Some(Treated { own, ours: now });
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
    pub fn at(self, level: &Level) -> Treatment {
        let highest = HIGHEST_NICE.max(self.nice.into());
        let io = level.io.map(|class| match class {
            attention::IoClass::High => (IoClass::BestEffort, HIGH),
            attention::IoClass::Low => (IoClass::BestEffort, LOW),
            attention::IoClass::Idle => (IoClass::Idle, ANY),
        });
        Treatment {
            nice: (i32::from(self.nice) + level.nice).clamp(-20, highest) as i8,
            policy: level.policy.map_or(self.policy, |policy| match policy {
                attention::Policy::Other => Policy::Other,
                attention::Policy::Batch => Policy::Batch,
            }),
            slice: self.slice.or(level.slice.map(|slice| slice.0)),
            io: self.io.or(io),
        }
    }
}
