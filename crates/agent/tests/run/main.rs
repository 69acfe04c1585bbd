//! Real runs on the kernel at hand. What is asserted are ratios and identities: no test expects a length of time.

mod attention;
mod changes;
mod faults;
mod pools;
mod protocols;
mod steps;
mod treatment;
mod waits;

use serde_json::{Value, json};
use std::{
    fs,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Long enough for whatever is asynchronous in a kernel.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// Runs disturb each other, so there is one at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A folder for a run, and the lock that serialises runs.
pub(crate) struct Fixture {
    folder: tempfile::TempDir,
    /// Control groups that were there before: left by others, whose agents were killed with everything that restores.
    strangers: Vec<PathBuf>,
    _turn: MutexGuard<'static, ()>,
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Seen(Value);

impl Seen {
    /// The value of a metric; it must be there.
    pub(crate) fn get(&self, metric: &str) -> f64 {
        self.find(metric).unwrap_or_else(|| panic!("no {metric} in {:#}", self.0))
    }

    pub(crate) fn find(&self, metric: &str) -> Option<f64> {
        self.0["rows"].as_array().unwrap().iter().find(|row| row["metric"] == metric)?["value"].as_f64()
    }

    /// What others used of the run's processors.
    pub(crate) fn foreign_percent(&self) -> f64 {
        self.environment("foreign_percent")
    }

    /// A number about other activity during the run.
    pub(crate) fn environment(&self, name: &str) -> f64 {
        self.0["environment"][name].as_f64().unwrap()
    }

    /// All warnings as one text.
    pub(crate) fn warnings(&self) -> String {
        let all = self.0["warnings"].as_array().unwrap();
        all.iter().map(|warning| format!("{} {}\n", warning["seen"], warning["advice"])).collect()
    }

    /// Processor time of a job's task, s.
    pub(crate) fn used(&self, job: &str) -> f64 {
        self.get(&format!("tasks.{job}.user")) + self.get(&format!("tasks.{job}.sys"))
    }
}

impl Fixture {
    pub(crate) fn new() -> Fixture {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        Fixture { folder: tempfile::tempdir().unwrap(), strangers: control_groups(), _turn: turn }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a plan as a user without privileges.
    pub(crate) fn run_as_nobody(&self, plan: &Path) -> Seen {
        // Other users may not read the folder of the build, so the agent is copied elsewhere.
        let copy = self.path().join("agent");
        fs::copy(env!("CARGO_BIN_EXE_schedlab-agent"), &copy).unwrap();
        fs::set_permissions(self.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let done = Command::new(&copy).arg("run").arg(plan).uid(65534).gid(65534).output().unwrap();
        fs::remove_file(copy).unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Seen(serde_json::from_slice(&done.stdout).unwrap())
    }

    /// Writes a plan: a workload, and what else a scenario has.
    pub(crate) fn plan(&self, workload: Value, rest: Value) -> PathBuf {
        let mut scenario = json!({
            "machine": { "name": "host", "processors": 1 },
            "scheduler": { "name": "eevdf" },
            "workload": workload,
        });
        let mut trace = json!("off");
        for (field, value) in rest.as_object().unwrap() {
            let place = if field == "trace" { &mut trace } else { &mut scenario[field] };
            *place = value.clone();
        }
        let plan = json!({
            "scenario": scenario,
            "seed": 1,
            "calibration": { "rounds_per_second": 6e8, "calls_per_second": 5e6, "spread": 0.0 },
            "options": { "scratch": self.path(), "journal": self.path().join("journal"), "at_most": "30s", "trace": trace },
        });
        let path = self.path().join("plan.json");
        fs::write(&path, plan.to_string()).unwrap();
        path
    }

    /// Begins a run of the plan.
    pub(crate) fn start(&self, plan: &Path) -> Child {
        agent().arg("run").arg(plan).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs a workload to its end.
    pub(crate) fn run(&self, workload: Value, rest: Value) -> Seen {
        let done = self.start(&self.plan(workload, rest)).wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{:?}: {said}", done.status);
        self.assert_nothing_left();
        Seen(serde_json::from_slice(&done.stdout).unwrap())
    }

    /// Processes of runs in this folder: all have the path of its plan among their arguments.
    pub(crate) fn processes(&self) -> Vec<i32> {
        let marker = self.path().to_str().unwrap().to_owned();
        let is_ours = |pid: &i32| {
            let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&arguments).contains(&marker)
        };
        let all = fs::read_dir("/proc").unwrap().flatten();
        all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_ours).collect()
    }

    /// No process, no file but the plan and the journal's lock, no control group. The restorer ends shortly after its owner.
    pub(crate) fn assert_nothing_left(&self) {
        let began = Instant::now();
        while !self.processes().is_empty() && began.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(self.processes(), Vec::<i32>::new());
        assert_eq!(self.files(), Vec::<PathBuf>::new());
        let left = control_groups().into_iter().filter(|path| !self.strangers.contains(path));
        assert_eq!(left.collect::<Vec<_>>(), Vec::<PathBuf>::new());
    }

    /// All files but those that stay.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let journal = self.path().join("journal");
        let of = |folder: &Path| fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
        let all = of(self.path()).chain(of(&journal));
        let stays = [self.path().join("plan.json"), journal.join("lock"), journal.clone()];
        all.filter(|path| !stays.contains(path)).collect()
    }
}

/// The agent.
pub(crate) fn agent() -> Command {
    Command::new(env!("CARGO_BIN_EXE_schedlab-agent"))
}

/// Control groups that belong to agents that are no more.
pub(crate) fn control_groups() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for hierarchy in ["cpu", "memory", "unified", ""] {
        let folder = Path::new("/sys/fs/cgroup").join(hierarchy);
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().into_string().unwrap_or_default();
            // Other tests have theirs too, by other names.
            let owner = name.strip_prefix("schedlab-").and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
            if owner.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
                found.push(entry.path());
            }
        }
    }
    found
}

