//! # mq_deadline
//!
//! Promises a deadline of half a second to reads and of five seconds to writes within a class, as far as the drive keeps
//! up, batches in ascending order to the drive, and one request every ten seconds to a lower class.
//!
//! ## The idea
//!
//!     Each class has reads and writes, each sorted by sector and listed by arrival. The drive gets batches of up to
//!     fifo_batch requests of one direction in ascending order; what comes in ahead of the heads meanwhile joins the
//!     batch. At the end of a batch the direction is chosen: reads, unless writes have been passed over writes_starved
//!     times. A batch begins with the oldest request if that is past its expiry, or if nothing lies ahead in that
//!     direction; else it continues with the next one ahead. A lower class is looked at only if the higher one has nothing
//!     queued and nothing in the drive. Before all this, if several classes have requests, one of a lower class is served
//!     that is older than prio_aging_expire.
//!
//! ## The formula
//!
//!     urgent  =  now  >=  arrived + expire                read_expire or write_expire, of the oldest of a direction
//!     aged    =  now  >=  arrived + prio_aging_expire     of the request that the rule would take in the lower class
//!
//! ## A schedule
//!
//! Five reads from 10 to 50 and three writes from 15 to 35, ten apart, queued at once, with fifo_batch = 2 (R reads, W
//! writes; the very first batch is of writes, as in the kernel, if there are any):
//!
//! ```text
//! W15  W25  R10  R20  R30  R40  W35  R50
//! ```
//!
//! ## Cost
//!
//! Insert and dispatch: logarithmic, and a few hundred bytes moved.
//!
//! ## Good for, not for
//!
//! Drives with heads and plain solid-state ones under mixed loads; `ionice`, where the class is meant absolutely. Not
//! for fairness within a class: it does not know which task a request belongs to.
//!
//! ## Departures
//!
//! - Times are compared to the nanosecond; the kernel's clock has ticks.
//! - There are no requests inserted at the head, and no zones that are locked while they are written.
//! - As in the kernel, a check of a lower class that takes nothing because nothing there has aged may still end the
//!   batch of the higher class, since the state of the batch is shared by the classes.
//! - async_depth 0 stands for as many as the queue holds, which is the kernel's default.
//!
//! ## References
//!
//! - Linux 6.18, block/mq-deadline.c, __dd_dispatch_request, dd_dispatch_prio_aged_requests, dd_dispatch_request,
//!   dd_limit_depth.

use super::{
    Context, Device, Elevator, Entry, Next,
    kit::arrivals::Links,
    kit::knobs::{FIFO_BATCH, FRONT_MERGES, READ_EXPIRE, WRITE_EXPIRE, WRITES_STARVED, count, period},
    kit::queue::Queue,
};
use schedlab_model::{
    Nanos,
    info::{Info, Params, Promise, Reach},
    request::{
        Direction::{self, Read, Write},
        IoClass, Request, RequestId, Sector,
    },
};

/// The requests of one class.
#[derive(Debug, Default)]
struct Class {
    queues: [Queue; 2],
    /// Where the last request of each direction began.
    position: [Sector; 2],
    /// Requests queued and in the drive.
    held: u32,
}

impl Class {
    /// The first ahead in that direction.
    fn ahead(&self, direction: Direction) -> Option<RequestId> {
        let way = direction as usize;
        self.queues[way].sorted.at_or_after(self.position[way]).map(|(_, id)| id)
    }
}

/// Batches of ascending requests with deadlines, by class.
#[derive(Debug)]
pub struct MqDeadline {
    expire: [Nanos; 2],
    writes_starved: u64,
    fifo_batch: u64,
    front_merges: bool,
    prio_aging_expire: Nanos,
    /// Most requests that may be held before a write is let in.
    async_depth: u32,
    classes: [Class; 3],
    links: Links,
    direction: Direction,
    batching: u64,
    starved: u64,
}

impl MqDeadline {
    /// The request of that class that is next, unless it arrived after `latest`.
    fn next_of(&mut self, cx: &Context<'_>, class: IoClass, latest: Nanos) -> Option<RequestId> {
        let of = &self.classes[class as usize];
        let id = match of.ahead(self.direction).filter(|_| self.batching < self.fifo_batch) {
            Some(id) => id,
            None => self.new_batch(cx, class)?,
        };
        if cx.request(id).arrived > latest {
            return None;
        }
        self.batching += 1;
        self.take(cx, class, id);
        Some(id)
    }

