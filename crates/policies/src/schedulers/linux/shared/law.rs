//! What an entity is entitled to within one queue of the fair schedulers, and in what words it is asked: the part in which
//! eevdf and cfs differ. The [`Tree`] of groups is the same.

use super::hierarchy::{Choice, Entity, Queue, QueueId, Tree};
use crate::schedulers::kit::timeline::{EntityId, Spot};
use schedlab_model::{Nanos, task::Task};

/// How an entity comes to a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placing {
    /// It is new.
    New,
    /// It slept, or its group had nothing to run.
    Wakeup,
    /// It was queued elsewhere.
    Move,
}

/// How an entity leaves its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// It sleeps, or its group has nothing to run.
    Sleep,
    /// It ends, or its group may run no more.
    End,
    /// It goes to another processor.
    Move,
    /// It sleeps already, and now really leaves; where it stands, if that is known.
    Late(Option<Spot>),
}

/// Two entities of one queue that meet, on behalf of two tasks.
#[derive(Debug, Clone, Copy)]
pub struct Meeting {
    pub current: EntityId,
    pub woken: EntityId,
    /// The woken task is new.
    pub forked: bool,
    /// The woken task may preempt at all: SCHED_OTHER, not batch or idle.
    pub normal: bool,
}

/// The rule by which the entities of a queue share a processor.
pub trait Law: Sized {
    /// What it notes of an entity.
    type Claim: std::fmt::Debug + Default + Copy;
    /// What it notes of a queue.
    type State: std::fmt::Debug + Default;

    /// What a task claims when it is first heard of.
    fn claim(&self, task: &Task) -> Self::Claim;
    /// Charges the current entity of a queue with what it used; whether somebody should be chosen anew.
    fn charge(&self, entity: &mut Entity<Self::Claim>, queue: &mut Queue<Self::State>, used: Nanos) -> bool;
    /// An entity that is new gets its place in its queue, whose current one is charged.
    fn place_new(&self, _tree: &mut Tree<Self>, _entity: EntityId) {}
    /// An entity begins to compete in its queue, whose current one is charged.
    fn enqueue(&self, entity: &mut Entity<Self::Claim>, queue: &mut Queue<Self::State>, id: EntityId, how: Placing);
    /// An entity of such a queue stops competing, and then is not current either; or it stays for a while although it
    /// sleeps: false. It is neither preferred nor avoided any more.
    fn dequeue(
        &self,
        entities: &mut [Entity<Self::Claim>],
        queue: &mut Queue<Self::State>,
        id: EntityId,
        how: Leave,
    ) -> bool;
    /// Whether an entity stays although it sleeps.
    fn sleeps(_claim: &Self::Claim) -> bool {
        false
    }
    /// An entity that stayed although it sleeps is woken.
    fn rouse(&self, _tree: &mut Tree<Self>, _entity: EntityId) {}
    /// A group's entity learns what its queue has now.
    fn inherit(&self, _tree: &mut Tree<Self>, _group: EntityId) {}
    /// An entity's weight changes.
    fn reweigh(&self, tree: &mut Tree<Self>, entity: EntityId, weight: u64);
    /// A task that does not compete goes from one queue to another.
    fn carry(&self, _tree: &mut Tree<Self>, _task: EntityId, _to: QueueId) {}
    /// The key by which an entity stands in the timeline.
    fn key(entity: &Entity<Self::Claim>) -> i64;
    /// There is a task that asks for a slice of its own: queues have to look after such from now on.
    fn expect_slices(_queue: &mut Queue<Self::State>, _entities: &[Entity<Self::Claim>]) {}
    /// An entity begins to stand in the timeline.
    #[inline(always)]
    fn enter(queue: &mut Queue<Self::State>, entity: &Entity<Self::Claim>, id: EntityId) {
        queue.line.insert(Self::key(entity), entity.vruntime, id);
    }
    /// An entity was taken out of the timeline.
    #[inline(always)]
    fn left(_queue: &mut Queue<Self::State>, _id: EntityId) {}
    /// Names whom a queue that is not empty would run.
    fn choose(&self, entities: &[Entity<Self::Claim>], queue: &mut Queue<Self::State>) -> Choice;
    /// An entity becomes current; it is in no timeline any more.
    fn begin(&self, entity: &mut Entity<Self::Claim>, queue: &mut Queue<Self::State>);
    /// A clock tick, for the current entity of a queue, which is charged.
    #[inline(always)]
    fn tick(&self, _tree: &mut Tree<Self>, _queue: QueueId) {}
    /// Whether the woken one takes over from the current one.
    fn preempts(&self, tree: &mut Tree<Self>, meeting: Meeting) -> bool;
    /// The current task gives way.
    fn give_way(&self, tree: &mut Tree<Self>, task: EntityId);
    /// Whether an entity is preferred in its queue, or avoided.
    #[inline(always)]
    fn notes(queue: &Queue<Self::State>, entity: EntityId) -> bool {
        queue.next == entity
    }
    /// An entity that was preferred or avoided no longer is, nor are its groups on its behalf.
    fn forget(tree: &mut Tree<Self>, entity: EntityId) {
        tree.forget_next(entity);
    }
}
