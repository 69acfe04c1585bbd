//! Who wakes whom: for each pair how often, how long the woken had slept, and how long it waited afterwards.

use crate::{
    cause::Cause,
    slot::{NONE, Slot},
};
use hashbrown::HashMap;

/// No place in the table.
pub(crate) const NO_EDGE: u32 = u32::MAX;
/// Pairs that are distinguished. More are summed up by cause.
const MOST: usize = 1 << 20;
/// Slots have as many bits ([`crate::tasks`]); those of no task have them all set, but for the lowest.
const SLOT_BITS: u32 = 24;
const NO_SLOT: Slot = (1 << SLOT_BITS) - 1;

/// A waker and a task that it wakes.
#[derive(Debug, Clone)]
pub(crate) struct Edge {
    /// A task's slot, or `None` if a cause other than a task wakes.
    pub waker: Option<Slot>,
    pub cause: Cause,
    /// The task that is woken; `None` where there were too many pairs.
    pub woken: Option<Slot>,
    /// Wakeups.
    pub count: u64,
    /// Sleeps that they ended, ns.
    pub blocked: u64,
    /// Waits that followed, ns.
    pub latency: u64,
    pub longest: u64,
}

/// All pairs.
#[derive(Debug, Default)]
pub(crate) struct Wakers {
    pub edges: Vec<Edge>,
    places: HashMap<u64, u32>,
}

/// The number of a waker and of what wakes: cause and slot.
pub(crate) fn number(cause: Cause, waker: Slot) -> u32 {
    (cause as u32) << SLOT_BITS | waker & NO_SLOT
}

impl Wakers {
    /// The place of a pair.
    pub fn place(&mut self, cause: Cause, waker: Slot, woken: Slot) -> u32 {
        let whole = self.edges.len() >= MOST;
        let key = u64::from(number(cause, waker)) << 32 | u64::from(woken);
        if let Some(place) = self.places.get(&key) {
            return *place;
        }
        let key = if whole { u64::from(number(cause, NONE)) << 32 | u64::from(u32::MAX) } else { key };
        *self.places.entry(key).or_insert_with(|| {
            let waker = (!whole && waker != NONE).then_some(waker);
            let woken = (!whole).then_some(woken);
            self.edges.push(Edge { waker, cause, woken, count: 0, blocked: 0, latency: 0, longest: 0 });
            self.edges.len() as u32 - 1
        })
    }

    /// Adds a wakeup: how long the task had slept, and how long it waited.
    #[inline]
    pub fn add(&mut self, place: u32, blocked: u64, latency: u64) {
        let Some(edge) = self.edges.get_mut(place as usize) else { return };
        edge.count += 1;
        edge.blocked = edge.blocked.saturating_add(blocked);
        edge.latency = edge.latency.saturating_add(latency);
        edge.longest = edge.longest.max(latency);
    }
}
