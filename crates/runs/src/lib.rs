//! Runs to metrics, under every policy of the table.
//!
//! The kernels that only measure are compiled here, one for each policy, and those that record in `bridge`: of two crates, each
//! keeps a processor of the compiling machine busy.

use schedlab_metrics::Report;
use schedlab_model::scenario::Scenario;
use schedlab_policies::schedulers::All;
use schedlab_sim::RunError;

/// Runs many, each with its seed, on all threads of the present rayon pool. The order of the results is that of the runs.
pub fn run_batch(runs: &[(Scenario, u64)]) -> Vec<Result<Report, RunError>> {
    schedlab_sim::run_batch::<All>(runs)
}
