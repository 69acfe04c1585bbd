//! How fast processors are: threads of a core take from each other, some cores can do less than others, and processors may take turns.
//!
//! ```text
//! speed  =  c * s * t          wall time  =  work / speed
//! ```
//!
//! c what the core can do, of one of full size; s the speed of a thread while another thread of its core runs a task, else 1; t the
//! share of its turn in those of all processors that run tasks, where these take turns, else 1. A burst is work: its time on a processor
//! of full size. Interrupts, switching and leaving an idle state are slowed down by turns only; their cost is what holds when they begin.

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
    turns: Option<Turns>,
}

/// The turns that processors take.
#[derive(Debug)]
struct Turns {
    lengths: Vec<u64>,
    /// The sum of those of the processors that run tasks.
    taken: u64,
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
            turns: topology
                .turns()
                .map(|turns| Turns { lengths: turns.iter().copied().map(u64::from).collect(), taken: 0 }),
        }))
    }

    /// Whether processors take turns.
    pub fn take_turns(&self) -> bool {
        self.turns.is_some()
    }

    /// A processor has something to run, or nothing any more. Returns whether that is a change.
    pub fn note(&mut self, cpu: usize, runs: bool) -> bool {
        let changed = std::mem::replace(&mut self.busy[cpu], runs) != runs;
        if let (true, Some(turns)) = (changed, &mut self.turns) {
            let own = turns.lengths[cpu];
            turns.taken = if runs { turns.taken + own } else { turns.taken - own };
        }
        changed
    }

    /// How many others become slower or faster when it begins or ends to run: the other threads of its core; all, where they take turns.
    pub fn affected(&self, cpu: usize) -> usize {
        self.turns.as_ref().map_or(self.siblings[cpu].len(), |_| self.busy.len() - 1)
    }

    /// The n-th of these.
    pub fn other(&self, cpu: usize, n: usize) -> usize {
        self.turns.as_ref().map_or_else(|| self.siblings[cpu][n].into(), |_| n + usize::from(n >= cpu))
    }

    /// What an interrupt or a switch costs on a processor now.
    pub fn overhead(&self, cpu: usize, cost: Nanos) -> Nanos {
        self.share(cpu).map_or(cost, |[own, all]| scaled(cost, all, own))
    }

    /// The turn of a processor, and those of all that run tasks if it does.
    fn share(&self, cpu: usize) -> Option<[u64; 2]> {
        let turns = self.turns.as_ref()?;
        let own = turns.lengths[cpu];
        Some([own, if self.busy[cpu] { turns.taken } else { turns.taken + own }])
    }

    /// How fast a processor is now.
    pub fn now(&self, cpu: usize) -> u64 {
        let shares = self.siblings[cpu].iter().any(|&other| self.busy[usize::from(other)]);
        let speed = self.speeds[cpu][usize::from(shares)];
        self.share(cpu).map_or(speed, |[own, all]| (speed * own / all).max(1))
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
