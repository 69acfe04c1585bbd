//! # scan
//!
//! Promises every request service within two sweeps over the whole drive.
//!
//! ## The idea
//!
//!     The heads go up to the end of the drive and serve what they pass, then down to its start, then up again: like a
//!     lift that always goes to the top floor, whether called there or not.
//!
//! ## A schedule
//!
//! The heads at cylinder 53 of 200, requests for cylinders 98, 183, 37, 122, 14, 124, 65 and 67 queued at once
//! (Silberschatz's example):
//!
//! ```text
//! 53 → 65 → 67 → 98 → 122 → 124 → 183 → (199) → 37 → 14      331 cylinders (towards = up)
//! 53 → 37 → 14 → (0) → 65 → 67 → 98 → 122 → 124 → 183        236 cylinders (towards = down)
//! ```
//!
//! ## Cost
//!
//! Insert and dispatch: logarithmic, and a few hundred bytes moved.
//!
//! ## Good for, not for
//!
//! Textbooks, and drives whose load is so heavy that there is always a request near the end. Otherwise use look.
//!
//! It bounds no wait in seconds. A task that reads one block after the other keeps the heads at its own place, as each next
//! request is ahead of them: a request behind or far ahead waits until that task has come to the end of its file.
//!
//! ## Departures
//!
//! - The heads do not go to the end of the drive: an elevator names requests, and the drive moves to the next one that
//!   is named. So this serves in the order of look, and in the simulator takes its time; what differs is how far the
//!   arm of the original goes, which `elevators::travel_to_the_ends` computes. Nor can a request that comes while the
//!   arm is on its way to the end still be served on that way, once the next request has been named.
//! - The originals know cylinders; an elevator sees sectors, whose order is the same.
//!
//! ## References
//!
//! - A. Silberschatz, P. Galvin, Operating System Concepts, chapter on mass storage, "SCAN".
//! - P. J. Denning: Effects of Scheduling on File Memory Operations, AFIPS SJCC 1967.

use super::{
    Context, Device, Elevator, Entry, Next,
    kit::sweep::{Sweep, TOWARDS},
};
use schedlab_model::{
    info::{Info, Params, Promise, Reach},
    request::{RequestId, Sector},
};

/// There and back, to the ends of the drive.
#[derive(Debug)]
pub struct Scan {
    sweep: Sweep,
}

impl Entry for Scan {
    const INFO: Info = Info {
        name: "scan",
        summary: "the lift: the heads sweep up and down, to the ends of the drive",
        year: 1967,
        origin: "P. J. Denning",
        promises: &[Promise::WorkConserving(Reach::Everywhere)],
        parameters: &[TOWARDS],
        source: schedlab_model::documentation!("scan.rs"),
    };

    fn new(params: &Params, _: &Device) -> Self {
        Scan { sweep: Sweep::new(params.name("towards") == "up") }
    }
}

impl Elevator for Scan {
    fn insert(&mut self, cx: &Context<'_>, id: RequestId) {
        self.sweep.insert(cx, id);
    }

    fn grown(&mut self, cx: &Context<'_>, id: RequestId, began: Sector) {
        self.sweep.grown(cx, id, began);
    }

    fn dispatch(&mut self, cx: &Context<'_>) -> Next {
        self.sweep.there_and_back(cx)
    }
}
