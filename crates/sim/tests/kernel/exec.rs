//! A task that executes another program: Linux looks for a processor for it, others leave it where it is.

use schedlab_model::{MILLISECOND, event::Kind};
use schedlab_policies::schedulers::{All, SCHEDULERS};
use schedlab_testing::schedulers::{Run, run, scenario};

/// Linux with scheduling domains, and from 5.10 on.
const OLD: [&str; 3] = ["o1", "rsdl", "cfs_v3"];
const NEW: [&str; 2] = ["cfs", "eevdf"];
const OTHERS: [&str; 5] = ["ule", "bsd4", "round_robin", "lottery", "muqss"];

/// The first task computes on processor 0, may then use both, and executes a program, with others there.
fn on_two(scheduler: &str, treatment: &str, others: &str) -> Run {
    let text = format!(
        r#"
        machine = {{ preset = "uniform", processors = 2, clock = {{ hz = "1000/s" }} }}
        scheduler.name = "{scheduler}"
        duration = "1s"
        {others}
        [workload.a]
        cpus = [0]
        {treatment}
        steps = [
            {{ compute = "103700us" }}, {{ set = {{ cpus = [0, 1] }} }}, {{ mark = "here" }}, "exec", {{ compute = "50ms" }},
        ]
        "#
    );
    run::<All>(&scenario(&text), 1)
}

/// Whether the first task moves as it executes the program.
fn moves(run: &Run) -> bool {
    let here = run.of(Kind::Mark).next().expect("it comes to its program").time;
    run.of(Kind::Migrated).any(|event| event.task == 0 && event.time == here)
}

fn hogs(cpu: u16, count: u16) -> String {
    format!("workload.b{cpu} = {{ load = \"spin\", passes = \"forever\", cpus = [{cpu}], count = {count} }}\n")
}

#[test]
fn from_a_processor_with_another_task_it_goes_to_an_idle_one_at_once() {
    for scheduler in OLD.into_iter().chain(NEW) {
        assert!(moves(&on_two(scheduler, "", &hogs(0, 1))), "{scheduler}");
    }
}

#[test]
fn it_stays_where_as_much_is_to_do_elsewhere() {
    for scheduler in OLD.into_iter().chain(NEW) {
        assert!(!moves(&on_two(scheduler, "", &(hogs(0, 1) + &hogs(1, 2)))), "{scheduler}");
    }
}

#[test]
fn alone_it_counts_itself_only_in_older_kernels() {
    for scheduler in OLD {
        assert!(moves(&on_two(scheduler, "", "")), "{scheduler}");
    }
    for scheduler in NEW {
        assert!(!moves(&on_two(scheduler, "", "")), "{scheduler}");
    }
}

#[test]
fn real_time_tasks_stay() {
    for scheduler in NEW {
        let run = on_two(scheduler, "policy = \"fifo\"\npriority = 10", &hogs(0, 1));
        assert!(!moves(&run), "{scheduler}");
    }
}

#[test]
fn other_policies_leave_it_where_it_is() {
    for scheduler in OTHERS {
        let run = on_two(scheduler, "", &hogs(0, 1));
        let here = run.of(Kind::Mark).next().expect("it comes to its program").time;
        let moved = run.of(Kind::Migrated).find(|event| event.task == 0 && event.time >= here);
        assert!(moved.is_none_or(|event| event.time > here), "{scheduler}");
    }
}

#[test]
fn nothing_is_lost_where_many_execute_programs() {
    for policy in SCHEDULERS {
        for processors in [1, 3, 4].into_iter().filter(|&processors| policy.allows(processors).is_ok()) {
            let text = format!(
                r#"
                machine = {{ preset = "uniform", processors = {processors}, clock = {{ hz = "100/s" }} }}
                scheduler.name = "{}"
                workload.a = {{ count = 7, passes = 20, steps = [
                    {{ compute = "1ms" }}, "exec", {{ compute = "500us" }}, {{ sleep = "300us" }}, {{ fork = ["exec", {{ compute = "1ms" }}] }}, "wait",
                ] }}
                "#,
                policy.name
            );
            let run = run::<All>(&scenario(&text), 1);
            assert_eq!(run.of(Kind::Exited).count(), 7 * 21, "{} on {processors}", policy.name);
        }
    }
}

#[test]
fn a_task_whose_group_is_out_of_quota_executes_programs_as_others_do() {
    for scheduler in NEW {
        for processors in [2, 3] {
            let text = format!(
                r#"
                machine = {{ preset = "uniform", processors = {processors}, clock = {{ hz = "1000/s" }} }}
                scheduler.name = "{scheduler}"
                duration = "2s"
                groups.g = {{ quota = "3ms", period = "10ms" }}
                workload.a = {{ count = 5, group = "g", passes = "forever", steps = [{{ compute = "130us" }}, "exec"] }}
                workload.b = {{ load = "spin", passes = "forever" }}
                "#
            );
            let share = run::<All>(&scenario(&text), 1).get("tasks.a.share");
            assert!((share * f64::from(processors) - 30.0).abs() < 2.0, "{scheduler} on {processors}: {share} %");
        }
    }
}

/// Both tasks of processor 1 have run for long before they slept, so that they are expected to need more than it has (`util_est`); what one
/// of them leaves behind is less. A hog came to processor 0 a moment ago and has not used much of it yet, but nothing is idle there.
#[test]
fn what_it_is_expected_to_need_itself_does_not_drive_it_away() {
    for scheduler in NEW {
        let text = format!(
            r#"
            machine = {{ preset = "uniform", processors = 2, clock = {{ hz = "1000/s" }} }}
            scheduler.name = "{scheduler}"
            duration = "1s"
            [workload.a]
            cpus = [1]
            steps = [
                {{ compute = "300ms" }}, {{ sleep = "20ms" }}, {{ compute = "60ms" }}, {{ set = {{ cpus = [0, 1] }} }}, {{ mark = "here" }},
                "exec", {{ compute = "50ms" }},
            ]
            [workload.b]
            cpus = [1]
            steps = [{{ compute = "300ms" }}, {{ sleep = "20ms" }}, {{ compute = "10s" }}]
            [workload.c]
            load = "spin"
            passes = "forever"
            cpus = [0]
            start = "710ms"
            "#
        );
        let run = run::<All>(&scenario(&text), 1);
        let here = run.of(Kind::Mark).next().expect("it comes to its program").time / MILLISECOND;
        assert!((711..750).contains(&here), "{scheduler}: {here} ms, of which the hog has had some");
        assert!(!moves(&run), "{scheduler}");
    }
}
