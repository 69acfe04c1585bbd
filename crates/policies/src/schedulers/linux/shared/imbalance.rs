//! How much a processor should pull from the busiest group of a domain. (find_busiest_group, calculate_imbalance)

use super::{
    balancer::{Amount, Kernel},
    domains::Domain,
    loads::FULL,
    statistics::{Kind, Statistics},
};

/// Nodes may differ by as many tasks as this, where a difference is tolerated (NUMA_IMBALANCE_MIN).
const TOLERATED: u64 = 2;

impl Statistics {
    /// By how many tasks another group has more than this one, as far as both have as many cores (sibling_imbalance).
    fn fewer_by(&self, other: &Statistics, by_cores: bool) -> u64 {
        let (own, there) = (self.cores, other.cores);
        if own == there || !by_cores {
            return other.tasks.saturating_sub(self.tasks);
        }
        let more = (own * other.tasks).saturating_sub(there * self.tasks);
        let scaled = (2 * more + own + there) / (own + there);
        if scaled <= 1 && self.tasks == 0 && other.tasks > 1 { 2 } else { scaled }
    }
}

/// What is compared with what.
pub struct Comparison<'a> {
    pub own: &'a Statistics,
    pub busiest: &'a Statistics,
    /// The load of as much as a whole processor, of the whole domain.
    pub mean: u64,
    pub domain: &'a Domain,
    /// The processor that pulls is idle.
    pub idle: bool,
    pub kernel: Kernel,
}

impl Comparison<'_> {
    /// How much to pull; nothing if it is balanced. (find_busiest_group, calculate_imbalance)
    pub fn imbalance(&self) -> Amount {
        let (own, busiest) = (self.own, self.busiest);
        match busiest.kind {
            Kind::Misfit if self.domain.asymmetric => return Amount::Misfit(1),
            Kind::Misfit => return Amount::Load(busiest.misfit),
            Kind::LessFavoured => return Amount::Tasks(busiest.fair),
            Kind::Hidden => return Amount::Tasks(1),
            _ => {}
        }
        if own.kind > busiest.kind {
            return Amount::Tasks(0);
        }
        if own.kind == Kind::Overloaded {
            return self.of_loads(100 * busiest.mean() > self.domain.imbalance_pct() * own.mean());
        }
        let spreads = self.spreads() && own.kind == Kind::HasSpare && self.fewer_by() > 1;
        if !spreads && !self.relieves_threads() && busiest.kind != Kind::Overloaded && self.leaves_as_it_is() {
            return Amount::Tasks(0);
        }
        match own.kind {
            _ if busiest.kind == Kind::SharesCore => Amount::Tasks(1),
            Kind::HasSpare => self.of_tasks(),
            _ => self.of_loads(true),
        }
    }

    /// Whether an idle core without threads takes a task from one whose threads compete. (smt_vs_nonsmt_groups)
    fn relieves_threads(&self) -> bool {
        self.idle && self.busiest.kind == Kind::SharesCore && !self.own.is_core_of_threads()
    }

    fn spreads(&self) -> bool {
        self.domain.spreads && (self.idle || !self.kernel.by_cores())
    }

    fn fewer_by(&self) -> u64 {
        self.own.fewer_by(self.busiest, self.kernel.by_cores())
    }

    /// The busiest group is not overloaded: a busy processor takes nothing, nor one whose group has hardly more idle ones.
    fn leaves_as_it_is(&self) -> bool {
        let (own, busiest) = (self.own, self.busiest);
        !self.idle || busiest.fair == 1 || busiest.weight > 1 && own.idle <= busiest.idle + 1
    }

    /// Half the difference, where the own group has time to spare.
    fn of_tasks(&self) -> Amount {
        let (own, busiest) = (self.own, self.busiest);
        if busiest.kind > Kind::FullyBusy && !self.domain.shares_cache() {
            let spare = own.capacity.saturating_sub(own.util);
            return if spare == 0 && self.idle { Amount::Tasks(1) } else { Amount::Util(spare) };
        }
        let more = match () {
            () if self.spreads() => self.fewer_by(),
            () if self.domain.spreads => 0,
            () if busiest.weight == 1 => busiest.tasks.saturating_sub(own.tasks),
            () => own.idle.saturating_sub(busiest.idle),
        };
        Amount::Tasks(match self.domain.is_between_nodes() {
            // In 5.10 a pair of tasks stays where it is.
            true if self.kernel == Kernel::V5_10 => {
                if busiest.tasks <= TOLERATED {
                    0
                } else {
                    more / 2
                }
            }
            true => adjust(more, own.tasks + 1, self.domain.tolerated) / 2,
            false => more / 2,
        })
    }

    /// What makes both groups' loads the mean, if they are `unlike` enough.
    fn of_loads(&self, unlike: bool) -> Amount {
        let (here, there, mean) = (self.own.mean(), self.busiest.mean(), self.mean);
        if here >= there || here >= mean || !unlike {
            return Amount::Load(0);
        }
        Amount::Load((there.saturating_sub(mean) * self.busiest.capacity).min((mean - here) * self.own.capacity) / FULL)
    }
}

/// A difference between nodes, none if it is small and the own node has few tasks. (adjust_numa_imbalance)
pub fn adjust(difference: u64, running: u64, tolerated: u64) -> u64 {
    if running <= tolerated && difference <= TOLERATED { 0 } else { difference }
}
