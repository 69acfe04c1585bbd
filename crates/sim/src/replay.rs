//! Tasks that do again what tasks of a recording did (`model::replay`).

use crate::{
    interpret::Flow,
    kernel::Kernel,
    process::{Call, Mode, State},
};
use schedlab_model::{
    Nanos,
    event::{NO_TASK, Observer},
    replay::{Act, Replay, Waking},
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
    /// Its wakeups.
    woken: u32,
    /// When it was woken, and whether the processor was idle, until it runs.
    waking: Option<(Nanos, bool)>,
    /// Whether it waits for another task.
    for_task: bool,
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
        let before = Cursor { stream: NONE, at: 0, pass: 0, woken: 0, waking: None, for_task: false };
        self.cursors.resize(task as usize + 1, before);
        self.cursors[task as usize].stream = stream;
        self.tasks[stream as usize] = task;
        !self.recording.streams[stream as usize].begun
    }

    /// What a task that runs for the first time since its wakeup has to pay for the way there.
    fn delay(&mut self, task: TaskId, now: Nanos, seed: u64) -> Nanos {
        let cursor = &mut self.cursors[task as usize];
        let Some((woken, idle)) = cursor.waking.take() else { return 0 };
        let waking = match (idle, cursor.for_task) {
            (true, _) => Waking::Idle,
            (false, _) if woken < now => return 0, // others were in its way, which took longer
            (false, true) => Waking::Task,
            (false, false) => Waking::Interrupted,
        };
        self.recording.delay(waking, seed, task, cursor.woken)
    }

    /// The next act of a task, none at the end of its stream, and its pass.
    fn next(&mut self, task: TaskId) -> (Option<Act>, u32) {
        let act = self.peek(task);
        let cursor = &mut self.cursors[task as usize];
        cursor.at = if act.is_some() { cursor.at + 1 } else { 0 };
        cursor.pass += u32::from(act.is_none());
        (act, cursor.pass)
    }

    fn peek(&self, task: TaskId) -> Option<Act> {
        let cursor = &self.cursors[task as usize];
        let acts = &self.recording.streams[cursor.stream as usize].acts;
        acts.get(cursor.at as usize).map(|act| act.act())
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
        let (now, seed) = (self.now, self.seed);
        let Some(replayed) = &mut self.replayed else { return Flow::Continue };
        let delay = replayed.delay(task, now, seed);
        if delay > 0 {
            return Flow::Burst(delay, Mode::System);
        }
        let (act, pass) = replayed.next(task);
        let (span, jitter) = (replayed.recording.span, replayed.recording.jitter);
        let rng = &mut self.processes[task as usize].rng;
        match act {
            Some(Act::Compute(length)) => {
                let by = (u128::from(length) * u128::from(jitter.compute_permille) / 1000) as Nanos;
                return Flow::Burst(varied(length, by, rng), Mode::User);
            }
            Some(Act::Signal(edge)) => {
                let woken = replayed.signal(edge);
                let waits =
                    matches!(replayed.peek(task), Some(Act::Signal(_) | Act::Wait(_) | Act::Until(_) | Act::Sleep(_)));
                if let Some(woken) = woken {
                    self.complete(woken);
                }
                // It waits in the same call, before the woken task can preempt it.
                if waits {
                    return self.replay(cpu, task);
                }
            }
            Some(Act::Wait(edge)) if replayed.edges[edge as usize].times <= pass => {
                replayed.edges[edge as usize].waiter = task;
                replayed.cursors[task as usize].for_task = true;
                self.block(cpu, State::Waiting(Wait::Pipe));
                return Flow::Stop;
            }
            Some(Act::Until(time)) => {
                let time = varied(time.saturating_add(span.saturating_mul(pass.into())), jitter.time, rng);
                replayed.cursors[task as usize].for_task = false;
                if time > self.now {
                    return self.call(cpu, task, Call::Sleep(time));
                }
            }
            Some(Act::Sleep(length)) => {
                replayed.cursors[task as usize].for_task = false;
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

    /// A task is woken for a processor that is idle, or not: it pays for the way there when it runs.
    #[cold]
    #[inline(never)]
    pub fn note_wakeup(&mut self, task: TaskId, idle: bool) {
        let now = self.now;
        let cursor = self.replayed.as_mut().and_then(|replayed| replayed.cursors.get_mut(task as usize));
        if let Some(cursor) = cursor.filter(|cursor| cursor.stream != NONE) {
            cursor.woken = cursor.woken.wrapping_add(1);
            cursor.waking = Some((now, idle));
        }
    }
}
