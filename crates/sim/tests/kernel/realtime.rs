//! Real-time tasks under eevdf and cfs: SCHED_FIFO and SCHED_RR, and what keeps them from starving the others.

use schedlab_model::{MILLISECOND, SECOND, event::Kind};
use schedlab_policies::schedulers::All;
use schedlab_testing::schedulers::{
    Run,
    figures::{Table, hog, latencies, mean, measure, quantile, run_lengths, s10, share},
};

const BOTH: [&str; 2] = ["name = \"eevdf\"", "name = \"cfs\""];

fn fifo(name: &str, priority: u8, more: &str) -> String {
    hog(name, &format!("policy = \"fifo\", priority = {priority}, {more}"))
}

fn rr(name: &str, priority: u8, more: &str) -> String {
    hog(name, &format!("policy = \"rr\", priority = {priority}, {more}"))
}

/// Without any limit to real-time tasks.
fn unlimited(scheduler: &str) -> String {
    format!("{scheduler}, rt_throttling = \"off\"")
}

/// Pieces in which a task had the processor, and the time of the first, ms.
fn pieces(run: &Run, task: u32) -> (Vec<f64>, f64) {
    (run_lengths(run, task), run.first(Kind::SwitchIn, task) as f64 / MILLISECOND as f64)
}

#[test]
fn two_rr_hogs_take_turns_of_100_ms() {
    for scheduler in BOTH {
        let run = measure::<All>(1, &unlimited(scheduler), 5, &rr("a", 10, "count = 2"), 1);
        assert!(run_lengths(&run, 0).iter().all(|turn| (turn - 100.0).abs() < 1e-6), "{:?}", run_lengths(&run, 0));
        assert!((share(&run, 0) - 50.0).abs() < 2.1, "{}", share(&run, 0));
        let shorter = format!("{}, rr_timeslice = \"18ms\"", unlimited(scheduler));
        let run = measure::<All>(1, &shorter, 5, &rr("a", 10, "count = 2"), 1);
        assert!(run_lengths(&run, 0).iter().all(|turn| (turn - 20.0).abs() < 1e-6), "{:?}", run_lengths(&run, 0));
    }
}

#[test]
fn a_fifo_hog_is_not_preempted_by_its_priority() {
    for scheduler in BOTH {
        let run = measure::<All>(1, &unlimited(scheduler), 5, &fifo("a", 10, "count = 2"), 1);
        assert_eq!((share(&run, 0), run.order()), (100.0, vec![0]));
    }
}

#[test]
fn a_greater_priority_preempts_immediately_and_the_preempted_task_stays_at_the_head() {
    for scheduler in BOTH {
        let jobs = fifo("a", 10, "count = 2")
            + "workload.b = { policy = \"fifo\", priority = 11, start = \"1s\", steps = [{ compute = \"10ms\" }] }\n";
        let run = measure::<All>(1, &unlimited(scheduler), 3, &jobs, 1);
        assert_eq!(run.order(), [0, 2, 0]);
        assert_eq!(run.first(Kind::SwitchIn, 2), SECOND);
    }
}

#[test]
fn a_task_that_yields_goes_behind_those_of_its_priority() {
    for scheduler in BOTH {
        let jobs = "workload.a = { count = 3, policy = \"fifo\", priority = 5, steps = [{ compute = \"1ms\" }, \
                    \"yield\", { compute = \"1ms\" }] }\n";
        let run = measure::<All>(1, &unlimited(scheduler), 1, jobs, 1);
        assert_eq!(run.order(), [0, 1, 2, 0, 1, 2]);
    }
}

/// The table of 1990, on Linux: a job that waits often joins the tail of its list behind one that never waits.
#[test]
fn an_rr_sleeper_waits_for_the_slices_of_its_equals_and_for_no_task_below() {
    let mut table = Table::default();
    for scheduler in BOTH {
        for (slice, turn) in [(100, 100.0), (50, 52.0), (36, 36.0), (18, 20.0), (4, 4.0)] {
            let scheduler = format!("{}, rr_timeslice = \"{slice}ms\"", unlimited(scheduler));
            for (priority, expected) in [(10, turn), (11, 0.0)] {
                let jobs = rr("a", 10, "") + &s10("b", &format!("policy = \"rr\", priority = {priority}"));
                let all = latencies(&measure::<All>(1, &scheduler, 60, &jobs, 1), 1);
                // Of its turn the hog has had what the other slept, 7 to 11 ms, and of a tick up to the whole.
                let least = f64::max(expected - 13.0, 0.0);
                let (middle, half) = ((least + expected) / 2.0, (expected - least) / 2.0);
                table.row(&format!("{slice} ms, priority {priority}"), middle, half + 1e-6, mean(&all));
            }
        }
    }
    table.check();
}

