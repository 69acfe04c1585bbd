//! How fast processors are: threads of a core take from each other, and some cores can do less than others.
//!
//! ```text
//! speed  =  c * s          wall time  =  work / speed
//! ```
//!
//! c what the core can do, of one of full size; s the speed of a thread while another thread of its core runs a task, else 1. A burst is
//! work: its time on a processor of full size. Interrupts and switching are not slowed down.

use schedlab_model::{
    Nanos,
    task::CpuId,
    topology::{CAPACITY, Topology},
};

/// A speed in parts of this: capacities and speeds of threads of up to six decimals are exact.
pub(crate) const FULL: u64 = CAPACITY as u64 * 1_000_000;

/// The speeds of all processors, alone and while another thread of the core runs.
#[derive(Debug)]
pub(crate) struct Speeds {
    /// For each processor, the other threads of its core.
    siblings: Vec<Vec<CpuId>>,
    speeds: Vec<[u64; 2]>,
    /// For each processor, whether it runs a task.
    busy: Vec<bool>,
}

impl Speeds {
    /// Those of a machine whose processors are not all alike at all times.
    pub fn of(topology: &Topology) -> Option<Box<Speeds>> {
        if topology.is_even() {
            return None;
        }
        let all = 0..topology.processors();
        let alone = |cpu| u64::from(topology.place(cpu).capacity) * FULL / u64::from(CAPACITY);
        let shared = |cpu| ((alone(cpu) as f64 * topology.thread_speed()).round() as u64).max(1);
        Some(Box::new(Speeds {
            siblings: all
                .clone()
                .map(|cpu| topology.threads(cpu).iter().filter(|&other| other != cpu).collect())
                .collect(),
            busy: vec![false; all.len()],
            speeds: all.map(|cpu| [alone(cpu), shared(cpu)]).collect(),
        }))
    }

    /// A processor has something to run, or nothing any more. Returns whether that is a change.
    pub fn note(&mut self, cpu: usize, runs: bool) -> bool {
        std::mem::replace(&mut self.busy[cpu], runs) != runs
    }

    /// How many other threads its core has.
    pub fn siblings(&self, cpu: usize) -> usize {
        self.siblings[cpu].len()
    }

    /// The n-th of the other threads of its core.
    pub fn sibling(&self, cpu: usize, n: usize) -> usize {
        self.siblings[cpu][n].into()
    }

    /// How fast a processor is now.
    pub fn now(&self, cpu: usize) -> u64 {
        let shares = self.siblings[cpu].iter().any(|&other| self.busy[usize::from(other)]);
        self.speeds[cpu][usize::from(shares)]
    }
}

/// The time that some work takes, rounded up.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn wall(work: Nanos, speed: u64) -> Nanos {
    if speed == FULL { work } else { scaled(work, FULL, speed) }
}

/// The work that is done in some time, rounded up, so that what is left of a burst is never forgotten.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn work(wall: Nanos, speed: u64) -> Nanos {
    if speed == FULL { wall } else { scaled(wall, speed, FULL) }
}

#[cold]
#[inline(never)]
fn scaled(length: Nanos, by: u64, of: u64) -> Nanos {
    Nanos::try_from((u128::from(length) * u128::from(by)).div_ceil(of.into())).unwrap_or(Nanos::MAX)
}
