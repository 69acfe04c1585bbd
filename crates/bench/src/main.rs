//! One contestant of the benchmark, once: `schedlab-bench CONTESTANT LOAD TASKS SWITCHES` runs the load and prints one
//! line of JSON. `bench/bench.py` lets the contestants take turns, and compares; see docs/performance.md.
//!
//!
//! `schedlab-bench policies` lists the schedulers; `schedlab-bench policy NAME LOAD TASKS PROCESSORS flat|grouped TURNS` measures
//! one against the ceiling of its data structure, and `schedlab-bench experiment NAME FILE TURNS [FIELD=VALUE...]` times an
//! experiment file.
//!
//! Contestants: `ours`, the simulator with its metrics; `unheard`, without them; `recorded`, with the events also written to a
//! file; `traced`, without metrics and with a trace for Perfetto; `ceiling`, the barest loop of the same load; `sweep`, eighty runs on as many threads as rayon has.

mod ceiling;
mod flat;
mod groups;
mod loads;
mod policies;
mod structures;

use loads::Load;
use policies::Cell;
use rustix::time::{ClockId, clock_gettime};
use schedlab_metrics::Report;
use schedlab_model::{
    event::{Event, Irq, Kind, Leave, Observer},
    scenario::Scenario,
};
use schedlab_policies::schedulers::{All, SCHEDULERS};
use schedlab_sim::{observe, run, run_batch, run_with};
use schedlab_traces::{
    Names, WriteBehind,
    perfetto::Tracer,
    recording::{Reader, Recorder},
};
use serde::Serialize;
use std::{
    fs::File,
    io::{self, BufReader},
    path::Path,
    process::ExitCode,
    time::Instant,
};

/// The seed of every run, the first of a sweep.
const SEED: u64 = 1;
/// Runs of a sweep, which share the switches.
const RUNS: u64 = 80;

