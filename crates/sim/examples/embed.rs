//! The simulator in a program of one's own: the same workload under three schedulers. `cargo run --example embed`

use schedlab_model::scenario::Scenario;
use schedlab_policies::schedulers::{Cfs, Fifo, RoundRobin};
use schedlab_sim::run;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut scenario: Scenario = toml::from_str(
        r#"
        machine = { name = "one", processors = 1, clock = { hz = "100/s" } }
        scheduler = { name = "fifo" }
        workload.long = { steps = [{ compute = "1s" }] }
        workload.short = { steps = [{ compute = "20ms" }], count = 5, gap = { exp = "50ms" } }
        "#,
    )?;
    for name in ["fifo", "round_robin", "cfs"] {
        name.clone_into(&mut scenario.scheduler.name);
        let report = run::<(Cfs, (Fifo, RoundRobin))>(&scenario, 1)?;
        println!("{name:12} {:6.1} ms", 1e3 * report.get("tasks.short.turnaround.mean").unwrap_or(f64::NAN));
    }
    Ok(())
}
