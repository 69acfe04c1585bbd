//! Killed at any step, everything is restored: immediately by the restorer, or else by the next process that opens the journal.

use crate::tree::{Tree, comes};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

const SETTINGS: &[&str] = &["swappiness=10", "page_cluster=0", "rr_slice=36ms", "read_expire@sda=36ms"];
/// More steps than these settings take: the last ones run to their end.
const MOST: u32 = 200;

/// Runs the agent for a number of steps. Returns whether it was killed by then.
fn killed(tree: &Tree, steps: u32, more: &[&str]) -> bool {
    let count = steps.to_string();
    let arguments = [SETTINGS, &["--stop-after", &count], more].concat();
    let done = tree.agent("hold", &arguments).stdin(Stdio::null()).output().unwrap();
    assert!(done.status.code().is_none_or(|code| code == 0), "{}", String::from_utf8_lossy(&done.stderr));
    !done.status.success()
}

#[test]
fn killed_at_every_step_without_a_restorer_the_next_start_restores_identical_bytes() {
    let tree = Tree::new();
    let before = tree.bytes();
    let mut changed = 0;
    for steps in 0..MOST {
        if !killed(&tree, steps, &["--no-restorer"]) {
            // Each setting: three around its entry, two around its write, two where the entry is completed, two around the
            // write back.
            assert_eq!(steps as usize, 9 * SETTINGS.len());
            assert!(changed > 20, "the kernel's files were changed at {changed} steps only");
            return;
        }
        changed += u32::from(tree.bytes() != before);
        let done = tree.agent("restore", &[]).output().unwrap();
        assert!(done.status.success(), "step {steps}: {}", String::from_utf8_lossy(&done.stderr));
        assert_eq!(tree.bytes(), before, "step {steps}");
        assert_eq!(tree.entries(), 0, "step {steps}");
    }
    panic!("it never came to its end");
}

#[test]
fn killed_at_any_step_the_restorer_restores_identical_bytes_by_itself() {
    let tree = Tree::new();
    let before = tree.bytes();
    for steps in (0..MOST).step_by(5) {
        if !killed(&tree, steps, &[]) {
            return;
        }
        assert!(comes(|| tree.bytes() == before && tree.entries() == 0), "step {steps}");
    }
    panic!("it never came to its end");
}

#[test]
fn killed_from_outside_the_restorer_restores_and_goes() {
    let tree = Tree::new();
    let before = tree.bytes();
    let mut agent = tree.agent("hold", SETTINGS).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(agent.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_ne!(tree.bytes(), before);
    agent.kill().unwrap();
    assert!(comes(|| tree.bytes() == before && tree.entries() == 0));
    agent.wait().unwrap();
    let journal = tree.journal();
    let lives = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let commands = processes.filter_map(|p| std::fs::read_to_string(p.path().join("cmdline")).ok());
        commands.into_iter().any(|c| c.contains("restorer") && c.contains(journal.to_str().unwrap()))
    };
    assert!(comes(|| !lives()), "the restorer goes when its work is done");
}

#[test]
fn a_setting_that_is_not_confirmed_goes_back_and_one_that_is_stays() {
    let tree = Tree::new();
    let before = tree.bytes();
    let ask = |verb: &str, arguments: &[&str]| tree.agent(verb, arguments).output().unwrap();
    assert!(ask("apply", &["swappiness=10", "--confirm-within", "200ms"]).status.success());
    assert!(comes(|| tree.bytes() == before && tree.entries() == 0));
    assert!(!ask("confirm", &[]).status.success(), "nothing waits");
    assert!(ask("apply", &["swappiness=10"]).status.success());
    assert_ne!(tree.bytes(), before);
    assert!(ask("restore", &[]).status.success());
    assert_eq!(tree.bytes(), before, "restore ends a trial");
    assert!(ask("apply", &["swappiness=10"]).status.success());
    assert!(ask("confirm", &[]).status.success());
    assert!(ask("restore", &[]).status.success());
    assert_eq!(tree.get("proc/sys/vm/swappiness"), "10\n");
    assert_eq!(tree.entries(), 0);
}

#[test]
fn a_trial_that_is_killed_goes_back() {
    let tree = Tree::new();
    let before = tree.bytes();
    let done = tree.agent("apply", &["swappiness=10"]).output().unwrap();
    let begun: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let pid = nix::unistd::Pid::from_raw(begun["pid"].as_i64().unwrap() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    assert!(comes(|| tree.bytes() == before && tree.entries() == 0));
}

#[test]
fn a_dry_run_touches_nothing_and_prints_both_ways() {
    let tree = Tree::new();
    let before = tree.bytes();
    let done = tree.agent("apply", &["--dry-run", "swappiness=10", "elevator@sda=bfq"]).output().unwrap();
    let commands: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(
        commands["set"],
        serde_json::json!(["echo bfq > /sys/block/sda/queue/scheduler", "echo 10 > /proc/sys/vm/swappiness"])
    );
    let back: Vec<_> = commands["back"].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
    assert_eq!(back[..2], ["echo 60 > /proc/sys/vm/swappiness", "echo mq-deadline > /sys/block/sda/queue/scheduler"]);
    assert!(back.contains(&"echo 500 > /sys/block/sda/queue/iosched/read_expire"));
    assert_eq!(tree.bytes(), before);
    assert!(!tree.journal().exists());
}
