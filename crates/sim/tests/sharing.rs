//! What tasks share: reader-writer locks, semaphores, barriers, conditions, bounded queues, and requests that arrive at pools. Against
//! what can be computed by hand, and theory where there is chance. Sleeps stand for what is done meanwhile, so one processor is enough.

use proptest::prelude::*;
use schedlab_model::{
    MILLISECOND, Nanos,
    event::{Event, Kind},
    task::TaskId,
};
use schedlab_policies::schedulers::{Fifo, RoundRobin};
use schedlab_sim::run_batch;
use schedlab_testing::schedulers::{Run, run, scenario};
use std::fmt::Write;

/// Runs jobs on one processor without costs, first come, first served.
#[track_caller]
fn fifo(workload: &str) -> Run {
    let run =
        run::<Fifo>(&scenario(&format!("machine = \"uniform\"\nscheduler = {{ name = \"fifo\" }}\n{workload}")), 1);
    assert_eq!(run.violations, [""; 0]);
    run
}

/// When a task ended, ms.
#[track_caller]
fn end(run: &Run, task: TaskId) -> Nanos {
    run.first(Kind::Exited, task) / MILLISECOND
}

fn ends(run: &Run, tasks: u32) -> Vec<Nanos> {
    (0..tasks).map(|task| end(run, task)).collect()
}

#[test]
fn readers_hold_a_lock_together_and_a_writer_waits_for_all_of_them() {
    let run = fifo(
        r#"
        workload.a = { count = 3, steps = [{ read_lock = "x" }, { sleep = "10ms" }, { unlock = "x" }] }
        workload.b.steps = [{ sleep = "1ms" }, { lock = "x" }, { sleep = "5ms" }, { unlock = "x" }]
        workload.c.steps = [{ sleep = "2ms" }, { read_lock = "x" }, { sleep = "7ms" }, { unlock = "x" }]
        "#,
    );
    // The last reader comes behind the writer, although others read when it comes.
    assert_eq!(ends(&run, 5), [10, 10, 10, 15, 22]);
    assert_eq!(run.get("tasks.b.lock_latency.max"), 0.009);
    assert_eq!(run.get("tasks.c.lock_latency.max"), 0.013);
    assert_eq!((run.get("tasks.a.lock_latency.count"), run.get("tasks.a.lock_latency.max")), (3.0, 0.0));
    assert_eq!((run.get("lock_latency.count"), run.get("lock_latency.max")), (5.0, 0.013));
}

#[test]
fn a_task_that_ends_while_it_reads_lets_a_writer_in() {
    let run = fifo(
        r#"
        workload.a.steps = [{ read_lock = "x" }, { sleep = "10ms" }]
        workload.b.steps = [{ sleep = "1ms" }, { lock = "x" }, { sleep = "5ms" }]
        "#,
    );
    assert_eq!(ends(&run, 2), [10, 15]);
}

proptest! {
    /// Of equal tasks that come together, as many go on at once as there are permits.
    #[test]
    fn a_semaphore_lets_as_many_tasks_in_as_it_has_permits(tasks in 1u32..20, permits in 1u32..6) {
        let run = fifo(&format!(
            "shared.db = {{ semaphore = {permits} }}\n\
             workload.job = {{ count = {tasks}, steps = [\n\
             {{ acquire = \"db\" }}, {{ sleep = \"10ms\" }}, {{ release = \"db\" }}] }}"
        ));
        let expected: Vec<Nanos> = (0..tasks).map(|task| u64::from(task / permits + 1) * 10).collect();
        prop_assert_eq!(ends(&run, tasks), expected);
        let latest = f64::from((tasks - 1) / permits) * 0.01;
        prop_assert_eq!(run.get("tasks.job.lock_latency.max"), latest);
    }

    /// Each round takes as long as the longest of its tasks.
    #[test]
    fn tasks_leave_a_barrier_together(lengths in prop::collection::vec(1u64..40, 1..6), rounds in 1u64..4) {
        let mut workload = format!("shared.gate = {{ barrier = {} }}\n", lengths.len());
        for (task, length) in lengths.iter().enumerate() {
            let steps = format!("[{{ sleep = \"{length}ms\" }}, {{ barrier = \"gate\" }}]");
            writeln!(workload, "workload.job{task} = {{ steps = {steps}, passes = {rounds} }}").unwrap();
        }
        let longest = lengths.iter().max().unwrap();
        let run = fifo(&workload);
        prop_assert_eq!(ends(&run, lengths.len() as u32), vec![longest * rounds; lengths.len()]);
    }

    /// With room for c messages, the n-th is sent when all but c before it were received, one every 10 ms.
    #[test]
    fn a_task_that_sends_to_a_full_queue_waits(messages in 1u64..20, capacity in 1u64..6) {
        let run = fifo(&format!(
            "shared.q = {{ queue = {capacity} }}\n\
             workload.a = {{ steps = [{{ send = \"q\" }}], passes = {messages} }}\n\
             workload.b = {{ steps = [{{ sleep = \"10ms\" }}, {{ receive = \"q\" }}], passes = {messages} }}"
        ));
        prop_assert_eq!(ends(&run, 2), [messages.saturating_sub(capacity) * 10, messages * 10]);
        // Sent at once if there was room, else when the message was that long before it.
        prop_assert_eq!(run.get("tasks.b.message_latency.count"), messages as f64);
        let longest = messages.min(capacity + 1) * 10;
        prop_assert!((run.get("tasks.b.message_latency.max") * 1e3 - longest as f64).abs() < 1e-6);
    }
}

