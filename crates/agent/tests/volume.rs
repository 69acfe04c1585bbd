//! Volumes on the kernel at hand: made, used, and wholly gone however the run ends. What is asserted are ratios.

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use schedlab_model::{machine::Disk, rng::Rng};
use schedlab_play::volume::drive::Drive;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// There are few loop devices, and runs disturb each other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
/// Long enough for a kernel to give up what a killed run has left.
const PATIENCE: Duration = Duration::from_secs(15);

/// Of a loop device that was never attached.
const READ_AHEAD_KB: &str = "128";

struct Fixture {
    folder: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

/// The fixture; None, with the reason printed, where the host lacks what it needs.
fn fixture(test: &str) -> Option<Fixture> {
    let needed = ["/dev/loop-control", "/dev/fuse", "/sbin/mkfs.ext4"];
    let missing = needed.into_iter().find(|path| !Path::new(path).exists());
    if !nix::unistd::geteuid().is_root() || missing.is_some() {
        eprintln!("{test} skipped: needs root and {}", missing.unwrap_or("loop devices"));
        return None;
    }
    let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // Those that were attached since the start of the machine by less careful programs have another one.
    free_loop_devices().for_each(|queue| fs::write(queue.join("read_ahead_kb"), READ_AHEAD_KB).unwrap());
    Some(Fixture { folder: tempfile::tempdir().unwrap(), _turn: turn })
}

/// The queues of the loop devices that show no file.
fn free_loop_devices() -> impl Iterator<Item = PathBuf> {
    let all = fs::read_dir("/sys/block").unwrap().flatten().map(|device| device.path());
    let free = all.filter(|path| path.file_name().is_some_and(|name| name.to_str().unwrap().starts_with("loop")));
    free.filter(|path| !path.join("loop").exists()).map(|path| path.join("queue"))
}

/// A drive of 40 MiB, in the middle of its random requests some 5 ms.
fn disk() -> Value {
    json!({
        "rotation": "15000/min", "cylinders": 800, "heads": 2, "sectors": 50, "interleave": 1, "seek_track": "1ms",
        "seek_full": "5ms", "seek_curve": "root", "overhead": "200us", "command": "0us", "sector_copy": "0us",
    })
}

/// Work that has a volume's files open all the time.
fn lively() -> Value {
    let of = |step: &str, name: &str| {
        json!({ "count": 8, "passes": "forever", "steps": [
            { "open": { "files": 1, "size": "8MiB", "direct": true, "name": name } },
            { "repeat": { "times": "forever", "steps": [{ "seek": "random" }, { step: "4KiB" }] } },
        ] })
    };
    let swapped = json!({ "passes": "forever", "group": "small",
        "steps": [{ "touch": { "size": "24MiB", "order": "random", "write": true } }] });
    json!({ "readers": of("read", "read"), "writers": of("write", "written"), "swapped": swapped })
}

impl Fixture {
    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn plan(&self, volume: Value, workload: Value, rest: Value) -> PathBuf {
        let mut scenario = json!({
            "machine": { "name": "host", "processors": 1 }, "scheduler": { "name": "eevdf" }, "workload": workload,
        });
        let tunables = rest["tunables"].clone();
        for (field, value) in rest.as_object().unwrap().iter().filter(|(field, _)| *field != "tunables") {
            scenario[field] = value.clone();
        }
        let plan = json!({
            "scenario": scenario, "seed": 1, "tunables": if tunables.is_null() { json!({}) } else { tunables },
            "calibration": { "rounds_per_second": 6e8, "calls_per_second": 5e6, "spread": 0.0 },
            "options": { "scratch": self.path(), "journal": self.path().join("journal"), "at_most": "30s", "trace": "off",
                "volume": volume },
        });
        let path = self.path().join("plan.json");
        fs::write(&path, plan.to_string()).unwrap();
        path
    }

