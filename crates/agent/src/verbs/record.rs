//! `schedlab-agent record`: the scheduler's events of the whole host for a while, into a file.

use schedlab_linux::{
    Fault, Root,
    clock::now,
    proc::{task::TaskStat, text::signed},
    signals::{block_stops, came},
};
use schedlab_model::units::parse_duration;
use schedlab_observe::tracing::{Recorder, Roster, RosterTask};
use schedlab_tune::{RunJournal, journal_folder};
use serde_json::json;
use std::{fs, path::PathBuf, process::ExitCode, time::Duration};

/// How often the kernel's buffers are emptied, ns: at a million events a second, 5 MiB of them have come meanwhile.
const EMPTIED_EVERY_NS: u64 = 100_000_000;
/// The field of `/proc/PID/stat` with the nice value.
const NICE: usize = 19;

/// Record the scheduler's events for a while.
#[derive(clap::Args)]
pub struct Record {
    /// How long, such as 5s.
    #[arg(long = "for", value_name = "DURATION", default_value = "5s", value_parser = parse_duration)]
    length_ns: u64,
    /// File to write the recording to.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Processors whose events are wanted; all, if none are named.
    #[arg(long, value_delimiter = ',', value_name = "N,N...")]
    cpus: Vec<u16>,
    /// Size of the kernel's buffer for each processor, KiB.
    #[arg(long, value_name = "KIB", default_value_t = 16 << 10)]
    buffer: u32,
    /// Whether lost events are no failure.
    #[arg(long)]
    lossy: bool,
    /// Folder of the journal.
    #[arg(long, default_value_os_t = journal_folder())]
    journal: PathBuf,
}

impl Record {
    /// Records; a signal ends it early. Exit status 1 if events were lost.
    pub fn run(self) -> Result<ExitCode, Fault> {
        let root = Root::default();
        let stops = block_stops()?;
        let mut roster = everybody(&root);
        let mut recorder = Recorder::start(&RunJournal::open(&root, &self.journal), &self.cpus, self.buffer)?;
        roster.processors = if self.cpus.is_empty() { recorder.processors() } else { self.cpus };
        roster.begin_ns = now();
        let until = roster.begin_ns.saturating_add(self.length_ns);
        let mut stopped = false;
        while !stopped && now() < until {
            stopped = came(&stops, Duration::from_nanos(until.saturating_sub(now()).min(EMPTIED_EVERY_NS)));
            recorder.drain()?;
        }
        roster.end_ns = now();
        let recorded = recorder.stop()?;
        recorded.write(&self.output, &roster)?;
        let lost = recorded.lost();
        let answer = json!({
            "file": self.output, "events": recorded.len(), "lost": lost, "mended": recorded.mended(), "length_ns": roster.length(),
            "processors": roster.processors, "stopped_by_signal": stopped,
        });
        println!("{answer}");
        Ok(match (stopped, lost > 0 && !self.lossy) {
            (true, _) => ExitCode::from(130),
            (_, lossy) => ExitCode::from(u8::from(lossy)),
        })
    }
}

/// All tasks that there are, a job for each program. What they fork belongs to them.
fn everybody(root: &Root) -> Roster {
    let mut roster = Roster::default();
    for process in numbers(root.path("/proc")) {
        for pid in numbers(root.path(format!("/proc/{process}/task"))) {
            // One that has ended meanwhile is left out.
            let Some((name, nice)) = name_and_nice(root, process, pid) else { continue };
            let job = roster.jobs.iter().position(|job| *job == name).unwrap_or_else(|| {
                roster.jobs.push(name);
                roster.jobs.len() - 1
            });
            roster.tasks.push(RosterTask { pid, job: job as u32, nice, parent: None });
        }
    }
    roster
}

fn numbers(folder: PathBuf) -> Vec<i32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<i32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    all.sort_unstable();
    all
}

/// The program's name, that of a kernel thread without its number (kworker/1:0, ksoftirqd/1), and its nice value.
fn name_and_nice(root: &Root, process: i32, pid: i32) -> Option<(String, i8)> {
    let text = root.read(format!("/proc/{process}/task/{pid}/stat")).ok()?;
    let stat = TaskStat::of(text.as_bytes())?;
    let nice = signed(stat.field(NICE)?)?.try_into().ok()?;
    let name = String::from_utf8_lossy(stat.name);
    let name = name.split('/').next().filter(|name| !name.is_empty()).unwrap_or("?");
    Some((name.to_owned(), nice))
}
