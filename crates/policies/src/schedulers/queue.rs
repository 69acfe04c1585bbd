//! The first-in first-out runqueue that many policies are built on: a linked list through a vector of links, a link a
//! task, so that a removal from the middle costs as little as one from the head and nothing is allocated while running.

use schedlab_model::task::TaskId;

const NONE: TaskId = TaskId::MAX;

/// Links of all tasks of a run. A task is in one [`List`] at most.
#[derive(Debug, Default)]
pub struct Links(Vec<(TaskId, TaskId)>);

/// A list of tasks.
#[derive(Debug, Clone, Copy)]
pub struct List {
    head: TaskId,
    tail: TaskId,
}

impl Default for List {
    fn default() -> Self {
        List { head: NONE, tail: NONE }
    }
}

impl Links {
    #[inline]
    fn at(&mut self, task: TaskId) -> &mut (TaskId, TaskId) {
        let index = task as usize;
        if index >= self.0.len() {
            self.0.resize(index + 1, (NONE, NONE));
        }
        &mut self.0[index]
    }
}

impl List {
    /// The first task.
    #[inline]
    pub fn head(&self) -> Option<TaskId> {
        (self.head != NONE).then_some(self.head)
    }

    /// Whether nobody is in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// Adds a task at the end.
    #[inline]
    pub fn push_tail(&mut self, links: &mut Links, task: TaskId) {
        *links.at(task) = (self.tail, NONE);
        match self.tail {
            NONE => self.head = task,
            tail => links.at(tail).1 = task,
        }
        self.tail = task;
    }

    /// Adds a task at the front.
    #[inline]
    pub fn push_head(&mut self, links: &mut Links, task: TaskId) {
        *links.at(task) = (NONE, self.head);
        match self.head {
            NONE => self.tail = task,
            head => links.at(head).0 = task,
        }
        self.head = task;
    }

    /// Takes the first task.
    #[inline]
    pub fn pop_head(&mut self, links: &mut Links) -> Option<TaskId> {
        let task = self.head()?;
        self.remove(links, task);
        Some(task)
    }

    /// Takes a task out, wherever it stands.
    #[inline]
    pub fn remove(&mut self, links: &mut Links, task: TaskId) {
        let (before, after) = *links.at(task);
        match before {
            NONE => self.head = after,
            before => links.at(before).1 = after,
        }
        match after {
            NONE => self.tail = before,
            after => links.at(after).0 = before,
        }
    }
}
