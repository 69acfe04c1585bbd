//! Scheduling domains under the kernel's names, for descriptions of a machine.

use super::{
    domains::{Domain, Domains, Level},
    kernel::Kernel,
};
use schedlab_model::{task::CpuId, topology::Topology};

/// A level of the first processor's scheduling domains, under the kernel's names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedDomain {
    /// SMT, MC, PKG or NUMA.
    pub level: &'static str,
    /// Of nodes, the distance.
    pub distance: Option<u16>,
    /// What it spans.
    pub processors: Vec<CpuId>,
    /// The processors of each group, the own one first.
    pub groups: Vec<Vec<CpuId>>,
    /// In what it differs from the others.
    pub flags: Vec<&'static str>,
}

/// The scheduling domains of the first processor as `eevdf` and `cfs` build them, the smallest first. Only the levels with favoured cores
/// depend on the kernel; they are those of 6.18.
pub fn named_domains(topology: &Topology) -> Vec<NamedDomain> {
    let named = |domain: &Domain| {
        let (level, distance) = match domain.level {
            Level::Core => ("SMT", None),
            Level::Cache => ("MC", None),
            Level::Node => ("PKG", None),
            Level::Machine(distance) => ("NUMA", Some(distance)),
        };
        let flags = [
            ("SHARE_CPUCAPACITY", domain.level == Level::Core),
            ("SHARE_LLC", domain.shares_cache()),
            ("ASYM_CPUCAPACITY", domain.asymmetric),
            ("ASYM_PACKING", domain.packs),
            ("NUMA", domain.is_between_nodes()),
        ];
        NamedDomain {
            level,
            distance,
            processors: domain.span.iter().collect(),
            groups: domain.groups.iter().map(|group| group.span.iter().collect()).collect(),
            flags: flags.into_iter().filter(|(_, has)| *has).map(|(flag, _)| flag).collect(),
        }
    };
    Domains::new(topology, Kernel::V6_18)
        .chains
        .first()
        .map(|chain| chain.iter().map(named).collect())
        .unwrap_or_default()
}
