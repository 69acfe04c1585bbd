//! Task sets of rt-app as experiments, and back. Its JSON is translated into the tree of an experiment file, which is then judged like
//! any other. What steps cannot express is refused with the place in the JSON; what changes no result is ignored, with a note.
//!
//! ```text
//! text -> json -> task (phases, events) -> program (steps) -> tree of an experiment -> judged as one
//! ```
//!
//! The facts are those of rt-app's tutorial and, where it says nothing, of what rt-app does (<https://github.com/scheduler-tools/rt-app>).

mod events;
mod global;
mod json;
mod names;
mod phases;
mod program;
mod task;
mod treatment;
mod write;
mod writing;

pub use write::write;

use super::path::Path;
use super::problem::Fault;
use crate::{
    program::{Repeat, Span, Step, Times},
    scenario::{GroupSpec, Shared},
    units::Duration,
};
use global::Global;
use json::{Json, Node, Table};
use names::{Kind, Names};
use program::Writer;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use task::{Survey, Task};

/// How long a run takes whose threads go on without end, where rt-app would wait to be stopped, s.
const USUAL_SECONDS: u64 = 10;

/// A task set as the tree of an experiment, and what there is to say about it.
#[derive(Debug)]
pub(super) struct Translated {
    pub tree: Value,
    pub notes: Vec<String>,
}

/// Whether a file's text is a task set of rt-app, and no TOML: it begins with an object, after comments.
pub fn is_rt_app(text: &str) -> bool {
    let mut rest = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    loop {
        let behind = if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map(|(_, behind)| behind)
        } else if let Some(comment) = rest.strip_prefix("//") {
            comment.split_once('\n').map(|(_, behind)| behind)
        } else {
            return rest.starts_with('{');
        };
        let Some(behind) = behind else { return true };
        rest = behind.trim_start();
    }
}

/// Reads a task set. What is wrong, and its line where it is no JSON.
pub(super) fn translate(text: &str) -> Result<Translated, (Fault, Option<usize>)> {
    let json = json::parse(text).map_err(|(why, line)| (Fault::new(Path::default(), why), Some(line)))?;
    task_set(&json).map_err(|fault| (fault, None))
}

/// What a task set says that is ignored or done in another way here, in sentences; nothing of one that cannot be read.
pub fn notes(text: &str) -> Vec<String> {
    translate(text).map(|read| read.notes).unwrap_or_default()
}

fn task_set(json: &Json) -> Result<Translated, Fault> {
    let root = Node { at: Path::default(), json }.table()?;
    let mut notes = Vec::new();
    let tasks = root.get("tasks")?.ok_or_else(|| {
        let reason = "is missing: a file in JSON is a task set of rt-app, with an object \"tasks\"; experiments are written in TOML";
        Fault::new(Path::top("tasks"), reason)
    })?;
    global::refuse_unknown(&root, &["tasks", "global", "resources"], &root.at)?;
    let global = global::global(root.get("global")?, &mut notes)?;
    if root.get("resources")?.is_some() {
        notes.push("resources is ignored: events name what they use".to_owned());
    }
    let tasks = tasks_of(&tasks.table()?)?;
    let survey = Survey::of(&tasks)?;
    let mut all = Set {
        global: &global,
        survey: &survey,
        tasks: &tasks,
        names: Names::default(),
        shared: BTreeMap::new(),
        groups: BTreeMap::new(),
    };
    let mut jobs = Vec::new();
    for task in tasks.iter().filter(|task| task.instances > 0) {
        jobs.push((all.names.of(Kind::Task, task.name), Writer::job(&mut all, task)?));
    }
    notes.extend(unused(&tasks, &survey));
    notes.extend(all.names.renamed_tasks().map(|(there, here)| format!("task {there:?} is called {here} here")));
    // rt-app ends when all threads have: one that ends does not end the run while another goes on.
    let some_go_on = jobs.iter().any(|(_, job)| job.goes_on());
    let duration = match (global.duration, some_go_on) {
        (None, true) => {
            notes.push(format!(
                "threads go on without end, and global.duration gives none: a run ends after {USUAL_SECONDS}s (--set duration=...)"
            ));
            Some(USUAL_SECONDS)
        }
        (given, _) => given,
    };
    let workload: BTreeMap<String, Value> =
        jobs.into_iter().map(|(name, job)| Ok((name, job.value(some_go_on)?))).collect::<Result<_, Fault>>()?;
    let mut tree = json!({ "machine": "host", "workload": workload });
    if let Some(duration) = duration {
        tree["duration"] = json!(format!("{duration}s"));
    }
    for (field, value) in [("shared", tree_of(&all.shared)?), ("groups", tree_of(&all.groups)?)] {
        if value.as_object().is_some_and(|table| !table.is_empty()) {
            tree[field] = value;
        }
    }
    Ok(Translated { tree, notes })
}

/// What all tasks of a file have in common while they are translated.
struct Set<'a, 'j> {
    global: &'a Global,
    survey: &'a Survey<'j>,
    tasks: &'a [Task<'j>],
    names: Names,
    shared: BTreeMap<String, Shared>,
    groups: BTreeMap<String, GroupSpec>,
}

fn tasks_of<'j>(table: &Table<'j>) -> Result<Vec<Task<'j>>, Fault> {
    let mut seen = BTreeSet::new();
    let all = table.entries().map(|(name, node)| {
        if !seen.insert(name) {
            return Err(node.fault("is the second task of that name"));
        }
        Task::read(name, &node)
    });
    let all = all.collect::<Result<Vec<_>, _>>()?;
    match all.iter().any(|task| task.instances > 0) {
        true => Ok(all),
        false => Err(Fault::new(table.at.clone(), "has no task with an instance")),
    }
}

/// Tasks that no thread runs.
fn unused(tasks: &[Task<'_>], survey: &Survey<'_>) -> Vec<String> {
    let unused = tasks.iter().filter(|task| task.instances == 0 && !survey.forked.contains(task.name));
    unused.map(|task| format!("{} never runs: it has no instance, and no event forks it", task.table.at)).collect()
}

/// A value of the model as part of an experiment's tree.
fn tree_of<T: serde::Serialize>(value: &T) -> Result<Value, Fault> {
    serde_json::to_value(value).map_err(|why| Fault::new(Path::default(), why.to_string()))
}

/// So many times these steps; once needs no loop.
fn repeated(times: Times, steps: Vec<Step>) -> Vec<Step> {
    if times == Times::Count(1) { steps } else { vec![Step::Repeat(Repeat { times, steps })] }
}

/// A length as a span.
fn fixed(length: Duration) -> Span {
    Span::Fixed(length)
}
