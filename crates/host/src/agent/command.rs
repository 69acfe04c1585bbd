//! The agent's own subcommands.

use crate::Fault;
use std::process::ExitCode;

/// Run.
#[derive(clap::Args)]
pub struct Run {}

impl Run {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        Err(Fault::Wrong("not there yet".to_owned()))
    }
}

/// Calibrate.
#[derive(clap::Args)]
pub struct Calibrate {}

impl Calibrate {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        Err(Fault::Wrong("not there yet".to_owned()))
    }
}

/// Noise.
#[derive(clap::Args)]
pub struct Noise {}

impl Noise {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        Err(Fault::Wrong("not there yet".to_owned()))
    }
}
