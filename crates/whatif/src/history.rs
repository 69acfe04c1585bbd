//! What each task of a recording did: how long it computed, how it waited, and what ended each wait.
//!
//! Long, because every kind of event changes the same states of tasks and processors.

mod meetings;
mod picked;
mod recording;
mod task;
mod wakeups;

pub(crate) use task::RARE;
pub use {
    meetings::Barrier,
    recording::Recording,
    task::{Step, Task},
};

use crate::{
    causes::{Cause, Handling, LOCAL_TIMER},
    halting::{self, Halting},
    looking::{Looks, Rest},
    pairing::{Pairing, Shown},
    timers::Starts,
    treatment::{Places, Policy},
    yields::{Came, Shown as Yields, Yield},
};
use hashbrown::HashMap;
use picked::Usual;
use schedlab_model::replay::Waking;
use schedlab_traces::kernel::{Call, Context, Event, Kind, Left, Listener, Pid};
use std::mem;
use task::State;
use wakeups::{AT_ONCE, Woken};

#[derive(Debug, Clone, Copy)]
struct Processor {
    running: Pid,
    /// Since when it is idle, if it is.
    idle: Option<u64>,
    /// Its last event.
    heard: u64,
    /// Tasks that wait for it, as far as that is known, and those of them that another might pull.
    waiting: u32,
    movable: u32,
    /// How long it is idle, and the preempted task that has moved to it since the last switch.
    rest: Rest,
    pulled: Option<Pid>,
    /// The last switch that was not recorded.
    unseen: Option<Unseen>,
    /// When a task came from idle that has not been charged since.
    came: Option<u64>,
    handling: Handling,
    /// What came to it since its task did.
    besides: Came,
}

/// A switch from that task that was not recorded: not before `from`, and taken to have been when the next one came.
#[derive(Debug, Clone, Copy)]
struct Unseen {
    before: Pid,
    from: u64,
    came: u64,
    /// When the next one was woken on an idle processor.
    woken: Option<u64>,
}

/// Takes the events of a recording apart.
#[derive(Debug, Default)]
pub struct History {
    recording: Recording,
    index: HashMap<Pid, usize>,
    processors: Vec<Option<Processor>>,
    names: Vec<String>,
    /// The number of each task's name.
    named: HashMap<Pid, u64>,
    begin: Option<u64>,
    now: u64,
    /// Tasks that were woken and have not run since.
    woken: HashMap<Pid, Woken>,
    /// How long before they come tasks are charged from.
    picked: Usual,
    looks: Looks,
    /// The processors' timers are recorded, and so the ticks.
    ticks: bool,
}

impl History {
    /// The recording, once all events were taken.
    pub fn finish(mut self) -> Recording {
        let end = self.now;
        self.recording.tasks.iter_mut().for_each(Task::settle_doubts);
        self.recording.halts = halting::is_seen(self.recording.tasks.iter().map(|task| &task.halting));
        self.recording.looks_in_vain = self.looks.are_vain();
        let all = self.recording.tasks.iter().map(|task| task.pairing.shown).fold(Shown::default(), Shown::add);
        let locks = all.locks().unwrap_or(false);
        let lasting = self.recording.lasting();
        for task in &mut self.recording.tasks {
            task.settle_yields(self.ticks);
            task.locks = task.pairing.shown.locks().unwrap_or(locks);
            if let State::Running(_, since, _) = task.state {
                task.computed += end.saturating_sub(since);
            }
            task.compute();
            let (is_silent, needs_answers) = (task.vanished && !task.heard, task.needs_answers());
            task.steps.retain(|step| match step {
                Step::Compute(_) => !is_silent, // nothing says how long it ran
                Step::Found(_) => needs_answers,
                _ => true,
            });
            // What would end its last wait is not recorded. One that mostly waits for others begins anew, and does so again; one that
            // mostly sleeps for some time does that once more.
            if let State::Waiting(from, _) = task.state
                && !task.mostly_waits_for(&lasting)
            {
                let (to, cause) = match task.usual_sleep() {
                    Some(length) => (end.max(from.saturating_add(length)), Cause::Timer),
                    None => (end, Cause::Outside),
                };
                task.steps.push(Step::Wait { from, to, cause });
            }
            if let Some(name) = usize::try_from(task.named).ok().and_then(|at| self.names.get(at)) {
                task.name.clone_from(name);
            }
        }
        self.recording.barriers = meetings::find(&mut self.recording.tasks, self.recording.edges);
        self.recording.span = end;
        let recorded = (0..).zip(&self.processors).filter(|(_, processor)| processor.is_some());
        self.recording.processors = recorded.map(|(number, _)| number).collect();
        self.recording
    }

