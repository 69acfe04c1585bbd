//! Servers among the tasks of a recording, and the clients that wait for their answers.
//!
//! ```text
//! client   nine of ten of its waits for other tasks, and at least 8, are ended by one and the same task, its server; three of four of the
//!          times that it wakes the server it waits for it next, with no more than 0.05 ms of computing in between, unless it is preempted
//!          there; it does wake it, or another client of its name does
//! server   its clients end nineteen of twenty of its waits for other tasks, and at least 8; nine of ten of those that do it wakes before it
//!          waits for another task; before nine of ten of its answers the client has waited for as long as the server computed since the
//!          answer before or since it waited, but for 0.05 ms; and not one of ten of its answers goes to a client that had waited while the
//!          server waited for another
//! ```
//!
//! A recording has the requests for which a server waited, and none of those that it found there. But each answer for which a client waited
//! was one to a request. So in a replay a server takes a request before each answer, and waits if there is none; and it takes them in the
//! order in which they come, not in that of the recording. For the n-th answer it computes what it computed for that.

mod steps;

pub(crate) use steps::kept;

use crate::{
    edges::{Edges, Wakeup},
    history::{RARE, Step, Task},
};
use hashbrown::{HashMap, HashSet};

/// Most computing between a request and the wait for its answer, ns: returning from one call of the kernel and beginning the next.
const NEXT: u64 = 50_000;
/// Fewer waits are chance.
const FEW: usize = 8;
/// How many of ten must be as said.
const OF_TEN: usize = 9;

/// A task and those that it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its index in the recording.
    pub task: usize,
    /// Those of its clients, ascending.
    pub clients: Vec<usize>,
    /// How many of their requests it answered.
    pub answers: usize,
    /// How many of them the recording shows: for most of these it waited.
    pub shown: usize,
}

impl Server {
    fn has(&self, client: usize) -> bool {
        self.clients.binary_search(&client).is_ok()
    }
}

/// What is wished of a task, as far as calls go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// It does what it did.
    Whole,
    /// It is left out, and what a server did for it.
    Removed,
    /// Its waits are taken otherwise: it is neither server nor client.
    Treated,
}

/// The servers, in the order of their tasks, and the steps of those that call or answer, by task.
pub(crate) fn find(
    tasks: &[Task],
    edges: &Edges,
    part: impl Fn(&Task) -> Part,
) -> (Vec<Server>, HashMap<usize, Vec<Step>>) {
    let parts: Vec<Part> = tasks.iter().map(part).collect();
    let (mut servers, mut steps) = (Vec::new(), HashMap::new());
    for whole in distinct(recognised(tasks, &parts, edges), tasks.len()) {
        let clients = whole.clients.iter().copied().filter(|&client| parts[client] == Part::Whole);
        let kept = counted(tasks, Server { clients: clients.collect(), ..whole.clone() }, edges);
        if parts[whole.task] == Part::Removed || kept.clients.is_empty() {
            continue;
        }
        let number = servers.len() as u32;
        steps.insert(whole.task, steps::answering(&tasks[whole.task], &whole, &kept, number, edges));
        for &client in &kept.clients {
            steps.insert(client, steps::asking(&tasks[client], whole.task, number, edges));
        }
        servers.push(kept);
    }
    (servers, steps)
}

/// All that are servers by themselves.
fn recognised(tasks: &[Task], parts: &[Part], edges: &Edges) -> Vec<Server> {
    let meets = |task: &Task| task.steps.iter().any(|step| matches!(step, Step::Meet { .. }));
    let free: Vec<bool> = tasks.iter().zip(parts).map(|(task, part)| *part != Part::Treated && !meets(task)).collect();
    let mut clients: HashMap<usize, Vec<(usize, bool)>> = HashMap::new();
    for client in (0..tasks.len()).filter(|&task| free[task]) {
        let server = server_of(&tasks[client], edges).filter(|&(server, _)| server != client && free[server]);
        if let Some((server, asks)) = server {
            clients.entry(server).or_default().push((client, asks));
        }
    }
    let of = |(task, clients): (usize, Vec<(usize, bool)>)| {
        let name = |client: &usize| tasks[*client].name.as_str();
        let asking: HashSet<&str> = clients.iter().filter(|(_, asks)| *asks).map(|(client, _)| name(client)).collect();
        let clients = clients.iter().map(|(client, _)| *client).filter(|client| asking.contains(name(client)));
        let server = counted(tasks, Server { task, clients: clients.collect(), answers: 0, shown: 0 }, edges);
        serves(tasks, &server, edges).then_some(server)
    };
    clients.into_iter().filter_map(of).collect()
}

