//! Agents killed at random moments, one of them or all together, in runs that make everything a run can make. Afterwards one
//! `restore`, and the host is what it was: groups, tracing instances, mounts, loop devices, swap areas, settings, files,
//! processes. Of the journal its lock file is left.
//!
//! `SCHEDLAB_KILLS=500` kills more often, `SCHEDLAB_KILL_SEED=7` at other moments.

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use schedlab_linux::{Root, tracefs::Tracefs};
use schedlab_model::rng::Rng;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

const KILLS: u64 = 64;
const SEED: u64 = 20_261_122;
/// Long enough for a kernel to give up what a killed run has left.
const PATIENCE: Duration = Duration::from_secs(20);
/// The latest moment of a kill: the longest of these runs takes some more.
const LATEST_US: u64 = 700_000;
/// Settings of a disk's queue.
const QUEUE: [&str; 4] = ["scheduler", "nr_requests", "read_ahead_kb", "wbt_lat_usec"];

fn agent() -> Command {
    Command::new(env!("CARGO_BIN_EXE_schedlab-agent"))
}

/// What one run is made of: its volume, its settings, its groups, its tasks.
fn kinds() -> Vec<(&'static str, Value)> {
    let disk = json!({
        "rotation": "15000/min", "cylinders": 800, "heads": 2, "sectors": 50, "interleave": 1, "seek_track": "1ms",
        "seek_full": "5ms", "seek_curve": "root", "overhead": "200us", "command": "0us", "sector_copy": "0us",
    });
    let nested = json!({ "all": { "weight": 262_144 }, "none": { "weight": 2, "parent": "all" },
        "capped": { "quota": "1ms", "period": "100ms" } });
    let small = json!({ "small": { "memory": "16MiB" } });
    let knobs = json!({ "vfs_cache_pressure": "101", "page_cluster": "1" });
    let elevator = json!({ "elevator": "mq-deadline", "writes_starved": "0" });
    vec![
        ("groups, files, a recording", json!({ "groups": nested.clone(), "trace": "auto", "files": true })),
        ("settings, groups, a recording", json!({ "groups": nested, "trace": "auto", "tunables": knobs })),
        ("a memory limit, swap", json!({ "groups": small.clone(), "volume": { "swap": "8MiB" }, "files": true })),
        (
            "a modelled drive, all",
            json!({ "groups": small, "volume": { "disk": disk, "swap": "8MiB" }, "tunables": elevator, "files": true,
                "trace": "auto" }),
        ),
    ]
}

struct Fixture {
    folder: tempfile::TempDir,
}

impl Fixture {
    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn journal(&self) -> PathBuf {
        self.path().join("journal")
    }

    fn scratch(&self) -> PathBuf {
        self.path().join("scratch")
    }

    fn plan(&self, kind: &Value) -> PathBuf {
        let mut workload = json!({ "free": { "load": "spin", "passes": "forever" } });
        for group in kind["groups"].as_object().unwrap().keys() {
            workload[group] = json!({ "load": "spin", "passes": "forever", "group": group });
        }
        if kind["groups"]["small"].is_object() {
            workload["small"] = json!({ "passes": "forever", "group": "small",
                "steps": [{ "touch": { "size": "24MiB", "order": "random", "write": true } }] });
        }
        if kind["files"] == true {
            workload["writer"] = json!({ "passes": "forever", "count": 2, "steps": [
                { "open": { "files": 2, "size": "2MiB" } }, { "seek": "random" }, { "write": "4KiB" }, "close",
                { "fork": [{ "sleep": "100s" }] },
            ] });
        }
        let scenario = json!({ "machine": { "name": "host", "processors": 1 }, "scheduler": { "name": "eevdf" },
            "workload": workload, "groups": kind["groups"], "duration": "250ms" });
        let mut options = json!({ "scratch": self.scratch(), "journal": self.journal(), "at_most": "5s",
            "trace": kind.get("trace").unwrap_or(&json!("off")) });
        if let Some(volume) = kind.get("volume") {
            options["volume"] = volume.clone();
        }
        let calibration = json!({ "rounds_per_second": 6e8, "calls_per_second": 5e6, "spread": 0.0 });
        let tunables = kind.get("tunables").cloned().unwrap_or_else(|| json!({}));
        let plan = json!({ "scenario": scenario, "seed": 1, "calibration": calibration, "tunables": tunables,
            "options": options });
        let path = self.path().join("plan.json");
        fs::write(&path, plan.to_string()).unwrap();
        path
    }

    fn start(&self, kind: &Value) -> Child {
        let (plan, null) = (self.plan(kind), Stdio::null);
        agent().arg("run").arg(plan).stdout(null()).stderr(null()).spawn().unwrap()
    }

    /// One `restore`, which must succeed, and another that must find nothing to do.
    fn restore(&self, what: &str) {
        let restore = || {
            let done = agent().arg("restore").arg("--journal").arg(self.journal()).output().unwrap();
            assert!(done.status.success(), "{what}: {}", String::from_utf8_lossy(&done.stderr));
            serde_json::from_slice::<Value>(&done.stdout).unwrap()
        };
        restore();
        let again = restore();
        for list in ["back", "gone", "foreign", "failed", "stuck", "unreadable", "living"] {
            assert_eq!(again[list], json!([]), "{what}: {list}");
        }
    }

    /// Processes whose arguments name this place, with their arguments.
    fn processes(&self) -> Vec<(i32, String)> {
        let marker = self.path().to_str().unwrap();
        let of = |pid: i32| {
            let bytes = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            Some((pid, String::from_utf8_lossy(&bytes).replace('\0', " ")))
        };
        let all = fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
        all.filter_map(of).filter(|(_, arguments)| arguments.contains(marker)).collect()
    }

