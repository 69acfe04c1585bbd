//! What each task of a recording did: how long it computed, how it waited, and what ended each wait.
//!
//! Long, because every kind of event changes the same states of tasks and processors.

use crate::{
    causes::{Cause, Handling},
    treatment::{Places, Policy, Treatment},
};
use hashbrown::HashMap;
use schedlab_model::replay::Waking;
use schedlab_traces::kernel::{Event, Kind, Left, Listener, Pid};

/// A step of a task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// Used its processor for that long, ns, interrupts left out.
    Compute(u64),
    /// Woke the task that waits for that edge.
    Signal {
        /// The edge.
        edge: u32,
        /// Whether for the processor on which it runs itself.
        here: bool,
    },
    /// Waited.
    Wait {
        /// From when, ns since the recording began.
        from: u64,
        /// Until when it was woken.
        to: u64,
        /// Why it ended.
        cause: Cause,
    },
    /// Found an answer of the task that it had woken before: that edge, which no event shows. See `find_hidden`.
    Found(u32),
    /// Another task ran instead, though it could have gone on.
    Preempted,
    /// Made that task.
    Fork(Pid),
    /// Ended.
    Exit,
}

/// One task.
#[derive(Debug)]
pub struct Task {
    /// Its number.
    pub pid: Pid,
    /// Its name, the last that it had.
    pub name: String,
    /// Whether it was made within the recording.
    pub forked: bool,
    /// The task that made it, if the recording shows it.
    pub parent: Option<Pid>,
    /// Its steps, in order.
    pub steps: Vec<Step>,
    /// When it was first seen, and when it ended, ns since the recording began.
    pub life: (u64, Option<u64>),
    /// How it was treated.
    policy: Policy,
    places: Places,
    state: State,
    /// Since when it can run, while it waits for a processor.
    ready: u64,
    /// Computed since the last step.
    computed: u64,
    /// Waits that were ended by packets to itself or from outside, by their steps.
    doubtful: Vec<usize>,
    /// The task that preempted it, and whether that has waited since.
    nested: Option<(Pid, bool)>,
    /// The task that it woke last, since it came to its processor.
    asked: Option<Pid>,
    /// How often it woke a task again that had waited meanwhile, and had not left its processor: it needed no answer.
    went_on: usize,
    named: u64,
    /// It left its processor by a switch that was not recorded, and perhaps to sleep.
    lost: bool,
    /// An event was recorded while it ran; and it left by such a switch once.
    heard: bool,
    vanished: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    /// On that processor since then; a waking that came while it was still there.
    Running(u16, u64, Option<(u64, Cause)>),
    Ready,
    Waiting(u64, Left),
    Dead,
}

impl Task {
    /// How it was treated, the last that was seen.
    pub fn treatment(&self) -> Treatment {
        Treatment { policy: self.policy, bound: self.places.bound(&self.name) }
    }

    /// The processor on which it was first seen.
    pub fn first_processor(&self) -> Option<u16> {
        self.places.first()
    }

    /// Processor time of all its steps, ns.
    pub fn work(&self) -> u64 {
        self.steps.iter().map(|step| if let Step::Compute(length) = step { *length } else { 0 }).sum()
    }

    /// Doubtful waits are from outside, unless they are rare among those for other tasks.
    fn settle_doubts(&mut self) {
        let is_by_task = |step: &&Step| matches!(step, Step::Wait { cause: Cause::Task(_), .. });
        let certain = self.steps.iter().filter(is_by_task).count() - self.doubtful.len();
        if RARE * self.doubtful.len() <= certain {
            return;
        }
        for at in self.doubtful.drain(..) {
            if let Step::Wait { cause, .. } = &mut self.steps[at] {
                *cause = Cause::Outside;
            }
        }
    }

