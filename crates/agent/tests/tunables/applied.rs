//! AppliedSettings settings are in force, are watched, and go back to the byte.

use crate::tree::{Tree, comes, settings};
use schedlab_linux::Root;
use schedlab_tune::{AppliedSettings, RunJournal, marker, recover};

const MANY: &[(&str, &str)] = &[
    ("autogroup", "false"),
    ("base_slice", "3ms"),
    ("cpu_quota@lab", "20ms"),
    ("dirty_expire", "15s"),
    ("memory_limit@lab", "64MiB"),
    ("overcommit", "never"),
    ("read_ahead@sda", "4KiB"),
    ("read_expire@sda", "36ms"),
    ("rr_slice", "36ms"),
    ("swappiness", "10"),
];

#[test]
fn every_value_is_in_force_in_the_unit_of_its_file_and_comes_back_to_the_byte() {
    let tree = Tree::new();
    let before = tree.bytes();
    let applied = AppliedSettings::apply(&tree.root(), &settings(MANY), &tree.journal()).unwrap();
    for (file, text) in [
        ("proc/sys/kernel/sched_autogroup_enabled", "0\n"),
        ("sys/kernel/debug/sched/base_slice_ns", "3000000\n"),
        ("sys/fs/cgroup/unified/lab/cpu.max", "20000\n"),
        ("proc/sys/vm/dirty_expire_centisecs", "1500\n"),
        ("sys/fs/cgroup/memory/lab/memory.limit_in_bytes", "67108864\n"),
        ("proc/sys/vm/overcommit_memory", "2\n"),
        ("sys/block/sda/queue/read_ahead_kb", "4\n"),
        ("sys/block/sda/queue/iosched/read_expire", "36\n"),
        ("proc/sys/kernel/sched_rr_timeslice_ms", "36\n"),
        ("proc/sys/vm/swappiness", "10\n"),
    ] {
        assert_eq!(tree.get(file), text, "{file}");
    }
    assert_eq!(applied.check(), []);
    assert_eq!(tree.entries(), MANY.len());
    let undo = applied.restore().unwrap();
    assert_eq!(undo.back.len(), MANY.len());
    assert_eq!(tree.bytes(), before);
    assert_eq!(tree.entries(), 0);
}

#[test]
fn settings_are_restored_on_drop() {
    let tree = Tree::new();
    let before = tree.bytes();
    drop(AppliedSettings::apply(&tree.root(), &settings(MANY), &tree.journal()).unwrap());
    assert_eq!(tree.bytes(), before);
}

#[test]
fn what_another_process_has_changed_is_noticed_and_left_alone() {
    let tree = Tree::new();
    let given = settings(&[("swappiness", "10"), ("page_cluster", "0")]);
    let applied = AppliedSettings::apply(&tree.root(), &given, &tree.journal()).unwrap();
    tree.put("proc/sys/vm/swappiness", "33\n");
    let [mismatch] = &applied.check()[..] else { panic!("one") };
    assert_eq!(
        (mismatch.setting.as_str(), mismatch.expected.as_str(), mismatch.actual.as_str()),
        ("swappiness", "10", "33")
    );
    let undo = applied.restore().unwrap();
    assert_eq!(undo.foreign[0].actual, "33");
    assert_eq!(tree.get("proc/sys/vm/swappiness"), "33\n");
    assert_eq!(tree.get("proc/sys/vm/page-cluster"), "3\n");
    assert_eq!(tree.entries(), 0);
}

#[test]
fn the_numbers_of_an_elevator_that_goes_are_remembered_and_come_back_with_it() {
    let tree = Tree::new();
    tree.put("sys/block/sda/queue/iosched/read_expire", "123\n");
    let applied =
        AppliedSettings::apply(&tree.root(), &settings(&[("elevator@sda", "none")]), &tree.journal()).unwrap();
    // The kernel makes them anew with the elevator.
    tree.put("sys/block/sda/queue/iosched/read_expire", "500\n");
    tree.put("sys/block/sda/queue/nr_requests", "256\n");
    applied.restore().unwrap();
    assert_eq!(tree.get("sys/block/sda/queue/iosched/read_expire"), "123\n");
    assert_eq!(tree.get("sys/block/sda/queue/nr_requests"), "64\n");
}

