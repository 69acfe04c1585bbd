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
//! switch is a choice of the running task.

use crate::{
    boot::{task_of, user_task},
    programs::check,
};
use schedlab_model::{
    Nanos,
    event::{Event, Kind, Leave},
    processors::PerProcessor,
    rng::Rng,
    scenario::Scenario,
    task::{Group, Task, TaskId, Wait},
};
use schedlab_policies::schedulers::{
    Context, Dequeue, Enqueue, Preempt, Processor, Scheduler, Table, View, Visitor, Wishes,
};
use std::{collections::BTreeMap, iter::Peekable};

/// The parts of one operation of a kernel (a wakeup, or a choice) are no further apart than this.
const AT_ONCE: Nanos = 60_000;
/// Width of the places that are counted to find the ticks.
const BIN: Nanos = 1_000;
const EARLY: Nanos = 5_000; // some ticks are looked from earlier than most
/// What of a recording is followed.
const FOLLOWED: [Kind; 5] = [Kind::Charged, Kind::Wakeup, Kind::SwitchIn, Kind::SwitchOut, Kind::Idle];

/// A kernel's story on one processor.
#[derive(Debug, Clone, Copy)]
pub struct Story<'a> {
    /// Names of the jobs, which its events give by number.
    pub jobs: &'a [String],
    /// What happened, in order of time.
    pub events: &'a [Event],
    /// Earlier events are not followed: tasks that can run then count as woken then, in the order in which they have waited.
    pub from: Nanos,
    /// Nor is what comes from then on.
    pub until: Nanos,
    /// Length of a tick.
    pub tick: Nanos,
}

impl Story<'_> {
    fn followed(&self) -> impl Iterator<Item = &Event> {
        let within = self.from..self.until;
        self.events.iter().filter(move |it| within.contains(&it.time) && FOLLOWED.contains(&it.kind))
    }

    /// Tasks that can run when it begins: the one that has waited longest first, the running task last.
    fn ready(&self) -> Vec<TaskId> {
        let mut since = BTreeMap::new();
        for it in self.events.iter().take_while(|it| it.time < self.from) {
            match it.kind {
                Kind::SwitchOut if it.flag == Leave::Blocked as u8 || it.flag == Leave::Exited as u8 => {
                    since.remove(&it.task);
                }
                Kind::Wakeup | Kind::SwitchOut => _ = since.insert(it.task, it.time),
                Kind::SwitchIn => _ = since.insert(it.task, self.from),
                _ => {}
            }
        }
        let mut ready: Vec<_> = since.into_iter().map(|(task, since)| (since, task)).collect();
        ready.sort_unstable();
        ready.into_iter().map(|(_, task)| task).collect()
    }

    /// The time of the first tick: two places within a tick are looked from most often, at the tick and at the choice that
    /// it brings about; the tick's is the one before.
    fn phase(&self) -> Nanos {
        let places = self.tick / BIN;
        let mut looks = vec![0u64; places as usize];
        for look in self.followed().filter(|it| it.kind == Kind::Charged) {
            looks[(look.time % self.tick / BIN) as usize % places as usize] += 1;
        }
        let most = (0..places).max_by_key(|&place| looks[place as usize]).unwrap_or(0);
        let mut before = (0..AT_ONCE / BIN).map(|back| (most + places - back) % places);
        let often = |place: &Nanos| looks[*place as usize] * 4 > looks[most as usize];
        let tick = before.rfind(often).unwrap_or(most) * BIN;
        (tick + self.tick - EARLY) % self.tick
    }
}

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
        let params = check(&S::INFO, &self.scenario.scheduler.settings).ok()?;
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
        let stranger = |id| Task { nice, ..user_task(id, 1) };
        while tasks.len() <= event.task as usize {
            tasks.push(user_task(tasks.len() as TaskId, 1));
        }
        tasks[event.task as usize] = job.map_or_else(|| stranger(event.task), |job| task_of(job, event.task, 0, 1));
    }
    tasks
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
    found: Followed,
}

impl<'a, S: Scheduler> Follower<'a, S> {
    fn new(policy: S, tasks: Vec<Task>, story: &'a Story<'a>) -> Self {
        let phase = story.phase();
        let ticks = story.from.saturating_sub(phase).div_ceil(story.tick);
        Follower {
            story,
            policy,
            view: View {
                tick: story.tick,
                tasks,
                groups: vec![Group::ROOT],
                processors: PerProcessor::new(1, |_| Processor::default()),
                ..View::default()
            },
            rng: Rng::stream(0, 0),
            wishes: Wishes::default(),
            now: 0,
            next_tick: phase + ticks * story.tick,
            wished: false,
            timers: Vec::new(),
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
        self.wished |= std::mem::take(&mut self.wishes.resched) != 0;
        self.timers.extend(self.wishes.timers.drain(..).map(|(when, _, token)| (when, token)));
        result
    }

    fn happens<'e>(
        &mut self,
        event: &Event,
        then: &mut Peekable<impl Iterator<Item = &'e Event>>,
    ) -> Result<(), Difference> {
        self.pass(event.time);
        let next = then.peek().copied().filter(|next| next.time < event.time + AT_ONCE);
        match event.kind {
            Kind::Charged => self.looked(event, next),
            Kind::Wakeup => {
                if let Some(look) = next.filter(|next| next.kind == Kind::Charged) {
                    self.charge(look);
                    then.next();
                }
                self.wakes(event.task, event.flag == 1);
                Ok(())
            }
            Kind::SwitchOut => self.leaves(event),
            _ => self.chooses((event.kind == Kind::SwitchIn).then_some(event.task)),
        }
    }

