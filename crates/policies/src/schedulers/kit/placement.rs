//! Which processor a task waits for, where each has a queue of its own: a task that becomes ready goes to an idle one if there is any,
//! and one whose queue becomes empty pulls. A policy that also offers what is put back to idle processors conserves work: a task that may
//! use an idle one never waits.

use crate::schedulers::Context;
use schedlab_model::task::{CpuId, TaskId};

/// The processor where the task was last, unless only another one that it may use has nothing to do.
pub fn idle_or_last(cx: &Context<'_>, task: TaskId, none_waits: impl Fn(CpuId) -> bool) -> CpuId {
    let task = &cx.tasks[task as usize];
    let last = task.last_or_first();
    if cx.idle.has(last) && none_waits(last) {
        return last;
    }
    task.allowed.iter_both(&cx.idle).find(|&cpu| none_waits(cpu)).unwrap_or(last)
}

/// A task for an idle processor: what `find` finds first, in the queues of the processors after it, going round, among the
/// tasks that may run here.
pub fn pull(
    cx: &Context<'_>,
    to: CpuId,
    find: impl Fn(CpuId, &dyn Fn(TaskId) -> bool) -> Option<TaskId>,
) -> Option<TaskId> {
    let processors = cx.processors.len() as CpuId;
    let may = |task: TaskId| cx.tasks[task as usize].allowed.has(to);
    (1..processors).find_map(|further| find((to + further) % processors, &may))
}

/// The running task goes back to the queue, and perhaps another one is chosen in its place: idle processors that it may use
/// look for work again. There can be such processors where tasks are bound to some: they idled while another processor ran
/// a task.
#[inline(always)]
pub fn offer(cx: &mut Context<'_>, task: TaskId) {
    if cx.processors.len() > 1 {
        tell_idle(cx, task);
    }
}

/// A processor takes a task from another one's queue, and tasks that were put on this one while it was idle stay: idle ones
/// that these may use look for work.
pub fn offer_left(cx: &mut Context<'_>, cpu: CpuId, left: impl Iterator<Item = TaskId>) {
    let view = cx.view;
    if view.idle.iter().any(|other| other != cpu) {
        left.for_each(|task| {
            let usable = view.tasks[task as usize].allowed.iter_both(&view.idle);
            usable.filter(|&other| other != cpu).for_each(|other| cx.wishes.resched.insert(other))
        });
    }
}

#[inline(never)]
fn tell_idle(cx: &mut Context<'_>, task: TaskId) {
    let view = cx.view;
    view.tasks[task as usize].allowed.iter_both(&view.idle).for_each(|cpu| cx.resched(cpu));
}
