//! Tasks that can never continue: they wait for an event that only other tasks can cause, and none of these will.
//!
//! A task that runs, sleeps or waits for a drive continues by itself. Liveness propagates from those: a live task may release
//! the locks that it holds, and do whatever its program or its children's programs do: send, receive, release permits, come to barriers,
//! signal conditions and its job, exit and so end its parent's wait. A task that is not reached is stuck. Steps that a task has already done count
//! as still to come. So every reported task is stuck, but some stuck tasks may be missed.

use crate::program::{Instruction, Programs};
use std::collections::BTreeMap;

/// An event that only another task can cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Awaited {
    /// The lock of that number.
    Lock(u16),
    /// A message in the pipe of that number.
    Message(u16),
    /// Room for a message in the queue of that number.
    Room(u16),
    /// A permit of the semaphore of that number.
    Permit(u16),
    /// More tasks at the barrier of that number.
    Barrier(u16),
    /// A signal of the condition of that number.
    Condition(u16),
    /// The end of a child.
    Child,
    /// A signal of another task of its job.
    Signal,
}

/// A living task when a run is looked at.
#[derive(Debug, Clone, Copy)]
pub struct TaskState {
    /// Index of its job.
    pub job: usize,
    /// Its place among the tasks that the job started, from 0; none of a child.
    pub copy: Option<u32>,
    /// Its program.
    pub program: u32,
    /// Which of the tasks is its parent, if that is alive.
    pub parent: Option<usize>,
    /// What it waits for; none if it goes on by itself.
    pub awaits: Option<Awaited>,
}

/// Everything there is to know of a run that is looked at.
#[derive(Debug)]
pub struct Scene<'a> {
    /// Names of the jobs.
    pub jobs: &'a [String],
    /// Their programs.
    pub programs: &'a Programs,
    /// The living tasks.
    pub tasks: Vec<TaskState>,
    /// By lock, which of them hold it: one, or several readers.
    pub holders: Vec<Vec<usize>>,
}

/// Tasks that can never continue.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stuck {
    /// Which tasks of the scene, in their order.
    pub tasks: Vec<usize>,
    /// Those of them that wait in a circle for each other's locks, each for the next one's.
    pub circles: Vec<Vec<usize>>,
}

/// Most circles, their members and other waits that are named.
const NAMED: usize = 4;