#[test]
fn a_signalled_task_goes_on_when_the_lock_is_free_again() {
    let run = fifo(
        r#"
        workload.a.steps = [{ lock = "x" }, { condition_wait = { condition = "c", lock = "x" } }, { sleep = "3ms" }]
        workload.b.steps = [{ sleep = "5ms" }, { lock = "x" }, { condition_signal = "c" }, { sleep = "4ms" }, { unlock = "x" }]
        "#,
    );
    assert_eq!(ends(&run, 2), [12, 9]);
    // Taking the lock again is no request.
    assert_eq!(run.get("tasks.a.lock_latency.count"), 1.0);
}

#[test]
fn a_signal_wakes_one_waiter_a_broadcast_all_and_neither_is_remembered() {
    let workload = |signal: &str| {
        format!(
            r#"
            duration = "50ms"
            workload.a.steps = [{{ {signal} = "c" }}]
            workload.b = {{ count = 3, start = "1ms", steps = [
                {{ lock = "x" }}, {{ condition_wait = {{ condition = "c", lock = "x" }} }}, {{ unlock = "x" }}] }}
            workload.z = {{ start = "20ms", steps = [{{ {signal} = "c" }}] }}
            "#
        )
    };
    assert_eq!(fifo(&workload("condition_signal")).get("tasks.b.completed"), 1.0);
    assert_eq!(fifo(&workload("condition_broadcast")).get("tasks.b.completed"), 3.0);
}

/// Here a task ends only while it runs, so one that a signal has chosen goes on first: no signal is lost with it.
#[test]
fn a_waiter_that_is_cut_off_when_it_goes_on_has_used_its_own_signal_and_no_other() {
    for (signals, completed) in [(1, 0.0), (2, 1.0)] {
        let run = fifo(&format!(
            r#"
            duration = "50ms"
            workload.a.steps = [{{ lock = "x" }}, {{ condition_wait = {{ condition = "c", lock = "x" }} }},
                {{ grow = {{ from = "2KiB", to = "2KiB", declared = "1KiB" }} }}, {{ unlock = "x" }}]
            workload.b = {{ start = "1ms", steps = [
                {{ lock = "x" }}, {{ condition_wait = {{ condition = "c", lock = "x" }} }}, {{ unlock = "x" }}] }}
            workload.z = {{ start = "5ms", count = {signals}, gap = "1ms", steps = [
                {{ lock = "x" }}, {{ condition_signal = "c" }}, {{ sleep = "100us" }}, {{ unlock = "x" }}] }}
            "#
        ));
        let cut_off = |event: &&Event| event.task == 0 && event.flag == 1;
        assert_eq!(run.of(Kind::Exited).filter(cut_off).count(), 1, "a is cut off");
        assert_eq!(run.get("tasks.b.completed"), completed, "{signals}");
    }
}

/// The warning about tasks that can never go on.
fn stuck(workload: &str) -> String {
    let text = format!("machine = \"uniform\"\nscheduler = {{ name = \"fifo\" }}\n{workload}");
    let report = schedlab_sim::run::<Fifo>(&scenario(&text), 1).unwrap();
    let found = report.warnings.iter().find(|warning| warning.metric.as_deref() == Some("stuck"));
    found.unwrap_or_else(|| panic!("{:?}", report.warnings)).seen.clone()
}

