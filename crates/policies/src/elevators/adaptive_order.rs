//! # adaptive_order
//!
//! Promises that reads go before writes, until the machine swaps; then that writes go before reads.
//!
//! ## The idea
//!
//!     While fewer tasks than a limit are in the swapping state, new requests are inserted as by reads_first; while
//!     that many or more are, as by writes_first. Requests that are queued already stay where they are.
//!     With strict, nothing is sorted by direction; the rule in force when the drive is free says which direction it
//!     takes.
//!
//! ## The formula
//!
//!     leading  =  write  if  swapping >= tasks,  read otherwise
//!
//! swapping: tasks that wait for a page of the swap area to be written or read; tasks: the parameter. The effect of
//! leading is described in reads_first.
//!
//! ## A schedule
//!
//! Read 50 is in service; then come write 10 and read 20 while no task swaps, and read 60, write 20 and read 40 while
//! two tasks do (R a read, W a write, with its sector):
//!
//! ```text
//! R50  W10  W20  R20  R40  R60
//! ```
//!
//! ## Cost
//!
//! As reads_first; one comparison more.
//!
//! ## Good for, not for
//!
//! A small machine that swaps at times. Not for one whose load stays on one side of the limit: there it is one of the
//! other two. With strict, nothing guarantees that the direction that goes second is ever served.
//!
//! ## Departures
//!
//! No kernel had it. The 1994 report proposes it in one sentence ("for instance when two or more processes are in the
//! swapping state") and leaves open what becomes of requests that are queued when the rule changes. Here they stay: to
//! sort the list again would move requests back that were about to be served, and each change of the rule could delay the
//! same ones. So for one sweep after a change the list may hold runs of both orders. Everything else as reads_first.
//!
//! ## References
//!
//! - A. Rubini, comp.os.linux.development, 7 April 1994.
//! - Linux 1.0, drivers/block/ll_rw_blk.c, add_request.

use super::{
    Context, Device, Elevator, Entry, Next,
    insertion_scan::{InsertionScan, STRICT},
};
use schedlab_model::{
    Nanos,
    info::{Domain, Info, Parameter, Params, Promise, Reach},
    request::{Direction, Request, RequestId, Sector},
};

/// Reads before writes, or writes before reads while tasks swap.
#[derive(Debug)]
pub struct AdaptiveOrder {
    queue: InsertionScan,
    tasks: u32,
}

impl AdaptiveOrder {
    fn leading(&self, cx: &Context<'_>) -> Direction {
        if cx.swapping >= self.tasks { Direction::Write } else { Direction::Read }
    }
}

impl Entry for AdaptiveOrder {
    const INFO: Info = Info {
        name: "adaptive_order",
        summary: "reads before writes, or writes before reads while two or more tasks swap",
        year: 1994,
        origin: "proposed for Linux 1.0, Alessandro Rubini",
        promises: &[Promise::WorkConserving(Reach::Everywhere)],
        parameters: &[
            Parameter {
                name: "tasks",
                meaning: "writes go first while that many tasks, or more, are swapping",
                domain: Domain::Count { low: 1, high: 1_000_000 },
                default: Some("2"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            STRICT,
        ],
        source: schedlab_model::documentation!("adaptive_order.rs"),
    };

    fn new(params: &Params, device: &Device) -> Self {
        AdaptiveOrder {
            queue: InsertionScan::new(params.switch("strict"), device.slots),
            tasks: params.whole("tasks") as u32,
        }
    }
}

impl Elevator for AdaptiveOrder {
    fn admits(&self, _: &Context<'_>, new: &Request) -> bool {
        self.queue.admits(new)
    }

    fn merges(&self, cx: &Context<'_>, queued: RequestId, _: &Request) -> bool {
        InsertionScan::merges(cx, queued)
    }

    fn insert(&mut self, cx: &Context<'_>, id: RequestId) {
        self.queue.insert(cx, id, self.leading(cx));
    }

    fn grown(&mut self, cx: &Context<'_>, id: RequestId, began: Sector) {
        self.queue.grown(cx, id, began);
    }

    fn dispatch(&mut self, cx: &Context<'_>) -> Next {
        self.queue.dispatch(self.leading(cx))
    }

    fn completed(&mut self, cx: &Context<'_>, id: RequestId, _: Nanos) {
        self.queue.completed(cx, id);
    }
}
