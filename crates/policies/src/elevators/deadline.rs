//! # deadline
//!
//! Promises a deadline of half a second to reads and of five seconds to writes, as far as the drive keeps up, and runs of
//! neighbouring requests to the drive in between.
//!
//! ## The idea
//!
//!     Reads and writes are kept apart, each sorted by sector and listed by arrival. The drive continues with the next
//!     request by sector as long as that begins where the last one ended, up to fifo_batch of them. Then the direction
//!     is chosen anew: reads, unless writes have been passed over writes_starved times. In that direction, if the
//!     oldest request has waited longer than its expiry, it is next; else the one that follows by sector in a run in
//!     the same direction; else the lowest.
//!
//! ## The formula
//!
//!     urgent  =  now  >  arrived + expire          read_expire or write_expire, of the oldest request of a direction
//!
//! ## A schedule
//!
//! Reads 10, 30, 50, 70 and writes 20, 40, 60 queued at once, one sector each, none beginning where another ends, so
//! that the direction is chosen for each (R reads, W writes):
//!
//! ```text
//! R10  R30  W20  R50  R70  W40  W60
//! ```
//!
//! ## Cost
//!
//! Insert and dispatch: logarithmic, and a few hundred bytes moved.
//!
//! ## Good for, not for
//!
//! Databases and other loads that write a lot and must not wait long for a read. Not for fairness: it does not know which
//! task a request belongs to.
//!
//! ## Departures
//!
//! Expiry is compared to the nanosecond; the kernel's clock has ticks. A request joined to another keeps the other's
//! expiry, as in the kernel; two queued requests that come to touch are not joined.
//!
//! ## References
//!
//! - Linux 2.6.20, block/deadline-iosched.c, deadline_dispatch_requests, deadline_check_fifo, deadline_move_request.
//! - Linux 2.6.20, Documentation/block/deadline-iosched.txt.

use super::{
    Context, Device, Elevator, Entry, Next,
    kit::arrivals::Links,
    kit::knobs::{FIFO_BATCH, FRONT_MERGES, READ_EXPIRE, WRITE_EXPIRE, WRITES_STARVED},
    kit::queue::Queue,
};
use schedlab_model::{
    Nanos,
    info::{Info, Params, Promise, Reach},
    request::{
        Direction::{self, Read, Write},
        Request, RequestId, Sector,
    },
};

/// Reads and writes by sector, with a limit to how long they wait.
#[derive(Debug)]
pub struct Deadline {
    expire: [Nanos; 2],
    writes_starved: u64,
    fifo_batch: u64,
    front_merges: bool,
    queues: [Queue; 2],
    links: Links,
    /// What follows the last request by sector; only in the last direction.
    next: Option<(Direction, Sector, RequestId)>,
    /// Where the last request ended.
    last_end: Option<Sector>,
    /// Requests of this batch; one that is not contiguous counts for a whole batch.
    batching: u64,
    /// How often writes have been passed over.
    starved: u64,
}

impl Deadline {
    /// The run goes on: what follows by sector, if it is contiguous and the batch not full.
    fn continued(&mut self) -> Option<(Direction, RequestId)> {
        let (direction, first, id) = self.next?;
        if self.last_end != Some(first) {
            self.batching += self.fifo_batch;
        }
        (self.batching < self.fifo_batch).then_some((direction, id))
    }

    /// Reads, unless there are none or writes have been passed over often enough.
    fn direction(&mut self) -> Option<Direction> {
        let [reads, writes] = [Read, Write].map(|d| !self.queues[d as usize].is_empty());
        if reads {
            let turn_of_writes = writes && self.starved >= self.writes_starved;
            self.starved += u64::from(writes);
            if !turn_of_writes {
                return Some(Read);
            }
        }
        writes.then(|| {
            self.starved = 0;
            Write
        })
    }

    /// The one to begin with in that direction, where something is queued.
    fn chosen(&mut self, cx: &Context<'_>, direction: Direction) -> RequestId {
        let queue = &self.queues[direction as usize];
        let oldest = queue.oldest().expect("this direction has requests");
        if cx.now > cx.request(oldest).arrived + self.expire[direction as usize] {
            self.batching = 0;
            return oldest;
        }
        match self.next {
            Some((of, _, id)) if of == direction => id, // the batch is not over: only its direction was chosen again
            _ => {
                self.batching = 0;
                queue.sorted.lowest().expect("this direction has requests").1
            }
        }
    }

    fn take(&mut self, cx: &Context<'_>, direction: Direction, id: RequestId) -> Next {
        let request = cx.request(id);
        let queue = &mut self.queues[direction as usize];
        queue.remove(cx, &mut self.links, id);
        self.batching += 1;
        self.last_end = Some(request.end());
        self.next = queue.sorted.at_or_after(request.first).map(|(first, id)| (direction, first, id));
        Next::Serve(id)
    }
}

impl Entry for Deadline {
    const INFO: Info = Info {
        name: "deadline",
        summary: "runs of neighbouring requests, reads before writes, no request waits past its deadline: Linux 2.6",
        year: 2002,
        origin: "Jens Axboe, Linux 2.6",
        promises: &[Promise::WorkConserving(Reach::Everywhere), Promise::StarvationFree(Reach::Everywhere)],
        parameters: &[READ_EXPIRE, WRITE_EXPIRE, WRITES_STARVED, FIFO_BATCH, FRONT_MERGES],
        source: schedlab_model::documentation!("deadline.rs"),
    };

    fn new(params: &Params, _: &Device) -> Self {
        Deadline {
            expire: [params.whole("read_expire"), params.whole("write_expire")],
            writes_starved: params.whole("writes_starved"),
            fifo_batch: params.whole("fifo_batch"),
            front_merges: params.switch("front_merges"),
            queues: Default::default(),
            links: Links::default(),
            next: None,
            last_end: None,
            batching: 0,
            starved: 0,
        }
    }
}

impl Elevator for Deadline {
    fn merges(&self, cx: &Context<'_>, queued: RequestId, new: &Request) -> bool {
        self.front_merges || cx.request(queued).end() == new.first
    }

    fn insert(&mut self, cx: &Context<'_>, id: RequestId) {
        self.queues[cx.request(id).direction as usize].insert(cx, &mut self.links, id);
    }

    fn grown(&mut self, cx: &Context<'_>, id: RequestId, began: Sector) {
        let request = cx.request(id);
        self.queues[request.direction as usize].grown(cx, id, began);
        if let Some((_, first, next)) = &mut self.next
            && *next == id
        {
            *first = request.first;
        }
    }

    fn dispatch(&mut self, cx: &Context<'_>) -> Next {
        let next = self.continued().or_else(|| {
            let direction = self.direction()?;
            Some((direction, self.chosen(cx, direction)))
        });
        next.map_or(Next::Nothing, |(direction, id)| self.take(cx, direction, id))
    }
}
