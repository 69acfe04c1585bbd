//! Histories as streams of acts.
//!
//! ```text
//! recorded                                      replayed
//! computed                                      compute
//! woke another task that waited                 signal of that edge
//! gave its processor to others                  yields, too
//! waited, until another task woke it            wait for that edge
//!         until all tasks of a barrier came     meets them; so does the last
//!         until its server answered             asks it, and waits for that
//!         until a client asked                  takes a request before each answer
//!         until an absolute timer               until that time
//!         until a relative timer or a device    sleep as long
//!         until the end of a period             until then, or count anew if late
//!         until something outside               until that time: it keeps its own times
//! ```

mod copies;
mod periods;
mod waits;

use crate::{
    calls::{self, Part, Server},
    causes::{Cause, Override},
    clocks,
    connections::{self, Hub},
    edges::Edges,
    history::{Recording, Step, Task},
    inboxes::has_several_senders,
    timers::{irregular, median, missed},
};
use hashbrown::{HashMap, HashSet};
use periods::Periods;
use schedlab_model::replay::{Act, Jitter, Packed, Replay, Stream, Waking};
use schedlab_traces::kernel::Pid;
use waits::{Alone, timer_wait, wait};

/// A recording as work, and how certain that is.
#[derive(Debug, Default)]
pub struct Work {
    /// The streams; those of tasks that never ran are left out.
    pub replay: Replay,
    /// By stream, the waits by how their causes were taken.
    pub causes: Vec<Causes>,
    /// By stream, the index of its task in the recording.
    pub tasks: Vec<usize>,
    /// Tasks that answer others.
    pub servers: Vec<Server>,
    /// Tasks that answer each other over several connections.
    pub hubs: Vec<Hub>,
}

/// Waits of a task, by what ended them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Causes {
    /// Another task.
    pub tasks: u32,
    /// Timers that keep the recording's times.
    pub absolute: u32,
    /// Those of them before which the task had missed a period.
    pub missed: u32,
    /// Timers that count from the begin of the wait.
    pub relative: u32,
    /// Those of them that may as well be absolute: the task's waits keep neither a period nor a length.
    pub irregular: u32,
    /// Timers at the end of a period that is counted anew after the task was late.
    pub restarting: u32,
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
        self.tasks + self.absolute + self.relative + self.restarting + self.devices + self.outside + self.unknown
    }
}

/// Runs vary by that much: a thousandth of 20 of each computation, 20 us of times.
const JITTER: Jitter = Jitter { compute_permille: 20, time: 20_000 };
/// Quantiles of what leaving idle takes.
const QUANTILES: usize = 64;

/// What is done with a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wish {
    /// It is left out; those that it woke wake at the recording's own times, and those that it met do without it.
    pub removed: bool,
    /// Its waits are taken otherwise than the recording shows. Taken as open it meets no others.
    pub waits: Option<Override>,
    /// How many more tasks do the same, each by itself.
    pub copies: u32,
}

/// The streams of a recording, with what is wished of each task.
pub fn work(recording: &Recording, wish: impl Fn(&Task) -> Wish) -> Work {
    let runs = |task: &Task| task.steps.iter().any(|step| matches!(step, Step::Compute(_) | Step::Signal { .. }));
    let kept = |task: &Task| runs(task) && !wish(task).removed;
    let tasks: Vec<usize> = (0..recording.tasks.len()).filter(|&at| kept(&recording.tasks[at])).collect();
    let mut forked: HashMap<Pid, Vec<u32>> = HashMap::new();
    for (number, &at) in (0..).zip(&tasks).filter(|(_, at)| recording.tasks[**at].forked) {
        forked.entry(recording.tasks[at].pid).or_default().push(number);
    }
    let edges = Edges::of(&recording.tasks, recording.edges);
    let (servers, mut calls) = calls::find(&recording.tasks, &edges, |task| part(wish(task)));
    let connected = |at: usize| match wish(&recording.tasks[at]) {
        Wish { copies: 1.., .. } => Part::Treated,
        _ if calls.contains_key(&at) || meets(&recording.tasks[at]) => Part::Treated,
        wish => part(wish),
    };
    let (hubs, answering) = connections::find(&recording.tasks, &edges, connected, servers.len() as u32);
    let connections = connections::all(&hubs, servers.len() as u32);
    let is_connected: HashSet<usize> = answering.keys().copied().collect();
    calls.extend(answering);
    let clocks = clocks::find(&recording.tasks);
    for (at, clock) in clocks.iter().enumerate().filter_map(|(at, clock)| Some((at, (*clock)?))) {
        let steps = clocks::without_end(calls.get(&at).unwrap_or(&recording.tasks[at].steps), clock, &edges);
        calls.insert(at, steps);
    }
    let steps = |at: usize| calls.get(&at).unwrap_or(&recording.tasks[at].steps);
    let mut signalled = vec![false; recording.edges as usize];
    for step in tasks.iter().flat_map(|&at| steps(at)) {
        if let Step::Signal { edge, .. } = step {
            signalled[*edge as usize] = true;
        }
    }
    let mut work = Work { tasks: tasks.clone(), servers, hubs, ..Work::default() };
    let at_once = at_once(recording);
    let (mut begun, mut streams) = (vec![false; work.tasks.len()], Vec::new());
    for &at in &work.tasks {
        let task = &recording.tasks[at];
        let together = together(steps(at), at_once);
        let (acts, causes) = acts(task, &together, wish(task).waits, &signalled, &mut forked, &mut begun);
        streams.push(Stream {
            pid: task.pid,
            name: task.name.clone(),
            job: String::new(),
            begun: false,
            cpu: None,
            locks: task.locks(),
            inbox: !is_connected.contains(&at) && has_several_senders(task, &edges),
            until: clocks[at].map(|clock| clock.end),
            acts,
        });
        work.causes.push(causes);
    }
    for (number, stream) in streams.iter_mut().enumerate() {
        stream.begun = begun[number];
        let at = work.tasks[number];
        if recording.tasks[at].forked && !begun[number] {
            // Its parent was left out: it begins when it did.
            stream.acts.insert(0, Act::Until(recording.tasks[at].life.0).into());
        }
    }
    number_meetings(&mut streams);
    let delays = recording.delays.clone().map(quantiles);
    work.replay = Replay { streams, edges: recording.edges, span: recording.span, delays, jitter: JITTER, connections };
    copies::add(&mut work, recording, steps, wish);
    copies::number(&mut work.replay.streams);
    work
}

