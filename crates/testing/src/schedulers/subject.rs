//! A scheduler under test, whose type the laws need not know.

use super::runs::{Run, run_under};
use schedlab_metrics::Report;
use schedlab_model::{info::Info, scenario::Scenario};
use schedlab_policies::schedulers::{Features, Scheduler, Table, Visitor};

/// A scheduler under test.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    /// Its entry.
    pub info: &'static Info,
    pub(super) features: Features,
    run: fn(&Scenario, u64) -> Run,
    measure: fn(&Scenario, u64) -> Report,
}

impl Subject {
    /// The scheduler of that type.
    pub fn of<S: Scheduler>() -> Subject {
        let measure = |scenario: &Scenario, seed| schedlab_sim::run::<S>(scenario, seed).expect("a checked scenario");
        Subject { info: const { &S::INFO }, features: S::FEATURES, run: run_under::<S>, measure }
    }

    /// The scheduler of that name among those of `T`.
    pub fn named<T: Table>(name: &str) -> Option<Subject> {
        struct Of;
        impl Visitor for Of {
            type Output = Subject;
            fn visit<S: Scheduler>(self) -> Subject {
                Subject::of::<S>()
            }
        }
        T::visit(name, Of)
    }

    /// The scheduler of that name in this repository. That this one function names all of them has their kernels compiled here, and
    /// those that only measure in `runs`: at the optimisation of tests, a crate uses what generic code those that it depends on have
    /// compiled already.
    #[cfg(feature = "built-in")]
    pub fn built_in(name: &str) -> Option<Subject> {
        use schedlab_runs as _;
        Subject::named::<schedlab_policies::schedulers::All>(name)
    }

    /// Whether it is for that scenario's machine.
    pub(super) fn suits(self, scenario: &Scenario) -> bool {
        self.info.allows(scenario.machine.processors.get()).is_ok()
    }

    /// Runs a scenario under it, with its events, the audit and the contract.
    pub(super) fn run(self, scenario: &Scenario, seed: u64) -> Run {
        (self.run)(scenario, seed)
    }

    /// Runs a scenario to its metrics, as a user does.
    pub(super) fn measure(self, scenario: &Scenario, seed: u64) -> Report {
        (self.measure)(scenario, seed)
    }
}
