//! The warden: a process of its own that waits for its owner's death and then undoes what the owner's journal still holds. So
//! SIGKILL, a crash or a closed terminal does not leave the host changed until somebody looks.
//!
//! It is started before the first entry is written, as a program of its own (a fork would make every page that the owner
//! touches afterwards cost a copy), detached twice (the owner never sees it among its children), and in a session of its own
//! (no signal from a terminal reaches it). It waits on a pidfd, which tells of the death whoever else has inherited what.

use super::owner::{Owner, start_of};
use super::undo::{Undo, recover_those};
use crate::{Fault, Root};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::time::Duration;

/// Our own program, also when its file has been replaced meanwhile.
const OWN: &str = "/proc/self/exe";
/// What could not be undone is tried again so often, with such a pause.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_secs(1);
/// Journals for which this process has a warden.
static GUARDED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Starts a warden for this process's entries, unless there is one. A program other than the agent (a test) has none: then
/// only the journal guards, and the next start of anything puts back.
pub fn guard(root: &Root, folder: &Path) -> Result<(), Fault> {
    let agent = fs::read_link(OWN).ok().and_then(|p| Some(p.file_name()?.to_str()?.starts_with("schedlab-agent")));
    let mut guarded = GUARDED.lock().unwrap_or_else(|broken| broken.into_inner());
    if agent != Some(true) || !guarded.insert(folder.to_owned()) {
        return Ok(());
    }
    let own = Owner::own();
    let mut command = Command::new(OWN);
    command.arg("warden").args(["--owner", &own.pid.to_string(), "--start", &own.start.to_string()]);
    command.arg("--root").arg(root.path("/")).arg("--journal").arg(folder);
    let answer = detached(command)?;
    if answer.trim() == "ready" {
        return Ok(());
    }
    guarded.remove(folder);
    Err(Fault::Wrong(format!("the warden did not start: it said {:?}", answer.trim())))
}

/// Leaves this process without a warden, for a test of the journal alone.
pub fn forgo(folder: &Path) {
    GUARDED.lock().unwrap_or_else(|broken| broken.into_inner()).insert(folder.to_owned());
}

/// Runs a subcommand of the agent that outlives this process, and gives the one line that it answers.
pub(crate) fn detached(mut command: Command) -> Result<String, Fault> {
    let failed = |why| Fault::Call { doing: "cannot start a process that outlives this one".to_owned(), why };
    command.arg0("schedlab-agent").arg("--detach").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut first = command.spawn().map_err(failed)?;
    let mut answer = String::new();
    let mut line = first.stdout.take().expect("it is piped").take(1 << 20);
    let read = line.read_to_string(&mut answer);
    first.wait().map_err(failed)?;
    read.map_err(failed)?;
    Ok(answer)
}

/// The first half of it: starts the same command again without `--detach`, and is gone.
pub(crate) fn go_on_detached() -> Result<ExitCode, Fault> {
    let arguments: Vec<_> = std::env::args_os().skip(1).filter(|a| a != "--detach").collect();
    let started =
        Command::new(OWN).arg0("schedlab-agent").args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).spawn();
    started.map_err(|why| Fault::Call { doing: "cannot start the second process".to_owned(), why })?;
    Ok(ExitCode::SUCCESS)
}

/// The second half: in a session of its own, with nothing of the starter's but the pipe of the answer.
pub(crate) fn settle_down() {
    let _ = nix::unistd::setsid();
    let _ = nix::unistd::chdir("/");
    // SAFETY: nothing of ours is open yet above the three standard descriptors.
    unsafe { libc::close_range(3, libc::c_uint::MAX, 0) };
}

/// Says the one line and lets go of the pipe, for whose end the starter waits.
pub(crate) fn answer(line: &str) -> Result<(), Fault> {
    let failed = |why| Fault::Call { doing: "cannot answer".to_owned(), why };
    let mut out = std::io::stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(failed)?;
    let null = OpenOptions::new().write(true).open("/dev/null").map_err(failed)?;
    nix::unistd::dup2_stdout(&null).map_err(|why| failed(why.into()))
}

/// Deaf to what a terminal sends when it closes or is interrupted.
pub(crate) fn ignore(signals: &[nix::sys::signal::Signal]) {
    use nix::sys::signal::{SigHandler, signal};
    for one in signals {
        // SAFETY: to ignore a signal installs no code.
        let _ = unsafe { signal(*one, SigHandler::SigIgn) };
    }
}

/// Waits for the death of an owner and undoes what it has left.
#[derive(clap::Args)]
pub struct Warden {
    #[arg(long)]
    owner: i32,
    #[arg(long)]
    start: u64,
    #[arg(long, default_value = "/")]
    root: PathBuf,
    #[arg(long)]
    journal: PathBuf,
    #[arg(long)]
    detach: bool,
}

impl Warden {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        if self.detach {
            return go_on_detached();
        }
        use nix::sys::signal::Signal::{SIGHUP, SIGINT, SIGTERM};
        settle_down();
        ignore(&[SIGHUP, SIGINT, SIGTERM]);
        let handle = pidfd(self.owner);
        answer("ready")?;
        self.wait(handle);
        let root = Root::at(&self.root);
        let recover = || {
            let is_ours = |owner: &Owner| owner.pid == self.owner && owner.start == self.start;
            recover_those(&root, &self.journal, is_ours).and_then(Undo::succeeded)
        };
        let mut done = recover();
        for _ in 1..TRIES {
            if done.is_ok() {
                break;
            }
            std::thread::sleep(PAUSE);
            done = recover();
        }
        done.map(|_| ExitCode::SUCCESS)
    }

    fn wait(&self, handle: Option<OwnedFd>) {
        while start_of(self.owner) == Some(self.start) {
            match &handle {
                Some(handle) => {
                    let _ = poll(&mut [PollFd::new(handle.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE);
                }
                None => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

/// A descriptor that can be read when the process has ended; none before Linux 5.3.
pub(crate) fn pidfd(pid: i32) -> Option<OwnedFd> {
    // SAFETY: the call takes two numbers and gives a descriptor, or -1.
    let handle = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let handle = i32::try_from(handle).ok().filter(|h| *h >= 0)?;
    // SAFETY: it was just opened, and nobody else has it.
    Some(unsafe { OwnedFd::from_raw_fd(handle) })
}