/// Of servers that have a task in common, such as two that answer each other, the one that found more requests without waiting for them.
fn distinct(mut servers: Vec<Server>, tasks: usize) -> Vec<Server> {
    servers.sort_unstable_by_key(|server| (server.shown as i64 - server.answers as i64, server.task));
    let mut taken = vec![false; tasks];
    servers.retain(|server| {
        let members = server.clients.iter().chain([&server.task]);
        let is_first = members.clone().all(|&task| !taken[task]);
        if is_first {
            members.for_each(|&task| taken[task] = true);
        }
        is_first
    });
    servers.sort_unstable_by_key(|server| server.task);
    servers
}

/// The server with the counts of its clients' requests.
fn counted(tasks: &[Task], server: Server, edges: &Edges) -> Server {
    let steps = tasks[server.task].steps.iter();
    let answers = steps.clone().filter_map(|step| edges.woken(step)).filter(|&woken| server.has(woken)).count();
    let shown = steps.filter_map(|step| edges.waker(step)).filter(|&waker| server.has(waker)).count();
    Server { answers, shown, ..server }
}

/// The task of which this is a client, and whether a request of it shows that: the server may have found all that it sent.
fn server_of(task: &Task, edges: &Edges) -> Option<(usize, bool)> {
    let mut wakers: HashMap<usize, usize> = HashMap::new();
    task.steps.iter().filter_map(|step| edges.waker(step)).for_each(|waker| *wakers.entry(waker).or_default() += 1);
    let all: usize = wakers.values().sum();
    let (server, most) = wakers.into_iter().max_by_key(|&(waker, times)| (times, waker))?;
    let requests = task.steps.iter().enumerate().filter(|(_, step)| edges.woken(step) == Some(server));
    let followed: Vec<bool> = requests.filter_map(|(at, _)| waits_next(&task.steps[at + 1..], server, edges)).collect();
    let (requests, followed) = (followed.len(), followed.iter().filter(|&&is_followed| is_followed).count());
    let is_client = most >= FEW && 10 * most >= OF_TEN * all && 4 * followed >= 3 * requests;
    is_client.then_some((server, requests > 0))
}

/// Whether a wait for the server comes next. If it was preempted before, it may have found the answer there.
fn waits_next(steps: &[Step], server: usize, edges: &Edges) -> Option<bool> {
    let passes = |step: &Step| matches!(step, Step::Compute(_) | Step::Preempted);
    let acts = steps.iter().position(|step| !passes(step)).unwrap_or(steps.len());
    let next = steps.get(acts).and_then(|step| edges.waker(step));
    let waits = next == Some(server) && Step::computed(&steps[..acts]) <= NEXT;
    (waits || !steps[..acts].contains(&Step::Preempted)).then_some(waits)
}

/// Whether the task answers these clients.
fn serves(tasks: &[Task], server: &Server, edges: &Edges) -> bool {
    let (mut all, mut answered, mut in_time, mut overlooked) = (0, 0, 0, 0);
    // Who ended its last wait, when, and what it computed since then or since its last answer.
    let (mut asked, mut woken, mut work) = (None, 0, 0_u64);
    for step in &tasks[server.task].steps {
        work = work.saturating_add(Step::computed(std::slice::from_ref(step)));
        if let Some(waker) = edges.waker(step) {
            all += 1;
            (asked, work) = (Some(waker).filter(|&waker| server.has(waker)), 0);
            if let (Step::Wait { to, .. }, Some(_)) = (step, asked) {
                woken = *to;
            }
        }
        if let Some(answer) = edges.wakeup(step).filter(|wakeup| server.has(wakeup.waiter)) {
            in_time += usize::from(answer.has_waited_for(work));
            overlooked += usize::from(answer.from.saturating_add(NEXT) < woken);
            answered += usize::from(asked.take_if(|asked| *asked == answer.waiter).is_some());
            work = 0;
        }
    }
    let Server { answers, shown, .. } = *server;
    let waits_for_clients = shown >= FEW && (all - shown) * RARE <= all && 10 * answered >= OF_TEN * shown;
    // Of one client that it always waited for all is recorded, and locks go from hand to hand, too.
    let is_shown = RARE * (answers - shown.min(answers)) < answers;
    let shows_more = server.clients.len() > 1 || !(is_shown || tasks[server.task].locks());
    waits_for_clients && shows_more && 10 * in_time >= OF_TEN * answers && 10 * overlooked < answers
}

impl Wakeup {
    /// Whether the woken task has waited for as long as its server computed for it, ns, or longer.
    fn has_waited_for(&self, work: u64) -> bool {
        work <= self.to.saturating_sub(self.from).saturating_add(NEXT)
    }
}
