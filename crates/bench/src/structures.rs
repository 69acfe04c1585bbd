//! The data structures of the schedulers, each as bare as it can be: what a scheduler that is built on one cannot be quicker
//! than. [`STRUCTURES`] says which scheduler is measured against which, and why.

use schedlab_model::Nanos;

/// Tasks that wait for a processor. Those that run are in no structure, but may be known to it.
pub trait Structure {
    /// For tasks with the numbers below this one.
    fn new(tasks: u32) -> Self;
    /// A task becomes able to run.
    fn wake(&mut self, task: u32);
    /// A task has run for so long, and remains able to.
    fn again(&mut self, task: u32, ran: Nanos);
    /// A task has run for so long, and goes to sleep.
    fn sleep(&mut self, _task: u32, _ran: Nanos) {}
    /// Another second has passed; called where there are ticks.
    fn second(&mut self) {}
    /// Takes out the next task to run.
    fn take(&mut self) -> Option<u32>;
}

/// What a scheduler is built on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Queue,
    Lists,
    Decay,
    Sorted,
    Eligible,
    Sums,
    Scan,
}

impl Kind {
    /// What it is, and why schedulers are measured against it.
    pub fn why(self) -> &'static str {
        match self {
            Kind::Queue => "one queue: order of arrival is all there is",
            Kind::Lists => {
                "a queue for each of 64 levels and a bitmap: a level by what was used of late, halved each turn"
            }
            Kind::Decay => {
                "as lists, but what was used is halved once a second, which is counted where a task is looked at"
            }
            Kind::Sorted => "a sorted ring: the least key (virtual time, deadline, pass, what is left) runs",
            Kind::Eligible => "a sorted ring by deadline, searched for the first task that is not ahead of the mean",
            Kind::Sums => "a tree of partial sums and a random number: each task has its chance",
            Kind::Scan => "a list of ready tasks, all of which are looked at for the greatest counter",
        }
    }

    /// That of a scheduler; a queue, the quickest, if it is not listed.
    pub fn of(scheduler: &str) -> Kind {
        STRUCTURES.iter().find(|(_, names)| names.contains(&scheduler)).map_or(Kind::Queue, |(kind, _)| *kind)
    }
}

/// Which schedulers are built on what.
#[rustfmt::skip]
pub const STRUCTURES: [(Kind, &[&str]); 6] = [
    (Kind::Decay, &["bsd4", "bsd4_4x", "bsd4_52"]),
    (Kind::Lists, &["minix", "mlfq", "o1", "refresh_cycle", "rsdl", "ule"]),
    (Kind::Sorted, &["cfs", "cfs_v3", "edf", "muqss", "rate_monotonic", "srtf", "stride"]),
    (Kind::Eligible, &["eevdf"]),
    (Kind::Sums, &["lottery"]),
    (Kind::Scan, &["linux_1_0"]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        flat::{Decay, Eligible, Lists, Queue, Scan, Sorted, Sums},
        groups::{Groups, LEAVES},
    };
    use schedlab_model::rng::Rng;
    use schedlab_policies::schedulers::SCHEDULERS;

    #[test]
    fn every_scheduler_that_is_listed_exists_and_is_listed_once() {
        let mut names: Vec<_> = STRUCTURES.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        assert!(names.iter().all(|name| SCHEDULERS.iter().any(|info| info.name == *name)), "{names:?}");
    }

    /// Tasks come and go at random; the set of runnable tasks is kept separately to compare.
    fn loses_no_task<S: Structure>() {
        let (tasks, mut rng) = (LEAVES * 3, Rng::stream(1, 1));
        let (mut structure, mut ready) = (S::new(tasks), vec![false; tasks as usize]);
        for _ in 0..20_000 {
            let task = rng.below(tasks.into()) as u32;
            if !std::mem::replace(&mut ready[task as usize], true) {
                structure.wake(task);
            }
            for _ in 0..rng.below(3) {
                let Some(taken) = structure.take() else {
                    assert!(ready.iter().all(|ready| !ready));
                    break;
                };
                assert!(ready[taken as usize], "{taken} is not ready");
                let ran = 1 + rng.below(20_000_000);
                if rng.below(2) == 0 {
                    structure.again(taken, ran);
                } else {
                    ready[taken as usize] = false;
                    structure.sleep(taken, ran);
                }
            }
        }
        let left = std::iter::from_fn(|| {
            let taken = structure.take()?;
            structure.sleep(taken, 1);
            Some(taken)
        });
        assert_eq!(left.count(), ready.iter().filter(|ready| **ready).count());
    }

    #[test]
    fn no_structure_loses_a_task_or_makes_one_up() {
        loses_no_task::<Queue>();
        loses_no_task::<Lists>();
        loses_no_task::<Decay>();
        loses_no_task::<Sorted>();
        loses_no_task::<Eligible>();
        loses_no_task::<Sums>();
        loses_no_task::<Scan>();
        loses_no_task::<Groups<Sorted>>();
        loses_no_task::<Groups<Eligible>>();
    }
}
