//! Tasks that do again what tasks of a recording did (`model::replay`).

use crate::{
    interpret::Flow,
    kernel::Kernel,
    process::{Action, Call, Mode, State},
};
use schedlab_model::{
    Nanos,
    event::{NO_TASK, Observer},
    replay::{Act, Replay},
    rng::Rng,
    scenario::Scenario,
    task::{CpuId, TaskId, Wait},
};
use schedlab_policies::schedulers::Scheduler;
use std::{collections::BTreeMap, sync::Arc};

/// The value of [`Cursor::stream`] of a task that replays nothing.
const NONE: u32 = u32::MAX;

/// What is replayed, and how far it has come.
#[derive(Debug)]
pub(crate) struct Replayed {
    recording: Arc<Replay>,
    edges: Vec<Edge>,
    /// By stream, the task that does it.
    tasks: Vec<TaskId>,
    /// By task.
    cursors: Vec<Cursor>,
}

/// A recorded wakeup of one task by another: how often it has come, and the task that waits for it.
#[derive(Debug, Clone, Copy)]
struct Edge {
    times: u32,
    waiter: TaskId,
}

/// Where a task is in its stream.
#[derive(Debug, Clone, Copy)]
struct Cursor {
    stream: u32,
    at: u32,
    /// How often it has been through.
    pass: u32,
    /// Its wakeups on idle processors.
    from_idle: u32,
}

impl Replayed {
    /// What the jobs of a scenario replay.
    pub fn of(scenario: &Scenario) -> Option<Box<Replayed>> {
        let recording = scenario.recording.as_ref()?.work.clone()?;
        let edges = vec![Edge { times: 0, waiter: NO_TASK }; recording.edges as usize];
        let tasks = vec![NO_TASK; recording.streams.len()];
        Some(Box::new(Replayed { recording, edges, tasks, cursors: Vec::new() }))
    }

    /// The streams of each job.
    pub fn by_job(&self) -> BTreeMap<String, Vec<u32>> {
        self.recording.by_job().into_iter().map(|(job, streams)| (job.to_owned(), streams)).collect()
    }

    /// The task does that stream. Returns whether it is there from the start.
    pub fn assign(&mut self, task: TaskId, stream: u32) -> bool {
        let before = Cursor { stream: NONE, at: 0, pass: 0, from_idle: 0 };
        self.cursors.resize(task as usize + 1, before);
        self.cursors[task as usize].stream = stream;
        self.tasks[stream as usize] = task;
        !self.recording.streams[stream as usize].begun
    }

    /// The next act of a task, none at the end of its stream, and its pass.
    fn next(&mut self, task: TaskId) -> (Option<Act>, u32) {
        let cursor = &mut self.cursors[task as usize];
        let acts = &self.recording.streams[cursor.stream as usize].acts;
        let act = acts.get(cursor.at as usize).map(|act| act.act());
        cursor.at = if act.is_some() { cursor.at + 1 } else { 0 };
        cursor.pass += u32::from(act.is_none());
        (act, cursor.pass)
    }

    /// The edge has come once more; gives the task that it wakes.
    fn signal(&mut self, edge: u32) -> Option<TaskId> {
        let edge = &mut self.edges[edge as usize];
        edge.times = edge.times.saturating_add(1);
        if edge.waiter == NO_TASK || edge.times <= self.cursors[edge.waiter as usize].pass {
            return None;
        }
        Some(std::mem::replace(&mut edge.waiter, NO_TASK))
    }

    /// A task that ends leaves no other waiting for it: its edges are there for ever. Gives the tasks that waited.
    fn end(&mut self, task: TaskId) -> Vec<TaskId> {
        let stream = &self.recording.streams[self.cursors[task as usize].stream as usize];
        let signals = stream.acts.iter().filter_map(|act| match act.act() {
            Act::Signal(edge) => Some(edge as usize),
            _ => None,
        });
        let mut woken = Vec::new();
        for edge in signals {
            self.edges[edge].times = u32::MAX;
            let waiter = std::mem::replace(&mut self.edges[edge].waiter, NO_TASK);
            woken.extend((waiter != NO_TASK).then_some(waiter));
        }
        woken
    }

