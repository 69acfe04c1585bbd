//! Requests in order of arrival, from which any can be taken out: linked lists over the ids, so that both ends and the
//! middle cost the same and nothing is allocated once the table has grown.

use schedlab_model::request::RequestId;

const NONE: RequestId = RequestId::MAX;

/// The places of requests in the lists of one elevator; each request is in one list at most.
#[derive(Debug, Default)]
pub(in crate::elevators) struct Links {
    /// The one before and the one after, by id.
    links: Vec<[RequestId; 2]>,
}

/// One list.
#[derive(Debug, Clone, Copy)]
pub(in crate::elevators) struct Arrivals {
    head: RequestId,
    tail: RequestId,
}

impl Default for Arrivals {
    fn default() -> Self {
        Arrivals { head: NONE, tail: NONE }
    }
}

impl Arrivals {
    pub(in crate::elevators) fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// The one that has waited longest.
    pub(in crate::elevators) fn oldest(&self) -> Option<RequestId> {
        (self.head != NONE).then_some(self.head)
    }

    pub(in crate::elevators) fn push(&mut self, links: &mut Links, id: RequestId) {
        let links = &mut links.links;
        if id as usize >= links.len() {
            links.resize(id as usize + 1, [NONE; 2]);
        }
        links[id as usize] = [self.tail, NONE];
        if self.tail == NONE {
            self.head = id;
        } else {
            links[self.tail as usize][1] = id;
        }
        self.tail = id;
    }

    /// Takes out a request that is in this list.
    pub(in crate::elevators) fn remove(&mut self, links: &mut Links, id: RequestId) {
        let links = &mut links.links;
        let [before, after] = links[id as usize];
        if before == NONE {
            self.head = after;
        } else {
            links[before as usize][1] = after;
        }
        if after == NONE {
            self.tail = before;
        } else {
            links[after as usize][0] = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_order_of_arrival_when_any_request_is_taken_out() {
        let (mut links, mut list) = (Links::default(), Arrivals::default());
        for id in [3, 0, 2, 1] {
            list.push(&mut links, id);
        }
        for id in [2, 3, 1] {
            list.remove(&mut links, id);
        }
        assert_eq!(list.oldest(), Some(0));
        list.push(&mut links, 2);
        list.remove(&mut links, 0);
        assert_eq!(list.oldest(), Some(2));
        list.remove(&mut links, 2);
        assert!(list.is_empty());
    }
}
