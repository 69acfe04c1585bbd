//! A tree of files as a kernel has them, and a journal next to it.

use schedlab_linux::Root;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Files of a kernel 6.12 with one disk.
const FILES: &[(&str, &str)] = &[
    ("proc/sys/vm/swappiness", "60\n"),
    ("proc/sys/vm/page-cluster", "3\n"),
    ("proc/sys/vm/dirty_ratio", "20\n"),
    ("proc/sys/vm/dirty_bytes", "0\n"),
    ("proc/sys/vm/dirty_expire_centisecs", "3000\n"),
    ("proc/sys/vm/overcommit_memory", "0\n"),
    ("proc/sys/kernel/sched_rr_timeslice_ms", "100\n"),
    ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
    ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
    ("proc/sys/kernel/sched_autogroup_enabled", "1\n"),
    ("sys/kernel/debug/sched/base_slice_ns", "2800000\n"),
    ("sys/kernel/debug/sched/features", "PLACE_LAG WAKEUP_PREEMPTION NO_HRTICK\n"),
    ("sys/block/sda/queue/scheduler", "none [mq-deadline] bfq\n"),
    ("sys/block/sda/queue/read_ahead_kb", "128\n"),
    ("sys/block/sda/queue/nr_requests", "64\n"),
    ("sys/block/sda/queue/iosched/read_expire", "500\n"),
    ("sys/block/sda/queue/iosched/writes_starved", "2\n"),
    (
        "proc/mounts",
        "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n",
    ),
    ("sys/fs/cgroup/memory/lab/memory.limit_in_bytes", "9223372036854771712\n"),
    ("sys/fs/cgroup/unified/lab/cpu.max", "max 100000\n"),
];

/// The tree.
pub struct Tree {
    folder: tempfile::TempDir,
}

impl Tree {
    /// A fresh one.
    pub fn new() -> Tree {
        let tree = Tree { folder: tempfile::tempdir().unwrap() };
        for (name, text) in FILES {
            tree.put(name, text);
        }
        tree
    }

    pub fn root(&self) -> Root {
        Root::at(self.folder.path())
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn journal(&self) -> PathBuf {
        self.folder.path().join("journal")
    }

    pub fn put(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn get(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    /// Every file of the kernel with its bytes.
    pub fn bytes(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.folder.path().join("proc"), self.folder.path().join("sys")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                } else {
                    files.insert(entry.path(), fs::read(entry.path()).unwrap());
                }
            }
        }
        files
    }

    /// What the journal holds.
    pub fn entries(&self) -> usize {
        let Ok(entries) = fs::read_dir(self.journal()) else { return 0 };
        entries.flatten().filter(|e| e.path().extension().is_some_and(|x| x == "json")).count()
    }

    /// The agent at work on this tree.
    pub fn agent(&self, verb: &str, arguments: &[&str]) -> Command {
        let mut command = agent(verb, arguments);
        command.arg("--root").arg(self.path()).arg("--journal").arg(self.journal());
        command
    }
}

/// The agent.
pub fn agent(verb: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_schedlab-agent"));
    command.arg(verb).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Settings as people write them.
pub fn settings(given: &[(&str, &str)]) -> BTreeMap<String, String> {
    given.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()
}

/// Waits for something that another process does; false if it does not come.
pub fn comes(mut done: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while !done() {
        if began.elapsed() > Duration::from_secs(30) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}

/// An entry of a process that is dead, as earlier versions wrote it too: with the wall clock. Gives its file.
pub fn dead_entry(tree: &Tree, sequence: u64, unix_ns: u64, object: &serde_json::Value) -> PathBuf {
    entry_of(tree, 7, sequence, unix_ns, object)
}

/// The same of one of several.
pub fn entry_of(tree: &Tree, start: u32, sequence: u64, unix_ns: u64, object: &serde_json::Value) -> PathBuf {
    fs::create_dir_all(tree.journal()).unwrap();
    fs::set_permissions(tree.journal(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    // No process is called so: the kernel gives no larger number than 4194304.
    let pid = 99_999_999;
    let owner = serde_json::json!({ "boot": boot.trim(), "pid": pid, "start": start });
    let entry = serde_json::json!({ "owner": owner, "sequence": sequence, "unix_ns": unix_ns, "thing": object });
    let path = tree.journal().join(format!("{pid}-{start}-{sequence:08}.json"));
    fs::write(&path, entry.to_string()).unwrap();
    path
}
