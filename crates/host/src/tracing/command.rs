//! The recorder's subcommand.

use crate::Fault;
use std::process::ExitCode;

/// Record.
#[derive(clap::Args)]
pub struct Record {}

impl Record {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        Err(Fault::Wrong("not there yet".to_owned()))
    }
}
