//! What a context switch costs under each scheduler of the table, compared with the bare loop with its data structure: both in one
//! process and in turns, each as the difference between a long run and a short one, so that making the tasks does not count.

use crate::{
    Counts,
    ceiling::{self, Course, Outcome},
    flat::{Decay, Eligible, Lists, Queue, Scan, Sorted, Sums},
    groups::{FAN, Groups, LEAVES, LEVELS},
    loads::{self, JOB, Load, SLICE},
    structures::{Kind, Structure},
    timed,
};
use schedlab_metrics::METRICS;
use schedlab_model::{
    Nanos, SECOND,
    experiment::{Catalogue, Format, expand, read},
    info::{Domain, Info},
    machine::Accounting,
    scenario::{Job, Scenario},
    units::Duration,
};
use schedlab_policies::{
    caches::CACHES,
    elevators::ELEVATORS,
    reclaim::RECLAIMS,
    schedulers::{All, SCHEDULERS, Scheduler, Table, Visitor},
};
use schedlab_sim::{observe, run};
use schedlab_workloads::WORKLOADS;
use serde::Serialize;
use std::collections::BTreeMap;

const SEED: u64 = 1;
/// The clock, where a scheduler brings none along; 1 ms is the slice of hogs too, where a scheduler has a slice.
const HZ: &str = "1000/s";
/// Processor time of the short run, ns, and the factor by which the long one is longer.
const SHORT: u64 = 12_000_000;
const LONGER: u64 = 3;
/// The first guess at the short run's simulated time, and the longest: long enough that even hogs with slices of seconds
/// switch.
const FIRST: Nanos = SECOND / 4;
const LONGEST: Nanos = 40_000 * SECOND;

/// One cell of the table.
pub struct Cell<'a> {
    pub scheduler: &'a Info,
    pub load: Load,
    pub tasks: u32,
    pub processors: u32,
    /// Whether the tasks are in groups, on [`LEVELS`] levels.
    pub grouped: bool,
}

/// What a cell came to. Times in ns a switch, of the turns in order.
#[derive(Debug, Serialize, Default)]
pub struct Row {
    ours: Vec<f64>,
    ceiling: Vec<f64>,
    /// Of the long runs.
    switches: u64,
    bare_switches: u64,
    /// Ticks, of each processor, and tasks moved, for each switch.
    ticks: f64,
    bare_ticks: f64,
    migrations: f64,
}

/// A scheduler as the bench sees it.
#[derive(Serialize)]
pub struct Entry {
    name: &'static str,
    structure: Kind,
    why: &'static str,
    /// Whether it heeds groups.
    groups: bool,
}

/// Every scheduler of the table. Those that know groups have the parameter `autogroup`.
pub fn entries() -> Vec<Entry> {
    let entry = |info: &Info| {
        let structure = Kind::of(info.name);
        Entry { name: info.name, structure, why: structure.why(), groups: info.parameter("autogroup").is_some() }
    };
    SCHEDULERS.iter().map(entry).collect()
}

/// Asks a scheduler whether it wants ticks of the statistics clock.
struct WantsStatistics;

impl Visitor for WantsStatistics {
    type Output = bool;

    fn visit<S: Scheduler>(self) -> bool {
        S::FEATURES.stat_ticks
    }
}