    fn task(&mut self, pid: Pid, state: State) -> &mut Task {
        let tasks = &mut self.recording.tasks;
        let named = self.named.get(&pid).copied().unwrap_or(u64::MAX);
        let at = *self.index.entry(pid).or_insert_with(|| {
            let (policy, places) = (Policy::Fair(0), Places::default());
            let name = format!("task {pid}");
            let (life, ready) = ((self.now, None), self.now);
            let (steps, sends, doubtful, forked) = (Vec::new(), Vec::new(), Vec::new(), false);
            let (computed, done) = (0, 0);
            let (nested, asked, went_on) = (None, None, 0);
            let (lost, heard, vanished) = (false, false, false);
            let (halting, pairing, queued, charged) = (Halting::default(), Pairing::default(), None, 0);
            tasks.push(Task {
                pid,
                name,
                forked,
                parent: None,
                steps,
                life,
                policy,
                places,
                state,
                ready,
                computed,
                done,
                sends,
                doubtful,
                nested,
                asked,
                went_on,
                named,
                lost,
                heard,
                vanished,
                halting,
                pairing,
                queued,
                charged,
                locks: false,
                yields: Yields::default(),
                starts: Starts::default(),
            });
            tasks.len() - 1
        });
        &mut tasks[at]
    }

    fn known(&mut self, pid: Pid) -> Option<&mut Task> {
        let at = *self.index.get(&pid)?;
        self.recording.tasks.get_mut(at)
    }

    fn processor(&mut self, cpu: u16) -> &mut Processor {
        let at = usize::from(cpu);
        if self.processors.len() <= at {
            self.processors.resize(at + 1, None);
        }
        let (handling, besides) = (Handling::default(), Came::default());
        let (running, idle, heard) = (Event::NO_TASK, None, 0);
        let (waiting, movable, rest, pulled) = (0, 0, Rest::default(), None);
        let (unseen, came) = (None, None);
        self.processors[at].get_or_insert(Processor {
            running,
            idle,
            heard,
            waiting,
            movable,
            rest,
            pulled,
            unseen,
            came,
            handling,
            besides,
        })
    }

    fn switch(&mut self, event: &Event) {
        let (now, cpu, left) = (self.now, event.cpu, event.left());
        self.note_look(event);
        let processor = self.processor(cpu);
        processor.handling.switched();
        let unexplained = processor.besides.leaves() && event.other > 0;
        (processor.running, processor.unseen) = (event.other, None);
        processor.came = (event.task == 0).then_some(now);
        let idle = mem::replace(&mut processor.idle, (event.other == 0).then_some(now));
        if event.task > 0 {
            let task = self.task(event.task, State::Ready);
            task.places.ran_on(cpu);
            task.heard = true;
            if let Some(woken) = self.preempts_at_once(event) {
                self.give_way(event.task, woken);
            }
            self.leave(event.task, cpu, now, left, unexplained);
            if event.value != 0 {
                self.task(event.task, State::Ready).policy = Policy::of((event.value >> 32) as i32);
            }
        }
        let woken = self.woken.get(&event.other).is_some_and(|woken| now.saturating_sub(woken.at) < AT_ONCE);
        if left == Left::Runnable && event.task > 0 && event.other > 0 && !woken {
            self.recording.preemptions.push(event.time);
        }
        if event.other > 0 {
            self.measure_delay(event, idle);
            self.note_nested(event);
            self.queue(event.other, None);
            let value = event.value;
            let idle = self.idle_elsewhere(cpu);
            let task = self.task(event.other, State::Ready);
            task.places.ran_on(cpu);
            task.halting.runs(cpu, Some(event.task == 0));
            task.pairing.runs(cpu);
            if let (State::Ready, Some(since)) = (task.state, idle) {
                task.places.waited_next_to_idle(now.saturating_sub(since.max(task.ready)));
            }
            if value != 0 {
                task.policy = Policy::of(value as u32 as i32);
            }
            if let State::Waiting(from, _) = task.state {
                task.wait(from, now, Cause::Unknown); // its waking was not recorded
            }
            (task.state, task.lost) = (State::Running(cpu, now, None), false);
        }
    }

