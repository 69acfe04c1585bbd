//! Where the time of a command goes: records of tasks by hand, and real commands on the running kernel.
//! Long, because each part of a time has a command of its own.

use proptest::prelude::*;
use schedlab_observe::accounting::{
    parts::{Known, Parts},
    record::Record,
};
use serde_json::Value;
use std::os::unix::{fs::PermissionsExt, process::CommandExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

const PARTS: [&str; 6] = ["user_ns", "system_ns", "processor_ns", "disk_ns", "memory_ns", "asleep_ns"];
const MS: u64 = 1_000_000;

/// One at a time: a run turns the kernel's counting of waits on, and another one may say that it is off.
static TURN: Mutex<()> = Mutex::new(());
/// The kernel's switch for the counting of waits.
const SWITCH: &str = "/proc/sys/kernel/task_delayacct";

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Runs the agent: its exit status, its answers, what it said on stderr.
fn time(options: &[&str], command: &[&str]) -> (i32, Vec<Value>, String) {
    time_in(&turn(), options, command)
}

/// The same in a turn that was taken before.
fn time_in(_turn: &MutexGuard<'_, ()>, options: &[&str], command: &[&str]) -> (i32, Vec<Value>, String) {
    let folder = tempfile::tempdir().unwrap();
    let answers = folder.path().join("answers");
    let journal = folder.path().join("journal");
    let agent = Command::new(env!("CARGO_BIN_EXE_schedlab-agent"))
        .args(["time", "--output", answers.to_str().unwrap(), "--journal", journal.to_str().unwrap()])
        .args(options)
        .arg("--")
        .args(command)
        .output()
        .unwrap();
    let text = std::fs::read_to_string(&answers).unwrap_or_default();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (agent.status.code().unwrap(), lines, String::from_utf8(agent.stderr).unwrap())
}

/// The answer of one run that ended well, or nothing where this host reports too little.
fn timed(command: &[&str]) -> Option<Value> {
    let (status, answers, said) = time(&[], command);
    assert_eq!((status, answers.len()), (0, 1), "{said}");
    let answer = answers.into_iter().next().unwrap();
    if answer["main"]["disk_ns"].is_null() {
        println!("skipped: {}", answer["unknown"]);
        return None;
    }
    Some(answer)
}

fn ns(parts: &Value, name: &str) -> u64 {
    parts[name].as_u64().unwrap_or_else(|| panic!("no {name} in {parts}"))
}

fn adds_up(parts: &Value) {
    assert_eq!(PARTS.iter().map(|part| ns(parts, part)).sum::<u64>(), ns(parts, "elapsed_ns"), "{parts}");
}

#[test]
fn a_command_that_computes_has_user_time() {
    // Long enough that a stall of the machine by some 20 ms, which no account has, is not a tenth of it.
    let Some(answer) = timed(&["sh", "-c", "i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done"]) else { return };
    let main = &answer["main"];
    adds_up(main);
    adds_up(&answer["whole"]);
    let busy = ns(main, "user_ns") + ns(main, "system_ns") + ns(main, "processor_ns");
    assert!(busy as f64 > 0.9 * ns(main, "elapsed_ns") as f64, "{answer}");
    assert!(ns(main, "user_ns") > 10 * MS, "{answer}");
}

#[test]
fn a_command_that_sleeps_is_asleep() {
    let Some(answer) = timed(&["sleep", "0.2"]) else { return };
    adds_up(&answer["main"]);
    assert!(ns(&answer["main"], "asleep_ns") > 190 * MS, "{answer}");
    assert_eq!(answer["counts"]["tasks"], 1);
}

#[test]
fn a_command_that_reads_from_a_drive_waits_for_it() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let file = folder.path().join("data");
    std::fs::write(&file, vec![1; 16 << 20]).unwrap();
    std::fs::File::open(&file).unwrap().sync_all().unwrap();
    let input = format!("if={}", file.display());
    let Some(answer) = timed(&["dd", &input, "of=/dev/null", "bs=64k", "iflag=direct", "status=none"]) else { return };
    adds_up(&answer["main"]);
    assert!(ns(&answer["main"], "disk_ns") > 0, "{answer}");
    assert!(answer["counts"]["drive_read_bytes"].as_u64().unwrap() >= 16 << 20, "{answer}");
}

/// A memory cgroup (v1), removed when it is dropped.
struct Group(PathBuf);

