//! Requests by sector and by arrival at the same time: what every elevator with deadlines keeps for each direction.

use super::{
    Context,
    arrivals::{Arrivals, Links},
    sorted::Sorted,
};
use schedlab_model::request::{RequestId, Sector};

/// The requests of one direction.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) sorted: Sorted,
    arrivals: Arrivals,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.arrivals.is_empty()
    }

    /// The one that has waited longest.
    pub(super) fn oldest(&self) -> Option<RequestId> {
        self.arrivals.oldest()
    }

    pub(super) fn insert(&mut self, cx: &Context<'_>, links: &mut Links, id: RequestId) {
        self.sorted.insert(cx.request(id).first, id);
        self.arrivals.push(links, id);
    }

    pub(super) fn remove(&mut self, cx: &Context<'_>, links: &mut Links, id: RequestId) {
        self.sorted.remove(cx.request(id).first, id);
        self.arrivals.remove(links, id);
    }

    pub(super) fn grown(&mut self, cx: &Context<'_>, id: RequestId, began: Sector) {
        self.sorted.moved(id, began, cx.request(id).first);
    }
}
