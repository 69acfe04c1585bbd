//! What if: a recording of a kernel as an experiment, and runs of such experiments, measured as the recording is.

use crate::{
    batch::Run,
    explaining, from_json, json,
    work::{digest, loaded},
};
use regex_lite::Regex;
use schedlab_explain::Report;
use schedlab_model::{event::AnyObserver, experiment::nearest, units::Duration};
use schedlab_policies::schedulers::All;
use schedlab_sim::observe;
use schedlab_traces::kernel::{self, Head};
use schedlab_whatif::{
    AsRecorded, Causes, History, Host, Override, Recording, Task, Wish, Work, document, file, inherited, last, tick,
    work,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{BufWriter, Write},
    path::Path,
};

/// Ticks a second of a kernel whose ticks the recording does not show: the default of Debian's and Ubuntu's (up to 24.04).
const USUAL_HZ: u64 = 250;
/// Jobs of an experiment that replays.
const MOST_JOBS: usize = 10_000;
/// A run whose work takes longer than that many recordings ends unfinished.
const MOST_TIMES: u64 = 20;
/// Names of tasks that a message has.
const FEW_NAMES: usize = 8;

/// What the user asks.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Asked {
    /// What is measured, as `explaining` takes it.
    measured: serde_json::Value,
    /// Patterns of whole names of tasks, and how their waits are taken: "open" or "closed".
    treat: Vec<(String, String)>,
    /// Tasks that are left out.
    remove: Vec<String>,
    /// Tasks that are there several times.
    copies: Vec<(String, u32)>,
}

/// A recording as an experiment.
#[derive(Serialize)]
struct Prepared {
    /// The experiment, but for the digest of its work.
    document: serde_json::Value,
    sha256: String,
    /// By job, the name of its tasks.
    names: BTreeMap<String, String>,
    /// What happened in the recording.
    recorded: Report,
    /// By name of tasks, what ended their waits.
    causes: BTreeMap<String, Ended>,
    /// Tasks that meet at barriers.
    barriers: Vec<Barrier>,
    /// Tasks that answer others.
    servers: Vec<Answers>,
    /// Tasks that answer each other over several connections.
    connections: Vec<Connected>,
    /// Names of tasks of which waits for others are taken for waits for locks.
    locks: BTreeSet<String>,
    /// Names of tasks that are taken to be treated as those that made them.
    inherited: BTreeSet<String>,
    /// Names of tasks that something else ended by the clock.
    clocked: BTreeSet<String>,
    /// Names of tasks with several senders, that take what comes first.
    inboxes: BTreeSet<String>,
    /// Ticks a second, if the recording shows them.
    hz: Option<u64>,
    /// Whether it has the kernel's settings at the start.
    state: bool,
    /// Whether it has the length of the tick.
    tick: bool,
    /// Whether it has slices, policies, processors and groups of tasks.
    treated: bool,
    /// The job whose end ended the recording, and when, s.
    fixed_work: Option<(String, f64)>,
}

/// Tasks that all wait until the last of them has come.
#[derive(Serialize)]
struct Barrier {
    /// How many.
    tasks: usize,
    /// Their names.
    names: BTreeSet<String>,
    /// How often they did.
    rounds: usize,
}

/// A task that answers others, which wait for it.
#[derive(Serialize)]
struct Answers {
    /// Its name.
    name: String,
    /// How many tasks it answers.
    clients: usize,
    /// Their names.
    names: BTreeSet<String>,
    /// How many requests it answered.
    answers: usize,
    /// How many of them the recording shows.
    shown: usize,
}

/// A task with connections to others.
#[derive(Serialize)]
struct Connected {
    name: String,
    /// The names of the others, and how many connections go to each.
    ends: Vec<(String, u32)>,
    /// How many messages it sent.
    messages: usize,
}

#[derive(Serialize, Default)]
struct Ended {
    tasks: u64,
    absolute_timers: u64,
    missed_periods: u64,
    relative_timers: u64,
    irregular_timers: u64,
    restarting_timers: u64,
    devices: u64,
    outside: u64,
    unknown: u64,
}

impl Ended {
    fn add(&mut self, more: Causes) {
        self.tasks += u64::from(more.tasks);
        self.absolute_timers += u64::from(more.absolute);
        self.missed_periods += u64::from(more.missed);
        self.relative_timers += u64::from(more.relative);
        self.irregular_timers += u64::from(more.irregular);
        self.restarting_timers += u64::from(more.restarting);
        self.devices += u64::from(more.devices);
        self.outside += u64::from(more.outside);
        self.unknown += u64::from(more.unknown);
    }
}

