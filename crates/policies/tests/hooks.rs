//! Policies without a kernel: the hooks alone, against the plainest model of what they should do.

use schedlab_model::{
    MILLISECOND, Nanos,
    info::Params,
    processors::CpuSet,
    rng::Rng,
    task::{Class, CpuId, Group, Policy, Task, TaskId, Wait},
    topology::Topology,
};
use schedlab_policies::schedulers::{
    Balance, Context, Dequeue, Enqueue, Fifo, Minix, Pick, Preempt, RoundRobin, Scheduler, Ule, View, Wishes,
};
use std::collections::VecDeque;

/// A machine of which only what a policy may see exists.
struct Bench<S> {
    policy: S,
    view: View,
    wishes: Wishes,
    rng: Rng,
}

fn task(id: TaskId, class: Class) -> Task {
    Task { class, ..Task::ordinary(id, CpuSet::all(2)) }
}

impl<S: Scheduler> Bench<S> {
    fn new(settings: &[(&str, &str)], users: u32) -> Self {
        let tick = 1_000_000_000 / 60;
        let settings = settings.iter().map(|(name, value)| (*name, value.to_string()));
        let params = Params::check_on(2, &S::INFO, settings).unwrap();
        Bench {
            policy: S::new(&params, &Topology::uniform(2), tick),
            view: View {
                tick,
                tasks: (0..users).map(|id| task(id, Class::User)).collect(),
                groups: vec![Group::ROOT],
                ..View::of(2)
            },
            wishes: Wishes::default(),
            rng: Rng::stream(1, 0),
        }
    }

