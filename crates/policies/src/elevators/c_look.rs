//! # c_look
//!
//! Promises every request service within two sweeps, and all positions of the drive the same wait.
//!
//! ## The idea
//!
//!     The heads go up and serve what they pass; from the last request ahead they go back to the lowest one, serving
//!     nothing on the way, and go up again.
//!
//! ## A schedule
//!
//! The heads at cylinder 53 of 200, requests for cylinders 98, 183, 37, 122, 14, 124, 65 and 67 queued at once
//! (Silberschatz's example):
//!
//! ```text
//! 53 → 65 → 67 → 98 → 122 → 124 → 183 → 14 → 37      322 cylinders, of which 169 back
//! ```
//!
//! ## Cost
//!
//! Insert and dispatch: logarithmic, and a few hundred bytes moved.
//!
//! ## Good for, not for
//!
//! A drive with heads under any load, files that are read forwards above all. Most one-way elevators are this one with
//! deadlines added.
//!
//! It bounds no wait in seconds. A task that reads one block after the other keeps the heads at its own place, as each next
//! request is ahead of them: a request behind or far ahead waits until that task has come to the end of its file.
//!
//! ## Departures
//!
//! The originals know cylinders; an elevator sees sectors, whose order is the same.
//!
//! ## References
//!
//! - A. Silberschatz, P. Galvin, Operating System Concepts, chapter on mass storage, "C-LOOK".
//! - B. L. Worthington, G. R. Ganger, Y. N. Patt: Scheduling Algorithms for Modern Disk Drives, SIGMETRICS 1994,
//!   section 2.

use super::{Context, Device, Elevator, Entry, Next, kit::sweep::Sweep};
use schedlab_model::{
    info::{Info, Params, Promise, Reach},
    request::{RequestId, Sector},
};

/// Up only, as far as there are requests.
#[derive(Debug)]
pub struct CLook {
    sweep: Sweep,
}

impl Entry for CLook {
    const INFO: Info = Info {
        name: "c_look",
        summary: "one way: the heads sweep up as far as there are requests, and begin again at the lowest",
        year: 1972,
        origin: "after C-SCAN",
        promises: &[Promise::WorkConserving(Reach::Everywhere)],
        parameters: &[],
        source: schedlab_model::documentation!("c_look.rs"),
    };

    fn new(_: &Params, _: &Device) -> Self {
        CLook { sweep: Sweep::new(true) }
    }
}

impl Elevator for CLook {
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