/// Reads a recording, writes its work to a file and gives the experiment.
///
/// # Errors
/// What is wrong with the recording, or with what is asked.
pub fn prepare(path: &Path, asked_json: &str, out: &Path) -> Result<String, String> {
    let asked: Asked = from_json("asked", asked_json)?;
    let wishes = Wishes::read(&asked)?;
    let named = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let mut both = (History::default(), explaining::explainer(&asked.measured.to_string())?);
    let head = kernel::read(path, &mut both).map_err(|why| named(&why))?;
    let (history, explainer) = both;
    let recorded = explainer.report(&head).map_err(|why| named(&why))?;
    let recording = history.finish();
    wishes.fit(&recording).map_err(|why| named(&why))?;
    let mut work = work(&recording, |task| wishes.of(task));
    let host = host(&recording, &head);
    let recorder = head.state.as_deref().map(|state| state.recorder).filter(|&pid| pid > 0);
    let last = last(&recording, recorder).filter(|&at| !wishes.of(&recording.tasks[at]).removed);
    let (mut document, names) = document(&mut work, &recording, &host, head.state.as_deref(), last);
    if names.len() > MOST_JOBS {
        let why = "names of tasks that are treated alike; leave out those that matter least with --remove";
        return Err(named(&format!("it has {} {why}; at most {MOST_JOBS} are replayed", names.len())));
    }
    if last.is_some() {
        let limit = Duration(recording.span.saturating_mul(MOST_TIMES));
        document["duration"] = serde_json::to_value(limit).map_err(|why| why.to_string())?;
    }
    let sha256 = write(&work, out)?;
    let end_of = |at: usize| {
        let stream = work.tasks.iter().position(|&task| task == at)?;
        let end = recording.tasks[at].life.1? as f64 / 1e9;
        Some((work.replay.streams[stream].job.clone(), end))
    };
    let fixed_work = last.and_then(end_of);
    json(&Prepared {
        document,
        sha256,
        names,
        recorded,
        causes: causes(&work),
        barriers: barriers(&recording, &wishes),
        servers: servers(&recording, &work),
        connections: connections(&recording, &work),
        locks: locks(&recording, &work),
        inherited: head.state.as_ref().map(|state| inherited(&recording, state)).unwrap_or_default(),
        clocked: clocked(&work),
        inboxes: inboxes(&work),
        hz: tick(&recording.preemptions),
        state: head.state.as_ref().is_some_and(|state| !state.kernel.settings.is_empty()),
        tick: head.state.as_ref().is_some_and(|state| state.kernel.tick_ns.is_some()),
        treated: head.state.is_some(),
        fixed_work,
    })
}

/// What the recorded machine was, as far as the recording shows.
fn host(recording: &Recording, head: &Head) -> Host {
    let said = head.state.as_ref().and_then(|state| state.kernel.tick_ns).filter(|&tick| tick > 0);
    let hz = said.map(|tick| 1_000_000_000 / tick).or_else(|| tick(&recording.preemptions)).unwrap_or(USUAL_HZ);
    let known = head.state.as_ref().map(|state| state.processors.iter().map(|processor| processor.number).collect());
    let processors = known.unwrap_or_else(|| recording.processors.clone());
    Host { processors, hz, release: head.release.clone() }
}

/// Those at which two or more tasks still meet.
fn barriers(recording: &Recording, wishes: &Wishes) -> Vec<Barrier> {
    let of = |barrier: &schedlab_whatif::Barrier| {
        let all = barrier.tasks.iter().map(|&task| &recording.tasks[task]);
        let meets = |task: &&Task| {
            let wish = wishes.of(task);
            !wish.removed && wish.waits != Some(Override::Open)
        };
        let tasks: Vec<&Task> = all.filter(meets).collect();
        let names = tasks.iter().map(|task| task.name.clone()).collect();
        Barrier { tasks: tasks.len(), names, rounds: barrier.rounds }
    };
    recording.barriers.iter().map(of).filter(|barrier| barrier.tasks > 1).collect()
}

fn servers(recording: &Recording, work: &Work) -> Vec<Answers> {
    let name = |task: &usize| recording.tasks[*task].name.clone();
    let of = |server: &schedlab_whatif::Server| Answers {
        name: name(&server.task),
        clients: server.clients.len(),
        names: server.clients.iter().map(name).collect(),
        answers: server.answers,
        shown: server.shown,
    };
    work.servers.iter().map(of).collect()
}

fn connections(recording: &Recording, work: &Work) -> Vec<Connected> {
    let name = |task: usize| recording.tasks[task].name.clone();
    let of = |hub: &schedlab_whatif::Hub| Connected {
        name: name(hub.task),
        ends: hub.ends.iter().map(|&(end, count)| (name(end), count)).collect(),
        messages: hub.messages,
    };
    work.hubs.iter().map(of).collect()
}

/// On one processor it makes no difference.
fn locks(recording: &Recording, work: &Work) -> BTreeSet<String> {
    let streams = work.replay.streams.iter().zip(&work.causes);
    let waits = streams.filter(|(stream, causes)| stream.locks && causes.tasks > 0 && recording.processors.len() > 1);
    waits.map(|(stream, _)| stream.name.clone()).collect()
}

fn clocked(work: &Work) -> BTreeSet<String> {
    let streams = work.replay.streams.iter().filter(|stream| stream.until.is_some());
    streams.map(|stream| stream.name.clone()).collect()
}

fn inboxes(work: &Work) -> BTreeSet<String> {
    let streams = work.replay.streams.iter().zip(&work.causes);
    let take = streams.filter(|(stream, causes)| stream.inbox && causes.tasks > 0);
    take.map(|(stream, _)| stream.name.clone()).collect()
}

