//! Compares a policy with the recording of a kernel, choice by choice. The answer is JSON: `choices`, `switches`, `last_ns`, and
//! `difference`, null or an object with `at_ns`, `what`, and by job's name or number of a stranger `running`, `policy`,
//! `kernel`.

use crate::{batch::Run, from_json, recording};
use schedlab_model::{
    Nanos, SECOND,
    event::{Event, Kind},
    task::TaskId,
};
use schedlab_policies::schedulers::All;
use schedlab_sim::{Story, follow as led};
use std::path::Path;

/// Leads the run's scheduler through the recording.
pub fn follow(run_json: &str, path: &Path, from: Nanos, until: Nanos) -> Result<String, String> {
    let Run { scenario, .. } = from_json("run", run_json)?;
    let reader = recording::open(path)?;
    let jobs = reader.names().jobs.clone();
    let events = reader.collect::<Result<Vec<Event>, _>>().map_err(|why| format!("{}: {why}", path.display()))?;
    if !events.iter().any(|event| event.kind == Kind::Charged) {
        return Err(format!("{}: the recording has no charges of the kernel: record it in a guest", path.display()));
    }
    let tick = (SECOND as f64 / scenario.machine.clock.hz.get().0) as Nanos;
    let story = Story { jobs: &jobs, events: &events, from, until, tick };
    let found = led::<All>(&scenario, &story).ok_or("the scheduler is not known")?;
    let name = |task: TaskId| name(&events, &jobs, task);
    let difference = found.difference.map(|it| {
        let [running, policy, kernel] = [it.running, it.policy, it.kernel].map(|task| task.map(name));
        serde_json::json!({ "at_ns": it.at, "what": it.what, "running": running, "policy": policy, "kernel": kernel })
    });
    let (choices, switches, last) = (found.choices, found.switches, found.last);
    let answer =
        serde_json::json!({ "choices": choices, "switches": switches, "last_ns": last, "difference": difference });
    Ok(answer.to_string())
}

/// The job of a task, or, of a stranger, its number.
fn name(events: &[Event], jobs: &[String], task: TaskId) -> String {
    let created = events.iter().find(|event| event.kind == Kind::Created && event.task == task);
    let job = created.and_then(|event| jobs.get(usize::try_from(event.a).ok()?));
    job.map_or_else(|| format!("stranger {task}"), String::clone)
}
