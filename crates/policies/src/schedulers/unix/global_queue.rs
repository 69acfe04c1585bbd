//! One runqueue for all processors, as BSD kernels had it: any processor takes the best task that waits anywhere. In
//! addition, each processor has a queue of its own for tasks that may not run everywhere.
//!
//! In the simulated kernel a ready task is on some processor's runqueue. Where a processor takes a task that is on another
//! one's, the policy first reports that it has none; then names that task when the kernel asks which to pull; and picks it
//! at the next call.

use crate::schedulers::{
    Context,
    kit::{
        priority_lists::{End, PER_LIST, PriorityLists},
        queue::Links,
    },
};
use schedlab_model::{
    Nanos,
    task::{CpuId, TaskId},
};

/// The queue, of `LISTS` lists.
#[derive(Debug)]
pub struct GlobalQueue<const LISTS: usize> {
    links: Links,
    shared: PriorityLists<LISTS>,
    /// The queues of single processors, each with the number of tasks in it.
    own: Vec<(PriorityLists<LISTS>, u32)>,
    /// Tasks in all of these: most often there are none, and no idle processor looks for one.
    bound: usize,
    /// The priority with which each task was last queued, and the processor whose queue it joined if it was bound.
    priorities: Vec<u16>,
    homes: Vec<Option<CpuId>>,
    /// When a timer last woke a task: softclock runs on the first processor.
    timer: Nanos,
    /// A task that its new processor pulls keeps its place.
    pulled: Option<TaskId>,
}

impl<const LISTS: usize> GlobalQueue<LISTS> {
    pub fn new(processors: u16) -> Self {
        GlobalQueue {
            links: Links::default(),
            shared: PriorityLists::default(),
            own: vec![Default::default(); processors.into()],
            bound: 0,
            priorities: Vec::new(),
            homes: Vec::new(),
            timer: Nanos::MAX,
            pulled: None,
        }
    }

    /// Whether a task may run on some processors only.
    #[inline]
    pub fn is_bound(&self, cx: &Context<'_>, task: TaskId) -> bool {
        self.own.len() > 1 && cx.tasks[task as usize].allowed.count() < self.own.len() as u32
    }

    /// A task joins, with that priority.
    #[inline(always)]
    pub fn add(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId, priority: u16, end: End) {
        if task as usize >= self.priorities.len() {
            self.priorities.resize(task as usize + 1, 0);
            self.homes.resize(task as usize + 1, None);
        }
        self.priorities[task as usize] = priority;
        self.homes[task as usize] = self.is_bound(cx, task).then(|| self.shortest(cx, cpu, task));
        self.insert(task, end);
    }

    #[inline(always)]
    fn insert(&mut self, task: TaskId, end: End) {
        let priority = self.priorities[task as usize];
        if let Some(home) = self.homes[task as usize] {
            let (lists, length) = &mut self.own[usize::from(home)];
            lists.add(&mut self.links, task, priority, end);
            *length += 1;
            self.bound += 1;
        } else {
            self.shared.add(&mut self.links, task, priority, end);
        }
    }

    /// A queued task leaves.
    #[inline(always)]
    fn remove(&mut self, task: TaskId) {
        let priority = self.priorities[task as usize];
        if let Some(home) = self.homes[task as usize] {
            let (lists, length) = &mut self.own[usize::from(home)];
            lists.remove(&mut self.links, task, priority);
            *length -= 1;
            self.bound -= 1;
        } else {
            self.shared.remove(&mut self.links, task, priority);
        }
    }

    /// A queued task that may use some processors only leaves one of them; any other one stays, for the queue is the same.
    pub fn take_bound(&mut self, task: TaskId) {
        if self.pulled != Some(task) && self.has_home(task) {
            self.remove(task);
        }
    }

    /// It joins another one. One that stayed leaves the queue of all if it may use some processors only by now.
    pub fn add_bound(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId, priority: u16) {
        if self.pulled.take() == Some(task) {
            return;
        }
        let stayed = !self.has_home(task);
        if stayed && self.is_bound(cx, task) {
            self.remove(task);
        } else if stayed {
            return;
        }
        self.add(cx, cpu, task, priority, End::Tail);
    }

    /// Whether a task was bound when it was last queued, to a processor's own queue.
    pub fn has_home(&self, task: TaskId) -> bool {
        self.homes.get(task as usize).is_some_and(Option::is_some)
    }

