//! One run as a file: "perfetto" (a trace for ui.perfetto.dev), "gantt_text" and "gantt_svg" (its beginning, drawn) or
//! "recording" (every event). The file is written beside its place and then put there, whole or not at all.

use crate::{batch::Run, from_json};
use schedlab_model::{
    Nanos, SECOND,
    event::{AnyObserver, Event, Observer},
    scenario::Scenario,
    units::{Duration, spell_duration},
};
use schedlab_sim::observe;
use schedlab_traces::{Names, gantt::Chart, perfetto::Tracer, recording::Recorder};
use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
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
            let text = if kind == "gantt_svg" { chart.svg(&title) } else { chart.text(COLUMNS) };
            draft.out.write_all(text.as_bytes()).map_err(failed)?;
        }
        other => return Err(format!("{other:?} is none of perfetto, gantt_text, gantt_svg, recording")),
    }
    draft.publish(path).map_err(failed)
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
    if beginning.full {
        let length = spell_duration(scenario.duration.map_or(SECOND, |duration| duration.0));
        return Err(format!("more than {MOST_EVENTS} events in {length}: too many to draw; ask for a shorter time"));
    }
    Ok(Chart::new(&beginning.events, names, end))
}

/// Keeps events up to a bound.
#[derive(Default)]
struct Beginning {
    events: Vec<Event>,
    full: bool,
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
