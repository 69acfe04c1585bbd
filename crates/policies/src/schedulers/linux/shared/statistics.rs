//! What a group of processors has to do, and which of several is the busiest.

use super::loads::FULL;

/// How busy a group is (group_type).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    HasSpare,
    FullyBusy,
    /// A task needs more than its processor can do, or has one alone that real-time tasks take a part of (group_misfit_task).
    Misfit,
    /// Threads of a core compete while another core is idle (group_smt_balance).
    SharesCore,
    /// An idle processor elsewhere is more favoured than its own (group_asym_packing).
    LessFavoured,
    /// Bound tasks hide an imbalance in it (group_imbalanced).
    Hidden,
    Overloaded,
}

/// A group as the others see it (sg_lb_stats).
#[derive(Debug, Clone, Copy)]
pub struct Statistics {
    pub kind: Kind,
    pub load: u64,
    pub util: u64,
    pub capacity: u64,
    /// Tasks, and those of them that are fair.
    pub tasks: u64,
    pub fair: u64,
    /// Processors, and those of them without a task.
    pub weight: u64,
    pub idle: u64,
    pub cores: u64,
    /// What the least and the most able of its processors can do.
    pub least: u64,
    pub largest: u64,
    /// How much the most favoured of them is favoured.
    pub priority: u32,
    /// The load of a task that would be better off elsewhere.
    pub misfit: u64,
}

impl Statistics {
    /// The load of as much as a whole processor.
    pub fn mean(&self) -> u64 {
        self.load * FULL / self.capacity
    }

    /// Its processors that are not idle.
    pub fn busy(&self) -> u64 {
        self.weight - self.idle
    }

    /// Whether it is one core with several threads (SD_SHARE_CPUCAPACITY of the level below).
    pub fn is_core_of_threads(&self) -> bool {
        self.cores == 1 && self.weight > 1
    }

    /// Whether it is a better choice than another one of its kind that was seen before (update_sd_pick_busiest). Of groups that are
    /// just busy, kernels up to 6.5 keep the first one; of those favoured as little as each other, kernels up to 6.8 take the last one.
    pub fn is_busier(&self, other: &Statistics, old: bool) -> bool {
        match self.kind {
            Kind::Overloaded => self.mean() > other.mean(),
            Kind::Hidden => false,
            Kind::SharesCore if self.idle == 0 && other.idle == 0 => true,
            Kind::LessFavoured => self.priority < other.priority || old && self.priority == other.priority,
            Kind::FullyBusy => !old,
            Kind::Misfit => self.misfit > other.misfit,
            Kind::SharesCore | Kind::HasSpare => {
                self.idle < other.idle || self.idle == other.idle && self.tasks > other.tasks
            }
        }
    }
}
