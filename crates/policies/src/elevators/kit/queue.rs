//! Requests by sector and by arrival at the same time: what every elevator with deadlines keeps for each direction.

use super::{
    arrivals::{Arrivals, Links},
    sorted::Sorted,
};
use crate::elevators::Context;
use schedlab_model::request::{RequestId, Sector};

/// The requests of one direction.
#[derive(Debug, Default)]
pub(in crate::elevators) struct Queue {
    pub(in crate::elevators) sorted: Sorted,
    arrivals: Arrivals,
}

impl Queue {
    pub(in crate::elevators) fn is_empty(&self) -> bool {
        self.arrivals.is_empty()
    }

    /// The one that has waited longest.
    pub(in crate::elevators) fn oldest(&self) -> Option<RequestId> {
        self.arrivals.oldest()
    }

    pub(in crate::elevators) fn insert(&mut self, cx: &Context<'_>, links: &mut Links, id: RequestId) {
        self.sorted.insert(cx.request(id).first, id);
        self.arrivals.push(links, id);
    }

    pub(in crate::elevators) fn remove(&mut self, cx: &Context<'_>, links: &mut Links, id: RequestId) {
        self.sorted.remove(cx.request(id).first, id);
        self.arrivals.remove(links, id);
    }

    pub(in crate::elevators) fn grown(&mut self, cx: &Context<'_>, id: RequestId, began: Sector) {
        self.sorted.moved(id, began, cx.request(id).first);
    }
}
