//! Runs a workload under a scheduler of this crate and under two of schedlab's, and prints how long its tasks took.

use own_policies::stack::Stack;
use schedlab_model::scenario::Scenario;
use schedlab_policies::schedulers::{Fifo, RoundRobin};
use schedlab_sim::{RunError, run};

/// The schedulers that a scenario of this program may name.
type Mine = (Stack, (Fifo, RoundRobin));

const SCENARIO: &str = r#"{
    "machine": { "name": "one", "processors": 1, "clock": { "hz": "100/s" } },
    "scheduler": { "name": "fifo" },
    "workload": {
        "long": { "steps": [{ "compute": "300ms" }] },
        "short": { "steps": [{ "compute": "20ms" }], "count": 5, "gap": { "exp": "50ms" } }
    }
}"#;

fn main() -> Result<(), RunError> {
    let mut scenario: Scenario = serde_json::from_str(SCENARIO).map_err(|why| RunError(why.to_string()))?;
    println!("{:12} {:>12} {:>12}", "scheduler", "long, ms", "short, ms");
    for name in ["stack", "fifo", "round_robin"] {
        name.clone_into(&mut scenario.scheduler.name);
        let report = run::<Mine>(&scenario, 1)?;
        let mean = |job: &str| 1e3 * report.get(&format!("tasks.{job}.turnaround.mean")).unwrap_or(f64::NAN);
        println!("{name:12} {:12.1} {:12.1}", mean("long"), mean("short"));
    }
    Ok(())
}
