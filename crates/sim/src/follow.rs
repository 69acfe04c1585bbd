//! A policy replayed against a kernel's recording: all events come from the recording, except the choices, which are the
//! policy's. The result is where they first differ.
//!
//!   from the recording   the times of wakeups, sleeps and clock updates, and the charges to each task
//!   from the policy      at which ticks and wakeups it wants a new choice, and the chosen task
//!
//! So only the rules decide: no cost and no interrupt has to be modelled, and the kernel's other tasks are included. The replay
//! ends at a difference, since later events would not follow from the policy's choices.
//!
//! A kernel updates its clock, and reports it ([`Kind::Charged`]), at a tick, when a task wakes, and when it chooses. The first
//! update from a tick's time on is the tick's, unless a task wakes just then. One that belongs to no tick, no wakeup and no
//! switch is a choice of the running task. Of the first slice of a task under SCHED_RR one tick may have come before its first sleep, which no event
//! shows: it is taken for one where the kernel ends that slice a tick early. Some kernels (5.10) report none of a real-time task: it is charged the
//! time between ticks and switches, and has all ticks.

mod story;

use crate::{boot::task_of, programs::check};
use schedlab_model::{
    Nanos,
    event::{Event, Kind, Leave},
    processors::CpuSet,
    rng::Rng,
    scenario::Scenario,
    task::{Group, Policy, Task, TaskId, Wait},
};
use schedlab_policies::schedulers::{Context, Dequeue, Enqueue, Preempt, Scheduler, Table, View, Visitor, Wishes};
use std::iter::Peekable;
pub use story::Story;

/// The parts of one operation of a kernel (a wakeup, or a choice) are no further apart than this.
const AT_ONCE: Nanos = 60_000;
/// If an interrupt that wakes tasks comes first, a tick is no later than this, and a switch no later after its choice.
const LATE: Nanos = 500_000;

/// Where policy and kernel part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// When.
    pub at: Nanos,
    /// In words.
    pub what: &'static str,
    /// The task that had the processor.
    pub running: Option<TaskId>,
    /// The policy's choice.
    pub policy: Option<TaskId>,
    /// The kernel's choice.
    pub kernel: Option<TaskId>,
}

/// How far they agree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Followed {
    /// Choices in which they agree, including choices of the running task.
    pub choices: u64,
    /// Those of them that were switches.
    pub switches: u64,
    /// Time of the last of them.
    pub last: Nanos,
    /// The first in which they do not agree.
    pub difference: Option<Difference>,
}

/// Leads the scenario's scheduler through a story in which the scenario's jobs played; none if there is no such scheduler.
pub fn follow<T: Table>(scenario: &Scenario, story: &Story<'_>) -> Option<Followed> {
    T::visit(&scenario.scheduler.name, Leading { scenario, story }).flatten()
}

struct Leading<'a> {
    scenario: &'a Scenario,
    story: &'a Story<'a>,
}

impl Visitor for Leading<'_> {
    type Output = Option<Followed>;

    fn visit<S: Scheduler>(self) -> Self::Output {
        let params = check(self.scenario.machine.processors.get(), &S::INFO, &self.scenario.scheduler.settings).ok()?;
        let tasks = tasks(self.scenario, self.story);
        Some(Follower::new(S::new(&params, &Default::default(), self.story.tick), tasks, self.story).lead())
    }
}

/// The tasks of a story, by number. A task of no job is an ordinary task of its nice value.
fn tasks(scenario: &Scenario, story: &Story<'_>) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::new();
    for event in story.events.iter().filter(|event| event.kind == Kind::Created) {
        let job = usize::try_from(event.a).ok().and_then(|job| scenario.workload.get(story.jobs.get(job)?));
        let nice = (i16::from(event.flag) - 128).clamp(-20, 19) as i8;
        let stranger = |id| Task { nice, ..Task::ordinary(id, CpuSet::only(0)) };
        (tasks.len()..=event.task as usize).for_each(|id| tasks.push(Task::ordinary(id as TaskId, CpuSet::only(0))));
        tasks[event.task as usize] =
            job.map_or_else(|| stranger(event.task), |job| task_of(job, event.task, 0, &CpuSet::only(0)));
    }
    tasks
}

fn is_realtime(task: &Task) -> bool {
    matches!(task.policy, Policy::Fifo | Policy::Rr)
}