    /// A task is current on a processor, whether the switch to it was recorded or not: kernels leave out some. One that is seen first of all
    /// there has run since the recording began. After another one it has come just now, and after the idle task when it was woken; what it
    /// is charged may say more.
    fn is_current(&mut self, cpu: u16, pid: Pid) {
        let now = self.now;
        let processor = self.processor(cpu);
        let (before, from) = (processor.running, mem::replace(&mut processor.heard, now));
        if before == pid {
            return;
        }
        (processor.running, processor.came) = (pid, None);
        if before == Event::NO_TASK {
            if pid > 0 {
                self.task(pid, State::Running(cpu, 0, None)).heard = true;
                self.runs(pid, cpu, now);
            }
            return;
        }
        let idle = mem::replace(&mut processor.idle, (pid == 0).then_some(from));
        let ready = self.known(pid).filter(|task| before == 0 && task.state == State::Ready).map(|task| task.ready);
        // The idle task comes after the last that is known of the other.
        let came = if pid == 0 { from } else { ready.unwrap_or(now).clamp(from, now) };
        let woken = self.woken.remove(&pid).filter(|woken| woken.leaves_idle(cpu, idle)).map(|woken| woken.at);
        self.processor(cpu).unseen = Some(Unseen { before, from, came, woken });
        self.recording.repaired += 1;
        self.processor(cpu).besides.reason(); // nothing is known of what came
        self.leave(before, cpu, came, Left::Runnable, false);
        self.queue(before, None); // it may have gone to sleep
        if let Some(task) = self.known(before) {
            (task.lost, task.vanished) = (true, true);
        }
        if pid > 0 {
            self.task(pid, State::Running(cpu, came, None)).heard = true;
            self.runs(pid, cpu, came);
        }
    }

    /// The current task is charged what it ran since it came, or since it was last charged: after a switch that was not recorded, this
    /// says when that was.
    fn charged(&mut self, event: &Event) {
        let mut since = self.now.saturating_sub(event.value);
        if let Some(task) = self.known(event.task) {
            task.heard = true;
            since = since.saturating_sub(task.charged);
        }
        let processor = self.processor(event.cpu);
        let (came, unseen) = (processor.came.take(), processor.unseen.take());
        came.into_iter().for_each(|came| self.picked.seen(came.saturating_sub(since)));
        let Some(Unseen { before, from, came, woken }) = unseen else { return };
        if before == 0 {
            since = since.saturating_add(self.picked.ns()).min(self.now);
        }
        let early = came.saturating_sub(since.max(from));
        if let Some(task) = self.known(event.task) {
            task.came_at(came, since.max(from));
        }
        if let Some(woken) = woken.filter(|_| before == 0) {
            let delay = u32::try_from(since.saturating_sub(woken)).unwrap_or(u32::MAX);
            self.recording.delays[Waking::Idle as usize].push(delay);
        }
        if let Some(task) = self.known(before).filter(|task| task.lost && task.ready == came) {
            task.take_back(early);
        }
    }

    /// Since when another processor is idle, the one that is so for the longest time.
    fn idle_elsewhere(&self, cpu: u16) -> Option<u64> {
        let others = (0..).zip(&self.processors).filter(|(other, _)| *other != cpu);
        others.filter_map(|(_, processor)| processor.as_ref()?.idle).min()
    }

    /// A task leaves its processor; whether without a reason, if it could go on.
    fn leave(&mut self, pid: Pid, cpu: u16, now: u64, left: Left, unexplained: bool) {
        let Some(task) = self.known(pid) else { return };
        let State::Running(_, since, woken) = task.state else { return };
        task.computed += now.saturating_sub(since);
        (task.ready, task.asked, task.charged) = (now, None, 0);
        task.state = match left {
            Left::Runnable => {
                task.compute();
                task.yields.left(unexplained);
                task.steps.push(if unexplained { Step::Yielded(Yield::Unexplained) } else { Step::Preempted });
                State::Ready
            }
            Left::Dead => {
                task.compute();
                task.steps.push(Step::Exit);
                task.life.1 = Some(now);
                State::Dead
            }
            _ => match woken {
                // It was woken while it was on its way to sleep.
                Some((_, cause)) => {
                    task.wait(now, now, cause);
                    State::Ready
                }
                None => State::Waiting(now, left),
            },
        };
        if left == Left::Dead {
            self.index.remove(&pid); // its number may come again
        }
        self.queue(pid, Some(cpu));
    }

