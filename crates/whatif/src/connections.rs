//! Tasks that answer each other's messages over several connections: a load generator and the workers of a server, each of which takes what
//! comes first and answers it.
//!
//! ```text
//! message   packets to the same host, received in a software interrupt of the sender's own
//! hub       other tasks, its ends, end nineteen of twenty of its waits for tasks, and it ends nineteen of twenty of theirs: of each at
//!           least 8; before nineteen of twenty of its waits, and at least 8, it has sent as many messages as its ends have since its wait
//!           before; over one of its ends at least two connections go
//! ```
//!
//! A message to a task that runs wakes none, so wakeups show only some. But a task that answers each message waits when all are answered, and
//! that can be counted. In a replay the hub and its ends take messages in the order in which they come, and send each answer to where
//! the message came from: an end whose processor is busy holds up its own connections, and no others.
//!
//! ```text
//! connections to an end = the most messages that it sends within a tenth of a second while the hub sends none: the median of those
//! ```
//!
//! All begin at the ends, which is where they are whenever the hub waits. Messages that are too many by the count (an acknowledgement
//! without data is received like them) are part of the computing.

mod steps;

use crate::{
    calls::Part,
    edges::Edges,
    history::{RARE, Step, Task},
    timers::median,
};
use hashbrown::{HashMap, HashSet};
use schedlab_model::replay::Connections;

/// Fewer waits are chance.
const FEW: usize = 8;
/// Connections are counted in times of that length, ns: servers close them now and then, and another of their workers may get the next.
const WINDOW: u64 = 100_000_000;

/// A task that has connections to others, each of which it answers and is answered by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hub {
    /// Its index in the recording.
    pub task: usize,
    /// Those of the others, ascending, and how many connections go to each.
    pub ends: Vec<(usize, u32)>,
    /// The messages that it sent.
    pub messages: usize,
}

/// Messages that are none: by task, their numbers among those that it sent.
type Surplus = HashMap<usize, HashSet<usize>>;

/// The hubs, in the order of their tasks, and the steps of those and their ends, by task. Each of these takes from the server of the number
/// that its steps have; the first has that of the hub's, from `first` on.
pub(crate) fn find(
    tasks: &[Task],
    edges: &Edges,
    part: impl Fn(usize) -> Part,
    first: u32,
) -> (Vec<Hub>, HashMap<usize, Vec<Step>>) {
    let wakers: Vec<HashMap<usize, usize>> = tasks.iter().map(|task| wakers(task, edges)).collect();
    let (mut hubs, mut steps, mut number) = (Vec::new(), HashMap::new(), first);
    for task in (0..tasks.len()).filter(|&task| part(task) == Part::Whole) {
        let Some(ends) = ends(task, &wakers).filter(|ends| ends.iter().all(|&end| part(end) == Part::Whole)) else {
            continue;
        };
        let Some((hub, surplus)) = counted(tasks, task, &ends) else { continue };
        if ends.iter().chain([&task]).any(|member| steps.contains_key(member)) {
            continue;
        }
        for (member, partners) in std::iter::once((task, ends.as_slice()))
            .chain(ends.iter().map(|&end| (end, std::slice::from_ref(&hub.task))))
        {
            let partner = |other: usize| partners.contains(&other);
            let none = HashSet::new();
            let surplus = surplus.get(&member).unwrap_or(&none);
            steps.insert(member, steps::answering(&tasks[member], partner, surplus, number, edges));
            number += 1;
        }
        hubs.push(hub);
    }
    (hubs, steps)
}

/// The connections of the hubs, whose servers and those of their ends are numbered from `first` on.
pub(crate) fn all(hubs: &[Hub], first: u32) -> Vec<Connections> {
    let mut hub = first;
    let mut all = Vec::new();
    for Hub { ends, .. } in hubs {
        all.extend((hub + 1..).zip(ends).map(|(end, &(_, count))| Connections { hub, end, count }));
        hub += 1 + ends.len() as u32;
    }
    all
}

/// How often each other task ended a wait of this one.
fn wakers(task: &Task, edges: &Edges) -> HashMap<usize, usize> {
    let mut wakers = HashMap::new();
    task.steps.iter().filter_map(|step| edges.waker(step)).for_each(|waker| *wakers.entry(waker).or_default() += 1);
    wakers
}

