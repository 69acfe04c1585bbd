//! On this kernel, with settings that disturb no other process; skipped, with the reason, where the host does not permit them.

use crate::tree::{Tree, agent, settings};
use schedlab_linux::Root;
use schedlab_tune::AppliedSettings;
use std::fs;
use std::path::Path;
use std::process::Command;

const CLUSTER: &str = "/proc/sys/vm/page-cluster";

/// Whether this user may change it; says so if not.
fn permitted(path: &str) -> bool {
    let may = nix::unistd::geteuid().is_root() && nix::unistd::access(path, nix::unistd::AccessFlags::W_OK).is_ok();
    if !may {
        eprintln!("skipped: {path} cannot be written here");
    }
    may
}

#[test]
fn a_real_setting_is_in_force_while_it_is_held_and_comes_back_to_the_byte() {
    if !permitted(CLUSTER) {
        return;
    }
    let before = fs::read(CLUSTER).unwrap();
    let other = if before == b"2\n" { "1" } else { "2" };
    let journal = tempfile::tempdir().unwrap();
    let applied =
        AppliedSettings::apply(&Root::default(), &settings(&[("page_cluster", other)]), journal.path()).unwrap();
    assert_eq!(fs::read_to_string(CLUSTER).unwrap().trim(), other);
    assert_eq!(applied.check(), []);
    applied.restore().unwrap();
    assert_eq!(fs::read(CLUSTER).unwrap(), before);
}

#[test]
fn a_partner_that_the_kernel_zeroes_comes_back_with_it() {
    const FILES: [&str; 2] = ["/proc/sys/vm/overcommit_ratio", "/proc/sys/vm/overcommit_kbytes"];
    // They act only under a policy that hosts seldom have; this one is left out then.
    if !permitted(FILES[0]) || fs::read_to_string("/proc/sys/vm/overcommit_memory").unwrap().trim() == "2" {
        return;
    }
    let read = || FILES.map(|f| fs::read_to_string(f).unwrap());
    let before = read();
    let journal = tempfile::tempdir().unwrap();
    for (name, value) in [("overcommit_size", "1GiB"), ("overcommit_ratio", "37")] {
        let applied = AppliedSettings::apply(&Root::default(), &settings(&[(name, value)]), journal.path()).unwrap();
        assert_ne!(read(), before);
        assert_eq!(applied.check(), []);
        applied.restore().unwrap();
        assert_eq!(read(), before);
    }
}

/// A loop device of our own, detached at the end.
struct Loop {
    name: String,
    _file: tempfile::NamedTempFile,
}

impl Loop {
    fn new() -> Option<Loop> {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        let done = Command::new("losetup").args(["-f", "--show"]).arg(file.path()).output().ok()?;
        let device = String::from_utf8(done.stdout).ok().filter(|_| done.status.success())?;
        Some(Loop { name: device.trim().strip_prefix("/dev/")?.to_owned(), _file: file })
    }

    fn queue(&self, name: &str) -> String {
        fs::read_to_string(Path::new("/sys/block").join(&self.name).join("queue").join(name)).unwrap()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &format!("/dev/{}", self.name)]).status();
    }
}

#[test]
fn a_real_elevator_with_its_numbers_and_the_depth_of_its_device_come_back() {
    let Some(device) = Loop::new().filter(|d| d.queue("scheduler").contains("mq-deadline")) else {
        eprintln!("skipped: no loop device with an elevator here");
        return;
    };
    let state = || (device.queue("scheduler"), device.queue("nr_requests"));
    let before = state();
    let journal = tempfile::tempdir().unwrap();
    let hold = |given: &[(&str, &str)]| {
        let given = given.iter().map(|(n, v)| (format!("{n}@{}", device.name), (*v).to_owned())).collect();
        AppliedSettings::apply(&Root::default(), &given, journal.path()).unwrap()
    };
    // The elevator's own numbers, the depth below it, and then another elevator on top with numbers of its own.
    let outer = hold(&[("elevator", "mq-deadline"), ("depth", "4"), ("writes_starved", "16"), ("read_expire", "36ms")]);
    assert!(device.queue("scheduler").contains("[mq-deadline]"));
    assert_eq!(
        (device.queue("iosched/writes_starved"), device.queue("iosched/read_expire")),
        ("16\n".into(), "36\n".into())
    );
    assert_eq!(outer.check(), []);
    drop(outer);
    assert_eq!(state(), before);
    let scheduler = format!("/sys/block/{}/queue/scheduler", device.name);
    fs::write(&scheduler, "mq-deadline").unwrap();
    fs::write(format!("/sys/block/{}/queue/iosched/fifo_batch", device.name), "7").unwrap();
    drop(hold(&[("elevator", "none"), ("depth", "8")]));
    assert_eq!(device.queue("iosched/fifo_batch"), "7\n");
    fs::write(&scheduler, "none").unwrap();
    assert_eq!(state(), before);
}

/// A file system so small that it can be filled.
struct Tiny(tempfile::TempDir);

impl Tiny {
    fn new() -> Option<Tiny> {
        let folder = tempfile::tempdir().unwrap();
        let done =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs"]).arg(folder.path()).output();
        done.ok().filter(|d| d.status.success()).map(|_| Tiny(folder))
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_refuses_before_anything_is_touched() {
    let Some(tiny) = Tiny::new() else {
        eprintln!("skipped: a file system cannot be mounted here");
        return;
    };
    let tree = Tree::new();
    let before = tree.bytes();
    let _ = fs::write(tiny.0.path().join("filler"), vec![0; 1 << 20]);
    let given = settings(&[("swappiness", "10"), ("page_cluster", "0")]);
    let why = AppliedSettings::apply(&tree.root(), &given, &tiny.0.path().join("journal")).unwrap_err().to_string();
    assert!(why.contains("No space left"), "{why}");
    assert_eq!(tree.bytes(), before);
}

#[test]
fn a_disk_that_fills_up_on_the_way_takes_back_what_was_set() {
    let Some(tiny) = Tiny::new() else {
        eprintln!("skipped: a file system cannot be mounted here");
        return;
    };
    let tree = Tree::new();
    let before = tree.bytes();
    let journal = tiny.0.path().join("journal");
    drop(AppliedSettings::apply(&tree.root(), &settings(&[("swappiness", "10")]), &journal).unwrap());
    // Room for one entry or two, of four.
    let _ = fs::write(tiny.0.path().join("filler"), vec![0; (64 << 10) - 3 * 4096]);
    let given = settings(&[("swappiness", "10"), ("page_cluster", "0"), ("rr_slice", "36ms"), ("autogroup", "false")]);
    let why = AppliedSettings::apply(&tree.root(), &given, &journal).unwrap_err().to_string();
    assert!(why.contains("No space left"), "{why}");
    assert_eq!(tree.bytes(), before);
}

#[test]
fn every_tunable_of_this_kernel_can_be_listed_and_reads_within_its_range() {
    let done = agent("tunables", &[]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let rows: Vec<serde_json::Value> = serde_json::from_slice(&done.stdout).unwrap();
    let swappiness = rows.iter().find(|r| r["name"] == "swappiness").unwrap();
    assert!(swappiness["value"].as_str().unwrap().parse::<u32>().unwrap() <= 200);
    assert!(
        rows.iter().all(|r| !r["meaning"].as_str().unwrap().is_empty() && !r["allowed"].as_str().unwrap().is_empty())
    );
}
