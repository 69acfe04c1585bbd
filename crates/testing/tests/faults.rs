//! The laws can fail: policies with a fault each, and the law that must find it.

use schedlab_model::{
    Nanos,
    info::{Info, Params, Promise, Reach},
    request::RequestId,
    task::{CpuId, TaskId},
    topology::Topology,
};
use schedlab_policies::{
    caches::{self, Eviction, Key, Slot},
    elevators::{self, Device, Elevator, Next, NoElevator},
    schedulers::{Balance, Context, Dequeue, Enqueue, Features, Fifo, Pick, Scheduler},
};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Whether the check panics.
fn finds(check: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(check)).is_err()
}

/// A queue for each processor, which never forgets; and what it is made to do wrong.
struct Faulty<const FAULT: u8>(Vec<Vec<TaskId>>);

/// Every tenth task that wakes is lost.
const LOSES: u8 = 0;
/// It is not fair, and promises to be.
const UNFAIR: u8 = 1;
/// Processors do not take tasks from each other, and it promises that none idles.
const IDLES: u8 = 2;
/// It takes turns, and promises not to.
const PREEMPTS: u8 = 3;
/// It has a feature without the hook.
const NO_HOOK: u8 = 4;
/// The last task is next, so that the first may wait forever, and it promises otherwise.
const STARVES: u8 = 5;
/// Processors do not take tasks from each other, and it promises that none idles for long.
const NEVER_LOOKS: u8 = 6;
/// At each tick a processor takes all tasks that wait elsewhere, and it promises that tasks hardly move.
const STORMS: u8 = 7;
/// It knows no groups, and promises that their quotas hold.
const UNLIMITED: u8 = 8;

impl<const FAULT: u8> Scheduler for Faulty<FAULT> {
    const INFO: Info = Info {
        promises: match FAULT {
            UNFAIR => &[Promise::FairToEquals(Reach::EachProcessor)],
            IDLES => &[Promise::WorkConserving(Reach::Unbound)],
            PREEMPTS => &[Promise::RunsToBlock],
            STARVES => &[Promise::StarvationFree(Reach::EachProcessor)],
            NEVER_LOOKS => &[Promise::FindsWork(500_000_000)],
            STORMS => &[Promise::FindsWork(500_000_000), Promise::MovesAtMost(72)],
            UNLIMITED => &[Promise::LimitsGroups],
            _ => &[],
        },
        source: concat!(include_str!("../../policies/src/schedulers/classic/fifo.rs"), "// Features { ticks: true }"),
        ..Fifo::INFO
    };
    const FEATURES: Features = Features { ticks: FAULT == NO_HOOK || FAULT == STORMS, ..Features::NONE };

    fn new(_: &Params, topology: &Topology, _: Nanos) -> Self {
        let processors = topology.processors();
        Faulty(vec![Vec::new(); processors.into()])
    }

    fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        if FAULT != LOSES || why != Enqueue::Wakeup || cx.rng.below(10) != 0 {
            self.0[usize::from(cpu)].push(task);
        }
    }

    fn dequeue(&mut self, _: &mut Context<'_>, cpu: CpuId, task: TaskId, _: Dequeue) {
        self.0[usize::from(cpu)].retain(|other| *other != task);
    }

    fn pick_next(&mut self, _: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        let ready = &mut self.0[usize::from(cpu)];
        let task = if FAULT == STARVES { ready.pop()? } else { (!ready.is_empty()).then(|| ready.remove(0))? };
        Some(Pick { task, slice: (FAULT == PREEMPTS).then_some(1_000_000) })
    }

    fn balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, _: Balance) -> Option<TaskId> {
        let may = |task: &TaskId| cx.tasks[*task as usize].allowed.has(cpu);
        let others = self.0.iter().enumerate().filter(|(other, _)| FAULT == STORMS && *other != usize::from(cpu));
        others.flat_map(|(_, ready)| ready).copied().find(may)
    }
}

mod of_schedulers {
    use super::*;
    use schedlab_testing::schedulers::{Subject, balancing, laws, pages};

    #[test]
    fn a_processor_that_never_looks_for_work_is_found() {
        assert!(finds(|| laws::promises_are_kept(Subject::of::<Faulty<NEVER_LOOKS>>())));
    }

    #[test]
    fn tasks_that_move_all_the_time_are_found() {
        assert!(finds(|| balancing::moves_at_most(Subject::of::<Faulty<STORMS>>(), 72)));
        balancing::finds_work(Subject::of::<Faulty<STORMS>>(), 500_000_000);
    }

    #[test]
    fn a_lost_task_is_found() {
        assert!(finds(|| laws::no_task_is_lost(Subject::of::<Faulty<LOSES>>())));
    }

