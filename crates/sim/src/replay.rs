//! Tasks that do again what tasks of a recording did; how far each has come is in `replayed.rs`.

use crate::{
    interpret::Flow,
    kernel::Kernel,
    process::{Call, Mode, Served, State},
    replayed::NONE,
};
use schedlab_model::{
    Nanos,
    event::{NO_TASK, Observer},
    replay::Act,
    rng::Rng,
    task::{CpuId, TaskId, Wait},
};
use schedlab_policies::schedulers::Scheduler;

/// A task that wakes more others in one call can be preempted in between.
const MOST_AT_ONCE: usize = 64;

/// A length, or a time, that varies from run to run by up to that much to either side.
fn varied(value: Nanos, by: Nanos, rng: &mut Rng) -> Nanos {
    if by == 0 { value } else { (value + rng.below(2 * by + 1)).saturating_sub(by) }
}

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// The running task's stream goes on, by one act that takes time, waits or may wake another task.
    pub fn replay(&mut self, cpu: usize, task: TaskId) -> Flow {
        let (now, seed) = (self.now, self.seed);
        let Some(replayed) = &mut self.replayed else { return Flow::Continue };
        let delay = replayed.delay(cpu, task, now, seed);
        if delay > 0 {
            return Flow::Burst(delay, Mode::System);
        }
        for _ in 0..MOST_AT_ONCE {
            if let Some(flow) = self.replay_act(cpu, task) {
                return flow;
            }
        }
        Flow::Continue
    }

    /// The next act. Gives nothing where the task has woken others and wakes more or waits in the same call, before one of them can preempt it.
    fn replay_act(&mut self, cpu: usize, task: TaskId) -> Option<Flow> {
        let now = self.now;
        let Some(replayed) = &mut self.replayed else { return Some(Flow::Continue) };
        if let Some(rest) = replayed.rest(task, now) {
            return Some(Flow::Burst(rest, Mode::User));
        }
        let (act, pass) = replayed.next(task, now);
        let (span, jitter) = (replayed.recording.span, replayed.recording.jitter);
        let rng = &mut self.processes[task as usize].rng;
        match act {
            Some(Act::Compute(length)) => {
                let by = (u128::from(length) * u128::from(jitter.compute_permille) / 1000) as Nanos;
                return Some(Flow::Burst(replayed.piece(task, varied(length, by, rng), now), Mode::User));
            }
            Some(Act::Signal(edge)) => {
                let woken = replayed.signal(edge);
                return self.wake_others(task, woken);
            }
            Some(Act::Answer(server)) => {
                let woken = replayed.answer(task, server);
                return self.wake_others(task, woken);
            }
            Some(Act::Meet(meeting)) => {
                let Some(others) = replayed.meet(task, meeting) else {
                    return Some(self.await_others(cpu, task, Wait::Lock));
                };
                return self.wake_others(task, others);
            }
            Some(Act::Ask(server)) if replayed.is_open(server) => {
                if let Some(woken) = replayed.ask(task, server) {
                    self.complete(woken);
                }
                return Some(self.await_task(cpu, task));
            }
            Some(Act::Take(server)) if !replayed.take(task, server) => return Some(self.await_task(cpu, task)),
            Some(Act::Wait(edge)) if replayed.waits(task, edge, pass) => return Some(self.await_task(cpu, task)),
            Some(Act::Until(time)) => {
                let time = varied(time.saturating_add(span.saturating_mul(pass.into())), jitter.time, rng);
                replayed.cursors[task as usize].for_task = false;
                if time > now {
                    replayed.vacate(cpu, now);
                    return Some(self.call(cpu, task, Call::Sleep(time)));
                }
            }
            Some(Act::Sleep(length)) => {
                replayed.cursors[task as usize].for_task = false;
                replayed.vacate(cpu, now);
                let until = now.saturating_add(varied(length, jitter.time.min(length / 20), rng));
                replayed.cursors[task as usize].due = until;
                return Some(self.call(cpu, task, Call::Sleep(until)));
            }
            Some(Act::Period(length)) => {
                let cursor = &mut replayed.cursors[task as usize];
                cursor.for_task = false;
                cursor.due = cursor.due.saturating_add(length.into());
                if cursor.due > now {
                    let until = varied(cursor.due, jitter.time.min(Nanos::from(length) / 20), rng);
                    replayed.vacate(cpu, now);
                    return Some(self.call(cpu, task, Call::Sleep(until)));
                }
                cursor.due = now;
            }
            Some(Act::Yield) => {
                replayed.vacate(cpu, now);
                return Some(self.give_way(cpu));
            }
            Some(Act::Exec) => return (self.exec(task) == Served::Moved).then_some(Flow::Stop),
            Some(Act::Begin(stream)) => self.begin_stream(task, stream),
            Some(Act::Exit) => {
                replayed.vacate(cpu, now);
                replayed.end(task).into_iter().for_each(|woken| self.complete(woken));
                self.processes[task as usize].next_instruction += 1;
            }
            Some(Act::Wait(_) | Act::Ask(_) | Act::Take(_)) | None => {}
        }
        Some(Flow::Continue)
    }

    /// The task wakes others. Gives nothing where it wakes more or waits in the same call.
    fn wake_others(&mut self, task: TaskId, others: impl IntoIterator<Item = TaskId>) -> Option<Flow> {
        others.into_iter().for_each(|woken| self.complete(woken));
        let goes_on = self.replayed.as_ref().is_some_and(|replayed| replayed.wakes_or_waits(task));
        (!goes_on).then_some(Flow::Continue)
    }

    /// The task waits for another one.
    fn await_task(&mut self, cpu: usize, task: TaskId) -> Flow {
        let locks = self.replayed.as_ref().is_some_and(|replayed| replayed.waits_for_locks(task));
        self.await_others(cpu, task, if locks { Wait::Lock } else { Wait::Pipe })
    }

    /// The task waits until others have come as far as it needs.
    fn await_others(&mut self, cpu: usize, task: TaskId, wait: Wait) -> Flow {
        let now = self.now;
        if let Some(replayed) = &mut self.replayed {
            replayed.cursors[task as usize].for_task = true;
            replayed.vacate(cpu, now);
        }
        self.block(cpu, State::Waiting(wait));
        Flow::Stop
    }

    /// The processor on which a task of the recording begins, if it may be there.
    #[cold]
    #[inline(never)]
    pub fn begins_on(&self, task: TaskId) -> Option<CpuId> {
        let cpu = self.replayed.as_ref()?.begins_on(task)?;
        (usize::from(cpu) < self.cpus.len() && self.view.tasks[task as usize].allowed.has(cpu)).then_some(cpu)
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
