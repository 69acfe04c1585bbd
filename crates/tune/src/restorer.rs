//! The restorer: a separate process that waits for its owner's death and then undoes the owner's remaining journal entries.
//! SIGKILL, a crash or a closed terminal does not leave the host changed.
//!
//! It is started before the first entry is written, as a program of its own (a fork would make every page that the owner
//! touches afterwards cost a copy), detached twice (the owner never sees it among its children), and in a session of its own
//! (no signal from a terminal reaches it). It waits on a pidfd, which shows the death whatever other processes have inherited.

use crate::{
    owner::Owner,
    undo::{Undo, recover_those},
};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use schedlab_linux::{
    Fault, Root,
    detached::{self, OWN_PROGRAM},
    pidfd,
    proc::task::start_of,
    signals,
};
use std::collections::BTreeSet;
use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

/// Attempts to undo an entry, and the pause between them.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_secs(1);
/// Journals for which this process has a restorer.
static STARTED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Starts a restorer for this process's entries, unless there is one. A program other than the agent (a test) has none: its
/// entries are undone by the next process that opens the journal.
pub fn ensure_started(root: &Root, folder: &Path) -> Result<(), Fault> {
    let agent =
        fs::read_link(OWN_PROGRAM).ok().and_then(|p| Some(p.file_name()?.to_str()?.starts_with("schedlab-agent")));
    let mut started = STARTED.lock().unwrap_or_else(|broken| broken.into_inner());
    if agent != Some(true) || !started.insert(folder.to_owned()) {
        return Ok(());
    }
    let own = Owner::own();
    let mut command = Command::new(OWN_PROGRAM);
    command.arg("restorer").args(["--owner", &own.pid.to_string(), "--start", &own.start.to_string()]);
    command.arg("--root").arg(root.path("/")).arg("--journal").arg(folder);
    let answer = detached::run(command)?;
    if answer.trim() == "ready" {
        return Ok(());
    }
    started.remove(folder);
    Err(Fault::Wrong(format!("the restorer did not start: it said {:?}", answer.trim())))
}

/// Starts no restorer for this process: for a test of the journal alone.
pub fn disable(folder: &Path) {
    STARTED.lock().unwrap_or_else(|broken| broken.into_inner()).insert(folder.to_owned());
}

/// In the restorer: waits for the death of an owner and undoes what it has left.
pub fn run(root: &Root, journal: &Path, pid: i32, start: u64) -> Result<(), Fault> {
    use nix::sys::signal::Signal::{SIGHUP, SIGINT, SIGTERM};
    detached::settle();
    signals::ignore(&[SIGHUP, SIGINT, SIGTERM]);
    // None before Linux 5.3.
    let handle = pidfd::open(pid).ok();
    detached::answer("ready")?;
    let lives = || start_of(pid) == Some(start);
    while lives() {
        match &handle {
            Some(handle) => {
                let _ = poll(&mut [PollFd::new(handle.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE);
            }
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    }
    let recover = || {
        let is_ours = |owner: &Owner| owner.pid == pid && owner.start == start;
        recover_those(root, journal, is_ours).and_then(Undo::succeeded)
    };
    let mut done = recover();
    for _ in 1..TRIES {
        if done.is_ok() {
            break;
        }
        std::thread::sleep(PAUSE);
        done = recover();
    }
    done.map(drop)
}
