//! What the schedulers of Linux share: on every processor tasks with a reservation before real-time ones, and these before fair ones;
//! and the order in which the kernel's hooks reach a class. The fair class has its groups in a [`Tree`]; cfs and eevdf differ in their
//! [`FairClass`].

use super::{
    balancer::{Balancer, Kernel},
    deadline::Deadline,
    entity::{Kind, Leave, Meeting, Placing},
    hierarchy::{FairClass, Tree},
    loads::Loads,
    realtime::Realtime,
    task_class::{is_deadline, is_fair, is_realtime},
};
use crate::schedulers::{Context, Dequeue, Enqueue, Pick, Preempt, kit::timeline::EntityId};
use schedlab_model::{
    Nanos,
    info::{Domain, Parameter, Params},
    processors::CpuSet,
    task::{CpuId, TaskId},
    topology::Topology,
};

/// Whether every session is a group.
pub const AUTOGROUP: Parameter = Parameter {
    name: "autogroup",
    meaning: "whether the tasks of each session that are in no group make a group",
    domain: Domain::Switch,
    default: Some("false"),
    logarithmic: false,
    grows: false,
    host: Some("autogroup"),
};

/// What runs on a processor.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cpu {
    /// The running task is of a class above the fair one.
    pub realtime: bool,
    /// It has a reservation.
    pub deadline: bool,
}

/// All classes on all processors.
#[derive(Debug)]
pub struct Linux<L: FairClass> {
    pub class: L,
    pub tree: Tree<L>,
    pub realtime: Realtime,
    pub deadline: Deadline,
    pub cpus: Vec<Cpu>,
    pub balancer: Balancer,
    /// Processors where a new choice has been requested.
    asked: CpuSet,
    /// The task that was enqueued last, if it is new.
    newest: Option<TaskId>,
}

impl<L: FairClass> Linux<L> {
    pub fn new(class: L, params: &Params, topology: &Topology, tick: Nanos, kernel: Kernel) -> Self {
        let processors = topology.processors();
        let balancer = Balancer::new(topology, tick, kernel);
        let loads = Loads::new(&balancer.domains.capacities);
        Linux {
            class,
            tree: Tree::new(processors, params.switch("autogroup"), loads),
            realtime: Realtime::new(params, processors, tick, kernel < Kernel::V6_18),
            deadline: Deadline::new(params, balancer.domains.capacities.clone()),
            cpus: vec![Cpu::default(); processors.into()],
            balancer,
            asked: CpuSet::none(),
            newest: None,
        }
    }

    #[inline(always)]
    pub fn several(&self) -> bool {
        self.tree.processors > 1
    }

    /// Asks for a new choice.
    #[inline(always)]
    pub fn resched(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        self.asked.insert(cpu);
        cx.resched(cpu);
    }

    /// Passes on what the fair class wants after a hook's work on a processor.
    #[inline(always)]
    pub fn pass_on(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        if std::mem::take(&mut self.tree.resched) {
            self.resched(cx, cpu);
        }
    }

    /// The entity of a task, which may be seen for the first time.
    #[inline(always)]
    pub fn entity(&mut self, cx: &Context<'_>, task: TaskId) -> EntityId {
        let entity = self.tree.of_task(task);
        if (entity as usize) < self.tree.entities.len() {
            return entity;
        }
        self.tree.admit(&self.class, &cx.tasks, &cx.groups, task);
        self.balancer.admit(&cx.tasks, task);
        self.realtime.known |= !self.several() && cx.tasks.iter().any(is_realtime);
        self.tree.of_task(task)
    }

