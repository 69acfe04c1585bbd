//! The sampler's subcommand.

use crate::Fault;
use std::process::ExitCode;

/// Sample.
#[derive(clap::Args)]
pub struct Sample {}

impl Sample {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        Err(Fault::Wrong("not there yet".to_owned()))
    }
}
