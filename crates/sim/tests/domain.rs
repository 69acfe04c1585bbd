//! How the schedulers of Linux 2.6.20 and those that replaced only its order place tasks on several processors and move them.

use schedlab_model::{MILLISECOND, Nanos, SECOND, event::Kind, task::TaskId};
use schedlab_policies::schedulers::{CfsV3, O1, Rsdl};
use schedlab_testing::schedulers::{Run, run, scenario};

type Table = (O1, (Rsdl, CfsV3));
const ALL: [&str; 3] = ["o1", "rsdl", "cfs_v3"];

#[track_caller]
fn on(processors: u16, name: &str, rest: &str) -> Run {
    on_machine(&format!("processors = {processors}"), name, rest)
}

/// Two memory nodes of two processors, 0 and 1, 2 and 3.
const NODES: &str = "processors = 4, nodes = 2";
/// Two cores of two threads, 0 and 2, 1 and 3.
const THREADS: &str = "processors = 4, topology = { threads = 2, thread_speed = 0.6 }";

#[track_caller]
fn on_machine(with: &str, name: &str, rest: &str) -> Run {
    let machine = format!("{{ preset = \"uniform\", {with}, clock = {{ hz = \"1000/s\" }} }}");
    run::<Table>(&scenario(&format!("machine = {machine}\nscheduler.name = \"{name}\"\n{rest}")), 1)
}

fn moves_after(run: &Run, time: Nanos) -> usize {
    run.of(Kind::Migrated).filter(|e| e.time > time).count()
}

#[test]
fn a_processor_whose_tasks_are_all_pinned_is_struck_out() {
    let work = r#"
        workload.p = { load = "spin", passes = "forever", cpus = [0], count = 4 }
        workload.z = { load = "spin", compute = "250ms", count = 4, cpus = [2] }
        workload.g0 = { load = "spin", compute = "10s", cpus = [1], start = "0.1s" }
        workload.g1 = { load = "spin", compute = "10s", cpus = [1, 2], start = "0.1s" }
    "#;
    for name in ALL {
        let real = on(3, name, work).get("tasks.g1.real");
        assert!((10.4..=10.6).contains(&real), "{name}: {real} s");
    }
}

#[test]
fn three_hogs_stay_on_two_processors_and_of_four_one_moves_once() {
    for name in ALL {
        let three =
            on(2, name, "duration = \"20s\"\nworkload.h = { load = \"spin\", passes = \"forever\", count = 3 }");
        assert_eq!(moves_after(&three, 0), 0, "{name}");
        // Three come while the other processor has four.
        let four = on(
            2,
            name,
            r#"
            duration = "20s"
            workload.a = { load = "spin", passes = "forever", cpus = [1] }
            workload.b = { load = "spin", compute = "20ms", cpus = [1], count = 3 }
            workload.h = { load = "spin", passes = "forever", count = 3, start = "1ms" }
            workload.z.steps = [{ sleep = "20s" }]
            "#,
        );
        assert_eq!(moves_after(&four, 2 * MILLISECOND), 1, "{name}");
        assert_eq!(moves_after(&four, SECOND), 0, "{name}");
    }
}

#[test]
fn a_waker_that_is_about_to_wait_draws_its_reader_from_an_idle_processor_and_another_does_not() {
    let reader = |name: &str, waits: &str, wakes: &str| {
        let work = format!(
            r#"
            shared.s = {{ semaphore = 0 }}
            workload.a_waker = {{ cpus = [0], steps = [{{ compute = "100ms" }}, {wakes}, {{ compute = "100ms" }}] }}
            workload.b_reader = {{ cpus = [1], steps = [{{ set = {{ cpus = [0, 1] }} }}, {waits}, {{ compute = "1ms" }}] }}
            "#
        );
        let run = on(2, name, &work);
        run.of(Kind::Wakeup).filter(|e| e.task == 1).last().expect("it is woken").cpu
    };
    for name in ALL {
        assert_eq!(reader(name, "{ receive = \"p\" }", "{ send = \"p\" }"), 0, "{name}");
        assert_eq!(reader(name, "{ acquire = \"s\" }", "{ release = \"s\" }"), 1, "{name}");
    }
}

