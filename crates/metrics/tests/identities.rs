//! What must hold of any run: random machines that schedule at random, and their books kept apart from the collector's.

use proptest::prelude::*;
use schedlab_metrics::{Collector, METRICS, Report, Setup};
use schedlab_model::{
    event::{Event, Kind, Leave, NO_TASK, Observer},
    machine::Accounting,
};

const LEAVES: [Leave; 5] = [Leave::Preempted, Leave::SliceEnd, Leave::Yielded, Leave::Blocked, Leave::Exited];

/// Nice values of the tasks, in turn.
const NICE: [i16; LEVELS] = [0, -20, 19];
const LEVELS: usize = 3;
const SECOND: u64 = 1_000_000_000;
const SAMPLE: u64 = 5 * SECOND;

/// One random decision: which processor, how much later, what, and how much of it.
type Choice = (u16, u64, u8, u64);

#[derive(Clone, Copy, PartialEq)]
enum State {
    Waiting,
    Ready,
    Running,
    Ended,
}

struct Processor {
    task: Option<u32>,
    since: u64,
    overhead: u64,
}

/// Makes a valid sequence of events from random decisions.
struct Machine {
    now: u64,
    processors: Vec<Processor>,
    tasks: Vec<State>,
    events: Vec<Event>,
    /// Sum over time of the tasks in the runqueue, and of those that run or could of each nice level, ns.
    queued: u64,
    present: [u64; LEVELS],
    /// A load average of each nice level, sampled as time goes on.
    load: [f64; LEVELS],
    spent: u64,
    /// By task: since when it has wanted a processor, time on one up to its last leave, and the same up to the last full second, ns.
    able: Vec<u64>,
    ran: Vec<u64>,
    had: Vec<u64>,
    /// Jain's index of each second: of the tasks of "hog", and of those of all named jobs.
    jain: [Vec<f64>; 2],
}

impl Machine {
    fn new(processors: u16, tasks: u32) -> Self {
        let idle = |_| Processor { task: None, since: 0, overhead: 0 };
        let mut machine = Machine {
            now: 0,
            processors: (0..processors).map(idle).collect(),
            tasks: vec![State::Waiting; tasks as usize],
            events: Vec::new(),
            queued: 0,
            present: [0; LEVELS],
            load: [0.0; LEVELS],
            spent: 0,
            able: vec![0; tasks as usize],
            ran: vec![0; tasks as usize],
            had: vec![0; tasks as usize],
            jain: [Vec::new(), Vec::new()],
        };
        for task in 0..tasks {
            let parent = if task % 3 == 2 { task - 1 } else { NO_TASK };
            let flag = (NICE[task as usize % LEVELS] + 128) as u8;
            machine.emit(Kind::Created, task, 0, flag, u64::from(task % 4), parent.into());
        }
        machine
    }

    fn emit(&mut self, kind: Kind, task: u32, cpu: u16, flag: u8, a: u64, b: u64) {
        self.events.push(Event { time: self.now, a, b, task, cpu, kind, flag });
    }

    fn pass(&mut self, length: u64) {
        (self.now / SECOND + 1..=(self.now + length) / SECOND).for_each(|second| self.window(second * SECOND));
        // At each multiple of five seconds but 0: of the state up to then.
        let taken_before = |time: u64| time.saturating_sub(1) / SAMPLE;
        let samples = taken_before(self.now + length) - taken_before(self.now);
        self.now += length;
        self.queued += length * self.tasks.iter().filter(|&&t| t == State::Ready).count() as u64;
        for level in 0..LEVELS {
            let tasks = self.tasks.iter().skip(level).step_by(LEVELS);
            let present = tasks.filter(|&&t| t == State::Ready || t == State::Running).count() as u64;
            self.present[level] += length * present;
            for _ in 0..samples {
                self.load[level] += (present as f64 - self.load[level]) * (1.0 - (-5.0f64 / 300.0).exp());
            }
        }
    }