#[test]
fn waits_that_cannot_end_say_what_is_waited_for() {
    let sent = stuck("shared.q = { queue = 1 }\nworkload.a.steps = [{ send = \"q\" }, { send = \"q\" }]");
    assert_eq!(sent, "a waits for room in the queue q, and no task will receive from it");
    let permit =
        stuck("shared.db = { semaphore = 1 }\nworkload.a.steps = [{ acquire = \"db\" }, { acquire = \"db\" }]");
    assert_eq!(permit, "a waits for a permit of db, and no task will release one");
    let barrier = stuck("shared.gate = { barrier = 3 }\nworkload.a = { count = 2, steps = [{ barrier = \"gate\" }] }");
    assert_eq!(barrier, "2 tasks of a wait at the barrier gate, to which 3 tasks will never come");
    let condition = stuck(
        "workload.a.steps = [{ lock = \"x\" }, { condition_wait = { condition = \"c\", lock = \"x\" } }]\n\
         workload.b.steps = [{ condition_signal = \"c\" }]\nworkload.a.start = \"1ms\"",
    );
    assert_eq!(condition, "a waits for the condition c, and no task will signal it");
    let writer = stuck(
        "workload.a.steps = [{ read_lock = \"x\" }, { receive = \"q\" }, { send = \"q\" }]\nworkload.b.steps = [{ lock = \"x\" }]",
    );
    assert!(writer.contains("b waits for lock x, which a holds"), "{writer}");
}

#[test]
fn requests_that_arrive_at_recorded_times_wait_for_a_free_task_of_the_pool() {
    let run = fifo(
        r#"
        [workload.pool]
        count = 2
        arrivals = { recorded = ["0ms", "1ms", "2ms", "30ms"] }
        steps = [{ sleep = "10ms" }]
        "#,
    );
    assert_eq!(run.get("tasks.pool.passes"), 4.0);
    // At 0 and 1 ms both are free; that of 2 ms begins at 10 ms; that of 30 ms finds both idle.
    let latencies: Vec<u64> = run.of(Kind::Message).map(|e| e.a / MILLISECOND).collect();
    assert_eq!(latencies, [10, 10, 18, 10]);
    // A pass begins with its request: idle tasks make none. When the last request is taken, the other task ends.
    assert_eq!(run.get("tasks.pool.pass_time.max"), 0.01);
    assert_eq!(run.get("tasks.pool.completed"), 2.0);
    assert_eq!(run.end, 40 * MILLISECOND);
}

#[test]
fn what_a_pool_was_not_done_with_is_censored_with_its_age() {
    let run = fifo(
        r#"
        duration = "100ms"
        [workload.pool]
        arrivals = { every = "40ms" }
        steps = [{ sleep = "50ms" }]
        "#,
    );
    // Of 40 and 80 ms: the first is done at 90 ms, when the second begins.
    assert_eq!((run.get("tasks.pool.message_latency.count"), run.get("tasks.pool.message_latency.max")), (1.0, 0.05));
    assert_eq!(run.get("tasks.pool.message_latency.censored"), 1.0);
    assert_eq!(run.get("tasks.pool.message_latency.censored_max"), 0.02);
    assert_eq!(run.get("tasks.pool.pass_time.censored_max"), 0.01);
}

#[test]
fn an_overloaded_pool_of_no_duration_is_refused_and_a_limited_one_ends() {
    let pool = |more: &str| {
        format!(
            "machine = \"uniform\"\nscheduler = {{ name = \"fifo\" }}\n[workload.pool]\n\
             arrivals = {{ poisson = \"1000/s\" }}\nsteps = [{{ compute = \"2ms\" }}]\n{more}"
        )
    };
    let refused = schedlab_testing::schedulers::try_read(&pool(""), schedlab_model::experiment::Format::Toml);
    assert!(refused.unwrap_err().contains("duration: is missing"));
    let run = run::<Fifo>(&scenario(&pool("requests = 500")), 1);
    assert_eq!(run.get("tasks.pool.passes"), 500.0);
    assert!(run.end >= 1000 * MILLISECOND, "500 requests of 2 ms took {} ns", run.end);
}

