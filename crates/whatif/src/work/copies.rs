//! Copies of tasks: what several would do that do what one did.

use super::{
    Causes, Wish, Work,
    periods::Periods,
    waits::{Alone, timer_wait, wait},
};
use crate::{
    causes::Cause,
    history::{Recording, Step, Task},
};
use hashbrown::HashSet;
use schedlab_model::replay::{Act, Packed, Stream};
use schedlab_traces::kernel::Pid;

/// Adds the copies. They wait for no edge of the original's, and give none: what another task ended ends as long after it began. Those of
/// clients ask the server, too; it takes their requests with the others. Those of servers answer none.
pub(super) fn add<'a>(
    work: &mut Work,
    recording: &'a Recording,
    steps: impl Fn(usize) -> &'a Vec<Step>,
    wish: impl Fn(&Task) -> Wish,
) {
    let servers: HashSet<usize> = work.servers.iter().map(|server| server.task).collect();
    for number in 0..work.tasks.len() {
        let at = work.tasks[number];
        let task = &recording.tasks[at];
        let serves = servers.contains(&at);
        let steps = if serves { &task.steps } else { steps(at) };
        let waits: Vec<(u64, u64)> = task.steps.iter().filter_map(timer_wait).collect();
        let alone = Alone::of(task, &waits);
        for _ in 0..wish(task).copies {
            let mut periods = Periods::of(task, &waits);
            let mut acts: Vec<Packed> = Vec::with_capacity(steps.len());
            for step in steps {
                let act = match (step, &mut periods) {
                    (&Step::Wait { from, to, cause: Cause::Timer }, Some(periods)) => periods.end(&mut acts, from, to),
                    _ => match alike(step, alone) {
                        Some(act) => act,
                        None => continue,
                    },
                };
                acts.push(act.into());
            }
            if task.forked {
                acts.insert(0, Act::Until(task.life.0).into());
            }
            let original = &work.replay.streams[number];
            let (pid, name, locks, until) = (original.pid, original.name.clone(), original.locks, original.until);
            work.replay.streams.push(Stream { pid, name, locks, until, acts, ..Stream::default() });
            work.causes.push(work.causes[number]);
            work.tasks.push(work.tasks[number]);
        }
    }
    answer_more(work);
}

/// What a copy does in place of a step of the original, if anything.
fn alike(step: &Step, alone: Alone) -> Option<Act> {
    match *step {
        Step::Compute(length) => Some(Act::Compute(length)),
        Step::Wait { from, to, cause: Cause::Task(_) } => Some(Act::Sleep(to - from)),
        Step::Wait { from, to, cause } => Some(wait(cause, from, to, alone, &mut Causes::default())),
        Step::Meet { waited: Some((from, to)), .. } => Some(Act::Sleep(to - from)),
        Step::Yielded(_) => Some(Act::Yield),
        Step::Exec => Some(Act::Exec),
        Step::Exit => Some(Act::Exit),
        Step::Meet { .. } | Step::Signal { .. } | Step::Fork(_) | Step::Found(_) | Step::Preempted => None,
        Step::Ask { server, .. } => Some(Act::Ask(server)),
        Step::Pause { from, to } => Some(Act::Sleep(to - from)),
        Step::Take { .. } | Step::Answer { .. } => None, // servers are copied from what was recorded
    }
}

/// A server that ended when all was answered has more to answer with copies of its clients: it does again what it did for the first ones.
fn answer_more(work: &mut Work) {
    let mut asks = vec![0_usize; work.servers.len()];
    for act in work.replay.streams.iter().flat_map(|stream| &stream.acts) {
        if let Act::Ask(server) = act.act() {
            asks[server as usize] += 1;
        }
    }
    for (number, (server, asks)) in (0..).zip(work.servers.iter().zip(asks)) {
        let count = |acts: &[Packed], wanted: Act| acts.iter().filter(|act| act.act() == wanted).count();
        let Some(at) = work.tasks.iter().position(|&task| task == server.task) else { continue };
        let acts = &mut work.replay.streams[at].acts;
        let mut left = asks.saturating_sub(count(acts, Act::Take(number)));
        let Some(last) = acts.iter().rposition(|act| act.act() == Act::Answer(number)) else { continue };
        if count(acts, Act::Exit) == 0 || left == 0 {
            continue;
        }
        let serves = |act: &&Packed| !matches!(act.act(), Act::Signal(_) | Act::Wait(_) | Act::Begin(_) | Act::Meet(_));
        let first = acts.iter().position(|act| act.act() == Act::Take(number)).unwrap_or(0);
        let mut more = Vec::new();
        for &act in acts[first..=last].iter().filter(serves).cycle() {
            more.push(act);
            left -= usize::from(act.act() == Act::Answer(number));
            if left == 0 {
                break;
            }
        }
        acts.splice(last + 1..last + 1, more);
    }
}

/// Gives each stream a number of its own, as the kernel does with tasks: what a copy does, or a task whose number had come again, is else
/// counted with another's.
pub(super) fn number(streams: &mut [Stream]) {
    let mut taken: HashSet<Pid> = HashSet::new();
    let again: Vec<usize> = (0..streams.len()).filter(|&number| !taken.insert(streams[number].pid)).collect();
    let free = (1..).filter(|pid| !taken.contains(pid));
    for (number, pid) in again.into_iter().zip(free) {
        streams[number].pid = pid;
    }
}
