//! A recording of the kernel's events as a file that other tools read, too: `trace.dat`.
//!
//!   sets      which events
//!   host      the state at the start, with `groups` and `tasks`
//!   buffers   the kernel's pages, moved into files
//!   dat       the file
//!   command   the command that is recorded, and signals
//!
//! Events go into the buffers of a tracing instance of our own, whose oldest pages are overwritten where they are not emptied in time: the
//! kernel marks the place and counts what is lost. Names of tasks come from the events and the state: the kernel's own cache of names,
//! which costs something at each switch, is off.
//!
//! Until the recording ends its pages are in a folder next to the output. It is in the journal, as the instance is, so that both go
//! also after SIGKILL.

mod buffers;
pub mod command;
pub mod dat;
mod groups;
mod host;
pub mod sets;
mod tasks;

use crate::tracing::{
    instance::Instance,
    layout::{PageHead, read},
};
use buffers::{Buffer, Buffers};
use dat::{Description, Pages};
use groups::Hierarchy;
use nix::sys::utsname::uname;
use schedlab_linux::{Fault, Root, clock::now, tracefs::Tracefs};
use schedlab_traces::kernel::state::{State, Task};
use schedlab_tune::{Cleanup, RunJournal};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::BufWriter,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// The clock of recordings: that of timers and of everything else that schedlab measures.
const CLOCK: &str = "mono";
/// The usual buffer of a processor, KiB: at a million events a second it takes 300 ms to fill.
const USUAL_KIB: u64 = 16 << 10;
/// What the usual buffers of all processors take together at most, KiB.
const ALL_KIB: u64 = 512 << 10;
/// The smallest buffer, KiB: four pages.
pub const LEAST_KIB: u64 = 16;

/// What to record, and where to.
#[derive(Debug, Clone)]
pub struct Request {
    /// The events, as [`sets::events`] gives them.
    pub events: Vec<&'static str>,
    /// Size of each processor's buffer, KiB; none for the usual one.
    pub kib_per_cpu: Option<u64>,
    /// Most bytes of pages.
    pub most_bytes: u64,
    /// The file to write.
    pub output: PathBuf,
    /// Whether it is compressed.
    pub compress: bool,
}

/// What was recorded.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// The file.
    pub file: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// Length of the pages in it before they were compressed.
    pub page_bytes: u64,
    /// Events in it.
    pub events: u64,
    /// Events that were lost, by the kernel's counters.
    pub lost: u64,
    /// How long it recorded, ns.
    pub length_ns: u64,
    /// Tasks in the state at the start.
    pub tasks: usize,
    /// The kinds of events that this kernel does not have.
    pub missing: Vec<String>,
    /// Why it ended early, if it did.
    pub ended_early: Option<String>,
}

/// A recording under way. Dropping it leaves nothing of it.
#[derive(Debug)]
pub struct Capture {
    root: Root,
    output: PathBuf,
    compress: bool,
    most_bytes: u64,
    begun: u64,
    /// When it stopped, if it has.
    ended: Option<u64>,
    about: Description,
    state: State,
    /// Tasks of the recorded command, as they were seen last.
    made: BTreeMap<i32, Task>,
    hierarchy: Option<Hierarchy>,
    buffers: Buffers,
    /// After the buffers, whose pages must be closed first.
    instance: Instance,
    folder: PathBuf,
    cleanup: Cleanup,
}

impl Capture {
    /// Records from now on. The journal is where what is made is entered first.
    pub fn start(root: &Root, journal: &RunJournal, request: &Request) -> Result<Capture, Fault> {
        let output = output(&request.output)?;
        let tracefs = Tracefs::open(root).map_err(refusal)?;
        let (events, missing): (Vec<&str>, Vec<&str>) =
            request.events.iter().partition(|event| tracefs.path(format!("{}/enable", folder_of(event))).exists());
        if events.is_empty() {
            return Err(Fault::Wrong(format!("this kernel has none of the events {}", missing.join(", "))));
        }
        let mut about = describe(&tracefs, &events)?;
        let instance = Instance::make(tracefs, journal).map_err(refusal)?;
        let kib = kib(&instance, request)?;
        instance.set("tracing_on", "0")?;
        instance.set("trace_clock", CLOCK)?;
        instance.set("options/overwrite", "1")?;
        // Where it cannot be switched off, recording costs a little more.
        let _ = instance.set("trace_options", "norecord-cmd");
        instance.set("buffer_size_kb", &kib.to_string())?;
        about.clocks = instance.read("trace_clock")?;
        let (folder, cleanup) = journal.folder(output.parent().unwrap_or(Path::new("/")))?;
        let buffers = Buffers::open(&instance, &folder, about.page, kib * 1024)?;
        for event in &events {
            instance.set(&format!("{}/enable", folder_of(event)), "1")?;
        }
        let mut state = host::state(root);
        state.events = events.iter().map(|&event| event.to_owned()).collect();
        state.events_missing = missing.iter().map(|&event| event.to_owned()).collect();
        let begun = now();
        instance.set("tracing_on", "1")?;
        host::add_tasks(root, &mut state);
        let (compress, most_bytes) = (request.compress, request.most_bytes);
        Ok(Capture {
            root: root.clone(),
            output,
            compress,
            most_bytes,
            begun,
            ended: None,
            about,
            state,
            made: BTreeMap::new(),
            hierarchy: Hierarchy::of(root),
            buffers,
            instance,
            folder,
            cleanup,
        })
    }

