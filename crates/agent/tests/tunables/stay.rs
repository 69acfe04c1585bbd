//! Profiles that are put in place are taken back whole: a list of all files, before and after, is the same.

use crate::tree::{Tree, agent, comes};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Output;

const PROFILE: &str = "name = 'web'\nabout = 'measured'\n[tunables]\nswappiness = 10\n'writes_starved@sda' = 4\n\
                       'read_ahead@sda' = '256KiB'\nbase_slice = '5ms'\n";
/// More steps than an install takes.
const MOST: u32 = 300;

/// A host with the folders of a system.
fn host() -> Tree {
    let tree = Tree::new();
    for folder in ["etc/sysctl.d", "etc/systemd/system", "var/lib"] {
        fs::create_dir_all(tree.path().join(folder)).unwrap();
    }
    tree
}

fn journal(tree: &Tree) -> PathBuf {
    tree.path().join("var/lib/schedlab/journal")
}

/// Runs the agent on that host, with a profile on its standard input.
fn ask(tree: &Tree, verb: &str, arguments: &[&str], profile: &str) -> Output {
    let mut command = agent(verb, arguments);
    command.arg("--root").arg(tree.path());
    if verb != "profile" {
        command.arg("--journal").arg(journal(tree));
    }
    let mut child = command.spawn().unwrap();
    let given = json!({ "text": profile, "called": "web.toml" }).to_string();
    // One that is refused before may not read it.
    let _ = child.stdin.take().unwrap().write_all(given.as_bytes());
    child.wait_with_output().unwrap()
}

fn answer(done: &Output) -> Value {
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice(&done.stdout).unwrap()
}

fn refusal(done: &Output) -> String {
    assert_eq!(done.status.code(), Some(2));
    String::from_utf8_lossy(&done.stderr).into_owned()
}

/// Every file, folder and link below, with what it holds.
fn everything(tree: &Tree) -> BTreeMap<PathBuf, String> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![tree.path().to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let held = if kind.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display())
            } else if kind.is_dir() {
                folders.push(path.clone());
                "folder".to_owned()
            } else {
                fs::read_to_string(&path).unwrap()
            };
            found.insert(path, held);
        }
    }
    found
}

#[test]
fn what_is_installed_is_in_force_at_boot_and_now_and_uninstalling_leaves_nothing() {
    let tree = host();
    let before = everything(&tree);
    let done = answer(&ask(&tree, "install", &[], PROFILE));
    assert_eq!(done["complete"], true);
    assert_eq!(tree.get("proc/sys/vm/swappiness"), "10\n");
    assert_eq!(tree.get("sys/kernel/debug/sched/base_slice_ns"), "5000000\n");
    assert!(tree.get("etc/sysctl.d/90-schedlab-web.conf").ends_with("\nvm.swappiness = 10\n"));
    let rules = tree.get("etc/udev/rules.d/90-schedlab-web.rules");
    assert!(rules.contains("KERNEL==\"sda\", ATTR{queue/iosched/writes_starved}=\"4\"\n"), "{rules}");
    assert!(rules.contains("ATTR{queue/read_ahead_kb}=\"256\"\n"), "{rules}");
    let unit = tree.get("etc/systemd/system/schedlab-web.service");
    assert!(unit.contains("ExecStart=/bin/sh -c \"echo 5000000 > /sys/kernel/debug/sched/base_slice_ns\"\n"), "{unit}");
    let link = tree.path().join("etc/systemd/system/multi-user.target.wants/schedlab-web.service");
    assert_eq!(fs::read_link(link).unwrap(), Path::new("../schedlab-web.service"));
    let back = answer(&ask(&tree, "uninstall", &["web"], ""));
    assert_eq!(back["complete"], true);
    assert!(back["undone"]["foreign"].as_array().unwrap().is_empty());
    assert_eq!(everything(&tree), before);
}

#[test]
fn a_crash_at_any_step_of_an_install_is_taken_back() {
    let tree = host();
    let before = everything(&tree);
    for steps in 0..MOST {
        let done = ask(&tree, "install", &["--stop-after", &steps.to_string()], PROFILE);
        if done.status.success() {
            assert!(steps > 20, "it ended after {steps} steps");
            return;
        }
        assert_eq!(done.status.code(), None, "{}", String::from_utf8_lossy(&done.stderr));
        // The restorer puts the settings back, unless the old values are the manifest's already.
        let journal = journal(&tree);
        let is_empty =
            || !fs::read_dir(&journal).is_ok_and(|mut all| all.any(|e| e.unwrap().path().extension().is_some()));
        assert!(comes(is_empty), "step {steps}");
        if tree.path().join("var/lib/schedlab/profiles/web.json").exists() {
            assert!(
                refusal(&ask(&tree, "install", &[], PROFILE)).contains("schedlab host uninstall web"),
                "step {steps}"
            );
            assert_eq!(answer(&ask(&tree, "uninstall", &["web"], ""))["complete"], true, "step {steps}");
        }
        ask(&tree, "uninstall", &["web"], "");
        assert!(!tree.path().join("var/lib/schedlab/profiles").exists(), "step {steps}");
        let _ = fs::remove_dir_all(tree.path().join("var/lib/schedlab"));
        assert_eq!(everything(&tree), before, "step {steps}");
    }
    panic!("it never came to its end");
}

