//! Entries are undone in the order in which they were made, whatever clocks say, and forgotten only when the value reads as before.

use crate::tree::{Tree, dead_entry, entry_of, settings};
use proptest::prelude::*;
use schedlab_tune::{AppliedSettings, recover};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

const ELEVATOR: &str = "/sys/block/sda/queue/scheduler";
const KNOB: &str = "/proc/sys/vm/swappiness";

fn change(path: &str, reading: &str, old: &str, expected: &str) -> Value {
    json!({ "kind": "value", "setting": "it", "path": path, "reading": reading, "old": old, "expected": expected,
        "by": null, "follows": null })
}

#[test]
fn a_clock_that_stepped_back_between_two_entries_changes_no_order() {
    let tree = Tree::new();
    tree.put("sys/block/sda/queue/scheduler", "bfq\n");
    dead_entry(&tree, 1, 2_000, &change(ELEVATOR, "chosen", "none [mq-deadline] bfq\n", "none"));
    dead_entry(&tree, 2, 1_000, &change(ELEVATOR, "chosen", "[none] mq-deadline bfq\n", "bfq"));
    let undo = recover(&tree.root(), &tree.journal()).unwrap();
    assert_eq!((undo.back.len(), undo.foreign.len()), (2, 0), "{undo:?}");
    assert_eq!(tree.get("sys/block/sda/queue/scheduler"), "mq-deadline\n");
    assert_eq!(tree.entries(), 0);
}

#[test]
fn numbers_go_on_where_other_processes_have_left_off() {
    let tree = Tree::new();
    fs::create_dir(tree.journal()).unwrap();
    fs::set_permissions(tree.journal(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    // Larger than what this process, which has other tests, has given by now.
    let there: u64 = 1 << 40;
    for file in [format!("99999999-7-{there:08}.json").as_str(), "99999999-7-18446744073709551615.json", "41-x.json"] {
        fs::write(tree.journal().join(file), "{").unwrap();
    }
    let applied = AppliedSettings::apply(&tree.root(), &settings(&[("swappiness", "10")]), &tree.journal()).unwrap();
    let own = format!("{}-", std::process::id());
    let names = fs::read_dir(tree.journal()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let numbers: Vec<u64> = names
        .filter(|name| name.starts_with(&own))
        .map(|name| name.trim_end_matches(".json").rsplit('-').next().unwrap().parse().unwrap())
        .collect();
    assert!(numbers.len() == 1 && (there + 1..1 << 52).contains(&numbers[0]), "{numbers:?}");
    applied.restore().unwrap();
    assert_eq!(tree.get("proc/sys/vm/swappiness"), "60\n");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn a_chain_of_changes_goes_back_to_its_beginning(
        steps in prop::collection::vec((0u32..200, any::<u32>()), 1..8),
        owners in prop::collection::vec(1u32..4, 8),
    ) {
        let tree = Tree::new();
        let mut now = 60;
        for (number, (value, clock)) in steps.iter().enumerate() {
            let entry = change(KNOB, "plain", &format!("{now}\n"), &value.to_string());
            entry_of(&tree, owners[number], number as u64 + 1, u64::from(*clock), &entry);
            now = *value;
        }
        tree.put("proc/sys/vm/swappiness", &format!("{now}\n"));
        let undo = recover(&tree.root(), &tree.journal()).unwrap();
        prop_assert_eq!(tree.get("proc/sys/vm/swappiness"), "60\n");
        prop_assert_eq!((tree.entries(), undo.foreign.len(), undo.failed.len()), (0, 0, 0));
    }
}

/// A file of the kernel that takes a 0 and reads 50000 then: the timer slack of this process.
fn stubborn(tree: &Tree) {
    let slack = format!("/proc/{}/timerslack_ns", std::process::id());
    fs::write(&slack, "10").unwrap();
    let knob = tree.path().join("proc/sys/vm/swappiness");
    fs::remove_file(&knob).unwrap();
    symlink(slack, knob).unwrap();
}

#[test]
fn a_value_that_is_taken_and_reads_otherwise_is_kept_and_named() {
    let tree = Tree::new();
    stubborn(&tree);
    dead_entry(&tree, 1, 0, &change(KNOB, "plain", "60\n", "0"));
    dead_entry(&tree, 2, 0, &change(KNOB, "plain", "0\n", "10"));
    let undo = recover(&tree.root(), &tree.journal()).unwrap();
    assert_eq!((undo.failed.len(), undo.back.len(), undo.foreign.len()), (2, 0, 0), "{undo:?}");
    assert!(undo.failed[0].contains("wrote \"0\" back, and it reads \"50000\""), "{undo:?}");
    assert!(undo.failed[1].contains("what was set after it"), "{undo:?}");
    assert_eq!(tree.entries(), 2);
    let why = undo.succeeded().unwrap_err().to_string();
    assert!(why.contains("the journal keeps it"), "{why}");
    let knob = tree.path().join("proc/sys/vm/swappiness");
    fs::remove_file(&knob).unwrap();
    fs::write(&knob, "10\n").unwrap();
    recover(&tree.root(), &tree.journal()).unwrap().succeeded().unwrap();
    assert_eq!((tree.get("proc/sys/vm/swappiness").as_str(), tree.entries()), ("60\n", 0));
}

#[test]
fn a_value_that_cannot_be_understood_is_not_taken_for_one_that_is_gone() {
    let tree = Tree::new();
    tree.put("sys/block/sda/queue/scheduler", "none mq-deadline bfq\n");
    dead_entry(&tree, 1, 0, &change(ELEVATOR, "chosen", "none [mq-deadline] bfq\n", "none"));
    let undo = recover(&tree.root(), &tree.journal()).unwrap();
    assert!(undo.failed[0].contains("names no value"), "{undo:?}");
    assert_eq!(tree.entries(), 1);
}

#[test]
fn entries_that_are_torn_empty_or_doubled_are_named_and_end_with_a_fault() {
    let tree = Tree::new();
    let whole = dead_entry(&tree, 1, 0, &change(KNOB, "plain", "60\n", "10"));
    tree.put("proc/sys/vm/swappiness", "10\n");
    let text = fs::read(&whole).unwrap();
    fs::write(tree.journal().join("1-2-00000009.json"), &text).unwrap();
    fs::write(tree.journal().join("999999-7-00000010.json"), &text[..text.len() / 2]).unwrap();
    fs::write(tree.journal().join("999999-7-00000011.json"), "").unwrap();
    let undo = recover(&tree.root(), &tree.journal()).unwrap();
    assert_eq!((undo.back.len(), undo.unreadable.len()), (1, 3), "{undo:?}");
    assert_eq!(tree.get("proc/sys/vm/swappiness"), "60\n");
    let why = undo.succeeded().unwrap_err().to_string();
    assert!(why.contains("00000010.json cannot be read: what it held may still be changed"), "{why}");
}
