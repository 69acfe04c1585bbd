//! The effects of a machine on a run under any scheduler: caches, devices, coarse timers, statistics clocks, kernels without
//! preemption.

use proptest::prelude::*;
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    event::{Irq, Kind},
    info::{Info, Params},
    task::{CpuId, TaskId},
    topology::Topology,
};
use schedlab_policies::schedulers::{All, Context, Dequeue, Enqueue, Features, Fifo, Pick, Scheduler};
use schedlab_testing::schedulers::{
    Programs, Run, Written, any_scenario, cases, run, run_audited, run_under, scenario,
};

const MICROSECOND: Nanos = 1000;

/// A round-robin run with slices of 10 ms on a machine with these fields.
#[track_caller]
fn turns(machine: &str, rest: &str) -> Run {
    run::<All>(
        &scenario(&format!(
            "machine = {{ preset = \"uniform\", {machine} }}\n\
             scheduler = {{ name = \"round_robin\", slice = \"10ms\" }}\n{rest}"
        )),
        1,
    )
}

/// The time that the first task of the workload spent in its own code.
fn user(run: &Run) -> Nanos {
    run.of(Kind::SwitchOut).filter(|e| e.task == 0).map(|e| e.a).sum()
}

#[test]
fn a_task_loads_what_others_replaced_after_each_switch() {
    let cache = r#"cache = { size = "16KiB", fill_per_kib = "20us" }"#;
    for (footprints, others, expected) in [
        // The first turn loads all 16 KiB; each of the 9 later ones what a neighbour of that footprint took.
        ((16, 16), 1, 16 * 20 + 9 * 16 * 20),
        ((16, 8), 1, 16 * 20 + 9 * 8 * 20),
        ((8, 16), 1, 8 * 20 + 9 * 8 * 20),
        // Three others of 4 KiB take three quarters.
        ((8, 4), 3, 8 * 20 + 9 * 6 * 20),
        // What does not fit cannot be lost.
        ((32, 32), 1, 16 * 20 + 9 * 16 * 20),
    ] {
        // It needs 100 ms without loading: runs of 10 ms, the last of which ends within its slice.
        let compute = 100 * MILLISECOND - expected * MICROSECOND;
        let run = turns(
            cache,
            &format!(
                "duration = \"2s\"\n\
                 workload.a = {{ load = \"spin\", compute = \"{compute}ns\", footprint = \"{}KiB\" }}\n\
                 workload.b = {{ load = \"spin\", compute = \"1s\", count = {others}, footprint = \"{}KiB\" }}",
                footprints.0, footprints.1
            ),
        );
        assert_eq!(user(&run), 100 * MILLISECOND, "{footprints:?} {others}");
    }
}

#[test]
fn a_task_alone_loads_its_memory_once() {
    let run = turns(
        r#"cache = { size = "16KiB", fill_per_kib = "20us" }"#,
        r#"workload.a = { footprint = "8KiB", passes = 5, steps = [{ compute = "30ms" }, { sleep = "5ms" }] }"#,
    );
    assert_eq!(user(&run), 150 * MILLISECOND + 8 * 20 * MICROSECOND);
}

#[test]
fn loading_at_most_doubles_a_burst() {
    let run = turns(
        r#"cache = { size = "16KiB", fill_per_kib = "1ms" }"#,
        r#"workload.a = { footprint = "16KiB", steps = [{ compute = "3ms" }] }"#,
    );
    assert_eq!(user(&run), 6 * MILLISECOND);
}

#[test]
fn a_task_that_moved_pays_for_the_migration_and_for_memory_of_another_node() {
    let machine = r#"
        processors = 2, nodes = 2, costs = { migration = "100us" },
        cache = { size = "16KiB", fill_per_kib = "10us", remote_fill_per_kib = "30us" }
    "#;
    // The test policy moves a task that has slept to the other processor.
    let run = run_under::<Mover>(
        &scenario(&format!(
            "machine = {{ preset = \"uniform\", {} }}\nscheduler = {{ name = \"fifo\" }}\n\
             workload.a = {{ footprint = \"4KiB\", passes = 2, steps = [{{ compute = \"5ms\" }}, {{ sleep = \"1ms\" }}] }}",
            machine.replace('\n', " ")
        )),
        1,
    )
    .sound();
    let run_lengths: Vec<_> = run.of(Kind::SwitchOut).map(|e| (e.cpu, e.a)).collect();
    let (own, other) = (4 * 10 * MICROSECOND, 4 * 30 * MICROSECOND);
    assert_eq!(run_lengths[..2], [(0, 5 * MILLISECOND + own), (1, 5 * MILLISECOND + other)]);
    assert_eq!(run.totals.overhead, 2 * 100 * MICROSECOND);
}