    /// What is still to be computed before the next wait, as far as the stream says.
    pub fn burst(&self, task: TaskId) -> Nanos {
        let Some(cursor) = self.cursors.get(task as usize).filter(|cursor| cursor.stream != NONE) else { return 0 };
        let acts = &self.recording.streams[cursor.stream as usize].acts;
        let mut sum: Nanos = 0;
        for act in acts.iter().skip(cursor.at as usize) {
            match act.act() {
                Act::Compute(length) => sum = sum.saturating_add(length),
                Act::Signal(_) | Act::Begin(_) => {}
                Act::Wait(_) | Act::Until(_) | Act::Sleep(_) | Act::Exit => break,
            }
        }
        sum
    }
}

/// A length, or a time, that varies from run to run by up to that much to either side.
fn varied(value: Nanos, by: Nanos, rng: &mut Rng) -> Nanos {
    if by == 0 { value } else { (value + rng.below(2 * by + 1)).saturating_sub(by) }
}

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// The running task's stream goes on, by one act that takes time, waits or may wake another task.
    pub fn replay(&mut self, cpu: usize, task: TaskId) -> Flow {
        let Some(replayed) = &mut self.replayed else { return Flow::Continue };
        let (act, pass) = replayed.next(task);
        let (span, jitter) = (replayed.recording.span, replayed.recording.jitter);
        let rng = &mut self.processes[task as usize].rng;
        match act {
            Some(Act::Compute(length)) => {
                let by = (u128::from(length) * u128::from(jitter.compute_permille) / 1000) as Nanos;
                return Flow::Burst(varied(length, by, rng), Mode::User);
            }
            Some(Act::Signal(edge)) => {
                if let Some(woken) = replayed.signal(edge) {
                    self.complete(woken);
                }
            }
            Some(Act::Wait(edge)) if replayed.edges[edge as usize].times <= pass => {
                replayed.edges[edge as usize].waiter = task;
                self.block(cpu, State::Waiting(Wait::Pipe));
                return Flow::Stop;
            }
            Some(Act::Until(time)) => {
                let time = varied(time.saturating_add(span.saturating_mul(pass.into())), jitter.time, rng);
                if time > self.now {
                    return self.call(cpu, task, Call::Sleep(time));
                }
            }
            Some(Act::Sleep(length)) => {
                let until = self.now.saturating_add(varied(length, jitter.time.min(length / 20), rng));
                return self.call(cpu, task, Call::Sleep(until));
            }
            Some(Act::Begin(stream)) => self.begin_stream(task, stream),
            Some(Act::Exit) => {
                replayed.end(task).into_iter().for_each(|woken| self.complete(woken));
                self.processes[task as usize].next_instruction += 1;
            }
            Some(Act::Wait(_)) | None => {}
        }
        Flow::Continue
    }

    /// A child of the recording is created, once.
    fn begin_stream(&mut self, parent: TaskId, stream: u32) {
        let child = self.replayed.as_ref().map_or(NO_TASK, |replayed| replayed.tasks[stream as usize]);
        if child == NO_TASK || self.processes[child as usize].state != State::Unborn {
            return;
        }
        let cpu: CpuId = self.view.tasks[parent as usize].cpu;
        let record = &mut self.view.tasks[child as usize];
        record.parent = Some(parent);
        record.cpu = if record.allowed.has(cpu) { cpu } else { record.cpu };
        self.processes[parent as usize].life.children += 1;
        self.begin(child);
    }

    /// An idle processor takes as long to begin with a woken task as the recorded one did.
    #[cold]
    #[inline(never)]
    pub fn leave_idle(&mut self, task: TaskId) {
        let seed = self.seed;
        let Some(replayed) = &mut self.replayed else { return };
        let Some(cursor) = replayed.cursors.get_mut(task as usize).filter(|cursor| cursor.stream != NONE) else {
            return;
        };
        cursor.from_idle = cursor.from_idle.wrapping_add(1);
        let exit = replayed.recording.idle_exit(seed, task, cursor.from_idle);
        if exit > 0 {
            self.processes[task as usize].plan_first(Action::Burst(exit, Mode::System));
        }
    }
}
