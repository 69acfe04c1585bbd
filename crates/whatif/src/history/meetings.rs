//! Barriers among the waits of a recording: tasks that all wait until the last of them has come.
//!
//! ```text
//! round      a running task wakes two or more others that wait at one moment, with no more than 0.1 ms of computing between one and the next
//! barrier    the same tasks in at least 8 rounds, of which none was the waker in more than 9 of 10;
//!            of the waits of each that tasks ended, more than half are ended by these rounds
//! ```
//!
//! A recording has the wakeups by the task that came last. In a replay another may be the last, and those that the recorded one wakes would go
//! on without it. So each task of a round gets a step that meets the others.

use super::task::{Step, Task};
use crate::causes::Cause;
use hashbrown::HashMap;

/// Most computing between two wakeups of a round, ns: a wakeup takes some microseconds, on virtual processors some tens.
const GAP: u64 = 100_000;
/// Barriers of more tasks are not looked for.
const MOST_TASKS: usize = 1024;
/// Fewer rounds are chance.
const ROUNDS: usize = 8;
/// A task that wakes the others in more than that many of ten rounds need not wait for them.
const MOST_OF_TEN: usize = 9;

/// A wakeup that ended a wait.
#[derive(Debug, Clone, Copy)]
struct Wakeup {
    /// The step of the waker.
    signal: usize,
    /// The task that waited, and its step.
    task: usize,
    wait: usize,
    /// From when until when, ns since the recording began.
    waited: (u64, u64),
}

/// One task has woken others, one right after the other.
#[derive(Debug)]
struct Round {
    waker: usize,
    wakeups: Vec<Wakeup>,
}

impl Round {
    /// Its tasks, ascending.
    fn tasks(&self) -> Vec<usize> {
        let mut tasks: Vec<usize> = self.wakeups.iter().map(|wakeup| wakeup.task).chain([self.waker]).collect();
        tasks.sort_unstable();
        tasks
    }
}

/// Tasks that meet at a barrier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Barrier {
    /// Their indices in the recording, ascending.
    pub tasks: Vec<usize>,
    /// How often they have met.
    pub rounds: usize,
}

/// Gives the steps of tasks that meet at barriers, and the barriers, in the order of their first tasks.
pub(super) fn find(tasks: &mut [Task], edges: u32) -> Vec<Barrier> {
    let mut groups: HashMap<Vec<usize>, Vec<Round>> = HashMap::new();
    for round in rounds(tasks, edges) {
        groups.entry(round.tasks()).or_default().push(round);
    }
    let waits: Vec<usize> = tasks.iter().map(waits_for_tasks).collect();
    let mut groups: Vec<_> =
        groups.into_iter().filter(|(members, rounds)| is_barrier(&waits, members, rounds)).collect();
    groups.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    let mut given_up: Vec<Vec<usize>> = vec![Vec::new(); tasks.len()];
    for (number, round) in (0..).zip(groups.iter().flat_map(|(_, rounds)| rounds)) {
        meet(tasks, round, number, &mut given_up);
    }
    for (task, steps) in tasks.iter_mut().zip(given_up).filter(|(_, steps)| !steps.is_empty()) {
        let (mut at, mut steps) = (0, steps.into_iter().peekable());
        task.steps.retain(|_| {
            at += 1;
            steps.next_if_eq(&(at - 1)).is_none()
        });
    }
    groups.into_iter().map(|(tasks, rounds)| Barrier { tasks, rounds: rounds.len() }).collect()
}

/// The tasks of a round meet in it; the wakeups but the first, whose place the waker's step takes, are given up.
fn meet(tasks: &mut [Task], round: &Round, number: u32, given_up: &mut [Vec<usize>]) {
    for wakeup in &round.wakeups {
        tasks[wakeup.task].steps[wakeup.wait] = Step::Meet { number, waited: Some(wakeup.waited) };
    }
    let [first, others @ ..] = round.wakeups.as_slice() else { return };
    tasks[round.waker].steps[first.signal] = Step::Meet { number, waited: None };
    given_up[round.waker].extend(others.iter().map(|wakeup| wakeup.signal));
}

/// All rounds, by waker and in order.
fn rounds(tasks: &[Task], edges: u32) -> Vec<Round> {
    let mut waits: Vec<Option<Wakeup>> = vec![None; edges as usize];
    for (task, steps) in tasks.iter().map(|task| &task.steps).enumerate() {
        for (at, step) in steps.iter().enumerate() {
            if let Step::Wait { from, to, cause: Cause::Task(edge) } = *step {
                waits[edge as usize] = Some(Wakeup { signal: 0, task, wait: at, waited: (from, to) });
            }
        }
    }
    let mut all = Vec::new();
    for (waker, task) in tasks.iter().enumerate() {
        let (mut wakeups, mut since) = (Vec::new(), 0_u64);
        for (signal, step) in task.steps.iter().enumerate() {
            let wakeup = match *step {
                Step::Compute(length) => {
                    since = since.saturating_add(length);
                    continue;
                }
                Step::Signal { edge, .. } => waits[edge as usize],
                Step::Wait { .. } | Step::Exit => {
                    close(waker, &mut wakeups, &mut all);
                    continue;
                }
                _ => continue,
            };
            let Some(wakeup) = wakeup else { continue };
            if since > GAP
                || wakeups.len() == MOST_TASKS
                || wakeups.iter().any(|known: &Wakeup| known.task == wakeup.task)
            {
                close(waker, &mut wakeups, &mut all);
            }
            wakeups.push(Wakeup { signal, ..wakeup });
            since = 0;
        }
        close(waker, &mut wakeups, &mut all);
    }
    all
}

/// The wakeups are a round if all those tasks waited when the first was woken, or were on their way to sleep.
fn close(waker: usize, wakeups: &mut Vec<Wakeup>, all: &mut Vec<Round>) {
    let wakeups = std::mem::take(wakeups);
    let first = wakeups.first().map_or(0, |wakeup| wakeup.waited.1);
    let waits_then = |wakeup: &Wakeup| wakeup.waited.0 <= first || wakeup.waited.0 == wakeup.waited.1;
    if (2..MOST_TASKS).contains(&wakeups.len()) && wakeups.iter().all(waits_then) {
        all.push(Round { waker, wakeups });
    }
}

fn is_barrier(waits: &[usize], members: &[usize], rounds: &[Round]) -> bool {
    if rounds.len() < ROUNDS {
        return false;
    }
    let most = rounds.len() * MOST_OF_TEN / 10;
    members.iter().all(|&member| {
        let woke = rounds.iter().filter(|round| round.waker == member).count();
        woke <= most && 2 * (rounds.len() - woke) > waits[member]
    })
}

fn waits_for_tasks(task: &Task) -> usize {
    task.steps.iter().filter(|step| matches!(step, Step::Wait { cause: Cause::Task(_), .. })).count()
}
