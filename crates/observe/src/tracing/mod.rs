//! The scheduler's events, from the kernel's tracefs: recorded into an instance of our own, read as the binary pages of
//! the kernel's buffers, decoded by the kernel's own description, merged by time, and replayed as the events of the model, so
//! that metrics, recordings and pictures are the same as of a simulated run.
//!
//!   instance  an instance of tracefs of our own
//!   layout    the kernel's description of its records
//!   pages     pages of one processor into raw events
//!   merge     raw events of all processors in order of time
//!   replay    raw events into events of the model
//!   roster    the tasks of a run, and when it was
//!   numbers   events into rows and run lengths
//!   enclosed  a recording as text, for where there is no file to give
//!
//! What is lost is counted three ways (the flags of pages, the counters of buffers, switches that do not fit) and never
//! silent: [`Recorded::lost`]. A wait begins with `sched_waking`, when the task could have run, not with `sched_wakeup`,
//! when a perhaps busy processor got round to it. `sched_stat_runtime` is recorded to recover switches that a kernel does not
//! report: it says when the running task began.
//!
//! Not seen: what of a task's time was in the kernel, in interrupts, or stolen by a hypervisor (all of it counts as the
//! task's), whether an idle processor waited for a drive, and whether a task that left while it could run had yielded.

mod enclosed;
pub mod instance;
pub mod layout;
mod merge;
mod numbers;
pub mod pages;
mod replay;
mod roster;

pub use numbers::{RunLengths, Spread};
pub use replay::Whole;
pub use roster::{Roster, RosterTask};

use instance::Instance;
use layout::{EVENTS, Layout};
use pages::{Decoder, Losses, RawEvent, What};
use schedlab_linux::{Fault, clock::now, tracefs::Tracefs};
use schedlab_model::event::{Event, Observer};
use schedlab_traces::{Names, recording};
use schedlab_tune::RunJournal;
use std::{
    collections::HashSet,
    fs::File,
    io::{self, BufWriter, ErrorKind, Read, Write},
    path::Path,
};

/// Most bytes of pages that are taken out of the kernel; what comes after is left to be overwritten there, and counted.
const MOST_BYTES: usize = 1 << 30;
/// The clock of traces is a faster reading of the monotonic clock, that may differ from it a little.
const SLACK_NS: u64 = 1_000_000;

/// A recording under way. Dropping it removes all traces of it from the kernel.
#[derive(Debug)]
pub struct Recorder {
    layout: Layout,
    processors: Vec<Buffer>,
    page: Vec<u8>,
    begin: u64,
    /// Whether what the kernel charges tasks with is recorded, too: a recording is then twice as long.
    pub charges: bool,
    /// Other processes of ours: like this one's threads, no foreign load.
    pub own: Vec<i32>,
    /// Last, so that the pages are closed before the instance goes.
    instance: Instance,
}

/// The events of one processor.
#[derive(Debug)]
struct Buffer {
    processor: u16,
    file: File,
    taken: Vec<u8>,
}

impl Recorder {
    /// Records the scheduler's events from now on. All processors are recorded, since a task of one may be woken on any
    /// other; `processors` must be among them. Each has a buffer of that size, KiB, whose oldest events are overwritten. The journal is
    /// where the instance is entered first.
    pub fn start(journal: &RunJournal, processors: &[u16], kib_per_cpu: u32) -> Result<Recorder, Fault> {
        let tracefs = Tracefs::open(journal.root())?;
        let layout = Layout::of(&tracefs)?;
        let instance = Instance::make(tracefs, journal)?;
        instance.set("tracing_on", "0")?;
        instance.set("trace_clock", "mono")?;
        instance.set("options/overwrite", "1")?;
        instance.set("buffer_size_kb", &kib_per_cpu.to_string())?;
        let all = instance.processors()?;
        if let Some(missing) = processors.iter().find(|cpu| !all.contains(cpu)) {
            return Err(Fault::Wrong(format!("there is no processor {missing}: this host has {all:?}")));
        }
        for (_, name, _) in EVENTS {
            instance.set(&format!("events/sched/{name}/enable"), "1")?;
        }
        let buffer = |&processor| Ok(Buffer { processor, file: instance.pages(processor)?, taken: Vec::new() });
        let processors = all.iter().map(buffer).collect::<Result<_, Fault>>()?;
        let page = vec![0; layout.head.page()];
        let begin = now();
        instance.set("tracing_on", "1")?;
        Ok(Recorder { layout, processors, page, begin, charges: false, own: Vec::new(), instance })
    }

