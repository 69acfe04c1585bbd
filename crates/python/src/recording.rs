//! One run as a file: "perfetto" (a trace for ui.perfetto.dev), "gantt_text" and "gantt_svg" (its beginning, drawn) or
//! "recording" (every event). The file is written beside its place and then put there, whole or not at all.
//!
//! A recording, of whatever kernel, becomes the same pictures; and a table of turns, as an Arrow stream. Columns: `task`,
//! `job` (null for a task of none), `nice`, `woken_ns` (null, if not since the task's turn before), `begin_ns`, `end_ns`,
//! `left` (as the model numbers the reasons, from 0: preempted, slice_end, yielded, blocked, exited, stopped).

use crate::{
    batch::{Run, stream},
    from_json,
};
use arrow_array::{ArrayRef, Int8Array, RecordBatch, StringArray, UInt8Array, UInt32Array, UInt64Array};
use arrow_schema::ArrowError;
use schedlab_model::{
    Nanos, SECOND,
    event::{AnyObserver, Event, Observer},
    scenario::Scenario,
    units::{Duration, spell_duration},
};
use schedlab_sim::observe;
use schedlab_traces::{
    Names,
    gantt::Chart,
    perfetto::Tracer,
    recording::{Reader, Recorder},
    turns::{Turn, Turns},
};
use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

/// Most events that a drawing keeps in memory (64 MiB); far more than an eye can tell apart.
const MOST_EVENTS: usize = 2_000_000;

/// Width of a drawing in text.
const COLUMNS: usize = 100;

/// Writes the run as `kind` to `path`. Only what happens before `limit` is written; 0 means the whole run.
pub fn write(run_json: &str, kind: &str, path: &Path, limit: Nanos) -> Result<(), String> {
    let Run { mut scenario, seed } = from_json("run", run_json)?;
    if limit > 0 {
        let end = scenario.duration.map_or(limit, |duration| duration.0.min(limit));
        scenario.duration = Some(Duration(end));
    }
    let names = names(&scenario)?;
    let failed = |why: io::Error| format!("{}: {why}", path.display());
    let ran = |why: schedlab_sim::RunError| why.to_string();
    let mut draft = Draft::new(path).map_err(failed)?;
    match kind {
        "perfetto" => {
            let mut tracer = Tracer::new(&mut draft.out, &names, None);
            observe(&scenario, seed, AnyObserver(&mut tracer)).map_err(ran)?;
            tracer.finish().map_err(failed)?;
        }
        "recording" => {
            let mut recorder = Recorder::new(&mut draft.out, &names).map_err(failed)?;
            observe(&scenario, seed, &mut recorder).map_err(ran)?;
            recorder.finish().map_err(failed)?;
        }
        "gantt_text" | "gantt_svg" => {
            let chart = chart(&scenario, seed, &names)?;
            let title = format!("{} on {}, seed {seed}", scenario.scheduler.name, scenario.machine.name);
            draft.out.write_all(drawn(&chart, kind, &title).as_bytes()).map_err(failed)?;
        }
        other => return Err(format!("{other:?} is none of perfetto, gantt_text, gantt_svg, recording")),
    }
    draft.publish(path).map_err(failed)
}

fn drawn(chart: &Chart, kind: &str, title: &str) -> String {
    if kind == "gantt_svg" { chart.svg(title) } else { chart.text(COLUMNS) }
}

/// Makes a picture of a recording. Only what happens before `limit` is drawn; 0 means the whole run.
pub fn draw(recording: &Path, kind: &str, title: &str, path: &Path, limit: Nanos) -> Result<(), String> {
    let until = if limit > 0 { limit } else { Nanos::MAX };
    let failed = |why: io::Error| format!("{}: {why}", path.display());
    match kind {
        "perfetto" => {
            let mut draft = Draft::new(path).map_err(failed)?;
            let names = open(recording)?.names().clone();
            let mut tracer = Tracer::new(&mut draft.out, &names, None);
            listen(recording, until, AnyObserver(&mut tracer))?;
            tracer.finish().map_err(failed)?;
            draft.publish(path).map_err(failed)
        }
        "gantt_text" | "gantt_svg" => {
            let mut draft = Draft::new(path).map_err(failed)?;
            let mut beginning = Beginning::default();
            let (names, last) = listen(recording, until, AnyObserver(&mut beginning))?;
            beginning.refuse_if_full(last)?;
            let chart = Chart::new(&beginning.events, &names, until.min(last));
            draft.out.write_all(drawn(&chart, kind, title).as_bytes()).map_err(failed)?;
            draft.publish(path).map_err(failed)
        }
        other => Err(format!("{other:?} is none of perfetto, gantt_text, gantt_svg")),
    }
}