impl Scene<'_> {
    /// The tasks that can never continue.
    pub fn stuck(&self) -> Stuck {
        let goes_on = self.going_on();
        let tasks: Vec<usize> = (0..self.tasks.len()).filter(|&task| !goes_on[task]).collect();
        let circles = self.circles(&goes_on);
        Stuck { tasks, circles }
    }

    /// For each task, whether it may go on.
    fn going_on(&self) -> Vec<bool> {
        let gives: Vec<Gives> = (0..self.programs.programs.len()).map(|one| Gives::of(self.programs, one)).collect();
        let mut waiters: BTreeMap<(Awaited, usize), Vec<usize>> = BTreeMap::new();
        let mut goes_on = vec![false; self.tasks.len()];
        let mut next = Vec::new();
        for (number, task) in self.tasks.iter().enumerate() {
            match task.awaits {
                None => next.push(number),
                Some(Awaited::Child) => {
                    waiters.entry((Awaited::Child, number)).or_default().push(number);
                    // A signal ends this wait, too.
                    waiters.entry((Awaited::Signal, task.job)).or_default().push(number);
                }
                Some(Awaited::Signal) => waiters.entry((Awaited::Signal, task.job)).or_default().push(number),
                Some(awaited) => waiters.entry((awaited, 0)).or_default().push(number),
            }
        }
        let mut held = vec![Vec::new(); self.tasks.len()];
        for (lock, holders) in self.holders.iter().enumerate() {
            holders.iter().for_each(|&holder| held[holder].push(lock as u16));
        }
        while let Some(number) = next.pop() {
            if std::mem::replace(&mut goes_on[number], true) {
                continue;
            }
            let task = &self.tasks[number];
            let Gives { all, signals } = &gives[task.program as usize];
            let given = held[number].iter().map(|&lock| (Awaited::Lock(lock), 0));
            let given = given.chain(all.iter().map(|&awaited| (awaited, 0)));
            let given = given.chain(signals.then_some((Awaited::Signal, task.job)));
            let given = given.chain(task.parent.map(|parent| (Awaited::Child, parent)));
            next.extend(given.filter_map(|awaited| waiters.remove(&awaited)).flatten());
        }
        goes_on
    }

    /// Cycles among the stuck tasks: a task waits for at most one lock; of several readers the first stands for all.
    fn circles(&self, goes_on: &[bool]) -> Vec<Vec<usize>> {
        let mut met = vec![usize::MAX; self.tasks.len()];
        let mut circles = Vec::new();
        for start in (0..self.tasks.len()).filter(|&task| !goes_on[task]) {
            let (mut chain, mut at) = (Vec::new(), Some(start));
            while let Some(task) = at.filter(|&task| met[task] == usize::MAX) {
                met[task] = start;
                chain.push(task);
                at = self.next(task);
            }
            // Back at a task of this very chain: the circle begins there.
            if let Some(closing) = at.filter(|&task| met[task] == start) {
                let from = chain.iter().position(|&task| task == closing).unwrap_or(0);
                circles.push(chain.split_off(from));
            }
        }
        circles
    }

    /// The holder of the lock that a task waits for.
    fn next(&self, task: usize) -> Option<usize> {
        match self.tasks[task].awaits? {
            Awaited::Lock(lock) => self.holders[usize::from(lock)].first().copied(),
            _ => None,
        }
    }

    /// Describes the stuck tasks, one line each: cycles first, then the others. Empty if no task is stuck.
    pub fn describe(&self, stuck: &Stuck) -> Vec<String> {
        let in_circle: Vec<usize> = stuck.circles.iter().flatten().copied().collect();
        let mut lines: Vec<String> = stuck.circles.iter().take(NAMED).map(|circle| self.circle(circle)).collect();
        if stuck.circles.len() > NAMED {
            lines.push(format!("{} more deadlocks", stuck.circles.len() - NAMED));
        }
        let mut others: BTreeMap<(Awaited, usize), Vec<usize>> = BTreeMap::new();
        for &task in stuck.tasks.iter().filter(|task| !in_circle.contains(task)) {
            let Some(awaited) = self.tasks[task].awaits else { continue };
            others.entry((awaited, self.tasks[task].job)).or_default().push(task);
        }
        lines.extend(others.iter().take(NAMED).map(|((awaited, _), tasks)| self.wait(*awaited, tasks)));
        if others.len() > NAMED {
            let left: usize = others.values().skip(NAMED).map(Vec::len).sum();
            lines.push(format!("{left} more tasks wait for an event that cannot occur"));
        }
        lines
    }

    fn circle(&self, circle: &[usize]) -> String {
        let lock = |task: usize| match self.tasks[task].awaits {
            Some(Awaited::Lock(lock)) => self.programs.locks[usize::from(lock)].as_str(),
            _ => "",
        };
        let before = |place: usize| circle[(place + circle.len() - 1) % circle.len()];
        let member = |(place, &task): (usize, &usize)| {
            format!("{} holds {} and waits for {}", self.name(task), lock(before(place)), lock(task))
        };
        let members: Vec<String> = circle.iter().enumerate().take(2 * NAMED).map(member).collect();
        let more = circle.len() - members.len();
        let more = if more > 0 { format!("; and so on, {more} more tasks") } else { String::new() };
        format!("deadlock: {}{more}", members.join("; "))
    }

    fn wait(&self, awaited: Awaited, tasks: &[usize]) -> String {
        let whom = match tasks {
            [only] => format!("{} waits", self.name(*only)),
            [first, ..] => format!("{} tasks of {} wait", tasks.len(), self.jobs[self.tasks[*first].job]),
            [] => String::new(),
        };
        match awaited {
            Awaited::Lock(lock) => {
                let holder = self.holders[usize::from(lock)].first();
                let holder = holder.map_or("no task".to_owned(), |&task| self.name(task));
                format!("{whom} for lock {}, which {holder} holds", self.programs.locks[usize::from(lock)])
            }
            Awaited::Message(pipe) => {
                format!("{whom} for a message in {}, and no task will send one", self.programs.pipes[usize::from(pipe)])
            }
            Awaited::Room(pipe) => {
                let pipe = &self.programs.pipes[usize::from(pipe)];
                format!("{whom} for room in the queue {pipe}, and no task will receive from it")
            }
            Awaited::Permit(semaphore) => {
                let semaphore = &self.programs.semaphores[usize::from(semaphore)];
                format!("{whom} for a permit of {semaphore}, and no task will release one")
            }
            Awaited::Barrier(barrier) => {
                let (name, parties) =
                    (&self.programs.barriers[usize::from(barrier)], self.programs.parties[usize::from(barrier)]);
                format!("{whom} at the barrier {name}, to which {parties} tasks will never come")
            }
            Awaited::Condition(condition) => {
                let condition = &self.programs.conditions[usize::from(condition)];
                format!("{whom} for the condition {condition}, and no task will signal it")
            }
            Awaited::Child => format!("{whom} for a child that never ends"),
            Awaited::Signal => format!("{whom} for a signal, and no task of the job will send one"),
        }
    }

    /// What a task is called: its job, and which of its tasks if there are several.
    fn name(&self, task: usize) -> String {
        let TaskState { job, copy, .. } = self.tasks[task];
        let of_job = self.tasks.iter().filter(|other| other.job == job && other.copy.is_some());
        match copy {
            None => format!("a child of {}", self.jobs[job]),
            Some(0) if of_job.count() == 1 => self.jobs[job].clone(),
            Some(copy) => format!("{}.{copy}", self.jobs[job]),
        }
    }
}

