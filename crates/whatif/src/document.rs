//! Work as an experiment: a machine like the recorded one, the policy of its kernel, and a job for the tasks of each name that are
//! treated alike.

use crate::{
    history::Recording,
    looking,
    placing::{Places, Placing, usual_slice},
    work::Work,
};
use schedlab_model::{topology::HALT_POLL, units::spell_duration};
use schedlab_traces::kernel::state::State;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What is taken for granted of the recorded machine where the recording does not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// The numbers of its processors, ascending; simulated ones are counted from 0.
    pub processors: Vec<u16>,
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
    state: Option<&State>,
    last: Option<usize>,
) -> (Value, BTreeMap<String, String>) {
    let places = Places::new(recording, state, &host.processors);
    let mut jobs: BTreeMap<(String, Placing, bool), Vec<usize>> = BTreeMap::new();
    for (stream, &at) in work.tasks.iter().enumerate() {
        let task = &recording.tasks[at];
        jobs.entry((task.name.clone(), places.of(task), last == Some(at))).or_default().push(stream);
    }
    let used: BTreeSet<String> = jobs.keys().filter_map(|(_, placing, _)| placing.group.clone()).collect();
    let mut workload = Map::new();
    let mut names = BTreeMap::new();
    for ((name, placing, is_last), streams) in jobs {
        let label = unused(&label(&name), &names);
        for &stream in &streams {
            let first = recording.tasks[work.tasks[stream]].first_processor();
            let replayed = &mut work.replay.streams[stream];
            replayed.job.clone_from(&label);
            replayed.cpu = places.place(first).filter(|_| !replayed.begun);
        }
        workload.insert(label.clone(), job(&label, &placing, streams.len(), is_last));
        names.insert(label, name);
    }
    let mut document = json!({
        "question": "What would the recorded tasks have done?",
        "duration": spell_duration(recording.span),
        "machine": { "preset": "uniform", "processors": host.processors.len().max(1), "clock": { "hz": format!("{}/s", host.hz) } },
        "scheduler": scheduler(host, state),
        "workload": workload,
    });
    if let Some(topology) = topology(recording, host) {
        document["machine"]["topology"] = topology;
    }
    let groups = places.groups(state, &used);
    if !groups.is_empty() {
        document["groups"] = Value::Object(groups);
    }
    (document, names)
}

/// What the recording shows of several processors.
fn topology(recording: &Recording, host: &Host) -> Option<Value> {
    let halt_poll = recording.halts.then_some(("halt_poll", HALT_POLL));
    let newidle_cost = recording.looks_in_vain.then_some(("newidle_cost", looking::COST));
    let seen = [halt_poll, newidle_cost].into_iter().flatten();
    let seen: Map<String, Value> = seen.map(|(field, ns)| (field.to_owned(), json!(spell_duration(ns)))).collect();
    (host.processors.len() > 1 && !seen.is_empty()).then_some(Value::Object(seen))
}

/// The policy of the kernel, with the settings that the recording has.
fn scheduler(host: &Host, state: Option<&State>) -> Value {
    let mut scheduler = host.scheduler();
    let Some(state) = state else { return scheduler };
    let features = state.kernel.settings.iter().find(|(path, _)| path.ends_with("/features"));
    let off =
        |name: &str| features.is_some_and(|(_, text)| text.split_whitespace().any(|one| one == format!("NO_{name}")));
    if scheduler["name"] == "eevdf" {
        if let Some(slice) = usual_slice(state) {
            scheduler["base_slice"] = json!(spell_duration(slice));
        }
        if off("RUN_TO_PARITY") {
            scheduler["run_to_parity"] = json!(false);
        }
    }
    if off("WAKEUP_PREEMPTION") {
        scheduler["wakeup_preemption"] = json!(false);
    }
    scheduler
}

fn job(label: &str, placing: &Placing, count: usize, is_last: bool) -> Value {
    let mut job = json!({ "replay": label, "count": count });
    let mut put = |field: &str, value: Option<Value>| value.map(|value| job[field] = value);
    put("passes", (!is_last).then(|| json!("forever")));
    put("policy", (placing.policy != "other").then(|| json!(placing.policy)));
    put("nice", (placing.nice != 0).then(|| json!(placing.nice)));
    put("priority", (placing.priority != 0).then(|| json!(placing.priority)));
    put("slice", placing.slice.map(|slice| json!(spell_duration(slice))));
    put("cpus", (!placing.cpus.is_empty()).then(|| json!(placing.cpus)));
    put("group", placing.group.as_ref().map(|group| json!(group)));
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
        Host { processors: vec![0], hz: 250, release: Some(release.to_owned()) }.scheduler()
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