    /// Whether it still records: it stops by itself when it has reached its size.
    pub fn records(&self) -> bool {
        self.ended.is_none()
    }

    /// Keeps what was recorded since the last time. It stops before it could have more than its size.
    pub fn drain(&mut self) -> Result<(), Fault> {
        if !self.records() {
            return Ok(());
        }
        self.buffers.drain()?;
        let (kept, to_come) = self.buffers.bytes();
        if kept + to_come > self.most_bytes {
            self.stop()?;
            let most = self.most_bytes;
            self.state.ended_early = Some(format!("it had reached its size: --size is {most} bytes"));
        }
        Ok(())
    }

    /// Sees how the tasks of a recorded command and of what it made are treated now: they may bind themselves, or take another policy.
    pub fn look_at(&mut self, command: i32) {
        let autogroups = host::has_autogroups(&self.state);
        tasks::follow(&self.root, self.hierarchy.as_ref(), autogroups, command, &mut self.made);
    }

    fn stop(&mut self) -> Result<(), Fault> {
        self.ended = Some(now());
        self.instance.set("tracing_on", "0")
    }

    /// Ends the recording and writes the file.
    pub fn finish(mut self) -> Result<Summary, Fault> {
        if self.records() {
            self.stop()?;
        }
        let length_ns = self.ended.unwrap_or(self.begun).saturating_sub(self.begun);
        self.state.add(std::mem::take(&mut self.made).into_values());
        let Capture { root, output, compress, mut about, state, buffers, instance, folder, cleanup, .. } = self;
        let (mut kept, mut counts) = (Vec::new(), Counts::default());
        for Buffer { processor, kept: pages, bytes, .. } in buffers.finish()? {
            let counters = instance.read(&format!("per_cpu/cpu{processor}/stats"))?;
            counts.add(&counters, bytes);
            kept.push(Pages { processor, pages, counters });
        }
        // What is recorded from here on would be of this program.
        drop(instance);
        let mut names: BTreeMap<i32, String> = state.tasks.iter().map(|task| (task.pid, task.name.clone())).collect();
        tasks::add_names(&root, &mut names);
        about.names = names.into_iter().collect();
        about.state = state.document();
        let new = folder.join("trace.dat");
        let written = private(&new).and_then(|file| dat::write(BufWriter::new(file), &about, kept, compress));
        let written = written.map_err(|why| Fault::file(&new, "write", why))?;
        let length = written.get_ref().metadata().map_err(|why| Fault::file(&new, "measure", why))?.len();
        fs::rename(&new, &output).map_err(|why| Fault::file(&output, "write", why))?;
        drop(cleanup);
        Ok(Summary {
            file: output,
            bytes: length,
            page_bytes: counts.bytes,
            events: counts.events,
            lost: counts.lost,
            length_ns,
            tasks: state.tasks.len(),
            missing: state.events_missing,
            ended_early: state.ended_early,
        })
    }
}

/// Sums over processors.
#[derive(Debug, Default)]
struct Counts {
    events: u64,
    lost: u64,
    bytes: u64,
}

impl Counts {
    /// Adds what the counters of a buffer say, once all of it was read.
    fn add(&mut self, counters: &str, bytes: u64) {
        self.bytes += bytes;
        for (name, value) in counters.lines().filter_map(|line| line.split_once(':')) {
            let Ok(value) = value.trim().parse::<u64>() else { continue };
            match name {
                "read events" => self.events = self.events.saturating_add(value),
                "overrun" | "commit overrun" | "dropped events" => self.lost = self.lost.saturating_add(value),
                _ => {}
            }
        }
    }
}

