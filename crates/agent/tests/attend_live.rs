//! Attention levels on the live kernel: two trees of processes, the focus moved by command and by file, and everything back at the end,
//! however that comes. Nice values can be put back by root alone, so others skip these.

use schedlab_linux::{process, sched::Attributes};
use serde_json::Value;
use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::{Mutex, MutexGuard},
    time::{Duration, Instant},
};

const LAYOUT: &str = r#"
[attention]
dwell = "100ms"
stay = "200ms"
foreground = 1
[[level]]
name = "foreground"
nice = 1
slice = "2ms"
[[level]]
name = "background"
nice = 4
[[level]]
name = "batch"
nice = 9
policy = "batch"
slice = "20ms"
io = "idle"
[[rule]]
name = "sleep"
command = "sleep 7777"
level = "batch"
"#;
const NOBODY: u32 = 65534;

/// One daemon at a time: the rule of all names the same processes.
static ALONE: Mutex<()> = Mutex::new(());

/// A daemon at work, with its folder.
struct Daemon {
    _alone: MutexGuard<'static, ()>,
    child: Child,
    out: BufReader<ChildStdout>,
    folder: tempfile::TempDir,
}

fn agent() -> Command {
    Command::new(env!("CARGO_BIN_EXE_schedlab-agent"))
}

impl Daemon {
    fn start(more: &[&str], user: Option<u32>) -> Daemon {
        let _alone = ALONE.lock().unwrap_or_else(|broken| broken.into_inner());
        let folder = tempfile::tempdir().unwrap();
        let layout = folder.path().join("layout.toml");
        fs::write(&layout, LAYOUT).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let mut command = agent();
        command.args(["attend", "run", "--every", "200ms", "--layout"]).arg(&layout);
        command
            .arg("--journal")
            .arg(folder.path().join("state/journal"))
            .arg("--socket")
            .arg(folder.path().join("run/s"));
        command.args(more).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").env_remove("SWAYSOCK");
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert!(line.contains("at_work"), "{line}");
        Daemon { _alone, child, out, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn ask(&self, words: &[&str]) -> Result<Value, String> {
        let done = agent().arg("attend").args(words).arg("--socket").arg(self.path("run/s")).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        if done.status.success() {
            Ok(serde_json::from_str(&text(done.stdout)).unwrap())
        } else {
            Err(text(done.stderr))
        }
    }

    fn focus(&self, pid: i32) -> Value {
        self.ask(&["focus", &pid.to_string()]).unwrap()
    }

    fn entries(&self) -> usize {
        self.files().len()
    }

    fn files(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.path("state/journal")).into_iter().flatten().flatten().map(|file| file.path());
        files.filter(|file| file.extension().is_some_and(|end| end == "json")).collect()
    }

    /// All that is in the journal.
    fn journal(&self) -> String {
        self.files().iter().filter_map(|file| fs::read_to_string(file).ok()).collect()
    }

    /// Asks it to stop; gives what it says at its end.
    fn stop(&mut self) -> Value {
        process::kill(self.child.id() as i32, libc::SIGTERM);
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(130), "{line}");
        assert_eq!(self.entries(), 0);
        serde_json::from_str(&line).unwrap()
    }

    /// Kills it as nothing can withstand.
    fn kill(&mut self) {
        process::kill(self.child.id() as i32, libc::SIGKILL);
        self.child.wait().unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        process::kill(self.child.id() as i32, libc::SIGTERM);
        let _ = self.child.wait();
    }
}

/// A shell with children, in a session of its own.
struct Tree(Child);

impl Tree {
    fn new(script: &str) -> Tree {
        Tree::of(script, None)
    }

    fn of(script: &str, user: Option<u32>) -> Tree {
        let mut command = Command::new("setsid");
        command.args(["sh", "-c", script]);
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        let tree = Tree(command.spawn().unwrap());
        until("its children", || tree.children().len() == script.matches("sleep").count());
        tree
    }

    fn pid(&self) -> i32 {
        self.0.id() as i32
    }

    fn children(&self) -> Vec<i32> {
        let path = format!("/proc/{0}/task/{0}/children", self.pid());
        let all = fs::read_to_string(path).unwrap_or_default();
        let sleeps = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "sleep\n");
        all.split_whitespace().map(|pid| pid.parse().unwrap()).filter(sleeps).collect()
    }

    fn nice(&self) -> Vec<i32> {
        [vec![self.pid()], self.children()].concat().into_iter().map(nice).collect()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.children().into_iter().for_each(|pid| process::kill(pid, libc::SIGKILL));
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The nice value of a process, compared with that of this one, which its children have by themselves.
fn nice(pid: i32) -> i32 {
    Attributes::of(pid).unwrap().nice - Attributes::current().unwrap().nice
}

fn until(what: &str, mut there: impl FnMut() -> bool) {
    let began = Instant::now();
    while !there() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}: not within 20 s");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn skips() -> bool {
    let skips = !nix::unistd::geteuid().is_root();
    if skips {
        eprintln!("skipped: only root can put nice values back");
    }
    skips
}