#[test]
fn the_numbers_of_an_elevator_are_left_alone_if_another_process_has_chosen_another() {
    let tree = Tree::new();
    let applied =
        AppliedSettings::apply(&tree.root(), &settings(&[("elevator@sda", "none")]), &tree.journal()).unwrap();
    tree.put("sys/block/sda/queue/scheduler", "none mq-deadline [bfq]\n");
    tree.put("sys/block/sda/queue/nr_requests", "256\n");
    let undo = applied.restore().unwrap();
    assert_eq!(undo.foreign[0].actual, "bfq");
    assert_eq!(tree.get("sys/block/sda/queue/nr_requests"), "256\n");
}

#[test]
fn an_elevator_may_be_named_as_in_experiment_files() {
    let tree = Tree::new();
    tree.put("sys/block/sda/queue/scheduler", "[none] mq-deadline bfq\n");
    let _applied =
        AppliedSettings::apply(&tree.root(), &settings(&[("elevator@sda", "mq_deadline")]), &tree.journal()).unwrap();
    assert_eq!(tree.get("sys/block/sda/queue/scheduler"), "mq-deadline\n");
}

#[test]
fn a_run_without_settings_puts_back_what_a_dead_one_has_left_and_says_so() {
    let tree = Tree::new();
    let before = tree.bytes();
    let mut dead = tree.agent("hold", &["swappiness=10", "--no-restorer"]).spawn().unwrap();
    assert!(comes(|| tree.get("proc/sys/vm/swappiness") == "10\n"));
    dead.kill().unwrap();
    dead.wait().unwrap();
    // An entry that was not finished when its owner died.
    tree.put("journal/1-2-00000003.new", "{");
    let applied = AppliedSettings::apply(&tree.root(), &settings(&[]), &tree.journal()).unwrap();
    assert_eq!(applied.recovered().back.len(), 1);
    assert_eq!(tree.bytes(), before);
    assert!(!tree.journal().join("1-2-00000003.new").exists());
}

#[test]
fn a_partner_that_the_kernel_zeroes_is_what_brings_both_back() {
    let tree = Tree::new();
    let applied =
        AppliedSettings::apply(&tree.root(), &settings(&[("dirty_bytes", "64MiB")]), &tree.journal()).unwrap();
    assert_eq!(tree.get("proc/sys/vm/dirty_bytes"), "67108864\n");
    assert_eq!(tree.entries(), 2);
    // No kernel is behind these files to set the other one to 0, so this one is not restored: it must say so.
    let why = applied.restore().unwrap_err().to_string();
    assert!(why.contains("dirty_bytes") && why.contains("journal keeps it"), "{why}");
    assert_eq!(tree.get("proc/sys/vm/dirty_ratio"), "20\n");
    assert_eq!(tree.entries(), 1);
}

#[test]
fn the_runtime_of_real_time_tasks_never_exceeds_their_period_on_the_way() {
    let tree = Tree::new();
    let given = settings(&[("rt_runtime", "10ms"), ("rt_period", "20ms")]);
    let done = tree.agent("apply", &["--dry-run", "rt_runtime=10ms", "rt_period=20ms"]).output().unwrap();
    let commands: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert!(commands["set"][0].as_str().unwrap().contains("rt_runtime"), "{commands}");
    assert!(commands["back"][0].as_str().unwrap().contains("rt_period"), "{commands}");
    let before = tree.bytes();
    drop(AppliedSettings::apply(&tree.root(), &given, &tree.journal()).unwrap());
    assert_eq!(tree.bytes(), before);
}

#[test]
fn what_was_set_before_the_machine_was_started_anew_has_reset_itself_but_folders_are_removed() {
    let tree = Tree::new();
    let (root, journal) = (tree.root(), tree.journal());
    std::mem::forget(AppliedSettings::apply(&root, &settings(&[("swappiness", "10")]), &journal).unwrap());
    let (folder, memory) = RunJournal::open(&Root::default(), &journal).folder(tree.path()).unwrap();
    std::mem::forget(memory);
    // The marker names its owner too.
    for file in journal_files(&journal).into_iter().chain([folder.join(marker::FILE)]) {
        let mut value: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        value["owner"]["boot"] = "an earlier one".into();
        std::fs::write(file, value.to_string()).unwrap();
    }
    let undo = recover(&Root::default(), &journal).unwrap();
    assert!(undo.gone[0].contains("started anew"), "{undo:?}");
    assert_eq!(tree.get("proc/sys/vm/swappiness"), "10\n");
    assert!(!folder.exists());
    assert_eq!(tree.entries(), 0);
}

fn journal_files(journal: &std::path::Path) -> Vec<std::path::PathBuf> {
    let all = std::fs::read_dir(journal).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.extension().is_some_and(|kind| kind == "json")).collect()
}
