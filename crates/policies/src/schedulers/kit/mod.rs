//! What policies are built from: runqueues, placement on several processors, tickets, reservations.

pub(super) mod ordered;
pub(super) mod placement;
pub(super) mod priority_array;
pub(super) mod priority_lists;
pub(super) mod queue;
pub(super) mod reserved;
pub(super) mod shared_queue;
pub(super) mod tickets;
pub(super) mod timeline;
