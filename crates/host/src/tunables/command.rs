//! The subcommands of tunables.

use crate::Fault;
use std::process::ExitCode;

/// Check.
#[derive(clap::Args)]
pub struct Check {}

impl Check {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        Err(Fault::Wrong("not there yet".to_owned()))
    }
}

/// List.
#[derive(clap::Args)]
pub struct List {}

impl List {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        Err(Fault::Wrong("not there yet".to_owned()))
    }
}

/// Apply.
#[derive(clap::Args)]
pub struct Apply {}

impl Apply {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        Err(Fault::Wrong("not there yet".to_owned()))
    }
}

/// Restore.
#[derive(clap::Args)]
pub struct Restore {}

impl Restore {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        Err(Fault::Wrong("not there yet".to_owned()))
    }
}
