//! The subcommand that says where a command's time went.

use crate::Fault;
use std::process::ExitCode;

/// Time.
#[derive(clap::Args)]
pub struct Time {}

impl Time {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        Err(Fault::Wrong("not there yet".to_owned()))
    }
}
