//! What ULE does on several processors: where threads are put, which ones move, and who interrupts another processor.

use super::{TWO, hogs, near, shares, turns, ule_on};
use schedlab_model::{MILLISECOND, Nanos, SECOND, event::Kind};
use schedlab_policies::schedulers::Ule;
use schedlab_testing::schedulers::{Run, scenario};

/// A machine like [`TWO`] with another number of processors.
fn machine(processors: u16) -> String {
    TWO.replace("processors = 2", &format!("processors = {processors}"))
}

/// Sixteen threads that sleep and run, which ask for 46.2 % of eight processors, and hogs.
fn workers(hogs: usize, nice: i8, seed: u64) -> Run {
    let workload = format!(
        r#"
        duration = "30s"
        [workload.worker]
        count = 16
        passes = "forever"
        steps = [{{ sleep = {{ exp = "10ms" }} }}, {{ compute = {{ uniform = ["1ms", "5ms"] }} }}]
        [workload.batch]
        load = "spin"
        count = {hogs}
        nice = {nice}
        passes = "forever"
        "#
    );
    ule_on(r#"{ preset = "uniform", processors = 8 }"#, "", &workload, seed)
}

#[test]
fn workers_that_timers_wake_run_immediately_wherever_a_hog_runs() {
    for (hogs, nice, gap) in [(8, 0, 0.1), (8, 10, 0.1), (8, 20, 0.1), (16, 10, 0.3)] {
        let run = workers(hogs, nice, 1);
        let (workers, batch) = (run.get("tasks.worker.share"), run.get("tasks.batch.share"));
        assert!(workers >= 44.5, "{workers} % of the machine with {hogs} hogs of nice {nice}");
        assert!(workers + batch >= 97.0, "{workers} and {batch} % with {hogs} hogs of nice {nice}");
        let longest = run.get("tasks.worker.longest_gap");
        assert!(longest <= gap, "{longest} s with {hogs} hogs of nice {nice}");
        let latency = run.get("tasks.worker.wakeup_latency.p999");
        assert!(latency <= 0.006, "{latency} s with {hogs} hogs of nice {nice}");
    }
}

#[test]
fn a_worker_that_is_still_warm_takes_its_processor_from_a_hog_though_another_one_idles() {
    // The hog that it leaves waits alone, and is not stolen.
    let run = workers(4, 0, 1);
    near(run.get("tasks.worker.share"), 45.9, 0.5, "share of the workers");
    near(run.get("tasks.batch.share"), 38.0, 2.0, "share of four hogs");
}

#[test]
fn a_sleeper_runs_next_to_the_nicest_hog() {
    let workload = r#"
        duration = "30s"
        workload.a_hog = { load = "spin", passes = "forever" }
        workload.b_nice = { load = "spin", passes = "forever", nice = 20 }
        workload.c_sleeper = { passes = "forever", steps = [{ compute = "1ms" }, { sleep = "19ms" }] }
    "#;
    let run = ule_on(TWO, "", workload, 1);
    assert!(shares(&run, 1)[0] >= 95.0, "{:?}", shares(&run, 3));
    near(shares(&run, 3)[2], 5.0, 0.5, "share of the sleeper");
    let there = run.of(Kind::SwitchIn).filter(|e| e.task == 2);
    let next_to = |cpu: u16, time: Nanos| {
        let on = |e: &&schedlab_model::event::Event| e.cpu == cpu && e.time < time && e.task < 2;
        run.of(Kind::SwitchIn).filter(on).last().map(|e| e.task)
    };
    let (all, nice) =
        there.fold((0, 0), |(all, nice), e| (all + 1, nice + usize::from(next_to(e.cpu, e.time) == Some(1))));
    assert!(nice * 10 >= all * 9, "{nice} of {all} times");
}

#[test]
fn statement_17_on_two_processors_three_hogs_have_two_thirds_each_in_turns() {
    let run = ule_on(TWO, "", &format!("duration = \"200s\"\n{}", hogs(&[0; 3])), 1);
    for share in shares(&run, 3) {
        near(share, 66.7, 5.0, "share");
    }
    // Every 0.5 to 1.5 s, though not each time: a thread that waits alone may go only half the days.
    let moves: Vec<Nanos> = run.of(Kind::Migrated).map(|e| e.time).filter(|time| *time > SECOND).collect();
    let between: Vec<f64> = moves.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e9).collect();
    assert!(between.iter().all(|gap| *gap > 0.49), "{between:?}");
    assert!((100..=200).contains(&moves.len()), "{} moves", moves.len());
}

#[test]
fn statement_17_an_idle_processor_takes_a_queued_thread_immediately() {
    // Two pinned ones end on the first processor while three are on the second.
    let work = r#"
        workload.a = { load = "spin", compute = "50ms", cpus = [0], count = 2 }
        workload.b = { load = "spin", compute = "300ms", count = 3 }
    "#;
    let run = ule_on(TWO, "", work, 1);
    assert!(run.of(Kind::Migrated).any(|e| e.time == 100 * MILLISECOND), "no task moves");
    assert!(run.of(Kind::Idle).all(|e| e.time >= 400 * MILLISECOND), "a processor idles while threads wait");
}