impl Cell<'_> {
    /// What a run of a length does, and the processor time it takes, ns.
    fn count(&self, end: Nanos) -> Result<(Counts, u64), String> {
        let (mut counts, scenario) = (Counts::default(), self.scenario(end));
        let (done, cpu, _) = timed(|| observe::<All, _>(&scenario, SEED, &mut counts));
        done.map_err(|why| why.to_string())?;
        Ok((counts, cpu))
    }

    /// Ticks that the scheduler wants of a statistics clock apart. They are reported only where they are used for accounting.
    fn statistics_ticks(&self, end: Nanos) -> Result<u64, String> {
        if All::visit(self.scheduler.name, WantsStatistics) != Some(true) {
            return Ok(0);
        }
        let (mut counts, mut scenario) = (Counts::default(), self.scenario(end));
        scenario.machine.accounting = Accounting::Sampled;
        observe::<All, _>(&scenario, SEED, &mut counts).map_err(|why| why.to_string())?;
        Ok(if counts.samples == counts.ticks { 0 } else { counts.samples })
    }

    /// The length of the short run; none if a hog is never preempted.
    fn length(&self) -> Result<Option<Nanos>, String> {
        let mut end = FIRST;
        loop {
            let (counts, cpu) = self.count(end)?;
            let each = counts.switches >= u64::from(self.tasks) || cpu >= 20 * SHORT;
            if cpu >= SHORT && each {
                return Ok(Some(end));
            }
            if end >= LONGEST {
                return Ok((counts.switches > u64::from(self.tasks)).then_some(end));
            }
            end *= 2;
        }
    }

    /// Lets both take turns.
    pub fn measure(&self, turns: u32) -> Result<Option<Row>, String> {
        let Some(short) = self.length()? else { return Ok(None) };
        let long = LONGER * short;
        let (few, (many, _)) = (self.count(short)?.0, self.count(long)?);
        let ticks = many.ticks + self.statistics_ticks(long)?;
        if many.switches - few.switches < u64::from(self.tasks) {
            return Ok(None);
        }
        let per_switch = |count: u64| count as f64 / many.switches as f64;
        let processors = u64::from(self.processors);
        let mut row = Row {
            switches: many.switches,
            ticks: per_switch(ticks / processors),
            migrations: per_switch(many.migrations),
            ..Row::default()
        };
        let course = Course {
            tasks: self.tasks,
            processors: self.processors,
            end: short,
            tick: (ticks > 0).then(|| long / (ticks / processors)),
            turn: long / many.switches,
            seed: SEED,
        };
        for _ in 0..turns {
            let times = [short, long].map(|end| self.ours(end));
            let [short_time, long_time] = times;
            row.ours.push((long_time? as f64 - short_time? as f64) / (many.switches - few.switches) as f64);
            let [(before, short_time), (after, long_time)] =
                [short, long].map(|end| self.bare(Course { end, ..course }));
            row.bare_switches = after.switches;
            row.bare_ticks = after.ticks as f64 / processors as f64 / after.switches.max(1) as f64;
            let switches = (after.switches - before.switches).max(1);
            row.ceiling.push((long_time as f64 - short_time as f64) / switches as f64);
        }
        Ok(Some(row))
    }

    /// Processor time of a run with all metrics, ns.
    fn ours(&self, end: Nanos) -> Result<u64, String> {
        let scenario = self.scenario(end);
        let (report, cpu, _) = timed(|| run::<All>(&scenario, SEED));
        report.map(|_| cpu).map_err(|why| why.to_string())
    }

    /// What the bare loop does, and its processor time, ns.
    fn bare(&self, course: Course) -> (Outcome, u64) {
        let work: fn(Load, Course) -> Outcome = match (Kind::of(self.scheduler.name), self.grouped) {
            (Kind::Queue, grouped) => of::<Queue>(grouped),
            (Kind::Lists, grouped) => of::<Lists>(grouped),
            (Kind::Decay, grouped) => of::<Decay>(grouped),
            (Kind::Sorted, grouped) => of::<Sorted>(grouped),
            (Kind::Eligible, grouped) => of::<Eligible>(grouped),
            (Kind::Sums, grouped) => of::<Sums>(grouped),
            (Kind::Scan, grouped) => of::<Scan>(grouped),
        };
        let (outcome, cpu, _) = timed(|| work(self.load, course));
        (std::hint::black_box(outcome), cpu)
    }

    fn scenario(&self, end: Nanos) -> Scenario {
        let mut scheduler = loads::scheduler(self.scheduler.name, []);
        let takes = |domain| matches!(domain, Domain::Duration { low, high } if (low..=high).contains(&SLICE));
        if self.load == Load::Ring && self.scheduler.parameter("slice").is_some_and(|slice| takes(slice.domain)) {
            scheduler.settings.insert("slice".to_owned(), loads::slice());
        }
        let machine =
            loads::machine(serde_json::json!({ "name": "bare", "processors": self.processors, "clock": { "hz": HZ } }));
        let (workload, groups) = if self.grouped { self.in_groups() } else { (self.in_one_job(), BTreeMap::new()) };
        let duration = Some(Duration(end));
        Scenario {
            machine,
            scheduler,
            elevator: None,
            cache: None,
            reclaim: None,
            workload,
            groups,
            duration,
            shared: BTreeMap::new(),
            tunables: BTreeMap::new(),
            attention: None,
            recording: None,
        }
    }

    fn in_one_job(&self) -> BTreeMap<String, Job> {
        BTreeMap::from([(JOB.to_owned(), self.load.job(self.tasks, self.processors))])
    }

    /// A job for each group of the lowest level, named after its path.
    fn in_groups(&self) -> (BTreeMap<String, Job>, BTreeMap<String, schedlab_model::scenario::GroupSpec>) {
        let (mut groups, mut paths) = (BTreeMap::new(), vec![String::from("g")]);
        for level in 0..LEVELS {
            let children = paths.iter().flat_map(|path| (0..FAN).map(move |child| (path.clone(), child)));
            let children: Vec<_> = children.map(|(path, child)| (format!("{path}{child}"), path)).collect();
            for (child, parent) in &children {
                let said = if level == 0 { serde_json::json!({}) } else { serde_json::json!({ "parent": parent }) };
                groups.insert(child.clone(), serde_json::from_value(said).expect("a group needs no more"));
            }
            paths = children.into_iter().map(|(child, _)| child).collect();
        }
        let whole = self.load.job(self.tasks, self.processors);
        let job = |path: String| {
            let part = Job { count: self.tasks / LEAVES, group: Some(path.clone()), ..whole.clone() };
            (path, part)
        };
        (paths.into_iter().map(job).collect(), groups)
    }
}