/// Fifo, but a woken task goes to the other one of two processors.
struct Mover(Fifo);

impl Scheduler for Mover {
    const INFO: Info = Fifo::INFO;

    fn new(params: &Params, topology: &Topology, tick: Nanos) -> Self {
        Mover(Fifo::new(params, topology, tick))
    }

    fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, why: Enqueue) -> CpuId {
        if why == Enqueue::New { 0 } else { 1 - cx.tasks[task as usize].cpu }
    }

    fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        self.0.enqueue(cx, cpu, task, why);
    }

    fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Dequeue) {
        self.0.dequeue(cx, cpu, task, why);
    }

    fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        self.0.pick_next(cx, cpu)
    }
}

/// When the second task first runs, while the first spends 35 ms in one call and then computes; a slice is 10 ms and a
/// tick 20 ms.
#[track_caller]
fn first_turn_of_b(preemption: &str) -> Nanos {
    let run = turns(
        &format!("preemption = \"{preemption}\", clock = {{ hz = \"50/s\", interrupt = \"1ns\" }}"),
        r#"
        workload.a = { steps = [{ call = "35ms" }, { compute = "10ms" }] }
        workload.b = { steps = [{ compute = "1ms" }] }
        "#,
    );
    run.first(Kind::SwitchIn, 1)
}

#[test]
fn a_task_inside_the_kernel_is_preempted_as_its_preemption_model_says() {
    let tick = 20 * MILLISECOND;
    assert_eq!(first_turn_of_b("full"), 10 * MILLISECOND);
    let call = 35 * MILLISECOND;
    for model in ["none", "voluntary"] {
        let turn = first_turn_of_b(model);
        assert!((call..call + 3).contains(&turn), "{model}: {turn}");
    }
    // The tick after the slice has ended.
    let lazy = first_turn_of_b("lazy");
    assert!((10 * MILLISECOND..=10 * MILLISECOND + tick + 3).contains(&lazy) && lazy < call, "{lazy}");
}

#[test]
fn voluntary_preemption_acts_between_the_parts_of_a_call() {
    let turn = |preemption: &str| {
        let run = turns(
            &format!(
                "preemption = \"{preemption}\", calls = {{ read = \"12ms\" }}, costs = {{ copy_per_kib = \"12ms\" }}, \
                 files = {{ read_ahead = false }}"
            ),
            r#"
            workload.a = { steps = [{ open = { files = 1, size = "1KiB" } }, { read = "1KiB" }, { compute = "1ms" }] }
            workload.b = { steps = [{ compute = "1ms" }] }
            "#,
        );
        run.first(Kind::SwitchIn, 1)
    };
    assert_eq!((turn("full"), turn("voluntary"), turn("none")), (10_000_000, 12_000_000, 24_000_000));
}

#[test]
fn devices_interrupt_at_their_rate_and_take_time_from_the_running_task() {
    let run = turns(
        r#"devices.sound = { every = "1ms", cost = "50us" }"#,
        r#"
        duration = "1000500us"
        workload.a = { load = "spin", passes = "forever" }
        "#,
    );
    let heard = run.of(Kind::Interrupt).filter(|e| e.a == Irq::Device as u64).count();
    assert_eq!(heard, 1000);
    assert_eq!(run.totals.overhead, 1000 * 50 * MICROSECOND);
    assert_eq!(user(&run), SECOND + 500 * MICROSECOND - 1000 * 50 * MICROSECOND);
}

