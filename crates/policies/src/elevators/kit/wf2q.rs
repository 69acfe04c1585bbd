//! B-WF2Q+, flat: which queue is served next, so that each gets sectors by its weight and none runs ahead.
//!
//! ```text
//!   V           virtual time:  += sectors served / (sum of the weights of queues with requests)
//!   S, F        a queue's start and finish:  F = S + budget / weight
//!   activate    S = max(V, F)
//!   next        of those with S <= V the one of the least F;  if there is none, V goes to the least S first
//!   expire      F = S + sectors served / weight,  and, if it still has requests,  S = F
//! ```
//!
//! Times are in sectors a unit of weight, times 2^22, as in the kernel.

const SHIFT: u32 = 22;

fn virtual_time(sectors: u64, weight: u64) -> u64 {
    (sectors << SHIFT) / weight
}

/// A queue's place.
#[derive(Debug, Default, Clone, Copy)]
pub(in crate::elevators) struct Entity {
    start: u64,
    finish: u64,
    /// Of this turn, while it is active.
    weight: u64,
    pub(in crate::elevators) budget: u64,
    pub(in crate::elevators) service: u64,
}

/// Queues of one class that have requests or are being served.
#[derive(Debug, Default)]
pub(in crate::elevators) struct Tree {
    vtime: u64,
    weights: u64,
    active: Vec<usize>,
}

impl Tree {
    pub(in crate::elevators) fn is_empty(&self) -> bool {
        self.active.is_empty()
    }

    /// The queues.
    pub(in crate::elevators) fn active(&self) -> &[usize] {
        &self.active
    }

    pub(in crate::elevators) fn activate(&mut self, queue: usize, entity: &mut Entity, weight: u64) {
        entity.start = self.vtime.max(entity.finish);
        self.enter(entity, weight);
        self.active.push(queue);
    }

    fn enter(&mut self, entity: &mut Entity, weight: u64) {
        (entity.weight, entity.service) = (weight, 0);
        entity.finish = entity.start + virtual_time(entity.budget, weight);
        self.weights += weight;
    }

    /// The queue to serve, if there is any.
    pub(in crate::elevators) fn next<'a>(&mut self, entity: impl Fn(usize) -> &'a Entity) -> Option<usize> {
        let least = self.active.iter().map(|&queue| entity(queue).start).min()?;
        self.vtime = self.vtime.max(least);
        let eligible = self.active.iter().copied().filter(|&queue| entity(queue).start <= self.vtime);
        eligible.min_by_key(|&queue| (entity(queue).finish, queue))
    }

    pub(in crate::elevators) fn served(&mut self, entity: &mut Entity, sectors: u64) {
        entity.service += sectors;
        self.vtime += virtual_time(sectors, self.weights);
    }

    /// The turn is over; `again` is the weight of the next one, if the queue has more requests.
    pub(in crate::elevators) fn expire(&mut self, queue: usize, entity: &mut Entity, again: Option<u64>) {
        self.weights -= entity.weight;
        entity.finish = entity.start + virtual_time(entity.service, entity.weight);
        if let Some(weight) = again {
            entity.start = entity.finish;
            self.enter(entity, weight);
        } else {
            self.active.retain(|&other| other != queue);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backlogged_queues_get_sectors_by_weight_whatever_their_budgets() {
        let mut tree = Tree::default();
        let mut entities = [Entity { budget: 1000, ..Entity::default() }, Entity { budget: 100, ..Entity::default() }];
        let weights = [40, 80];
        for queue in [0, 1] {
            tree.activate(queue, &mut entities[queue], weights[queue]);
        }
        let mut sectors = [0, 0];
        for _ in 0..1000 {
            let queue = tree.next(|queue| &entities[queue]).unwrap();
            let budget = entities[queue].budget;
            tree.served(&mut entities[queue], budget);
            sectors[queue] += budget;
            tree.expire(queue, &mut entities[queue], Some(weights[queue]));
        }
        assert!((sectors[1] as i64 - 2 * sectors[0] as i64).abs() <= 2000, "{sectors:?}");
    }

    #[test]
    fn a_queue_that_was_away_earns_nothing_by_it() {
        let mut tree = Tree::default();
        let mut entities = [Entity { budget: 100, ..Entity::default() }; 2];
        tree.activate(0, &mut entities[0], 40);
        for _ in 0..50 {
            tree.served(&mut entities[0], 100);
            tree.expire(0, &mut entities[0], Some(40));
        }
        tree.activate(1, &mut entities[1], 40);
        let turns: Vec<_> = (0..6)
            .map(|_| {
                let queue = tree.next(|queue| &entities[queue]).unwrap();
                tree.served(&mut entities[queue], 100);
                tree.expire(queue, &mut entities[queue], Some(40));
                queue
            })
            .collect();
        assert_eq!(turns.iter().filter(|&&queue| queue == 1).count(), 3, "{turns:?}");
    }
}
