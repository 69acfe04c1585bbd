//! One run as a file: "perfetto" (a trace for ui.perfetto.dev), "chrome" (the same as JSON), "gantt_text" and "gantt_svg" (its
//! beginning, drawn) or "recording" (every event). The file is written under a temporary name and then renamed: it is there whole or not at all.
//!
//! A recording, of whatever kernel, becomes the same pictures; and a table of turns, as an Arrow stream. Columns: `task`,
//! `job` (null for a task of none), `nice`, `woken_ns` (null, if not since the task's turn before), `begin_ns`, `end_ns`,
//! `left` (as the model numbers the reasons, from 0: preempted, slice_end, yielded, blocked, exited, stopped).

use crate::{
    batch::{Run, stream},
    draft::Draft,
    from_json,
    work::loaded,
};
use arrow_array::{ArrayRef, Int8Array, RecordBatch, StringArray, UInt8Array, UInt32Array, UInt64Array};
use arrow_schema::ArrowError;
use schedlab_model::{
    Nanos,
    event::{AnyObserver, Observer},
    scenario::Scenario,
    units::Duration,
};
use schedlab_policies::schedulers::All;
use schedlab_sim::{names, observe};
use schedlab_traces::{
    Names, chrome,
    gantt::{self, Drafting},
    perfetto,
    recording::{Reader, Recorder},
    turns::{Turn, Turns},
};
use std::{
    fs::File,
    io::{self, Write},
    path::Path,
    sync::Arc,
};

/// Width of a drawing in text.
const COLUMNS: usize = 100;

/// Writes the run as `kind` to `path`. Only what happens before `limit` is written; 0 means the whole run. A drawing
/// begins at `from`.
pub fn write(run_json: &str, kind: &str, path: &Path, from: Nanos, limit: Nanos) -> Result<(), String> {
    let Run { scenario, seed } = from_json("run", run_json)?;
    let mut scenario = loaded(scenario)?;
    if limit > 0 {
        let end = scenario.duration.map_or(limit, |duration| duration.0.min(limit));
        scenario.duration = Some(Duration(end));
    }
    match kind {
        "recording" => return record(&scenario, seed, path, path).map(|_| ()),
        "perfetto" => return trace(&scenario, seed, path),
        _ => {}
    }
    // Other pictures are drawn from a recording: the kernel need not be compiled once more for each kind of picture.
    let recording = Draft::next_to(path).map_err(|why| format!("{}: {why}", path.display()))?;
    let end = record(&scenario, seed, &recording.path, path)?;
    let title = gantt::title(&scenario, seed);
    picture(&recording.path, kind, &title, path, (from, Nanos::MAX), Some(end))
}

/// Writes a run's recording; returns the time at which the run ended. Errors name the file that the user `asked` for.
fn record(scenario: &Scenario, seed: u64, path: &Path, asked: &Path) -> Result<Nanos, String> {
    let failed = |why: io::Error| format!("{}: {why}", asked.display());
    let names = names(scenario).map_err(|why| why.to_string())?;
    let mut draft = Draft::new(path).map_err(failed)?;
    let mut recorder = Recorder::new(&mut draft.out, &names).map_err(failed)?;
    let end = observe::<All, _>(scenario, seed, &mut recorder).map_err(|why| why.to_string())?;
    recorder.finish().map_err(failed)?;
    draft.publish(path).map_err(failed)?;
    Ok(end)
}

/// Writes a run's trace for Perfetto while the run is simulated.
fn trace(scenario: &Scenario, seed: u64, path: &Path) -> Result<(), String> {
    let failed = |why: io::Error| format!("{}: {why}", path.display());
    let names = names(scenario).map_err(|why| why.to_string())?;
    let mut draft = Draft::new(path).map_err(failed)?;
    let mut tracer = perfetto::Tracer::new(&mut draft.out, &names, None);
    observe::<All, _>(scenario, seed, AnyObserver(&mut tracer)).map_err(|why| why.to_string())?;
    tracer.finish().map_err(failed)?;
    draft.publish(path).map_err(failed)
}

/// Makes a picture of a recording. Only what happens before `limit` is drawn; 0 means the whole run. A drawing begins at
/// `from`.
pub fn draw(recording: &Path, kind: &str, title: &str, path: &Path, from: Nanos, limit: Nanos) -> Result<(), String> {
    picture(recording, kind, title, path, (from, if limit > 0 { limit } else { Nanos::MAX }), None)
}

/// Makes a picture of a stretch of a recording, up to its `end` if that is known: nothing may have happened last.
fn picture(
    recording: &Path,
    kind: &str,
    title: &str,
    path: &Path,
    (from, until): (Nanos, Nanos),
    end: Option<Nanos>,
) -> Result<(), String> {
    let failed = |why: io::Error| format!("{}: {why}", path.display());
    let mut draft = Draft::new(path).map_err(failed)?;
    match kind {
        "perfetto" => {
            let mut tracer = perfetto::Tracer::new(&mut draft.out, open(recording)?.names(), None);
            listen(recording, until, AnyObserver(&mut tracer))?;
            tracer.finish().map_err(failed)?;
        }
        "chrome" => {
            let mut tracer = chrome::Tracer::new(&mut draft.out, open(recording)?.names(), None);
            listen(recording, until, AnyObserver(&mut tracer))?;
            tracer.finish().map_err(failed)?;
        }
        "gantt_text" | "gantt_svg" => {
            let names = open(recording)?.names().clone();
            let mut drafting = Drafting::new(&names, from, until.min(end.unwrap_or(until)));
            let (_, last) = listen(recording, until, AnyObserver(&mut drafting))?;
            let end = end.unwrap_or(until.min(last));
            let chart = drafting.checked(end)?;
            let drawn = if kind == "gantt_svg" { chart.svg(title) } else { chart.text(COLUMNS) };
            draft.out.write_all(drawn.as_bytes()).map_err(failed)?;
        }
        other => return Err(format!("{other:?} is none of perfetto, chrome, gantt_text, gantt_svg, recording")),
    }
    draft.publish(path).map_err(failed)
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

pub(crate) fn open(recording: &Path) -> Result<Reader<File>, String> {
    let said = |why: &dyn std::fmt::Display| format!("{}: {why}", recording.display());
    Reader::new(File::open(recording).map_err(|why| said(&why))?).map_err(|why| said(&why))
}

/// Passes the events before a time to an observer; returns the names, and the time of the last of these events.
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
