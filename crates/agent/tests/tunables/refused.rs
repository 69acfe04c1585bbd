//! What cannot be done is refused before anything is touched, and says what could be.

use crate::tree::{Tree, comes, settings};
use schedlab_tune::{AppliedSettings, recover};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};

#[test]
fn a_wrong_setting_is_refused_with_nothing_touched_and_what_is_allowed_said() {
    let tree = Tree::new();
    let before = tree.bytes();
    for (name, value, says) in [
        ("swappiness", "300", "from 0 to 200"),
        ("rr_slice", "36", "ms"),
        ("dirty_expire", "15ms", "10ms"),
        ("elevator@sda", "kyber", "none, mq-deadline, bfq"),
        ("elevator@sdb", "none", "this host has sda"),
        ("elevator@../sda", "none", "no block device"),
        ("memory_limit@../..", "64MiB", "no group"),
        ("memory_limit", "64MiB", "memory_limit@GROUP"),
        ("slice_idle@sda", "1ms", "elevator@sda=bfq"),
        ("quantum@sda", "4", "cfq went with 4.20"),
        ("latency", "6ms", "EEVDF"),
        ("slice", "3ms", "each task"),
        ("run_to_parity", "false", "does not have it"),
        ("thp", "never", "transparent_hugepage"),
        ("rt_runtime", "2s", "cannot be longer than its period"),
        ("swapiness", "1", "no such tunable"),
        ("swappiness@sda", "1", "whole host"),
    ] {
        // The first of both would be written if it were not for the second.
        let given = settings(&[("page_cluster", "0"), (name, value)]);
        let why = AppliedSettings::apply(&tree.root(), &given, &tree.journal()).unwrap_err().to_string();
        assert!(why.contains(says), "{name}: {why}");
        assert_eq!(tree.bytes(), before, "{name}");
        assert_eq!(tree.entries(), 0, "{name}");
    }
}

#[test]
fn settings_that_exclude_each_other_are_refused() {
    let tree = Tree::new();
    for given in [
        settings(&[("dirty_bytes", "64MiB"), ("dirty_ratio", "10")]),
        settings(&[("base_slice", "3ms"), ("min_granularity", "2ms")]),
        settings(&[("writes_starved@sda", "1"), ("elevator@sda", "bfq")]),
    ] {
        assert!(AppliedSettings::apply(&tree.root(), &given, &tree.journal()).is_err(), "{given:?}");
    }
}

#[test]
fn a_name_of_older_kernels_sets_its_successor() {
    let tree = Tree::new();
    let _held =
        AppliedSettings::apply(&tree.root(), &settings(&[("min_granularity", "2ms")]), &tree.journal()).unwrap();
    assert_eq!(tree.get("sys/kernel/debug/sched/base_slice_ns"), "2000000\n");
}

#[test]
fn a_file_that_cannot_be_written_is_distinguished_from_a_missing_one() {
    let tree = Tree::new();
    let file = tree.path().join("proc/sys/vm/swappiness");
    fs::set_permissions(&file, PermissionsExt::from_mode(0o444)).unwrap();
    let refusal = |name, value| {
        AppliedSettings::apply(&tree.root(), &settings(&[(name, value)]), &tree.journal()).unwrap_err().to_string()
    };
    assert!(refusal("swappiness", "10").contains("cannot be written"));
    assert!(refusal("zone_reclaim", "0").contains("does not have it"));
}

