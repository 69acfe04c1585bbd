//! What is replayed of a recording (`model::replay`), and how far each task has come: only states and rules; what tasks do is in `replay.rs`.

mod servers;

use schedlab_model::{
    Nanos,
    event::NO_TASK,
    replay::{Act, Packed, Replay, Waking},
    scenario::Scenario,
    task::{CpuId, TaskId},
};
use servers::{Server, servers};
use std::{collections::BTreeMap, mem, sync::Arc};

/// The value of [`Cursor::stream`] of a task that replays nothing.
pub const NONE: u32 = u32::MAX;

/// Of the time that is left to a task that ends at a time, what it computes at a stretch; and the least, ns: a task of which others take most of the
/// processor ends that much late.
const PIECES: Nanos = 16;
const SHORTEST_PIECE: Nanos = 100_000;

/// What is replayed, and how far it has come.
#[derive(Debug)]
pub(crate) struct Replayed {
    pub recording: Arc<Replay>,
    edges: Vec<Edge>,
    inboxes: Vec<Inbox>,
    meetings: Vec<Meeting>,
    servers: Vec<Server>,
    /// By stream, the task that does it.
    pub tasks: Vec<TaskId>,
    /// By task.
    pub cursors: Vec<Cursor>,
    /// By processor, when a task last left it to wait or to end.
    vacated: Vec<Nanos>,
}

/// A recorded wakeup of one task by another: how often it has come, and the task that waits for it.
#[derive(Debug, Clone, Copy)]
struct Edge {
    times: u32,
    waiter: TaskId,
    /// The inbox to which it goes, or [`NONE`].
    inbox: u32,
    /// The task that sends it ends, and has no further pass.
    once: bool,
}

/// What was sent to a task that takes it as it comes.
#[derive(Debug, Clone, Copy)]
struct Inbox {
    /// How much is there that it has not taken.
    full: u32,
    /// The task, while it waits.
    waiter: TaskId,
}

/// A round of a barrier.
#[derive(Debug, Clone, Default)]
struct Meeting {
    /// How many tasks have it, those that have ended left out.
    of: usize,
    /// Those that have come and wait for the others. A task cannot come to it in another pass before all have come in this one.
    waiting: Vec<TaskId>,
}

/// Where a task is in its stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor {
    pub stream: u32,
    at: u32,
    /// The server as which it takes messages over connections, or [`NONE`].
    mailbox: u32,
    /// What is left of its computation, ns.
    left: Nanos,
    /// How often it has been through.
    pass: u32,
    /// Its wakeups.
    pub woken: u32,
    /// When it was woken, and whether the processor was idle, until it runs.
    pub waking: Option<(Nanos, bool)>,
    /// Whether it waits for other tasks.
    pub for_task: bool,
    /// When its last period or sleep was to end.
    pub due: Nanos,
}

/// Where a stream goes on that has come to its end, because its task was faster than in the recording: at its begin, but for the time at
/// which the task came, if it keeps no other times. It comes once.
fn again(acts: &[Packed]) -> u32 {
    let keeps_time = |act: &Packed| matches!(act.act(), Act::Until(_));
    u32::from(acts.len() > 1 && keeps_time(&acts[0]) && !acts[1..].iter().any(keeps_time))
}

/// The rounds of barriers that the streams name.
fn meetings(recording: &Replay) -> Vec<Meeting> {
    let mut meetings: Vec<Meeting> = Vec::new();
    for act in recording.streams.iter().flat_map(|stream| &stream.acts) {
        if let Act::Meet(number) = act.act() {
            let number = number as usize;
            meetings.resize(meetings.len().max(number + 1), Meeting::default());
            meetings[number].of += 1;
        }
    }
    meetings
}

/// The edges and the inboxes of the streams.
fn edges(recording: &Replay) -> (Vec<Edge>, Vec<Inbox>) {
    let none = Edge { times: 0, waiter: NO_TASK, inbox: NONE, once: false };
    let (mut edges, mut inboxes) = (vec![none; recording.edges as usize], Vec::new());
    for stream in &recording.streams {
        let ends = stream.acts.iter().any(|act| act.act() == Act::Exit);
        for act in &stream.acts {
            match act.act() {
                Act::Signal(edge) => edges[edge as usize].once = ends,
                Act::Wait(edge) if stream.inbox => edges[edge as usize].inbox = inboxes.len() as u32,
                _ => {}
            }
        }
        inboxes.extend(stream.inbox.then_some(Inbox { full: 0, waiter: NO_TASK }));
    }
    (edges, inboxes)
}