struct Follower<'a, S> {
    story: &'a Story<'a>,
    policy: S,
    view: View,
    rng: Rng,
    wishes: Wishes,
    now: Nanos,
    next_tick: Nanos,
    /// Whether the policy wants a new choice.
    wished: bool,
    timers: Vec<(Nanos, u32)>,
    /// When the last tick was; by task, whether it has given up its processor before.
    ticked: Nanos,
    turned: Vec<bool>,
    /// No task was chosen.
    idle: bool,
    /// The kernel does not report what real-time tasks are charged; until when the running one has been.
    silent: bool,
    charged: Nanos,
    found: Followed,
}

impl<'a, S: Scheduler> Follower<'a, S> {
    fn new(policy: S, tasks: Vec<Task>, story: &'a Story<'a>) -> Self {
        let realtime = |task: TaskId| tasks.get(task as usize).is_some_and(is_realtime);
        let silent =
            tasks.iter().any(is_realtime) && !story.followed().any(|it| it.kind == Kind::Charged && realtime(it.task));
        let phase = story.phase(silent);
        let ticks = story.from.saturating_sub(phase).div_ceil(story.tick);
        Follower {
            story,
            policy,
            ticked: 0,
            turned: vec![false; tasks.len()],
            view: View { tick: story.tick, tasks, groups: vec![Group::ROOT], ..View::of(1) },
            rng: Rng::stream(0, 0),
            wishes: Wishes::default(),
            now: 0,
            next_tick: phase + ticks * story.tick,
            wished: false,
            timers: Vec::new(),
            idle: true,
            silent,
            charged: 0,
            found: Followed::default(),
        }
    }

    fn lead(mut self) -> Followed {
        self.now = self.story.from;
        self.story.ready().into_iter().for_each(|task| self.wakes(task, false));
        let mut events = self.story.followed().peekable();
        while let Some(event) = events.next() {
            if let Err(difference) = self.happens(event, &mut events) {
                self.found.difference = Some(difference);
                break;
            }
        }
        self.found
    }

    fn running(&self) -> Option<TaskId> {
        self.view.processors[0].running
    }

    /// Calls a hook of the policy, and notes what it wishes.
    fn hook<R>(&mut self, hook: impl FnOnce(&mut S, &mut Context<'_>) -> R) -> R {
        let mut cx = Context { now: self.now, view: &self.view, rng: &mut self.rng, wishes: &mut self.wishes };
        let result = hook(&mut self.policy, &mut cx);
        self.wished |= !std::mem::take(&mut self.wishes.resched).is_empty();
        self.timers.extend(self.wishes.timers.drain(..).map(|(when, _, token)| (when, token)));
        result
    }

    fn happens<'e>(
        &mut self,
        event: &Event,
        then: &mut Peekable<impl Iterator<Item = &'e Event>>,
    ) -> Result<(), Difference> {
        self.pass(event.time)?;
        let soon = |by: Nanos| move |next: &&Event| next.time < event.time + by;
        let next = then.peek().copied().filter(soon(AT_ONCE));
        match event.kind {
            Kind::Charged => self.looked(event, then.peek().copied().filter(soon(LATE))),
            Kind::Wakeup => {
                if let Some(look) = next.filter(|next| next.kind == Kind::Charged) {
                    self.charge(look);
                    then.next();
                }
                self.wakes(event.task, event.flag == 1);
                Ok(())
            }
            Kind::SwitchOut => {
                self.charge_silently();
                self.leaves(event)
            }
            _ => self.chooses((event.kind == Kind::SwitchIn).then_some(event.task)),
        }
    }

    /// The running task, if the kernel does not report what it is charged.
    fn silent(&self) -> Option<TaskId> {
        self.running().filter(|&task| self.silent && is_realtime(&self.view.tasks[task as usize]))
    }

    /// How long after its time a tick may be reported. That of an idle processor is not, nor that of a task whose charges are not.
    fn patience(&self) -> Nanos {
        let reported = !self.idle && self.silent().is_none();
        if reported { LATE } else { 0 }
    }

    /// Time goes on until the kernel next reports something: ticks of tasks that are charged nothing, and timers.
    fn pass(&mut self, to: Nanos) -> Result<(), Difference> {
        while self.next_tick + self.patience() < to {
            self.expire(self.next_tick, to)?;
            (self.now, self.next_tick) = (self.next_tick, self.next_tick + self.story.tick);
            self.charge_silently();
            if self.running().is_some() {
                self.tick();
            }
        }
        self.expire(to, to)?;
        self.now = to;
        Ok(())
    }

