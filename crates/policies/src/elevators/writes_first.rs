//! # writes_first
//!
//! Promises that writes go before reads within one sweep of the heads: a page that is written out to free memory goes
//! before a page that a task waits to read.
//!
//! ## The idea
//!
//!     One list; its head is the request in service and stays where it is. A new request is put into the list so that
//!     one sweep goes through the writes by sector, then through the reads by sector, then round again. What sorts
//!     before the request in service waits for the next sweep: a write gains a position within a sweep, it does not go
//!     before the whole queue. A request that sorts behind all others of the sweep goes to the end, behind the next one.
//!     With strict, the direction decides absolutely: reads wait until there are no writes, and each direction has a
//!     circular sweep of its own, which continues where it stopped.
//!
//! ## The formula
//!
//!     lt(a, b)  =  a is a write and b is not,  or both go the same way and  first(a) < first(b)
//!     insert r after the first t, from the request in service on, that has a successor n with
//!         (lt(t, r)  or  not lt(t, n))  and  lt(r, n)
//!     and at the end if there is none
//!
//! first: a request's first sector.
//!
//! ## A schedule
//!
//! Read 50 is in service; then come, in this order, write 10, read 20, read 60, write 20 and read 40 (R a read, W a
//! write, with its sector):
//!
//! ```text
//! R50  W10  W20  R20  R40  R60
//! ```
//!
//! ## Cost
//!
//! Insert: linear in the queue. Dispatch: constant. With strict: logarithmic, and a few hundred bytes moved.
//!
//! ## Good for, not for
//!
//! Machines that swap: few tasks wait for writes then, and the queue of the reads, sorted by place in the swap area, serves
//! several pages of one process in a sweep. Not for one that has enough memory: its readers wait for write-back. With
//! strict, nothing guarantees that the other direction is ever served.
//!
//! ## Departures
//!
//! - Linux 1.0 compares partitions before sectors, and sectors within the partition; here a drive has one partition.
//! - Of 64 slots, its writes of buffers may use the lower 42, and swapping all; here two thirds of the slots of the
//!   queue.
//! - It starts the drive with the first request of an empty queue, unless a batch is being queued; here the first
//!   queued request counts as in service until one is, so that nothing is put before it either way.
//! - On a drive that takes several requests, the last one taken counts as the one in service.
//! - strict is not in any kernel: it is what "writes before reads" is often taken to mean.
//!
//! ## References
//!
//! - Linux 1.0, drivers/block/ll_rw_blk.c, add_request and make_request; drivers/block/blk.h, IN_ORDER.
//! - A. Rubini, comp.os.linux.development, 7 April 1994: the two orders measured.

use super::{
    Context, Device, Elevator, Entry, Next,
    insertion_scan::{InsertionScan, STRICT},
};
use schedlab_model::{
    Nanos,
    info::{Info, Params, Promise, Reach},
    request::{Direction, Request, RequestId, Sector},
};

/// Writes before reads, within a sweep.
#[derive(Debug)]
pub struct WritesFirst {
    queue: InsertionScan,
}

impl Entry for WritesFirst {
    const INFO: Info = Info {
        name: "writes_first",
        summary: "one circular sweep, writes before reads: the 1994 change for machines that swap",
        year: 1994,
        origin: "a change to Linux 1.0, Alessandro Rubini",
        promises: &[Promise::WorkConserving(Reach::Everywhere)],
        parameters: &[STRICT],
        source: schedlab_model::documentation!("writes_first.rs"),
    };

    fn new(params: &Params, device: &Device) -> Self {
        WritesFirst { queue: InsertionScan::new(params.switch("strict"), device.slots) }
    }
}

impl Elevator for WritesFirst {
    fn admits(&self, _: &Context<'_>, new: &Request) -> bool {
        self.queue.admits(new)
    }

    fn merges(&self, cx: &Context<'_>, queued: RequestId, _: &Request) -> bool {
        InsertionScan::merges(cx, queued)
    }

    fn insert(&mut self, cx: &Context<'_>, id: RequestId) {
        self.queue.insert(cx, id, Direction::Write);
    }

    fn grown(&mut self, cx: &Context<'_>, id: RequestId, began: Sector) {
        self.queue.grown(cx, id, began);
    }

    fn dispatch(&mut self, _: &Context<'_>) -> Next {
        self.queue.dispatch(Direction::Write)
    }

    fn completed(&mut self, cx: &Context<'_>, id: RequestId, _: Nanos) {
        self.queue.completed(cx, id);
    }
}
