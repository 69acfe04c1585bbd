//! What SCAN, LOOK, C-SCAN and C-LOOK share: heads that sweep over the drive, and how far the arm has moved.

use super::sorted::Sorted;
use crate::elevators::{Context, Next};
use schedlab_model::{
    info::{Domain, Parameter},
    request::{RequestId, Sector},
};

/// Which way the first sweep goes.
pub(in crate::elevators) const TOWARDS: Parameter = Parameter {
    name: "towards",
    meaning: "where the first sweep goes: to higher sectors (up) or to lower ones (down)",
    domain: Domain::Choice { names: &["up", "down"] },
    default: Some("up"),
    logarithmic: false,
    grows: false,
    host: None,
};

/// Requests, and the sweep over them.
#[derive(Debug)]
pub(in crate::elevators) struct Sweep {
    queued: Sorted,
    up: bool,
    /// Where the last request began; the sweep down goes on below it, where the sweep up goes on behind its end.
    began: Option<Sector>,
}

impl Sweep {
    pub(in crate::elevators) fn new(up: bool) -> Self {
        Sweep { queued: Sorted::default(), up, began: None }
    }

    pub(in crate::elevators) fn insert(&mut self, cx: &Context<'_>, id: RequestId) {
        self.queued.insert(cx.request(id).first, id);
    }

    pub(in crate::elevators) fn grown(&mut self, cx: &Context<'_>, id: RequestId, began: Sector) {
        self.queued.moved(id, began, cx.request(id).first);
    }

    /// The next of a sweep that turns at its last request.
    pub(in crate::elevators) fn there_and_back(&mut self, cx: &Context<'_>) -> Next {
        let below = self.began.unwrap_or(cx.head);
        let (above, below) = (self.queued.at_or_after(cx.head), self.queued.before(below));
        let ahead = if self.up { above } else { below };
        if ahead.is_none() {
            self.up = !self.up;
        }
        // What begins inside the last request is on neither side of it; it is next when nothing else is.
        let next = ahead.or(if self.up { above } else { below }).or(self.queued.lowest());
        self.take(next)
    }

    /// The next of a sweep up that begins again at the lowest request.
    pub(in crate::elevators) fn round(&mut self, cx: &Context<'_>) -> Next {
        let next = self.queued.at_or_after(cx.head).or(self.queued.lowest());
        self.take(next)
    }

    fn take(&mut self, next: Option<(Sector, RequestId)>) -> Next {
        let Some((first, id)) = next else { return Next::Nothing };
        self.queued.remove(first, id);
        self.began = Some(first);
        Next::Serve(id)
    }
}

/// How far an arm goes that serves `stops` in this order, beginning at `from`, in whatever unit these are given.
pub fn travel(from: u64, stops: impl IntoIterator<Item = u64>) -> u64 {
    let step = |(gone, at): (u64, u64), stop: u64| (gone + at.abs_diff(stop), stop);
    stops.into_iter().fold((0, from), step).0
}

/// How far it goes if it turns only at the ends of the drive: a stop that lies against the way of the sweep, or back at
/// the start of one that goes round, is reached over the end.
///
/// `last` is the highest place of the drive; `up` says where the first sweep goes; `round`, that after the highest
/// place the sweep begins again at the lowest.
pub fn travel_to_the_ends(
    from: u64,
    stops: impl IntoIterator<Item = u64>,
    last: u64,
    mut up: bool,
    round: bool,
) -> u64 {
    let (mut gone, mut at) = (0, from);
    for stop in stops {
        let turns = if up { stop < at } else { stop > at };
        if turns {
            let end = if up { last } else { 0 };
            gone += at.abs_diff(end);
            at = end;
            if round {
                gone += last;
                at = last - end;
            } else {
                up = !up;
            }
        }
        gone += at.abs_diff(stop);
        at = stop;
    }
    gone
}
