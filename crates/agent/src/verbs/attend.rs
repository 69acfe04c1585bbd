//! `schedlab-agent attend`: the daemon of attention levels, and the commands to it.

use schedlab_attention::{
    Daemon, Options, Status,
    socket::{self, Asked},
};
use schedlab_linux::{Fault, clock, process, shown};
use schedlab_model::{attention::Layout, attention::schema, units::parse_duration};
use schedlab_tune::journal_folder;
use serde::Serialize;
use serde_json::json;
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Attention levels.
#[derive(clap::Args)]
pub struct Attend {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Keep them until a signal comes, or for a while.
    Run(Run),
    /// Say what would be set.
    Preview(Given),
    /// Tell the daemon which process has the focus.
    Focus(Focus),
    /// Print its state.
    Status(At),
    /// Print the JSON Schema of layout files.
    Schema,
}

/// The layout, and where the focus comes from.
#[derive(clap::Args)]
struct Given {
    /// The layout file.
    #[arg(long)]
    layout: PathBuf,
    /// A file with the number of the process that has the focus.
    #[arg(long)]
    pid_file: Option<PathBuf>,
}

/// The daemon.
#[derive(clap::Args)]
struct Run {
    #[command(flatten)]
    given: Given,
    #[command(flatten)]
    at: At,
    /// How long; until a signal comes, if left out.
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration)]
    length: Option<u64>,
    /// Length of a period, 100ms to 1min; if left out, 2s, and longer where the daemon would use more than a thousandth of a processor.
    #[arg(long, value_name = "DURATION", value_parser = period)]
    every: Option<u64>,
    /// Folder of the journal.
    #[arg(long, default_value_os_t = journal_folder())]
    journal: PathBuf,
    /// Write the answer to this file instead of standard output, and say on standard error when it is at work.
    #[arg(long, hide = true)]
    answer: Option<PathBuf>,
}

/// Where the daemon's socket is.
#[derive(clap::Args)]
struct At {
    /// The socket for commands.
    #[arg(long)]
    socket: Option<PathBuf>,
}

/// Says where the focus is.
#[derive(clap::Args)]
struct Focus {
    /// The process; 0 is none.
    #[arg(value_parser = clap::value_parser!(i32).range(0..))]
    pid: i32,
    #[command(flatten)]
    at: At,
}

/// Shorter periods cost more than they are worth, and longer ones miss what goes on.
fn period(text: &str) -> Result<u64, String> {
    let value = parse_duration(text)?;
    let allowed = parse_duration("100ms")?..=parse_duration("1min")?;
    if allowed.contains(&value) { Ok(value) } else { Err(format!("{text} is not allowed; 100ms to 1min is")) }
}

impl At {
    fn place(&self) -> Result<PathBuf, Fault> {
        self.socket.clone().map_or_else(socket::usual_place, Ok)
    }
}

/// Prints a line of JSON.
fn say(value: &impl Serialize) -> Result<(), Fault> {
    let line = serde_json::to_string(value).map_err(|why| Fault::Wrong(why.to_string()))?;
    let mut out = std::io::stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|why| Fault::file("standard output", "write", why))
}

fn layout(path: &Path) -> Result<Layout, Fault> {
    let text = fs::read_to_string(path).map_err(|why| Fault::file(path, "read", why))?;
    Layout::read(&text, &path.display().to_string()).map_err(|why| Fault::Wrong(why.to_string()))
}

impl Attend {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        match self.what {
            What::Run(run) => return run.run(),
            What::Preview(given) => {
                say(&Daemon::new(layout(&given.layout)?, None, given.pid_file.as_deref())?.preview()?)?;
            }
            What::Focus(focus) => say(&socket::ask(&focus.at.place()?, Asked::Focus(focus.pid))?)?,
            What::Status(at) => say(&socket::ask(&at.place()?, Asked::Status)?)?,
            What::Schema => say(&schema())?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Run {
    /// Prints its state when it is at work, and at the end what was put back.
    fn run(self) -> Result<ExitCode, Fault> {
        let options = Options { period: self.every, length: self.length, socket: self.at.place()? };
        if self.answer.is_some() {
            // The one who asked has its own way to stop it, unless it is killed.
            process::signal_at_parents_end(libc::SIGTERM)
                .map_err(|why| Fault::Call { doing: "watching the parent".to_owned(), why })?;
        }
        let daemon = Daemon::new(layout(&self.given.layout)?, Some(&self.journal), self.given.pid_file.as_deref())?;
        let ended = daemon.run(&options, |status| self.at_work(status))?;
        let answer = json!({
            "ended": ended.status, "undone": ended.undone, "stopped_by_signal": ended.stopped,
            "processor_time_s": clock::process_time() as f64 / 1e9,
        });
        match &self.answer {
            Some(path) => fs::write(path, answer.to_string()).map_err(|why| Fault::file(path, "write", why))?,
            None => say(&answer)?,
        }
        ended.undone.succeeded()?;
        Ok(if ended.stopped { ExitCode::from(130) } else { ExitCode::SUCCESS })
    }

    fn at_work(&self, status: &Status) {
        if self.answer.is_none() {
            // A reader that is gone learns it at the end.
            let _ = say(&json!({ "at_work": status }));
            return;
        }
        eprintln!("at work; the focus comes from: {}", shown(&status.sources.join(", ")));
        for why in status.cannot.iter().chain(&status.without) {
            eprintln!("note: {}", shown(why));
        }
    }
}