/// The bare loop with a structure, or with a tree of them.
fn of<S: Structure>(grouped: bool) -> fn(Load, Course) -> Outcome {
    if grouped { ceiling::of::<Groups<S>> } else { ceiling::of::<S> }
}

/// Processor time of an experiment file's first cell under a scheduler and with overrides, ns, the least of some turns.
pub fn experiment(path: &str, scheduler: &str, overrides: &[&str], turns: u32) -> Result<u64, String> {
    let text = std::fs::read_to_string(path).map_err(|why| format!("{path}: {why}"))?;
    let catalogue = Catalogue {
        schedulers: SCHEDULERS,
        elevators: ELEVATORS,
        caches: CACHES,
        reclaims: RECLAIMS,
        workloads: WORKLOADS,
        machines: &[("uniform", include_str!("../../../machines/uniform.toml"))],
        drives: &[],
        metrics: METRICS,
        host_scheduler: "eevdf",
    };
    let mut set = vec![format!("scheduler.name={scheduler}")];
    set.extend(overrides.iter().map(|&one| one.to_owned()));
    let experiment = read(&text, path, Format::Toml, &set, &catalogue).map_err(|why| why.to_string())?;
    let cells = expand(&experiment, &catalogue).map_err(|why| why.to_string())?;
    let times = (0..turns).map(|_| {
        let (report, cpu, _) = timed(|| run::<All>(&cells[0].scenario, SEED));
        report.map(|_| cpu).map_err(|why| why.to_string())
    });
    times.collect::<Result<Vec<_>, _>>().map(|times| times.into_iter().min().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_on_three_levels_and_hold_all_tasks() {
        for info in SCHEDULERS.iter().filter(|info| info.parameter("autogroup").is_some()) {
            let cell = Cell { scheduler: info, load: Load::Ring, tasks: 128, processors: 1, grouped: true };
            let scenario = cell.scenario(SECOND);
            assert_eq!(scenario.groups.len() as u32, 4 + 16 + LEAVES);
            assert_eq!(scenario.workload.values().map(|job| job.count).sum::<u32>(), 128);
            assert!(cell.count(SECOND).unwrap().0.switches > 100);
        }
    }

    #[test]
    fn the_bare_loop_switches_hogs_and_ticks_as_often_as_the_simulator() {
        for name in ["round_robin", "eevdf", "cfs", "minix", "o1", "bsd4"] {
            let load = Load::Ring;
            let info = SCHEDULERS.iter().find(|info| info.name == name).unwrap();
            let cell = Cell { scheduler: info, load, tasks: 10, processors: 1, grouped: false };
            let end = 20 * SECOND;
            let (ours, _) = cell.count(end).unwrap();
            let tick = (ours.ticks > 0).then(|| end / ours.ticks);
            let turn = end / ours.switches;
            let bare = ceiling::of::<Queue>(load, Course { tasks: 10, processors: 1, end, tick, turn, seed: SEED });
            assert!(ours.switches.abs_diff(bare.switches) <= 2, "{name}: {} {}", ours.switches, bare.switches);
            assert!(ours.ticks.abs_diff(bare.ticks) <= 2, "{name}: {} {}", ours.ticks, bare.ticks);
        }
    }
}
