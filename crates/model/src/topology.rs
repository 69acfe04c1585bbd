//! The processors of a machine and what they share: core, last-level cache, memory node. Schedulers build their domains from it.

use crate::{MICROSECOND, Nanos, processors::CpuSet, task::CpuId};

/// What a core of full size can do.
pub const CAPACITY: u16 = 1024;

/// For how long KVM is taken to poll for a processor that has halted. It adapts that to the load, to at most 0.2 ms (`halt_poll_ns`); on a
/// virtual machine of the 2020s with Linux 6.18 a woken task took one in 99.7 % of wakeups that had been idle for 0.08 ms, and in 2 % after
/// 0.18 ms.
pub const HALT_POLL: Nanos = 100 * MICROSECOND;

/// Where a processor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The core of which it is a thread, counted over the machine.
    pub core: u16,
    /// Its last-level cache, counted over the machine.
    pub cache: u16,
    /// Its memory node.
    pub node: u16,
    /// What it can do when no other thread of its core runs, of [`CAPACITY`].
    pub capacity: u16,
    /// How much the firmware favours its core: a higher one is preferred. 0 of all where none is favoured.
    pub priority: u16,
}

/// All processors of a machine, by number.
#[derive(Debug, Clone, PartialEq)]
pub struct Topology {
    cpus: Vec<Place>,
    distances: Vec<Vec<u16>>,
    thread_speed: f64,
    turns: Option<Vec<u16>>,
    halt_poll: Option<Nanos>,
    newidle_cost: Nanos,
}

impl Default for Topology {
    fn default() -> Self {
        Topology::uniform(1)
    }
}

impl Topology {
    /// Processors at these places, the distances between their nodes, and the speed of a thread whose sibling runs.
    pub fn new(cpus: Vec<Place>, distances: Vec<Vec<u16>>, thread_speed: f64) -> Topology {
        Topology { cpus, distances, thread_speed, turns: None, halt_poll: None, newidle_cost: 0 }
    }

    /// The same, with processors that take turns of these relative lengths; a shorter list is repeated.
    pub fn in_turns(self, lengths: &[u16]) -> Topology {
        let turns = lengths.iter().copied().cycle().take(self.cpus.len()).collect();
        Topology { turns: Some(turns), ..self }
    }

    /// The same, with virtual processors for which a hypervisor polls for as long after they have halted.
    pub fn halting(self, poll: Nanos) -> Topology {
        Topology { halt_poll: Some(poll), ..self }
    }

    /// The same, where looking for work costs a processor that becomes idle at least that.
    pub fn looking_costs(self, cost: Nanos) -> Topology {
        Topology { newidle_cost: cost, ..self }
    }

    /// Equal processors, a core each, with one cache and one memory node.
    pub fn uniform(processors: u16) -> Topology {
        let place = |core| Place { core, cache: 0, node: 0, capacity: CAPACITY, priority: 0 };
        Topology::new((0..processors).map(place).collect(), vec![vec![10]], 1.0)
    }

    /// Number of processors.
    pub fn processors(&self) -> u16 {
        self.cpus.len() as u16
    }

    /// Where a processor is.
    #[inline]
    pub fn place(&self, cpu: CpuId) -> Place {
        self.cpus[usize::from(cpu)]
    }

    /// The processors for which something holds.
    fn which(&self, holds: impl Fn(&Place) -> bool) -> CpuSet {
        self.cpus.iter().enumerate().filter(|(_, place)| holds(place)).map(|(cpu, _)| cpu as CpuId).collect()
    }

    /// The threads of a processor's core, itself among them.
    pub fn threads(&self, cpu: CpuId) -> CpuSet {
        let own = self.place(cpu).core;
        self.which(|place| place.core == own)
    }

    /// The processors that share its last-level cache, itself among them.
    pub fn sharing_cache(&self, cpu: CpuId) -> CpuSet {
        let own = self.place(cpu).cache;
        self.which(|place| place.cache == own)
    }

    /// The processors whose memory node is at most as far from that of a processor as `distance`.
    pub fn within(&self, cpu: CpuId, distance: u16) -> CpuSet {
        let own = self.place(cpu).node;
        self.which(|place| place.node == own || self.distance(own, place.node) <= distance)
    }

    /// The distance from one memory node to another; of a node to itself it is the least.
    pub fn distance(&self, from: u16, to: u16) -> u16 {
        self.distances[usize::from(from)][usize::from(to)]
    }

    /// The distances between different nodes, each once, ascending.
    pub fn distances(&self) -> Vec<u16> {
        let last = self.cpus.iter().map(|place| place.node).max().unwrap_or(0);
        let pairs = (0..=last).flat_map(|from| (0..=last).filter(move |to| *to != from).map(move |to| (from, to)));
        let mut all: Vec<u16> = pairs.map(|(from, to)| self.distance(from, to)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The speed of a thread while another one of its core runs, of that of a thread alone.
    pub fn thread_speed(&self) -> f64 {
        self.thread_speed
    }

    /// How long a hypervisor polls for a virtual processor that has halted, before the kernel takes it for preempted; none if there is no
    /// hypervisor.
    pub fn halt_poll(&self) -> Option<Nanos> {
        self.halt_poll
    }

    /// What looking for work costs a processor that becomes idle, at least: one that is idle for less on average does not look.
    pub fn newidle_cost(&self) -> Nanos {
        self.newidle_cost
    }

    /// How long the turn of each processor is compared with the others', if they take turns on one: of its speed, each that runs a task has
    /// the share of its turn in those of all that do.
    pub fn turns(&self) -> Option<&[u16]> {
        self.turns.as_deref()
    }

    /// Whether some cores are favoured over others.
    pub fn has_favoured(&self) -> bool {
        self.cpus.windows(2).any(|pair| pair[0].priority != pair[1].priority)
    }

    /// Whether every processor always runs at full speed.
    pub fn is_even(&self) -> bool {
        let first = |cpu: usize| self.threads(cpu as CpuId).count() == 1 || self.thread_speed >= 1.0;
        let alone = self.turns.is_none() || self.cpus.len() < 2;
        alone && (0..self.cpus.len()).all(|cpu| first(cpu) && self.cpus[cpu].capacity == CAPACITY)
    }
}