    /// The processors that are recorded.
    pub fn processors(&self) -> Vec<u16> {
        self.processors.iter().map(|buffer| buffer.processor).collect()
    }

    /// Takes what there is out of the kernel's buffers, so that a long run loses nothing. It costs processor time, about
    /// as much as recording did.
    pub fn drain(&mut self) -> Result<(), Fault> {
        for buffer in &mut self.processors {
            buffer.drain(&mut self.page)?;
        }
        Ok(())
    }

    /// Ends the recording and reads it.
    pub fn stop(mut self) -> Result<Recorded, Fault> {
        self.instance.set("tracing_on", "0")?;
        self.drain()?;
        let end = now();
        let mut overruns = Vec::new();
        for buffer in &self.processors {
            let stats = self.instance.read(&format!("per_cpu/cpu{}/stats", buffer.processor))?;
            overruns.push(overrun(&stats));
        }
        let between = (self.begin.saturating_sub(SLACK_NS), end.saturating_add(SLACK_NS));
        let pages = self.processors.into_iter().map(|buffer| (buffer.processor, buffer.taken)).collect();
        let recorded = Recorded::decoded(&self.layout, pages, &overruns, between, self.charges);
        let own = own_tasks().into_iter().chain(self.own).collect();
        Ok(Recorded { own, ..recorded })
    }
}

impl Buffer {
    fn drain(&mut self, page: &mut [u8]) -> Result<(), Fault> {
        while self.taken.len() + page.len() <= MOST_BYTES {
            match self.file.read(page) {
                Ok(0) => break,
                Ok(length) => {
                    self.taken.extend_from_slice(&page[..length]);
                    // The next page begins where a whole one would have ended.
                    self.taken.resize(self.taken.len() + page.len() - length, 0);
                }
                Err(why) if why.kind() == ErrorKind::WouldBlock => break,
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => {
                    return Err(Fault::Call { doing: format!("reading events of processor {}", self.processor), why });
                }
            }
        }
        Ok(())
    }
}

/// Events that a buffer's counters say are lost: overwritten, dropped, or come while another was being written.
fn overrun(stats: &str) -> u64 {
    let count = |line: &str| {
        let (name, value) = line.split_once(':')?;
        matches!(name, "overrun" | "commit overrun" | "dropped events").then(|| value.trim().parse::<u64>().ok())?
    };
    stats.lines().filter_map(count).fold(0, u64::saturating_add)
}

/// A task that has a processor at the first event there need not have had it from the start: one that was made since then
/// came by a switch that was not recorded. Returns how many there are.
fn late_starts(raw_events: &mut [RawEvent]) -> u64 {
    let mut made = HashSet::new();
    let mut late = 0;
    for it in raw_events {
        match it.what {
            What::Fork => drop(made.insert(it.other)),
            What::Start if made.contains(&it.pid) => {
                it.what = What::Torn;
                late += 1;
            }
            _ => {}
        }
    }
    late
}

/// The threads of this process, which are no foreign load.
fn own_tasks() -> Vec<i32> {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    threads.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A recording that has ended.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Of all processors, in order of time.
    raw_events: Vec<RawEvent>,
    losses: Losses,
    /// What the kernel's counters say, all processors together.
    overrun: u64,
    own: Vec<i32>,
}

impl Recorded {
    /// Decodes the pages of several processors, recorded between two times, each with what its counters say was lost.
    pub fn decode(layout: &Layout, pages: Vec<(u16, Vec<u8>)>, overruns: &[u64], between: (u64, u64)) -> Recorded {
        Self::decoded(layout, pages, overruns, between, false)
    }