const TWO: &str = "sleep 1000 & sleep 1000 & wait";

#[test]
fn the_focus_moves_whole_trees_and_sigkill_leaves_nothing() {
    if skips() {
        return;
    }
    let (one, other) = (Tree::new(TWO), Tree::new(TWO));
    let mut daemon = Daemon::start(&[], None);
    daemon.focus(one.pid());
    until("the foreground", || one.nice() == [1; 3]);
    assert_eq!(other.nice(), [0; 3], "what never had the focus is left alone");
    daemon.focus(other.pid());
    until("the others' foreground", || other.nice() == [1; 3] && one.nice() == [4; 3]);
    let usual = Attributes::current().unwrap().runtime;
    if usual != 0 {
        let slices = |tree: &Tree| Attributes::of(tree.pid()).unwrap().runtime;
        assert_eq!([slices(&other), slices(&one)], [2_000_000, usual]);
    }
    assert!((1..=2).contains(&daemon.entries()), "{} entries", daemon.entries());
    daemon.kill();
    until("the restorer", || [one.nice(), other.nice()] == [[0; 3], [0; 3]] && daemon.entries() == 0);
    assert_eq!(Attributes::of(other.pid()).unwrap().runtime, usual);
}

/// The nice value of the autogroup that a process is in.
fn autogroup(pid: i32) -> i32 {
    let text = fs::read_to_string(format!("/proc/{pid}/autogroup")).unwrap();
    text.trim().rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn the_autogroup_of_a_session_follows_its_level_and_goes_back() {
    let on = fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled").is_ok_and(|enabled| enabled.trim() == "1");
    if skips() || !on {
        return eprintln!("skipped: without rights, or this kernel does not divide by sessions");
    }
    let (one, other) = (Tree::new(TWO), Tree::new(TWO));
    let groups = || [autogroup(one.pid()), autogroup(other.pid())];
    let mut daemon = Daemon::start(&[], None);
    daemon.focus(one.pid());
    until("the foreground", || groups() == [1, 0]);
    daemon.focus(other.pid());
    until("the others' foreground", || groups() == [4, 1]);
    fs::write(format!("/proc/{}/autogroup", other.pid()), "7").unwrap();
    daemon.focus(one.pid());
    until("the first one's foreground", || autogroup(one.pid()) == 1 && other.nice() == [4; 3]);
    assert_eq!(autogroup(other.pid()), 7, "another process has changed it");
    daemon.kill();
    until("the restorer", || groups() == [0, 7] && daemon.entries() == 0);
}

#[test]
fn what_a_program_starts_later_is_treated_alike_and_goes_back_too() {
    if skips() {
        return;
    }
    let fifo = tempfile::tempdir().unwrap();
    let path = fifo.path().join("go");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let tree = Tree(
        Command::new("setsid")
            .args(["sh", "-c", &format!("read x < {0}; sleep 1000 & nice -n 5 sleep 1000 & wait", path.display())])
            .spawn()
            .unwrap(),
    );
    let mut daemon = Daemon::start(&[], None);
    daemon.focus(tree.pid());
    until("the foreground", || nice(tree.pid()) == 1);
    fs::write(&path, "\n").unwrap();
    until("its children", || tree.children().len() == 2);
    // A level adds to what a task has asked for itself, which the journal learns in the next period.
    until("the level of children", || {
        tree.nice() == [1, 1, 6] && daemon.journal().contains(&format!("{}", tree.children()[1]))
    });
    daemon.kill();
    until("the restorer", || tree.nice() == [0, 0, 5]);
}

#[test]
fn a_rule_is_kept_without_focus_and_a_signal_puts_all_back() {
    if skips() {
        return;
    }
    let ruled = Tree(Command::new("sleep").arg("7777").spawn().unwrap());
    let pid = ruled.pid();
    let before = Attributes::of(pid).unwrap();
    let mut daemon = Daemon::start(&[], None);
    until("its level", || nice(pid) == 9);
    assert_eq!(Attributes::of(pid).unwrap().policy, libc::SCHED_BATCH as u32);
    assert_eq!(
        schedlab_linux::io_priority::IoPriority::of(pid).unwrap(),
        schedlab_linux::io_priority::IoPriority::idle()
    );
    let status = daemon.ask(&["status"]).unwrap();
    let program = status["programs"].as_array().unwrap().iter().find(|one| one["processes"][0] == pid).unwrap();
    assert_eq!((&program["level"], &program["standing"]), (&"batch".into(), &"fixed".into()));
    let said = daemon.stop();
    assert_eq!(said["undone"]["failed"], serde_json::json!([]));
    assert_eq!(Attributes::of(pid).unwrap(), before);
    assert!(schedlab_linux::io_priority::IoPriority::of(pid).unwrap().is_usual());
}

#[test]
fn what_another_process_changes_is_left_alone_and_named() {
    if skips() {
        return;
    }
    let tree = Tree::new(TWO);
    let mut daemon = Daemon::start(&[], None);
    daemon.focus(tree.pid());
    until("the foreground", || tree.nice() == [1; 3]);
    let child = tree.children()[0];
    let now = Attributes::of(child).unwrap();
    let others = now.nice + 12;
    Attributes { nice: others, ..now }.set(child).unwrap();
    daemon.focus(0);
    until("the background", || nice(tree.pid()) == 4);
    assert_eq!(nice(child), 13);
    assert_eq!(daemon.ask(&["status"]).unwrap()["foreign_threads"], 1);
    let said = daemon.stop();
    assert_eq!((nice(tree.pid()), nice(child)), (0, 13));
    let foreign = &said["undone"]["foreign"][0];
    assert_eq!(foreign["actual"], others.to_string());
    assert_eq!(foreign["path"], format!("/proc/{child}/task/{child}"));
}

#[test]
fn real_time_tasks_and_those_it_came_from_are_left_alone() {
    if skips() {
        return;
    }
    let tree = Tree::new(TWO);
    let (child, fifo) = (tree.children()[0], libc::SCHED_FIFO as u32);
    Attributes { policy: fifo, priority: 3, ..Attributes::default() }.set(child).unwrap();
    let mut daemon = Daemon::start(&[], None);
    daemon.focus(tree.pid());
    until("the foreground", || nice(tree.pid()) == 1);
    let now = Attributes::of(child).unwrap();
    assert_eq!((now.policy, now.priority), (fifo, 3));
    for pid in [1, process::own_pid(), 2] {
        let said = daemon.ask(&["focus", &pid.to_string()]).unwrap_err();
        assert!(said.contains(&format!("process {pid}: there is none, or it may not be touched")), "{said}");
    }
    daemon.stop();
}

#[test]
fn a_file_gives_the_focus() {
    if skips() {
        return;
    }
    let tree = Tree::new(TWO);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("focus");
    let mut daemon = Daemon::start(&["--pid-file", path.to_str().unwrap()], None);
    fs::write(&path, format!("{}\n", tree.pid())).unwrap();
    until("the foreground", || tree.nice() == [1; 3]);
    fs::write(&path, "").unwrap();
    until("the background", || tree.nice() == [4; 3]);
    daemon.stop();
}

#[test]
fn without_rights_no_nice_value_is_raised_and_slices_are_set() {
    if skips() {
        return;
    }
    let (own, others) = (Tree::of(TWO, Some(NOBODY)), Tree::new(TWO));
    let daemon = Daemon::start(&[], Some(NOBODY));
    daemon.focus(own.pid());
    let usual = Attributes::current().unwrap().runtime;
    if usual != 0 {
        until("the slice", || Attributes::of(own.pid()).unwrap().runtime == 2_000_000);
    }
    assert_eq!(own.nice(), [0; 3]);
    assert!(daemon.ask(&["focus", &others.pid().to_string()]).unwrap_err().contains("another user's"));
    let status = daemon.ask(&["status"]).unwrap();
    assert!(status["cannot"][0].as_str().unwrap().contains("CAP_SYS_NICE"));
    process::kill(daemon.child.id() as i32, libc::SIGTERM);
    until("what it was", || Attributes::of(own.pid()).unwrap().runtime == usual);
}

#[test]
fn a_second_daemon_and_a_wrong_layout_are_refused() {
    let mut daemon = Daemon::start(&[], None);
    let layout = |path: &Path| {
        let mut command = agent();
        command.args(["attend", "run", "--layout"]).arg(path).arg("--socket").arg(daemon.path("run/s"));
        let done = command.arg("--journal").arg(daemon.path("other")).output().unwrap();
        assert_eq!(done.status.code(), Some(2));
        String::from_utf8(done.stderr).unwrap()
    };
    assert!(layout(&daemon.path("layout.toml")).contains("schedlab attend is at work already"));
    fs::write(daemon.path("wrong.toml"), "level = 3").unwrap();
    assert!(layout(&daemon.path("wrong.toml")).contains("wrong.toml:1: level: invalid type"));
    daemon.stop();
}
