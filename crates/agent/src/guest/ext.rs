//! A scheduler of one's own in a guest, by the kernel's `sched_ext`: attached by the tool that came with it, and asked about
//! before the run and after it. The kernel ejects a scheduler that errs, and continues with its own: what ran then would be
//! a number of something else.
//!
//!   /sched_ext/scheduler.bpf.o    the scheduler; without it, the kernel keeps its own
//!   /sched_ext/                   bpftool, what it needs of libraries, and the loader of these

use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

const FOLDER: &str = "/sched_ext";
const SCHEDULER: &str = "scheduler.bpf.o";
const LOADER: &str = "ld.so";
const TOOL: &str = "bpftool";
/// Where the kernel reports the state of loaded schedulers.
const STATE: &str = "/sys/kernel/sched_ext";
/// The file system that keeps what is attached when the tool has ended.
const PINS: &str = "/sys/fs/bpf";
/// The kernel's log, a message a read, and how those begin that are of schedulers.
const LOG: &str = "/dev/kmsg";
const OURS: &str = "sched_ext: ";
/// The kernel's longest message, bytes; and how many of the tool's last lines are reported.
const LONGEST_MESSAGE: usize = 8192;
const TOLD_LINES: usize = 16;

/// A scheduler that the kernel has taken.
#[derive(Debug, PartialEq, Eq)]
pub struct Attached {
    name: String,
}

/// Has the kernel take the guest's scheduler, if it has one. `bpf` is mounted for it.
pub fn attach(mount: impl FnOnce(&str, &str) -> io::Result<()>) -> Result<Option<Attached>, String> {
    let folder = Path::new(FOLDER);
    if !folder.join(SCHEDULER).exists() {
        return Ok(None);
    }
    if !Path::new(STATE).exists() {
        return Err("tunables.sched_ext: this kernel is built without CONFIG_SCHED_CLASS_EXT".to_owned());
    }
    mount("bpf", PINS).map_err(|why| format!("{PINS}: bpf cannot be mounted: {why}"))?;
    load(folder)?;
    let state = State::read(Path::new(STATE));
    state.proves_all(&log()).map(|name| Some(Attached { name }))
}

impl Attached {
    /// Says, in the kernel's own words, why it is no longer the scheduler of all tasks.
    pub fn still(&self) -> Result<(), String> {
        match State::read(Path::new(STATE)).proves_all(&log())? {
            name if name == self.name => Ok(()),
            name => Err(format!("the scheduler {:?} has made way for {name:?}", self.name)),
        }
    }
}

/// Hands the scheduler to the kernel; it stays attached by its pin.
fn load(folder: &Path) -> Result<(), String> {
    let fault = |why: io::Error| format!("{}: {why}", folder.join(LOADER).display());
    let done = Command::new(folder.join(LOADER))
        .arg("--library-path")
        .args([folder.to_owned(), folder.join(TOOL)])
        .args(["struct_ops", "register"])
        .args([folder.join(SCHEDULER), PathBuf::from(PINS)])
        .stdin(Stdio::null())
        .output()
        .map_err(fault)?;
    if done.status.success() {
        return Ok(());
    }
    let said = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    Err(format!("the kernel does not take the scheduler; the end of what {TOOL} says:\n{}", end_of(&said)))
}

/// What the kernel reports of loaded schedulers.
#[derive(Debug, Default, PartialEq, Eq)]
struct State {
    /// "enabled", "disabled", or on the way.
    state: String,
    /// Whether tasks of every ordinary policy are the scheduler's, not only those of SCHED_EXT.
    all: bool,
    /// What the scheduler calls itself.
    name: String,
}

impl State {
    fn read(folder: &Path) -> State {
        let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default().trim().to_owned();
        State { state: text("state"), all: text("switch_all") == "1", name: text("root/ops") }
    }

    /// The scheduler's name, if all ordinary tasks are its own; else what the kernel has `said` of it.
    fn proves_all(self, said: &[String]) -> Result<String, String> {
        if self.state != "enabled" {
            let words = if said.is_empty() { "and the kernel says nothing of it".to_owned() } else { said.join("\n") };
            return Err(format!("the scheduler is not attached, its state is {:?}:\n{words}", self.state));
        }
        if !self.all {
            let name = self.name;
            return Err(format!("the scheduler {name:?} leaves ordinary tasks alone (SCX_OPS_SWITCH_PARTIAL)"));
        }
        Ok(self.name)
    }
}

/// What the kernel's log says of schedulers; nothing, where it cannot be read.
fn log() -> Vec<String> {
    let mut messages = Vec::new();
    let Ok(mut file) = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(LOG) else {
        return messages;
    };
    let mut message = [0; LONGEST_MESSAGE];
    // It ends where it would have to wait for the next message.
    while let Ok(length @ 1..) = file.read(&mut message) {
        messages.extend(of_scheduler(&String::from_utf8_lossy(&message[..length])));
    }
    messages
}

/// A message of the log without its prefix, if it is of a scheduler.
fn of_scheduler(message: &str) -> Option<String> {
    let (_, text) = message.split_once(';')?;
    let line = text.lines().next()?;
    line.starts_with(OURS).then(|| line.to_owned())
}

/// The last lines that have something in them.
fn end_of(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(TOLD_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const THROWN_OUT: &str = "sched_ext: BPF scheduler \"a\" disabled (runnable task stall)";

    fn state(state: &str, all: bool) -> State {
        State { state: state.to_owned(), all, name: "a".to_owned() }
    }

    #[test]
    fn a_scheduler_of_all_tasks_is_known_by_its_name() {
        assert_eq!(state("enabled", true).proves_all(&[THROWN_OUT.to_owned()]), Ok("a".to_owned()));
    }

    #[test]
    fn a_scheduler_that_was_thrown_out_is_a_fault_in_the_kernels_words() {
        let why = state("disabled", true).proves_all(&[THROWN_OUT.to_owned()]).unwrap_err();
        assert!(why.contains("\"disabled\"") && why.contains(THROWN_OUT), "{why}");
    }

    #[test]
    fn a_scheduler_of_some_tasks_is_a_fault() {
        let why = state("enabled", false).proves_all(&[]).unwrap_err();
        assert!(why.contains("SCX_OPS_SWITCH_PARTIAL"), "{why}");
    }

    #[test]
    fn a_folder_without_files_is_a_state_that_proves_nothing() {
        assert!(State::read(Path::new("/nowhere")).proves_all(&[]).is_err());
    }

    #[test]
    fn only_lines_of_schedulers_are_taken_from_the_log() {
        assert_eq!(of_scheduler(&format!("3,812,11,-;{THROWN_OUT}\n SUBSYSTEM=x\n")), Some(THROWN_OUT.to_owned()));
        assert_eq!(of_scheduler("6,1,1,-;Linux version 6.17"), None);
        assert_eq!(of_scheduler("sched_ext: no head"), None);
    }

    #[test]
    fn only_the_end_of_a_long_message_is_reported() {
        let long: String = (0..100).map(|number| format!("line {number}\n\n")).collect();
        let end = end_of(&long);
        assert!(end.starts_with("line 84\n") && end.ends_with("line 99"), "{end}");
        assert_eq!(end_of(""), "");
    }
}