    fn start(&self, plan: &Path) -> Child {
        let mut agent = Command::new(env!("CARGO_BIN_EXE_schedlab-agent"));
        agent.arg("run").arg(plan).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs to the end; the rows by metric, or what was said.
    fn run(&self, volume: Value, workload: Value, rest: Value) -> Result<Value, String> {
        let done = self.start(&self.plan(volume, workload, rest)).wait_with_output().unwrap();
        self.assert_all_gone();
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).into_owned());
        }
        let said: Value = serde_json::from_slice(&done.stdout).unwrap();
        let rows = said["rows"].as_array().unwrap().iter();
        Ok(rows.map(|row| (row["metric"].as_str().unwrap().to_owned(), row["value"].clone())).collect())
    }

    /// What is left of a volume here.
    fn left(&self) -> Vec<String> {
        let marker = self.path().to_str().unwrap();
        let lines = |file: &str| -> Vec<String> {
            let text = fs::read_to_string(file).unwrap_or_default();
            text.lines().filter(|line| line.contains(marker)).map(str::to_owned).collect()
        };
        let mut left = [lines("/proc/mounts"), lines("/proc/swaps")].concat();
        let named = |file: &Path| fs::read_to_string(file).is_ok_and(|text| text.replace('\0', " ").contains(marker));
        for device in fs::read_dir("/sys/block").unwrap().flatten() {
            let file = device.path().join("loop/backing_file");
            left.extend(named(&file).then(|| file.display().to_string()));
        }
        left.extend(free_loop_devices().filter_map(|queue| {
            let now = fs::read_to_string(queue.join("read_ahead_kb")).unwrap();
            (now.trim() != READ_AHEAD_KB).then(|| format!("{} read_ahead_kb {}", queue.display(), now.trim()))
        }));
        for process in fs::read_dir("/proc").unwrap().flatten() {
            let file = process.path().join("cmdline");
            left.extend(named(&file).then(|| format!("process {}", file.display())));
        }
        let journal = self.path().join("journal");
        let mut files: Vec<PathBuf> = fs::read_dir(self.path()).unwrap().map(|file| file.unwrap().path()).collect();
        files.extend(fs::read_dir(&journal).into_iter().flatten().map(|file| file.unwrap().path()));
        let expected = [self.path().join("plan.json"), journal.join("lock"), journal];
        left.extend(files.into_iter().filter(|file| !expected.contains(file)).map(|file| file.display().to_string()));
        left
    }

    fn assert_all_gone(&self) {
        let began = Instant::now();
        while !self.left().is_empty() && began.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(self.left(), Vec::<String>::new());
    }
}

fn number(rows: &Value, metric: &str) -> f64 {
    rows[metric].as_f64().unwrap_or_else(|| panic!("no {metric} in {rows:#}"))
}

/// Runs everything that a volume can have, and stops it in the midst by a signal to the outer or inner process.
fn stopped_by(fixture: &Fixture, signal: Signal, inner: bool) -> ExitStatus {
    let rest = json!({
        "groups": { "small": { "memory": "16MiB" } }, "tunables": { "elevator": "mq-deadline", "writes_starved": "0" },
    });
    let plan = fixture.plan(json!({ "disk": disk(), "swap": "8MiB" }), lively(), rest);
    let mut run = fixture.start(&plan);
    let outer = run.id() as i32;
    let began = Instant::now();
    let swaps = || fs::read_to_string("/proc/swaps").unwrap().contains(fixture.path().to_str().unwrap());
    while !swaps() && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(swaps(), "{:?}", run.try_wait());
    std::thread::sleep(Duration::from_millis(400));
    let children = fs::read_to_string(format!("/proc/{outer}/task/{outer}/children")).unwrap();
    let victim = if inner { children.split_whitespace().next().unwrap().parse().unwrap() } else { outer };
    kill(Pid::from_raw(victim), signal).unwrap();
    let status = run.wait().unwrap();
    fixture.assert_all_gone();
    status
}

#[test]
fn a_run_that_gets_a_signal_removes_its_volume() {
    let Some(fixture) = fixture("a_run_that_gets_a_signal_removes_its_volume") else { return };
    assert_eq!(stopped_by(&fixture, Signal::SIGTERM, false).code(), Some(130));
}

