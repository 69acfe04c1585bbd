//! `schedlab-agent sample`: lines of JSON, a header first.
//!
//! Every line has the same keys, listed by `--schema`. The first sample is what the second is compared with and gives no
//! line. What a sample costs depends on what is requested: all system counters are always there; `interrupts` costs
//! half as much again, so `interrupts=10` reads it with every tenth sample; `nice` and `tasks` look at every task of the system.

use schedlab_linux::{Fault, Root, clock::now};
use schedlab_model::{Nanos, units::parse_duration};
use schedlab_observe::sample::{
    By, Chosen, Header, Line, Rates, Sampler, Wanted,
    pace::{Pace, Times, Woken},
    schema,
};
use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

/// Shorter intervals than this say little: the kernel reports time in steps of 10 ms.
const SHORTEST: Nanos = 10_000_000;
/// Tasks that are reported at most.
const MOST_TASKS: usize = 1000;
/// Bytes for which a line has room from the beginning.
const ROOM: usize = 256 << 10;

/// What tasks are ordered by.
#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum Order {
    /// Processor time used since the sample before.
    #[default]
    Cpu,
    /// Memory present.
    Memory,
    /// Bytes read from and written to drives since the sample before.
    Disk,
}

impl From<Order> for By {
    fn from(order: Order) -> By {
        match order {
            Order::Cpu => By::Cpu,
            Order::Memory => By::Memory,
            Order::Disk => By::Disk,
        }
    }
}

/// Sample the system's counters: JSON lines, a header first.
#[derive(clap::Args)]
pub struct Sample {
    /// Time between two samples, 10ms at least.
    #[arg(long, default_value = "1s", value_parser = interval)]
    every: Nanos,
    /// For how long; until a signal to stop, if neither this nor --count is given.
    #[arg(long = "for", value_parser = parse_duration)]
    lasting: Option<Nanos>,
    /// How many lines.
    #[arg(long)]
    count: Option<u64>,
    /// Until that process has ended, and once more then.
    #[arg(long, value_name = "PID")]
    until: Option<u32>,
    /// More than the system's counters: interrupts or interrupts=N (with every Nth sample), nice, tasks or tasks=N (those
    /// that use most), cgroup=PATH.
    #[arg(long, value_delimiter = ',', value_name = "WHAT")]
    with: Vec<String>,
    /// What tasks are ordered by.
    #[arg(long, value_enum, default_value_t)]
    by: Order,
    /// These tasks, too.
    #[arg(long = "from-pid", value_name = "PID")]
    pids: Vec<u32>,
    /// The folder to use as /, for files recorded elsewhere.
    #[arg(long)]
    root: Option<PathBuf>,
    /// Tell the names, units and meanings of everything in a line, and end.
    #[arg(long)]
    schema: bool,
}

fn interval(text: &str) -> Result<Nanos, String> {
    let every = parse_duration(text)?;
    if every < SHORTEST { Err(format!("{text} is too short: 10ms at least")) } else { Ok(every) }
}

impl Sample {
    /// Samples until the time is over, the watched process has ended, or a signal comes (exit status 130).
    pub fn run(self) -> Result<ExitCode, Fault> {
        if self.schema {
            println!("{:#}", schema());
            return Ok(ExitCode::SUCCESS);
        }
        let root = self.root.as_ref().map_or_else(Root::default, Root::at);
        let mut sampler = Sampler::new(&root, self.wanted()?)?;
        let mut line = Line::with_room(ROOM);
        let mut out = io::stdout();
        let first = now();
        let mut pace = Pace::new(Times::new(first, self.every), self.until)?;
        sampler.sample(first);
        let header = serde_json::to_string(&Header::of(&sampler, &root, self.every)).unwrap_or_default();
        if !written(&mut out, header.as_bytes()) || !written(&mut out, b"\n") {
            return Ok(ExitCode::SUCCESS);
        }
        let most = self.lasting.map(|lasting| lasting / self.every);
        let (mut lines, mut passed) = (0u64, 0u64);
        while self.count.is_none_or(|count| lines < count) && most.is_none_or(|most| passed < most) {
            let woken = pace.wait();
            let missed = match woken {
                Woken::Due { missed } | Woken::Ended { missed } => missed,
                Woken::Stopped => return Ok(ExitCode::from(130)),
            };
            sampler.sample(now());
            lines += 1;
            passed += 1 + missed;
            let (now, before) = sampler.last_two();
            let rates: Rates = now.rates(before);
            rates.write(sampler.wanted(), missed, &mut line);
            // The reader may close its end when it has seen enough.
            if !written(&mut out, line.bytes()) || matches!(woken, Woken::Ended { .. }) {
                break;
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn wanted(&self) -> Result<Wanted, Fault> {
        let mut wanted = Wanted::default();
        let mut chosen = Chosen { by: self.by.into(), named: self.pids.clone(), ..Chosen::default() };
        for what in &self.with {
            let (name, value) = what.split_once('=').map_or((what.as_str(), None), |(name, value)| (name, Some(value)));
            let number = |usual: u32| match value.map(str::parse) {
                None => Ok(usual),
                Some(Ok(number)) if number > 0 => Ok(number),
                _ => Err(Fault::Wrong(format!("--with {what}: after the = comes a whole number above 0"))),
            };
            match name {
                "interrupts" => wanted.interrupts = Some(number(1)?),
                "nice" if value.is_none() => wanted.nice = true,
                "tasks" => chosen.most = (number(20)? as usize).min(MOST_TASKS),
                "cgroup" => wanted.groups.push(value.unwrap_or("/").to_owned()),
                _ => {
                    let known = "interrupts, interrupts=N, nice, tasks, tasks=N, cgroup=PATH";
                    return Err(Fault::Wrong(format!("--with {what}: there is {known}")));
                }
            }
        }
        wanted.tasks = (chosen.most > 0 || !chosen.named.is_empty()).then_some(chosen);
        Ok(wanted)
    }
}

/// Writes out; returns whether the output is still read.
fn written(out: &mut io::Stdout, bytes: &[u8]) -> bool {
    out.write_all(bytes).and_then(|()| out.flush()).is_ok()
}