/// A refusal with the commands that say and permit more.
fn refusal(fault: Fault) -> Fault {
    match fault {
        Fault::Refused { why, advice, .. } => Fault::Refused {
            what: "recording the kernel's events".to_owned(),
            why,
            advice: format!("{advice}: sudo schedlab record ...; schedlab host check lists what is permitted"),
        },
        other => other,
    }
}

/// Where the file goes: in place of an ordinary file or of none. A link is not followed: in a folder of everybody it may be another
/// user's, and lead anywhere.
fn output(path: &Path) -> Result<PathBuf, Fault> {
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(Fault::Wrong(format!("{}: is no ordinary file; name another with -o", path.display())));
    }
    let whole = std::path::absolute(path).map_err(|why| Fault::file(path, "find", why))?;
    let (Some(folder), Some(name)) = (whole.parent(), whole.file_name()) else {
        return Err(Fault::Wrong(format!("{}: is not the name of a file", path.display())));
    };
    let folder = folder.canonicalize().map_err(|why| Fault::file(path, "write", why))?;
    Ok(folder.join(name))
}

/// A new file that only this user may read: names of all programs are in it.
fn private(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// The folder of an event: `events/sched/sched_switch` of `sched:sched_switch`.
fn folder_of(event: &str) -> String {
    format!("events/{}", event.replacen(':', "/", 1))
}

/// The size of a processor's buffer, KiB, of which there must be room for two in what may be recorded.
fn kib(instance: &Instance, request: &Request) -> Result<u64, Fault> {
    let processors = instance.processors()?.len().max(1) as u64;
    let room = request.most_bytes / 1024 / processors / 2;
    let least = LEAST_KIB * processors * 2;
    if room < LEAST_KIB {
        return Err(Fault::Wrong(format!("--size: {processors} processors need at least {least}KiB")));
    }
    match request.kib_per_cpu {
        Some(kib) if kib > room => Err(Fault::Wrong(format!(
            "--buffer: two buffers of {kib} KiB for each of {processors} processors are more than --size; at most {room}KiB fit"
        ))),
        Some(kib) => Ok(kib),
        None => Ok(USUAL_KIB.min(ALL_KIB / processors).clamp(LEAST_KIB, room)),
    }
}

/// What this kernel says of itself and of these events.
fn describe(tracefs: &Tracefs, events: &[&str]) -> Result<Description, Fault> {
    let text = |name: &str| {
        let path = tracefs.path(name);
        read(&path).map_err(|why| Fault::file(path, "read", why))
    };
    let headers = [text("events/header_page")?, text("events/header_event")?];
    let page = PageHead::parse(&headers[0]).map_err(|why| Fault::Wrong(format!("events/header_page: {why}")))?.page();
    let mut systems: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    for event in events {
        let system = event.split(':').next().unwrap_or(event).to_owned();
        systems.entry(system).or_default().push(text(&format!("{}/format", folder_of(event)))?.into_bytes());
    }
    let kernel =
        uname().map_err(|why| Fault::Call { doing: "asking for the kernel's name".to_owned(), why: why.into() })?;
    let words = [kernel.sysname(), kernel.nodename(), kernel.release(), kernel.machine()];
    Ok(Description {
        headers: headers.map(String::into_bytes),
        systems: systems.into_iter().collect(),
        clock: CLOCK.to_owned(),
        kernel: words.map(|word| word.to_string_lossy().into_owned()).join(" "),
        writer: format!("schedlab {}", env!("CARGO_PKG_VERSION")),
        page,
        ..Description::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_summed_over_processors_and_each_kind_of_loss_counts() {
        let mut counts = Counts::default();
        counts.add("entries: 5\noverrun: 7\ncommit overrun: 1\nbytes: 9\ndropped events: 2\nread events: 100\n", 4096);
        counts.add("read events: 11\noverrun: 18446744073709551615\nnonsense\n", 4096);
        assert_eq!((counts.events, counts.lost, counts.bytes), (111, u64::MAX, 8192));
    }

    #[test]
    fn a_device_a_folder_or_a_link_is_no_output() {
        for path in ["/dev/null", "/tmp", "/proc/self/exe"] {
            let why = output(Path::new(path)).unwrap_err().to_string();
            assert!(why.contains("is no ordinary file"), "{why}");
        }
        assert!(output(Path::new("/nowhere/at/all")).unwrap_err().to_string().contains("cannot write"));
    }
}
