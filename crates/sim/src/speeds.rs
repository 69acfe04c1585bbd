//! How fast processors are: threads of a core take from each other, and some cores can do less than others.
//!
//! ```text
//! speed  =  c * s          wall time  =  work / speed
//! ```
//!
//! c what the core can do, of one of full size; s the speed of a thread while another thread of its core runs a task, else 1. A burst is
//! work: its time on a processor of full size. Interrupts and switching are not slowed down.

use crate::{
    cpu::Cpu,
    kernel::{Kernel, context},
};
use schedlab_model::{
    Nanos,
    event::{NO_TASK, Observer},
    topology::{CAPACITY, Topology},
};
use schedlab_policies::schedulers::{Context, Scheduler};

/// A speed in parts of this: capacities and speeds of threads of up to six decimals are exact.
pub(crate) const FULL: u64 = CAPACITY as u64 * 1_000_000;

/// The speeds of all processors, alone and while another thread of the core runs.
#[derive(Debug)]
pub(crate) struct Speeds {
    /// For each processor, the other threads of its core, a bit each.
    siblings: Vec<u64>,
    speeds: Vec<[u64; 2]>,
    /// Processors that run a task, a bit each.
    busy: u64,
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
            siblings: all.clone().map(|cpu| topology.threads(cpu) & !(1 << cpu)).collect(),
            speeds: all.map(|cpu| [alone(cpu), shared(cpu)]).collect(),
            busy: 0,
        }))
    }

    /// How fast a processor is now.
    fn now(&self, cpu: usize) -> u64 {
        self.speeds[cpu][usize::from(self.siblings[cpu] & self.busy != 0)]
    }
}

/// The time that some work takes, rounded up.
#[inline(always)]
pub(crate) fn wall(work: Nanos, speed: u64) -> Nanos {
    if speed == FULL { work } else { scaled(work, FULL, speed) }
}

/// The work that is done in some time, rounded up, so that what is left of a burst is never forgotten.
#[inline(always)]
pub(crate) fn work(wall: Nanos, speed: u64) -> Nanos {
    if speed == FULL { wall } else { scaled(wall, speed, FULL) }
}

#[cold]
#[inline(never)]
fn scaled(length: Nanos, by: u64, of: u64) -> Nanos {
    Nanos::try_from((u128::from(length) * u128::from(by)).div_ceil(of.into())).unwrap_or(Nanos::MAX)
}

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// A processor has something to run, or nothing any more: the other threads of its core become slower or faster.
    #[cold]
    #[inline(never)]
    pub fn change_speeds(&mut self, cpu: usize, runs: bool) {
        let Some(speeds) = &mut self.speeds else { return };
        let before = speeds.busy;
        speeds.busy = before & !(1 << cpu) | u64::from(runs) << cpu;
        self.cpus[cpu].speed = speeds.now(cpu);
        if speeds.busy == before {
            return;
        }
        let siblings = speeds.siblings[cpu];
        for other in (0..self.cpus.count()).filter(|other| siblings >> other & 1 == 1) {
            let speed = self.speeds.as_ref().map_or(FULL, |speeds| speeds.now(other));
            if self.cpus[other].running == NO_TASK || self.cpus[other].speed == speed {
                self.cpus[other].speed = speed;
                continue;
            }
            self.settle(other);
            self.cpus[other].go_on_at(self.now, speed);
        }
    }
}

impl Cpu {
    /// What is left of the burst, in work. All time before is settled.
    #[inline(always)]
    pub fn left(&self, now: Nanos) -> Nanos {
        work(self.burst_end - now - self.overhead, self.speed)
    }

    /// The rest of the burst has another speed.
    fn go_on_at(&mut self, now: Nanos, speed: u64) {
        let left = self.left(now);
        self.speed = speed;
        self.begin(now, left);
    }
}
