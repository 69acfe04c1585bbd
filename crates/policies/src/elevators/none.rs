//! # none
//!
//! Promises that the drive gets every request at once and in order, and nothing else.
//!
//! ## The idea
//!
//!     Requests go to the drive as they come, as many as it takes; the rest waits in order of arrival. A new request is
//!     joined to the last one of its owner that still waits, if they touch, and to no other.
//!
//! ## A schedule
//!
//! Reads 98, 183 and 37 queued at once are served so; a read of 99 by another owner than 98's is not joined to it:
//!
//! ```text
//! R98  R183  R37  R99
//! ```
//!
//! ## Cost
//!
//! Insert and dispatch: constant. A request that touches a queued one: linear in the queue.
//!
//! ## Good for, not for
//!
//! Fast drives that take many requests and order them themselves. Not for one with heads that takes one at a time.
//!
//! ## Departures
//!
//! Linux keeps software queues by processor, not by owner, and looks at the last few requests of the processor's queue
//! for one to join to; here the processor is not known, and an owner's last request is the nearest to it. Linux inserts
//! past a software queue when the drive is idle; so does this, since it dispatches in order of arrival. fifo joins to
//! any.
//!
//! ## References
//!
//! - Linux 6.18, block/blk-mq.c, blk_mq_submit_bio; block/blk-mq-sched.c, blk_mq_sched_bio_merge and
//!   blk_mq_do_dispatch_ctx.

use super::{Context, Device, Elevator, Entry, Next};
use schedlab_model::{
    info::{Info, Params, Promise, Reach},
    request::{Request, RequestId},
};
use std::collections::VecDeque;

/// Straight to the drive.
#[derive(Debug, Default)]
pub struct NoElevator {
    queue: VecDeque<RequestId>,
}

impl Entry for NoElevator {
    const INFO: Info = Info {
        name: "none",
        summary: "straight to the drive, joined only to the last request of the same owner",
        year: 2014,
        origin: "Linux 3.13, the multi-queue block layer",
        promises: &[Promise::WorkConserving(Reach::Everywhere), Promise::StarvationFree(Reach::Everywhere)],
        parameters: &[],
        source: schedlab_model::documentation!("none.rs"),
    };

    fn new(_: &Params, _: &Device) -> Self {
        NoElevator::default()
    }
}

impl Elevator for NoElevator {
    fn merges(&self, cx: &Context<'_>, queued: RequestId, new: &Request) -> bool {
        let last = self.queue.iter().rev().find(|&&id| cx.request(id).owner == new.owner);
        last == Some(&queued)
    }

    fn insert(&mut self, _: &Context<'_>, id: RequestId) {
        self.queue.push_back(id);
    }

    fn dispatch(&mut self, _: &Context<'_>) -> Next {
        self.queue.pop_front().map_or(Next::Nothing, Next::Serve)
    }
}
