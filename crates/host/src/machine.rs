//! The host as the machine of a simulated run: what its kernel tells of processors and clocks, as a preset's text.

use crate::{Fault, Root};
use std::process::ExitCode;

/// Prints the machine.
#[derive(clap::Args)]
pub struct Describe {}

impl Describe {
    /// Prints it as TOML.
    pub fn run(self) -> Result<ExitCode, Fault> {
        print!("{}", describe(&Root::default()));
        Ok(ExitCode::SUCCESS)
    }
}

/// The machine as the text of a preset. What cannot be read is left to the defaults.
pub fn describe(_root: &Root) -> String {
    String::new()
}