    fn waking(&mut self, event: &Event) {
        let (now, pid) = (self.now, event.task);
        let handling = self.processor(event.cpu).handling;
        if let Some(Some(processor)) = self.processors.get_mut(usize::from(event.value as u16)) {
            processor.rest.woken(now);
        }
        let state = self.task(pid, State::Waiting(0, Left::Sleeping)).state;
        let (left, from) = match state {
            State::Waiting(from, left) => (left, Some(from)),
            State::Running(..) => (Left::Sleeping, None),
            State::Ready | State::Dead => match self.known(pid).and_then(Task::slept_unseen) {
                Some(from) => (Left::Sleeping, Some(from)),
                None => return,
            },
        };
        let doubtful = handling.may_be_own() && from.is_some() && event.other > 0 && event.other != pid;
        let cause = match handling.cause(event, left) {
            Err(Cause::Outside) if doubtful => self.signal(event.other, event),
            Ok(waker) => {
                if from.is_some() {
                    self.find_hidden(waker, pid);
                }
                self.signal(waker, event)
            }
            Err(cause) => cause,
        };
        let task = self.task(pid, State::Ready);
        task.starts.waited(cause == Cause::Timer);
        match from {
            Some(from) => {
                task.wait(from, now, cause);
                if doubtful && matches!(cause, Cause::Task(_)) {
                    task.doubtful.push(task.steps.len() - 1);
                }
                (task.state, task.ready, task.charged) = (State::Ready, now, 0);
                let ran = task.places.last();
                if matches!(cause, Cause::Task(_)) {
                    self.note_idle(event);
                }
                self.note_pairing(event, cause, ran);
                self.queue(pid, Some(event.value as u16));
                self.note_woken(event, cause);
            }
            None => {
                if let State::Running(_, _, woken) = &mut task.state {
                    *woken = Some((now, cause));
                }
            }
        }
    }

    /// A task that was not known to run does so, since then.
    fn runs(&mut self, pid: Pid, cpu: u16, since: u64) {
        let Some(task) = self.known(pid) else { return };
        let since = match task.state {
            State::Running(..) | State::Dead => return,
            State::Waiting(from, _) => {
                let to = since.max(from);
                task.wait(from, to, Cause::Unknown);
                to
            }
            State::Ready => since.max(task.ready),
        };
        (task.state, task.lost) = (State::Running(cpu, since, None), false);
        task.halting.runs(cpu, None);
        task.pairing.runs(cpu);
        self.queue(pid, None);
    }

    /// The waker's progress has a new edge, to the task of a waking.
    fn signal(&mut self, waker: Pid, waking: &Event) -> Cause {
        let (now, cpu) = (self.now, waking.cpu);
        let here = waking.value as u32 == u32::from(cpu);
        let edge = self.recording.edges;
        self.is_current(cpu, waker);
        let task = self.task(waker, State::Running(cpu, now, None));
        let State::Running(_, since, _) = &mut task.state else { return Cause::Unknown };
        task.heard = true;
        task.computed += now.saturating_sub(mem::replace(since, now));
        task.compute();
        task.steps.push(Step::Signal { edge, here });
        self.recording.edges += 1;
        Cause::Task(edge)
    }

    fn fork(&mut self, parent: Pid, child: Pid) {
        let now = self.now;
        self.queue(child, None); // another task had that number
        if self.known(parent).is_none() {
            self.index.remove(&child);
            let new = self.task(child, State::Ready);
            new.wait(0, now, Cause::Outside);
            return;
        }
        if let Some(task) = self.known(parent) {
            if let State::Running(_, since, _) = &mut task.state {
                task.computed += now.saturating_sub(mem::replace(since, now));
            }
            task.compute();
            task.steps.push(Step::Fork(child));
            let (named, policy) = (task.named, task.policy);
            self.index.remove(&child);
            let new = self.task(child, State::Ready);
            (new.forked, new.named, new.policy, new.parent) = (true, named, policy, Some(parent));
        }
    }