/// The same requests arrive, and need the same, in every pool and under every scheduler.
#[test]
fn requests_are_the_same_for_every_pool_and_scheduler() {
    let total = |scheduler: &str, count: u32| {
        let text = format!(
            "machine = \"uniform\"\nscheduler = {{ {scheduler} }}\n[workload.pool]\ncount = {count}\nrequests = 300\n\
             arrivals = {{ poisson = \"90/s\" }}\nsteps = [{{ compute = {{ exp = \"8ms\" }} }}]"
        );
        run::<(Fifo, RoundRobin)>(&scenario(&text), 5).totals.user
    };
    let one = total("name = \"fifo\"", 1);
    assert_eq!([total("name = \"fifo\"", 4), total("name = \"round_robin\", slice = \"1ms\"", 7)], [one; 2]);
    // A task for each of them draws the same numbers, too.
    let tasks = "machine = \"uniform\"\nscheduler = { name = \"fifo\" }\n\
                 workload.pool = { count = 300, steps = [{ compute = { exp = \"8ms\" } }] }";
    assert_eq!(run::<Fifo>(&scenario(tasks), 5).totals.user, one);
}

/// M/M/c by Erlang's formula, on c processors: the 99 % interval of the mean over 30 seeds contains it and is narrow. The seeds were set
/// before the first run.
#[test]
fn a_pool_under_poisson_load_has_the_latency_of_erlang() {
    /// Student's t for 29 degrees of freedom, both sides of 99 %.
    const T: f64 = 2.756;
    for (servers, rate) in [(1u32, 70.0), (2, 150.0), (4, 340.0)] {
        let text = format!(
            "machine = {{ preset = \"uniform\", processors = {servers} }}\nscheduler = {{ name = \"fifo\" }}\n\
             [workload.pool]\ncount = {servers}\nrequests = 20000\narrivals = {{ poisson = \"{rate}/s\" }}\n\
             steps = [{{ compute = {{ exp = \"10ms\" }} }}]"
        );
        let runs: Vec<_> = (1..=30).map(|seed| (scenario(&text), seed)).collect();
        let reports = run_batch::<Fifo>(&runs).into_iter();
        let all: Vec<f64> = reports.map(|it| it.unwrap().get("tasks.pool.message_latency.mean").unwrap()).collect();
        let expected = 0.01 + erlang_wait(servers, rate / 100.0) * 0.01;
        let mean = all.iter().sum::<f64>() / 30.0;
        let spread = (all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 29.0).sqrt() * T / 30f64.sqrt();
        assert!(spread < 0.05 * expected, "{servers} servers: {spread} of {expected}");
        assert!((mean - expected).abs() < spread, "{servers} servers: {mean} +- {spread}, Erlang {expected}");
    }
}

/// Mean wait in a queue with c servers under load a (offered, in servers), in units of the service time: C(c, a) / (c - a).
fn erlang_wait(servers: u32, load: f64) -> f64 {
    let mut blocking = 1.0;
    for n in 1..=servers {
        blocking = load * blocking / (f64::from(n) + load * blocking);
    }
    let c = f64::from(servers);
    let waits = blocking / (1.0 - load / c * (1.0 - blocking));
    waits / (c - load)
}

/// How tasks share on any number of processors: a machine, with futexes or without, bound tasks or not, and turns that end anywhere.
fn anywhere() -> impl Strategy<Value = String> {
    let machine = (prop::sample::select(vec![1u16, 2, 3, 8]), 1u32..9, any::<bool>(), any::<bool>());
    machine.prop_map(|(processors, slice, costs, futexes)| {
        let costs = if costs { "{ context_switch = \"20us\", trap = \"3us\" }" } else { "{}" };
        let calls = if futexes { "{ futex = \"5us\" }" } else { "{}" };
        format!(
            "machine = {{ preset = \"uniform\", processors = {processors}, costs = {costs}, calls = {calls} }}\n\
             scheduler = {{ name = \"round_robin\", slice = \"{slice}ms\" }}\n"
        )
    })
}

/// The largest sum that the marks of a run come to, each with its weight, by the order in which the programs name them.
fn most_at_once(run: &Run, weights: &[i32]) -> i32 {
    let sums = run.of(Kind::Mark).scan(0, |sum, e| {
        *sum += weights[e.a as usize];
        Some(*sum)
    });
    sums.max().unwrap_or(0)
}

