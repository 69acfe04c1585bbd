//! # look
//!
//! Promises every request service within two sweeps, and that the heads never move beyond the last request.
//!
//! ## The idea
//!
//!     The heads go up and serve what they pass, turn at the last request ahead, go down and serve what they pass, turn
//!     again.
//!
//! ## A schedule
//!
//! The heads at cylinder 53 of 200, requests for cylinders 98, 183, 37, 122, 14, 124, 65 and 67 queued at once
//! (Silberschatz's example):
//!
//! ```text
//! 53 → 65 → 67 → 98 → 122 → 124 → 183 → 37 → 14      299 cylinders (towards = up)
//! 53 → 37 → 14 → 65 → 67 → 98 → 122 → 124 → 183      208 cylinders (towards = down)
//! ```
//!
//! ## Cost
//!
//! Insert and dispatch: logarithmic, and a few hundred bytes moved.
//!
//! ## Good for, not for
//!
//! A drive with heads under any load. Places near the ends of the drive wait longer and less evenly than those in the
//! middle, and a file that is read forwards is read badly on the way down.
//!
//! It bounds no wait in seconds. A task that reads one block after the other keeps the heads at its own place, as each next
//! request is ahead of them: a request behind or far ahead waits until that task has come to the end of its file.
//!
//! ## Departures
//!
//! The originals know cylinders; an elevator sees sectors, whose order is the same. Of a request that was
//! just served, only the beginning counts on the way down: what follows right behind it is not ahead then.
//!
//! ## References
//!
//! - A. Silberschatz, P. Galvin, Operating System Concepts, chapter on mass storage, "LOOK".
//! - A. G. Merten: Some Quantitative Techniques for File Organization, University of Wisconsin, 1970.

use super::{
    Context, Device, Elevator, Entry, Next,
    kit::sweep::{Sweep, TOWARDS},
};
use schedlab_model::{
    info::{Info, Params, Promise, Reach},
    request::{RequestId, Sector},
};

/// There and back, as far as there are requests.
#[derive(Debug)]
pub struct Look {
    sweep: Sweep,
}

impl Entry for Look {
    const INFO: Info = Info {
        name: "look",
        summary: "the heads sweep up and down, as far as there are requests",
        year: 1970,
        origin: "A. G. Merten",
        promises: &[Promise::WorkConserving(Reach::Everywhere)],
        parameters: &[TOWARDS],
        source: schedlab_model::documentation!("look.rs"),
    };

    fn new(params: &Params, _: &Device) -> Self {
        Look { sweep: Sweep::new(params.name("towards") == "up") }
    }
}

impl Elevator for Look {
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