/// What one turn came to.
#[derive(Serialize, Default)]
struct Turn {
    switches: u64,
    /// Mean wait in the runqueue, s.
    mean_wait_s: f64,
    /// Passes that ended, and their mean length, s.
    passes: u64,
    mean_pass_s: f64,
    /// Processor time that the tasks had, s.
    user_s: f64,
    /// Our own processor time, ns, from the scenario to the report.
    cpu_ns: u64,
    /// The time that passed meanwhile, ns.
    wall_ns: u64,
    /// Length of the trace, bytes.
    trace_bytes: u64,
    /// Length of the recording, bytes, and the number of its events.
    recorded_bytes: u64,
    recorded_events: u64,
    /// The most memory that the process ever held, bytes.
    peak_bytes: u64,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match answer(&words) {
        Ok(answer) => {
            println!("{answer}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn answer(words: &[&str]) -> Result<String, String> {
    fn json<T: Serialize>(value: T) -> String {
        serde_json::to_string(&value).expect("numbers can be written")
    }
    match words {
        ["policies"] => Ok(json(policies::entries())),
        ["policy", name, load, tasks, processors, form, turns] => {
            let scheduler = SCHEDULERS.iter().find(|info| info.name == *name).ok_or(format!("{name}: no scheduler"))?;
            let load = Load::named(load).ok_or(format!("{load}: no load"))?;
            let [tasks, processors, turns] = [*tasks, processors, turns].map(number);
            let cell = Cell { scheduler, load, tasks: tasks?, processors: processors?, grouped: *form == "grouped" };
            cell.measure(turns?).map(json)
        }
        ["experiment", name, file, turns, set @ ..] => policies::experiment(file, name, set, number(turns)?).map(json),
        _ => turn(words).map(json),
    }
}

fn number(word: &str) -> Result<u32, String> {
    word.parse().map_err(|why| format!("{word}: {why}"))
}

fn turn(words: &[&str]) -> Result<Turn, String> {
    let usage = "usage: schedlab-bench ours|unheard|recorded|traced|ceiling|sweep ring|sleepers|passes TASKS SWITCHES";
    let [contestant, load, tasks, switches] = words else { return Err(usage.to_owned()) };
    let load = Load::named(load).ok_or(usage)?;
    let tasks: u32 = tasks.parse().map_err(|why| format!("TASKS: {why}"))?;
    let switches: u64 = switches.parse().map_err(|why| format!("SWITCHES: {why}"))?;
    let work: fn(Load, u32, u64) -> Result<Turn, String> = match *contestant {
        "ours" => ours,
        "unheard" => unheard,
        "recorded" => recorded,
        "traced" => traced,
        "ceiling" => |load, tasks, switches| Ok(ceiling(load, tasks, switches)),
        "sweep" => sweep,
        _ => return Err(usage.to_owned()),
    };
    let turn = work(load, tasks, switches)?;
    Ok(Turn { peak_bytes: peak_memory(), ..turn })
}

/// Does the work and gives its result, its processor time and the time that passed, ns.
fn timed<T>(work: impl FnOnce() -> T) -> (T, u64, u64) {
    let (wall, cpu) = (Instant::now(), cpu_time());
    let result = work();
    (result, cpu_time() - cpu, wall.elapsed().as_nanos() as u64)
}

fn cpu_time() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The high-water mark of this process, as Linux reports it; 0 where it does not.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

fn of_reports(reports: &[Report], (cpu_ns, wall_ns): (u64, u64)) -> Turn {
    let sum = |metric: &str| reports.iter().filter_map(|report| report.get(metric)).sum::<f64>();
    Turn {
        switches: sum("context_switches") as u64,
        mean_wait_s: sum("run_wait.mean") / reports.len() as f64,
        passes: sum("tasks.load.passes") as u64,
        mean_pass_s: sum("tasks.load.pass_time.mean") / reports.len() as f64,
        user_s: sum("user"),
        cpu_ns,
        wall_ns,
        ..Turn::default()
    }
}

fn ours(load: Load, tasks: u32, switches: u64) -> Result<Turn, String> {
    let scenario = load.scenario(tasks, switches);
    let (report, cpu, wall) = timed(|| run::<All>(&scenario, SEED));
    Ok(of_reports(&[report.map_err(|why| why.to_string())?], (cpu, wall)))
}

/// Listens for little: what a ceiling must do too.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    switches: u64,
    /// Of all processors together.
    ticks: u64,
    /// By the statistics clock, or at ticks where there is none.
    samples: u64,
    migrations: u64,
}

impl Observer for Counts {
    #[inline(always)]
    fn observe(&mut self, event: Event) {
        match event.kind {
            Kind::SwitchOut => self.switches += u64::from(event.flag != Leave::Stopped as u8),
            Kind::Interrupt => self.ticks += u64::from(event.a == Irq::Clock as u64),
            Kind::Sampled => self.samples += 1,
            Kind::Migrated => self.migrations += 1,
            _ => {}
        }
    }
}

fn unheard(load: Load, tasks: u32, switches: u64) -> Result<Turn, String> {
    let scenario = load.scenario(tasks, switches);
    let mut heard = Counts::default();
    let (end, cpu_ns, wall_ns) = timed(|| observe::<All, _>(&scenario, SEED, &mut heard));
    end.map_err(|why| why.to_string())?;
    Ok(Turn { switches: heard.switches, cpu_ns, wall_ns, ..Turn::default() })
}

fn recorded(load: Load, tasks: u32, switches: u64) -> Result<Turn, String> {
    let scenario = load.scenario(tasks, switches);
    let path = std::env::temp_dir().join(format!("schedlab-bench-{}", std::process::id()));
    let (result, cpu, wall) = timed(|| record(&scenario, &path));
    let length = std::fs::metadata(&path).map_or(0, |file| file.len());
    let events = result.and_then(|report| Ok((report, count_events(&path)?)));
    let removed = std::fs::remove_file(&path);
    let (report, events) = events.and_then(|events| removed.map(|()| events)).map_err(|why| why.to_string())?;
    Ok(Turn { recorded_bytes: length, recorded_events: events, ..of_reports(&[report], (cpu, wall)) })
}

fn record(scenario: &Scenario, path: &Path) -> io::Result<Report> {
    let mut recorder = Recorder::new(WriteBehind::new(File::create(path)?)?, &names(scenario))?;
    let report = run_with::<All, _>(scenario, SEED, &mut recorder).map_err(io::Error::other)?;
    recorder.finish()?.finish()?;
    Ok(report)
}

fn names(scenario: &Scenario) -> Names {
    Names { processors: 1, jobs: scenario.workload.keys().cloned().collect(), ..Names::default() }
}

/// As `schedlab run --trace` does: a run without metrics whose trace is written meanwhile.
fn traced(load: Load, tasks: u32, switches: u64) -> Result<Turn, String> {
    let scenario = load.scenario(tasks, switches);
    let path = std::env::temp_dir().join(format!("schedlab-bench-{}.pftrace", std::process::id()));
    let (heard, cpu_ns, wall_ns) = timed(|| make_trace(&scenario, &path));
    let trace_bytes = std::fs::metadata(&path).map_or(0, |file| file.len());
    let removed = std::fs::remove_file(&path);
    let heard = heard.and_then(|heard| removed.map(|()| heard)).map_err(|why| why.to_string())?;
    Ok(Turn { switches: heard.switches, trace_bytes, cpu_ns, wall_ns, ..Turn::default() })
}

fn make_trace(scenario: &Scenario, path: &Path) -> io::Result<Counts> {
    let mut heard = Counts::default();
    let mut tracer = Tracer::new(File::create(path)?, &names(scenario), None);
    observe::<All, _>(scenario, SEED, (&mut heard, &mut tracer)).map_err(io::Error::other)?;
    tracer.finish()?;
    Ok(heard)
}

/// Reads the recording again: it must be whole to be counted.
fn count_events(path: &Path) -> io::Result<u64> {
    let reader = Reader::new(BufReader::new(File::open(path)?)).map_err(io::Error::other)?;
    reader.map(|event| event.map(|_| 1).map_err(io::Error::other)).sum()
}

fn sweep(load: Load, tasks: u32, switches: u64) -> Result<Turn, String> {
    let scenario = load.scenario(tasks, switches / RUNS);
    let runs: Vec<_> = (SEED..SEED + RUNS).map(|seed| (scenario.clone(), seed)).collect();
    // The threads are started before the clock.
    rayon::broadcast(|_| ());
    let (reports, cpu, wall) = timed(|| run_batch::<All>(&runs));
    let reports: Result<Vec<_>, _> = reports.into_iter().collect();
    Ok(of_reports(&reports.map_err(|why| why.to_string())?, (cpu, wall)))
}

fn ceiling(load: Load, tasks: u32, switches: u64) -> Turn {
    let (outcome, cpu_ns, wall_ns) = timed(|| ceiling::run(load, tasks, switches, SEED));
    Turn {
        switches: outcome.switches,
        mean_wait_s: outcome.mean_wait,
        passes: outcome.passes,
        mean_pass_s: outcome.mean_pass,
        user_s: outcome.ran as f64 / 1e9,
        cpu_ns,
        wall_ns,
        ..Turn::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ceiling_does_the_same_simulated_work_as_the_simulator() {
        for load in [Load::Ring, Load::Sleepers, Load::Passes] {
            for tasks in [2, 10, 100, 1000] {
                let (ours, bare) = (ours(load, tasks, 20_000).unwrap(), ceiling(load, tasks, 20_000));
                let heard = unheard(load, tasks, 20_000).unwrap().switches;
                assert_eq!([ours.switches, heard], [bare.switches; 2], "{load:?} of {tasks}");
                assert!((ours.user_s - bare.user_s).abs() < 1e-9, "{load:?} of {tasks}");
                assert!((ours.mean_wait_s - bare.mean_wait_s).abs() < 1e-9, "{load:?} of {tasks}");
                assert_eq!((ours.passes, ours.passes > 0), (bare.passes, load == Load::Passes), "{load:?} of {tasks}");
                assert!((ours.mean_pass_s - bare.mean_pass_s).abs() < 1e-9, "{load:?} of {tasks}");
            }
        }
    }

    #[test]
    fn sleepers_leave_a_tenth_of_the_processor_idle() {
        for tasks in [10, 100, 1000] {
            let switches = 200 * u64::from(tasks);
            let busy = ceiling(Load::Sleepers, tasks, switches).user_s;
            let share = busy * 1e9 / Load::Sleepers.duration(tasks, switches) as f64;
            assert!((0.8..0.95).contains(&share), "{share} with {tasks} tasks");
        }
    }

    #[test]
    fn a_trace_is_of_the_same_run() {
        let (turn, ours) = (traced(Load::Ring, 10, 5000).unwrap(), ours(Load::Ring, 10, 5000).unwrap());
        assert_eq!(turn.switches, ours.switches);
        assert!(turn.trace_bytes < 60 * turn.switches);
    }

    #[test]
    fn a_recording_holds_every_switch_twice() {
        let turn = recorded(Load::Ring, 10, 5000).unwrap();
        assert!(turn.recorded_events >= 2 * turn.switches && turn.recorded_bytes < 32 * turn.recorded_events);
    }
}
