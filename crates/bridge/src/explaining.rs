//! Explains a recording of a kernel: a path and what is asked in, JSON out; see `schedlab_explain::Report` for its fields. In the same
//! reading it can be written as a Perfetto trace, and as a timeline for a page.

use crate::{draft::Draft, from_json, json};
use schedlab_explain::{By, Explainer, Group, Options};
use schedlab_traces::{
    kernel::{self, Event, Kind, Listener},
    perfetto::Recorded,
};
use serde::Deserialize;
use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

/// What the user asks.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Asked {
    cpu: Option<u16>,
    task: Option<String>,
    from_ns: Option<u64>,
    to_ns: Option<u64>,
    by: Option<String>,
    groups: Vec<String>,
    blocks: bool,
    unfinished: bool,
    /// Files to write: the window as a Perfetto trace, and every run of it (`schedlab_explain`'s timeline).
    perfetto: Option<PathBuf>,
    timeline: Option<PathBuf>,
}

impl Asked {
    fn options(self) -> Result<Options, String> {
        let Asked { cpu, task, from_ns: from, to_ns: to, by, groups, blocks, unfinished, perfetto: _, timeline } = self;
        let by = by.map_or(Ok(By::default()), |name| {
            let found = By::ALL.into_iter().find(|it| it.0 == name);
            let names = By::ALL.map(|it| it.0).join(", ");
            found.map(|it| it.1).ok_or_else(|| format!("rows by {name:?} are unknown; there are: {names}"))
        })?;
        let groups = groups.iter().map(|text| Group::read(text)).collect::<Result<Vec<Group>, String>>()?;
        for (place, group) in groups.iter().enumerate() {
            if groups[..place].iter().any(|other| other.name == group.name) {
                return Err(format!("group {}: the name is given twice", group.name));
            }
        }
        let options = Options { cpu, task, from, to, by, groups, blocks, unfinished, timeline: timeline.is_some() };
        options.check().map(|()| options)
    }
}

/// Checks what is asked, before a long file is read.
pub fn check(asked_json: &str) -> Result<(), String> {
    from_json::<Asked>("asked", asked_json)?.options().map(|_| ())
}

/// Reads a recording and says what happened in it.
pub fn explain(path: &Path, asked_json: &str) -> Result<String, String> {
    let asked = from_json::<Asked>("asked", asked_json)?;
    let (perfetto, timeline) = (asked.perfetto.clone(), asked.timeline.clone());
    let options = asked.options()?;
    let trace = perfetto.map(|target| Trace::new(target, (options.from, options.to))).transpose()?;
    let mut both = (Explainer::new(options), trace);
    let named = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let head = kernel::read(path, &mut both).map_err(|why| named(&why))?;
    let (explainer, trace) = both;
    let runs = explainer.timeline().map_err(|why| named(&why))?;
    let report = json(&explainer.report(&head).map_err(|why| named(&why))?)?;
    trace.map(Trace::publish).transpose()?;
    if let (Some(target), Some(runs)) = (timeline, runs) {
        let write = || {
            Draft::new(&target).and_then(|mut draft| draft.out.write_all(&runs).and_then(|()| draft.publish(&target)))
        };
        write().map_err(|why| format!("{}: {why}", target.display()))?;
    }
    Ok(report)
}

/// A window of a recording as a Perfetto trace.
struct Trace {
    draft: Draft,
    target: PathBuf,
    writer: Recorded<BufWriter<File>>,
    /// From when to when, ns after the first event.
    window: (u64, u64),
    /// The first event.
    start: Option<u64>,
}

impl Trace {
    fn new(target: PathBuf, (from, to): (Option<u64>, Option<u64>)) -> Result<Trace, String> {
        let open = || {
            let draft = Draft::new(&target)?;
            let out = draft.out.get_ref().try_clone()?;
            Ok((draft, Recorded::new(BufWriter::new(out))))
        };
        let (draft, writer) = open().map_err(|why: io::Error| format!("{}: {why}", target.display()))?;
        Ok(Trace { draft, target, writer, window: (from.unwrap_or(0), to.unwrap_or(u64::MAX)), start: None })
    }

    fn publish(self) -> Result<(), String> {
        let done = self.writer.finish().and_then(|_| self.draft.publish(&self.target));
        done.map_err(|why| format!("{}: {why}", self.target.display()))
    }
}

impl Listener for Trace {
    fn event(&mut self, event: &Event) {
        let is_about = matches!(event.kind, Kind::Named | Kind::Member | Kind::Treated);
        // Recorders tell of what was there before with events of their own.
        let begins = !is_about && !matches!(event.kind, Kind::Fork | Kind::Exec | Kind::Exit | Kind::Lost);
        if begins && self.start.is_none() {
            self.start = Some(event.time);
        }
        let since = event.time.saturating_sub(self.start.unwrap_or(event.time));
        if (self.window.0..=self.window.1).contains(&since) {
            self.writer.event(event);
        } else if is_about {
            self.writer.event(&Event { cpu: Event::ALL, ..*event });
        }
    }

    fn name(&mut self, number: u64, name: &str) {
        self.writer.name(number, name);
    }
}

/// Takes what is asked, for events from elsewhere.
pub(crate) fn explainer(asked_json: &str) -> Result<Explainer, String> {
    Ok(Explainer::new(from_json::<Asked>("asked", asked_json)?.options()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_wrongly_is_refused_before_the_file_is_read() {
        let refused = |text: &str| check(text).unwrap_err();
        assert_eq!(refused(r#"{"by": "tid"}"#), "rows by \"tid\" are unknown; there are: pid, comm, tgid, cgroup");
        assert!(refused(r#"{"groups": ["a=x", "a=y"]}"#).contains("given twice"));
        assert!(refused(r#"{"groups": ["a"]}"#).contains("as in server=redis.*"));
        let why = "--to 1 s must be after --from 5 s";
        assert_eq!(refused(r#"{"from_ns": 5000000000, "to_ns": 1000000000}"#), why);
        assert!(refused(r#"{"cpus": 1}"#).contains("unknown field `cpus`"));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        assert!(explain(Path::new("no/such"), "{}").unwrap_err().starts_with("no/such: "));
    }
}