    /// Chooses a direction and the first request of a batch.
    fn new_batch(&mut self, cx: &Context<'_>, class: IoClass) -> Option<RequestId> {
        let queues = &self.classes[class as usize].queues;
        let (reads, writes) = (!queues[Read as usize].is_empty(), !queues[Write as usize].is_empty());
        let passed_over = self.starved;
        self.starved += u64::from(reads && writes);
        let direction = match (reads, writes) {
            (false, false) => return None,
            (true, true) if passed_over >= self.writes_starved => Write,
            (true, _) => Read,
            (false, true) => Write,
        };
        if direction == Write {
            self.starved = 0;
        }
        let of = &self.classes[class as usize];
        let oldest = of.queues[direction as usize].oldest()?;
        let urgent = cx.now >= cx.request(oldest).arrived + self.expire[direction as usize];
        self.direction = direction;
        self.batching = 0;
        Some(of.ahead(direction).filter(|_| !urgent).unwrap_or(oldest))
    }

    fn take(&mut self, cx: &Context<'_>, class: IoClass, id: RequestId) {
        let request = cx.request(id);
        let (of, way) = (&mut self.classes[class as usize], request.direction as usize);
        of.queues[way].remove(cx, &mut self.links, id);
        of.position[way] = request.first;
    }

    /// A request of a lower class that has waited long enough, if several classes have any.
    fn aged(&mut self, cx: &Context<'_>) -> Option<RequestId> {
        if self.classes.iter().filter(|class| class.held > 0).count() < 2 {
            return None;
        }
        let latest = cx.now.checked_sub(self.prio_aging_expire)?;
        [IoClass::BestEffort, IoClass::Idle].into_iter().find_map(|class| self.next_of(cx, class, latest))
    }
}

impl Entry for MqDeadline {
    const INFO: Info = Info {
        name: "mq_deadline",
        summary: "ascending batches, reads before writes, higher classes first, no request waits past its deadline: Linux today",
        year: 2017,
        origin: "Jens Axboe, Linux 4.11",
        promises: &[Promise::WorkConserving(Reach::Everywhere), Promise::StarvationFree(Reach::Everywhere)],
        parameters: &[
            READ_EXPIRE,
            WRITE_EXPIRE,
            WRITES_STARVED,
            FIFO_BATCH,
            FRONT_MERGES,
            period(
                "prio_aging_expire",
                "after this long a request is served before higher classes",
                "10s",
                Some("prio_aging_expire"),
            ),
            count(
                "async_depth",
                "requests in the queue beyond which writes must wait outside; 0: as many as it holds",
                0,
                "0",
                Some("async_depth"),
            ),
        ],
        source: schedlab_model::documentation!("mq_deadline.rs"),
    };

    fn new(params: &Params, _: &Device) -> Self {
        let async_depth = params.whole("async_depth") as u32;
        MqDeadline {
            expire: [params.whole("read_expire"), params.whole("write_expire")],
            writes_starved: params.whole("writes_starved"),
            fifo_batch: params.whole("fifo_batch"),
            front_merges: params.switch("front_merges"),
            prio_aging_expire: params.whole("prio_aging_expire"),
            async_depth: if async_depth == 0 { u32::MAX } else { async_depth },
            classes: Default::default(),
            links: Links::default(),
            direction: Write, // as dd_init_sched does
            batching: 0,
            starved: 0,
        }
    }
}

impl Elevator for MqDeadline {
    fn admits(&self, _: &Context<'_>, new: &Request) -> bool {
        new.direction == Read || self.classes.iter().map(|class| class.held).sum::<u32>() < self.async_depth
    }

    fn merges(&self, cx: &Context<'_>, queued: RequestId, new: &Request) -> bool {
        let old = cx.request(queued);
        old.class == new.class && (self.front_merges || old.end() == new.first)
    }

    fn insert(&mut self, cx: &Context<'_>, id: RequestId) {
        let request = cx.request(id);
        let class = &mut self.classes[request.class as usize];
        class.held += 1;
        class.queues[request.direction as usize].insert(cx, &mut self.links, id);
    }

    fn grown(&mut self, cx: &Context<'_>, id: RequestId, began: Sector) {
        let request = cx.request(id);
        self.classes[request.class as usize].queues[request.direction as usize].grown(cx, id, began);
    }

    fn dispatch(&mut self, cx: &Context<'_>) -> Next {
        if let Some(id) = self.aged(cx) {
            return Next::Serve(id);
        }
        for class in [IoClass::RealTime, IoClass::BestEffort, IoClass::Idle] {
            if let Some(id) = self.next_of(cx, class, cx.now) {
                return Next::Serve(id);
            }
            if self.classes[class as usize].held > 0 {
                break;
            }
        }
        Next::Nothing
    }

    fn completed(&mut self, cx: &Context<'_>, id: RequestId, _: Nanos) {
        self.classes[cx.request(id).class as usize].held -= 1;
    }
}
