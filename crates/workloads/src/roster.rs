//! The roster: which tasks a scenario's workload has, when each starts, and what each does. The simulator and the live host both
//! create their tasks from it, so that a task has the same number, start and random numbers in both.
//!
//! ```text
//! number   jobs in the order of their names, the tasks of a job in the order of their copies
//! start    the job's `start`, and for each further copy a draw of its `gap` more
//! session  jobs of one session share it; a job without one has its own
//! ```

use crate::{
    Programs, WORKLOADS,
    draws::{draw, of_starts},
    steps_of,
};
use schedlab_model::{
    Nanos,
    info::Params,
    program::Step,
    scenario::{Job, Scenario},
};
use std::collections::{BTreeMap, BTreeSet};

/// A task of the roster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Index of its job, which is also that of its program.
    pub job: usize,
    /// Which of the job's tasks.
    pub copy: u32,
    /// When it starts, ns after the start of the run.
    pub start: Nanos,
    /// Index of its session, in the order of the sessions' names.
    pub session: u16,
}

/// All tasks of the jobs of a scenario, in the order of their numbers.
pub fn tasks(workload: &BTreeMap<String, Job>, seed: u64) -> impl Iterator<Item = Entry> {
    let name_of = |(name, job): (&'_ String, &'_ Job)| job.session.as_ref().unwrap_or(name).clone();
    let names: BTreeSet<String> = workload.iter().map(name_of).collect();
    let indices: BTreeMap<String, u16> = names.into_iter().zip(0..).collect();
    workload.iter().enumerate().flat_map(move |(index, (name, job))| {
        let session = indices[job.session.as_ref().unwrap_or(name)];
        let mut rng = of_starts(seed, index);
        let mut next = job.start.map_or(0, |span| draw(span, &mut rng));
        (0..job.count).map(move |copy| {
            let start = next;
            next = next.saturating_add(job.gap.map_or(0, |span| draw(span, &mut rng)));
            Entry { job: index, copy, start, session }
        })
    })
}

/// Why a job has no steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoSteps {
    /// There is no load of that name.
    UnknownLoad {
        /// The job.
        job: String,
        /// The name.
        load: String,
    },
    /// A setting of the load is wrong.
    Setting {
        /// The job.
        job: String,
        /// Its load.
        load: &'static str,
        /// The setting.
        setting: String,
        /// What is wrong with it.
        why: String,
    },
}

/// The steps of each job, written out or from its load, in the order of the jobs.
pub fn steps(workload: &BTreeMap<String, Job>) -> Result<Vec<Vec<Step>>, NoSteps> {
    workload.iter().map(|(name, job)| steps_of_job(name, job)).collect()
}

/// The programs of all jobs of a scenario, with the steps of each.
pub fn programs(scenario: &Scenario, steps: &[Vec<Step>]) -> Programs {
    let jobs = scenario.workload.iter().zip(steps).map(|((name, job), steps)| {
        let requests = job.arrivals.is_some().then(|| name.clone());
        (steps.as_slice(), job.passes(), requests)
    });
    let mut programs = Programs::sharing(jobs, &scenario.shared);
    let replays = scenario.workload.values().enumerate().filter(|(_, job)| job.replay.is_some());
    replays.for_each(|(index, _)| programs.replay(index));
    programs
}

fn steps_of_job(name: &str, job: &Job) -> Result<Vec<Step>, NoSteps> {
    if job.replay.is_some() {
        return Ok(Vec::new());
    }
    if let Some(steps) = &job.steps {
        return Ok(steps.clone());
    }
    let load = job.load.as_deref().unwrap_or_default();
    let info = WORKLOADS.iter().find(|info| info.name == load);
    let info = info.ok_or_else(|| NoSteps::UnknownLoad { job: name.to_owned(), load: load.to_owned() })?;
    let given = job.settings.iter().map(|(setting, value)| (setting.as_str(), value.to_string()));
    let params = Params::check(info, given).map_err(|(setting, why)| NoSteps::Setting {
        job: name.to_owned(),
        load: info.name,
        setting: setting.to_string(),
        why: why.to_string(),
    })?;
    Ok(steps_of(load, &params).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(workload: &str, seed: u64) -> Vec<(usize, u32, Nanos, u16)> {
        let workload = toml::from_str(workload).unwrap();
        tasks(&workload, seed).map(|it| (it.job, it.copy, it.start, it.session)).collect()
    }

    #[test]
    fn tasks_are_numbered_by_job_and_copy_and_start_a_gap_apart() {
        let jobs =
            "b = { load = 'spin', count = 3, start = '5ns', gap = '10ns', session = 'z' }\na = { load = 'spin' }";
        assert_eq!(starts(jobs, 7), [(0, 0, 0, 0), (1, 0, 5, 1), (1, 1, 15, 1), (1, 2, 25, 1)]);
    }

    #[test]
    fn the_starts_of_a_job_do_not_depend_on_the_jobs_after_it() {
        let job = |name| {
            format!("{name} = {{ load = 'spin', count = 50, start = {{ exp = '1us' }}, gap = {{ exp = '1us' }} }}\n")
        };
        let alone = starts(&job("a"), 3);
        assert_eq!(starts(&(job("a") + &job("b")), 3)[..50], alone);
        assert!(alone.windows(2).all(|pair| pair[0].2 <= pair[1].2));
        assert_ne!(starts(&job("a"), 4), alone);
    }

    #[test]
    fn a_job_of_an_unknown_load_has_no_steps() {
        let unknown = NoSteps::UnknownLoad { job: "a".to_owned(), load: "spinn".to_owned() };
        assert_eq!(steps(&toml::from_str("a = { load = 'spinn' }").unwrap()), Err(unknown));
    }
}