#[test]
fn a_killed_agent_leaves_no_volume() {
    let Some(fixture) = fixture("a_killed_agent_leaves_no_volume") else { return };
    assert_eq!(stopped_by(&fixture, Signal::SIGKILL, false).code(), None);
}

#[test]
fn a_killed_inner_process_leaves_no_volume() {
    let Some(fixture) = fixture("a_killed_inner_process_leaves_no_volume") else { return };
    assert_eq!(stopped_by(&fixture, Signal::SIGKILL, true).code(), Some(2));
}

#[test]
fn a_setting_that_is_refused_takes_the_volume_down() {
    let Some(fixture) = fixture("a_setting_that_is_refused_takes_the_volume_down") else { return };
    let settings = json!({ "tunables": { "elevator": "kyber", "writes_starved": "2" }, "duration": "1s" });
    let said = fixture.run(json!({ "disk": disk() }), lively(), settings).unwrap_err();
    assert!(said.contains("mq-deadline"), "{said}");
}

#[test]
fn files_that_are_too_many_for_a_disk_are_refused_before_anything_is_made() {
    let Some(fixture) = fixture("files_that_are_too_many_for_a_disk_are_refused_before_anything_is_made") else {
        return;
    };
    let load = json!({ "reader": { "load": "stream", "size": "100MiB" } });
    let said = fixture.run(json!({ "disk": disk() }), load, json!({})).unwrap_err();
    assert!(said.contains("the volume: it has 39 MiB"), "{said}");
}

#[test]
fn what_is_read_again_comes_from_the_cache_and_the_first_time_does_not() {
    let Some(fixture) = fixture("what_is_read_again_comes_from_the_cache_and_the_first_time_does_not") else { return };
    let read = json!([{ "open": { "files": 3, "size": "4MiB" } }, { "repeat": { "times": 4, "steps": [
        { "read": "4MiB" }, { "seek": "start" },
    ] } }, "close"]);
    let rows = fixture.run(json!({}), json!({ "reader": { "steps": read, "passes": 3 } }), json!({})).unwrap();
    assert!((number(&rows, "rcache") - 75.0).abs() < 1.0, "{rows:#}");
    assert!((number(&rows, "page_in") / (12.0 * 1024.0) - 1.0).abs() < 0.02, "{rows:#}");
}

#[test]
fn a_random_read_takes_what_the_description_says() {
    let Some(fixture) = fixture("a_random_read_takes_what_the_description_says") else { return };
    let read =
        json!([{ "open": { "files": 1, "size": "32MiB", "direct": true } }, { "seek": "random" }, { "read": "4KiB" }]);
    let load = json!({ "reader": { "steps": read, "passes": 300 } });
    let rows = fixture.run(json!({ "disk": disk() }), load, json!({})).unwrap();
    let description: Disk = serde_json::from_value(disk()).unwrap();
    let (mut drive, mut rng) = (Drive::new(&description), Rng::stream(1, 1));
    let mut wanted: Vec<u64> = (0..300).map(|_| drive.serve(rng.below(32 << 8) << 12, 4096)).collect();
    wanted.sort_unstable();
    let ratio = number(&rows, "tasks.reader.pass_time.p50") * 1e9 / wanted[150] as f64;
    assert!((0.8..1.2).contains(&ratio), "{ratio}: {rows:#}");
}

#[test]
fn an_elevator_has_something_to_sort() {
    let Some(fixture) = fixture("an_elevator_has_something_to_sort") else { return };
    let reads_per_write = |starved: &str| {
        let tunables = json!({ "elevator": "mq-deadline", "writes_starved": starved });
        let settings = json!({ "duration": "2s", "tunables": tunables });
        let rows = fixture.run(json!({ "disk": disk() }), lively_files(), settings).unwrap();
        number(&rows, "page_in") / number(&rows, "page_out").max(1.0)
    };
    let (writes_first, reads_first) = (reads_per_write("0"), reads_per_write("16"));
    assert!(reads_first > 4.0 * writes_first, "{reads_first} {writes_first}");
}

/// Those of the lively tasks that use files.
fn lively_files() -> Value {
    let mut all = lively();
    all.as_object_mut().unwrap().remove("swapped");
    all
}
