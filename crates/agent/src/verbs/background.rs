//! The hidden subcommands: processes that outlive the one that starts them, by `detached`.

use schedlab_linux::{Fault, Root, detached};
use schedlab_play::volume::server;
use schedlab_tune::{restorer, trial};
use std::{path::PathBuf, process::ExitCode, time::Duration};

fn status(worked: bool) -> ExitCode {
    if worked { ExitCode::SUCCESS } else { ExitCode::from(2) }
}

/// Waits for the death of a process and undoes its remaining changes.
#[derive(clap::Args)]
pub struct Restorer {
    #[arg(long)]
    owner: i32,
    #[arg(long)]
    start: u64,
    #[arg(long, default_value = "/")]
    root: PathBuf,
    #[arg(long)]
    journal: PathBuf,
    #[arg(long)]
    detach: bool,
}

impl Restorer {
    /// Runs it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        if self.detach {
            return detached::start_second();
        }
        restorer::run(&Root::at(self.root), &self.journal, self.owner, self.start).map(|()| ExitCode::SUCCESS)
    }
}

/// Holds settings until they are confirmed or their time is over.
#[derive(clap::Args)]
pub struct Trial {
    #[arg(long, default_value = "/")]
    root: PathBuf,
    #[arg(long)]
    journal: PathBuf,
    #[arg(long)]
    folder: PathBuf,
    #[arg(long)]
    within_ms: u64,
    #[arg(long)]
    settings: String,
    #[arg(long)]
    detach: bool,
}

impl Trial {
    /// Runs it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        if self.detach {
            return detached::start_second();
        }
        let within = Duration::from_millis(self.within_ms);
        trial::hold(&Root::at(self.root), &self.journal, &self.folder, &self.settings, within).map(status)
    }
}

/// Serves a modelled disk until it is unmounted.
#[derive(clap::Args)]
pub struct SlowDisk {
    /// Where to mount it
    #[arg(long)]
    at: PathBuf,
    /// Folder of the nameless file
    #[arg(long)]
    folder: PathBuf,
    /// What the table of mounts is to call it
    #[arg(long)]
    source: String,
    #[arg(long)]
    size: u64,
    /// The description, JSON
    #[arg(long)]
    disk: String,
    #[arg(long)]
    owner: i32,
    #[arg(long)]
    start: u64,
    #[arg(long)]
    detach: bool,
}

impl SlowDisk {
    /// Runs it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        if self.detach {
            return detached::start_second();
        }
        let SlowDisk { at, folder, source, size, disk, owner, start, .. } = self;
        server::SlowDisk { at, folder, source, size, disk, owner, start }.serve().map(status)
    }
}