#[test]
fn what_another_hand_has_changed_is_left_alone_and_named() {
    let tree = host();
    answer(&ask(&tree, "install", &[], PROFILE));
    tree.put("etc/sysctl.d/90-schedlab-web.conf", "vm.swappiness = 99\n");
    tree.put("proc/sys/vm/swappiness", "33\n");
    let back = answer(&ask(&tree, "uninstall", &["web"], ""));
    assert_eq!(back["changed"], json!(["/etc/sysctl.d/90-schedlab-web.conf"]));
    assert_eq!(back["undone"]["foreign"][0]["actual"], "33");
    assert_eq!(back["complete"], false);
    assert_eq!(tree.get("proc/sys/vm/swappiness"), "33\n");
    assert!(!tree.path().join("etc/udev").exists());
    // What is left is known, and can be had away.
    let rest = answer(&ask(&tree, "uninstall", &["web", "--force"], ""));
    assert_eq!(rest["removed"], json!(["/etc/sysctl.d/90-schedlab-web.conf"]));
    assert!(!tree.path().join("var/lib/schedlab").exists());
    assert!(refusal(&ask(&tree, "uninstall", &["web"], "")).contains("no profile of that name is installed"));
}

#[test]
fn nothing_is_overwritten_and_no_setting_has_two_masters() {
    let tree = host();
    tree.put("etc/sysctl.d/90-schedlab-web.conf", "mine\n");
    let before = everything(&tree);
    assert!(refusal(&ask(&tree, "install", &[], PROFILE)).contains("90-schedlab-web.conf: it is there"));
    assert_eq!(everything(&tree), before);
    fs::remove_file(tree.path().join("etc/sysctl.d/90-schedlab-web.conf")).unwrap();
    answer(&ask(&tree, "install", &[], PROFILE));
    assert!(refusal(&ask(&tree, "install", &[], PROFILE)).contains("is installed"));
    let other = "name = 'other'\n[tunables]\nswappiness = 20\n";
    assert!(refusal(&ask(&tree, "install", &[], other)).contains("swappiness: the profile \"web\""));
    let third = "name = 'third'\n[tunables]\npage_cluster = 0\n";
    answer(&ask(&tree, "install", &[], third));
    answer(&ask(&tree, "uninstall", &["third"], ""));
    answer(&ask(&tree, "uninstall", &["web"], ""));
}

#[test]
fn tuned_gets_a_profile_and_finds_the_old_values() {
    let tree = host();
    let before = everything(&tree);
    let done = answer(&ask(&tree, "install", &["--as", "tuned"], PROFILE));
    assert_eq!(done["commands"], json!(["tuned-adm profile schedlab-web"]));
    let text = tree.get("etc/tuned/schedlab-web/tuned.conf");
    assert!(text.contains("[main]\nsummary=measured\n\n[sysctl]\nvm.swappiness=10\n\n[sysfs]\n"), "{text}");
    assert_eq!(tree.get("proc/sys/vm/swappiness"), "60\n");
    answer(&ask(&tree, "uninstall", &["web"], ""));
    assert_eq!(everything(&tree), before);
    let depth = "name = 'd'\n[tunables]\n'depth@sda' = 4\n'elevator@sda' = 'bfq'\n";
    assert!(refusal(&ask(&tree, "install", &["--as", "tuned"], depth)).contains("TuneD cannot"));
}

#[test]
fn departures_are_named_and_those_that_cannot_be_read_too() {
    let tree = host();
    let profile =
        "name = 'w'\n[tunables]\nswappiness = 10\npage_cluster = 3\n'low_latency@sda' = false\nrr_slice = '36ms'\n";
    let found = answer(&ask(&tree, "departures", &[], profile));
    let of = |name: &str| {
        let all = found["settings"].as_array().unwrap();
        let one = all.iter().find(|one| one["setting"] == name).unwrap();
        (one["standing"].as_str().unwrap().to_owned(), one["wanted"].clone(), one["now"].clone())
    };
    assert_eq!(of("swappiness"), ("differs".to_owned(), json!("10"), json!("60")));
    assert_eq!(of("page_cluster"), ("same".to_owned(), json!("3"), json!("3")));
    assert_eq!(of("low_latency@sda"), ("missing".to_owned(), json!("false"), json!(null)));
    assert_eq!(of("rr_slice"), ("differs".to_owned(), json!("36ms"), json!("100ms")));
}

#[test]
fn a_profile_is_made_of_given_and_of_present_values() {
    let tree = host();
    let made = answer(&ask(&tree, "profile", &["web", "swappiness=10", "page_cluster", "elevator@sda"], ""));
    let wanted = json!({ "swappiness": "10", "page_cluster": "3", "elevator@sda": "mq-deadline" });
    assert_eq!(made["profile"]["tunables"], wanted);
    let again = answer(&ask(&tree, "departures", &[], made["text"].as_str().unwrap()));
    assert_eq!(again["profile"], made["profile"]);
    assert!(refusal(&ask(&tree, "profile", &["web", "swappiness=300"], "")).contains("from 0 to 200"));
    assert!(refusal(&ask(&tree, "profile", &["Web", "swappiness"], "")).contains("name = \"Web\""));
    assert!(refusal(&ask(&tree, "profile", &["web", "nonsense"], "")).contains("no such tunable"));
}
