//! A task that computes for 1 ms and sleeps for about 9 ms, with others that never wait: the case for which the figures of several
//! schedulers are given.

use super::{
    measure::{S10, on},
    runs::Run,
};
use schedlab_model::{
    MILLISECOND, Nanos,
    event::{Kind, Leave},
    task::TaskId,
};
use schedlab_policies::schedulers::Table;

/// On one processor with 1000 ticks a second and no costs.
#[track_caller]
pub fn at_1000_hz<T: Table>(scheduler: &str, duration: &str, workload: &str) -> Run {
    on::<T>(1, 1000, scheduler, &format!("duration = \"{duration}\"\n{workload}"))
}

/// The delay of a sleeper in each of its rounds, and its share of the processor.
#[derive(Debug)]
pub struct HeldUp {
    /// ms, in order of length.
    delays: Vec<f64>,
    /// Percent.
    pub share: f64,
}

impl HeldUp {
    /// Of a job with one task that computes for `burst` in each round: the time from its wakeup to the end of its work, less
    /// the work.
    pub fn of(run: &Run, job: &str, task: TaskId, burst: Nanos) -> HeldUp {
        let mut woken = None;
        let mut delays = Vec::new();
        for event in run.events.iter().filter(|event| event.task == task) {
            match event.kind {
                Kind::Wakeup => woken = Some(event.time),
                Kind::SwitchOut if event.flag == Leave::Blocked as u8 => {
                    delays.extend(woken.take().map(|woken| (event.time - woken - burst) as f64 / 1e6));
                }
                _ => {}
            }
        }
        delays.sort_by(f64::total_cmp);
        HeldUp { delays, share: run.get(&format!("tasks.{job}.share")) }
    }

    /// ms.
    pub fn mean(&self) -> f64 {
        self.delays.iter().sum::<f64>() / self.delays.len() as f64
    }

    /// ms.
    pub fn percentile(&self, percent: usize) -> f64 {
        self.delays[self.delays.len() * percent / 100]
    }

    /// Compares with mean, 90th and 99th percentile in ms, within a fifth or 0.1 ms, whichever is more.
    #[track_caller]
    pub fn assert_near(&self, case: &str, [mean, p90, p99]: [f64; 3]) {
        let found = [self.mean(), self.percentile(90), self.percentile(99)];
        for (found, expected) in found.into_iter().zip([mean, p90, p99]) {
            let near = (found - expected).abs() <= f64::max(0.2 * expected, 0.1);
            assert!(near, "{case}: mean / p90 / p99 {self}, expected {mean} / {p90} / {p99}");
        }
    }
}

impl std::fmt::Display for HeldUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (mean, p90, p99) = (self.mean(), self.percentile(90), self.percentile(99));
        write!(f, "{mean:.2} / {p90:.2} / {p99:.2} ms, share {:.2} %", self.share)
    }
}

/// S10 with n endless tasks, for 200 s.
#[track_caller]
pub fn with_hogs<T: Table>(scheduler: &str, hogs: u32) -> HeldUp {
    let workload = format!(
        "workload.hog = {{ load = \"spin\", passes = \"forever\", count = {hogs} }}\nworkload.sleeper = {{ {S10} }}"
    );
    HeldUp::of(&at_1000_hz::<T>(scheduler, "200s", &workload), "sleeper", hogs, MILLISECOND)
}

/// The share in percent of an endless task of nice 0 next to another one, given by its fields, in 20 s.
#[track_caller]
pub fn share_against<T: Table>(scheduler: &str, other: &str) -> f64 {
    let workload = format!(
        "workload.a = {{ load = \"spin\", passes = \"forever\" }}\n\
         workload.b = {{ load = \"spin\", passes = \"forever\", {other} }}"
    );
    at_1000_hz::<T>(scheduler, "20s", &workload).get("tasks.a.share")
}
