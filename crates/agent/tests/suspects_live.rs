//! The recorder of suspects against the running kernel: a signal while it records ends it, and nothing is left in tracefs.
//! Skipped, with the reason, where it may not be used.

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use schedlab_linux::{Root, tracefs::Tracefs};
use std::{
    fs,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// For a recorder to begin, and to end.
const PATIENCE: Duration = Duration::from_secs(20);
/// Ended by a signal, in order.
const STOPPED: i32 = 130;

/// Watches for longer than the test lasts.
fn watch(journal: &Path) -> Child {
    let mut agent = Command::new(env!("CARGO_BIN_EXE_schedlab-agent"));
    let agent = agent.args(["suspects", "--for", "100s", "--journal"]).arg(journal);
    agent.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The instances of a process that record.
fn recording(tracefs: &Tracefs, pid: u32) -> Vec<String> {
    let names = fs::read_dir(tracefs.path("instances")).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(&format!("schedlab-{pid}-"))).collect()
}

fn within_patience(mut done: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + PATIENCE;
    while !done() {
        if Instant::now() > until {
            return false;
        }
        sleep(Duration::from_millis(2));
    }
    true
}

/// A recorder whose instance records, or none where none can be made.
fn at_work(journal: &Path, tracefs: &Tracefs) -> Option<Child> {
    let mut agent = watch(journal);
    let records = |name: &String| {
        let switch = tracefs.path("instances").join(name).join("tracing_on");
        fs::read_to_string(switch).is_ok_and(|text| text.trim() == "1")
    };
    // It goes on without tracing where that is refused: then a socket is looked at every 50 ms, and no instance comes.
    if within_patience(|| recording(tracefs, agent.id()).iter().any(records)) {
        return Some(agent);
    }
    agent.kill().unwrap();
    let Output { stderr, .. } = agent.wait_with_output().unwrap();
    println!("skipped: it records nothing here: {}", String::from_utf8_lossy(&stderr));
    None
}

fn tracefs() -> Option<Tracefs> {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: tracing needs root");
        return None;
    }
    Tracefs::open(&Root::default()).map_err(|fault| println!("skipped: {fault}")).ok()
}

/// What is in a journal but its lock file.
fn entries(journal: &Path) -> Vec<String> {
    let all = fs::read_dir(journal).into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| name != "lock").collect()
}

#[test]
fn a_signal_while_it_records_ends_it_in_order_and_leaves_nothing_in_tracefs() {
    let Some(tracefs) = tracefs() else { return };
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let folder = tempfile::tempdir().unwrap();
        let Some(agent) = at_work(folder.path(), &tracefs) else { return };
        let pid = agent.id();
        kill(Pid::from_raw(pid as i32), signal).unwrap();
        let done = agent.wait_with_output().unwrap();
        assert_eq!(done.status.code(), Some(STOPPED), "{signal}: {}", String::from_utf8_lossy(&done.stderr));
        assert_eq!((done.stdout, done.stderr), (Vec::new(), Vec::new()), "{signal}");
        assert_eq!(recording(&tracefs, pid), Vec::<String>::new(), "{signal}");
        assert_eq!(entries(folder.path()), Vec::<String>::new(), "{signal}");
    }
}

#[test]
fn a_recorder_whose_parent_is_killed_ends_in_order() {
    let Some(tracefs) = tracefs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let number = folder.path().join("number");
    let journal = folder.path().join("journal");
    let script = r#""$1" suspects --for 100s --journal "$2" & echo $! > "$3"; wait"#;
    let mut shell = Command::new("sh");
    let shell = shell.args(["-c", script, "sh", env!("CARGO_BIN_EXE_schedlab-agent")]).arg(&journal).arg(&number);
    let mut shell = shell.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut agent = None;
    let recorded = within_patience(|| {
        agent = fs::read_to_string(&number).ok().and_then(|text| text.trim().parse::<u32>().ok());
        agent.is_some_and(|pid| !recording(&tracefs, pid).is_empty())
    });
    shell.kill().unwrap();
    shell.wait().unwrap();
    if !recorded {
        println!("skipped: it records nothing here");
        return;
    }
    let pid = agent.unwrap();
    assert!(within_patience(|| !Path::new(&format!("/proc/{pid}/exe")).exists()), "it goes on without its parent");
    assert_eq!(recording(&tracefs, pid), Vec::<String>::new());
    assert_eq!(entries(&journal), Vec::<String>::new());
}

#[test]
fn a_recorder_that_is_killed_is_known_to_restore() {
    let Some(tracefs) = tracefs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(mut agent) = at_work(folder.path(), &tracefs) else { return };
    let pid = agent.id();
    agent.kill().unwrap();
    assert_eq!(agent.wait().unwrap().signal(), Some(libc::SIGKILL));
    let mut restore = Command::new(env!("CARGO_BIN_EXE_schedlab-agent"));
    let done = restore.arg("restore").arg("--journal").arg(folder.path()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(recording(&tracefs, pid), Vec::<String>::new());
    assert_eq!(entries(folder.path()), Vec::<String>::new());
}