/// The tasks that end nearly all waits of this one for tasks, and nearly all of whose waits it ends.
fn ends(task: usize, wakers: &[HashMap<usize, usize>]) -> Option<Vec<usize>> {
    let all: usize = wakers[task].values().sum();
    let is_end = |&(&end, &times): &(&usize, &usize)| {
        let of_end: usize = wakers.get(end).map_or(0, |wakers| wakers.values().sum());
        let by_hub = wakers.get(end).and_then(|wakers| wakers.get(&task)).copied().unwrap_or(0);
        end != task && times >= FEW && by_hub >= FEW && RARE * (of_end - by_hub) <= of_end
    };
    let ends: Vec<(&usize, &usize)> = wakers[task].iter().filter(is_end).collect();
    let known: usize = ends.iter().map(|(_, times)| **times).sum();
    let mut ends: Vec<usize> = ends.into_iter().map(|(end, _)| *end).collect();
    ends.sort_unstable();
    (!ends.is_empty() && RARE * (all - known) <= all).then_some(ends)
}

/// What happens to a hub: the end of that place among its ends sends it the message of that number, it sends that of its own, it begins a wait.
#[derive(Clone, Copy)]
enum What {
    Comes(usize, usize),
    Goes(usize),
    Waits,
}

/// The task as a hub, if its messages and those of its ends are as many from each wait to the next; and messages that were too many.
fn counted(tasks: &[Task], task: usize, ends: &[usize]) -> Option<(Hub, Surplus)> {
    let mut at_once = vec![AtOnce::default(); ends.len()];
    let (mut surplus, mut messages) = (Surplus::new(), 0);
    // Messages that wait for an answer; how many did when it waited first; those that came and went since it waited last.
    let (mut there, mut usual) = (0_i64, None);
    let (mut came, mut gone): (Vec<(usize, usize)>, Vec<usize>) = (Vec::new(), Vec::new());
    let (mut waits, mut uneven) = (0_usize, 0_usize);
    for (now, what) in course(tasks, task, ends) {
        match what {
            What::Comes(end, number) => {
                there += 1;
                at_once[end].sends(now);
                came.push((ends[end], number));
            }
            What::Goes(number) => {
                there -= 1;
                messages += 1;
                at_once.iter_mut().for_each(|end| end.now = 0);
                gone.push(number);
            }
            What::Waits => {
                let usual = *usual.get_or_insert(there);
                (waits, uneven) = (waits + 1, uneven + usize::from(there != usual));
                for _ in usual..there {
                    came.pop().into_iter().for_each(|(end, number)| _ = surplus.entry(end).or_default().insert(number));
                }
                for _ in there..usual {
                    gone.pop().into_iter().for_each(|number| _ = surplus.entry(task).or_default().insert(number));
                }
                there = usual;
                came.clear();
                gone.clear();
            }
        }
    }
    let connections: Vec<u32> = at_once.into_iter().map(AtOnce::usual).collect();
    let several = connections.iter().any(|&connections| connections > 1);
    let is_hub =
        waits >= FEW && RARE * uneven <= waits && several && connections.iter().all(|&connections| connections > 0);
    // A step for each message is in the work; so there are no more connections.
    let sent = |end: usize| tasks[end].sends.len() - surplus.get(&end).map_or(0, HashSet::len);
    let ends = ends.iter().zip(connections).map(|(&end, count)| (end, count.min(sent(end) as u32))).collect();
    is_hub.then_some((Hub { task, ends, messages }, surplus))
}

/// How many messages an end sends while its hub sends none.
#[derive(Clone, Default)]
struct AtOnce {
    now: u32,
    /// By window in which it sent any, the most.
    most: Vec<(u64, u32)>,
}

impl AtOnce {
    fn sends(&mut self, at: u64) {
        self.now += 1;
        match self.most.last_mut().filter(|(window, _)| *window == at / WINDOW) {
            Some((_, most)) => *most = self.now.max(*most),
            None => self.most.push((at / WINDOW, self.now)),
        }
    }

    fn usual(self) -> u32 {
        let most: Vec<u64> = self.most.into_iter().map(|(_, most)| most.into()).collect();
        if most.is_empty() { 0 } else { median(most) as u32 }
    }
}

/// What happens to a hub, in the order of time.
fn course(tasks: &[Task], task: usize, ends: &[usize]) -> Vec<(u64, What)> {
    let wait = |step: &Step| if let Step::Wait { from, .. } = *step { Some((from, What::Waits)) } else { None };
    let mut course: Vec<(u64, What)> = tasks[task].steps.iter().filter_map(wait).collect();
    course.extend(tasks[task].sends.iter().enumerate().map(|(number, send)| (send.at, What::Goes(number))));
    for (place, &end) in ends.iter().enumerate() {
        course.extend(tasks[end].sends.iter().enumerate().map(|(number, send)| (send.at, What::Comes(place, number))));
    }
    course.sort_by_key(|(at, _)| *at);
    course
}
