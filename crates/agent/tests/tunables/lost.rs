//! What becomes of settings when the journal is lost: the process that holds them puts them back by what it remembers, and claims
//! nothing about a journal that is not there.

use crate::tree::{Tree, comes};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command};

/// A small file system of its own for the journal; none where it cannot be mounted.
struct Disk(tempfile::TempDir);

impl Disk {
    fn new(test: &str) -> Option<Disk> {
        let folder = tempfile::tempdir().unwrap();
        let options = "size=256k,mode=700";
        let done = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(folder.path()).output();
        if !done.is_ok_and(|done| done.status.success()) {
            eprintln!("{test} skipped: a file system cannot be mounted here");
            return None;
        }
        Some(Disk(folder))
    }

    fn journal(&self) -> PathBuf {
        self.0.path().join("journal")
    }

    fn remount(&self, how: &str) {
        let done = Command::new("mount").args(["-o", &format!("remount,{how}")]).arg(self.0.path()).status().unwrap();
        assert!(done.success());
    }

    fn entries(&self) -> usize {
        let Ok(all) = fs::read_dir(self.journal()) else { return 0 };
        all.flatten().filter(|e| e.path().extension().is_some_and(|x| x == "json")).count()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

/// The agent with this tree and that disk's journal.
fn agent(tree: &Tree, disk: &Disk, verb: &str, arguments: &[&str]) -> Command {
    let mut command = crate::tree::agent(verb, arguments);
    command.arg("--root").arg(tree.path()).arg("--journal").arg(disk.journal());
    command
}

fn hold(tree: &Tree, disk: &Disk) -> Child {
    let mut agent = agent(tree, disk, "hold", &["swappiness=10", "elevator@sda=bfq"]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(agent.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(tree.get("proc/sys/vm/swappiness"), "10\n");
    agent
}

fn apply(tree: &Tree, disk: &Disk) -> i32 {
    let done = agent(tree, disk, "apply", &["swappiness=10", "--confirm-within", "600ms"]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(tree.get("proc/sys/vm/swappiness"), "10\n");
    let begun: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    begun["pid"].as_i64().unwrap() as i32
}

/// Each way to lose a journal.
const WAYS: [&str; 5] = ["removed", "read-only", "truncated", "full", "another folder"];

fn lose(disk: &Disk, way: &str) {
    let files = || fs::read_dir(disk.journal()).unwrap().map(|e| e.unwrap().path());
    match way {
        "removed" => fs::remove_dir_all(disk.journal()).unwrap(),
        "read-only" => disk.remount("ro"),
        "truncated" => files().for_each(|file| fs::write(file, "").unwrap()),
        "full" => drop(fs::write(disk.0.path().join("filler"), vec![0; 1 << 20])),
        _ => {
            fs::remove_dir_all(disk.journal()).unwrap();
            fs::write(disk.journal(), "a file in its place").unwrap();
        }
    }
}

#[test]
fn a_trial_whose_journal_is_lost_goes_back_in_time() {
    for way in WAYS {
        let Some(disk) = Disk::new("a_trial_whose_journal_is_lost_goes_back_in_time") else { return };
        let tree = Tree::new();
        let before = tree.bytes();
        let pid = apply(&tree, &disk);
        lose(&disk, way);
        assert!(comes(|| tree.bytes() == before), "{way}");
        assert!(comes(|| !std::path::Path::new(&format!("/proc/{pid}")).exists()), "{way}: it goes");
        disk.remount("rw");
    }
}

#[test]
fn a_trial_is_ended_and_not_confirmed_where_nothing_can_be_written() {
    let Some(disk) = Disk::new("a_trial_is_ended_and_not_confirmed_where_nothing_can_be_written") else { return };
    let tree = Tree::new();
    let before = tree.bytes();
    let done = agent(&tree, &disk, "apply", &["swappiness=10", "--confirm-within", "60s"]).output().unwrap();
    assert!(done.status.success());
    disk.remount("ro");
    let confirm = agent(&tree, &disk, "confirm", &[]).output().unwrap();
    let why = String::from_utf8(confirm.stderr).unwrap();
    assert!(!confirm.status.success() && why.contains("Read-only file system"), "{why}");
    agent(&tree, &disk, "restore", &[]).output().unwrap();
    assert_eq!(tree.bytes(), before);
    disk.remount("rw");
    let restore = agent(&tree, &disk, "restore", &[]).output().unwrap();
    assert!(restore.status.success(), "{}", String::from_utf8_lossy(&restore.stderr));
    assert_eq!((disk.entries(), tree.bytes()), (0, before));
}

#[test]
fn a_trial_that_gets_a_signal_is_undone() {
    let Some(disk) = Disk::new("a_trial_that_gets_a_signal_is_undone") else { return };
    let tree = Tree::new();
    let before = tree.bytes();
    let pid = apply(&tree, &disk);
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM).unwrap();
    assert!(comes(|| tree.bytes() == before && disk.entries() == 0));
}

#[test]
fn held_settings_go_back_without_a_journal_and_what_is_said_is_so() {
    for way in WAYS {
        let Some(disk) = Disk::new("held_settings_go_back_without_a_journal_and_what_is_said_is_so") else { return };
        let tree = Tree::new();
        let before = tree.bytes();
        let agent = hold(&tree, &disk);
        lose(&disk, way);
        let ended = agent.wait_with_output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        // The elevator's word is in brackets no more, as in every tree of files.
        tree.put("sys/block/sda/queue/scheduler", "none [mq-deadline] bfq\n");
        assert_eq!(tree.bytes(), before, "{way}: {said}");
        assert!(!said.contains("the journal keeps it"), "{way}: {said}");
        if way == "read-only" {
            assert!(
                said.contains("it is done, and its entry stays") && said.contains("make the journal writable"),
                "{said}"
            );
        }
        disk.remount("rw");
    }
}

#[test]
fn where_nothing_keeps_a_value_it_is_said_how_it_was() {
    let Some(disk) = Disk::new("where_nothing_keeps_a_value_it_is_said_how_it_was") else { return };
    let tree = Tree::new();
    let agent = hold(&tree, &disk);
    fs::remove_dir_all(disk.journal()).unwrap();
    let knob = tree.path().join("proc/sys/vm/swappiness");
    fs::remove_file(&knob).unwrap();
    fs::create_dir(&knob).unwrap();
    let ended = agent.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(2));
    assert!(said.contains("no journal keeps it") && said.contains("before, it read \"60\""), "{said}");
}

#[test]
fn a_killed_holder_of_a_journal_that_is_read_only_is_made_good_by_its_restorer() {
    let Some(disk) = Disk::new("a_killed_holder_of_a_journal_that_is_read_only_is_made_good_by_its_restorer") else {
        return;
    };
    let tree = Tree::new();
    let before = tree.bytes();
    let pid = apply(&tree, &disk);
    disk.remount("ro");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL).unwrap();
    assert!(comes(|| tree.bytes() == before));
    disk.remount("rw");
}