    /// Time goes on: ticks of tasks that are charged nothing (real-time ones, by some kernels), and timers.
    fn pass(&mut self, to: Nanos) {
        while self.next_tick + AT_ONCE < to {
            (self.now, self.next_tick) = (self.next_tick, self.next_tick + self.story.tick);
            self.expire();
            if self.running().is_some() {
                self.hook(|policy, cx| policy.tick(cx, 0));
            }
        }
        self.now = to;
        self.expire();
    }

    fn expire(&mut self) {
        while let Some(due) = self.timers.iter().position(|&(when, _)| when <= self.now) {
            let (_, token) = self.timers.swap_remove(due);
            self.hook(|policy, cx| policy.timer(cx, 0, token));
        }
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
            self.hook(|policy, cx| policy.tick(cx, 0));
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

    fn leaves(&mut self, event: &Event) -> Result<(), Difference> {
        let (task, why) = (event.task, event.flag);
        if self.running() != Some(task) || why == Leave::Stopped as u8 {
            return Ok(());
        }
        let gone = if why == Leave::Blocked as u8 {
            Dequeue::Sleep(Wait::Timer)
        } else if why == Leave::Exited as u8 {
            Dequeue::Exit
        } else if self.wished {
            self.hook(|policy, cx| policy.enqueue(cx, 0, task, Enqueue::Preempted));
            return Ok(());
        } else {
            return Err(self.difference("only the kernel chooses anew", None, None));
        };
        self.hook(|policy, cx| policy.dequeue(cx, 0, task, gone));
        self.view.processors[0].running = None;
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
        self.view.processors[0].running = kernel;
        Ok(())
    }

    fn difference(&self, what: &'static str, policy: Option<TaskId>, kernel: Option<TaskId>) -> Difference {
        Difference { at: self.now, what, running: self.running(), policy, kernel }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_policies::schedulers::Cfs;

    const TICK: Nanos = 4_000_000;
    const HOGS: &str = r#"{
        "machine": { "name": "bare", "processors": 1, "clock": { "hz": "250/s" } },
        "scheduler": { "name": "cfs" },
        "workload": { "a": { "steps": [{ "compute": "1s" }] }, "b": { "steps": [{ "compute": "1s" }] } }
    }"#;

    fn event(time: Nanos, kind: Kind, task: TaskId, a: Nanos) -> Event {
        Event { time, a, b: 0, task, cpu: 0, kind, flag: if kind == Kind::Created { 128 } else { 0 } }
    }

    /// A kernel switches between two hogs at every tick, looking at its clock at the tick and at the choice.
    fn alternating(turns: u64) -> Vec<Event> {
        let mut events = vec![event(0, Kind::Created, 0, 0), event(0, Kind::Created, 1, 1)];
        events.extend([event(10, Kind::Wakeup, 0, 0), event(20, Kind::SwitchIn, 0, 0), event(30, Kind::Wakeup, 1, 0)]);
        for turn in 1..turns {
            let (time, from, to) = (turn * TICK + 7_000, 1 - (turn % 2) as u32, (turn % 2) as u32);
            events.push(event(time, Kind::Charged, from, TICK - 9_000));
            events.push(event(time + 9_000, Kind::Charged, from, 9_000));
            events.push(event(time + 12_000, Kind::SwitchOut, from, 0));
            events.push(event(time + 12_000, Kind::SwitchIn, to, 0));
        }
        events
    }

    fn followed(events: &[Event]) -> Followed {
        let scenario: Scenario = serde_json::from_str(HOGS).unwrap();
        let jobs = ["a".to_owned(), "b".to_owned()];
        let story = Story { jobs: &jobs, events, from: 0, until: Nanos::MAX, tick: TICK };
        follow::<Cfs>(&scenario, &story).unwrap()
    }

    #[test]
    fn a_kernel_with_the_rules_of_the_policy_is_followed_to_the_end() {
        let found = followed(&alternating(100));
        assert_eq!((found.choices, found.switches, found.difference), (100, 100, None));
    }

    #[test]
    fn the_first_choice_of_another_task_is_reported() {
        let mut events = alternating(100);
        let at = events.iter().rposition(|it| it.kind == Kind::SwitchIn).unwrap();
        events[at].task = 1 - events[at].task;
        let difference = followed(&events).difference.unwrap();
        assert_eq!((difference.at, difference.what), (99 * TICK + 19_000, "they choose differently"));
        assert_eq!((difference.policy, difference.kernel), (Some(1), Some(0)));
    }

    #[test]
    fn a_switch_that_the_policy_did_not_want_is_reported() {
        let mut events = alternating(10);
        let early = 9 * TICK + TICK / 2;
        events.extend([event(early, Kind::SwitchOut, 1, 0), event(early, Kind::SwitchIn, 0, 0)]);
        assert_eq!(followed(&events).difference.unwrap().what, "only the kernel chooses anew");
    }

    #[test]
    fn a_task_that_is_ready_at_the_begin_has_waited_since_the_switch_before() {
        let (events, jobs) = (alternating(10), []);
        let story = Story { jobs: &jobs, events: &events, from: 5 * TICK, until: Nanos::MAX, tick: TICK };
        assert_eq!(story.ready(), [1, 0]);
    }
}
