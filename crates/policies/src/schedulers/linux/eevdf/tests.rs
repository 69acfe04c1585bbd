//! Tests of `eevdf.rs`.

use super::*;
use crate::schedulers::{View, Wishes, linux::shared::loads::Loads};
use schedlab_model::{processors::CpuSet, rng::Rng, task::Group};

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

/// What a look has found to be bound since the second one came is not looked at again for a third. (add_nr_running)
#[test]
fn a_processor_counts_as_overloaded_when_its_second_task_comes_and_not_when_others_do() {
    let params = Params::check_on(2, &Eevdf::INFO, []).expect("it has defaults");
    let topology = Topology::uniform(2);
    let mut eevdf = Eevdf::new(&params, &topology, 4 * MILLISECOND);
    let tasks = (0..4).map(|id| Task::ordinary(id, CpuSet::only(0))).collect();
    let view = View { tasks, groups: vec![Group::ROOT], topology, ..View::of(2) };
    let (mut rng, mut wishes) = (Rng::stream(0, 0), Wishes::default());
    let comes = |task| {
        let mut cx = Context { now: 0, view: &view, rng: &mut rng, wishes: &mut wishes };
        eevdf.enqueue(&mut cx, 0, task, Enqueue::New);
        std::mem::take(&mut eevdf.0.balancer.overloaded)
    };
    assert_eq!([0, 1, 2, 3].map(comes), [false, true, false, false]);
}
