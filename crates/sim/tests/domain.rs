//! How the schedulers of Linux 2.6.20 and those that replaced only its order place tasks on several processors and move them.

use schedlab_model::{MILLISECOND, Nanos, SECOND, event::Kind, task::TaskId};
use schedlab_policies::schedulers::{CfsV3, O1, Rsdl};
use schedlab_testing::schedulers::{Run, run, scenario};

type Table = (O1, (Rsdl, CfsV3));
const ALL: [&str; 3] = ["o1", "rsdl", "cfs_v3"];

#[track_caller]
fn on(processors: u16, name: &str, rest: &str) -> Run {
    let machine = format!("{{ preset = \"uniform\", processors = {processors}, clock = {{ hz = \"1000/s\" }} }}");
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