#[test]
fn interrupts_are_charged_to_the_running_task_where_the_machine_says_so() {
    let run = turns(
        r#"interrupt_accounting = "task", devices.sound = { every = "1ms", cost = "50us" }"#,
        r#"
        duration = "1000500us"
        workload.a = { load = "spin", passes = "forever" }
        "#,
    );
    assert_eq!(run.totals.overhead, 0);
    assert_eq!(run.totals.system, 1000 * 50 * MICROSECOND);
}

#[test]
fn a_run_ends_when_only_devices_are_left() {
    let run = turns(
        r#"devices.sound = { every = "1ms" }"#,
        r#"workload.a = { steps = [{ receive = "itself" }, { send = "itself" }] }"#,
    );
    assert!(run.end <= 2 * MILLISECOND, "{}", run.end);
}

#[test]
fn coarse_timers_expire_at_the_first_tick_from_then_on() {
    let run = turns(
        r#"clock = { hz = "1000/s", timers = "tick" }"#,
        r#"workload.a = { passes = 50, steps = [{ compute = "330us" }, { sleep = "1ms" }] }"#,
    );
    let asleep: Vec<_> = run.of(Kind::Wakeup).filter(|e| e.flag == 0).map(|e| e.time % MILLISECOND).collect();
    assert_eq!(asleep.len(), 50);
    assert!(asleep.windows(2).all(|pair| pair[0] == pair[1]), "not always at a tick: {asleep:?}");
    let outs: Vec<_> = run.of(Kind::SwitchOut).map(|e| e.time).collect();
    let wakes: Vec<_> = run.of(Kind::Wakeup).filter(|e| e.flag == 0).map(|e| e.time).collect();
    for (out, wake) in outs.iter().zip(&wakes) {
        assert!((MILLISECOND..2 * MILLISECOND).contains(&(wake - out)), "slept {}", wake - out);
    }
}

#[test]
fn the_statistics_clock_samples_in_place_of_the_periodic_one() {
    let run = turns(
        r#"accounting = "sampled", clock = { hz = "1000/s", stat_hz = "128/s" }"#,
        r#"
        duration = "10s"
        workload.a = { load = "spin", passes = "forever" }
        "#,
    );
    assert_eq!(run.of(Kind::Sampled).count(), 1280);
    assert_eq!(run.of(Kind::Interrupt).filter(|e| e.a == Irq::Clock as u64).count(), 10_000);
}

/// Fifo that asks the oracle, and holds it to what it said.
struct Seer {
    fifo: Fifo,
    /// For each task, what it was foretold and what it has had since.
    tasks: Vec<(Nanos, Nanos)>,
}

impl Scheduler for Seer {
    const INFO: Info = Fifo::INFO;
    const FEATURES: Features = Features { clairvoyant: true, ..Features::NONE };

    fn new(params: &Params, topology: &Topology, tick: Nanos) -> Self {
        Seer { fifo: Fifo::new(params, topology, tick), tasks: Vec::new() }
    }

    fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        let index = task as usize;
        if self.tasks.len() <= index {
            self.tasks.resize(index + 1, (0, 0));
        }
        if matches!(why, Enqueue::New | Enqueue::Wakeup) {
            self.tasks[index] = (cx.bursts[index], 0);
        }
        self.fifo.enqueue(cx, cpu, task, why);
    }

    fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Dequeue) {
        let (foretold, had) = self.tasks[task as usize];
        assert!(why == Dequeue::Migrate || foretold == had, "task {task} had {had} ns, foretold {foretold} ns");
        self.fifo.dequeue(cx, cpu, task, why);
    }

    fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        self.fifo.pick_next(cx, cpu)
    }

    fn charge(&mut self, _: &mut Context<'_>, _: CpuId, task: TaskId, ran: Nanos) {
        self.tasks[task as usize].1 += ran;
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn the_oracle_knows_how_long_a_task_runs_to_its_next_wait(seed in any::<u64>()) {
        let scenario = scenario(r#"
            machine = "uniform"
            scheduler = { name = "fifo" }
            workload.a = { count = 5, gap = { exp = "3ms" }, passes = 7, steps = [
                { compute = { exp = "2ms" } }, { call = { uniform = ["0ms", "1ms"] } },
                { repeat = { times = 3, steps = [{ compute = { exp = "1ms" } }] } },
                { sleep = { exp = "4ms" } }, { compute = { uniform = ["1ms", "5ms"] } },
            ] }
        "#);
        run_under::<Seer>(&scenario, seed).sound();
    }

    #[test]
    fn every_law_holds_on_machines_with_caches_and_devices_and_kernels_that_hold(
        Written(mut scenario) in any_scenario(Programs::Wild), seed in any::<u64>(),
        preemption in prop::sample::select(vec!["none", "voluntary", "lazy", "full"]), charged in any::<bool>(),
    ) {
        let machine = &mut scenario.machine;
        machine.preemption = serde_json::from_value(preemption.into()).unwrap();
        machine.cache = serde_json::from_str(r#"{ "size": "16KiB", "fill_per_kib": "20us" }"#).unwrap();
        let device = r#"{ "every": { "exp": "3ms" }, "cost": "40us" }"#;
        machine.devices.insert("net".into(), serde_json::from_str(device).unwrap());
        if charged {
            machine.interrupt_accounting = serde_json::from_value("task".into()).unwrap();
        }
        scenario.workload.values_mut().for_each(|job| job.footprint = serde_json::from_value("8KiB".into()).unwrap());
        let run = run_audited::<All>(&scenario, seed);
        prop_assert!(run.violations.is_empty(), "{}", run.violations.join("\n"));
        prop_assert_eq!(run.totals, run.audited_totals);
    }
}

/// A run on one processor, first come, first served, with these costs of calls.
#[track_caller]
fn with_calls(machine: &str, workload: &str) -> Run {
    let text =
        format!("machine = {{ preset = \"uniform\", {machine} }}\nscheduler = {{ name = \"fifo\" }}\n{workload}");
    run::<All>(&scenario(&text), 1)
}

#[test]
fn a_forked_child_costs_what_each_part_of_its_life_costs() {
    let calls = "calls = { fork = \"1ms\", start = \"2ms\", exit = \"4ms\", wait = \"8ms\", manage = \"1s\" }";
    let job =
        "workload.a.steps = [{ repeat = { times = 3, steps = [{ fork = [{ compute = \"16ms\" }] }, \"wait\"] } }]";
    let once = 1 + 2 + 4 + 8 + 16;
    // The end of the task itself is a part of the run, unless it was made before.
    assert_eq!(with_calls(calls, job).end, (3 * once + 4) * MILLISECOND);
    let prepared = with_calls(&format!("{calls}, prepared = true"), job);
    assert_eq!(prepared.end, 3 * once * MILLISECOND);
    assert_eq!((prepared.totals.user, prepared.totals.system), (48 * MILLISECOND, 45 * MILLISECOND));
}

#[test]
fn each_call_costs_its_own_where_the_machine_says_so_and_as_any_other_where_not() {
    let job = r#"workload.a.steps = [{ send = "p" }, { receive = "p" }, { sleep = "0ms" }, { lock = "x" }, { unlock = "x" }]"#;
    assert_eq!(with_calls("calls = { manage = \"10ms\" }", job).end, 50 * MILLISECOND);
    let own = r#"calls = { manage = "10ms", send = "1ms", receive = "2ms", sleep = "4ms", futex = "8ms" }"#;
    // No other task wants the lock.
    assert_eq!(with_calls(own, job).end, 7 * MILLISECOND);
}

#[test]
fn a_futex_is_a_call_for_the_waiter_and_for_the_waker() {
    let calls = r#"calls = { futex = "1ms" }, costs = { trap = "1ms" }"#;
    let run = with_calls(
        calls,
        r#"
        workload.a.steps = [{ lock = "x" }, { sleep = "50ms" }, { unlock = "x" }, { lock = "y" }, { unlock = "y" }]
        workload.b.steps = [{ lock = "x" }, { unlock = "x" }]
        "#,
    );
    // Entering the kernel to sleep and to end, twice; two calls of the futex.
    assert_eq!(run.of(Kind::SystemCall).count(), 3 + 2);
    assert_eq!(run.totals.system, (3 + 2 * 2) * MILLISECOND);
}
