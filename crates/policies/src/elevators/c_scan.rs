//! # c_scan
//!
//! Promises every request service within two sweeps over the whole drive, and all positions of it the same wait.
//!
//! ## The idea
//!
//!     The heads go up to the end of the drive and serve what they pass, go back to its start serving nothing, and go
//!     up again.
//!
//! ## A schedule
//!
//! The heads at cylinder 53 of 200, requests for cylinders 98, 183, 37, 122, 14, 124, 65 and 67 queued at once
//! (Silberschatz's example):
//!
//! ```text
//! 53 → 65 → 67 → 98 → 122 → 124 → 183 → (199) → (0) → 14 → 37      382 cylinders, of which 199 back
//! ```
//!
//! ## Cost
//!
//! Insert and dispatch: logarithmic, and a few hundred bytes moved.
//!
//! ## Good for, not for
//!
//! Textbooks, and drives whose load is so heavy that there is always a request near either end. Otherwise use c_look.
//!
//! It bounds no wait in seconds. A task that reads one block after the other keeps the heads at its own place, as each next
//! request is ahead of them: a request behind or far ahead waits until that task has come to the end of its file.
//!
//! ## Departures
//!
//! - The heads do not go to the end of the drive: an elevator names requests, and the drive moves to the next one that
//!   is named. So this serves in the order of c_look, and in the simulator takes its time; what differs is how far the
//!   arm of the original goes, which `elevators::travel_to_the_ends` computes. Nor can a request that comes while the
//!   arm is on its way to the end still be served on that way, once the next request has been named.
//! - The originals know cylinders; an elevator sees sectors, whose order is the same.
//!
//! ## References
//!
//! - A. Silberschatz, P. Galvin, Operating System Concepts, chapter on mass storage, "C-SCAN".
//! - T. J. Teorey, T. B. Pinkerton: A Comparative Analysis of Disk Scheduling Policies, Communications of the ACM
//!   15(3), 1972.

use super::{Context, Device, Elevator, Entry, Next, kit::sweep::Sweep};
use schedlab_model::{
    info::{Info, Params, Promise, Reach},
    request::{RequestId, Sector},
};

/// Up only, from the start of the drive to its end.
#[derive(Debug)]
pub struct CScan {
    sweep: Sweep,
}

impl Entry for CScan {
    const INFO: Info = Info {
        name: "c_scan",
        summary: "one way: the heads sweep up to the end of the drive, and begin again at its start",
        year: 1969,
        origin: "P. H. Seaman, R. A. Lind and T. L. Wilson, IBM",
        promises: &[Promise::WorkConserving(Reach::Everywhere)],
        parameters: &[],
        source: schedlab_model::documentation!("c_scan.rs"),
    };

    fn new(_: &Params, _: &Device) -> Self {
        CScan { sweep: Sweep::new(true) }
    }
}

impl Elevator for CScan {
    fn insert(&mut self, cx: &Context<'_>, id: RequestId) {
        self.sweep.insert(cx, id);
    }

    fn grown(&mut self, cx: &Context<'_>, id: RequestId, began: Sector) {
        self.sweep.grown(cx, id, began);
    }

    fn dispatch(&mut self, cx: &Context<'_>) -> Next {
        self.sweep.round(cx)
    }
}