proptest! {
    /// Children request permits, too, and a bound task may wait for one that runs elsewhere.
    #[test]
    fn never_more_tasks_have_a_permit_than_there_are(
        machine in anywhere(), tasks in 1u32..9, permits in 1u32..5, seed in any::<u64>(),
    ) {
        let within = r#"{ acquire = "db" }, { mark = "in" }, { compute = { uniform = ["100us", "7ms"] } },
            { sleep = { uniform = ["0s", "2ms"] } }, { mark = "out" }, { release = "db" }"#;
        let text = format!(
            "{machine}shared.db = {{ semaphore = {permits} }}\n\
             workload.a = {{ count = {tasks}, passes = 3, steps = [{within}] }}\n\
             workload.b = {{ count = 2, cpus = [0], steps = [{{ fork = [{within}] }}, {within}, \"wait\"] }}"
        );
        let run = run::<RoundRobin>(&scenario(&text), seed);
        prop_assert_eq!(&run.violations, &[""; 0]);
        prop_assert!(most_at_once(&run, &[1, -1]) <= permits as i32);
        prop_assert_eq!(run.get("lock_latency.count"), f64::from(3 * tasks + 4));
        prop_assert_eq!(run.get("tasks.a.completed") + run.get("tasks.b.completed"), f64::from(tasks + 4));
    }

    /// A writer weighs as much as all readers together.
    #[test]
    fn readers_and_writers_exclude_each_other(
        machine in anywhere(), readers in 1u32..9, writers in 1u32..5, seed in any::<u64>(),
    ) {
        let steps = |take: &str, kind: &str| format!(
            "[{{ {take} = \"x\" }}, {{ mark = \"{kind} in\" }}, {{ compute = {{ uniform = [\"100us\", \"7ms\"] }} }}, \
             {{ mark = \"{kind} out\" }}, {{ unlock = \"x\" }}, {{ sleep = {{ uniform = [\"0s\", \"3ms\"] }} }}]"
        );
        let (reads, writes) = (steps("read_lock", "reader"), steps("lock", "writer"));
        let text = format!(
            "{machine}workload.a = {{ count = {readers}, passes = 3, steps = {reads} }}\n\
             workload.b = {{ count = {writers}, passes = 3, cpus = [0], steps = {writes} }}"
        );
        let run = run::<RoundRobin>(&scenario(&text), seed);
        prop_assert_eq!(&run.violations, &[""; 0]);
        prop_assert!(most_at_once(&run, &[1, -1, 100, -100]) <= 100);
        prop_assert_eq!(run.get("lock_latency.count"), f64::from(3 * (readers + writers)));
    }

    /// A task that waits at a barrier has made as many rounds as all others, or one less than those that went on.
    #[test]
    fn no_task_is_a_round_ahead_at_a_barrier(machine in anywhere(), tasks in 1usize..9, seed in any::<u64>()) {
        let text = format!(
            "{machine}shared.gate = {{ barrier = {tasks} }}\n\
             workload.a = {{ count = {tasks}, passes = 5, steps = [\n\
             {{ compute = {{ uniform = [\"0s\", \"9ms\"] }} }}, {{ barrier = \"gate\" }}, {{ mark = \"through\" }}] }}"
        );
        let run = run::<RoundRobin>(&scenario(&text), seed);
        prop_assert_eq!(&run.violations, &[""; 0]);
        let mut rounds = vec![0u32; tasks];
        for event in run.of(Kind::Mark) {
            rounds[event.task as usize] += 1;
            prop_assert!(rounds.iter().max().unwrap() - rounds.iter().min().unwrap() <= 1);
        }
        prop_assert_eq!(rounds, vec![5; tasks]);
    }

    /// Of the requests that have arrived, all are done with or counted with their age, whenever the run is cut off. Its last
    /// moment is not one of an arrival: that one would have no age.
    #[test]
    fn no_request_is_lost(machine in anywhere(), count in 1u32..9, cut in 1u64..400, bound in any::<bool>(), seed in any::<u64>()) {
        let cpus = if bound { "cpus = [0]\n" } else { "" };
        let text = format!(
            "{machine}duration = \"{cut}500us\"\nworkload.hog = {{ load = \"spin\", passes = \"forever\" }}\n[workload.pool]\n\
             count = {count}\n{cpus}arrivals = {{ bursts = {{ size = 3, every = \"7ms\" }} }}\n\
             steps = [{{ compute = {{ exp = \"2ms\" }} }}, {{ sleep = {{ exp = \"1ms\" }} }}]"
        );
        let run = run::<RoundRobin>(&scenario(&text), seed);
        prop_assert_eq!(&run.violations, &[""; 0]);
        let get = |statistic: &str| run.get(&format!("tasks.pool.message_latency.{statistic}"));
        prop_assert_eq!(get("count") + get("censored"), (cut / 7 * 3) as f64);
        prop_assert_eq!(get("count"), run.get("tasks.pool.passes"));
    }
}