fn causes(work: &Work) -> BTreeMap<String, Ended> {
    let mut all: BTreeMap<String, Ended> = BTreeMap::new();
    for (stream, causes) in work.replay.streams.iter().zip(&work.causes) {
        all.entry(stream.name.clone()).or_default().add(*causes);
    }
    all
}

/// Writes work to a file; gives its digest.
fn write(work: &Work, out: &Path) -> Result<String, String> {
    let failed = |why: std::io::Error| format!("{}: {why}", out.display());
    let mut bytes = BufWriter::new(File::create(out).map_err(failed)?);
    file::write(&work.replay, &mut bytes).and_then(|()| bytes.flush()).map_err(failed)?;
    digest(out)
}

/// Names of tasks, as an option gives them.
struct Names {
    option: &'static str,
    pattern: String,
    whole: Regex,
}

impl Names {
    fn read(option: &'static str, pattern: &str) -> Result<Names, String> {
        let whole = Regex::new(&format!("^(?:{pattern})$"))
            .map_err(|why| format!("{option} {pattern:?} is no regular expression: {why}"))?;
        Ok(Names { option, pattern: pattern.to_owned(), whole })
    }

    fn has(&self, task: &Task) -> bool {
        self.whole.is_match(&task.name)
    }
}

/// What is wished of tasks by their names.
struct Wishes {
    treat: Vec<(Names, Override)>,
    remove: Vec<Names>,
    copies: Vec<(Names, u32)>,
}

impl Wishes {
    fn read(asked: &Asked) -> Result<Wishes, String> {
        let treat = |(pattern, how): &(String, String)| match how.as_str() {
            "open" => Ok((Names::read("--treat", pattern)?, Override::Open)),
            "closed" => Ok((Names::read("--treat", pattern)?, Override::Closed)),
            other => Err(format!("--treat {pattern}={other}: waits are taken as open or closed")),
        };
        let copied = |(pattern, number): &(String, u32)| Ok((Names::read("--copies", pattern)?, *number));
        Ok(Wishes {
            treat: asked.treat.iter().map(treat).collect::<Result<_, String>>()?,
            remove: asked
                .remove
                .iter()
                .map(|pattern| Names::read("--remove", pattern))
                .collect::<Result<_, String>>()?,
            copies: asked.copies.iter().map(copied).collect::<Result<_, String>>()?,
        })
    }

    /// Refuses names that no task has: what was asked of them would be left undone.
    fn fit(&self, recording: &Recording) -> Result<(), String> {
        let treated = self.treat.iter().map(|(names, _)| names);
        let mut all = treated.chain(&self.remove).chain(self.copies.iter().map(|(names, _)| names));
        let Some(Names { option, pattern, .. }) = all.find(|names| !recording.tasks.iter().any(|task| names.has(task)))
        else {
            return Ok(());
        };
        let known: BTreeSet<&str> = recording.tasks.iter().map(|task| task.name.as_str()).collect();
        let meant = nearest(pattern, known.iter().copied()).map(|name| format!("; did you mean {name:?}?"));
        let some: Vec<&str> = known.iter().copied().take(FEW_NAMES).collect();
        let more = if known.len() > FEW_NAMES { ", ..." } else { "" };
        Err(format!(
            "{option} {pattern:?}: no task of the recording has such a name{} (known: {}{more})",
            meant.unwrap_or_default(),
            some.join(", ")
        ))
    }

    fn of(&self, task: &Task) -> Wish {
        Wish {
            removed: self.remove.iter().any(|names| names.has(task)),
            waits: self.treat.iter().find(|(names, _)| names.has(task)).map(|(_, how)| *how),
            copies: self.copies.iter().find(|(names, _)| names.has(task)).map_or(0, |(_, n)| n.saturating_sub(1)),
        }
    }
}

/// Runs a replay, a scenario with its work and a seed, and measures it as a recording is measured.
///
/// # Errors
/// If the work cannot be read, or is another.
pub fn replay(run_json: &str, measured_json: &str) -> Result<String, String> {
    let Run { scenario, seed } = from_json("run", run_json)?;
    let scenario = loaded(scenario)?;
    let recording = scenario.recording.as_ref().and_then(|recording| recording.work.clone());
    let work = recording.ok_or("the scenario replays no recording")?;
    let by_job = work.by_job();
    let streams: Vec<u32> = scenario
        .workload
        .values()
        .flat_map(|job| job.replay.as_deref().and_then(|name| by_job.get(name)).cloned().unwrap_or_default())
        .collect();
    let processors = scenario.machine.processors.get();
    let mut explainer = explaining::explainer(measured_json)?;
    let mut listener = AsRecorded::new(&mut explainer, work, &streams, processors, seed);
    let end = observe::<All, _>(&scenario, seed, AnyObserver(&mut listener)).map_err(|why| why.to_string())?;
    listener.finish(end);
    let head = Head { format: "replay".to_owned(), processors, span: Some((0, end)), ..Head::default() };
    json(&explainer.report(&head)?)
}