/// Gives the meetings of these streams numbers from 0 on: some belonged to tasks that are left out.
fn number_meetings(streams: &mut [Stream]) {
    let mut numbers: HashMap<u32, u32> = HashMap::new();
    for act in streams.iter_mut().flat_map(|stream| &mut stream.acts) {
        if let Act::Meet(number) = act.act() {
            let next = numbers.len() as u32;
            *act = Act::Meet(*numbers.entry(number).or_insert(next)).into();
        }
    }
}

/// Whether it meets others at a barrier.
fn meets(task: &Task) -> bool {
    task.steps.iter().any(|step| matches!(step, Step::Meet { .. }))
}

/// What of its calls a task keeps.
fn part(wish: Wish) -> Part {
    match wish {
        Wish { removed: true, .. } => Part::Removed,
        Wish { waits: Some(_), .. } => Part::Treated,
        _ => Part::Whole,
    }
}

fn acts(
    task: &Task,
    steps: &[Step],
    treat: Option<Override>,
    signalled: &[bool],
    forked: &mut HashMap<Pid, Vec<u32>>,
    begun: &mut [bool],
) -> (Vec<Packed>, Causes) {
    let waits: Vec<(u64, u64)> = task.steps.iter().filter_map(timer_wait).collect();
    let alone = Alone::of(task, &waits);
    let mut periods = Periods::of(task, &waits).filter(|_| treat.is_none());
    let mut causes = Causes::default();
    let mut acts = Vec::with_capacity(steps.len());
    for step in steps {
        let act = match *step {
            Step::Preempted => continue,
            Step::Compute(length) => Act::Compute(length),
            Step::Signal { edge, .. } => Act::Signal(edge),
            Step::Found(edge) if signalled[edge as usize] => Act::Wait(edge),
            Step::Found(_) => continue,
            Step::Yielded(_) => Act::Yield,
            Step::Exec => Act::Exec,
            Step::Exit => Act::Exit,
            Step::Meet { number, waited } => {
                causes.tasks += u32::from(waited.is_some() && treat != Some(Override::Open));
                match (treat, waited) {
                    (Some(Override::Open), Some((_, to))) => Act::Until(to),
                    (Some(Override::Open), None) => continue,
                    _ => Act::Meet(number),
                }
            }
            Step::Ask { server, waited } => {
                causes.tasks += u32::from(waited);
                Act::Ask(server)
            }
            Step::Pause { from, to } => {
                causes.tasks += 1;
                Act::Sleep(to - from)
            }
            Step::Take { server, waited } => {
                causes.tasks += u32::from(waited);
                Act::Take(server)
            }
            Step::Answer { server, .. } => Act::Answer(server),
            Step::Fork(child) => match forked.get_mut(&child).filter(|all| !all.is_empty()) {
                Some(all) => {
                    let number = all.remove(0);
                    begun[number as usize] = true;
                    Act::Begin(number)
                }
                None => continue, // it never ran, or was left out
            },
            Step::Wait { from, to, cause } => {
                let cause = match cause {
                    Cause::Task(edge) if !signalled[edge as usize] => Cause::Outside, // it was left out
                    known => known,
                };
                match (treat, periods.as_mut().filter(|_| cause == Cause::Timer)) {
                    (Some(Override::Open), _) => Act::Until(to),
                    (Some(Override::Closed), _) if !matches!(cause, Cause::Task(_)) => Act::Sleep(to - from),
                    (None, Some(periods)) => {
                        causes.restarting += 1;
                        periods.end(&mut acts, from, to)
                    }
                    _ => wait(cause, from, to, alone, &mut causes),
                }
            }
        };
        acts.push(act.into());
    }
    causes.missed = if causes.absolute > 0 { missed(&waits) } else { 0 };
    causes.irregular =
        if irregular(&waits) && !alone.timeouts && !task.starts.are_relative() { causes.relative } else { 0 };
    (acts, causes)
}

