//! A policy around another one that holds the kernel to the contract of the trait, and the other one to its own: who may
//! be enqueued, picked, charged, moved, and when.

use schedlab_model::{
    Nanos,
    info::{Info, Params},
    task::{CpuId, Task, TaskId, Wait},
    topology::Topology,
};
use schedlab_policies::schedulers::{Balance, Clocks, Context, Dequeue, Enqueue, Features, Pick, Preempt, Scheduler};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Unborn,
    Ready(CpuId),
    Running(CpuId),
    Asleep(Wait),
    Moving,
    Ended,
}

/// Panics where the contract is broken.
pub(super) struct Contract<S> {
    inner: S,
    now: Nanos,
    tasks: Vec<Place>,
    /// For each processor, when its task was picked, and the time charged since.
    stretches: Vec<(Nanos, Nanos)>,
}

impl<S> Contract<S> {
    fn place(&mut self, task: TaskId) -> &mut Place {
        let index = task as usize;
        if index >= self.tasks.len() {
            self.tasks.resize(index + 1, Place::Unborn);
        }
        &mut self.tasks[index]
    }

    /// What holds in every hook.
    fn enter(&mut self, cx: &Context<'_>) {
        assert!(cx.now >= self.now, "time goes back to {}", cx.now);
        self.now = cx.now;
        for (cpu, processor) in cx.processors.iter().enumerate() {
            let Some(task) = processor.running else { continue };
            assert_eq!(cx.tasks[task as usize].cpu, cpu as CpuId, "{task} runs elsewhere");
        }
    }

    fn running(&mut self, cpu: CpuId) -> Option<TaskId> {
        self.tasks.iter().position(|place| *place == Place::Running(cpu)).map(|task| task as TaskId)
    }
}

impl<S: Scheduler> Scheduler for Contract<S> {
    const INFO: Info = S::INFO;
    // Ticks are not passed over, so that each is seen.
    const FEATURES: Features = Features { passes_ticks: false, passes_idle_ticks: false, ..S::FEATURES };

    fn clocks(params: &Params, machine: Clocks) -> Clocks {
        S::clocks(params, machine)
    }

    fn ticks(params: &Params) -> bool {
        S::ticks(params)
    }

    fn new(params: &Params, topology: &Topology, tick: Nanos) -> Self {
        let stretches = vec![(0, 0); topology.processors().into()];
        Contract { inner: S::new(params, topology, tick), now: 0, tasks: Vec::new(), stretches }
    }

    fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, why: Enqueue) -> CpuId {
        self.enter(cx);
        let place = *self.place(task);
        let right = match why {
            Enqueue::New => place == Place::Unborn,
            Enqueue::Migrate => matches!(place, Place::Ready(cpu) if !cx.tasks[task as usize].allowed.has(cpu)),
            // The kernel's own tasks are never new: they are woken first.
            _ => matches!(place, Place::Asleep(_) | Place::Unborn),
        };
        assert!(right, "{task} is {place:?}, {why:?}");
        let cpu = self.inner.select_cpu(cx, task, why);
        assert!(cx.tasks[task as usize].allowed.has(cpu), "{task} may not run on {cpu}");
        cpu
    }

    fn exec_cpu(&mut self, cx: &mut Context<'_>, task: TaskId) -> CpuId {
        self.enter(cx);
        let (place, cpu) = (*self.place(task), cx.tasks[task as usize].cpu);
        assert_eq!(place, Place::Running(cpu), "{task} executes a program");
        let to = self.inner.exec_cpu(cx, task);
        assert!(to == cpu || cx.tasks[task as usize].allowed.has(to), "{task} may not run on {to}");
        to
    }

    fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        self.enter(cx);
        assert_eq!(cx.tasks[task as usize].cpu, cpu);
        let place = *self.place(task);
        let right = match why {
            Enqueue::New => place == Place::Unborn,
            Enqueue::Wakeup => matches!(place, Place::Asleep(_) | Place::Unborn),
            Enqueue::Preempted | Enqueue::SliceEnd | Enqueue::Yield => place == Place::Running(cpu),
            Enqueue::Migrate => place == Place::Moving,
        };
        assert!(right, "{task} is {place:?}, enqueued for {why:?}");
        *self.place(task) = Place::Ready(cpu);
        self.inner.enqueue(cx, cpu, task, why);
    }

    fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Dequeue) {
        self.enter(cx);
        let (expected, next) = match why {
            Dequeue::Sleep(wait) => (Place::Running(cpu), Place::Asleep(wait)),
            Dequeue::Exit => (Place::Running(cpu), Place::Ended),
            Dequeue::Migrate => (Place::Ready(cpu), Place::Moving),
        };
        assert_eq!(*self.place(task), expected, "{task} dequeued for {why:?}");
        if let (Dequeue::Exit, Some(parent)) = (why, cx.tasks[task as usize].parent) {
            assert_ne!(*self.place(parent), Place::Asleep(Wait::Child), "{task} leaves before its parent is woken");
        }
        *self.place(task) = next;
        self.inner.dequeue(cx, cpu, task, why);
    }

    fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        self.enter(cx);
        assert_eq!(self.running(cpu), None, "processor {cpu} has a task");
        let pick = self.inner.pick_next(cx, cpu)?;
        assert_eq!(*self.place(pick.task), Place::Ready(cpu), "{} picked", pick.task);
        *self.place(pick.task) = Place::Running(cpu);
        self.stretches[cpu as usize] = (cx.now, 0);
        Some(pick)
    }

    fn charge(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, ran: Nanos) {
        self.enter(cx);
        assert_eq!(*self.place(task), Place::Running(cpu), "{task} charged");
        let (since, charged) = &mut self.stretches[cpu as usize];
        *charged += ran;
        assert!(*charged <= cx.now - *since, "{task} is charged {charged} ns in {} ns", cx.now - *since);
        self.inner.charge(cx, cpu, task, ran);
    }

    fn wakeup_preempts(&mut self, cx: &mut Context<'_>, cpu: CpuId, running: TaskId, woken: TaskId) -> Preempt {
        self.enter(cx);
        assert_eq!((*self.place(running), *self.place(woken)), (Place::Running(cpu), Place::Ready(cpu)));
        self.inner.wakeup_preempts(cx, cpu, running, woken)
    }

    fn return_to_user(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) {
        self.enter(cx);
        assert_eq!(*self.place(task), Place::Running(cpu), "{task} returns from the kernel");
        self.inner.return_to_user(cx, cpu, task);
    }

    fn stat_tick(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        self.enter(cx);
        assert_eq!(cx.processors[cpu as usize].running, self.running(cpu));
        self.inner.stat_tick(cx, cpu);
    }

    fn interrupted(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        self.enter(cx);
        self.inner.interrupted(cx, cpu);
    }

    fn admits(&mut self, cx: &mut Context<'_>, task: TaskId) -> bool {
        self.enter(cx);
        assert_eq!(*self.place(task), Place::Unborn, "{task} asks for a reservation");
        self.inner.admits(cx, task)
    }

    fn changed(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, before: &Task) {
        self.enter(cx);
        let (place, after) = (*self.place(task), &cx.tasks[task as usize]);
        assert_eq!(cx.processors[cpu as usize].running == Some(task), place == Place::Running(cpu), "{task} changes");
        assert!(!matches!(place, Place::Ready(_) | Place::Ended), "{task} is {place:?}, and changes");
        assert_eq!((before.id, before.cpu, after.cpu), (task, cpu, cpu));
        self.inner.changed(cx, cpu, task, before);
    }

    fn reaped(&mut self, cx: &mut Context<'_>, parent: TaskId, child: TaskId) {
        self.enter(cx);
        // Under a message-passing kernel a task ends while it waits for the answer to its call of exit.
        assert!(
            matches!(self.place(child), Place::Ended | Place::Asleep(_)),
            "{child} is {:?}, reaped",
            self.place(child)
        );
        assert!(!matches!(self.place(parent), Place::Ready(_)), "{parent} waits for a processor, and reaps");
        self.inner.reaped(cx, parent, child);
    }

    fn tick(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        self.enter(cx);
        assert_eq!(cx.processors[cpu as usize].running, self.running(cpu));
        self.inner.tick(cx, cpu);
    }

    fn tick_needs_clock_task(&self, cx: &Context<'_>, cpu: CpuId) -> bool {
        self.inner.tick_needs_clock_task(cx, cpu)
    }

    fn clock_task(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        self.enter(cx);
        self.inner.clock_task(cx, cpu);
    }

    fn timer(&mut self, cx: &mut Context<'_>, cpu: CpuId, token: u32) {
        self.enter(cx);
        self.inner.timer(cx, cpu, token);
    }

    fn balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, why: Balance) -> Option<TaskId> {
        self.enter(cx);
        let task = self.inner.balance(cx, cpu, why)?;
        let place = *self.place(task);
        assert!(matches!(place, Place::Ready(from) if from != cpu), "{task} is {place:?}, pulled to {cpu}");
        assert!(cx.tasks[task as usize].allowed.has(cpu), "{task} may not run on {cpu}");
        Some(task)
    }
}
