//! The kernels whose rules the fair schedulers follow on several processors.

/// The first kernel with the rules by which tasks are placed and balanced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kernel {
    /// A processor that becomes idle looks for work elsewhere if it is idle for longer on average than a fixed time; a woken task looks
    /// at as many processors as pays.
    V5_10,
    /// If it is idle for longer than looking takes; at as many processors as are likely to be idle.
    V6_1,
    /// Groups of threads are compared by their cores; of several groups that are just busy, the last is taken. The search for tasks ends at
    /// its limit even where all are bound.
    V6_12,
    /// Failures make looking for work dearer.
    V6_17,
    /// It is done as often as that has paid, by chance.
    V6_18,
}

impl Kernel {
    pub fn by_cores(self) -> bool {
        self >= Kernel::V6_12
    }
}