#[test]
fn a_task_that_always_runs_when_others_look_is_moved_by_the_migration_thread() {
    for name in ALL {
        for end in [50, 51, 53, 57, 64, 78, 99] {
            let work = format!(
                r#"
                duration = "2s"
                workload.x = {{ load = "spin", passes = "forever", cpus = [0] }}
                workload.y = {{ load = "spin", passes = "forever", start = "1ms" }}
                workload.z = {{ load = "spin", compute = "{end}ms", cpus = [1], count = 2 }}
                workload.zz = {{ cpus = [1], steps = [{{ sleep = "2s" }}] }}
                "#
            );
            let run = on(2, name, &work);
            let idle = run.of(Kind::Exited).map(|e| e.time).take(2).last().expect("both end");
            let there = run.of(Kind::SwitchIn).find(|e| e.task == 1 && e.cpu == 1).expect("it moves").time;
            assert!(there - idle <= 8 * MILLISECOND, "{name}, {end}: {} ns", there - idle);
            assert_eq!(moves_after(&run, there), 0, "{name}, {end}");
            if (name, end) == ("o1", 50) {
                // y has just got the processor: three looks find nothing that may move, and the fourth wakes the migration thread.
                assert!(there - idle >= 3 * MILLISECOND, "{} ns", there - idle);
            }
        }
    }
}

#[test]
fn forked_tasks_start_where_their_parent_is_and_idle_processors_pull_them() {
    let hog = "{ fork = [{ compute = \"10s\" }] }";
    let work = format!(
        "duration = \"2s\"\nworkload.a.steps = [{{ compute = \"1ms\" }}, {hog}, {hog}, {hog}, {{ compute = \"10s\" }}]"
    );
    for name in ALL {
        let run = on(4, name, &work);
        for child in run.of(Kind::Created).filter(|e| e.task > 0) {
            let parents =
                run.of(Kind::SwitchIn).filter(|e| e.task == 0 && e.time <= child.time).last().expect("it ran").cpu;
            let first = run.of(Kind::Wakeup).find(|e| e.task == child.task).expect("it starts").cpu;
            assert_eq!(first, parents, "{name}");
        }
        let (busy, last) = (run.of(Kind::Migrated).count(), run.of(Kind::Migrated).last().expect("they move").time);
        assert!(busy == 3 && last <= 20 * MILLISECOND, "{name}: {busy} moves, the last at {last} ns");
        let of = |task: TaskId| run.of(Kind::SwitchOut).filter(|e| e.task == task).map(|e| e.a).sum::<Nanos>();
        assert!((0..4).all(|task| of(task) > 1900 * MILLISECOND), "{name}");
    }
}

#[test]
fn a_waker_draws_a_reader_from_another_node_only_if_more_load_is_there() {
    let reader = |name: &str, hogs: usize| {
        let work = format!(
            r#"
            shared.s = {{ semaphore = 0 }}
            workload.a_waker = {{ cpus = [0], steps = [{{ compute = "100ms" }}, {{ release = "s" }}, {{ compute = "100ms" }}] }}
            workload.b_reader = {{ cpus = [2], steps = [{{ set = {{ cpus = [0, 1, 2, 3] }} }}, {{ acquire = "s" }}, {{ compute = "1ms" }}] }}
            workload.c_hog = {{ cpus = [2], load = "spin", passes = "forever", count = {hogs} }}
            "#
        );
        let run = on_machine(NODES, name, &work);
        run.of(Kind::Wakeup).filter(|e| e.task == 1).last().expect("it is woken").cpu
    };
    for name in ALL {
        // 112 * 128 is at most 100 * 256, and more than 100 * 128.
        assert_eq!((reader(name, 2), reader(name, 1)), (0, 2), "{name}");
    }
}