/// What a program may give others, its children's programs included.
#[derive(Debug, Clone, Default)]
struct Gives {
    all: Vec<Awaited>,
    signals: bool,
}

impl Gives {
    fn of(programs: &Programs, program: usize) -> Gives {
        let mut gives = Gives::default();
        let mut left = vec![program];
        while let Some(one) = left.pop() {
            for instruction in &programs.programs[one] {
                match *instruction {
                    Instruction::Send(pipe) => gives.all.push(Awaited::Message(pipe)),
                    Instruction::Receive(pipe) => gives.all.push(Awaited::Room(pipe)),
                    Instruction::Release(semaphore) => gives.all.push(Awaited::Permit(semaphore)),
                    Instruction::Barrier(barrier) => gives.all.push(Awaited::Barrier(barrier)),
                    Instruction::ConditionSignal(condition) | Instruction::ConditionBroadcast(condition) => {
                        gives.all.push(Awaited::Condition(condition));
                    }
                    Instruction::Signal => gives.signals = true,
                    Instruction::Fork(child) => left.push(child as usize),
                    _ => {}
                }
            }
        }
        gives.all.sort_unstable();
        gives.all.dedup();
        gives
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::program::{Step, Times};

    fn programs(jobs: &[&[Step]]) -> Programs {
        Programs::compile(jobs.iter().map(|steps| (*steps, Times::Count(1))))
    }

    fn text(step: fn(String) -> Step, name: &str) -> Step {
        step(name.to_owned())
    }

    fn task(job: usize, awaits: Option<Awaited>) -> TaskState {
        TaskState { job, copy: Some(0), program: job as u32, parent: None, awaits }
    }

    #[test]
    fn a_cycle_is_named_and_its_waiters_too() {
        let both = [text(Step::Lock, "a"), text(Step::Lock, "b")];
        let programs = programs(&[&both, &both, &both]);
        let jobs = ["d", "e", "f"].map(str::to_owned);
        let lock = |lock| Some(Awaited::Lock(lock));
        let tasks = vec![task(0, lock(1)), task(1, lock(0)), task(2, lock(0))];
        let mut scene = Scene { jobs: &jobs, programs: &programs, tasks, holders: vec![vec![0], vec![1]] };
        let stuck = scene.stuck();
        assert_eq!((&stuck.tasks, &stuck.circles), (&vec![0, 1, 2], &vec![vec![0, 1]]));
        let lines = scene.describe(&stuck);
        assert_eq!(lines[0], "deadlock: d holds a and waits for b; e holds b and waits for a");
        assert_eq!(lines[1], "f waits for lock a, which d holds");
        // As soon as one of them continues, no task is stuck.
        scene.tasks[1].awaits = None;
        assert_eq!(scene.stuck(), Stuck::default());
    }

    #[test]
    fn a_circle_that_a_waiting_task_leads_to_holds_only_its_own_tasks() {
        let programs = programs(&[&[text(Step::Lock, "a"), text(Step::Lock, "b"), text(Step::Lock, "c")]]);
        let jobs = ["d".to_owned()];
        let lock = |lock| Some(Awaited::Lock(lock));
        // Task 0 waits for 1, and 1 for 2, which is in a circle with 3.
        let tasks = vec![task(0, lock(2)), task(0, lock(0)), task(0, lock(1)), task(0, lock(0))];
        let holders = vec![vec![2], vec![3], vec![1]];
        let stuck = Scene { jobs: &jobs, programs: &programs, tasks, holders }.stuck();
        assert_eq!((stuck.tasks, stuck.circles), (vec![0, 1, 2, 3], vec![vec![2, 3]]));
    }

    #[test]
    fn a_lock_of_ones_own_is_a_circle_of_one() {
        let programs = programs(&[&[text(Step::Lock, "a")]]);
        let jobs = ["d".to_owned()];
        let tasks = vec![task(0, Some(Awaited::Lock(0)))];
        let scene = Scene { jobs: &jobs, programs: &programs, tasks, holders: vec![vec![0]] };
        assert_eq!(scene.describe(&scene.stuck()), ["deadlock: d holds a and waits for a"]);
    }

    #[test]
    fn messages_children_and_signals_come_from_live_tasks() {
        let receiver = [text(Step::Receive, "p"), Step::Wait, Step::Pause];
        let sender = [Step::Fork(vec![text(Step::Send, "p")]), Step::Signal];
        let programs = programs(&[&receiver, &sender]);
        let jobs = ["r", "s"].map(str::to_owned);
        let scene = |tasks| Scene { jobs: &jobs, programs: &programs, tasks, holders: vec![] };
        let message = Some(Awaited::Message(0));
        assert!(scene(vec![task(0, message), task(1, None)]).stuck().tasks.is_empty());
        let alone = scene(vec![task(0, message)]);
        assert_eq!(alone.describe(&alone.stuck()), ["r waits for a message in p, and no task will send one"]);
        // Both ends of a conversation wait for the other to begin.
        assert_eq!(scene(vec![task(0, message), task(1, message)]).stuck().tasks, [0, 1]);
        let signal = Some(Awaited::Signal);
        assert!(scene(vec![task(1, signal), task(1, None)]).stuck().tasks.is_empty());
        assert_eq!(scene(vec![task(0, signal), task(1, None)]).stuck().tasks, [0]);
        let child = |awaits| TaskState { copy: None, parent: Some(0), ..task(0, awaits) };
        assert!(scene(vec![task(0, Some(Awaited::Child)), child(None)]).stuck().tasks.is_empty());
        let hopeless = scene(vec![task(0, Some(Awaited::Child)), child(message)]);
        assert_eq!(
            hopeless.describe(&hopeless.stuck()),
            ["a child of r waits for a message in p, and no task will send one", "r waits for a child that never ends"]
        );
    }
}
