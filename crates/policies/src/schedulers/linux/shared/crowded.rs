//! From where a processor that becomes idle should pull where the processors of a cache are compared one by one, which is most often: the
//! answer of `busiest.rs` from those processors alone on which tasks wait. Of 64 processors these are few.

use super::{
    balancer::{Amount, Pull},
    domains::Level,
    hierarchy::FairClass,
    linux::Linux,
    loads::{FULL, LOAD, RUNNABLE, UTIL},
};
use crate::schedulers::Context;
use schedlab_model::{Nanos, task::CpuId};

/// Whether tasks need more than a capacity, or wait for it, by the hundredths `pct`. (group_is_overloaded)
pub fn is_overloaded(capacity: u64, util: u64, runnable: u64, pct: u64) -> bool {
    capacity * 100 < util * pct || capacity * pct < runnable * 100
}

impl<L: FairClass> Linux<L> {
    /// The processor from which another should pull in one of its domains, and how much. (find_busiest_group, find_busiest_queue)
    pub fn find_busiest(&mut self, cx: &mut Context<'_>, cpu: CpuId, pull: &Pull) -> Option<(CpuId, Amount)> {
        let crowded = self.most_crowded(cx.now, cpu, pull);
        if let Some(found) = crowded.filter(|_| !cfg!(debug_assertions)) {
            return found;
        }
        let found = self.busiest_of_all(cx, cpu, pull);
        debug_assert!(crowded.is_none_or(|crowded| crowded == found), "{crowded:?} of the crowded, {found:?} of all");
        found
    }

    /// The same; none if that has to look at all processors. The own group has time to spare, so that of the overloaded
    /// ones the first of the greatest load is the busiest, whatever the others have to do; from one with a single task nothing is pulled.
    fn most_crowded(&mut self, now: Nanos, cpu: CpuId, pull: &Pull) -> Option<Option<(CpuId, Amount)>> {
        let chain = &self.balancer.domains.chains[usize::from(cpu)];
        let domain = &chain[pull.level];
        // Bound tasks can hide an imbalance in groups of levels above the first only.
        let one_by_one = pull.level == 0
            && domain.level == Level::Cache
            && domain.groups.len() as u64 == domain.weight()
            && !domain.spreads
            && !domain.asymmetric
            && !domain.packs;
        let plain = pull.newly && !self.realtime.known && pull.excluded.is_empty() && self.tree.h_nr_running(cpu) == 0;
        if !one_by_one || !plain {
            return None;
        }
        let (mut several, mut busiest) = (false, None::<(CpuId, u64)>);
        // In the order of the groups.
        self.tree.crowded.around(cpu).filter(|&other| domain.span.has(other)).for_each(|other| {
            several = true;
            // No real-time task takes a part.
            let (capacity, most) = (self.capacity(other, 0), busiest.map(|(_, most)| most));
            if most.is_some_and(|most| self.tree.highest_load_of(other) * FULL < (most + 1) * capacity) {
                return; // its mean load, rounded down, cannot be more
            }
            let loads = self.tree.loads_of(now, other);
            let (mean, util) = (loads[LOAD] * FULL / capacity, self.cpu_util(other, loads[UTIL], None));
            let overloaded = is_overloaded(capacity, util, loads[RUNNABLE], domain.imbalance_pct());
            if overloaded && most.is_none_or(|most| mean > most) {
                busiest = Some((other, mean));
            }
        });
        if several && busiest.is_none() {
            return None; // the others count, too
        }
        if chain.len() == 1 {
            self.balancer.overloaded = several;
        }
        Some(busiest.map(|(other, _)| (other, Amount::Tasks(u64::from(self.tree.h_nr_running(other)) / 2))))
    }
}