#[test]
fn a_forked_task_starts_on_another_node_if_that_has_much_less_load() {
    let work = r#"
        duration = "1s"
        workload.a.steps = [
            { compute = "100ms" }, { fork = [{ compute = "10s" }] }, { compute = "100ms" }, { fork = [{ compute = "10s" }] }, { compute = "10s" },
        ]
    "#;
    for name in ALL {
        let run = on_machine(NODES, name, work);
        let first = |task: TaskId| run.of(Kind::Wakeup).find(|e| e.task == task).expect("it starts").cpu;
        let parents =
            |time: Nanos| run.of(Kind::SwitchIn).filter(|e| e.task == 0 && e.time <= time).last().expect("it ran").cpu;
        let children: Vec<_> = run.of(Kind::Created).filter(|e| e.task > 0).collect();
        assert_ne!(first(children[0].task) / 2, parents(children[0].time) / 2, "{name}");
        // Now both nodes have a task.
        assert_eq!(first(children[1].task), parents(children[1].time), "{name}");
    }
}

#[test]
fn a_woken_task_takes_an_idle_thread_of_its_busy_core_and_nothing_looks_further() {
    let sleeper = |name: &str, machine: &str, hogs: &str| {
        let work = format!(
            r#"
            workload.a_sleeper = {{ cpus = [0], steps = [{{ set = {{ cpus = [0, 1, 2, 3] }} }}, {{ sleep = "500ms" }}, {{ compute = "1ms" }}] }}
            workload.b = {{ cpus = [0], load = "spin", passes = "forever" }}
            {hogs}
            "#
        );
        let run = on_machine(machine, name, &work);
        run.of(Kind::Wakeup).filter(|e| e.task == 0).last().expect("it is woken").cpu
    };
    let sibling = "workload.c = { cpus = [2], load = \"spin\", passes = \"forever\" }";
    for name in ALL {
        assert_eq!(sleeper(name, THREADS, ""), 2, "{name}");
        assert_eq!(sleeper(name, THREADS, sibling), 0, "{name}");
        assert_eq!(sleeper(name, "processors = 4", ""), 0, "{name}");
    }
}

#[test]
fn the_migration_thread_moves_a_task_that_shares_a_core_to_one_that_idles() {
    let work = r#"
        duration = "10s"
        workload.a = { load = "spin", passes = "forever", cpus = [0] }
        workload.b = { load = "spin", passes = "forever", cpus = [2] }
        workload.command.steps = [{ sleep = "1s" }, { set = { cpus = [0, 1, 2, 3], job = "a" } }, { set = { cpus = [0, 1, 2, 3], job = "b" } }, { sleep = "100s" }]
    "#;
    for name in ALL {
        let run = on_machine(THREADS, name, work);
        let moves: Vec<_> = run.of(Kind::Migrated).filter(|e| e.task < 2).map(|e| (e.time, e.cpu % 2)).collect();
        // As long as they were bound, idle processors came to look every 512 ms at most.
        let [(time, 1)] = moves[..] else { panic!("{name}: {moves:?}") };
        assert!((SECOND..SECOND + 520 * MILLISECOND).contains(&time), "{name}: {time}");
    }
}

#[test]
fn nodes_even_out_what_one_of_them_has() {
    let work = r#"
        duration = "20s"
        workload.a = { load = "spin", passes = "forever", count = 8, cpus = [0, 1] }
        workload.command.steps = [{ sleep = "100ms" }, { set = { cpus = [0, 1, 2, 3], job = "a" } }, { sleep = "100s" }]
    "#;
    for name in ALL {
        let run = on_machine(NODES, name, work);
        let had = |task: TaskId| run.of(Kind::SwitchOut).filter(|e| e.task == task).map(|e| e.a).sum::<Nanos>();
        assert!(
            (0..8).all(|task| (9 * SECOND..11 * SECOND).contains(&had(task))),
            "{name}: {:?}",
            (0..8).map(had).collect::<Vec<_>>()
        );
        assert_eq!(moves_after(&run, 3 * SECOND), 0, "{name}");
    }
}
