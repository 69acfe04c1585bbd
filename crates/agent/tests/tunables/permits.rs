//! What a host permits follows from its files, for any kernel.

use crate::tree::Tree;
use schedlab_tune::{
    Undo, check,
    check::{Answer, Line},
};
use std::time::Duration;

fn lines(tree: &Tree) -> Vec<Line> {
    check::check(&tree.root(), Duration::from_millis(1), &Undo::default())
}

fn line(tree: &Tree, what: &str) -> Line {
    lines(tree).into_iter().find(|l| l.what == what).unwrap_or_else(|| panic!("no line about {what}"))
}

#[test]
fn each_file_changes_its_answer() {
    for (what, file, good, bad) in [
        ("nice across sessions", "proc/sys/kernel/sched_autogroup_enabled", "0\n", "1\n"),
        ("no lockdown", "sys/kernel/security/lockdown", "[none] integrity\n", "none [integrity]\n"),
        ("slices below a tick", "sys/kernel/debug/sched/features", "PLACE_LAG HRTICK\n", "PLACE_LAG NO_HRTICK\n"),
        ("delay accounting", "proc/sys/kernel/task_delayacct", "1\n", "0\n"),
        ("clock", "sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n", "hpet\n"),
        ("processors of their own (SMT)", "sys/devices/system/cpu/smt/active", "0\n", "1\n"),
        ("steady frequency", "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n", "powersave\n"),
        ("no load", "proc/loadavg", "0.10 0.2 0.3 1/99 5\n", "7.10 0.2 0.3 1/99 5\n"),
        ("a host of its own", "proc/1/cgroup", "0::/init.scope\n", "0::/docker/1234\n"),
    ] {
        let tree = Tree::new();
        tree.put(file, good);
        assert_eq!(line(&tree, what).answer, Answer::Yes, "{what}");
        tree.put(file, bad);
        let found = line(&tree, what);
        assert_eq!(found.answer, Answer::Limited, "{what}");
        assert!(found.advice.is_some(), "{what}");
    }
}

#[test]
fn what_is_not_there_is_a_no_that_says_what_to_do() {
    let tree = Tree::new();
    for what in ["pressure (PSI)", "delay accounting", "scheduler statistics", "recording the scheduler's events"] {
        let found = line(&tree, what);
        assert_eq!(found.answer, Answer::No, "{what}");
        assert!(found.advice.is_some(), "{what}");
    }
}

#[test]
fn files_full_of_rubbish_are_survived() {
    let tree = Tree::new();
    for file in ["proc/stat", "proc/loadavg", "proc/mounts", "proc/sys/kernel/sched_rt_runtime_us", "proc/cpuinfo"] {
        for text in [
            "",
            "cpu",
            "cpu 99999999999999999999999",
            "\u{0}\u{0}",
            "cgroup",
            "cpu  1 2 3 4 5 6 7 18446744073709551615",
        ] {
            tree.put(file, text);
            assert!(lines(&tree).len() > 20);
        }
    }
}

#[test]
fn what_could_not_be_put_back_is_a_no() {
    let tree = Tree::new();
    let undone = Undo { failed: vec!["swappiness: no".to_owned()], ..Undo::default() };
    let lines = check::check(&tree.root(), Duration::from_millis(1), &undone);
    assert_eq!(lines.last().unwrap().answer, Answer::No);
}