    fn hook<T>(&mut self, hook: impl FnOnce(&mut S, &mut Context<'_>) -> T) -> T {
        let mut cx = Context { now: 0, view: &self.view, rng: &mut self.rng, wishes: &mut self.wishes };
        hook(&mut self.policy, &mut cx)
    }

    fn enqueue(&mut self, cpu: CpuId, task: TaskId, why: Enqueue) {
        self.hook(|policy, cx| policy.enqueue(cx, cpu, task, why));
    }

    fn dequeue(&mut self, cpu: CpuId, task: TaskId, why: Dequeue) {
        self.hook(|policy, cx| policy.dequeue(cx, cpu, task, why));
    }

    /// Picks, and has the task run.
    fn pick(&mut self, cpu: CpuId) -> Option<Pick> {
        let pick = self.hook(|policy, cx| policy.pick_next(cx, cpu));
        self.view.runs(cpu.into(), pick.map(|pick| pick.task));
        if pick.is_some_and(|pick| self.view.tasks[pick.task as usize].class == Class::User) {
            self.view.processors[cpu as usize].billed = pick.map(|pick| pick.task);
        }
        pick
    }
}

/// Random arrivals, moves and picks on two processors, some tasks bound to one of them, against one list in order of arrival.
fn behaves_like_one_queue<S: Scheduler>(slice: Option<Nanos>) {
    let mut bench = Bench::<S>::new(&[], 12);
    (0..12).for_each(|task: usize| {
        bench.view.tasks[task].allowed = [CpuSet::all(2), CpuSet::only(0), CpuSet::only(1)][task % 3].clone()
    });
    let mut queue = VecDeque::new();
    let mut free: Vec<TaskId> = (0..12).collect();
    let mut rng = Rng::stream(1, 1);
    for _ in 0..20_000 {
        if rng.below(2) == 0 && !free.is_empty() {
            let task = free.swap_remove(rng.below(free.len() as u64) as usize);
            let cpu = bench.hook(|policy, cx| policy.select_cpu(cx, task, Enqueue::Wakeup));
            bench.view.tasks[task as usize].cpu = cpu;
            queue.push_back(task);
            bench.enqueue(cpu, task, Enqueue::Wakeup);
            continue;
        }
        let cpu = rng.below(2) as CpuId;
        let allowed = |task: &TaskId| bench.view.tasks[*task as usize].allowed.has(cpu);
        let expected = queue.iter().position(allowed).and_then(|at| queue.remove(at));
        let mut picked = bench.pick(cpu);
        if picked.is_none() {
            let pulled = bench.hook(|policy, cx| policy.balance(cx, cpu, Balance::Idle));
            assert_eq!(pulled, expected);
            let Some(task) = pulled else { continue };
            bench.dequeue(1 - cpu, task, Dequeue::Migrate);
            bench.view.tasks[task as usize].cpu = cpu;
            bench.enqueue(cpu, task, Enqueue::Migrate);
            picked = bench.pick(cpu);
        }
        assert_eq!(picked, expected.map(|task| Pick { task, slice }));
        let Some(task) = expected else { continue };
        bench.dequeue(cpu, task, Dequeue::Sleep(Wait::Timer));
        bench.view.runs(cpu.into(), None);
        free.push(task);
    }
}

#[test]
fn fifo_and_round_robin_are_one_queue_from_which_each_processor_takes_what_it_may_run() {
    behaves_like_one_queue::<Fifo>(None);
    behaves_like_one_queue::<RoundRobin>(Some(100 * MILLISECOND));
}

#[test]
fn minix_keeps_three_lists_by_strict_priority_and_the_running_task_at_its_head() {
    let mut bench = Bench::<Minix>::new(&[], 4);
    bench.view.tasks[0].class = Class::KernelTask;
    bench.view.tasks[1].class = Class::Server;
    for user in [2, 3, 1, 0] {
        bench.enqueue(0, user, Enqueue::Wakeup);
    }
    let mut order = Vec::new();
    for _ in 0..4 {
        let task = bench.pick(0).unwrap().task;
        assert_eq!(bench.pick(0).unwrap().task, task);
        order.push(task);
        bench.dequeue(0, task, Dequeue::Sleep(Wait::Timer));
    }
    assert_eq!(order, [0, 1, 2, 3]);
    assert_eq!(bench.pick(0), None);
}

#[test]
fn on_minix_only_a_kernel_task_preempts_and_only_what_is_none() {
    let mut bench = Bench::<Minix>::new(&[], 6);
    for (task, class) in [Class::KernelTask, Class::Server, Class::User].into_iter().enumerate() {
        bench.view.tasks[2 * task].class = class;
        bench.view.tasks[2 * task + 1].class = class;
    }
    for (running, woken) in (0..6).flat_map(|running| (0..6).map(move |woken| (running, woken))) {
        let preempts = bench.hook(|policy, cx| policy.wakeup_preempts(cx, 0, running, woken));
        assert_eq!(preempts, Preempt::from(woken < 2 && running >= 2), "{woken} takes the processor from {running}");
    }
}

#[test]
fn a_user_that_becomes_ready_joins_the_tail_or_the_head_of_its_list() {
    for (ready_at, expected) in [("tail", [0, 1, 2]), ("head", [2, 1, 0])] {
        let mut bench = Bench::<Minix>::new(&[("ready_at", ready_at)], 3);
        (0..3).for_each(|task| bench.enqueue(0, task, Enqueue::Wakeup));
        let order = [(); 3].map(|()| {
            let task = bench.pick(0).unwrap().task;
            bench.dequeue(0, task, Dequeue::Sleep(Wait::Timer));
            task
        });
        assert_eq!(order, expected);
    }
}

#[test]
fn the_quantum_of_minix_is_cut_to_whole_ticks_and_ends_for_who_is_billed_at_both_ends() {
    for (slice, n) in [("100ms", 6), ("50ms", 3), ("36ms", 2), ("18ms", 1), ("10ms", 1)] {
        let mut bench = Bench::<Minix>::new(&[("slice", slice)], 2);
        (0..2).for_each(|task| bench.enqueue(0, task, Enqueue::New));
        let mut turns = Vec::new();
        for tick in 1..=100u64 {
            bench.pick(0);
            // As the kernel does: the interrupt counts, and leaves the end of a quantum to the clock task.
            if bench.hook(|policy, cx| policy.tick_needs_clock_task(cx, 0)) {
                bench.hook(|policy, cx| policy.clock_task(cx, 0));
            } else {
                bench.hook(|policy, cx| policy.tick(cx, 0));
            }
            if !std::mem::take(&mut bench.wishes.resched).is_empty() {
                turns.push(tick);
            }
        }
        // The first end only notes who is billed.
        assert_eq!(turns, (1..=100 / (2 * n)).map(|turn| turn * 2 * n).collect::<Vec<_>>(), "{slice}");
    }
}

#[test]
fn a_clock_task_that_an_alarm_woke_ends_no_quantum_of_who_was_not_billed_at_both_ends() {
    let mut bench = Bench::<Minix>::new(&[("slice", "18ms")], 2);
    (0..2).for_each(|task| bench.enqueue(0, task, Enqueue::New));
    bench.pick(0);
    // The first end of a quantum finds task 0 billed, and no task before it.
    bench.hook(|policy, cx| policy.clock_task(cx, 0));
    assert_eq!((bench.wishes.resched.count(), bench.pick(0).unwrap().task), (0, 0));
    bench.hook(|policy, cx| policy.clock_task(cx, 0));
    assert_eq!((bench.wishes.resched.first(), bench.pick(0).unwrap().task), (Some(0), 1));
}

/// A ule with A on processor 0 and B on processor 1, both new and so batch threads of priority 180, and a third thread.
fn two_threads_run(settings: &[(&str, &str)]) -> Bench<Ule> {
    let mut bench = Bench::<Ule>::new(settings, 3);
    for cpu in [0, 1] {
        bench.view.tasks[usize::from(cpu)].cpu = cpu;
        bench.enqueue(cpu, cpu.into(), Enqueue::New);
        bench.pick(cpu);
    }
    bench
}

#[test]
fn ule_of_2007_counts_a_woken_thread_with_the_priority_of_its_sleep_until_the_next_switch() {
    for (variant, expected) in [("2007", 0), ("2011", 1)] {
        let mut bench = two_threads_run(&[("variant", variant)]);
        bench.dequeue(1, 1, Dequeue::Sleep(Wait::Timer));
        bench.view.runs(1, None);
        bench.enqueue(1, 1, Enqueue::Wakeup);
        bench.pick(1);
        bench.hook(|ule, cx| ule.return_to_user(cx, 1, 1));
        bench.view.waker = Some(0); // it forks, so that no timer has interrupted its processor
        // Both processors run a thread of priority 180; that of B was 92 at the switch. In 2007 the worse one is chosen. Later both count
        // as what they run, and of equally loaded processors the thread gets the one on which it was.
        bench.view.tasks[2].cpu = 1;
        let cpu = bench.hook(|ule, cx| ule.select_cpu(cx, 2, Enqueue::New));
        assert_eq!(cpu, expected, "{variant}");
    }
}

#[test]
fn a_batch_thread_that_another_processor_queues_does_not_preempt_a_thread_of_the_idle_class() {
    let mut bench = Bench::<Ule>::new(&[], 3);
    bench.view.tasks[1].policy = Policy::Idle;
    for cpu in [0, 1] {
        bench.view.tasks[usize::from(cpu)].cpu = cpu;
        bench.enqueue(cpu, cpu.into(), Enqueue::New);
        bench.pick(cpu);
    }
    bench.enqueue(1, 2, Enqueue::New);
    let mut preempts = |waker: Option<TaskId>| {
        bench.view.waker = waker;
        bench.hook(|ule, cx| ule.wakeup_preempts(cx, 1, 1, 2))
    };
    assert_eq!(preempts(Some(0)), Preempt::No, "priority 224 is not above 224 (tdq_notify)");
    assert_eq!(preempts(Some(1)), Preempt::AtOnce, "it is the idle class (sched_setpreempt)");
}