    /// The same; `charges`: what tasks were charged is among the events.
    pub fn decoded(
        layout: &Layout,
        pages: Vec<(u16, Vec<u8>)>,
        overruns: &[u64],
        between: (u64, u64),
        charges: bool,
    ) -> Recorded {
        let mut losses = Losses::default();
        let mut streams = Vec::new();
        for (processor, bytes) in pages {
            let mut decoder = Decoder::new(layout, processor, between);
            decoder.charges = charges;
            let mut stream = Vec::new();
            bytes.chunks(layout.head.page()).for_each(|page| decoder.page(page, &mut stream));
            losses.missed = losses.missed.saturating_add(decoder.losses.missed);
            losses.gaps += decoder.losses.gaps;
            losses.torn += decoder.losses.torn;
            losses.mended += decoder.losses.mended;
            streams.push(stream);
        }
        let overrun = overruns.iter().fold(0, |all: u64, part| all.saturating_add(*part));
        let mut raw_events = merge::by_time(streams);
        losses.torn += late_starts(&mut raw_events);
        Recorded { raw_events, losses, overrun, own: Vec::new() }
    }

    /// Events that are missing, at least: as the kernel counted them, and one for each place where something must be
    /// missing and nothing says how much. 0 means that the recording is whole.
    pub fn lost(&self) -> u64 {
        let counted = self.losses.missed.max(self.overrun);
        counted.saturating_add(self.losses.torn).max(self.losses.gaps.saturating_add(self.losses.torn))
    }

    /// Switches that the kernel did not report and whose time is known from the run time of the next task. Only the reason
    /// why the previous task left is lost.
    pub fn mended(&self) -> u64 {
        self.losses.mended
    }

    /// Number of events recorded.
    pub fn len(&self) -> usize {
        self.raw_events.len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.raw_events.is_empty()
    }

    /// Replays the run for an observer.
    fn replay<O: Observer>(&self, roster: &Roster, listener: O) -> (replay::Others, Whole) {
        replay::replay(&self.raw_events, roster, &self.own, listener)
    }

    /// The events of the run, in order of time, from its begin.
    pub fn events(&self, roster: &Roster) -> Vec<Event> {
        let mut all = Vec::new();
        self.replay(roster, &mut all);
        all
    }

    /// Share of the run's processors that tasks of no job used, this process's own threads left out, percent.
    pub fn foreign_percent(&self, roster: &Roster) -> f64 {
        let whole = roster.length().saturating_mul(roster.processors.len() as u64);
        if whole == 0 { 0.0 } else { self.replay(roster, ()).0.ran_ns as f64 * 100.0 / whole as f64 }
    }

    /// Times that tasks of no job, this process's own threads left out, woke up on the run's processors.
    pub fn foreign_wakeups(&self, roster: &Roster) -> u64 {
        self.replay(roster, ()).0.wakeups
    }

    /// How much of what the jobs' tasks did on the run's processors is known.
    pub fn whole(&self, roster: &Roster) -> Whole {
        self.replay(roster, ()).1
    }

    /// Writes the events as a recording.
    pub fn write(&self, path: &Path, roster: &Roster) -> Result<(), Fault> {
        let failed = |why| Fault::file(path, "write", why);
        let file = BufWriter::new(File::create(path).map_err(failed)?);
        self.write_to(file, roster).map(drop).map_err(failed)
    }

    fn write_to<W: Write>(&self, out: W, roster: &Roster) -> io::Result<W> {
        let names = Names {
            processors: roster.processors.len() as u16,
            jobs: roster.jobs.clone(),
            groups: (!roster.treated.is_empty()).then(|| roster.groups.clone()),
            tick: roster.tick_ns,
            ..Names::default()
        };
        let mut recorder = recording::Recorder::new(out, &names)?;
        self.replay(roster, &mut recorder);
        recorder.finish()
    }
}
