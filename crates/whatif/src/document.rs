//! Work as an experiment: a machine like the recorded one, the policy of its kernel, and a job for the tasks of each name that are
//! treated alike.

use crate::{
    history::Recording,
    treatment::{Policy, Treatment},
    work::Work,
};
use schedlab_model::units::spell_duration;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What is taken for granted of the recorded machine where the recording does not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Processors.
    pub processors: u16,
    /// Ticks a second.
    pub hz: u64,
    /// The kernel's release ("6.18.44"), if it is known.
    pub release: Option<String>,
}

impl Host {
    /// The policy of its kernel: EEVDF since 6.6, the completely fair scheduler before; unknown kernels are taken for new ones.
    pub fn scheduler(&self) -> Value {
        let parts = self.release.as_deref().map(|release| release.split(['.', '-']).take(2));
        let numbers: Option<Vec<u32>> = parts.and_then(|parts| parts.map(|part| part.parse().ok()).collect());
        match numbers.as_deref() {
            Some(&[major, minor]) if (major, minor) < (5, 12) => json!({ "name": "cfs", "variant": "5.10" }),
            Some(&[major, minor]) if (major, minor) < (6, 6) => json!({ "name": "cfs" }),
            Some(&[6, minor]) if minor < 17 => json!({ "name": "eevdf", "variant": "6.12" }),
            Some(&[6, 17]) => json!({ "name": "eevdf", "variant": "6.17" }),
            _ => json!({ "name": "eevdf" }),
        }
    }
}

/// The experiment, and the name of the tasks of each of its jobs. Each stream gets the name of its job. The job whose end ends the run, if
/// there is one, is that of the task of that index in the recording.
pub fn document(
    work: &mut Work,
    recording: &Recording,
    host: &Host,
    last: Option<usize>,
) -> (Value, BTreeMap<String, String>) {
    let mut jobs: BTreeMap<(String, Treatment, bool), Vec<usize>> = BTreeMap::new();
    for (stream, &task) in work.tasks.iter().enumerate() {
        let task_of = &recording.tasks[task];
        let mut treatment = task_of.treatment();
        treatment.bound = treatment.bound.filter(|_| host.processors > 1);
        jobs.entry((task_of.name.clone(), treatment, last == Some(task))).or_default().push(stream);
    }
    let mut workload = Map::new();
    let mut names = BTreeMap::new();
    for ((name, treatment, is_last), streams) in jobs {
        let label = unused(&label(&name), &names);
        for &stream in &streams {
            work.replay.streams[stream].job.clone_from(&label);
        }
        workload.insert(label.clone(), job(&label, treatment, streams.len(), is_last));
        names.insert(label, name);
    }
    let document = json!({
        "question": "What would the recorded tasks have done?",
        "duration": spell_duration(recording.span),
        "machine": { "preset": "uniform", "processors": host.processors, "clock": { "hz": format!("{}/s", host.hz) } },
        "scheduler": host.scheduler(),
        "workload": workload,
    });
    (document, names)
}

fn job(label: &str, treatment: Treatment, count: usize, is_last: bool) -> Value {
    let mut job = json!({ "replay": label, "count": count });
    if !is_last {
        job["passes"] = json!("forever");
    }
    match treatment.policy {
        Policy::Fair(0) => {}
        Policy::Fair(nice) => job["nice"] = json!(nice),
        Policy::RealTime(priority) => {
            job["policy"] = json!("fifo");
            job["priority"] = json!(priority);
        }
        // Its size is unknown: before all others, as reservations are.
        Policy::Deadline => {
            job["policy"] = json!("fifo");
            job["priority"] = json!(99);
        }
    }
    if let Some(cpu) = treatment.bound {
        job["cpus"] = json!([cpu]);
    }
    job
}

/// A name of tasks as that of a job: what a job's name must not have becomes "_".
fn label(name: &str) -> String {
    let fits = |c: char| if c.is_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let label: String = name.chars().take(32).map(fits).collect();
    if label.is_empty() { "task".to_owned() } else { label }
}

fn unused(label: &str, used: &BTreeMap<String, String>) -> String {
    let numbered = (2..).map(|n| format!("{label}-{n}"));
    let free = std::iter::once(label.to_owned()).chain(numbered).find(|label| !used.contains_key(label));
    free.expect("numbers have no end")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheduler(release: &str) -> Value {
        Host { processors: 1, hz: 250, release: Some(release.to_owned()) }.scheduler()
    }

    #[test]
    fn the_policy_is_that_of_the_release() {
        assert_eq!(scheduler("5.10.0-46-amd64"), json!({ "name": "cfs", "variant": "5.10" }));
        assert_eq!(scheduler("6.1.0"), json!({ "name": "cfs" }));
        assert_eq!(scheduler("6.8.0-40-generic"), json!({ "name": "eevdf", "variant": "6.12" }));
        assert_eq!(scheduler("6.18.44"), json!({ "name": "eevdf" }));
        assert_eq!(scheduler("strange"), json!({ "name": "eevdf" }));
    }

    #[test]
    fn names_of_tasks_become_names_of_jobs() {
        assert_eq!(label("kworker/0:1-ev"), "kworker_0_1-ev");
        assert_eq!(label(""), "task");
        let used = BTreeMap::from([("a".to_owned(), String::new()), ("a-2".to_owned(), String::new())]);
        assert_eq!(unused("a", &used), "a-3");
        assert_eq!(unused("b", &used), "b");
    }
}