/// The turns of a recording.
pub fn turns(recording: &Path) -> Result<Vec<u8>, String> {
    let mut turns = Turns::default();
    let (names, _) = listen(recording, Nanos::MAX, AnyObserver(&mut turns))?;
    stream(table(&turns.all, &names.jobs)).map_err(|why| why.to_string())
}

fn table(turns: &[Turn], jobs: &[String]) -> Result<RecordBatch, ArrowError> {
    let job = |turn: &Turn| jobs.get(usize::try_from(turn.job).ok()?).cloned();
    let columns: [(&str, ArrayRef); 7] = [
        ("task", Arc::new(turns.iter().map(|turn| turn.task).collect::<UInt32Array>())),
        ("job", Arc::new(turns.iter().map(job).collect::<StringArray>())),
        ("nice", Arc::new(turns.iter().map(|turn| turn.nice).collect::<Int8Array>())),
        ("woken_ns", Arc::new(turns.iter().map(|turn| turn.woken).collect::<UInt64Array>())),
        ("begin_ns", Arc::new(turns.iter().map(|turn| turn.begin).collect::<UInt64Array>())),
        ("end_ns", Arc::new(turns.iter().map(|turn| turn.end).collect::<UInt64Array>())),
        ("left", Arc::new(turns.iter().map(|turn| turn.left).collect::<UInt8Array>())),
    ];
    RecordBatch::try_from_iter(columns)
}

pub fn open(recording: &Path) -> Result<Reader<File>, String> {
    let said = |why: &dyn std::fmt::Display| format!("{}: {why}", recording.display());
    Reader::new(File::open(recording).map_err(|why| said(&why))?).map_err(|why| said(&why))
}

/// Tells the events before a time to a listener; gives the names, and the time of the last event that was told.
fn listen<O: Observer>(recording: &Path, until: Nanos, mut listener: O) -> Result<(Names, Nanos), String> {
    let reader = open(recording)?;
    let names = reader.names().clone();
    let mut last = 0;
    for event in reader {
        let event = event.map_err(|why| format!("{}: {why}", recording.display()))?;
        if event.time > until {
            break;
        }
        last = event.time;
        listener.observe(event);
    }
    Ok((names, last))
}

/// The words of a scenario.
fn names(scenario: &Scenario) -> Result<Names, String> {
    Ok(Names {
        processors: scenario.machine.processors.get(),
        jobs: scenario.workload.keys().cloned().collect(),
        servers: schedlab_sim::servers(scenario).iter().map(|name| (*name).to_owned()).collect(),
        marks: schedlab_sim::marks(scenario).map_err(|why| why.to_string())?,
    })
}

fn chart(scenario: &Scenario, seed: u64, names: &Names) -> Result<Chart, String> {
    let mut beginning = Beginning::default();
    let end = observe(scenario, seed, AnyObserver(&mut beginning)).map_err(|why| why.to_string())?;
    beginning.refuse_if_full(scenario.duration.map_or(SECOND, |duration| duration.0))?;
    Ok(Chart::new(&beginning.events, names, end))
}

/// Keeps events up to a bound.
#[derive(Default)]
struct Beginning {
    events: Vec<Event>,
    full: bool,
}

impl Beginning {
    fn refuse_if_full(&self, length: Nanos) -> Result<(), String> {
        if !self.full {
            return Ok(());
        }
        let length = spell_duration(length);
        Err(format!("more than {MOST_EVENTS} events in {length}: too many to draw; ask for a shorter time"))
    }
}

impl Observer for Beginning {
    fn observe(&mut self, event: Event) {
        self.full = self.events.len() == MOST_EVENTS;
        if !self.full {
            self.events.push(event);
        }
    }
}

/// A file that has no name of its own until it is published, and is removed if it never is.
struct Draft {
    path: PathBuf,
    out: BufWriter<File>,
}

impl Draft {
    fn new(target: &Path) -> io::Result<Draft> {
        let name = target.file_name().ok_or_else(|| io::Error::other("is not the name of a file"))?;
        let path = target.with_file_name(format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id()));
        Ok(Draft { out: BufWriter::new(File::create(&path)?), path })
    }

    fn publish(mut self, target: &Path) -> io::Result<()> {
        self.out.flush()?;
        self.out.get_ref().sync_all()?;
        fs::rename(&self.path, target)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After publishing there is nothing left under this name, which is no error.
        let _ = fs::remove_file(&self.path);
    }
}