    /// The processor whose queue a bound task joins (sched_pickcpu): that where it was, unless another has a shorter one.
    fn shortest(&self, cx: &Context<'_>, cpu: CpuId, task: TaskId) -> CpuId {
        let may = cx.tasks[task as usize].allowed.iter();
        may.min_by_key(|&other| (self.own[usize::from(other)].1, other != cpu)).unwrap_or(cpu)
    }

    /// The processor whose kernel acts: that of the waker, or the first one, which runs softclock.
    pub fn here(cx: &Context<'_>) -> CpuId {
        cx.waker.map_or(0, |waker| cx.tasks[waker as usize].cpu)
    }

    /// The processor that was interrupted, where the kernel reports that of the woken task for a timer.
    pub fn interrupted(&self, cx: &Context<'_>, cpu: CpuId) -> CpuId {
        if self.timer == cx.now { 0 } else { cpu }
    }

    /// A queued task has another priority: it goes to the tail of its new list, or keeps its place if that is the old one.
    #[inline(never)]
    pub fn change(&mut self, task: TaskId, priority: u16) {
        if self.priorities[task as usize] / PER_LIST == priority / PER_LIST {
            self.priorities[task as usize] = priority;
        } else {
            self.remove(task);
            self.priorities[task as usize] = priority;
            self.insert(task, End::Tail);
        }
    }

    /// The best task for a processor; the shared queue wins ties.
    #[inline]
    fn best(&self, cpu: CpuId) -> Option<TaskId> {
        let shared = self.shared.best();
        match &self.own[usize::from(cpu)] {
            (_, 0) => shared,
            (own, _) => {
                let priority = |task: &TaskId| self.priorities[*task as usize];
                shared.into_iter().chain(own.best()).min_by_key(priority)
            }
        }
    }

    /// Takes the best task for a processor, if it is queued there.
    #[inline(always)]
    pub fn take(&mut self, cx: &Context<'_>, cpu: CpuId) -> Option<TaskId> {
        let task = match self.best(cpu) {
            Some(task) => Some(task).filter(|&task| cx.tasks[task as usize].cpu == cpu),
            None if self.bound > 0 => self.displaced(cx, cpu),
            None => None,
        }?;
        self.remove(task);
        Some(task)
    }

    /// A bound task that was here last and has joined another processor's queue, which has not taken it: this one has nothing else.
    #[inline(never)]
    fn displaced(&self, cx: &Context<'_>, cpu: CpuId) -> Option<TaskId> {
        let here = |task: TaskId| cx.tasks[task as usize].cpu == cpu;
        self.own.iter().filter(|own| own.1 > 0).find_map(|(lists, _)| lists.find(&self.links, here))
    }

    /// The best task for a processor, if it is queued on another one.
    pub fn elsewhere(&mut self, cx: &Context<'_>, cpu: CpuId) -> Option<TaskId> {
        self.pulled = self.best(cpu).filter(|&task| cx.tasks[task as usize].cpu != cpu);
        self.pulled
    }

    /// Where a new or woken task joins: on the first idle processor, else on that of its waker, or on the first, where softclock
    /// wakes it. A bound one goes where it finds the fewest others, if possible where it was.
    pub fn place(&mut self, cx: &Context<'_>, task: TaskId) -> CpuId {
        if cx.waker.is_none() {
            self.timer = cx.now;
        }
        if self.is_bound(cx, task) {
            return self.shortest(cx, cx.tasks[task as usize].cpu, task);
        }
        let idle = cx.processors.iter().position(|processor| processor.running.is_none());
        idle.map_or_else(|| Self::here(cx), |cpu| cpu as CpuId)
    }

    /// A bound task that was put back has joined the queue of another processor: its home.
    pub fn moved(&self, cpu: CpuId, task: TaskId) -> Option<CpuId> {
        self.homes[task as usize].filter(|&home| home != cpu)
    }

    /// A task was queued that may run anywhere: every idle processor is asked to reschedule.
    #[inline]
    pub fn tell_idle(&self, cx: &mut Context<'_>, task: TaskId) {
        if self.own.len() == 1 || self.is_bound(cx, task) {
            return;
        }
        for cpu in 0..self.own.len() {
            if cx.processors[cpu].running.is_none() {
                cx.resched(cpu as CpuId);
            }
        }
    }
}