    #[test]
    fn promises_that_are_not_kept_are_found() {
        assert!(finds(|| laws::promises_are_kept(Subject::of::<Faulty<UNFAIR>>())), "unequal shares");
        assert!(finds(|| laws::promises_are_kept(Subject::of::<Faulty<IDLES>>())), "an idle processor");
        assert!(finds(|| laws::promises_are_kept(Subject::of::<Faulty<PREEMPTS>>())), "a task is preempted");
        assert!(finds(|| laws::promises_are_kept(Subject::of::<Faulty<STARVES>>())), "a task starves");
        assert!(finds(|| laws::promises_are_kept(Subject::of::<Faulty<UNLIMITED>>())), "a quota is exceeded");
    }

    #[test]
    fn a_feature_without_its_hook_is_found_and_nothing_else_of_that_file() {
        let found = catch_unwind(|| pages::the_entry_is_complete(Subject::of::<Faulty<NO_HOOK>>())).unwrap_err();
        let message = found.downcast_ref::<String>().expect("a message");
        assert!(message.contains("the hook `tick` and the feature `ticks`"), "{message}");
    }
}

/// No elevator, but with a fault.
#[derive(Debug)]
struct Sloppy<const FAULT: u8>(Vec<RequestId>);

impl<const FAULT: u8> elevators::Entry for Sloppy<FAULT> {
    const INFO: Info = Info {
        promises: match FAULT {
            UNFAIR => &[Promise::FairToEquals(Reach::Everywhere)],
            STARVES => &[Promise::StarvationFree(Reach::Everywhere)],
            _ => &[Promise::WorkConserving(Reach::Everywhere)],
        },
        ..NoElevator::INFO
    };

    fn new(_: &Params, _: &Device) -> Self {
        Sloppy(Vec::new())
    }
}

impl<const FAULT: u8> Elevator for Sloppy<FAULT> {
    fn insert(&mut self, _: &elevators::Context<'_>, id: RequestId) {
        if FAULT != LOSES || id % 7 != 3 {
            self.0.push(id);
        }
    }

    /// The latest first; one that idles waits for a millisecond before each request that came alone.
    fn dispatch(&mut self, cx: &elevators::Context<'_>) -> Next {
        let Some(&id) = self.0.last() else { return Next::Nothing };
        if FAULT == IDLES && cx.now < cx.request(id).arrived + 1_000_000 {
            return Next::Until(cx.request(id).arrived + 1_000_000);
        }
        self.0.pop();
        Next::Serve(id)
    }
}

mod of_elevators {
    use super::*;
    use schedlab_testing::elevators::{Subject, laws};

    #[test]
    fn a_lost_request_is_found() {
        assert!(finds(|| laws::every_sector_is_served_once(Subject::of::<Sloppy<LOSES>>())));
    }

    #[test]
    fn promises_that_are_not_kept_are_found() {
        assert!(
            finds(|| laws::the_drive_idles_no_longer_than_promised(Subject::of::<Sloppy<IDLES>>())),
            "an idle drive"
        );
        assert!(finds(|| laws::promises_are_kept(Subject::of::<Sloppy<UNFAIR>>())), "unequal service");
        assert!(finds(|| laws::promises_are_kept(Subject::of::<Sloppy<STARVES>>())), "a request starves");
    }
}

/// A slot that does not exist, or the claim to be a stack policy.
#[derive(Debug)]
struct Wrong<const FAULT: u8>(caches::Fifo, u32);

impl<const FAULT: u8> caches::Entry for Wrong<FAULT> {
    const INFO: Info = caches::Fifo::INFO;
    const STACK: bool = FAULT == UNFAIR;

    fn new(params: &Params, slots: u32) -> Self {
        Wrong(<caches::Fifo as caches::Entry>::new(params, slots), slots)
    }
}

impl<const FAULT: u8> Eviction for Wrong<FAULT> {
    fn hit(&mut self, cx: &mut caches::Context<'_>, slot: Slot) {
        self.0.hit(cx, slot);
    }

    fn victim(&mut self, cx: &mut caches::Context<'_>, incoming: Key) -> Slot {
        let slot = self.0.victim(cx, incoming);
        if FAULT == LOSES { self.1 } else { slot }
    }

    fn admit(&mut self, cx: &mut caches::Context<'_>, slot: Slot, key: Key) {
        self.0.admit(cx, slot, key);
    }

    fn remove(&mut self, cx: &mut caches::Context<'_>, slot: Slot) {
        self.0.remove(cx, slot);
    }
}

mod of_caches {
    use super::*;
    use schedlab_testing::caches::{Subject, laws};

    #[test]
    fn a_victim_that_does_not_exist_is_found() {
        assert!(finds(|| laws::a_full_cache_finds_a_victim(Subject::of::<Wrong<LOSES>>())));
    }

    #[test]
    fn fifo_that_claims_to_be_a_stack_policy_is_found() {
        assert!(finds(|| laws::a_stack_policy_holds_what_a_smaller_cache_holds(Subject::of::<Wrong<UNFAIR>>())));
    }
}