#[test]
fn two_runs_do_not_hold_the_same_setting() {
    let tree = Tree::new();
    let mut first = tree.agent("hold", &["swappiness=10"]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(first.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let second = tree.agent("hold", &["swappiness=20"]).output().unwrap();
    let why = String::from_utf8(second.stderr).unwrap();
    assert!(why.contains("is held by process"), "{why}");
    assert_eq!(tree.get("proc/sys/vm/swappiness"), "10\n");
    // Another setting is another matter, and what the living one holds is left alone.
    let third = tree.agent("hold", &["page_cluster=0"]).output().unwrap();
    assert!(third.status.success());
    assert_eq!(recover(&tree.root(), &tree.journal()).unwrap().living.len(), 1);
    assert_eq!(tree.get("proc/sys/vm/swappiness"), "10\n");
    drop(first.stdin.take());
    first.wait().unwrap();
    assert!(comes(|| tree.entries() == 0));
    assert_eq!(tree.get("proc/sys/vm/swappiness"), "60\n");
}

#[test]
fn what_runs_share_is_put_back_by_the_last_and_held_by_no_other() {
    let tree = Tree::new();
    tree.put("proc/sys/kernel/task_delayacct", "0\n");
    let reads = || tree.get("proc/sys/kernel/task_delayacct");
    let share =
        |value| AppliedSettings::share(&tree.root(), &settings(&[("delay_accounting", value)]), &tree.journal());
    let (first, second) = (share("true").unwrap(), share("true").unwrap());
    assert_eq!((reads().as_str(), tree.entries()), ("1\n", 2));
    // Another value, and one that may be kept: what shares it would be put back by the others.
    let hold = |value| tree.agent("hold", &[&format!("delay_accounting={value}")]).output().unwrap();
    for refused in ["true", "false"] {
        let why = String::from_utf8(hold(refused).stderr).unwrap();
        assert!(why.contains("is held by process"), "{refused}: {why}");
    }
    assert!(share("false").unwrap_err().to_string().contains("is held by process"));
    let undone = first.restore().unwrap();
    assert!(undone.gone[0].ends_with("another run uses it"), "{undone:?}");
    assert_eq!((reads().as_str(), tree.entries()), ("1\n", 1));
    second.restore().unwrap();
    assert_eq!((reads().as_str(), tree.entries()), ("0\n", 0));
    // What is held alone is shared with no other.
    let held =
        AppliedSettings::apply(&tree.root(), &settings(&[("delay_accounting", "true")]), &tree.journal()).unwrap();
    assert!(share("true").unwrap_err().to_string().contains("is held by process"));
    held.restore().unwrap();
    assert_eq!(reads(), "0\n");
}

#[test]
fn the_journal_stays_when_a_value_cannot_be_written_back_and_serves_later() {
    // A file of the kernel that no user can write, not even root.
    const CLOSED: &str = "/proc/sys/kernel/cap_last_cap";
    let tree = Tree::new();
    let value = fs::read_to_string(CLOSED).unwrap();
    let setting = format!("swappiness={}", value.trim());
    let mut agent = tree.agent("hold", &[&setting, "page_cluster=0"]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(agent.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let file = tree.path().join("proc/sys/vm/swappiness");
    fs::remove_file(&file).unwrap();
    symlink(CLOSED, &file).unwrap();
    let ended = agent.wait_with_output().unwrap();
    let why = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(2));
    assert!(why.contains("swappiness") && why.contains("journal keeps it"), "{why}");
    assert_eq!(tree.get("proc/sys/vm/page-cluster"), "3\n");
    let again = tree.agent("restore", &[]).output().unwrap();
    assert_eq!((again.status.code(), tree.entries()), (Some(2), 1));
    fs::remove_file(&file).unwrap();
    fs::write(&file, value).unwrap();
    assert!(tree.agent("restore", &[]).output().unwrap().status.success());
    assert_eq!(tree.get("proc/sys/vm/swappiness"), "60\n");
    assert_eq!(tree.entries(), 0);
}

#[test]
fn a_journal_that_others_may_write_is_refused() {
    let tree = Tree::new();
    fs::create_dir(tree.journal()).unwrap();
    fs::set_permissions(tree.journal(), PermissionsExt::from_mode(0o777)).unwrap();
    let why = AppliedSettings::apply(&tree.root(), &settings(&[("swappiness", "10")]), &tree.journal())
        .unwrap_err()
        .to_string();
    assert!(why.contains("only this user may write"), "{why}");
    assert_eq!(tree.get("proc/sys/vm/swappiness"), "60\n");
}

#[test]
fn files_that_are_no_entries_are_named_and_harm_nothing() {
    let tree = Tree::new();
    drop(AppliedSettings::apply(&tree.root(), &settings(&[("swappiness", "10")]), &tree.journal()).unwrap());
    for (name, text) in [("1-2-00000001.json", "{"), ("x.json", "null"), ("y.json", "[[[[")] {
        fs::write(tree.journal().join(name), text).unwrap();
    }
    fs::create_dir(tree.journal().join("z.json")).unwrap();
    symlink("/dev/zero", tree.journal().join("zero.json")).unwrap();
    let undo = recover(&tree.root(), &tree.journal()).unwrap();
    assert_eq!((undo.unreadable.len(), undo.back.len(), undo.failed.len()), (5, 0, 0), "{undo:?}");
}
