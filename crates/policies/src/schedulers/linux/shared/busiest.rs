//! From where a processor should pull, and how much: the statistics of processors and their comparison. There is one level of
//! processors that share a cache, and each of them is a group of its own.

use super::{
    balancer::Amount,
    hierarchy::FairClass,
    linux::Linux,
    loads::{FULL, LOAD, REALTIME, RUNNABLE, UTIL},
};
use crate::schedulers::Context;
use schedlab_model::task::CpuId;

/// What counts as more, in hundredths (imbalance_pct).
pub const IMBALANCE: u64 = 117;
/// The load of tasks that always run varies by this part: the kernel's averages are of whole periods.
const PRECISION: u64 = 512;

/// How busy a processor is (group_classify).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    HasSpare,
    FullyBusy,
    Overloaded,
}

/// A processor as the others see it (update_sg_lb_stats).
#[derive(Debug, Clone, Copy)]
struct Statistics {
    kind: Kind,
    load: u64,
    capacity: u64,
    /// Tasks, and those of them that are fair.
    tasks: u64,
    fair: u64,
}

impl Statistics {
    /// The load of as much as a whole processor.
    fn mean(&self) -> u64 {
        self.load * FULL / self.capacity
    }

    /// Whether it is a better choice than another one that was seen before (update_sd_pick_busiest).
    fn is_busier(&self, other: &Statistics, first_busy: bool) -> bool {
        self.kind > other.kind
            || self.kind == other.kind
                && match self.kind {
                    Kind::Overloaded => self.mean() > other.mean(),
                    Kind::FullyBusy => !first_busy,
                    Kind::HasSpare => self.tasks > other.tasks,
                }
    }
}

impl<L: FairClass> Linux<L> {
    /// The processor from which another should pull, and how much. (find_busiest_group, find_busiest_queue)
    pub fn find_busiest(
        &mut self,
        cx: &mut Context<'_>,
        cpu: CpuId,
        idle: bool,
        excluded: u64,
    ) -> Option<(CpuId, Amount)> {
        if !self.balancer.overloaded {
            return None;
        }
        let count = self.cpus.len() as CpuId;
        let own = self.statistics(cx, cpu, idle);
        let (mut load, mut capacity, mut crowded) = (own.load, own.capacity, own.tasks > 1);
        let mut busiest: Option<(CpuId, Statistics)> = None;
        for other in (1..count).map(|step| (cpu + step) % count) {
            let statistics = self.statistics(cx, other, idle);
            capacity += statistics.capacity;
            crowded |= statistics.tasks > 1;
            if excluded >> other & 1 == 1 {
                continue;
            }
            load += statistics.load;
            let first_busy = self.balancer.version.first_busy;
            if statistics.fair > 0 && busiest.is_none_or(|(_, busiest)| statistics.is_busier(&busiest, first_busy)) {
                busiest = Some((other, statistics));
            }
        }
        self.balancer.overloaded = crowded;
        let (from, busiest) = busiest?;
        let amount = Self::calculate_imbalance(&own, &busiest, load * FULL / capacity, idle);
        (!amount.is_nothing()).then_some((from, amount))
    }

    /// How much to pull from the busiest one. There is one processor in a group, so that idle processors need not be counted.
    fn calculate_imbalance(own: &Statistics, busiest: &Statistics, mean: u64, idle: bool) -> Amount {
        let spare = busiest.kind < Kind::Overloaded && (!idle || busiest.fair == 1);
        if own.kind > busiest.kind || spare {
            return Amount::Tasks(0);
        }
        if own.kind == Kind::HasSpare {
            return Amount::Tasks(busiest.tasks.saturating_sub(own.tasks) / 2);
        }
        let (here, there) = (own.mean(), busiest.mean());
        let alike = own.kind == Kind::Overloaded && 100 * there <= IMBALANCE * here;
        if here >= there || here >= mean || alike {
            return Amount::Load(0);
        }
        Amount::Load(((there.saturating_sub(mean)) * busiest.capacity).min((mean - here) * own.capacity) / FULL)
    }

    /// Whether it has more to do than it can, has just enough, or less. A busy processor compares loads, which vary a little.
    fn statistics(&self, cx: &mut Context<'_>, cpu: CpuId, idle: bool) -> Statistics {
        let loads = self.tree.loads_of(cx.now, cpu);
        let (util, runnable) = (loads[UTIL], loads[RUNNABLE]);
        let (tasks, fair) = (u64::from(self.nr_running(cpu)), u64::from(self.tree.h_nr_running(cpu)));
        let capacity = FULL.saturating_sub(loads[REALTIME]).max(1);
        let kind = if tasks > 1 && (capacity * 100 < util * IMBALANCE || capacity * IMBALANCE < runnable * 100) {
            Kind::Overloaded
        } else if tasks < 1 || capacity * IMBALANCE >= runnable * 100 && capacity * 100 > util * IMBALANCE {
            Kind::HasSpare
        } else {
            Kind::FullyBusy
        };
        let load = loads[LOAD];
        let less = if idle || tasks == 0 { 0 } else { cx.rng.below(load / PRECISION + 1) };
        Statistics { kind, load: load - less, capacity, tasks, fair }
    }
}