impl Replayed {
    /// What the jobs of a scenario replay.
    pub fn of(scenario: &Scenario) -> Option<Box<Replayed>> {
        let recording = scenario.recording.as_ref()?.work.clone()?;
        let (edges, inboxes) = edges(&recording);
        let (meetings, servers) = (meetings(&recording), servers(&recording));
        let tasks = vec![NO_TASK; recording.streams.len()];
        let vacated = vec![Nanos::MAX; scenario.machine.processors.get().into()];
        let cursors = Vec::new();
        Some(Box::new(Replayed { recording, edges, inboxes, meetings, servers, tasks, cursors, vacated }))
    }

    /// The streams of each job.
    pub fn by_job(&self) -> BTreeMap<String, Vec<u32>> {
        self.recording.by_job().into_iter().map(|(job, streams)| (job.to_owned(), streams)).collect()
    }

    /// The task does that stream. Returns whether it is there from the start.
    pub fn assign(&mut self, task: TaskId, stream: u32) -> bool {
        let before = Cursor {
            stream: NONE,
            at: 0,
            mailbox: NONE,
            left: 0,
            pass: 0,
            woken: 0,
            waking: None,
            for_task: false,
            due: 0,
        };
        self.cursors.resize(task as usize + 1, before);
        self.cursors[task as usize].stream = stream;
        self.tasks[stream as usize] = task;
        self.connect(task, stream);
        !self.recording.streams[stream as usize].begun
    }

    /// A task leaves its processor to wait or to end.
    pub fn vacate(&mut self, cpu: usize, now: Nanos) {
        self.vacated[cpu] = now;
    }

    /// What a task that runs for the first time since its wakeup has to pay for the way there: nothing where the task before it has left by
    /// itself, for then none is preempted.
    pub fn delay(&mut self, cpu: usize, task: TaskId, now: Nanos, seed: u64) -> Nanos {
        let cursor = &mut self.cursors[task as usize];
        let Some((woken, idle)) = cursor.waking.take() else { return 0 };
        let waking = match (idle, cursor.for_task) {
            (true, _) => Waking::Idle,
            (false, _) if woken < now => return 0, // others were in its way, which took longer
            (false, _) if self.vacated[cpu] == now => return 0,
            (false, true) => Waking::Task,
            (false, false) => Waking::Interrupted,
        };
        self.recording.delay(waking, seed, task, cursor.woken)
    }

    /// The processor on which a task begins.
    pub fn begins_on(&self, task: TaskId) -> Option<CpuId> {
        let cursor = self.cursors.get(task as usize).filter(|cursor| cursor.stream != NONE)?;
        self.recording.streams[cursor.stream as usize].cpu
    }

    /// Whether what it waits for are locks.
    pub fn waits_for_locks(&self, task: TaskId) -> bool {
        self.recording.streams[self.cursors[task as usize].stream as usize].locks
    }

    /// The next act of a task, none at the end of its stream, and its pass.
    pub fn next(&mut self, task: TaskId, now: Nanos) -> (Option<Act>, u32) {
        let act = self.peek(task);
        let cursor = &mut self.cursors[task as usize];
        if self.recording.streams[cursor.stream as usize].until.is_some_and(|until| now >= until) {
            return (Some(Act::Exit), cursor.pass);
        }
        if act.is_some() {
            cursor.at += 1;
        } else {
            cursor.at = again(&self.recording.streams[cursor.stream as usize].acts);
            cursor.pass += 1;
        }
        (act, cursor.pass)
    }

    /// What a task computes of that length before its next act; one that something else ends looks at the clock in between.
    pub fn piece(&mut self, task: TaskId, length: Nanos, now: Nanos) -> Nanos {
        let cursor = &mut self.cursors[task as usize];
        let Some(until) = self.recording.streams[cursor.stream as usize].until else { return length };
        let piece = length.min((until.saturating_sub(now) / PIECES).max(SHORTEST_PIECE));
        cursor.left = length - piece;
        piece
    }

    /// The rest of what a task computes, unless it has to end.
    pub fn rest(&mut self, task: TaskId, now: Nanos) -> Option<Nanos> {
        let left = mem::take(&mut self.cursors[task as usize].left);
        let until = self.recording.streams[self.cursors[task as usize].stream as usize].until;
        (left > 0 && until.is_some_and(|until| now < until)).then(|| self.piece(task, left, now))
    }