/// Whether this test runs as root; says that it is skipped, if not.
pub(crate) fn is_root(test: &str) -> bool {
    let root = nix::unistd::geteuid().is_root();
    if !root {
        eprintln!("{test} skipped: needs root");
    }
    root
}

#[test]
fn two_calibrations_agree() {
    let fixture = Fixture::new();
    let calibrate = || -> Value {
        let done = agent().args(["calibrate", "--cpu", "0"]).output().unwrap();
        serde_json::from_slice(&done.stdout).unwrap()
    };
    let (one, two) = (calibrate(), calibrate());
    for what in ["rounds_per_second", "calls_per_second"] {
        let ratio = one[what].as_f64().unwrap() / two[what].as_f64().unwrap();
        // Within a hundredth on a quiet machine; but this one may change its speed.
        assert!((0.7..1.4).contains(&ratio), "{what}: {one} {two}");
    }
    drop(fixture);
}

#[test]
fn the_noise_monitor_finds_a_hog() {
    let fixture = Fixture::new();
    let look = |args: &[&str]| -> Value {
        let done = agent().arg("noise").args(args).output().unwrap();
        serde_json::from_slice(&done.stdout).unwrap()
    };
    let plan = fixture.plan(json!({ "hog": { "load": "spin", "passes": "forever" } }), json!({ "duration": "3s" }));
    let mut run = fixture.start(&plan);
    while fixture.processes().len() < 4 {
        std::thread::yield_now();
    }
    let gate = look(&["--processors", "0", "--for", "500ms", "--quiet-below", "5", "--at-most", "1s"]);
    let probed = look(&["--processors", "0", "--for", "500ms"]);
    run.kill().unwrap();
    run.wait().unwrap();
    assert_eq!(gate["quiet"], false, "{gate}");
    assert!(probed["processors"][0]["foreign_percent"].as_f64().unwrap() > 50.0, "{probed}");
    assert!(probed["processors"][0]["wakeup_latency_p50_ns"].as_u64().unwrap() > 0, "{probed}");
}
