//! `schedlab-agent serve`: another subcommand on behalf of somebody on another computer, whose end it notices.
//!
//! ```text
//! the first line of standard input   {"words": ["run"], "given": "..."}: the subcommand, and its standard input
//! what follows                       a byte now and then, which says that the asker is still there
//! its end, or silence                the asker or the connection is gone: the subcommand is asked to stop, and waited for
//! ```
//!
//! The subcommand `run` gets this process as its parent, so it also ends when this one is killed.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use schedlab_linux::{Fault, pidfd, process};
use schedlab_model::units::parse_duration;
use serde::Deserialize;
use std::{
    io::{self, BufRead, Read, Write},
    os::{fd::AsFd, unix::process::ExitStatusExt},
    process::{Child, Command, ExitCode, ExitStatus, Stdio},
    time::{Duration, Instant},
};

/// The largest first line that is read.
const LARGEST: u64 = 128 << 20;
/// How often is looked whether the subcommand has ended, where the kernel cannot say when (before Linux 5.3).
const LOOK: Duration = Duration::from_millis(50);

/// What is asked for.
#[derive(Deserialize)]
struct Asked {
    words: Vec<String>,
    given: String,
}

/// Does what the first line of standard input asks for, as long as somebody is there to ask.
#[derive(clap::Args)]
pub struct Serve {
    /// The longest silence of the asker
    #[arg(long, default_value = "15s", value_parser = parse_duration)]
    silence: u64,
}

impl Serve {
    /// Does it, and ends as the subcommand does.
    pub fn run(self) -> Result<ExitCode, Fault> {
        let asked = first_line()?;
        let failed = |why| Fault::Call { doing: "starting what is asked for".to_owned(), why };
        let mut child = command(&asked.words).stdin(Stdio::piped()).spawn().map_err(failed)?;
        let mut input = child.stdin.take().expect("it is piped");
        // It may end without reading.
        std::thread::spawn(move || drop(input.write_all(asked.given.as_bytes())));
        let status = wait(&mut child, Duration::from_nanos(self.silence)).map_err(failed)?;
        Ok(code(status))
    }
}

/// The line, byte by byte past a buffer of the standard library's: what follows it is waited for by `poll`.
fn first_line() -> Result<Asked, Fault> {
    let fault = |why| Fault::file("standard input", "read", why);
    let input = std::fs::File::from(io::stdin().as_fd().try_clone_to_owned().map_err(fault)?);
    let mut text = Vec::new();
    // The bytes that say that the asker is there may be read with it: more of them come.
    io::BufReader::with_capacity(1 << 16, input).take(LARGEST).read_until(b'\n', &mut text).map_err(fault)?;
    serde_json::from_slice(&text).map_err(|why| Fault::Wrong(format!("the first line of standard input: {why}")))
}

fn command(words: &[String]) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.args(words);
    if words.first().is_some_and(|verb| verb == "run") {
        command.args(["--parent", &process::own_pid().to_string()]);
    }
    command
}

/// Waits for the subcommand's end, and has it stop once the asker is gone or silent for too long.
fn wait(child: &mut Child, silence: Duration) -> io::Result<ExitStatus> {
    let ended = pidfd::open(child.id() as i32).ok();
    let (input, mut heard) = (io::stdin(), Instant::now());
    while let Some(left) = silence.checked_sub(heard.elapsed()) {
        let mut watched = vec![PollFd::new(input.as_fd(), PollFlags::POLLIN)];
        watched.extend(ended.as_ref().map(|ended| PollFd::new(ended.as_fd(), PollFlags::POLLIN)));
        let longest = if ended.is_some() { left } else { left.min(LOOK) };
        // One more, for what is cut off.
        let limit = PollTimeout::try_from(longest.as_millis() + 1).unwrap_or(PollTimeout::MAX);
        let _ = poll(&mut watched, limit);
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if watched[0].any().unwrap_or(false) {
            match nix::unistd::read(input.as_fd(), &mut [0; 1 << 12]) {
                Ok(0) | Err(_) => break,
                Ok(_) => heard = Instant::now(),
            }
        }
    }
    process::kill(child.id() as i32, libc::SIGTERM);
    child.wait()
}

/// The status to end with; that of a signal is as shells say it.
fn code(status: ExitStatus) -> ExitCode {
    let number = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ExitCode::from(number as u8)
}
