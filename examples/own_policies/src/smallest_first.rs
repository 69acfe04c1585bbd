//! # smallest_first
//!
//! Promises that the drive is never idle while a request is queued. No request's wait is bounded.
//!
//! ## The idea
//!
//!     The smallest queued request is next; of equals, the one with the lowest number.
//!
//! ## A schedule
//!
//! Requests of 8, 2 and 4 sectors at 0, 100 and 200, queued at once:
//!
//! ```text
//! 100 → 200 → 0
//! ```
//!
//! ## Cost
//!
//! Dispatch: linear in the queued requests.
//!
//! ## Good for, not for
//!
//! An exercise: the least mean wait if service time is proportional to size. Large requests may starve.
//!
//! ## Departures
//!
//! None.
//!
//! ## References
//!
//! - L. E. Schrage, L. W. Miller, The queue M/G/1 with the shortest remaining processing time discipline, 1966.

use schedlab_model::{
    info::{Info, Params, Promise, Reach},
    request::RequestId,
};
use schedlab_policies::elevators::{Context, Device, Elevator, Entry, Next};

/// The smallest request first.
#[derive(Debug, Default)]
pub struct SmallestFirst {
    queue: Vec<RequestId>,
}

impl Entry for SmallestFirst {
    const INFO: Info = Info {
        name: "smallest_first",
        summary: "the smallest request is next",
        year: 1966,
        origin: "queueing theory",
        promises: &[Promise::WorkConserving(Reach::Everywhere)],
        parameters: &[],
        source: include_str!("smallest_first.rs"),
    };

    fn new(_: &Params, _: &Device) -> Self {
        SmallestFirst::default()
    }
}

impl Elevator for SmallestFirst {
    fn insert(&mut self, _: &Context<'_>, id: RequestId) {
        self.queue.push(id);
    }

    fn dispatch(&mut self, cx: &Context<'_>) -> Next {
        let smallest = (0..self.queue.len()).min_by_key(|&at| (cx.request(self.queue[at]).sectors, self.queue[at]));
        smallest.map_or(Next::Nothing, |at| Next::Serve(self.queue.swap_remove(at)))
    }
}
