//! A process that outlives the one that starts it: a subcommand of the same program, detached twice. The starter never has it among
//! its children, and no signal of its terminal reaches it.
//!
//! ```text
//! starter     run(command)          starts `... --detach` and reads one line
//! first       start_second()        starts the same without `--detach` and exits
//! second      settle()              has a session of its own, and nothing of the starter's but the pipe of the answer
//!             answer(line)          answers, and closes the pipe
//! ```

use crate::{Fault, files::close_inherited};
use std::{
    fs::OpenOptions,
    io::{Read, Write},
    os::unix::process::CommandExt,
    process::{Command, ExitCode, Stdio},
};

/// This program, also when its file has been replaced meanwhile.
pub const OWN_PROGRAM: &str = "/proc/self/exe";

/// Runs a subcommand that outlives this process, and returns the line that it answers.
pub fn run(mut command: Command) -> Result<String, Fault> {
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

/// In the first process: starts the same command again without `--detach`.
pub fn start_second() -> Result<ExitCode, Fault> {
    let arguments: Vec<_> = std::env::args_os().skip(1).filter(|a| a != "--detach").collect();
    let mut second = Command::new(OWN_PROGRAM);
    second.arg0("schedlab-agent").args(arguments).stdin(Stdio::null()).stderr(Stdio::null());
    second.spawn().map_err(|why| Fault::Call { doing: "cannot start the second process".to_owned(), why })?;
    Ok(ExitCode::SUCCESS)
}

/// At the start of the second process, before it opens anything: gives it a session of its own, and closes what it inherited.
pub fn settle() {
    let _ = nix::unistd::setsid();
    let _ = nix::unistd::chdir("/");
    close_inherited();
}

/// Answers with one line and closes the pipe, for whose end the starter waits.
pub fn answer(line: &str) -> Result<(), Fault> {
    let failed = |why| Fault::Call { doing: "cannot answer".to_owned(), why };
    let mut out = std::io::stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(failed)?;
    let null = OpenOptions::new().write(true).open("/dev/null").map_err(failed)?;
    nix::unistd::dup2_stdout(&null).map_err(|why| failed(why.into()))
}