    /// A second ends, since the begin of which nothing but time has passed on each processor.
    fn window(&mut self, end: u64) {
        let mut got = [Vec::new(), Vec::new()];
        for (task, state) in self.tasks.iter().enumerate() {
            let on = self.processors.iter().find(|p| p.task == Some(task as u32));
            let ran = match (state, on) {
                (State::Running, Some(p)) => self.ran[task] + end - p.since - p.overhead,
                (State::Ready | State::Running, _) => self.ran[task],
                _ => continue,
            };
            // Overhead that is reported later may be of the second before.
            let this = ran.saturating_sub(std::mem::replace(&mut self.had[task], ran)) as f64;
            if self.able[task] + SECOND <= end && task % 4 < 3 {
                got[1].push(this);
                if task % 4 == 1 {
                    got[0].push(this);
                }
            }
        }
        for (got, seen) in got.iter().zip(&mut self.jain) {
            let (sum, squares) = got.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
            if got.len() > 1 && squares > 0.0 {
                seen.push(sum * sum / (got.len() as f64 * squares));
            }
        }
    }

    /// Time of a processor that is not yet accounted for.
    fn open(&self, cpu: u16) -> u64 {
        let p = &self.processors[usize::from(cpu)];
        self.now - p.since - p.overhead
    }

    fn overhead(&mut self, cpu: u16, amount: u64) {
        let length = amount % (self.open(cpu) + 1);
        self.processors[usize::from(cpu)].overhead += length;
        self.emit(Kind::Overhead, NO_TASK, cpu, 0, length, 0);
    }

    fn wake(&mut self, amount: u64) {
        let task = (amount % self.tasks.len() as u64) as usize;
        if self.tasks[task] == State::Waiting {
            self.tasks[task] = State::Ready;
            self.able[task] = self.now;
            self.emit(Kind::Wakeup, task as u32, 0, (amount % 2) as u8, 0, 0);
        }
    }

    fn dispatch(&mut self, cpu: u16) {
        let Some(task) = self.tasks.iter().position(|&t| t == State::Ready) else { return };
        self.tasks[task] = State::Running;
        self.processors[usize::from(cpu)] = Processor { task: Some(task as u32), since: self.now, overhead: 0 };
        self.emit(Kind::SwitchIn, task as u32, cpu, 0, 0, 0);
    }

    /// What a collector makes of its events.
    fn report(&self, processors: u16) -> Report {
        let mut collector = Collector::new(setup(processors));
        self.events.iter().for_each(|&e| collector.observe(e));
        collector.finish(self.now)
    }

    fn leave(&mut self, cpu: u16, task: u32, amount: u64) {
        let (ran, why) = (self.open(cpu), LEAVES[(amount % 5) as usize]);
        let user = amount % (ran + 1);
        self.spent += ran;
        self.ran[task as usize] += ran;
        if why == Leave::Exited && amount.is_multiple_of(2) {
            self.emit(Kind::Exited, task, cpu, 0, 0, 0);
        }
        self.emit(Kind::SwitchOut, task, cpu, why as u8, user, ran - user);
        if why == Leave::Exited && amount % 2 == 1 {
            self.emit(Kind::Exited, task, cpu, 0, 0, 0);
        }
        self.tasks[task as usize] = match why {
            Leave::Preempted | Leave::SliceEnd | Leave::Yielded => State::Ready,
            Leave::Blocked => State::Waiting,
            Leave::Exited | Leave::Stopped => State::Ended,
        };
        // Switching takes a while, then another task runs, or none.
        self.emit(Kind::Overhead, NO_TASK, cpu, 0, amount % 100, 0);
        self.pass(amount % 100);
        self.idle(cpu, amount);
        self.dispatch(cpu);
    }

    /// One on which these choices have been taken, each that many times later, and then some time has passed.
    fn after(processors: u16, tasks: u32, pace: u64, choices: Vec<Choice>, pause: u64) -> Machine {
        let mut machine = Machine::new(processors, tasks);
        for (cpu, later, what, amount) in choices {
            machine.take((cpu, later * pace, what, amount));
        }
        machine.pass(pause);
        machine
    }

    fn idle(&mut self, cpu: u16, amount: u64) {
        self.processors[usize::from(cpu)] = Processor { task: None, since: self.now, overhead: 0 };
        self.emit(Kind::Idle, NO_TASK, cpu, (amount % 2) as u8, 0, 0);
    }