#[test]
fn nine_hogs_on_eight_processors_have_equal_shares_in_turns_and_no_processor_idles() {
    let scenario = scenario(&format!(
        "machine = {}\nscheduler = {{ name = \"ule\" }}\nduration = \"600s\"\n{}",
        machine(8),
        hogs(&[0; 9])
    ));
    let report = schedlab_sim::run::<Ule>(&scenario, 1).expect("a checked scenario");
    for hog in 0..9 {
        near(8.0 * report.get(&format!("tasks.h{hog:02}.share")).expect("a share"), 88.9, 8.0, "share");
    }
    assert_eq!(report.get("idle"), Some(0.0));
}

/// Hogs on so many processors, one more than these, of which the first that has a processor of its own ends after 5 s: how long
/// that processor idles, on average over some seeds.
pub fn idles_after_an_end(processors: usize, parameters: &str) -> f64 {
    let idle = |seed| {
        let ends = "workload.h00.steps = [{ compute = \"5s\" }, { sleep = \"100s\" }]\n";
        let others = hogs(&vec![0; processors + 1]).split_once('\n').expect("the first hog").1.to_owned();
        ule_on(&machine(processors as u16), parameters, &format!("duration = \"20s\"\n{ends}{others}"), seed)
            .get("idle")
    };
    (1..=24).map(idle).sum::<f64>() / 24.0
}

#[test]
fn an_idle_processor_looks_for_a_thread_at_each_tick_but_of_eight_needs_three_on_one() {
    let four = idles_after_an_end(4, "");
    assert!(four < 0.1, "{four} s of four");
    let eight = idles_after_an_end(8, "");
    assert!((0.2..3.0).contains(&eight), "{eight} s of eight");
}

/// Hogs, a program that writes to a pipe after a second, and its reader, on four processors: where the reader last ran, on which
/// processor it runs then, the writer's, and how long after the message it runs.
fn reader(hogs: usize, waits_from: &str) -> (u16, u16, u16, Nanos) {
    let workload = format!(
        r#"
        duration = "2s"
        workload.a_reader.steps = [{{ sleep = "{waits_from}" }}, {{ compute = "500us" }}, {{ receive = "p" }}, {{ compute = "1ms" }}]
        workload.b_writer.steps = [{{ compute = "1s" }}, {{ send = "p" }}, {{ compute = "2s" }}]
        workload.c_hog = {{ load = "spin", passes = "forever", count = {hogs} }}
        "#
    );
    let run = ule_on(&machine(4), "", &workload, 1);
    let woken = run.of(Kind::Wakeup).filter(|e| e.task == 0).last().expect("it is woken").time;
    let on = |task| run.of(Kind::SwitchIn).filter(move |e| e.task == task && e.time <= woken).map(|e| e.cpu);
    let then = run.of(Kind::SwitchIn).find(|e| e.task == 0 && e.time >= woken).expect("it runs");
    let before = run.of(Kind::SwitchIn).filter(|e| e.task == 0 && e.time < woken).last().expect("it ran").cpu;
    (before, then.cpu, on(1).last().expect("it ran"), then.time - woken)
}

#[test]
fn a_reader_runs_on_the_writers_processor_unless_one_idles_or_it_has_just_run() {
    let (before, cpu, writer, after) = reader(3, "500ms");
    assert!(before != writer && cpu == writer && after == 0, "{before} {cpu} {writer} {after}");
    // With a hog less, one processor idles.
    let (_, cpu, writer, after) = reader(2, "500ms");
    assert!(cpu != writer && after == 0, "{cpu} {writer} {after}");
    // It has waited for less than three ticks.
    let (before, cpu, writer, after) = reader(3, "998ms");
    assert!(before != writer && cpu == before && after == 0, "{before} {cpu} {writer} {after}");
}

/// A hog in a system call bound to processor 0, another bound to 1, and a sleeper that may use some: where it runs, and how long after
/// its timer.
fn sleeper_on(cpus: &str, call: &str) -> (u16, Nanos) {
    let workload = format!(
        r#"
        duration = "2s"
        workload.a = {{ cpus = [0], steps = [{{ compute = "480ms" }}, {call}, {{ compute = "2s" }}] }}
        workload.b = {{ cpus = [1], steps = [{{ compute = "480ms" }}, {call}, {{ compute = "2s" }}] }}
        workload.c = {{ cpus = {cpus}, steps = [{{ sleep = "500ms" }}, {{ compute = "1ms" }}] }}
        "#
    );
    let on = TWO.replace("uniform\"", "uniform\", preemption = \"none\"");
    let run = ule_on(&on, "", &workload, 1);
    let woken = run.of(Kind::Wakeup).filter(|e| e.task == 2).last().expect("it is woken").time;
    let turn = turns(&run, 2).into_iter().find(|turn| turn.0 >= woken).expect("it runs");
    let cpu = run.of(Kind::SwitchIn).find(|e| e.task == 2 && e.time == turn.0).expect("it runs").cpu;
    (cpu, turn.0 - woken)
}

#[test]
fn a_timer_puts_no_thread_where_its_softclock_runs_and_interrupts_the_other_processor_in_the_kernel_too() {
    for call in ["{ compute = \"50ms\" }", "{ call = \"50ms\" }"] {
        assert_eq!(sleeper_on("[0, 1]", call), (1, 0), "{call}");
        assert_eq!(sleeper_on("[1]", call), (1, 0), "{call}");
        // Softclock itself has preempted the hog there.
        assert_eq!(sleeper_on("[0]", call), (0, 0), "{call}");
    }
}