    /// A preempted task is still current: nothing is to be done before the next choice.
    #[inline(always)]
    pub fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        match why {
            Enqueue::Preempted | Enqueue::SliceEnd => {}
            Enqueue::Yield => self.yield_task(cx, cpu, task),
            Enqueue::New => self.begin(cx, cpu, task),
            Enqueue::Wakeup => self.wake(cx, cpu, task),
            Enqueue::Migrate => self.arrive(cx, cpu, task),
        }
    }

    #[inline(never)]
    fn begin(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) {
        self.join(cx, cpu, task, Placing::New);
        self.newest = Some(task);
    }

    #[inline(always)]
    fn wake(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) {
        self.join(cx, cpu, task, Placing::Wakeup);
    }

    /// A task comes from another processor.
    #[inline(never)]
    fn arrive(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) {
        self.join(cx, cpu, task, Placing::Move);
        if let Some(running) = cx.processors[cpu as usize].running
            && self.wakeup_preempts(cx, cpu, running, task) != Preempt::No
        {
            self.resched(cx, cpu);
        }
    }

    #[inline(always)]
    fn join(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, placing: Placing) {
        self.tree.now = cx.now;
        self.newest = None;
        let entity = self.entity(cx, task);
        let before = self.crowd(cpu);
        if self.several() && placing == Placing::Wakeup {
            self.balancer.woken(cx.now, cpu);
        }
        if self.tree.entity(entity).kind == Kind::Realtime && self.join_above(cx, cpu, task, placing) {
            self.add_nr_running(cpu, before);
            return;
        }
        if self.several() {
            self.settle_in(cx, cpu, task, entity, placing);
        }
        if placing == Placing::New {
            self.inherit_from_parent(cx, cpu, task, entity);
        }
        let first = self.realtime.known && self.tree.nr_queued(cpu) == 0;
        self.tree.enqueue_task_fair(&self.class, entity, placing);
        self.add_nr_running(cpu, before);
        if first {
            self.first_fair(cx, cpu);
        }
        self.pass_on(cx, cpu);
    }

    /// A forked task begins at its parent's virtual time, unless its class places it elsewhere.
    fn inherit_from_parent(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId, entity: EntityId) {
        let Some(parent) = cx.tasks[task as usize].parent else { return };
        let parent = self.tree.of_task(parent);
        let queue = self.tree.entity(entity).queue;
        if self.tree.cpu(queue) == usize::from(cpu) && self.tree.queue(queue).current == parent {
            self.tree.update_curr(&self.class, queue);
            self.tree.entity(entity).vruntime = self.tree.entity(parent).vruntime;
        }
    }

    fn yield_task(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) {
        self.tree.now = cx.now;
        if is_realtime(&cx.tasks[task as usize]) {
            self.realtime.yield_task(cx, cpu, task);
        } else if is_deadline(&cx.tasks[task as usize]) {
            let fair = self.has_fair(cpu);
            self.deadline.yield_task(cx, cpu, task, fair);
        } else if self.tree.queue(cpu.into()).tasks > 1 {
            let entity = self.tree.of_task(task);
            self.class.yield_task_fair(&mut self.tree, entity);
            self.tree.resched = false; // a choice follows anyway
        }
    }

    #[inline(always)]
    pub fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Dequeue) {
        self.tree.now = cx.now;
        if self.several() {
            self.leave_cpu(cx, cpu, task, why);
        }
        if self.realtime.known && !is_fair(&cx.tasks[task as usize]) {
            self.leave_above(cx, cpu, task, why);
            return;
        }
        let entity = self.tree.of_task(task);
        match why {
            Dequeue::Sleep(_) => self.tree.dequeue_task_fair(&self.class, entity, Leave::Sleep),
            Dequeue::Exit => {
                self.tree.dequeue_task_fair_rarely(&self.class, entity, Leave::End);
                if self.several() {
                    self.tree.remove_entity_load_avg(entity);
                }
            }
            Dequeue::Migrate => {
                self.tree.dequeue_task_fair_rarely(&self.class, entity, Leave::Move);
                self.pass_on(cx, cpu);
            }
        }
        self.tree.resched = false; // a choice follows anyway
    }

    #[inline(always)]
    pub fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        self.tree.now = cx.now;
        let task = if self.realtime.known { self.pick_of_all(cx, cpu) } else { self.pick_fair(cpu) };
        self.asked.remove(cpu);
        self.tree.resched = false;
        if !self.tree.pools.alarms.is_empty() {
            self.set_alarms(cx, cpu);
        }
        if self.several() {
            self.note_choice(cx, cpu, task);
        }
        Some(Pick { task: task?, slice: None })
    }

    #[inline(always)]
    pub fn pick_fair(&mut self, cpu: CpuId) -> Option<TaskId> {
        self.tree.pick_next_task_fair(&self.class, cpu).map(|entity| self.tree.task(entity))
    }

    #[inline(always)]
    pub fn charge(&mut self, cx: &mut Context<'_>, cpu: CpuId, ran: Nanos) {
        self.tree.clocks[usize::from(cpu)] += ran;
        if self.realtime.known {
            self.charge_any(cx, cpu, ran);
        }
    }

    #[inline(always)]
    pub fn wakeup_preempts(&mut self, cx: &mut Context<'_>, cpu: CpuId, running: TaskId, woken: TaskId) -> Preempt {
        if self.asked.has(cpu) {
            return Preempt::No; // it has been requested already
        }
        let preempts = match self.realtime.known.then(|| self.decide(cx, cpu, running, woken)).flatten() {
            Some(preempts) => preempts,
            None => self.meet(running, woken),
        };
        self.pass_on(cx, cpu);
        self.asked.insert_if(cpu, preempts);
        preempts.into()
    }

    /// Two fair tasks of a processor compete.
    #[inline(always)]
    fn meet(&mut self, running: TaskId, task: TaskId) -> bool {
        let (one, other) = (self.tree.of_task(running), self.tree.of_task(task));
        if self.tree.pools.exist() && (self.tree.throttled_hierarchy(other) || self.tree.throttled_hierarchy(one)) {
            return false;
        }
        let (current, woken) = self.tree.find_matching_se(one, other);
        if current == woken {
            return false;
        }
        let normal = self.tree.entity(other).kind == Kind::Normal;
        let forked = self.newest == Some(task);
        self.class.check_preempt_wakeup(&mut self.tree, Meeting { current, woken, forked, normal })
    }

    #[inline]
    pub fn tick(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        self.tree.now = cx.now;
        let Some(running) = cx.processors[cpu as usize].running else { return };
        if self.realtime.known {
            self.tick_any(cx, cpu, running);
        } else {
            self.tree.task_tick_fair(&self.class, cpu);
        }
        self.pass_on(cx, cpu);
    }
}

