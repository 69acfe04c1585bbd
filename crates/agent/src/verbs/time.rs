//! `schedlab-agent time`: runs a command and says where its time went, a JSON line for each run.

use schedlab_linux::{Fault, Root, shown};
use schedlab_observe::accounting::run::run;
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::{File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

/// The switch by which kernels from 5.14 on count waits: its file, and its name in the table of tunables.
const SWITCH: (&str, &str) = ("/proc/sys/kernel/task_delayacct", "delay_accounting");
/// What its file reads while waits are not counted.
const OFF: &str = "0";

/// Run a command and say where its time went.
#[derive(clap::Args)]
pub struct Time {
    /// How often.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// File for the answer; the command has standard output, too.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Change no setting of the kernel and make no control group, even if less is then known.
    #[arg(long)]
    touch_nothing: bool,
    /// Where changed settings are remembered until they are put back.
    #[arg(long, value_name = "FOLDER", default_value_os_t = schedlab_tune::journal_folder())]
    journal: PathBuf,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Time {
    /// Runs it. The exit status is the command's if it runs once; 127 and 126 as a shell's.
    pub fn run(self) -> Result<ExitCode, Fault> {
        let root = Root::default();
        let mut output = answers(self.output.as_deref())?;
        let delays = Delays::on(&root, &self.journal, self.touch_nothing);
        let journal = (!self.touch_nothing).then_some(self.journal.as_path());
        let mut status = 0;
        for _ in 0..self.repeat {
            let timed = match run(&root, &self.command, || delays.counted(&root), journal)? {
                Ok(timed) => timed,
                Err(not) => {
                    eprintln!("error: {}", shown(&not.why));
                    return Ok(ExitCode::from(not.status));
                }
            };
            let line = serde_json::to_string(&timed).expect("numbers and words are JSON");
            writeln!(output, "{line}").map_err(|why| Fault::file("the answer", "write", why))?;
            status = timed.status;
        }
        Ok(if self.repeat == 1 { ExitCode::from(status.clamp(0, 255) as u8) } else { ExitCode::SUCCESS })
    }
}

fn answers(path: Option<&Path>) -> Result<Box<dyn Write>, Fault> {
    let Some(path) = path else { return Ok(Box::new(io::stdout())) };
    let file: io::Result<File> = OpenOptions::new().create(true).append(true).open(path);
    Ok(Box::new(file.map_err(|why| Fault::file(path, "write", why))?))
}

/// The kernel's counting of waits, on as long as this lives: other runs with the same journal do not turn it off meanwhile.
struct Delays {
    /// Or why not.
    on: Result<(), String>,
    _applied: Option<schedlab_tune::AppliedSettings>,
}

impl Delays {
    fn on(root: &Root, journal: &Path, touch_nothing: bool) -> Delays {
        let (file, name) = SWITCH;
        let is_on = match root.read(file).as_deref().map(str::trim) {
            // An older kernel, which always counts.
            Err(_) => return Delays { on: Ok(()), _applied: None },
            Ok(text) => text != OFF,
        };
        if touch_nothing {
            let off = format!("{file} is 0, and is to stay so");
            return Delays { on: if is_on { Ok(()) } else { Err(off) }, _applied: None };
        }
        // Also where it is on: by another run, which would turn it off at its end.
        let settings = BTreeMap::from([(name.to_owned(), "true".to_owned())]);
        match schedlab_tune::AppliedSettings::share(root, &settings, journal) {
            Ok(applied) => Delays { on: Ok(()), _applied: Some(applied) },
            Err(_) if is_on => Delays { on: Ok(()), _applied: None },
            Err(fault) => Delays { on: Err(fault.to_string()), _applied: None },
        }
    }

    /// Whether waits were counted up to now, or why not.
    fn counted(&self, root: &Root) -> Result<(), String> {
        self.on.clone()?;
        let (file, _) = SWITCH;
        match root.read(file) {
            Ok(text) if text.trim() == OFF => Err(format!("another process wrote 0 to {file} meanwhile")),
            _ => Ok(()),
        }
    }
}