#[test]
fn real_time_tasks_do_not_wait_for_fair_ones() {
    for scheduler in BOTH {
        let jobs = hog("a", "count = 4, nice = -20") + &s10("b", "policy = \"fifo\", priority = 1");
        let run = measure::<All>(1, scheduler, 20, &jobs, 1);
        assert_eq!(quantile(&latencies(&run, 4), 1.0), 0.0);
    }
}

#[test]
fn under_group_throttling_real_time_tasks_have_95_percent_of_each_second() {
    let mut table = Table::default();
    for scheduler in BOTH {
        let scheduler = format!("{scheduler}, rt_throttling = \"group\"");
        let run = measure::<All>(1, &scheduler, 100, &(fifo("a", 10, "") + &hog("b", "")), 1);
        table.row(&format!("{scheduler}: real time"), 95.0, 0.1, share(&run, 0));
        let (windows, first) = pieces(&run, 1);
        table.row(&format!("{scheduler}: first window"), 950.0, 4.0, first);
        table.row(&format!("{scheduler}: windows"), 98.0, 1.0, windows.len() as f64);
        windows.iter().for_each(|length| table.row("a window", 50.0, 4.1, *length));
        pieces(&run, 0).0.iter().for_each(|length| table.row("real time", 950.0, 4.1, *length));
        // Alone on the machine, it is throttled all the same.
        let run = measure::<All>(1, &scheduler, 100, &fifo("a", 10, ""), 1);
        table.row(&format!("{scheduler}: alone"), 95.0, 0.1, share(&run, 0));
    }
    table.check();
}

#[test]
fn a_fair_server_gives_a_starving_task_50_ms_of_each_second() {
    let mut table = Table::default();
    for scheduler in BOTH {
        let scheduler = format!("{scheduler}, rt_throttling = \"fair_server\"");
        let run = measure::<All>(1, &scheduler, 100, &(fifo("a", 10, "") + &hog("b", "")), 1);
        table.row(&format!("{scheduler}: real time"), 95.0, 0.1, share(&run, 0));
        let (windows, first) = pieces(&run, 1);
        table.row(&format!("{scheduler}: first window"), 950.0, 1.0, first);
        windows.iter().for_each(|length| table.row("a window", 50.0, 4.1, *length));
        // Alone on the machine, it is never throttled.
        let run = measure::<All>(1, &scheduler, 10, &fifo("a", 10, ""), 1);
        table.row(&format!("{scheduler}: alone"), 100.0, 1e-9, share(&run, 0));
        // A real-time task that leaves a tenth starves no task, and is never throttled.
        let jobs = hog("a", "")
            + "workload.b = { policy = \"fifo\", priority = 1, passes = \"forever\", \
                   steps = [{ compute = \"90ms\" }, { sleep = \"10ms\" }] }\n";
        let run = measure::<All>(1, &scheduler, 20, &jobs, 1);
        table.row(&format!("{scheduler}: waits"), 0.0, 1e-9, quantile(&latencies(&run, 1), 1.0));
    }
    table.check();
}

#[test]
fn without_throttling_a_fifo_hog_starves_the_others() {
    for scheduler in BOTH {
        let run = measure::<All>(1, &unlimited(scheduler), 10, &(fifo("a", 10, "") + &hog("b", "")), 1);
        assert_eq!(share(&run, 0), 100.0);
    }
}

#[test]
fn on_two_processors_the_two_greatest_priorities_run() {
    for scheduler in BOTH {
        let jobs = fifo("a", 10, "") + &fifo("b", 20, "") + &fifo("c", 30, "") + &hog("d", "count = 2");
        let run = measure::<All>(2, &unlimited(scheduler), 5, &jobs, 1);
        assert!(share(&run, 0) < 0.1 && share(&run, 1) > 99.8 && share(&run, 2) > 99.8);
        // The two waiting tasks of equal priority are pulled to processors that run a lower one.
        let jobs = fifo("a", 10, "cpus = [0]") + &fifo("b", 10, "start = \"1s\"") + &hog("d", "count = 2");
        let run = measure::<All>(2, &unlimited(scheduler), 5, &jobs, 1);
        assert!(share(&run, 0) > 99.0 && share(&run, 1) > 79.0, "{} {}", share(&run, 0), share(&run, 1));
    }
}
