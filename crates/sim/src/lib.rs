//! The simulated kernel: takes a scenario and a seed and gives numbers, the same every time.
//!
//! `kernel.rs` is the state of the kernel, its parts in `cpu.rs`, `process.rs`, `clock.rs`, `timers.rs`, `caches.rs`,
//! `resources.rs`, `servers.rs` and `storage/`. Its operations are, file by file: `run.rs` the loop; `schedule.rs` which task
//! runs; `ends.rs` where a run ends and what that cuts off; `ticks.rs` what a tick does; `expiry.rs` what timers do;
//! `accounting.rs` whose the time is; `oracle.rs` what no kernel knows; `interpret.rs` what a task does next; `services.rs` what
//! system calls do; `sharing.rs` what tasks wait for each other with; `replay.rs` (over `replayed.rs`) what tasks of a recording do again;
//! `treatment.rs` how a task comes to be treated
//! differently, `attention.rs` how that follows attention levels, `protocols.rs` what priority the holder of a lock has;
//! `monolithic.rs` and `messages.rs` the two personalities, over `storage/` and `files.rs`; `layout.rs` where files
//! lie. `boot.rs`, `programs.rs`, `costs.rs` and `hardware.rs` build it from a scenario. `follow.rs` replays a policy against the
//! recording of a real kernel.
//!
//! In a program of one's own, it is compiled for the schedulers that it is to know, and for no other:
//!
//! ```
//! use schedlab_model::scenario::Scenario;
//! use schedlab_policies::schedulers::{Fifo, RoundRobin};
//!
//! let scenario: Scenario = serde_json::from_str(
//!     r#"{
//!         "machine": { "name": "one", "processors": 1, "clock": { "hz": "100/s" } },
//!         "scheduler": { "name": "round_robin" },
//!         "workload": { "job": { "steps": [{ "compute": "100ms" }], "count": 2 } }
//!     }"#,
//! )?;
//! let report = schedlab_sim::run::<(Fifo, RoundRobin)>(&scenario, 1)?;
//! assert_eq!(report.get("elapsed"), Some(0.2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/embed.rs` compares three schedulers, and `examples/own_policies` in the repository brings a policy of its own.

mod accounting;
mod attention;
mod audit;
mod boot;
mod caches;
mod clock;
mod costs;
mod cpu;
mod earliest;
mod ends;
mod expiry;
mod files;
mod follow;
mod hardware;
mod interpret;
mod kernel;
mod layout;
mod messages;
mod monolithic;
mod oracle;
mod process;
mod programs;
mod protocols;
mod replay;
mod replayed;
mod resources;
mod run;
mod schedule;
mod servers;
mod services;
mod sharing;
mod speeds;
mod standing_still;
mod storage;
mod streams;
mod ticks;
mod timers;
mod treatment;

pub use audit::Audit;
pub use follow::{Difference, Followed, Story, follow};

use kernel::Kernel;
use schedlab_metrics::{Collector, Report, Setup, Warning};
use schedlab_model::{
    Nanos,
    event::Observer,
    machine::Personality,
    names::{Names, RunGroup},
    rng,
    scenario::Scenario,
};
use schedlab_policies::schedulers::{Scheduler, Table, Visitor};

/// A scenario that cannot be run, and why. A checked one can.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RunError(pub String);

/// Runs a scenario for a listener, which receives every event in order; gives the time at which the run ended. `T` has the
/// policies that the scenario may name: [`All`](schedlab_policies::schedulers::All), or the one that is meant.
///
/// # Errors
/// If the scenario names a scheduler, load or parameter that does not exist; a checked experiment has no such names.
pub fn observe<T: Table, O: Observer>(scenario: &Scenario, seed: u64, observer: O) -> Result<Nanos, RunError> {
    simulate::<T, O>(scenario, seed, observer).map(|ended| ended.at)
}

fn simulate<T: Table, O: Observer>(scenario: &Scenario, seed: u64, observer: O) -> Result<Ended, RunError> {
    let name = &scenario.scheduler.name;
    let unknown = || Err(RunError(format!("scheduler.name: {name:?} is no scheduler")));
    let (ended, drawn) = rng::watch(|| T::visit(name, Simulation { scenario, seed, observer }).unwrap_or_else(unknown));
    Ok(Ended { drawn, ..ended? })
}

