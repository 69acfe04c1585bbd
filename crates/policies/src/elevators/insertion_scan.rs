//! The request list of Linux 1.0, with the direction that goes first as an argument; and the same with that direction
//! absolutely first. [`super::ReadsFirst`], [`super::WritesFirst`] and [`super::AdaptiveOrder`] differ only in what
//! they pass.
//!
//! ```text
//!   lt(a, b)    a's direction goes first and b's does not; or the directions are equal and a begins at a lower sector
//!   insert r    after the first t of the list, from the request in service on, that has a successor n with
//!                   (lt(t, r) or not lt(t, n))  and  lt(r, n);
//!               if there is none, at the end
//! ```

use super::{Context, Next, kit::sorted::Sorted};
use schedlab_model::{
    info::{Domain, Parameter},
    request::{Direction, Request, RequestId, Sector},
};
use std::collections::VecDeque;

/// Requests of this many sectors grow no more; Linux 1.0, drivers/block/ll_rw_blk.c, make_request.
const FULL: u32 = 254;

/// Whether the direction decides absolutely.
pub(super) const STRICT: Parameter = Parameter {
    name: "strict",
    meaning: "the direction decides absolutely, with a sweep of its own for each, instead of within one sweep",
    domain: Domain::Switch,
    default: Some("false"),
    logarithmic: false,
    grows: false,
    host: None,
};

/// What the list is sorted by.
#[derive(Debug, Clone, Copy)]
struct Place {
    id: RequestId,
    direction: Direction,
    first: Sector,
}

impl Place {
    fn of(cx: &Context<'_>, id: RequestId) -> Place {
        let request = cx.request(id);
        Place { id, direction: request.direction, first: request.first }
    }

    fn before(&self, other: &Place, leading: Direction) -> bool {
        (self.direction != leading, self.first) < (other.direction != leading, other.first)
    }
}

/// One list, whose head is the request in service.
#[derive(Debug, Default)]
struct OneSweep {
    serving: Option<Place>,
    queued: VecDeque<Place>,
}

impl OneSweep {
    fn insert(&mut self, new: Place, leading: Direction) {
        let belongs =
            |t: &Place, n: &Place| (t.before(&new, leading) || !t.before(n, leading)) && new.before(n, leading);
        // Without a request in service, the first queued one is about to be: nothing goes before it.
        let head = self.serving.iter();
        let at = head
            .chain(&self.queued)
            .zip(self.queued.iter().skip(usize::from(self.serving.is_none())))
            .position(|(t, n)| belongs(t, n));
        let at = at.map_or(self.queued.len(), |at| at + usize::from(self.serving.is_none()));
        self.queued.insert(at, new);
    }

    fn grown(&mut self, now: Place) {
        if let Some(place) = self.queued.iter_mut().find(|place| place.id == now.id) {
            *place = now; // at the same place of the list: the original does not move it
        }
    }

    fn next(&mut self) -> Option<RequestId> {
        let next = self.queued.pop_front()?;
        self.serving = Some(next);
        Some(next.id)
    }

    fn completed(&mut self, id: RequestId) {
        if self.serving.is_some_and(|place| place.id == id) {
            self.serving = None;
        }
    }
}

/// A circular ascending sweep for each direction, that goes on where it stopped.
#[derive(Debug, Default)]
struct TwoSweeps {
    queued: [Sorted; 2],
    position: [Sector; 2],
}

impl TwoSweeps {
    fn next(&mut self, leading: Direction) -> Option<RequestId> {
        let other = if leading == Direction::Read { Direction::Write } else { Direction::Read };
        let way = [leading, other].map(|d| d as usize).into_iter().find(|&way| !self.queued[way].is_empty())?;
        let (first, id) = self.queued[way].at_or_after(self.position[way]).or_else(|| self.queued[way].lowest())?;
        self.queued[way].remove(first, id);
        self.position[way] = first;
        Some(id)
    }
}

#[derive(Debug)]
enum Order {
    OneSweep(OneSweep),
    TwoSweeps(TwoSweeps),
}

/// The requests, in the order in which they will be served.
#[derive(Debug)]
pub(super) struct InsertionScan {
    order: Order,
    /// Writes of buffers that hold a slot, and how many of them may.
    buffer_writes: u32,
    buffer_write_slots: u32,
}

fn is_buffer_write(request: &Request) -> bool {
    request.direction == Direction::Write && request.mergeable
}

impl InsertionScan {
    /// An empty one, below the given number of slots. Linux 1.0 leaves a third of them to reads and to the swap area, so that
    /// writing back does not keep all other requests out; so does this.
    pub(super) fn new(strict: bool, slots: u32) -> Self {
        let order = if strict { Order::TwoSweeps(TwoSweeps::default()) } else { Order::OneSweep(OneSweep::default()) };
        InsertionScan { order, buffer_writes: 0, buffer_write_slots: (slots * 2 / 3).max(1) }
    }

    pub(super) fn admits(&self, new: &Request) -> bool {
        !is_buffer_write(new) || self.buffer_writes < self.buffer_write_slots
    }

    pub(super) fn merges(cx: &Context<'_>, queued: RequestId) -> bool {
        cx.request(queued).sectors < FULL
    }

    pub(super) fn insert(&mut self, cx: &Context<'_>, id: RequestId, leading: Direction) {
        self.buffer_writes += u32::from(is_buffer_write(cx.request(id)));
        let place = Place::of(cx, id);
        match &mut self.order {
            Order::OneSweep(list) => list.insert(place, leading),
            Order::TwoSweeps(sweeps) => sweeps.queued[place.direction as usize].insert(place.first, id),
        }
    }

    pub(super) fn grown(&mut self, cx: &Context<'_>, id: RequestId, began: Sector) {
        let place = Place::of(cx, id);
        match &mut self.order {
            Order::OneSweep(list) => list.grown(place),
            Order::TwoSweeps(sweeps) => sweeps.queued[place.direction as usize].moved(id, began, place.first),
        }
    }

    pub(super) fn dispatch(&mut self, leading: Direction) -> Next {
        let next = match &mut self.order {
            Order::OneSweep(list) => list.next(),
            Order::TwoSweeps(sweeps) => sweeps.next(leading),
        };
        next.map_or(Next::Nothing, Next::Serve)
    }

    pub(super) fn completed(&mut self, cx: &Context<'_>, id: RequestId) {
        self.buffer_writes -= u32::from(is_buffer_write(cx.request(id)));
        if let Order::OneSweep(list) = &mut self.order {
            list.completed(id);
        }
    }
}