    fn take(&mut self, (cpu, later, what, amount): Choice) {
        let cpu = cpu % self.processors.len() as u16;
        self.pass(later);
        match (what % 4, self.processors[usize::from(cpu)].task) {
            (0, _) => self.wake(amount),
            (1, _) => self.overhead(cpu, amount),
            (2, Some(task)) => self.leave(cpu, task, amount),
            (2, None) => self.dispatch(cpu),
            (_, None) => self.idle(cpu, amount),
            (_, Some(_)) => {}
        }
    }

    /// Ends the run: running tasks are stopped.
    fn stop(&mut self) {
        for cpu in 0..self.processors.len() as u16 {
            let ran = self.open(cpu);
            if let Some(task) = self.processors[usize::from(cpu)].task.take() {
                self.spent += ran;
                self.emit(Kind::SwitchOut, task, cpu, Leave::Stopped as u8, ran / 3, ran - ran / 3);
            }
        }
    }
}

/// Jobs 0 to 2 have names, the tasks of "job 3" are servers.
fn setup(processors: u16) -> Setup {
    let jobs = ["io", "hog", "make"].map(str::to_owned).to_vec();
    Setup { jobs, processors, accounting: Accounting::Exact, ..Setup::default() }
}

fn choices() -> impl Strategy<Value = Vec<Choice>> {
    prop::collection::vec((any::<u16>(), 0..5_000u64, any::<u8>(), any::<u64>()), 0..300)
}