/// Runs a scenario to its metrics.
///
/// # Errors
/// As [`observe`].
pub fn run<T: Table>(scenario: &Scenario, seed: u64) -> Result<Report, RunError> {
    run_with::<T, _>(scenario, seed, ())
}

/// Runs a scenario to its metrics, with another listener alongside.
///
/// # Errors
/// As [`observe`].
pub fn run_with<T: Table, O: Observer>(scenario: &Scenario, seed: u64, other: O) -> Result<Report, RunError> {
    collect::<T, O>(scenario, seed, other).map(|(report, _)| report)
}

/// As [`run_with`], and gives the collector, too: its distributions have more in them than the statistics of a report.
///
/// # Errors
/// As [`observe`].
pub fn collect<T: Table, O: Observer>(
    scenario: &Scenario,
    seed: u64,
    mut other: O,
) -> Result<(Report, Collector), RunError> {
    let mut collector = Collector::new(setup(scenario));
    let ended = simulate::<T, _>(scenario, seed, (&mut collector, &mut other))?;
    let mut report = collector.finish(ended.at);
    report.seeded = ended.drawn;
    report.warnings.extend(ended.stuck);
    report.warnings.retain(|warning| !of_endless_job(scenario, warning.metric.as_deref()));
    Ok((report, collector))
}

/// Runs many, on all threads of the present rayon pool. The order of the results is that of the runs. A page has no threads.
#[cfg(not(target_family = "wasm"))]
pub fn run_batch<T: Table>(runs: &[(Scenario, u64)]) -> Vec<Result<Report, RunError>> {
    use rayon::prelude::*;
    runs.par_iter().map(|(scenario, seed)| run::<T>(scenario, *seed)).collect()
}

/// What a collector must know of a scenario.
pub fn setup(scenario: &Scenario) -> Setup {
    Setup {
        jobs: scenario.workload.keys().cloned().collect(),
        processors: scenario.machine.processors.get(),
        accounting: scenario.machine.accounting,
        page: scenario.machine.memory.page.get().0,
        pages: memory_pages(&scenario.machine),
    }
}

/// The pages of memory that programs and the cache share, where it has an end.
fn memory_pages(machine: &schedlab_model::machine::Machine) -> Option<u64> {
    let memory = &machine.memory;
    let size = memory.size.as_ref()?.get().0;
    Some((size / memory.page.get().0).saturating_sub(memory.reserve.get().into()))
}

/// The words behind the numbers of a scenario's events.
///
/// # Errors
/// As [`observe`].
pub fn names(scenario: &Scenario) -> Result<Names, RunError> {
    let servers: &[&str] = match scenario.machine.personality {
        Personality::MessagePassing => &servers::NAMES,
        Personality::Monolithic => &[],
    };
    Ok(Names {
        processors: scenario.machine.processors.get(),
        jobs: scenario.workload.keys().cloned().collect(),
        servers: servers.iter().map(|name| (*name).to_owned()).collect(),
        marks: programs::compile(scenario)?.marks,
        tick: Some((1e9 / scenario.machine.clock.hz.get().0).round() as Nanos).filter(|&tick| tick > 0),
        groups: Some(RunGroup::all(&scenario.groups)),
    })
}

/// Whether a warning says only that a job without end had not ended.
fn of_endless_job(scenario: &Scenario, metric: Option<&str>) -> bool {
    let job = metric.and_then(|metric| metric.strip_prefix("tasks.")?.strip_suffix(".real"));
    job.and_then(|job| scenario.workload.get(job)).is_some_and(|job| job.passes.count().is_none())
}

/// How a run ended.
struct Ended {
    at: Nanos,
    /// The warning about tasks that can never continue.
    stuck: Option<Warning>,
    /// Whether anything depended on the seed.
    drawn: bool,
}

/// One run, for a scheduler whose type the compiler knows.
struct Simulation<'a, O> {
    scenario: &'a Scenario,
    seed: u64,
    observer: O,
}

impl<O: Observer> Visitor for Simulation<'_, O> {
    type Output = Result<Ended, RunError>;

    fn visit<S: Scheduler>(self) -> Self::Output {
        let mut kernel = Kernel::<S, O>::boot(self.scenario, self.seed, self.observer)?;
        let jobs: Vec<String> = self.scenario.workload.keys().cloned().collect();
        let stuck = kernel.run(&jobs);
        match kernel.stuck {
            Some(task) => Err(kernel.loop_of(self.scenario, task)),
            None => Ok(Ended { at: kernel.now, stuck, drawn: true }),
        }
    }
}
