//! The steps of clients and servers, with calls in place of wakeups.
//!
//! What either waited for other tasks it waits as long: so a client depends on its server alone, and a server on no task, and none can wait for
//! ever.

use super::{NEXT, Server};
use crate::{
    causes::Cause,
    edges::{Edges, Wakeup},
    history::{Step, Task},
    timers::median,
};

/// The steps of a client: it asks where it waited for the server.
pub(super) fn asking(task: &Task, server: usize, number: u32, edges: &Edges) -> Vec<Step> {
    let mut steps = Vec::with_capacity(task.steps.len());
    for &step in &task.steps {
        if edges.waker(&step) == Some(server) {
            steps.push(Step::Ask { server: number, waited: matches!(step, Step::Wait { .. }) });
        } else if edges.woken(&step) != Some(server) {
            steps.extend(kept(step));
        }
    }
    steps
}

/// A step that is no call: it needs no other task.
pub(crate) fn kept(step: Step) -> Option<Step> {
    match step {
        Step::Wait { from, to, cause: Cause::Task(_) } => Some(Step::Pause { from, to }),
        Step::Found(_) => None,
        _ => Some(step),
    }
}

/// The steps of a server. Before each answer to a client that is `kept` it takes a request: where it waited for one, or else as long after the
/// answer before as it usually waits for one. What it computed for other clients it leaves out.
pub(super) fn answering(task: &Task, whole: &Server, kept_clients: &Server, number: u32, edges: &Edges) -> Vec<Step> {
    let rest = rest(task, whole, edges);
    let mut steps: Vec<Step> = Vec::with_capacity(task.steps.len() + whole.answers);
    // Where it took the request that it has not answered yet, where its last answer ended, and what it has computed since one of both.
    let (mut taken, mut since, mut work) = (None, None, 0_u64);
    for &step in &task.steps {
        work = work.saturating_add(Step::computed(&[step]));
        if edges.waker(&step).is_some_and(|waker| whole.has(waker)) {
            work = 0;
            if taken.is_some() {
                steps.extend(kept(step));
                continue;
            }
            taken = Some(steps.len());
            steps.push(Step::Take { server: number, waited: matches!(step, Step::Wait { .. }) });
        } else if let (Some(wakeup), Step::Signal { here, .. }) = (answer(&step, whole, edges), step) {
            let at = taken.take().unwrap_or_else(|| {
                let since = since.filter(|_| wakeup.has_waited_for(work));
                let at = since.map_or(steps.len(), |since| found(&mut steps, since, rest, wakeup.from));
                steps.insert(at, Step::Take { server: number, waited: false });
                at
            });
            if kept_clients.has(wakeup.waiter) {
                steps.push(Step::Answer { server: number, here });
            } else {
                leave_out(&mut steps, at);
            }
            (since, work) = (Some(steps.len()), 0);
        } else {
            steps.extend(kept(step));
        }
    }
    if let Some(at) = taken {
        steps.remove(at); // the end of the recording cut off its answer
    }
    steps
}

/// The wakeup of a client, if a step is one.
fn answer<'a>(step: &Step, server: &Server, edges: &'a Edges) -> Option<&'a Wakeup> {
    edges.wakeup(step).filter(|wakeup| server.has(wakeup.waiter))
}

/// What a server usually still computes after an answer before it waits for the next request, ns.
fn rest(task: &Task, server: &Server, edges: &Edges) -> u64 {
    let (mut rests, mut since) = (Vec::new(), None);
    for (at, step) in task.steps.iter().enumerate() {
        if answer(step, server, edges).is_some() {
            since = Some(at + 1);
        } else if edges.waker(step).is_some_and(|waker| server.has(waker)) {
            rests.extend(since.take().map(|since: usize| Step::computed(&task.steps[since..at])));
        }
    }
    if rests.is_empty() { 0 } else { median(rests) }
}

/// Where a server found the request of a client that waited from then on: after that much computing since its last answer, and after what it
/// did before the client waited. A computation is split there.
fn found(steps: &mut Vec<Step>, since: usize, mut rest: u64, from: u64) -> usize {
    let is_before = |step: &Step| match *step {
        Step::Fork(_) => true, // of the client itself, perhaps
        Step::Wait { to, .. } | Step::Pause { to, .. } => to <= from.saturating_add(NEXT),
        _ => false,
    };
    let mut at = steps[since..].iter().rposition(is_before).map_or(since, |before| since + before + 1);
    while rest > 0 && at < steps.len() {
        if let Step::Compute(length) = &mut steps[at] {
            let more = length.saturating_sub(rest);
            rest = rest.saturating_sub(*length);
            if more > 0 {
                *length -= more;
                steps.insert(at + 1, Step::Compute(more));
            }
        }
        at += 1;
    }
    at
}

/// Leaves out what a server did for a client from there on, but for what other tasks wait for.
fn leave_out(steps: &mut Vec<Step>, from: usize) {
    let is_for_others = |step: &Step| matches!(step, Step::Signal { .. } | Step::Fork(_) | Step::Exit);
    let others: Vec<Step> = steps.drain(from..).filter(is_for_others).collect();
    steps.extend(others);
}
