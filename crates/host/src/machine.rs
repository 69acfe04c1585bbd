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
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    format!("name = \"host\"\nprocessors = {processors}\nclock = {{ hz = \"250/s\" }}\n")
}

/// The scheduler of this kernel's ordinary tasks, by its name among the policies: EEVDF came with Linux 6.6.
pub fn scheduler(root: &Root) -> &'static str {
    let release = root.read("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version == (0, 0) || version >= (6, 6) { "eevdf" } else { "cfs" }
}
