//! Interrupts and switches are paid in full: no time is lost when another task preempts, and none is counted twice.

use crate::preempts::ByNice;
use schedlab_model::{
    Nanos,
    event::{Irq, Kind, NO_TASK},
    task::TaskId,
};
use schedlab_policies::schedulers::All;
use schedlab_policies::schedulers::SCHEDULERS;
use schedlab_testing::schedulers::{Run, run, run_under, scenario};

const MICROSECOND: Nanos = 1000;

const SWITCH: Nanos = 7 * MICROSECOND;
const CLOCK: Nanos = 90 * MICROSECOND;
const TIMER: Nanos = 30 * MICROSECOND;
const DEVICE: Nanos = 60 * MICROSECOND;
const DRIVE: Nanos = 80 * MICROSECOND;
const COMMAND: Nanos = 50 * MICROSECOND;

/// A machine, and what a switch and an interrupt of its clock, its timers and its device cost.
type Machine = (&'static str, [Nanos; 4]);

const ALL: Machine = (
    r#"
    clock = { hz = "1000/s", interrupt = "90us", timer_interrupt = "30us" },
    devices.card = { every = "470us", cost = "60us" }, costs = { context_switch = "7us" }"#,
    [SWITCH, CLOCK, TIMER, DEVICE],
);

/// Each cost alone, and all of them.
const MACHINES: [Machine; 5] = [
    (r#"costs = { context_switch = "7us" }"#, [SWITCH, 0, 0, 0]),
    (r#"clock = { hz = "1000/s", interrupt = "90us" }"#, [0, CLOCK, 0, 0]),
    (r#"clock = { hz = "1000/s", timer_interrupt = "30us" }"#, [0, 0, TIMER, 0]),
    (r#"devices.card = { every = "470us", cost = "60us" }"#, [0, 0, 0, DEVICE]),
    ALL,
];

/// Tasks of three priorities that often wake while another one has just begun to run, and one that always runs, bound to a
/// processor if one is given.
fn workload(cpu: Option<u16>) -> String {
    let (name, bound) =
        cpu.map_or((String::new(), String::new()), |cpu| (format!("{cpu}"), format!("cpus = [{cpu}],")));
    let sleeper = |nice: i32| {
        format!(
            "workload.sleeper{name}_{} = {{ {bound} nice = {nice}, passes = 200, steps = [{{ sleep = {{ uniform = [\"100us\", \"900us\"] }} }}, \
             {{ compute = \"20us\" }}] }}\n",
            -nice
        )
    };
    let hog = format!("workload.hog{name} = {{ {bound} nice = 19, steps = [{{ compute = \"500ms\" }}] }}\n");
    [0, -10, -20].map(sleeper).concat() + &hog
}

/// The time of the tasks of a [`workload`].
const COMPUTED: Nanos = 3 * 200 * 20 * MICROSECOND + 500_000 * MICROSECOND;

fn text(machine: &str, processors: u16, scheduler: &str, workload: &str) -> String {
    let machine = machine.replace('\n', " ");
    format!(
        "machine = {{ preset = \"uniform\", processors = {processors}, {machine} }}\n\
         scheduler = {{ name = \"{scheduler}\" }}\n{workload}"
    )
}

/// What a run's processors had to pay: each switch to another task, and each interrupt of one that did not idle.
fn owed(run: &Run, [switch, clock, timer, device]: [Nanos; 4]) -> Nanos {
    let mut last = [NO_TASK; 2];
    let mut busy = [false; 2];
    let mut cpus = vec![0; 100];
    let mut owed = 0;
    for event in &run.events {
        let (task, mut cpu) = (event.task, usize::from(event.cpu));
        match event.kind {
            Kind::Wakeup | Kind::Migrated => cpus[task as usize] = cpu,
            Kind::SwitchIn => {
                let before: TaskId = std::mem::replace(&mut last[cpu], task);
                owed += if before == task { 0 } else { switch };
                busy[cpu] = true;
            }
            Kind::Idle => busy[cpu] = false,
            Kind::Interrupt => {
                let cost = match event.a {
                    line if line == Irq::Clock as u64 => clock,
                    line if line == Irq::Timer as u64 => timer,
                    line if line == Irq::Device as u64 => device,
                    _ => DRIVE,
                };
                if event.a == Irq::Timer as u64 {
                    cpu = cpus[task as usize];
                }
                owed += if busy[cpu] { cost } else { 0 };
            }
            Kind::DiskStart => owed += COMMAND,
            _ => {}
        }
    }
    owed
}

#[test]
fn interrupts_and_switches_are_paid_in_full_by_tasks_that_preempt() {
    for (machine, costs) in MACHINES {
        for processors in [1, 2] {
            let workload: String = (0..processors).map(|cpu| workload(Some(cpu))).collect();
            for seed in 1..4 {
                let scenario = scenario(&text(machine, processors, "fifo", &workload));
                let run = run_under::<ByNice>(&scenario, seed).sound();
                let tasks = COMPUTED * Nanos::from(processors);
                assert_eq!(
                    (run.totals.overhead, run.totals.user),
                    (owed(&run, costs), tasks),
                    "{machine} {processors}"
                );
            }
        }
    }
}

#[test]
fn interrupts_and_switches_are_paid_in_full_under_every_policy() {
    for info in SCHEDULERS {
        for (machine, costs) in MACHINES {
            for processors in [1, 2].into_iter().filter(|&processors| info.allows(processors).is_ok()) {
                let run = run::<All>(&scenario(&text(machine, processors, info.name, &workload(None))), 1);
                let paid = (run.totals.overhead, run.totals.user);
                assert_eq!(paid, (owed(&run, costs), COMPUTED), "{} {machine} {processors}", info.name);
            }
        }
    }
}

#[test]
fn interrupts_are_charged_in_full_where_the_machine_charges_tasks() {
    let (machine, costs) = ALL;
    let machine = format!("interrupt_accounting = \"task\", {machine}");
    for info in SCHEDULERS {
        for processors in [1, 2].into_iter().filter(|&processors| info.allows(processors).is_ok()) {
            let run = run::<All>(&scenario(&text(&machine, processors, info.name, &workload(None))), 1);
            let paid = (run.totals.overhead, run.totals.system, run.totals.user);
            assert_eq!(paid, (0, owed(&run, costs), COMPUTED), "{} {processors}", info.name);
        }
    }
}

#[test]
fn a_drive_is_paid_in_full_although_its_interrupts_preempt() {
    let drive = r#"costs = { interrupt = "80us" }, disk = { rotation = "100/s", cylinders = 1000, heads = 10, sectors = 100, interleave = 1,
        seek_track = "2ms", seek_full = "20ms", track_buffer = "32KiB", command = "50us", sector_copy = "0us" }"#;
    let reader = |name: &str, nice: i32| {
        format!(
            "workload.{name} = {{ nice = {nice}, steps = [{{ open = {{ files = 1, size = \"1MiB\" }} }}, \
             {{ repeat = {{ times = 64, steps = [{{ read = \"16KiB\" }}, {{ compute = \"20us\" }}] }} }}] }}\n"
        )
    };
    let readers = [("one", -10), ("two", -20), ("three", 0)].map(|(name, nice)| reader(name, nice)).concat();
    let hog = "workload.last = { nice = 19, steps = [{ compute = \"60s\" }] }\n";
    let text = text(drive, 1, "fifo", &format!("{}{readers}{hog}", workload(None)));
    for seed in 1..4 {
        let run = run_under::<ByNice>(&scenario(&text), seed).sound();
        let interrupts = run.of(Kind::Interrupt).filter(|e| e.a == Irq::Disk as u64).count();
        assert!(interrupts > 30, "{interrupts}");
        assert_eq!(run.totals.overhead, owed(&run, [0; 4]), "{seed}");
    }
}
