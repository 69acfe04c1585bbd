//! The agent's own subcommands.

use super::{calibrate, conduct};
use crate::{Fault, Root, plan::Plan};
use serde::Serialize;
use std::{
    io::{self, Read, Write},
    path::PathBuf,
    process::ExitCode,
};

/// The largest plan that is read.
const LARGEST_PLAN: u64 = 64 << 20;
/// Ended by a signal, as shells say it.
const STOPPED: u8 = 130;

/// Prints an answer as one line of JSON.
fn answer(value: &impl Serialize) -> Result<ExitCode, Fault> {
    let text = serde_json::to_string(value).map_err(|why| Fault::Wrong(format!("the answer is no JSON: {why}")))?;
    writeln!(io::stdout().lock(), "{text}").map_err(|why| Fault::file("standard output", "write", why))?;
    Ok(ExitCode::SUCCESS)
}

/// Runs a plan with real tasks and prints the outcome.
#[derive(clap::Args)]
pub struct Run {
    /// The plan, a JSON file; standard input, if not given
    plan: Option<PathBuf>,
}

impl Run {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        let plan = self.read()?;
        match conduct(&Root::default(), &plan)? {
            Some(outcome) => answer(&outcome),
            None => Ok(ExitCode::from(STOPPED)),
        }
    }

    fn read(&self) -> Result<Plan, Fault> {
        let mut text = String::new();
        let (name, read) = match &self.plan {
            Some(path) => {
                let file = std::fs::File::open(path).map_err(|why| Fault::file(path, "open", why))?;
                (path.clone(), file.take(LARGEST_PLAN).read_to_string(&mut text))
            }
            None => ("standard input".into(), io::stdin().take(LARGEST_PLAN).read_to_string(&mut text)),
        };
        read.map_err(|why| Fault::file(name, "read", why))?;
        serde_json::from_str(&text).map_err(|why| Fault::Wrong(format!("the plan: {why}")))
    }
}

/// Measures how much work a second of processor time is.
#[derive(clap::Args)]
pub struct Calibrate {
    /// The processor to measure on; any, if not given
    #[arg(long)]
    cpu: Option<u16>,
}

impl Calibrate {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        answer(&calibrate(self.cpu)?)
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
