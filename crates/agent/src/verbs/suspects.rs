//! `schedlab-agent suspects`: watches for a while and answers with one JSON object.

use nix::sys::{prctl::set_pdeathsig, signal::Signal};
use schedlab_linux::{
    Fault, Root,
    signals::{block_stops, came},
};
use schedlab_model::{Nanos, units::parse_duration};
use schedlab_observe::{
    accounting::exits::Exits,
    suspects::{
        connections::{Connections, Held},
        ended::{Ended, Program},
        groups::{self, Change},
        kernel::{self, Counts},
        locks::{self, Lock, Tracer},
        sockets::{Owner, Sockets},
    },
};
use schedlab_tune::{RunJournal, journal_folder};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

/// How often messages and sockets are looked at.
const EVERY: Duration = Duration::from_millis(50);
/// How long locks are traced: it costs every futex call some hundred nanoseconds.
const TRACED: Duration = Duration::from_secs(1);

/// Watch control groups, ends of tasks, locks and sockets for a while.
#[derive(clap::Args)]
pub struct Suspects {
    /// How long.
    #[arg(long = "for", default_value = "10s", value_parser = parse_duration)]
    lasting: Nanos,
    /// The folder to use as /, for files recorded elsewhere.
    #[arg(long)]
    root: Option<PathBuf>,
    /// Folder of the journal.
    #[arg(long, default_value_os_t = journal_folder())]
    journal: PathBuf,
}

/// What was seen.
#[derive(Debug, Serialize)]
struct Seen {
    /// Number of this process: what it uses itself is no suspect's.
    pid: u32,
    seconds: f64,
    groups: Vec<Change>,
    ended: Option<Vec<Program>>,
    locks: Option<Vec<Lock>>,
    sockets: Vec<Owner>,
    connections: Option<Vec<Held>>,
    softirqs: BTreeMap<String, f64>,
    interrupts: BTreeMap<String, f64>,
    dropped: BTreeMap<String, f64>,
    /// What is not known, and why.
    unknown: Vec<String>,
}

impl Suspects {
    /// Watches, and answers. A signal, or the end of its parent, ends it without an answer (exit status 130): the tracing
    /// instance goes in order.
    pub fn run(self) -> Result<ExitCode, Fault> {
        let root = self.root.as_ref().map_or_else(Root::default, Root::at);
        let live = root == Root::default();
        let stops = block_stops()?;
        // An answer that its asker no longer reads is not worth tracing for.
        let _ = set_pdeathsig(Signal::SIGTERM);
        let mut unknown = Vec::new();
        let nothing = || Fault::Wrong("these are files recorded elsewhere".to_owned());
        let mut note = |what: &str, fault: Fault| unknown.push(format!("{what}: {fault}"));
        let possible = root.read("/sys/devices/system/cpu/possible").unwrap_or_default();
        let exits = if live { Exits::listen(&possible) } else { Err(nothing()) };
        let mut exits = exits.map_err(|fault| note("tasks that ended", fault)).ok();
        let tracer = if live { Tracer::start(&RunJournal::open(&root, &self.journal)) } else { Err(nothing()) };
        let mut tracer = tracer.map_err(|fault| note("locks", fault)).ok();
        let traced_until = Instant::now() + TRACED.min(Duration::from_nanos(self.lasting) * 8 / 10);
        let (began, before, kernel_before) = (Instant::now(), groups::read(&root), kernel::read(&root));
        let until = began + Duration::from_nanos(self.lasting);
        let (mut sockets, mut ended, mut locks) = (Sockets::default(), Ended::default(), None);
        let mut connections = Connections::begin().filter(|_| live);
        while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            // Messages of many tasks come by the thousand, so they are not waited for: there is room for some 30,000.
            if came(&stops, left.min(EVERY)) {
                return Ok(ExitCode::from(130));
            }
            if let Some(exits) = &mut exits {
                exits.read();
                ended.take(&mut exits.records, began.elapsed().as_nanos() as u64);
            }
            sockets.look(&root);
            if let Some(connections) = &mut connections {
                connections.look();
            }
            if Instant::now() >= traced_until
                && let Some(tracer) = tracer.take()
            {
                locks = Some(tracer.stop()?).map(|text| locks::contended(&text, locks::process_of));
            }
        }
        if exits.as_ref().is_some_and(|exits| exits.lost) {
            unknown.push("some tasks that ended: more ended at a time than could be read".to_owned());
        }
        let seconds = began.elapsed().as_secs_f64();
        let Counts { softirqs, interrupts, dropped } = kernel::read(&root).since(&kernel_before, seconds);
        let groups = groups::changes(&root, &before, groups::read(&root), seconds);
        let ended = exits.map(|_| ended.programs(seconds));
        let sockets = sockets.owners(&root);
        let connections = connections.map(Connections::held);
        let pid = std::process::id();
        let seen =
            Seen { pid, seconds, groups, ended, locks, sockets, connections, softirqs, interrupts, dropped, unknown };
        println!("{}", serde_json::to_string(&seen).expect("numbers and words are JSON"));
        Ok(ExitCode::SUCCESS)
    }
}
