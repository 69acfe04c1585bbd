//! `schedlab-agent capture`: the kernel's events as a trace.dat, for a while or while a command runs.

use nix::sys::{prctl::set_pdeathsig, signal::Signal};
use schedlab_linux::{Fault, Root, shown};
use schedlab_model::units::{parse_duration, parse_size};
use schedlab_observe::capture::{self, LEAST_KIB, Request, Summary, command::Until, sets};
use schedlab_tune::{RunJournal, journal_folder};
use serde_json::json;
use std::{
    ffi::OsString,
    fs::OpenOptions,
    io::Write,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

/// How often the kernel's buffers are emptied: at a million events a second, 5 MB of them have come meanwhile.
const EMPTIED_EVERY: Duration = Duration::from_millis(100);
/// Bytes of a KiB.
const KIB: u64 = 1024;

/// Record the kernel's events as a trace.dat.
#[derive(clap::Args)]
pub struct Capture {
    /// How long, such as 5s; without it, until the command has ended or a signal comes.
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration)]
    length_ns: Option<u64>,
    /// File to write the recording to.
    #[arg(short, long, value_name = "FILE", default_value = "trace.dat")]
    output: PathBuf,
    /// Sets of events.
    #[arg(long, value_delimiter = ',', value_name = "SET,SET...")]
    events: Vec<String>,
    /// Size of the kernel's buffer for each processor.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    buffer: Option<u64>,
    /// Most bytes of recorded pages.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "1GiB")]
    size: u64,
    /// Do not compress the file.
    #[arg(long)]
    plain: bool,
    /// File for the answer; a command has standard output.
    #[arg(long, value_name = "FILE")]
    answer: Option<PathBuf>,
    /// Folder of the journal.
    #[arg(long, default_value_os_t = journal_folder())]
    journal: PathBuf,
    /// A command and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Capture {
    /// Records. The exit status is the command's, if there is one; 127 and 126 as a shell's.
    pub fn run(self) -> Result<ExitCode, Fault> {
        let kib_per_cpu = match self.buffer.map(|bytes| bytes / KIB) {
            Some(kib) if kib < LEAST_KIB => {
                return Err(Fault::Wrong(format!("--buffer: expected at least {LEAST_KIB}KiB")));
            }
            other => other,
        };
        let request = Request {
            events: sets::events(&self.events)?,
            kib_per_cpu,
            most_bytes: self.size,
            output: self.output.clone(),
            compress: !self.plain,
        };
        let mut until = Until::listen()?;
        if self.command.is_empty() {
            // A recording that nobody ends any more is ended.
            let _ = set_pdeathsig(Signal::SIGTERM);
        }
        let root = Root::default();
        let mut capture = capture::Capture::start(&root, &RunJournal::open(&root, &self.journal), &request)?;
        if !self.command.is_empty()
            && let Err(not) = until.start(&self.command)
        {
            eprintln!("error: {}", shown(&not.why));
            return Ok(ExitCode::from(not.status));
        }
        let mut failed = None;
        let end = self.length_ns.map(|ns| Instant::now() + Duration::from_nanos(ns));
        while !until.over() && failed.is_none() && end.is_none_or(|end| Instant::now() < end) {
            let left = end.map_or(EMPTIED_EVERY, |end| end.saturating_duration_since(Instant::now()));
            until.wait(Some(left.min(EMPTIED_EVERY)));
            failed = capture.drain().err();
            until.child.into_iter().for_each(|command| capture.look_at(command));
            // A recording that has reached its size is over, unless a command goes on.
            if !capture.records() && self.command.is_empty() {
                break;
            }
        }
        let summary = match failed {
            // The command goes on without being recorded.
            Some(why) => {
                drop(capture);
                Err(why)
            }
            None => capture.finish(),
        };
        while !self.command.is_empty() && !until.over() {
            until.wait(None);
        }
        self.report(&summary?, until.status)?;
        Ok(ExitCode::from(until.status.unwrap_or(0).clamp(0, 255) as u8))
    }

    fn report(&self, summary: &Summary, status: Option<i32>) -> Result<(), Fault> {
        let answer = format!("{}\n", json!({ "recorded": summary, "status": status }));
        let Some(path) = &self.answer else {
            print!("{answer}");
            return Ok(());
        };
        let written = OpenOptions::new().create(true).append(true).open(path);
        let written = written.and_then(|mut file| file.write_all(answer.as_bytes()));
        written.map_err(|why| Fault::file(path, "write", why))
    }
}