    /// It needs the answers that it was found to have: it did not go on without them more often than it waited for others.
    fn needs_answers(&self) -> bool {
        let by_tasks =
            self.steps.iter().filter(|step| matches!(step, Step::Wait { cause: Cause::Task(_), .. })).count();
        self.went_on <= by_tasks
    }

    /// Of its waits, more than half were ended by tasks that go on: by these edges.
    fn mostly_waits_for(&self, lasting: &[bool]) -> bool {
        let (mut by_tasks, mut all) = (0, 0);
        for step in &self.steps {
            if let Step::Wait { cause, .. } = *step {
                by_tasks += usize::from(matches!(cause, Cause::Task(edge) if lasting[edge as usize]));
                all += 1;
            }
        }
        2 * by_tasks > all
    }

    /// It left by a switch that was not recorded and is woken now: it had left to sleep. From when on.
    fn slept_unseen(&mut self) -> Option<u64> {
        if self.state != State::Ready || !std::mem::take(&mut self.lost) {
            return None;
        }
        if self.steps.last() == Some(&Step::Preempted) {
            self.steps.pop();
        }
        Some(self.ready)
    }

    /// It runs, and was taken to have come at a time; it has at another.
    fn came_at(&mut self, taken: u64, came: u64) {
        match &mut self.state {
            State::Running(_, since, _) if *since == taken && came > taken => *since = came,
            State::Running(..) if came > taken => self.come_later(came - taken),
            State::Running(..) => self.computed += taken - came,
            _ => {}
        }
    }

    /// It has come so much later: what it computed first since then was shorter.
    fn come_later(&mut self, mut time: u64) {
        let stands = |step: &Step| matches!(step, Step::Wait { .. } | Step::Preempted);
        let first = self.steps.iter().rposition(stands).map_or(0, |at| at + 1);
        for step in &mut self.steps[first..] {
            if let Step::Compute(length) = step {
                let less = time.min(*length);
                (*length, time) = (*length - less, time - less);
            }
        }
        self.computed = self.computed.saturating_sub(time);
    }

    /// Its last computing was shorter.
    fn take_back(&mut self, time: u64) {
        self.ready = self.ready.saturating_sub(time);
        let last = self.steps.iter_mut().rev().find_map(|step| match step {
            Step::Compute(length) => Some(length),
            _ => None,
        });
        if let Some(length) = last {
            *length = length.saturating_sub(time);
        }
    }

    fn compute(&mut self) {
        if self.computed > 0 {
            self.steps.push(Step::Compute(std::mem::take(&mut self.computed)));
        }
    }

    fn wait(&mut self, from: u64, to: u64, cause: Cause) {
        self.compute();
        self.steps.push(Step::Wait { from, to, cause });
    }
}

/// A recording, taken apart.
#[derive(Debug, Default)]
pub struct Recording {
    /// Its tasks, in the order in which they were first seen.
    pub tasks: Vec<Task>,
    /// Edges are numbered from 0 to below this.
    pub edges: u32,
    /// From the first to the last event, ns.
    pub span: u64,
    /// The numbers of the processors that were recorded, ascending: others may exist, and tasks may have run there unseen.
    pub processors: Vec<u16>,
    /// From a wakeup to the switch to the woken task where nothing was in its way, by `model::replay::Waking`, ns.
    pub delays: [Vec<u32>; 3],
    /// Times of switches from tasks that could run to tasks that were not just woken, ns on the clock of the file.
    pub preemptions: Vec<u64>,
    /// Tasks that were current on a processor which had gone to another one: the switch to them was not recorded.
    pub repaired: u64,
}

impl Recording {
    /// By edge, whether the task that signals it lives at the end.
    fn lasting(&self) -> Vec<bool> {
        let mut lasting = vec![false; self.edges as usize];
        for task in self.tasks.iter().filter(|task| task.life.1.is_none()) {
            for step in &task.steps {
                if let Step::Signal { edge, .. } = step {
                    lasting[*edge as usize] = true;
                }
            }
        }
        lasting
    }
}

