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
use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Whether the check panics.
fn finds(check: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(check)).is_err()
}

/// A queue for each processor, which never forgets; and what it is made to do wrong. The fault is known at run time and the promises are
/// put into the entry, but for the one that the audit must know: a kernel is compiled for each type.
struct Faulty<const CONSERVES: bool> {
    ready: Vec<Vec<TaskId>>,
    fault: u8,
}

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

thread_local! {
    /// Of the policies that are made from now on.
    static FAULT: Cell<u8> = const { Cell::new(LOSES) };
}

impl<const CONSERVES: bool> Scheduler for Faulty<CONSERVES> {
    const INFO: Info = Info {
        promises: if CONSERVES { &[Promise::WorkConserving(Reach::Unbound)] } else { &[] },
        source: concat!(include_str!("../../policies/src/schedulers/classic/fifo.rs"), "// Features { ticks: true }"),
        ..Fifo::INFO
    };
    const FEATURES: Features = Features { ticks: true, ..Features::NONE };

    fn new(_: &Params, topology: &Topology, _: Nanos) -> Self {
        Faulty { ready: vec![Vec::new(); topology.processors().into()], fault: FAULT.get() }
    }

    fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        if self.fault != LOSES || why != Enqueue::Wakeup || cx.rng.below(10) != 0 {
            self.ready[usize::from(cpu)].push(task);
        }
    }

    fn dequeue(&mut self, _: &mut Context<'_>, cpu: CpuId, task: TaskId, _: Dequeue) {
        self.ready[usize::from(cpu)].retain(|other| *other != task);
    }

    fn pick_next(&mut self, _: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        let ready = &mut self.ready[usize::from(cpu)];
        let task = if self.fault == STARVES { ready.pop()? } else { (!ready.is_empty()).then(|| ready.remove(0))? };
        Some(Pick { task, slice: (self.fault == PREEMPTS).then_some(1_000_000) })
    }

    fn balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, _: Balance) -> Option<TaskId> {
        let may = |task: &TaskId| cx.tasks[*task as usize].allowed.has(cpu);
        let others = self.ready.iter().enumerate();
        let others = others.filter(|(other, _)| self.fault == STORMS && *other != usize::from(cpu));
        others.flat_map(|(_, ready)| ready).copied().find(may)
    }
}

mod of_schedulers {
    use super::*;
    use schedlab_testing::schedulers::{Subject, balancing, laws, pages};

    /// The policy with that fault, which promises this.
    fn with(fault: u8, promises: &'static [Promise]) -> Subject {
        FAULT.set(fault);
        let mut subject = Subject::of::<Faulty<false>>();
        subject.info = Box::leak(Box::new(Info { promises, ..*subject.info }));
        subject
    }

    fn breaks(fault: u8, promises: &'static [Promise]) -> bool {
        finds(|| laws::promises_are_kept(with(fault, promises)))
    }

    #[test]
    fn a_processor_that_never_looks_for_work_is_found() {
        assert!(breaks(NEVER_LOOKS, &[Promise::FindsWork(500_000_000)]));
    }

    #[test]
    fn tasks_that_move_all_the_time_are_found() {
        assert!(finds(|| balancing::moves_at_most(with(STORMS, &[]), 72)));
        balancing::finds_work(with(STORMS, &[]), 500_000_000);
    }

    #[test]
    fn a_lost_task_is_found() {
        assert!(finds(|| laws::no_task_is_lost(with(LOSES, &[]))));
    }

    #[test]
    fn promises_that_are_not_kept_are_found() {
        assert!(breaks(UNFAIR, &[Promise::FairToEquals(Reach::EachProcessor)]), "unequal shares");
        assert!(breaks(PREEMPTS, &[Promise::RunsToBlock]), "a task is preempted");
        assert!(breaks(STARVES, &[Promise::StarvationFree(Reach::EachProcessor)]), "a task starves");
        assert!(breaks(UNLIMITED, &[Promise::LimitsGroups]), "a quota is exceeded");
        FAULT.set(IDLES);
        assert!(finds(|| laws::promises_are_kept(Subject::of::<Faulty<true>>())), "an idle processor");
    }

    #[test]
    fn a_policy_whose_promises_alone_are_wrong_loses_no_task() {
        laws::no_task_is_lost(with(UNFAIR, &[]));
    }

    #[test]
    fn a_feature_without_its_hook_is_found_and_nothing_else_of_that_file() {
        let found = catch_unwind(|| pages::the_entry_is_complete(with(NO_HOOK, &[]))).unwrap_err();
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