proptest! {
    #[test]
    fn time_adds_up_exactly_on_any_machine(processors in 1u16..5, tasks in 1u32..9, choices in choices()) {
        let mut machine = Machine::new(processors, tasks);
        choices.into_iter().for_each(|c| machine.take(c));
        machine.pass(77);
        machine.stop();
        let mut collector = Collector::new(setup(processors));
        machine.events.iter().for_each(|&e| collector.observe(e));
        let report = collector.finish(machine.now);
        let totals = collector.totals();
        prop_assert_eq!(totals.sum(), machine.now * u64::from(processors));
        prop_assert_eq!(totals.user + totals.system, machine.spent);

        let get = |name: &str| report.get(name).unwrap_or(0.0);
        let queued = machine.queued as f64 / machine.now as f64;
        prop_assert!((get("run_queue") - queued).abs() < 1e-9, "{} for {queued}", get("run_queue"));
        prop_assert_eq!(get("context_switches"), get("voluntary_switches") + get("involuntary_switches"));
        let left = machine.events.iter().filter(|e| e.kind == Kind::SwitchOut && e.flag != Leave::Stopped as u8).count();
        prop_assert_eq!(get("context_switches"), left as f64);
        let shares: f64 = ["io", "hog", "make"].iter().map(|job| get(&format!("tasks.{job}.share"))).sum();
        prop_assert!(shares <= get("utilization") + 1e-9);
    }

    #[test]
    fn loads_are_those_of_an_independent_count(
        processors in 1u16..5,
        tasks in 1u32..9,
        pace in 1u64..2_000_000,
        choices in choices(),
    ) {
        let machine = Machine::after(processors, tasks, pace, choices, 77);
        let report = machine.report(processors);
        let (mut present, mut load) = (0.0, 0.0);
        for (level, nice) in NICE.iter().enumerate().take(tasks as usize) {
            let counted = machine.present[level] as f64 / machine.now as f64;
            let mean = report.get(&format!("nice.{nice}.load_mean")).unwrap();
            prop_assert!((mean - counted).abs() < 1e-9, "nice {nice}: {mean} for {counted}");
            let average = report.get(&format!("nice.{nice}.load5"));
            prop_assert_eq!(average.is_some(), machine.now >= SAMPLE);
            prop_assert!((average.unwrap_or(0.0) - machine.load[level]).abs() < 1e-9, "{:?}", average);
            (present, load) = (present + counted, load + machine.load[level]);
        }
        prop_assert!((report.get("load_mean").unwrap() - present).abs() < 1e-9);
        prop_assert!((report.get("load5").unwrap_or(0.0) - load).abs() < 1e-9);
    }

    #[test]
    fn fairness_in_each_second_is_that_of_an_independent_count(
        processors in 1u16..4,
        tasks in 1u32..14,
        pace in 1u64..500_000,
        choices in choices(),
    ) {
        let machine = Machine::after(processors, tasks, pace, choices, 3 * SECOND);
        let report = machine.report(processors);
        for (name, seen) in ["tasks.hog.jain_1s", "jain_1s"].iter().zip(&machine.jain) {
            let get = |statistic: &str| report.get(&format!("{name}.{statistic}"));
            prop_assert_eq!(get("count"), Some(seen.len() as f64));
            let mean = seen.iter().sum::<f64>() / seen.len() as f64;
            prop_assert!(seen.is_empty() || (get("mean").unwrap() - mean).abs() < 1e-6, "{:?} for {mean}", get("mean"));
            let uneven = seen.iter().filter(|index| **index < 0.99).count() as f64;
            prop_assert_eq!(report.get(&name.replace("jain_1s", "uneven")), Some(uneven));
            let least = seen.iter().copied().fold(f64::MAX, f64::min);
            prop_assert!(seen.is_empty() || (get("min").unwrap() - least).abs() < 1e-6, "{:?} for {least}", get("min"));
        }
    }

    #[test]
    fn an_unreported_last_time_on_a_processor_is_user_time(processors in 1u16..5, choices in choices()) {
        let mut machine = Machine::new(processors, 6);
        choices.into_iter().for_each(|c| machine.take(c));
        let mut collector = Collector::new(setup(processors));
        machine.events.iter().for_each(|&e| collector.observe(e));
        collector.finish(machine.now);
        prop_assert_eq!(collector.totals().sum(), machine.now * u64::from(processors));
    }

    #[test]
    fn no_number_is_negative_or_undefined_whatever_comes(
        events in prop::collection::vec((0..9u32, 0..9u16, 0..20usize, any::<u8>(), any::<(u64, u64, u64)>()), 0..200),
        end in any::<u64>(),
    ) {
        let mut collector = Collector::new(setup(2));
        for (task, cpu, kind, flag, (time, a, b)) in events {
            collector.observe(Event { time, a, b, task, cpu, kind: KINDS[kind], flag });
        }
        let report = collector.finish(end);
        for row in &report.rows {
            prop_assert!(row.value.is_finite() && row.value >= 0.0, "{row:?}");
        }
        prop_assert!(report.rows.len() >= METRICS.iter().filter(|m| m.unit == "1").count() / 2);
    }

    #[test]
    fn a_switch_in_one_call_counts_as_its_two_halves_whatever_comes(
        events in prop::collection::vec((0..6u32, 0..6u32, 0..3u16, 0..24usize, any::<u8>(), 0..9_000_000u64), 0..200),
    ) {
        let [mut at_once, mut apart] = [0; 2].map(|_| Collector::new(setup(2)));
        let mut now = 0;
        for (task, other, cpu, kind, flag, later) in events {
            now += later;
            let event = |kind, task| Event { time: now, a: later / 2, b: later / 3, task, cpu, kind, flag };
            match KINDS.get(kind) {
                Some(&kind) => {
                    at_once.observe(event(kind, task));
                    apart.observe(event(kind, task));
                }
                None => {
                    let (left, next) = (event(Kind::SwitchOut, task), event(Kind::SwitchIn, other));
                    at_once.observe_switch(left, next);
                    apart.observe(left);
                    apart.observe(next);
                }
            }
        }
        let [at_once, apart] = [at_once, apart].map(|mut collector| format!("{:?}", collector.finish(now)));
        prop_assert_eq!(at_once, apart);
    }
}

#[rustfmt::skip]
const KINDS: [Kind; 22] = [
    Kind::Created, Kind::Exited, Kind::Wakeup, Kind::SwitchIn, Kind::SwitchOut, Kind::Overhead, Kind::Sampled,
    Kind::Interrupt, Kind::SystemCall, Kind::CacheLookup, Kind::DiskStart, Kind::DiskDone, Kind::Idle, Kind::Pass,
    Kind::Period, Kind::Mark, Kind::Signal, Kind::Migrated, Kind::Memory, Kind::Unfinished,
    Kind::Message, Kind::Granted,
];
