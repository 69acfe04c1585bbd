//! A scenario as a task set of rt-app, if rt-app would run it the same: its jobs, what they share, and its duration. Machine, policies
//! of the kernel and tunables are no part of a task set.

use super::{
    json::Json,
    phases::{self, Numbered},
    writing::{Used, cpus, group_path, microseconds, nice, number, policy_name, text},
};
use crate::{
    SECOND,
    experiment::{path::Path, problem::Fault, problem::Problem},
    program::Span,
    scenario::{Job, Scenario},
    task::Policy,
    units::spell_duration,
};
use serde_json::Value;

/// The task set. Jobs with a load must have its steps. The problem names the first place that rt-app has no event for; `label` is
/// what it calls the experiment.
pub fn write(scenario: &Scenario, label: &str) -> Result<String, Problem> {
    let text = task_set(scenario)
        .and_then(|set| serde_json::to_string_pretty(&set).map_err(|why| Fault::new(Path::default(), why.to_string())));
    text.map(|text| text + "\n").map_err(|fault| fault.in_file(label, None, &Value::Null))
}

fn task_set(scenario: &Scenario) -> Result<Json, Fault> {
    if scenario.attention.is_some() {
        return Err(Fault::new(Path::top("attention"), "rt-app runs its tasks without levels: leave it out"));
    }
    let all = Path::top("workload");
    let mut used = Used::default();
    let tasks = scenario
        .workload
        .iter()
        .map(|(title, job)| Ok((title.clone(), task(&all.key(title), job, scenario, &mut used)?)));
    let tasks = tasks.collect::<Result<Vec<_>, Fault>>()?;
    one_session(&all, scenario)?;
    one_end(&all, scenario)?;
    used.barriers(scenario)?;
    let duration = match scenario.duration {
        None => -1,
        Some(length) if length.0.is_multiple_of(SECOND) && length.0 > 0 => (length.0 / SECOND) as i64,
        Some(length) => {
            let reason = format!("{} is no whole number of seconds, as rt-app needs it", spell_duration(length.0));
            return Err(Fault::new(Path::top("duration"), reason));
        }
    };
    let global = vec![
        ("duration".to_owned(), number(duration)),
        ("calibration".to_owned(), text("CPU0")),
        ("pi_enabled".to_owned(), Json::Switch(used.inherits == Some(true))),
        ("lock_pages".to_owned(), Json::Switch(false)),
    ];
    Ok(Json::Table(vec![("tasks".to_owned(), Json::Table(tasks)), ("global".to_owned(), Json::Table(global))]))
}

/// rt-app is one process, and so one session.
fn one_session(all: &Path, scenario: &Scenario) -> Result<(), Fault> {
    let mut jobs = scenario.workload.iter();
    let Some((_, first)) = jobs.next() else { return Ok(()) };
    let same = |job: &Job| job.session.is_some() && job.session == first.session;
    match jobs.find(|(_, job)| !same(job)) {
        None => Ok(()),
        Some((title, _)) => {
            let reason =
                "is not that of all jobs: rt-app's threads are in one session; give every job session = \"rt-app\"";
            Err(Fault::new(all.key(title).key("session"), reason))
        }
    }
}

/// rt-app ends with its last thread, an experiment with the last job whose passes are counted.
fn one_end(all: &Path, scenario: &Scenario) -> Result<(), Fault> {
    let counted =
        |job: &Job| job.passes.count().is_some() && !phases::has_endless_loop(job.steps.as_deref().unwrap_or_default());
    let mut ending = scenario.workload.iter().filter(|(_, job)| counted(job));
    match ending.next() {
        Some((title, _)) if ending.count() + 1 < scenario.workload.len() => {
            let reason = "is counted, so the run ends with this job; rt-app goes on while other threads do: \
                          write passes = \"forever\", and repeat and exit as its steps";
            Err(Fault::new(all.key(title).key("passes"), reason))
        }
        _ => Ok(()),
    }
}

fn task(at: &Path, job: &Job, scenario: &Scenario, used: &mut Used) -> Result<Json, Fault> {
    refuse_unfit(at, job)?;
    let steps = job.steps.as_deref().ok_or_else(|| Fault::new(at.clone(), "has no steps"))?;
    let mut task = Numbered::default();
    task.put("instance", number(job.count.into()));
    match job.start {
        None => {}
        Some(Span::Fixed(length)) => task.put("delay", number(microseconds(&at.key("start"), length)?)),
        Some(_) => return Err(Fault::new(at.key("start"), "is drawn; rt-app's delays are fixed")),
    }
    treated(at, job, &mut task)?;
    if !job.cpus.is_empty() {
        task.put("cpus", cpus(&job.cpus));
    }
    if let Some(group) = &job.group {
        task.put("taskgroup", text(&group_path(&at.key("group"), group, scenario)?));
    }
    phases::put(&at.key("steps"), job, steps, scenario, used, &mut task)?;
    Ok(task.table())
}

/// How its threads are treated from the start.
fn treated(at: &Path, job: &Job, task: &mut Numbered) -> Result<(), Fault> {
    task.put("policy", text(policy_name(&at.key("policy"), job.policy)?));
    match job.policy {
        Policy::Fifo | Policy::Rr => task.put("priority", number(job.priority.into())),
        Policy::Other | Policy::Batch => task.put("priority", number(nice(&at.key("nice"), job.nice)?)),
        _ => {}
    }
    if let Some(slice) = job.slice {
        if !matches!(job.policy, Policy::Other | Policy::Batch) {
            return Err(Fault::new(at.key("slice"), "is for SCHED_OTHER and SCHED_BATCH in rt-app"));
        }
        task.put("dl-runtime", number(microseconds(&at.key("slice"), slice)?));
    }
    let Some(wish) = job.reservation else { return Ok(()) };
    if job.policy != Policy::Deadline {
        return Err(Fault::new(at.key("reservation"), "is for SCHED_DEADLINE in rt-app: give policy = \"deadline\""));
    }
    let at = at.key("reservation");
    task.put("dl-runtime", number(microseconds(&at.key("runtime"), wish.runtime)?));
    task.put("dl-period", number(microseconds(&at.key("period"), wish.period)?));
    if let Some(deadline) = wish.deadline {
        task.put("dl-deadline", number(microseconds(&at.key("deadline"), deadline)?));
    }
    Ok(())
}

fn refuse_unfit(at: &Path, job: &Job) -> Result<(), Fault> {
    let unfit = [
        ("load", job.load.is_some(), "is a ready-made load, without steps"),
        ("arrivals", job.arrivals.is_some(), "makes requests; rt-app's threads take none"),
        (
            "gap",
            job.gap.is_some() && job.count > 1,
            "starts its tasks apart; rt-app starts all instances of a task at once",
        ),
        ("io_class", job.io_class.is_some(), "cannot be asked for in rt-app"),
        ("footprint", job.footprint.is_some(), "is no property of a task of rt-app"),
    ];
    match unfit.into_iter().find(|(_, is, _)| *is) {
        Some((field, _, reason)) => Err(Fault::new(at.key(field), reason)),
        None => Ok(()),
    }
}
