//! Figures of a run under a Linux scheduler: shares, times on a processor and latencies, exact from its events; and a table that
//! compares them with what is expected.

use super::runs::{Run, run, scenario};
use schedlab_model::{Nanos, event::Kind, task::TaskId};
use schedlab_policies::schedulers;

/// A job's task that never waits, with more settings.
pub fn hog(name: &str, settings: &str) -> String {
    format!("workload.{name} = {{ load = \"spin\", passes = \"forever\", {settings} }}\n")
}

/// A task that computes for `burn` in each period, whose length varies by `jitter`; a wait lengthens the period. Lengths in µs.
pub fn sleeper(name: &str, burn: u64, period: u64, jitter: u64, settings: &str) -> String {
    let sleep = period - burn;
    format!(
        "workload.{name} = {{ passes = \"forever\", steps = [{{ sleep = {{ uniform = [\"{}us\", \"{}us\"] }} }}, \
         {{ compute = \"{burn}us\" }}], {settings} }}\n",
        sleep - jitter,
        sleep + jitter
    )
}

/// S10: burns 1 ms of 10 ms.
pub fn s10(name: &str, settings: &str) -> String {
    sleeper(name, 1000, 10_000, 2000, settings)
}

/// A machine of n processors with 250 ticks a second and no costs.
pub fn machine(processors: u16) -> String {
    format!("machine = {{ preset = \"uniform\", processors = {processors}, clock = {{ hz = \"250/s\" }} }}\n")
}

/// Runs a workload under a scheduler for that number of seconds.
#[track_caller]
pub fn measure<T: schedulers::Table>(processors: u16, scheduler: &str, seconds: u64, rest: &str, seed: u64) -> Run {
    let head = format!("scheduler = {{ {scheduler} }}\nduration = \"{seconds}s\"\n");
    run::<T>(&scenario(&format!("{}{head}{rest}", machine(processors))), seed)
}

/// Processor time of a task from a time on.
pub fn used(run: &Run, task: TaskId) -> Nanos {
    run.of(Kind::SwitchOut).filter(|event| event.task == task).map(|event| event.a + event.b).sum()
}

/// The share of a task in the run, per cent of one processor.
pub fn share(run: &Run, task: TaskId) -> f64 {
    100.0 * used(run, task) as f64 / run.end as f64
}

/// The lengths of a task's times on a processor, ms, without the first and the last.
pub fn run_lengths(run: &Run, task: TaskId) -> Vec<f64> {
    let lengths: Vec<f64> =
        run.of(Kind::SwitchOut).filter(|event| event.task == task).map(|event| event.a as f64 / 1e6).collect();
    lengths[1..lengths.len() - 1].to_vec()
}

/// How long a task waited after each wakeup, ms, in order of length.
pub fn latencies(run: &Run, task: TaskId) -> Vec<f64> {
    let (mut woken, mut all) = (None, Vec::new());
    for event in run.events.iter().filter(|event| event.task == task) {
        match event.kind {
            Kind::Wakeup if event.flag == 0 => woken = Some(event.time),
            Kind::SwitchIn => all.extend(woken.take().map(|since| (event.time - since) as f64 / 1e6)),
            _ => {}
        }
    }
    all.sort_by(f64::total_cmp);
    all
}

/// Their mean.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The value below which that part of the sorted values lies.
pub fn quantile(values: &[f64], part: f64) -> f64 {
    values[((values.len() - 1) as f64 * part).round() as usize]
}

/// A table of what should be and what is, of which all rows are shown if one is wrong.
#[derive(Debug, Default)]
pub struct Table {
    rows: String,
    wrong: usize,
}

impl Table {
    /// A value and how far it may be from what is expected.
    pub fn row(&mut self, what: &str, expected: f64, tolerance: f64, found: f64) {
        let right = (found - expected).abs() <= tolerance;
        self.wrong += usize::from(!right);
        let mark = if right { "" } else { "  <- wrong" };
        self.rows += &format!("{what}: {expected} within {tolerance:.3}, is {found:.3}{mark}\n");
    }

    /// A mean latency, within a tenth or 0.1 ms.
    pub fn latency(&mut self, what: &str, expected: f64, found: f64) {
        self.row(what, expected, (expected / 10.0).max(0.1), found);
    }

    /// Panics with all rows if one is wrong; `SHOW_TABLES` in the environment prints them in any case.
    #[track_caller]
    pub fn check(self) {
        if std::env::var_os("SHOW_TABLES").is_some() {
            eprintln!("{}", self.rows);
        }
        assert!(self.wrong == 0, "\n{}", self.rows);
    }
}
