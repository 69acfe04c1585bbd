//! Tests of `eevdf.rs`.

use super::*;
use crate::schedulers::{
    View, Wishes,
    linux::shared::{
        entity::CfsRqId,
        loads::{LOAD, Loads, UTIL, WHOLE},
        pelt::FRACTION,
    },
};
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

/// Two tasks of a group that have always been able to run and have had half of the first of two processors each; the second task of
/// the two, and the queue of the group there.
fn two_of(group: u16) -> (Tree<Rule>, EntityId, CfsRqId) {
    let rule = Rule {
        base_slice: 3 * MILLISECOND,
        tick: 4 * MILLISECOND,
        run_to_parity: true,
        wakeup_preemption: true,
        version: Version::V6_17,
    };
    let mut tree = Tree::new(2, false, Loads::new(&[1024; 2]));
    let tasks: Vec<Task> = (0..2).map(|id| Task { group, ..Task::ordinary(id, CpuSet::only(0)) }).collect();
    tree.admit(&rule, &tasks, &[Group::ROOT, Group::ROOT], 1);
    for entity in [0, 1].map(|task| tree.of_task(task)) {
        let averages = &mut tree.loads.entities[entity as usize];
        averages.set(LOAD, WHOLE as u64);
        averages.set(UTIL, WHOLE as u64 / 2);
        tree.attach_entity_load_avg(entity);
    }
    let second = tree.of_task(1);
    let queue = tree.entity(second).queue;
    (tree, second, queue)
}

/// Its load, and the time that was used of the processor, to the nearest whole.
fn averages(tree: &Tree<Rule>, queue: CfsRqId) -> [u64; 2] {
    let nearest = |queue: usize, which| (tree.loads.queues[queue].averages.scaled(which) + 512) >> FRACTION;
    [nearest(queue as usize, LOAD), nearest(tree.cpu(queue), UTIL)]
}

/// A new task that is forked at that instant is placed by what is left of the one that has ended. (remove_entity_load_avg)
#[test]
fn a_queue_has_the_averages_of_a_task_that_ended_until_it_is_brought_up_to_date_later() {
    for group in [0, 1] {
        let (mut tree, second, queue) = two_of(group);
        assert_eq!(averages(&tree, queue), [2048, 1024], "group {group}");
        tree.remove_entity_load_avg(second);
        tree.update_load_avg(queue);
        assert_eq!(averages(&tree, queue), [2048, 1024], "group {group}: the choice after the end");
        tree.now += 1;
        tree.update_load_avg(queue);
        assert_eq!(averages(&tree, queue), [1024, 512], "group {group}");
        tree.now += 1;
        tree.update_load_avg(queue);
        assert_eq!(averages(&tree, queue), [1024, 512], "group {group}: once");
    }
}

#[test]
fn a_task_that_is_woken_on_another_processor_counts_on_both_until_the_first_is_brought_up_to_date() {
    for group in [0, 1] {
        let (mut tree, second, queue) = two_of(group);
        tree.remove_entity_load_avg(second);
        tree.entity(second).queue = queue + 1;
        tree.attach_entity_load_avg(second);
        assert_eq!([averages(&tree, queue), averages(&tree, queue + 1)], [[2048, 1024], [1024, 512]], "group {group}");
        tree.now += 1;
        tree.update_blocked_averages(0);
        assert_eq!(averages(&tree, queue), [1024, 512], "group {group}");
    }
}

/// Of its entity on that processor, as of the last update: one of the two tasks has gone.
#[test]
fn the_entity_of_a_group_follows_when_what_an_ended_task_left_is_subtracted() {
    let (mut tree, second, queue) = two_of(1);
    tree.update_blocked_averages(0);
    let before = tree.loads.entities[queue as usize].scaled(LOAD);
    tree.remove_entity_load_avg(second);
    tree.now += 1;
    tree.update_blocked_averages(0);
    assert_eq!(before, WHOLE as u64, "as much as its tasks, at most always");
    assert_eq!(tree.loads.entities[queue as usize].scaled(LOAD), 0, "nothing that can run is queued");
}
