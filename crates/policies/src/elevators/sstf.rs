//! # sstf
//!
//! Promises the drive the shortest next seek; no request's wait is bounded.
//!
//! ## The idea
//!
//!     One sorted queue. The request that begins nearest to the heads is next; of two that are equally near, the one
//!     ahead.
//!
//! ## A schedule
//!
//! The heads at cylinder 53 of 200, requests for cylinders 98, 183, 37, 122, 14, 124, 65 and 67 queued at once
//! (Silberschatz's example):
//!
//! ```text
//! 53 → 65 → 67 → 37 → 14 → 98 → 122 → 124 → 183      236 cylinders
//! ```
//!
//! ## Cost
//!
//! Insert and dispatch: logarithmic, and a few hundred bytes moved.
//!
//! ## Good for, not for
//!
//! Throughput of a drive with heads, under a load that comes in bursts. Not under a load that never pauses: requests far
//! from the others starve.
//!
//! ## Departures
//!
//! The original takes the shortest seek time; this takes the least distance in sectors from where the last request
//! ended.
//!
//! ## References
//!
//! - A. Silberschatz, P. Galvin, Operating System Concepts, chapter on mass storage, "SSTF".
//! - P. J. Denning: Effects of Scheduling on File Memory Operations, AFIPS SJCC 1967.

use super::{Context, Device, Elevator, Entry, Next, kit::sorted::Sorted};
use schedlab_model::{
    info::{Info, Params, Promise, Reach},
    request::{RequestId, Sector},
};

/// Shortest seek time first.
#[derive(Debug)]
pub struct Sstf {
    queue: Sorted,
}

impl Entry for Sstf {
    const INFO: Info = Info {
        name: "sstf",
        summary: "the request nearest to the heads is next",
        year: 1967,
        origin: "P. J. Denning",
        promises: &[Promise::WorkConserving(Reach::Everywhere)],
        parameters: &[],
        source: schedlab_model::documentation!("sstf.rs"),
    };

    fn new(_: &Params, _: &Device) -> Self {
        Sstf { queue: Sorted::default() }
    }
}

impl Elevator for Sstf {
    fn insert(&mut self, cx: &Context<'_>, id: RequestId) {
        self.queue.insert(cx.request(id).first, id);
    }

    fn grown(&mut self, cx: &Context<'_>, id: RequestId, began: Sector) {
        self.queue.moved(id, began, cx.request(id).first);
    }

    fn dispatch(&mut self, cx: &Context<'_>) -> Next {
        let (ahead, behind) = (self.queue.at_or_after(cx.head), self.queue.before(cx.head));
        let Some((first, id)) = ahead.into_iter().chain(behind).min_by_key(|&(first, _)| first.abs_diff(cx.head))
        else {
            return Next::Nothing;
        };
        self.queue.remove(first, id);
        Next::Serve(id)
    }
}