    /// A running task does this now.
    fn does(&mut self, pid: Pid, step: Step) {
        let now = self.now;
        let Some(task) = self.known(pid) else { return };
        let State::Running(_, since, _) = &mut task.state else { return };
        task.computed += now.saturating_sub(mem::replace(since, now));
        task.compute();
        if step == Step::Yielded(Yield::Called) {
            task.yields.called();
        }
        task.steps.push(step);
    }

    /// Something came to a processor that may make its kernel choose anew.
    fn comes(&mut self, cpu: u16) {
        if let Some(Some(processor)) = self.processors.get_mut(usize::from(cpu)) {
            processor.besides.reason();
        }
    }

    /// An interrupt took time from the current task.
    fn interrupted(&mut self, cpu: u16, length: u64) {
        let running = self.processor(cpu).running;
        let now = self.now;
        if let Some(State::Running(_, since, _)) = self.known(running).map(|task| &mut task.state) {
            *since = since.saturating_add(length).min(now);
        }
    }
}

impl Listener for History {
    fn event(&mut self, event: &Event) {
        let begin = *self.begin.get_or_insert(event.time);
        self.now = event.time.saturating_sub(begin).max(self.now);
        if let Some(current) = current(event) {
            self.is_current(event.cpu, current);
        }
        match event.kind {
            Kind::Waking | Kind::Woken | Kind::New | Kind::Migrate => self.comes(event.value as u16),
            Kind::IrqEntry | Kind::VectorEntry | Kind::TimerExpire => {
                self.ticks |= event.kind == Kind::VectorEntry && event.value == LOCAL_TIMER;
                self.comes(event.cpu);
            }
            Kind::SyscallEnter if event.call() == Call::Yield => self.does(event.task, Step::Yielded(Yield::Called)),
            _ => {}
        }
        match event.kind {
            Kind::Switch => self.switch(event),
            // A waking that was recorded has made the task ready, and what follows of it changes nothing.
            Kind::Waking | Kind::Woken => self.waking(event),
            Kind::Fork => self.fork(event.task, event.other),
            Kind::Exec => self.does(event.task, Step::Exec),
            Kind::Runtime if event.task == event.other => self.charged(event),
            Kind::Runtime => {
                if let Some(task) = self.known(event.task) {
                    task.charged = task.charged.saturating_add(event.value);
                }
            }
            Kind::Migrate => self.note_move(event),
            Kind::TimerExpiry if event.context() == Context::Task => {
                if let Some(task) = self.known(event.other) {
                    task.starts.started(event.flag() == 1);
                }
            }
            Kind::Named => {
                self.named.insert(event.task, event.value);
                if let Some(task) = self.known(event.task) {
                    task.named = event.value;
                }
            }
            Kind::IrqEntry | Kind::VectorEntry | Kind::SoftirqEntry | Kind::TimerExpire | Kind::TimerDone => {
                self.processor(event.cpu).handling.follow(event);
            }
            Kind::IrqExit | Kind::VectorExit | Kind::SoftirqExit => {
                if self.processor(event.cpu).handling.delivers() {
                    let now = self.now;
                    self.known(event.other).into_iter().for_each(|task| task.send(now));
                }
                let length = self.processor(event.cpu).handling.follow(event);
                if length > 0 {
                    self.interrupted(event.cpu, length);
                }
            }
            _ => {}
        }
    }

    fn name(&mut self, number: u64, name: &str) {
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        if at == self.names.len() {
            self.names.push(name.to_owned());
        }
    }
}

/// The task that was current where an event was recorded, if the file says it.
fn current(event: &Event) -> Option<Pid> {
    let current = match event.kind {
        Kind::Switch | Kind::Fork => event.task,
        Kind::Named | Kind::Member | Kind::Treated | Kind::Lost => Event::NO_TASK,
        _ => event.other,
    };
    (event.cpu != Event::ALL && current != Event::NO_TASK).then_some(current)
}

#[cfg(test)]
mod tests;
