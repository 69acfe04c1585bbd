//! How the processors of a machine are arranged, as a machine file says it: threads, cores, last-level caches, distances between
//! memory nodes, capacities, favoured cores.

use super::{Machine, Sourced};
use crate::{
    topology::{CAPACITY, Place, Topology},
    units::Duration,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Distance of a node to itself, and to another one where the file does not say it, as firmware reports them (ACPI SLIT).
const LOCAL: u16 = 10;
const REMOTE: u16 = 20;

/// How processors are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Numbering {
    /// First the first thread of every core, then the second ones, as Linux numbers most x86 machines.
    #[default]
    CoresFirst,
    /// The threads of a core one after another.
    ThreadsFirst,
}

/// Threads, cores and caches of each memory node, and what they can do.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Layout {
    /// Hardware threads of a core; 1 if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<Sourced<u16>>,
    /// The speed of a thread while another one of its core runs a task, of that of a thread alone: above 0, at most 1. Needed where a
    /// core has several threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_speed: Option<Sourced<f64>>,
    /// Cores that share a last-level cache; all of a node, if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores_per_cache: Option<Sourced<u16>>,
    /// How processors are numbered.
    #[serde(skip_serializing_if = "is_default")]
    pub numbering: Numbering,
    /// Distances between memory nodes, a row for each node; 10 within a node and 20 between any two, if not given. Rows and columns of more
    /// nodes than the machine has are those of a larger machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distances: Option<Sourced<Vec<Vec<u16>>>>,
    /// What each core can do, of 1024, in the order of cores; all of it, if not given. A list that is shorter than the number of cores is
    /// repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacities: Option<Sourced<Vec<u16>>>,
    /// How much each core is favoured, in the order of cores, as the firmware's highest performance says it (CPPC): idle cores of higher
    /// priority take tasks from those of lower. None is favoured, if not given. A list that is shorter than the number of cores is
    /// repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priorities: Option<Sourced<Vec<u16>>>,
    /// The processors take turns on one, as those of a guest that counts the instructions of all: how long the turn of each is compared with
    /// the others'. Each that runs a task has the share of its turn in those of all that do; with `[1]`, an n-th of its speed while n run
    /// tasks. A list that is shorter than the number of processors is repeated. Each has its own speed, if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<Sourced<Vec<u16>>>,
    /// The processors are virtual ones: how long the hypervisor polls for work after one has halted. From then on the kernel takes it for
    /// preempted, and wakes no task on it. They are the machine's own, if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halt_poll: Option<Sourced<Duration>>,
    /// What looking for work elsewhere costs a processor that becomes idle, at least (`max_newidle_lb_cost`): one that is idle for less on
    /// average does not look. A kernel measures it; a look that is interrupted, or whose virtual processor waits, makes it long. It is
    /// 2 us for each processor looked at, if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newidle_cost: Option<Sourced<Duration>>,
}

fn is_default(numbering: &Numbering) -> bool {
    *numbering == Numbering::default()
}

impl Layout {
    /// Threads of a core.
    pub fn threads(&self) -> u16 {
        self.threads.as_ref().map_or(1, Sourced::get)
    }

    /// The speed of a thread whose sibling runs.
    pub fn thread_speed(&self) -> f64 {
        self.thread_speed.as_ref().map_or(1.0, Sourced::get)
    }
}

impl Machine {
    /// Number of cores.
    pub fn cores(&self) -> u16 {
        self.processors.get().div_ceil(self.topology.threads().max(1))
    }

    /// Its processors as a scheduler sees them. Where they do not fill the cores, the last core has fewer threads; where they do not fill
    /// caches or nodes, the last ones have fewer cores.
    pub fn topology(&self) -> Topology {
        let (processors, layout) = (self.processors.get(), &self.topology);
        let cores = self.cores();
        let node = |core: u16| (u32::from(core) * u32::from(self.nodes.get()) / u32::from(cores.max(1))) as u16;
        let mut caches: Vec<(u16, u16)> = Vec::new();
        let places: Vec<Place> = (0..cores)
            .map(|core| {
                let node = node(core);
                let first = caches.last().filter(|(of, _)| *of == node).is_none();
                let full = layout.cores_per_cache.as_ref().map_or(u16::MAX, Sourced::get);
                if first || caches.last().is_some_and(|(_, cores)| *cores == full) {
                    caches.push((node, 0));
                }
                caches.last_mut().expect("one was pushed").1 += 1;
                let cache = caches.len() as u16 - 1;
                Place { core, cache, node, capacity: layout.capacity(core), priority: layout.priority(core) }
            })
            .collect();
        let core = |cpu: u16| match layout.numbering {
            Numbering::CoresFirst => cpu % cores,
            Numbering::ThreadsFirst => cpu / layout.threads().max(1),
        };
        let cpus = (0..processors).map(|cpu| places[usize::from(core(cpu))]).collect();
        let distances = layout.all_distances(self.nodes.get());
        let topology = Topology::new(cpus, distances, layout.thread_speed());
        let topology = match layout.turns.as_ref() {
            Some(lengths) => topology.in_turns(lengths.value()),
            None => topology,
        };
        let topology = match layout.halt_poll.as_ref() {
            Some(poll) => topology.halting(poll.get().0),
            None => topology,
        };
        match layout.newidle_cost.as_ref() {
            Some(cost) => topology.looking_costs(cost.get().0),
            None => topology,
        }
    }
}

impl Layout {
    fn capacity(&self, core: u16) -> u16 {
        of_core(self.capacities.as_ref(), core).unwrap_or(CAPACITY)
    }

    fn priority(&self, core: u16) -> u16 {
        of_core(self.priorities.as_ref(), core).unwrap_or(0)
    }

    fn all_distances(&self, nodes: u16) -> Vec<Vec<u16>> {
        let given = self.distances.as_ref().map(Sourced::value);
        let usual = |from, to| if from == to { LOCAL } else { REMOTE };
        let between =
            |from: u16, to: u16| given.map_or(usual(from, to), |rows| rows[usize::from(from)][usize::from(to)]);
        (0..nodes).map(|from| (0..nodes).map(|to| between(from, to)).collect()).collect()
    }
}

/// What a list says of a core, if there is one.
fn of_core(list: Option<&Sourced<Vec<u16>>>, core: u16) -> Option<u16> {
    list.and_then(|list| list.value().iter().cycle().nth(core.into()).copied())
}
