//! Runs to metrics, under every policy of the table.
//!
//! The kernels that only measure are compiled here, one for each policy, and those that record in `bridge`: of two crates, each
//! keeps a processor of the compiling machine busy.

use schedlab_metrics::Report;
use schedlab_model::scenario::Scenario;
use schedlab_policies::schedulers::All;
use schedlab_sim::RunError;

/// Runs a scenario to its metrics.
///
/// # Errors
/// If the scenario cannot be simulated.
pub fn run(scenario: &Scenario, seed: u64) -> Result<Report, RunError> {
    schedlab_sim::run::<All>(scenario, seed)
}