impl Group {
    fn make(limit: u64) -> Option<Group> {
        let group = Group(PathBuf::from(format!("/sys/fs/cgroup/memory/schedlab-test-{}", std::process::id())));
        let made = std::fs::create_dir(&group.0)
            .and_then(|()| std::fs::write(group.0.join("memory.limit_in_bytes"), limit.to_string()));
        made.inspect_err(|why| println!("skipped: no memory cgroup of version 1: {why}")).ok().map(|()| group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_command_held_by_a_memory_cgroup_reads_again_and_reclaims() {
    let Some(group) = Group::make(16 << 20) else { return };
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let file = folder.path().join("data");
    std::fs::write(&file, vec![1; 24 << 20]).unwrap();
    // Written back and dropped, so that its pages are charged to the group alone.
    let forget = format!("of={}", file.display());
    let quiet = ["oflag=nocache", "conv=notrunc,fdatasync", "count=0", "status=none"];
    assert!(Command::new("dd").args(["if=/dev/null", &forget]).args(quiet).status().unwrap().success());
    let read = format!("cat {} > /dev/null", file.display());
    let command = format!("echo $$ > {}/tasks; {read}; {read}; {read}", group.0.display());
    let Some(answer) = timed(&["sh", "-c", &command]) else { return };
    adds_up(&answer["whole"]);
    // The file was read three times, since the group cannot keep it; making room for it took time.
    assert!(answer["counts"]["drive_read_bytes"].as_u64().unwrap() > 2 * (24 << 20), "{answer}");
    assert!(ns(&answer["counts"], "reclaim_ns") > 0 && ns(&answer["whole"], "disk_ns") > 0, "{answer}");
}

/// Runs an agent of its own, as the ordinary user `nobody` if `ordinary`: its one answer.
fn timed_as(ordinary: bool, words: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("schedlab-agent");
    std::fs::copy(env!("CARGO_BIN_EXE_schedlab-agent"), &copy).unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(&copy);
    if ordinary && nix::unistd::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    } else {
        command.env("XDG_STATE_HOME", folder.path());
    }
    command.arg("time");
    if !ordinary {
        command.args(["--journal", folder.path().join("journal").to_str().unwrap()]);
    }
    let _turn = turn();
    let answer = command.arg("--").args(words).output().unwrap();
    assert!(answer.status.success(), "{answer:?}");
    serde_json::from_slice(&answer.stdout).unwrap_or_else(|why| panic!("{why}: {answer:?}"))
}

#[test]
fn without_root_the_waits_of_ones_own_tasks_are_seen() {
    let answer = timed_as(true, &["sh", "-c", "sleep 0.4; sleep 0.4 | cat"]);
    let (main, whole) = (&answer["waits"]["main"], &answer["waits"]["whole"]);
    // The shell waits for its children, and cat for what comes through the pipe.
    assert!(ns(main, "program_ns") > 500 * MS && ns(main, "timer_ns") < 200 * MS, "{answer}");
    assert!((500 * MS..1100 * MS).contains(&ns(whole, "timer_ns")), "{answer}");
    assert!(answer["waits"]["remotes"].as_array().unwrap().is_empty(), "{answer}");
}

#[test]
fn without_root_the_first_task_is_the_first_task_and_what_is_unknown_is_said() {
    let burn = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    let answer = timed_as(true, &["sh", "-c", &format!("sh -c '{burn}'; exit 0")]);
    let (main, whole) = (&answer["main"], &answer["whole"]);
    assert!(answer["counts"]["tasks"].is_null() && main["disk_ns"].is_null(), "{answer}");
    assert!(answer["unknown"].to_string().contains("run as root"), "{answer}");
    // The parent only waits; the sum is of both, and of their lives nothing is known.
    assert!(ns(whole, "user_ns") > 5 * (ns(main, "user_ns") + ns(main, "system_ns")), "{answer}");
    assert!(whole["elapsed_ns"].is_null() && whole["asleep_ns"].is_null(), "{answer}");
    let parts: u64 = PARTS.iter().filter_map(|part| main[part].as_u64()).sum();
    assert_eq!(parts, ns(main, "elapsed_ns"));
    assert!(main["processor_ns"].is_u64(), "any user may know how long a task waited for a processor: {answer}");
}

const NOBODY: u32 = 65534;

/// A control group of version 1 that only counts, which any user may enter. None where there is no such controller.
struct Counter(PathBuf);

impl Counter {
    fn make() -> Option<Counter> {
        static MADE: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = MADE.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let group = Counter(format!("/sys/fs/cgroup/cpuacct/test-{}-{number}", std::process::id()).into());
        std::fs::create_dir(&group.0).inspect_err(|why| println!("skipped: no group to compare with: {why}")).ok()?;
        std::os::unix::fs::chown(group.0.join("cgroup.procs"), Some(NOBODY), None).unwrap();
        Some(group)
    }

    fn used_ns(&self) -> u64 {
        std::fs::read_to_string(self.0.join("cpuacct.usage")).unwrap().trim().parse().unwrap()
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        for _ in 0..200 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The command's processor time is that of a control group around it, within 2 %, for root and for others.
fn as_a_control_group_counts(script: &str) {
    for ordinary in [false, true] {
        let Some(group) = Counter::make() else { return };
        let enter = format!("echo $$ > {}/cgroup.procs; {script}", group.0.display());
        let answer = timed_as(ordinary, &["sh", "-c", &enter]);
        let found = ns(&answer["whole"], "user_ns") + ns(&answer["whole"], "system_ns");
        let counted = group.used_ns();
        let error = found as f64 / counted as f64 - 1.0;
        println!("ordinary {ordinary}: {found} ns for {counted} ns, {:+.2} %", 100.0 * error);
        assert!(error.abs() < 0.02, "ordinary {ordinary}: {found} ns for {counted} ns: {answer}");
        if !answer["whole"]["elapsed_ns"].is_null() && !answer["whole"]["disk_ns"].is_null() {
            adds_up(&answer["whole"]);
        }
    }
}

const SHORT: &str = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done";

#[test]
fn children_of_2_ms_are_counted_whole() {
    as_a_control_group_counts(&format!("for n in $(seq 50); do sh -c '{SHORT}'; done"));
}

#[test]
fn hundreds_of_the_shortest_children_are_counted_whole() {
    as_a_control_group_counts("n=0; while [ $n -lt 400 ]; do /bin/true; n=$((n+1)); done");
}

#[test]
fn pipelines_and_background_children_are_counted_whole() {
    let one = "ls / | sort | wc -l > /dev/null; x=$(echo a | sed s/a/b/); [ $x = b ] || exit 1";
    as_a_control_group_counts(&format!(
        "for n in $(seq 40); do {one}; done; for n in 1 2 3 4; do ({SHORT}) & done; wait"
    ));
}

#[test]
fn a_daemon_is_counted_up_to_the_commands_end_and_named() {
    let burn = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; sleep 3";
    for ordinary in [false, true] {
        let answer = timed_as(ordinary, &["sh", "-c", &format!("(setsid sh -c '{burn}' > /dev/null 2>&1 &); sleep 1")]);
        let outlived = answer["outlived"].as_array().unwrap();
        let daemon = outlived.iter().max_by_key(|it| it["ran_ns"].as_u64()).expect("the daemon is named");
        let ran = ns(daemon, "ran_ns");
        let found = ns(&answer["whole"], "user_ns") + ns(&answer["whole"], "system_ns");
        assert!(daemon["name"] == "sh" && ran > 20 * MS && found >= ran, "{answer}");
    }
}

#[test]
fn a_daemon_that_burns_is_counted_as_a_control_group_does() {
    let long = SHORT.replace("3000", "200000");
    as_a_control_group_counts(&format!("(setsid sh -c '{long}; sleep 2' > /dev/null 2>&1 &); {long}; sleep 1"));
}

#[test]
fn switches_are_those_of_the_children_too() {
    for ordinary in [false, true] {
        let answer = timed_as(ordinary, &["sh", "-c", "n=0; while [ $n -lt 200 ]; do /bin/true; n=$((n+1)); done"]);
        // The shell waits for each child, and each child leaves for good.
        assert!(ns(&answer["counts"], "voluntary_switches") >= 300, "{answer}");
    }
}

#[test]
fn nothing_of_the_control_group_stays_even_if_the_agent_is_killed() {
    let groups = || {
        let out = Command::new("find").args(["/sys/fs/cgroup", "-name", "schedlab-*"]).output().unwrap();
        String::from_utf8(out.stdout).unwrap()
    };
    let _turn = turn();
    let journal = tempfile::tempdir().unwrap();
    let was_off = is_off();
    for after_ms in [0, 3, 10, 30, 100] {
        let mut agent = Command::new(env!("CARGO_BIN_EXE_schedlab-agent"))
            .args(["time", "--journal", journal.path().join("journal").to_str().unwrap()])
            .args(["--output", "/dev/null", "--", "sleep", "0.3"])
            .spawn()
            .unwrap();
        let own = format!("schedlab-{}-", agent.id());
        std::thread::sleep(Duration::from_millis(after_ms));
        agent.kill().unwrap();
        agent.wait().unwrap();
        let began = Instant::now();
        while groups().contains(&own) {
            assert!(began.elapsed() < Duration::from_secs(10), "killed after {after_ms} ms, {own} stays");
            std::thread::sleep(Duration::from_millis(20));
        }
        while was_off && !is_off() {
            assert!(
                began.elapsed() < Duration::from_secs(10),
                "killed after {after_ms} ms, the counting of waits stays on"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn children_and_orphans_count() {
    // The inner shell ends immediately; its child is handed to the agent, and ends before the command does.
    let Some(answer) = timed(&["sh", "-c", "sh -c 'sleep 0.05 & true'; (exit 0); sleep 0.2; true"]) else { return };
    adds_up(&answer["whole"]);
    assert!(answer["counts"]["tasks"].as_u64().unwrap() >= 5, "{answer}");
    assert!(ns(&answer["whole"], "elapsed_ns") > 440 * MS, "{answer}");
}

#[test]
fn waiting_for_the_processor_is_reported() {
    // Two that compute, on one processor.
    let burn = "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done";
    let command = format!("({burn}) & {burn}; wait");
    let Some(answer) = timed(&["taskset", "-c", "0", "sh", "-c", &command]) else { return };
    adds_up(&answer["whole"]);
    let ran = ns(&answer["whole"], "user_ns") + ns(&answer["whole"], "system_ns");
    assert!(ns(&answer["whole"], "processor_ns") as f64 > 0.3 * ran as f64, "{answer}");
}

#[test]
fn the_exit_status_is_the_commands() {
    assert_eq!(time(&[], &["sh", "-c", "exit 7"]).0, 7);
    assert_eq!(time(&[], &["sh", "-c", "kill -9 $$"]).0, 137);
    let (status, answers, _) = time(&["--repeat", "3"], &["sh", "-c", "exit 7"]);
    assert_eq!((status, answers.len()), (0, 3));
}

#[test]
fn a_command_that_is_not_there_is_one_message() {
    let (status, answers, said) = time(&[], &["no-such-command"]);
    assert_eq!((status, answers.len()), (127, 0));
    assert_eq!(said, "error: no-such-command: command not found\n");
    assert_eq!(time(&[], &["/"]).0, 126);
    // Its name may be anything, and a terminal obeys none of it.
    let (_, _, said) = time(&[], &["no\x1b[31m\u{202e}-such"]);
    assert_eq!(said, "error: no\\x1b[31m\\u202e-such: command not found\n");
}

#[test]
fn without_permission_to_change_settings_the_waits_are_unknown() {
    let (_, answers, _) = time(&["--touch-nothing"], &["true"]);
    let delays = std::fs::read_to_string(SWITCH).unwrap_or_default();
    if delays.trim() != "0" {
        println!("skipped: this kernel counts waits anyway");
        return;
    }
    assert!(answers[0]["main"]["disk_ns"].is_null(), "{}", answers[0]);
    assert!(answers[0]["unknown"].to_string().contains("task_delayacct"), "{}", answers[0]);
}

/// Whether the kernel's counting of waits is off, and this user may turn it on.
fn is_off() -> bool {
    nix::unistd::geteuid().is_root() && std::fs::read_to_string(SWITCH).is_ok_and(|text| text == "0\n")
}

fn can_be_turned_on() -> bool {
    let can = is_off();
    if !can {
        println!("skipped: the counting of waits is not off, or not ours to turn on");
    }
    can
}

/// Whether it comes within twenty seconds.
fn comes(done: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while !done() && began.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    done()
}

/// Waits for a file, for ten seconds.
const AWAIT: &str = "i=0; until [ -e \"$1\" ]; do i=$((i+1)); [ $i -lt 1000 ] || exit 1; sleep 0.01; done";

#[test]
fn waits_are_counted_until_the_last_of_several_runs_has_ended() {
    let _turn = turn();
    if !can_be_turned_on() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let run = |script: &str, file: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_schedlab-agent"));
        command
            .arg("time")
            .arg("--journal")
            .arg(path("journal"))
            .args(["--", "sh", "-c", script, "sh"])
            .arg(path(file));
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let first = run(&format!("touch \"$1\".here; {AWAIT}"), "first");
    assert!(comes(|| path("first.here").exists()));
    let second = run(&format!("touch \"$1\".here; {AWAIT}"), "second");
    let mut killed = run(AWAIT, "third");
    assert!(comes(|| path("second.here").exists()));
    // The one that turned it on ends first, then one is killed, and the last turns it off.
    std::fs::write(path("first"), "").unwrap();
    assert!(first.wait_with_output().unwrap().status.success());
    assert!(!is_off(), "others count");
    killed.kill().unwrap();
    killed.wait().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    assert!(!is_off(), "another counts");
    std::fs::write(path("second"), "").unwrap();
    let answer: Value = serde_json::from_slice(&second.wait_with_output().unwrap().stdout).unwrap();
    assert!(answer["main"]["disk_ns"].is_u64(), "{answer}");
    // What the killed one had entered is its restorer's to undo.
    assert!(comes(is_off));
    std::fs::write(path("third"), "").unwrap();
}

#[test]
fn waits_are_unknown_if_another_process_ends_the_counting() {
    let turn = turn();
    if !can_be_turned_on() {
        return;
    }
    let (_, answers, _) = time_in(&turn, &[], &["sh", "-c", &format!("echo 0 > {SWITCH}")]);
    assert!(answers[0]["main"]["disk_ns"].is_null(), "{}", answers[0]);
    assert!(answers[0]["unknown"].to_string().contains("another process wrote 0"), "{}", answers[0]);
}

#[test]
fn a_signal_is_passed_on() {
    let mut agent = Command::new(env!("CARGO_BIN_EXE_schedlab-agent"))
        .args(["time", "--touch-nothing", "--", "sleep", "20"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    std::thread::sleep(Duration::from_millis(300));
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(agent.id() as i32), nix::sys::signal::Signal::SIGTERM).unwrap();
    assert_eq!(agent.wait().unwrap().code(), Some(128 + 15));
    assert!(began.elapsed() < Duration::from_secs(10));
}

/// A record of version 13 with these times.
fn record(ran: u64, delays: [u64; 4], (user_us, system_us): (u64, u64)) -> Vec<u8> {
    let mut bytes = vec![0; 416];
    let mut put = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
    put(0, 13);
    for (at, value) in [24, 40, 56, 336].into_iter().zip(delays) {
        put(at, value);
    }
    put(72, ran);
    put(152, user_us);
    put(160, system_us);
    bytes
}

#[test]
fn waits_for_memory_are_not_counted_as_the_drives_too() {
    let task = Record::read(&record(100, [50, 700, 100, 200], (3, 1))).unwrap();
    let parts = Parts::of(&task, 1000, Known { processor: true, waits: true });
    assert_eq!((parts.user_ns, parts.system_ns), (75, 25));
    assert_eq!((parts.processor_ns, parts.disk_ns, parts.memory_ns), (Some(50), Some(400), Some(300)));
    assert_eq!(parts.asleep_ns, 150);
}

#[test]
fn a_version_that_is_laid_out_otherwise_is_not_believed() {
    let mut bytes = record(1, [0; 4], (0, 0));
    bytes[0] = 15;
    assert_eq!(Record::read(&bytes), None);
    // An older one has fewer fields.
    bytes[0] = 8;
    let old = Record::read(&bytes[..344]).unwrap();
    assert_eq!((old.compaction_ns, old.copy_ns, old.reclaim_ns), (None, None, Some(0)));
    assert_eq!(Record::read(&bytes[..100]), None);
}

proptest! {
    #[test]
    fn parts_always_add_up(ran: u64, delays: [u64; 4], ticks: (u64, u64), elapsed: u64, processor: bool, waits: bool) {
        let task = Record::read(&record(ran, delays, ticks)).unwrap();
        let parts = Parts::of(&task, elapsed, Known { processor, waits });
        prop_assert_eq!(parts.sum(), elapsed);
    }

    #[test]
    fn records_of_any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        Record::read(&bytes);
    }
}