    /// The whole state of the host that a run could change.
    fn snapshot(&self) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        for line in text("/proc/self/mountinfo").lines() {
            let words: Vec<&str> = line.split(' ').collect();
            all.insert(format!("mount {} {}", words[4], line.split_once(" - ").unwrap().1));
        }
        for line in text("/proc/mounts").lines().filter(|line| line.split(' ').nth(2).unwrap().starts_with("cgroup")) {
            below(Path::new(line.split(' ').nth(1).unwrap()), true, "group", &mut all);
        }
        all.extend(text("/proc/swaps").lines().skip(1).map(|line| format!("swap {}", line.split(' ').next().unwrap())));
        for disk in fs::read_dir("/sys/block").unwrap().flatten() {
            let path = disk.path().display().to_string();
            all.insert(format!("loop {path} {}", text(&format!("{path}/loop/backing_file"))));
            all.extend(QUEUE.map(|file| format!("queue {path} {file} {}", text(&format!("{path}/queue/{file}")))));
        }
        if let Ok(tracefs) = Tracefs::open(&Root::default()) {
            let instances = fs::read_dir(tracefs.path("instances")).into_iter().flatten().flatten();
            all.extend(instances.map(|entry| format!("instance {}", entry.file_name().display())));
        }
        let tunables = agent().arg("tunables").output().unwrap().stdout;
        for row in serde_json::from_slice::<Vec<Value>>(&tunables).unwrap() {
            all.insert(format!("tunable {} {}", row["name"], row["value"]));
        }
        below(&self.scratch(), false, "file", &mut all);
        below(&self.journal(), false, "file", &mut all);
        all.extend(self.processes().into_iter().map(|(pid, arguments)| format!("process {pid} {arguments}")));
        all
    }
}

/// All that is in a folder, or all folders.
fn below(folder: &Path, folders_only: bool, what: &str, all: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder || !folders_only {
            all.insert(format!("{what} {}", entry.path().display()));
        }
        if is_folder {
            below(&entry.path(), folders_only, what, all);
        }
    }
}

/// What there is now and was not, and what is not there any more; empty once all is as before.
fn difference(fixture: &Fixture, before: &BTreeSet<String>) -> Vec<String> {
    let began = Instant::now();
    loop {
        let now = fixture.snapshot();
        let more = now.difference(before).map(|line| format!("+ {line}"));
        let less = before.difference(&now).map(|line| format!("- {line}"));
        let all: Vec<String> = more.chain(less).collect();
        if all.is_empty() || began.elapsed() > PATIENCE {
            return all;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The killed processes.
const VICTIMS: [&[&str]; 6] = [
    &["outer"],
    &["inner"],
    &["restorer"],
    &["outer", "inner"],
    &["restorer", "outer"],
    &["outer", "inner", "restorer", "slow-disk"],
];

/// The numbers of the victims that there are now.
fn victims(fixture: &Fixture, outer: i32, whom: &[&str]) -> Vec<i32> {
    let children = fs::read_to_string(format!("/proc/{outer}/task/{outer}/children")).unwrap_or_default();
    let children: Vec<i32> = children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
    let processes = fixture.processes();
    let is = |pid: i32, arguments: &str, who: &str| match who {
        "outer" => pid == outer,
        "inner" => children.contains(&pid) && arguments.contains("plan.json"),
        helper => arguments.contains(&format!(" {helper} ")),
    };
    let all = whom.iter().flat_map(|who| processes.iter().filter(move |(pid, arguments)| is(*pid, arguments, who)));
    all.map(|(pid, _)| *pid).collect()
}

#[test]
fn one_restore_undoes_a_run_whichever_process_is_killed_at_any_time() {
    let needed = ["/dev/loop-control", "/dev/fuse", "/sbin/mkfs.ext4"];
    let missing = needed.into_iter().find(|path| !Path::new(path).exists());
    if !nix::unistd::geteuid().is_root() || missing.is_some() {
        eprintln!("skipped: needs root and {}", missing.unwrap_or("loop devices"));
        return;
    }
    let number = |name: &str, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let mut rng = Rng::stream(number("SCHEDLAB_KILL_SEED", SEED), 1);
    let fixture = Fixture { folder: tempfile::tempdir().unwrap() };
    fs::create_dir(fixture.scratch()).unwrap();
    fixture.restore("before");
    // The lock file is made by the first that needs it, and stays.
    fs::create_dir_all(fixture.journal()).unwrap();
    fs::write(fixture.journal().join("lock"), "").unwrap();
    fs::set_permissions(fixture.journal(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let (before, kinds) = (fixture.snapshot(), kinds());
    let (mut hit, mut made) = (0, 0);
    for round in 0..number("SCHEDLAB_KILLS", KILLS) {
        let (name, kind) = &kinds[(round % kinds.len() as u64) as usize];
        let whom = VICTIMS[rng.below(VICTIMS.len() as u64) as usize];
        let delay = rng.below(LATEST_US);
        let what = format!("round {round}: {name}; killed after {delay} us: {}", whom.join(", "));
        let mut run = fixture.start(kind);
        std::thread::sleep(Duration::from_micros(delay));
        made += u32::from(fs::read_dir(fixture.journal()).unwrap().count() > 1);
        for pid in victims(&fixture, run.id() as i32, whom) {
            hit += u32::from(kill(Pid::from_raw(pid), Signal::SIGKILL).is_ok());
        }
        run.wait().unwrap();
        fixture.restore(&what);
        assert_eq!(difference(&fixture, &before), Vec::<String>::new(), "{what}");
    }
    println!("{hit} processes killed; something was journalled at {made} of the moments");
    assert!(made > 0, "no kill fell where there was something to undo");
}