    /// Timers that are due, each at its own time. If one asks for a new choice and the kernel does not report something at once, it
    /// has chosen the running task.
    fn expire(&mut self, until: Nanos, reports: Nanos) -> Result<(), Difference> {
        while let Some(due) = (0..self.timers.len()).min_by_key(|&at| self.timers[at].0)
            && self.timers[due].0 <= until
        {
            let (when, token) = self.timers.swap_remove(due);
            self.now = when;
            self.hook(|policy, cx| policy.timer(cx, 0, token));
            if let Some(task) = self.running().filter(|_| self.wished && when + AT_ONCE < reports) {
                self.hook(|policy, cx| policy.enqueue(cx, 0, task, Enqueue::Preempted));
                self.chooses(Some(task))?;
            }
        }
        Ok(())
    }

    /// A running task whose charges are not reported is charged the time since the last tick, or since it runs.
    fn charge_silently(&mut self) {
        if let Some(task) = self.silent() {
            let ran = self.now - self.charged;
            self.hook(|policy, cx| policy.charge(cx, 0, task, ran));
        }
        self.charged = self.now;
    }

    fn charge(&mut self, look: &Event) {
        if self.running() == Some(look.task) {
            self.hook(|policy, cx| policy.charge(cx, 0, look.task, look.a));
        }
    }

    /// The kernel has looked at its clock.
    fn looked(&mut self, look: &Event, next: Option<&Event>) -> Result<(), Difference> {
        self.charge(look);
        if self.next_tick <= look.time {
            self.next_tick += self.story.tick;
            self.tick();
            return Ok(());
        }
        let switches = next.is_some_and(|next| matches!(next.kind, Kind::SwitchOut | Kind::SwitchIn));
        match self.running().filter(|_| self.wished && !switches) {
            Some(task) => {
                self.hook(|policy, cx| policy.enqueue(cx, 0, task, Enqueue::Preempted));
                self.chooses(Some(task))
            }
            None => Ok(()),
        }
    }

    fn wakes(&mut self, task: TaskId, new: bool) {
        let why = if new { Enqueue::New } else { Enqueue::Wakeup };
        self.hook(|policy, cx| policy.enqueue(cx, 0, task, why));
        if let Some(running) = self.running() {
            self.wished |= self.hook(|policy, cx| policy.wakeup_preempts(cx, 0, running, task)) != Preempt::No;
        }
    }

    fn tick(&mut self) {
        self.ticked = self.now;
        self.hook(|policy, cx| policy.tick(cx, 0));
    }

    /// Whether a slice under SCHED_RR ends at this tick because one came before the recording, between the call that gave the task its policy and
    /// its sleep: the kernel counts that for its first slice.
    fn had_a_tick_before(&mut self, task: TaskId) -> bool {
        let is_first = self.view.tasks[task as usize].policy == Policy::Rr && !self.turned[task as usize];
        if is_first && self.now.saturating_sub(self.ticked) < AT_ONCE {
            self.tick();
        }
        self.wished
    }

    fn leaves(&mut self, event: &Event) -> Result<(), Difference> {
        let (task, why) = (event.task, event.flag);
        if self.running() != Some(task) || why == Leave::Stopped as u8 {
            return Ok(());
        }
        let gone = if why == Leave::Blocked as u8 {
            Dequeue::Sleep(Wait::Timer)
        } else if why == Leave::Exited as u8 {
            Dequeue::Exit
        } else if self.wished || self.had_a_tick_before(task) {
            self.turned[task as usize] = true;
            self.hook(|policy, cx| policy.enqueue(cx, 0, task, Enqueue::Preempted));
            return Ok(());
        } else {
            return Err(self.difference("only the kernel chooses anew", None, None));
        };
        self.hook(|policy, cx| policy.dequeue(cx, 0, task, gone));
        self.view.runs(0, None);
        Ok(())
    }

    fn chooses(&mut self, kernel: Option<TaskId>) -> Result<(), Difference> {
        let policy = self.hook(|policy, cx| policy.pick_next(cx, 0)).map(|pick| pick.task);
        self.wished = false;
        if policy != kernel {
            return Err(self.difference("they choose differently", policy, kernel));
        }
        self.found.choices += u64::from(kernel.is_some());
        self.found.switches += u64::from(kernel.is_some() && self.running() != kernel);
        self.found.last = self.now;
        if self.running() != kernel {
            self.charged = self.now;
        }
        self.view.runs(0, kernel);
        self.idle = kernel.is_none();
        Ok(())
    }

    fn difference(&self, what: &'static str, policy: Option<TaskId>, kernel: Option<TaskId>) -> Difference {
        Difference { at: self.now, what, running: self.running(), policy, kernel }
    }
}

#[cfg(test)]
mod tests;
