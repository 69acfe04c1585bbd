//! # fifo
//!
//! Promises that requests are served in order of arrival, at the cost of long seeks.
//!
//! ## The idea
//!
//!     One queue. A request that touches a queued one is joined to it; any other goes to the tail. The head is next.
//!
//! ## A schedule
//!
//! The heads at sector 53, requests for 98, 183, 37, 122, 14, 124, 65 and 67 queued at once (Silberschatz's example, one
//! sector a cylinder):
//!
//! ```text
//! 53 → 98 → 183 → 37 → 122 → 14 → 124 → 65 → 67      640 cylinders
//! ```
//!
//! ## Cost
//!
//! Insert and dispatch: constant.
//!
//! ## Good for, not for
//!
//! Drives without heads, and drives that sort their requests themselves. On a rotating drive with a long queue it wastes
//! most of the time on seeks.
//!
//! ## Departures
//!
//! None. Linux calls it noop.
//!
//! ## References
//!
//! - A. Silberschatz, P. Galvin, Operating System Concepts, chapter on mass storage, "FCFS".
//! - Linux 2.6.20, block/noop-iosched.c.

use super::{Context, Device, Elevator, Entry, Next};
use schedlab_model::{
    info::{Info, Params, Promise, Reach},
    request::RequestId,
};
use std::collections::VecDeque;

/// First come, first served.
#[derive(Debug, Default)]
pub struct Fifo {
    queue: VecDeque<RequestId>,
}

impl Entry for Fifo {
    const INFO: Info = Info {
        name: "fifo",
        summary: "first come, first served",
        year: 1956,
        origin: "batch monitors",
        promises: &[Promise::WorkConserving(Reach::Everywhere), Promise::StarvationFree(Reach::Everywhere)],
        parameters: &[],
        source: schedlab_model::documentation!("fifo.rs"),
    };

    fn new(_: &Params, _: &Device) -> Self {
        Fifo::default()
    }
}

impl Elevator for Fifo {
    fn insert(&mut self, _: &Context<'_>, id: RequestId) {
        self.queue.push_back(id);
    }

    fn dispatch(&mut self, _: &Context<'_>) -> Next {
        self.queue.pop_front().map_or(Next::Nothing, Next::Serve)
    }
}