    pub fn peek(&self, task: TaskId) -> Option<Act> {
        let cursor = &self.cursors[task as usize];
        let acts = &self.recording.streams[cursor.stream as usize].acts;
        acts.get(cursor.at as usize).map(|act| act.act())
    }

    /// Whether it wakes another or waits next.
    pub fn wakes_or_waits(&self, task: TaskId) -> bool {
        let takes_time = |act| matches!(act, Act::Compute(_) | Act::Begin(_) | Act::Yield | Act::Exec | Act::Exit);
        self.peek(task).is_some_and(|act| !takes_time(act))
    }

    /// The edge has come once more; gives the task that it wakes.
    pub fn signal(&mut self, edge: u32) -> Option<TaskId> {
        if let Some(inbox) = self.inboxes.get_mut(self.edges[edge as usize].inbox as usize) {
            let waiter = mem::replace(&mut inbox.waiter, NO_TASK);
            inbox.full = inbox.full.saturating_add(u32::from(waiter == NO_TASK));
            return (waiter != NO_TASK).then_some(waiter);
        }
        let edge = &mut self.edges[edge as usize];
        edge.times = edge.times.saturating_add(1);
        if edge.waiter == NO_TASK || edge.times <= self.cursors[edge.waiter as usize].pass {
            return None;
        }
        Some(mem::replace(&mut edge.waiter, NO_TASK))
    }

    /// The task has come to a wait for an edge in that pass: whether it waits. One with an inbox takes nothing where a task would have sent it
    /// that has no such pass.
    pub fn waits(&mut self, task: TaskId, edge: u32, pass: u32) -> bool {
        let edge = &mut self.edges[edge as usize];
        let (waiter, waits) = match self.inboxes.get_mut(edge.inbox as usize) {
            None => (&mut edge.waiter, edge.times <= pass),
            Some(_) if edge.once && pass > 0 => return false,
            Some(inbox) => {
                let waits = inbox.full == 0;
                inbox.full = inbox.full.saturating_sub(1);
                (&mut inbox.waiter, waits)
            }
        };
        if waits {
            *waiter = task;
        }
        waits
    }

    /// The task has come to a meeting. Gives the others if it is the last, whom it wakes; else it waits.
    pub fn meet(&mut self, task: TaskId, meeting: u32) -> Option<Vec<TaskId>> {
        let meeting = &mut self.meetings[meeting as usize];
        if meeting.waiting.len() + 1 < meeting.of {
            meeting.waiting.push(task);
            return None;
        }
        Some(mem::take(&mut meeting.waiting))
    }

    /// A task that ends leaves no other waiting for it: its edges are there for ever, its meetings do without it, and what is asked of it
    /// is answered at once. Gives the tasks that waited.
    pub fn end(&mut self, task: TaskId) -> Vec<TaskId> {
        let stream = &self.recording.streams[self.cursors[task as usize].stream as usize];
        let mut woken = Vec::new();
        for act in &stream.acts {
            match act.act() {
                Act::Signal(edge) => {
                    let edge = &mut self.edges[edge as usize];
                    edge.times = u32::MAX;
                    let waiter = mem::replace(&mut edge.waiter, NO_TASK);
                    woken.extend((waiter != NO_TASK).then_some(waiter));
                }
                Act::Meet(meeting) => {
                    let meeting = &mut self.meetings[meeting as usize];
                    meeting.of -= 1;
                    if meeting.waiting.len() == meeting.of {
                        woken.append(&mut meeting.waiting);
                    }
                }
                Act::Take(server) => woken.extend(self.servers[server as usize].close()),
                _ => {}
            }
        }
        woken
    }

    /// What is still to be computed before the next wait, as far as the stream says.
    pub fn burst(&self, task: TaskId) -> Nanos {
        let Some(cursor) = self.cursors.get(task as usize).filter(|cursor| cursor.stream != NONE) else { return 0 };
        let acts = &self.recording.streams[cursor.stream as usize].acts;
        let mut sum = cursor.left;
        for act in acts.iter().skip(cursor.at as usize) {
            match act.act() {
                Act::Compute(length) => sum = sum.saturating_add(length),
                Act::Signal(_) | Act::Begin(_) | Act::Answer(_) | Act::Yield | Act::Exec => {}
                Act::Wait(_)
                | Act::Until(_)
                | Act::Sleep(_)
                | Act::Period(_)
                | Act::Meet(_)
                | Act::Ask(_)
                | Act::Take(_)
                | Act::Exit => {
                    break;
                }
            }
        }
        sum
    }
}