#[derive(Debug, Clone, Copy)]
struct Processor {
    running: Pid,
    /// Since when it is idle, if it is.
    idle: Option<u64>,
    /// Its last event.
    heard: u64,
    /// The last switch that was not recorded.
    unseen: Option<Unseen>,
    handling: Handling,
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

/// A task for which another is preempted within this, ns, after it was woken there had no other in its way: a switch takes some
/// microseconds, the shortest slice a tick.
const AT_ONCE: u64 = 100_000;

/// Less than one of that many waits is rare.
pub(crate) const RARE: usize = 20;

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
    /// By task that was woken and has not run since, when, and how.
    woken: HashMap<Pid, (u64, Waking)>,
}

impl History {
    /// The recording, once all events were taken.
    pub fn finish(mut self) -> Recording {
        let end = self.now;
        self.recording.tasks.iter_mut().for_each(Task::settle_doubts);
        let lasting = self.recording.lasting();
        for task in &mut self.recording.tasks {
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
            // What would end its last wait is not recorded. One that mostly waits for others begins anew, and does so again.
            if let State::Waiting(from, _) = task.state
                && !task.mostly_waits_for(&lasting)
            {
                task.steps.push(Step::Wait { from, to: end, cause: Cause::Outside });
            }
            if let Some(name) = usize::try_from(task.named).ok().and_then(|at| self.names.get(at)) {
                task.name.clone_from(name);
            }
        }
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
            let (steps, doubtful, forked, computed) = (Vec::new(), Vec::new(), false, 0);
            let (nested, asked, went_on) = (None, None, 0);
            let (lost, heard, vanished) = (false, false, false);
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
                doubtful,
                nested,
                asked,
                went_on,
                named,
                lost,
                heard,
                vanished,
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
        let handling = Handling::default();
        let unknown = Processor { running: Event::NO_TASK, idle: None, heard: 0, unseen: None, handling };
        self.processors[at].get_or_insert(unknown)
    }

