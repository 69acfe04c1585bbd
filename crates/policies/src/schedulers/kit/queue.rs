//! The first-in first-out runqueue that many policies are built on: a linked list through a vector of links, a link a
//! task, so that a removal from the middle costs as little as one from the head and nothing is allocated while running.
//! [`Queues`] is a queue a processor; policies with several lists a processor are built on [`List`].

use crate::schedulers::Context;
use schedlab_model::{
    processors::PerProcessor,
    task::{CpuId, TaskId},
};
use std::collections::VecDeque;

const NONE: TaskId = TaskId::MAX;

/// The links of one task: the task before it and the task after it. A head has no task before it and a tail none after it;
/// their links there are stale.
#[derive(Debug, Clone, Copy)]
struct Link {
    before: TaskId,
    after: TaskId,
}

/// Links of all tasks of a run. A task is in one [`List`] at most.
#[derive(Debug, Default)]
pub struct Links(Vec<Link>);

/// A list of tasks.
#[derive(Debug, Clone, Copy)]
pub struct List {
    head: TaskId,
    /// Stale while there is no head.
    tail: TaskId,
}

impl Default for List {
    fn default() -> Self {
        List { head: NONE, tail: NONE }
    }
}

impl Links {
    #[inline(always)]
    fn at(&mut self, task: TaskId) -> &mut Link {
        &mut self.0[task as usize]
    }

    /// The links of a task that may be new.
    #[inline(always)]
    fn of_new(&mut self, task: TaskId) -> &mut Link {
        if task as usize >= self.0.len() {
            self.grow(task);
        }
        self.at(task)
    }

    #[cold]
    fn grow(&mut self, task: TaskId) {
        self.0.resize(task as usize + 1, Link { before: NONE, after: NONE });
    }
}

impl List {
    /// The first task.
    #[inline(always)]
    pub fn head(&self) -> Option<TaskId> {
        (self.head != NONE).then_some(self.head)
    }

    /// Whether it is empty.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// Whether exactly one task is in it.
    #[inline]
    pub fn is_alone(&self) -> bool {
        self.head != NONE && self.head == self.tail
    }

    /// The task after one of the list.
    #[inline]
    pub fn after(&self, links: &Links, task: TaskId) -> Option<TaskId> {
        (task != self.tail).then(|| links.0[task as usize].after)
    }

    /// The tasks in order.
    pub fn iter<'a>(&self, links: &'a Links) -> impl Iterator<Item = TaskId> + use<'a> {
        let list = *self;
        std::iter::successors(self.head(), move |&task| list.after(links, task))
    }

    /// Adds a task at the end.
    #[inline(always)]
    pub fn push_tail(&mut self, links: &mut Links, task: TaskId) {
        links.of_new(task).before = self.tail;
        match self.head {
            NONE => self.head = task,
            _ => links.at(self.tail).after = task,
        }
        self.tail = task;
    }

    /// Adds a task at the front.
    #[inline]
    pub fn push_head(&mut self, links: &mut Links, task: TaskId) {
        links.of_new(task).after = self.head;
        match self.head {
            NONE => self.tail = task,
            head => links.at(head).before = task,
        }
        self.head = task;
    }

    /// Adds a task just before one that is in the list.
    #[inline]
    pub fn insert_before(&mut self, links: &mut Links, mark: TaskId, task: TaskId) {
        if mark == self.head {
            return self.push_head(links, task);
        }
        let before = links.at(mark).before;
        *links.of_new(task) = Link { before, after: mark };
        links.at(before).after = task;
        links.at(mark).before = task;
    }

    /// The last task.
    #[inline]
    pub fn tail(&self) -> Option<TaskId> {
        (self.head != NONE).then_some(self.tail)
    }

    /// The task just before a task of the list.
    #[inline]
    pub fn before(&self, links: &Links, task: TaskId) -> Option<TaskId> {
        (task != self.head).then(|| links.0[task as usize].before)
    }

    /// Takes the first task.
    #[inline(always)]
    pub fn pop_head(&mut self, links: &mut Links) -> Option<TaskId> {
        let task = self.head()?;
        self.head = if task == self.tail { NONE } else { links.at(task).after };
        Some(task)
    }

    /// Takes a task out, wherever it is.
    #[inline]
    pub fn remove(&mut self, links: &mut Links, task: TaskId) {
        let Link { before, after } = *links.at(task);
        if task == self.head {
            self.pop_head(links);
        } else if task == self.tail {
            self.tail = before;
        } else {
            links.at(before).after = after;
            links.at(after).before = before;
        }
    }

    /// The first task of which this is true.
    pub fn find(&self, links: &Links, is: impl Fn(TaskId) -> bool) -> Option<TaskId> {
        self.iter(links).find(|&task| is(task))
    }

    /// Adds all tasks of another list at the end, in their order; that list is empty afterwards.
    #[inline]
    pub fn append(&mut self, links: &mut Links, other: &mut List) {
        let Some(first) = other.head() else { return };
        links.at(first).before = self.tail;
        match self.head {
            NONE => self.head = first,
            _ => links.at(self.tail).after = first,
        }
        self.tail = other.tail;
        *other = List::default();
    }
}

/// A queue for each processor: the tasks that wait, in order of arrival. The running task is not among them. Tasks rarely
/// leave from the middle, so these are not [`List`]s.
#[derive(Debug)]
pub struct Queues(PerProcessor<VecDeque<TaskId>>);

impl Queues {
    /// Empty ones.
    pub fn new(processors: u16) -> Queues {
        Queues(PerProcessor::new(processors, |_| VecDeque::new()))
    }

    /// Whether no task waits for a processor.
    pub fn is_empty(&self, cpu: CpuId) -> bool {
        self.0[cpu as usize].is_empty()
    }

    /// All that wait for a processor, in order.
    pub fn waiting(&self, cpu: CpuId) -> impl Iterator<Item = TaskId> {
        self.0[cpu as usize].iter().copied()
    }

    /// A task joins the tail.
    #[inline(always)]
    pub fn join(&mut self, cpu: CpuId, task: TaskId) {
        self.0[cpu as usize].push_back(task);
    }

    /// The head leaves, to run.
    #[inline(always)]
    pub fn next(&mut self, cpu: CpuId) -> Option<TaskId> {
        self.0[cpu as usize].pop_front()
    }

    /// A task will not come back, or not to this processor. One that runs has left already.
    #[inline(always)]
    pub fn leave(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId) {
        if cx.processors[cpu as usize].running != Some(task) {
            self.remove(cpu, task);
        }
    }

    /// A task that waits leaves.
    #[inline(never)]
    pub fn remove(&mut self, cpu: CpuId, task: TaskId) {
        let queue = &mut self.0[cpu as usize];
        let at = queue.iter().position(|&other| other == task).expect("a task that does not run is in its queue");
        queue.remove(at);
    }
}