/// A task that wakes another and waits so soon after, ns, is not preempted in between, where the recording has no such preemption: it does
/// both in one call, or in two that no switch comes between.
const AT_ONCE: u64 = 20_000;

/// How soon after a wakeup of another task a wait comes before the preemption, ns: a preemption takes, in the median, as long as those of the
/// recording from the wakeup to the switch.
fn at_once(recording: &Recording) -> u64 {
    let ways = &recording.delays[Waking::Task as usize];
    if ways.is_empty() { AT_ONCE } else { median(ways.iter().map(|&way| way.into()).collect()) }
}

/// The steps, with signals to the waker's own processor moved to the wait that follows before a preemption could. In a replay the woken task
/// would preempt the waker between both, which it did not in the recording. One on another processor is not held up.
fn together(steps: &[Step], at_once: u64) -> Vec<Step> {
    let mut all: Vec<Step> = Vec::with_capacity(steps.len());
    let mut held: Vec<Step> = Vec::new();
    let mut since = 0;
    for &step in steps {
        match step {
            Step::Signal { here: true, .. } | Step::Answer { here: true, .. } => {
                since = if held.is_empty() { all.len() } else { since };
                held.push(step);
            }
            Step::Compute(_) => all.push(step),
            Step::Wait { .. } | Step::Meet { .. } | Step::Ask { .. } | Step::Take { .. }
                if !held.is_empty() && Step::computed(&all[since..]) <= at_once =>
            {
                all.append(&mut held);
                all.push(step);
            }
            _ => {
                all.splice(since.min(all.len())..since.min(all.len()), held.drain(..));
                all.push(step);
            }
        }
        if !held.is_empty() && Step::computed(&all[since..]) > at_once {
            all.splice(since..since, held.drain(..));
        }
    }
    all.splice(since.min(all.len())..since.min(all.len()), held);
    all
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
    fn a_signal_goes_to_the_wait_that_follows_at_once() {
        let signal = |edge| Step::Signal { edge, here: true };
        let wait = Step::Wait { from: 0, to: 1, cause: Cause::Task(9) };
        let steps = [Step::Compute(5), signal(1), Step::Compute(7), wait];
        assert_eq!(together(&steps, AT_ONCE), [Step::Compute(5), Step::Compute(7), signal(1), wait]);
        let late = [signal(1), Step::Compute(AT_ONCE + 1), wait];
        assert_eq!(together(&late, AT_ONCE), late);
        let preempted = [Step::Compute(5), signal(1), Step::Compute(7), Step::Preempted, wait];
        assert_eq!(together(&preempted, AT_ONCE), [preempted[0], preempted[1], preempted[2], preempted[3], wait]);
        let last = [Step::Compute(5), signal(1), Step::Compute(7)];
        assert_eq!(together(&last, AT_ONCE), last);
        let both = [signal(1), Step::Compute(AT_ONCE), signal(2), Step::Compute(AT_ONCE), wait];
        assert_eq!(Step::computed(&together(&both, AT_ONCE)), 2 * AT_ONCE, "nothing is lost");
        assert_eq!(together(&both, AT_ONCE).len(), both.len());
    }

    #[test]
    fn a_preemption_takes_as_long_as_recorded_and_a_wait_that_comes_before_it_keeps_the_signal() {
        let mut recording = Recording::default();
        assert_eq!(at_once(&recording), AT_ONCE);
        recording.delays[Waking::Task as usize] = vec![900, 700, 40_000];
        assert_eq!(at_once(&recording), 900);
        let wait = Step::Wait { from: 0, to: 1, cause: Cause::Task(9) };
        let steps = |length| [Step::Signal { edge: 1, here: true }, Step::Compute(length), wait];
        assert_eq!(together(&steps(900), 900)[0], Step::Compute(900));
        assert_eq!(together(&steps(901), 900), steps(901));
    }

    #[test]
    fn a_signal_to_another_processor_stays_where_it_was() {
        let steps = [
            Step::Signal { edge: 1, here: false },
            Step::Compute(7),
            Step::Wait { from: 0, to: 1, cause: Cause::Task(9) },
        ];
        assert_eq!(together(&steps, AT_ONCE), steps);
    }

    #[test]
    fn quantiles_are_spread_evenly() {
        assert_eq!(quantiles((0..640).collect()).len(), QUANTILES);
        assert_eq!(quantiles((0..640).collect())[..3], [5, 15, 25]);
        assert_eq!(quantiles(vec![3, 1, 2]), [1, 2, 3]);
        assert!(quantiles(Vec::new()).is_empty());
    }
}
