//! `schedlab-agent run`, `calibrate` and `noise`: real tasks, and what they need to know of the host first.

use schedlab_linux::{Fault, Root, clock::now, sched};
use schedlab_model::units::parse_duration;
use schedlab_observe::noise;
use schedlab_play::{calibrate, guarded, plan::Plan, supervise};
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
    /// The process that asks: when it dies, the run ends and everything is put back
    #[arg(long)]
    parent: Option<i32>,
}

impl Run {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        let plan = self.read()?;
        guarded(&plan, self.parent, |book, held, volume| match supervise(book, &plan, held, volume)? {
            Some(outcome) => answer(&outcome),
            None => Ok(ExitCode::from(STOPPED)),
        })
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

/// Watches how much of the processors others use, and the holes in them.
#[derive(clap::Args)]
pub struct Noise {
    /// Length of a window
    #[arg(long = "for", default_value = "1s", value_parser = parse_duration)]
    window: u64,
    /// Processors to watch, as "0,1"; all permitted ones, if not given
    #[arg(long, value_delimiter = ',')]
    processors: Vec<u16>,
    /// Wait, without probes, until others use at most this percentage of every processor for a window
    #[arg(long)]
    quiet_below: Option<f64>,
    /// Give up waiting after that long
    #[arg(long, default_value = "30s", value_parser = parse_duration)]
    at_most: u64,
}

/// What the wait for quiet came to.
#[derive(Serialize)]
struct QuietWait {
    quiet: bool,
    waited_ns: u64,
    /// Processor by processor in the last window.
    foreign_percent: Vec<f64>,
    /// Every window, in order.
    windows: Vec<noise::Noise>,
}

impl Noise {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        let allowed = sched::allowed();
        let processors = if self.processors.is_empty() { &allowed } else { &self.processors };
        if let Some(stranger) = processors.iter().find(|cpu| !allowed.contains(cpu)) {
            return Err(Fault::Wrong(format!("processor {stranger} is none that may be used: {allowed:?}")));
        }
        match self.quiet_below {
            None => answer(&noise::look(&Root::default(), processors, self.window, true)?),
            Some(percent) => answer(&self.wait_until_below(percent, processors)?),
        }
    }

    fn wait_until_below(&self, percent: f64, processors: &[u16]) -> Result<QuietWait, Fault> {
        let (begun, mut windows) = (now(), Vec::new());
        loop {
            let seen = noise::look(&Root::default(), processors, self.window, false)?;
            let foreign_percent = seen.foreign_percent();
            let quiet = foreign_percent.iter().all(|&seen| seen <= percent);
            windows.push(seen);
            let waited_ns = now() - begun;
            if quiet || waited_ns + self.window > self.at_most {
                return Ok(QuietWait { quiet, waited_ns, foreign_percent, windows });
            }
        }
    }
}
