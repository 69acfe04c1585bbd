//! What competes in the fair class, and where: entities and the queues of a group on each processor.

use crate::schedulers::kit::timeline::{EntityId, Spot, Timeline};
use schedlab_model::{Nanos, task::Policy};

/// Index of a queue.
pub type CfsRqId = u32;
/// No entity.
pub const NOBODY: EntityId = EntityId::MAX;

/// What an entity represents.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A group, or an ordinary task.
    #[default]
    Normal,
    /// SCHED_BATCH.
    Batch,
    /// SCHED_IDLE.
    Idle,
    /// A task of another class, of real time or with a reservation, which never competes here.
    Realtime,
}

/// A competitor in a queue: a task or a group.
#[derive(Debug, Default, Clone, Copy)]
pub struct SchedEntity<C> {
    pub vruntime: i64,
    pub weight: u64,
    /// Where it competes.
    pub queue: CfsRqId,
    /// Steps to the root.
    pub depth: u16,
    pub kind: Kind,
    /// It competes, in the timeline or as the current one.
    pub queued: bool,
    pub claim: C,
}

impl<C> SchedEntity<C> {
    /// SCHED_IDLE.
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        self.kind == Kind::Idle
    }
}

/// The entity that a queue would run.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    pub entity: EntityId,
    /// Its position, if that is known.
    pub spot: Option<Spot>,
}

impl Choice {
    /// Of an entity that may be anywhere, or is current.
    pub fn of(entity: EntityId) -> Self {
        Choice { entity, spot: None }
    }
}

/// A group on a processor.
#[doc(alias = "cfs_rq")]
#[derive(Debug)]
pub struct CfsRq<S> {
    pub cpu: usize,
    pub line: Timeline,
    pub current: EntityId,
    /// Preferred at the next choice, if that is fair.
    pub next: EntityId,
    pub choice: Choice,
    /// Weight and number of all that compete here, the current one included.
    pub weight: u64,
    pub count: u32,
    /// Tasks here and below that can run.
    pub tasks: u32,
    /// The processor's time up to which the current one is charged.
    pub clock: Nanos,
    /// Its group has a quota; what is left of the portion that it took, and whether it must wait for the next one.
    pub limited: bool,
    pub runtime: i64,
    pub throttled: bool,
    pub state: S,
}

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
    /// It sleeps already, and now really leaves; its position, if that is known.
    Delayed(Option<Spot>),
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

impl Kind {
    pub fn of(policy: Policy) -> Kind {
        match policy {
            Policy::Batch => Kind::Batch,
            Policy::Idle => Kind::Idle,
            Policy::Fifo | Policy::Rr | Policy::Deadline => Kind::Realtime,
            _ => Kind::Normal,
        }
    }
}

impl<S: Default> CfsRq<S> {
    pub fn new(cpu: u32, limited: bool) -> Self {
        CfsRq {
            cpu: cpu as usize,
            line: Timeline::default(),
            current: NOBODY,
            next: NOBODY,
            choice: Choice::of(NOBODY),
            weight: 0,
            count: 0,
            tasks: 0,
            clock: 0,
            limited,
            runtime: 0,
            throttled: false,
            state: S::default(),
        }
    }
}