    fn switch(&mut self, event: &Event) {
        let (now, cpu, left) = (self.now, event.cpu, event.left());
        let processor = self.processor(cpu);
        processor.handling.switched();
        (processor.running, processor.unseen) = (event.other, None);
        processor.idle = (event.other == 0).then_some(now);
        if event.task > 0 {
            let task = self.task(event.task, State::Ready);
            task.places.ran_on(cpu);
            task.heard = true;
            if let Some(woken) = self.preempts_at_once(event) {
                self.give_way(event.task, woken);
            }
            self.leave(event.task, now, left);
            if event.value != 0 {
                self.task(event.task, State::Ready).policy = Policy::of((event.value >> 32) as i32);
            }
        }
        let woken = self.woken.get(&event.other).is_some_and(|(woken, _)| now.saturating_sub(*woken) < AT_ONCE);
        if left == Left::Runnable && event.task > 0 && event.other > 0 && !woken {
            self.recording.preemptions.push(event.time);
        }
        if event.other > 0 {
            self.measure_delay(event);
            self.note_nested(event);
            let value = event.value;
            let idle = self.idle_elsewhere(cpu);
            let task = self.task(event.other, State::Ready);
            task.places.ran_on(cpu);
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
        let (before, from) = (processor.running, std::mem::replace(&mut processor.heard, now));
        if before == pid {
            return;
        }
        processor.running = pid;
        if before == Event::NO_TASK {
            if pid > 0 {
                self.task(pid, State::Running(cpu, 0, None)).heard = true;
                self.runs(pid, cpu, now);
            }
            return;
        }
        processor.idle = (pid == 0).then_some(from);
        let ready = self.known(pid).filter(|task| before == 0 && task.state == State::Ready).map(|task| task.ready);
        // The idle task comes after the last that is known of the other.
        let came = if pid == 0 { from } else { ready.unwrap_or(now).clamp(from, now) };
        let woken = self.woken.remove(&pid).filter(|(_, waking)| *waking == Waking::Idle).map(|(woken, _)| woken);
        self.processor(cpu).unseen = Some(Unseen { before, from, came, woken });
        self.recording.repaired += 1;
        self.leave(before, came, Left::Runnable);
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
        let since = self.now.saturating_sub(event.value);
        if let Some(task) = self.known(event.task) {
            task.heard = true;
        }
        let Some(Unseen { before, from, came, woken }) = self.processor(event.cpu).unseen.take() else { return };
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

    /// A task leaves its processor.
    fn leave(&mut self, pid: Pid, now: u64, left: Left) {
        let Some(task) = self.known(pid) else { return };
        let State::Running(_, since, woken) = task.state else { return };
        task.computed += now.saturating_sub(since);
        (task.ready, task.asked) = (now, None);
        task.state = match left {
            Left::Runnable => {
                task.compute();
                task.steps.push(Step::Preempted);
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
    }

    fn waking(&mut self, event: &Event) {
        let (now, pid) = (self.now, event.task);
        let handling = self.processor(event.cpu).handling;
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
        match from {
            Some(from) => {
                task.wait(from, now, cause);
                if doubtful && matches!(cause, Cause::Task(_)) {
                    task.doubtful.push(task.steps.len() - 1);
                }
                (task.state, task.ready) = (State::Ready, now);
                self.note_woken(event, cause);
            }
            None => {
                if let State::Running(_, _, woken) = &mut task.state {
                    *woken = Some((now, cause));
                }
            }
        }
    }

    /// A task was woken: how long the way to its processor takes is measured at the switch, if it is idle or its task is preempted. Where
    /// that goes on until it waits, there is no such way.
    fn note_woken(&mut self, event: &Event, cause: Cause) {
        let target = usize::from(event.value as u16);
        let idle = self.processors.get(target).copied().flatten().is_some_and(|at| at.idle.is_some());
        let waking = match cause {
            _ if idle => Waking::Idle,
            Cause::Task(_) => Waking::Task,
            _ => Waking::Interrupted,
        };
        self.woken.insert(event.task, (self.now, waking));
    }

    /// A woken task gets its processor.
    fn measure_delay(&mut self, event: &Event) {
        let at_once = self.preempts_at_once(event).is_some();
        let Some((woken, waking)) = self.woken.remove(&event.other) else { return };
        let length = self.now.saturating_sub(woken);
        if at_once || (waking == Waking::Idle && event.task == 0) {
            self.recording.delays[waking as usize].push(u32::try_from(length).unwrap_or(u32::MAX));
        }
    }

    /// When the task was woken for which another is preempted, if that was just now.
    fn preempts_at_once(&self, event: &Event) -> Option<u64> {
        let (woken, waking) = *self.woken.get(&event.other)?;
        let preempts = waking != Waking::Idle && event.task > 0 && event.left() == Left::Runnable;
        (preempts && self.now.saturating_sub(woken) < AT_ONCE).then_some(woken)
    }

    /// What a running task still uses of its processor since then is the way of the woken one to it, which takes it in the replay.
    fn give_way(&mut self, pid: Pid, woken: u64) {
        let now = self.now;
        let Some(task) = self.known(pid) else { return };
        if let State::Running(_, since, _) = &mut task.state {
            let since = std::mem::replace(since, now);
            task.computed += woken.saturating_sub(since);
        }
    }

    /// A task wakes another for which it was preempted since it had woken it the last time, and which has waited since: it has found the
    /// answer to what it had sent, though it did not wait for it. The answer was there when the other began its wait.
    fn find_hidden(&mut self, waker: Pid, woken: Pid) {
        let edge = self.recording.edges;
        let Some(task) = self.known(waker) else { return };
        let again = task.asked.replace(woken) == Some(woken);
        if task.nested.take() != Some((woken, true)) {
            task.went_on += usize::from(again);
            return;
        }
        let acts = |step: &Step| !matches!(step, Step::Compute(_) | Step::Preempted);
        let at = task.steps.iter().rposition(acts).map_or(0, |at| at + 1);
        task.steps.insert(at, Step::Found(edge));
        self.recording.edges += 1;
        self.task(woken, State::Ready).steps.push(Step::Signal { edge, here: true });
    }

    /// A task leaves its processor to another.
    fn note_nested(&mut self, event: &Event) {
        let (from, to, left) = (event.task, event.other, event.left());
        if let Some(task) = self.known(from) {
            task.nested = (left == Left::Runnable).then_some((to, false));
        }
        if let Some(task) = self.known(to) {
            // It goes on after the task that had preempted it.
            task.nested = match task.nested {
                Some((by, _)) if by == from && matches!(left, Left::Sleeping | Left::Uninterruptible) => {
                    Some((by, true))
                }
                _ => None,
            };
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
        task.computed += now.saturating_sub(std::mem::replace(since, now));
        task.compute();
        task.steps.push(Step::Signal { edge, here });
        self.recording.edges += 1;
        Cause::Task(edge)
    }

    fn fork(&mut self, parent: Pid, child: Pid) {
        let now = self.now;
        if self.known(parent).is_none() {
            self.index.remove(&child);
            let new = self.task(child, State::Ready);
            new.wait(0, now, Cause::Outside);
            return;
        }
        if let Some(task) = self.known(parent) {
            if let State::Running(_, since, _) = &mut task.state {
                task.computed += now.saturating_sub(std::mem::replace(since, now));
            }
            task.compute();
            task.steps.push(Step::Fork(child));
            let (named, policy) = (task.named, task.policy);
            self.index.remove(&child);
            let new = self.task(child, State::Ready);
            (new.forked, new.named, new.policy, new.parent) = (true, named, policy, Some(parent));
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
            Kind::Switch => self.switch(event),
            // A waking that was recorded has made the task ready, and what follows of it changes nothing.
            Kind::Waking | Kind::Woken => self.waking(event),
            Kind::Fork => self.fork(event.task, event.other),
            Kind::Runtime if event.task == event.other => self.charged(event),
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
mod tests {
    use super::*;
    use schedlab_traces::kernel::Context;

    /// An event of processor 0 in a task's context, by when, µs.
    fn event(kind: Kind, us: u64, task: Pid, other: Pid, flag: u8) -> Event {
        let bits = Event::bits(flag, Context::Task);
        Event { time: us * 1000, value: 0, task, other, extra: 0, cpu: 0, kind, bits }
    }

    /// Task 5 runs from 100 us on and wakes task 6 at 200; what comes then on the processor, by when, µs.
    fn woken_by_5(at: u64, left: u8, next: Pid) -> Recording {
        let mut history = History::default();
        history.event(&event(Kind::Switch, 0, 6, 0, 1));
        history.event(&event(Kind::Switch, 100, 0, 5, 0));
        history.event(&event(Kind::Waking, 200, 6, 5, 0));
        history.event(&event(Kind::Switch, at, 5, next, left));
        history.event(&event(Kind::Switch, at + 100, next, 0, 1));
        history.finish()
    }

    fn work(recording: &Recording, pid: Pid) -> u64 {
        recording.tasks.iter().find(|task| task.pid == pid).map_or(0, Task::work)
    }

    #[test]
    fn the_way_of_a_task_that_preempts_at_once_is_its_delay_and_not_work_of_the_other() {
        let recording = woken_by_5(203, 0, 6);
        assert_eq!(recording.delays[Waking::Task as usize], [3_000]);
        assert_eq!((work(&recording, 5), work(&recording, 6)), (100_000, 100_000));
    }

    #[test]
    fn a_task_that_wakes_another_runs_though_no_switch_to_it_was_recorded() {
        let mut history = History::default();
        history.event(&event(Kind::Switch, 0, 5, 6, 0));
        history.event(&event(Kind::Switch, 100, 6, 7, 1));
        // From 7 to 5, at some time.
        history.event(&event(Kind::Waking, 200, 6, 5, 0));
        history.event(&event(Kind::Switch, 300, 5, 6, 1));
        let recording = history.finish();
        assert_eq!(recording.repaired, 1);
        let steps = |pid| &recording.tasks.iter().find(|task| task.pid == pid).unwrap().steps;
        assert_eq!(steps(5)[1..3], [Step::Signal { edge: 0, here: true }, Step::Compute(100_000)]);
        assert!(steps(6).contains(&Step::Wait { from: 100_000, to: 200_000, cause: Cause::Task(0) }));
    }

    #[test]
    fn a_task_seen_for_the_first_time_has_not_run_while_another_had_its_processor() {
        let switch = |us: u64, cpu, task, other| {
            let bits = Event::bits(1, Context::Task);
            Event { time: us * 1000, value: 0, task, other, extra: 0, cpu, kind: Kind::Switch, bits }
        };
        let mut history = History::default();
        history.event(&switch(0, 0, 5, 0));
        history.event(&switch(300, 1, 8, 0));
        // From the idle task to 7, and from that to 6, at some time.
        history.event(&switch(900, 0, 7, 0));
        history.event(&Event { kind: Kind::Waking, task: 5, other: 6, ..switch(1000, 0, 0, 0) });
        history.event(&switch(1100, 0, 6, 5));
        let recording = history.finish();
        assert_eq!((work(&recording, 7), work(&recording, 6)), (0, 100_000));
        assert_eq!(work(&recording, 8), 300_000, "on a processor of which nothing was seen before");
    }

    #[test]
    fn of_a_task_that_no_event_was_recorded_of_while_it_ran_no_time_is_known() {
        let computed = |heard: bool| {
            let mut history = History::default();
            history.event(&event(Kind::Switch, 0, 5, 6, 1));
            if heard {
                history.event(&Event { value: 50_000, ..event(Kind::Runtime, 50, 6, 6, 0) });
            }
            // From 6 to the idle task and from that to 5, at some time.
            history.event(&event(Kind::Switch, 900, 5, 7, 1));
            work(&history.finish(), 6)
        };
        assert_eq!((computed(false), computed(true)), (0, 900_000));
    }

    #[test]
    fn what_a_task_was_charged_says_when_it_came_and_the_one_before_it_slept_if_it_is_woken() {
        let mut history = History::default();
        history.event(&event(Kind::Switch, 0, 0, 5, 0));
        history.event(&event(Kind::Switch, 100, 5, 6, 0));
        // The switch from 6 to 5 at 400 was not recorded; the clock tick at 4000 charges 5.
        history.event(&Event { value: 3_600_000, ..event(Kind::Runtime, 4000, 5, 5, 0) });
        history.event(&event(Kind::Waking, 5000, 6, 5, 0));
        history.event(&event(Kind::Switch, 6000, 5, 6, 1));
        history.event(&event(Kind::Switch, 6200, 6, 0, 1));
        let recording = history.finish();
        assert_eq!((work(&recording, 5), work(&recording, 6)), (5_700_000, 500_000));
        let steps = &recording.tasks.iter().find(|task| task.pid == 6).unwrap().steps;
        let slept = Step::Wait { from: 400_000, to: 5_000_000, cause: Cause::Task(0) };
        assert_eq!(steps[..2], [Step::Compute(300_000), slept]);
    }

    #[test]
    fn the_way_to_an_idle_processor_is_known_by_the_charge_where_the_switch_was_not_recorded() {
        let mut history = History::default();
        history.event(&event(Kind::Switch, 0, 5, 0, 1));
        // From processor 1, which is not idle: 7 wakes 5, which comes after 30 us, wakes 8 and leaves.
        history.event(&Event { cpu: 1, ..event(Kind::Switch, 10, 0, 7, 0) });
        history.event(&Event { cpu: 1, ..event(Kind::Waking, 100, 5, 7, 0) });
        history.event(&event(Kind::Waking, 150, 8, 5, 0));
        history.event(&Event { value: 70_000, ..event(Kind::Runtime, 200, 5, 5, 0) });
        history.event(&event(Kind::Switch, 200, 5, 0, 1));
        let recording = history.finish();
        assert_eq!(recording.delays[Waking::Idle as usize], [30_000]);
        assert_eq!(work(&recording, 5), 70_000);
    }

    #[test]
    fn what_a_task_was_charged_less_is_taken_from_what_it_did_first() {
        let mut history = History::default();
        history.event(&event(Kind::Switch, 0, 5, 0, 1));
        history.event(&Event { cpu: 1, ..event(Kind::Switch, 10, 0, 7, 0) });
        history.event(&Event { cpu: 1, ..event(Kind::Waking, 100, 5, 7, 0) });
        // It came to its idle processor after 30 us, at 130, and wakes 8 at 150 and 9 at 180.
        history.event(&event(Kind::Waking, 150, 8, 5, 0));
        history.event(&event(Kind::Waking, 180, 9, 5, 0));
        history.event(&Event { value: 70_000, ..event(Kind::Runtime, 200, 5, 5, 0) });
        history.event(&event(Kind::Switch, 200, 5, 0, 1));
        let recording = history.finish();
        let task = recording.tasks.iter().find(|task| task.pid == 5).unwrap();
        let computed = task.steps.iter().filter_map(|step| match step {
            Step::Compute(length) => Some(*length),
            _ => None,
        });
        assert_eq!(Vec::from_iter(computed), [20_000, 30_000, 20_000]);
    }

    #[test]
    fn a_wakeup_for_another_processor_is_known_as_such() {
        let mut history = History::default();
        history.event(&event(Kind::Switch, 0, 0, 5, 0));
        history.event(&event(Kind::Waking, 100, 6, 5, 0));
        history.event(&Event { value: 1, ..event(Kind::Waking, 200, 7, 5, 0) });
        history.event(&event(Kind::Switch, 300, 5, 0, 1));
        let recording = history.finish();
        let task = recording.tasks.iter().find(|task| task.pid == 5).unwrap();
        let here = task.steps.iter().filter_map(|step| match step {
            Step::Signal { here, .. } => Some(*here),
            _ => None,
        });
        assert_eq!(Vec::from_iter(here), [true, false]);
    }

    #[test]
    fn a_last_wait_lasts_until_the_end_unless_the_task_mostly_waits_for_others() {
        let recording = woken_by_5(203, 1, 6);
        let last = |pid| recording.tasks.iter().find(|task| task.pid == pid).unwrap().steps.last().copied();
        assert!(matches!(last(5), Some(Step::Wait { to: 303_000, cause: Cause::Outside, .. })));
        assert_eq!(last(6), Some(Step::Compute(100_000)));
    }

    /// Task 5 of processor 0 wakes task 6 of processor 1 that many times without a wait; then once there, is preempted by it, and wakes it again.
    fn wakes_again(times: u64) -> Recording {
        let mut history = History::default();
        let on = |cpu, event| Event { cpu, ..event };
        history.event(&event(Kind::Switch, 0, 0, 5, 0));
        history.event(&on(1, event(Kind::Switch, 1, 6, 0, 1)));
        for at in (1..=times).map(|turn| 100 * turn) {
            history.event(&event(Kind::Waking, at, 6, 5, 0));
            history.event(&on(1, event(Kind::Switch, at + 10, 0, 6, 0)));
            history.event(&on(1, event(Kind::Switch, at + 50, 6, 0, 1)));
        }
        let end = 100 * (times + 1);
        history.event(&event(Kind::Waking, end, 6, 5, 0));
        history.event(&event(Kind::Switch, end + 2, 5, 6, 0));
        history.event(&event(Kind::Switch, end + 40, 6, 5, 1));
        history.event(&event(Kind::Waking, end + 60, 6, 5, 0));
        history.event(&event(Kind::Switch, end + 70, 5, 6, 1));
        history.finish()
    }

    #[test]
    fn an_answer_is_needed_unless_the_task_goes_on_without_it_where_it_can() {
        let found = |times| {
            let recording = wakes_again(times);
            let task = recording.tasks.iter().find(|task| task.pid == 5).unwrap();
            task.steps.iter().filter(|step| matches!(step, Step::Found(_))).count()
        };
        assert_eq!((found(0), found(10)), (1, 0));
    }

    #[test]
    fn where_the_running_task_goes_on_until_it_waits_or_is_preempted_later_there_is_no_such_way() {
        for (at, left) in [(203, 1), (400, 0)] {
            let recording = woken_by_5(at, left, 6);
            assert!(recording.delays[Waking::Task as usize].is_empty(), "{at}");
            assert_eq!(work(&recording, 5), (at - 100) * 1000);
        }
        assert!(woken_by_5(203, 0, 7).delays[Waking::Task as usize].is_empty());
    }

    /// Tasks 5 and 6 wake each other in turn by packets, each 100 us; `before` says what comes right before the packets of a turn.
    fn by_packets(turns: u64, before: impl Fn(u64) -> &'static [Kind]) -> Recording {
        let mut history = History::default();
        let event = |us: u64, kind, task, other, flag, value| {
            let bits = Event::bits(flag, Context::SoftInterrupt);
            Event { time: us * 1000, value, task, other, extra: 0, cpu: 0, kind, bits }
        };
        history.event(&event(0, Kind::Switch, 6, 5, 1, 0));
        for turn in 1..turns {
            let (this, next) = if turn % 2 == 1 { (5, 6) } else { (6, 5) };
            let at = 100 * turn;
            before(turn).iter().for_each(|&kind| history.event(&event(at, kind, this, this, 0, 30)));
            history.event(&event(at + 1, Kind::SoftirqEntry, this, this, 0, 3));
            history.event(&event(at + 1, Kind::Waking, next, this, 0, 0));
            history.event(&event(at + 1, Kind::SoftirqExit, this, this, 0, 3));
            history.event(&event(at + 5, Kind::Switch, this, next, 1, 0));
        }
        history.finish()
    }

    fn from_outside(recording: &Recording) -> usize {
        let steps = recording.tasks.iter().flat_map(|task| &task.steps);
        steps
            .filter(|step| matches!(step, Step::Wait { from: 1.., to, cause: Cause::Outside } if *to < recording.span))
            .count()
    }

    #[test]
    fn an_interrupt_that_comes_before_packets_by_chance_does_not_make_them_come_from_outside() {
        const DEVICE: &[Kind] = &[Kind::IrqEntry, Kind::IrqExit];
        assert_eq!(from_outside(&by_packets(200, |turn| if turn == 100 { DEVICE } else { &[] })), 0);
        assert!(from_outside(&by_packets(200, |_| DEVICE)) > 190);
    }

    #[test]
    fn timers_that_rarely_end_a_wait_are_timeouts() {
        let expires = |turn| if turn % 50 == 0 { &[Kind::VectorEntry, Kind::TimerExpire][..] } else { &[] };
        let recording = by_packets(1000, expires);
        let causes = crate::work::work(&recording, |_| crate::work::Wish::default()).causes;
        let (relative, absolute) = causes.iter().fold((0, 0), |sum, it| (sum.0 + it.relative, sum.1 + it.absolute));
        assert!(relative > 10 && absolute == 0, "{relative} {absolute}");
    }
}
