//! Tests of `eevdf.rs`.

use super::*;
use crate::schedulers::linux::shared::loads::Loads;
use schedlab_model::{processors::CpuSet, task::Group};

/// A queue of tasks that have these virtual times and deadlines.
fn queue_of(rule: &Rule, tasks: &[(i64, i64)]) -> Tree<Rule> {
    let all: Vec<Task> = (0..tasks.len() as TaskId).map(|id| Task::ordinary(id, CpuSet::only(0))).collect();
    let mut tree = Tree::new(1, false, Loads::new(&[1024]));
    for (task, &(vruntime, deadline)) in (0..).zip(tasks) {
        tree.admit(rule, &all, &[Group::ROOT], task);
        let id = tree.of_task(task);
        let (entity, queue) = tree.pair(id);
        (entity.vruntime, entity.claim.deadline, entity.queued) = (vruntime, deadline, true);
        queue.avg_vruntime_add(entity);
        Rule::insert_in_timeline(queue, entity, id);
    }
    tree.add_nr_running(0, tasks.len() as i32);
    tree
}

/// From a recording of a guest with 6.17: two hogs, a sleeper that has stayed, and one that falls asleep in debt (virtual times and deadlines
/// relative to V, ns). When the first sleeper leaves, V rises, and the second owes nothing any more. It is still the current one,
/// and protected: it leaves too, though a hog has an earlier deadline.
#[test]
fn a_task_that_falls_asleep_in_debt_is_current_and_protected_at_the_next_choice() {
    let rule = Rule {
        base_slice: 700 * MICROSECOND,
        unscaled: 700 * MICROSECOND,
        tick: 4 * MILLISECOND,
        run_to_parity: true,
        wakeup_preemption: true,
        version: Version::V6_17,
    };
    let (hog, stays, sleeper) = (0, 2, 3);
    let mut tree = queue_of(&rule, &[(-5912, 264_096), (69520, 751_080), (-84901, 235_387), (21295, 375_415)]);
    let [hog, stays, sleeper] = [hog, stays, sleeper].map(|task| tree.of_task(task));
    tree.entity(stays).claim.delayed = true;
    tree.queue(0).line.remove(375_415, sleeper);
    let (entity, queue) = tree.pair(sleeper);
    rule.begin(entity, queue);
    queue.current = sleeper;
    tree.dequeue_task_fair(&rule, sleeper, Leave::Sleep);
    assert!(tree.entity(sleeper).claim.delayed, "it is in debt");
    assert_eq!(tree.pick_next_task_fair(&rule, 0), Some(hog));
    assert!(!tree.entity(stays).queued);
    assert!(!tree.entity(sleeper).queued, "it owes nothing, and leaves");
    assert_eq!(tree.queue(0).count, 2);
}
