//! The size of a plan's volume, which a guest needs before the run.

use schedlab_linux::Fault;
use schedlab_play::{files_of, plan::Plan};
use std::{io, process::ExitCode};

/// Reads a plan from standard input and prints the extent of its volume.
#[derive(clap::Args)]
pub struct VolumeSize;

impl VolumeSize {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        let plan: Plan =
            serde_json::from_reader(io::stdin().lock()).map_err(|why| Fault::Wrong(format!("the plan: {why}")))?;
        let extent = plan.options.volume.clone().unwrap_or_default().extent(files_of(&plan)?)?;
        println!("{}", serde_json::to_string(&extent).map_err(|why| Fault::Wrong(why.to_string()))?);
        Ok(ExitCode::SUCCESS)
    }
}
