//! Histories as streams of acts.
//!
//! ```text
//! recorded                                      replayed
//! computed                                      compute
//! woke another task that waited                 signal of that edge
//! waited, until another task woke it            wait for that edge
//!         until an absolute timer               until that time
//!         until a relative timer or a device    sleep as long
//!         until something outside               until that time: it keeps its own times
//! ```

use crate::{
    causes::{Cause, Override},
    history::{Recording, Step, Task},
    timers::{Timers, timers},
};
use hashbrown::HashMap;
use schedlab_model::replay::{Act, Jitter, Packed, Replay, Stream};
use schedlab_traces::kernel::Pid;

/// A recording as work, and how certain that is.
#[derive(Debug, Default)]
pub struct Work {
    /// The streams; those of tasks that never ran are left out.
    pub replay: Replay,
    /// By stream, the waits by how their causes were taken.
    pub causes: Vec<Causes>,
    /// By stream, the index of its task in the recording.
    pub tasks: Vec<usize>,
}

/// Waits of a task, by what ended them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Causes {
    /// Another task.
    pub tasks: u32,
    /// Timers that keep the recording's times.
    pub absolute: u32,
    /// Timers that count from the begin of the wait.
    pub relative: u32,
    /// Devices.
    pub devices: u32,
    /// Something outside.
    pub outside: u32,
    /// What could not be determined.
    pub unknown: u32,
}

impl Causes {
    /// All of them.
    pub fn all(&self) -> u32 {
        self.tasks + self.absolute + self.relative + self.devices + self.outside + self.unknown
    }
}

/// Runs vary by that much: a thousandth of 20 of each computation, 20 us of times.
const JITTER: Jitter = Jitter { compute_permille: 20, time: 20_000 };
/// Quantiles of what leaving idle takes.
const QUANTILES: usize = 64;

/// The streams of a recording. `treat` says of a task whether its waits are taken otherwise than the recording shows.
pub fn work(recording: &Recording, treat: impl Fn(&Task) -> Option<Override>) -> Work {
    let runs = |task: &Task| task.steps.iter().any(|step| matches!(step, Step::Compute(_) | Step::Signal(_)));
    let tasks: Vec<usize> = (0..recording.tasks.len()).filter(|&at| runs(&recording.tasks[at])).collect();
    let mut forked: HashMap<Pid, Vec<(u64, u32)>> = HashMap::new();
    for (number, &at) in (0..).zip(&tasks) {
        let task = &recording.tasks[at];
        if task.forked {
            forked.entry(task.pid).or_default().push((task.life.0, number));
        }
    }
    let mut work = Work { tasks, ..Work::default() };
    for &at in &work.tasks {
        let task = &recording.tasks[at];
        let (acts, causes) = acts(task, treat(task), &mut forked);
        let stream = Stream { pid: task.pid, name: task.name.clone(), job: String::new(), begun: task.forked, acts };
        work.replay.streams.push(stream);
        work.causes.push(causes);
    }
    let idle_exits = quantiles(recording.idle_exits.clone());
    let Replay { streams, .. } = std::mem::take(&mut work.replay);
    work.replay = Replay { streams, edges: recording.edges, span: recording.span, idle_exits, jitter: JITTER };
    work
}

fn acts(task: &Task, treat: Option<Override>, forked: &mut HashMap<Pid, Vec<(u64, u32)>>) -> (Vec<Packed>, Causes) {
    let waits: Vec<(u64, u64)> = task.steps.iter().filter_map(timer_wait).collect();
    let timers = timers(&waits);
    let mut causes = Causes::default();
    let mut acts = Vec::with_capacity(task.steps.len());
    for step in &task.steps {
        let act = match *step {
            Step::Compute(length) => Act::Compute(length),
            Step::Signal(edge) => Act::Signal(edge),
            Step::Exit => Act::Exit,
            Step::Fork(child) => match forked.get_mut(&child).filter(|all| !all.is_empty()) {
                Some(all) => Act::Begin(all.remove(0).1),
                None => continue, // it never ran
            },
            Step::Wait { from, to, cause } => match treat {
                Some(Override::Open) => Act::Until(to),
                Some(Override::Closed) if !matches!(cause, Cause::Task(_)) => Act::Sleep(to - from),
                _ => wait(cause, from, to, timers, &mut causes),
            },
        };
        acts.push(act.into());
    }
    (acts, causes)
}

fn timer_wait(step: &Step) -> Option<(u64, u64)> {
    match *step {
        Step::Wait { from, to, cause: Cause::Timer } => Some((from, to)),
        _ => None,
    }
}

fn wait(cause: Cause, from: u64, to: u64, timers: Timers, causes: &mut Causes) -> Act {
    let (act, count) = match (cause, timers) {
        (Cause::Task(edge), _) => (Act::Wait(edge), &mut causes.tasks),
        (Cause::Timer, Timers::Absolute) => (Act::Until(to), &mut causes.absolute),
        (Cause::Timer, Timers::Relative) => (Act::Sleep(to - from), &mut causes.relative),
        (Cause::Device, _) => (Act::Sleep(to - from), &mut causes.devices),
        (Cause::Outside, _) => (Act::Until(to), &mut causes.outside),
        (Cause::Unknown, _) => (Act::Until(to), &mut causes.unknown),
    };
    *count += 1;
    act
}

/// That many values at equal distances of all, least first; fewer if there are fewer.
fn quantiles(mut all: Vec<u32>) -> Vec<u32> {
    all.sort_unstable();
    let n = all.len().min(QUANTILES);
    (0..n).map(|i| all[(2 * i + 1) * all.len() / (2 * n)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_spread_evenly() {
        assert_eq!(quantiles((0..640).collect()).len(), QUANTILES);
        assert_eq!(quantiles((0..640).collect())[..3], [5, 15, 25]);
        assert_eq!(quantiles(vec![3, 1, 2]), [1, 2, 3]);
        assert_eq!(quantiles(Vec::new()), []);
    }
}