/// The hooks of a scheduler that is such a pair of classes and nothing else, and its features.
macro_rules! hooks {
    () => {
        const FEATURES: $crate::schedulers::Features = $crate::schedulers::Features {
            ticks: true,
            charges_at_wakeups: true,
            passes_idle_ticks: true,
            ..$crate::schedulers::Features::NONE
        };

        fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, why: Enqueue) -> CpuId {
            self.0.select_cpu(cx, task, why)
        }

        fn exec_cpu(&mut self, cx: &mut Context<'_>, task: TaskId) -> CpuId {
            self.0.exec_cpu(cx, task)
        }

        #[inline(always)]
        fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
            self.0.enqueue(cx, cpu, task, why);
        }

        #[inline(always)]
        fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Dequeue) {
            self.0.dequeue(cx, cpu, task, why);
        }

        #[inline(always)]
        fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
            self.0.pick_next(cx, cpu)
        }

        #[inline(always)]
        fn charge(&mut self, cx: &mut Context<'_>, cpu: CpuId, _: TaskId, ran: Nanos) {
            self.0.charge(cx, cpu, ran);
        }

        #[inline(always)]
        fn wakeup_preempts(&mut self, cx: &mut Context<'_>, cpu: CpuId, running: TaskId, woken: TaskId) -> Preempt {
            self.0.wakeup_preempts(cx, cpu, running, woken)
        }

        #[inline]
        fn tick(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
            self.0.tick(cx, cpu);
        }

        #[inline]
        fn idle_ticks(&self, _: &Context<'_>) -> $crate::schedulers::Ticks {
            self.0.idle_ticks()
        }

        #[inline]
        fn omits_tick(&self, cx: &Context<'_>, cpu: CpuId) -> bool {
            self.0.omits_tick(cx, cpu)
        }

        fn admits(&mut self, cx: &mut Context<'_>, task: TaskId) -> bool {
            self.0.admits(cx, task)
        }

        fn changed(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, before: &schedlab_model::task::Task) {
            self.0.changed(cx, cpu, task, before);
        }

        fn timer(&mut self, cx: &mut Context<'_>, cpu: CpuId, token: u32) {
            self.0.timer(cx, cpu, token);
        }

        #[inline]
        fn balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, why: Balance) -> Option<TaskId> {
            self.0.balance(cx, cpu, why)
        }
    };
}
pub(in crate::schedulers) use hooks;
