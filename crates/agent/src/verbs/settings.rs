//! The subcommands of tunables.

use schedlab_linux::{Fault, Root};
use schedlab_model::units::parse_duration;
use schedlab_tune::{
    applied::AppliedSettings,
    check, journal, journal_folder, listing, restorer,
    script::{Script, script},
    stay, steps, stop, strays,
    trial::{self, Verdict, decide},
    undo::{Undo, recover, would_undo},
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Prints one JSON document.
pub(super) fn print(value: &impl Serialize) -> Result<ExitCode, Fault> {
    println!("{}", serde_json::to_string(value).map_err(|why| Fault::Wrong(why.to_string()))?);
    Ok(ExitCode::SUCCESS)
}

pub(super) fn folder() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"))
}

/// Where the kernel's files and the journal are.
#[derive(clap::Args)]
pub struct Where {
    /// A tree of another kernel's files, for tests.
    #[arg(long, hide = true, default_value = "/")]
    pub(super) root: PathBuf,
    /// Folder of the journal.
    #[arg(long, default_value_os_t = journal_folder())]
    pub(super) journal: PathBuf,
}

/// `NAME=VALUE` as two.
fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) =
        text.split_once('=').ok_or_else(|| format!("{text:?} is not NAME=VALUE, as in swappiness=10"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn table(given: Vec<(String, String)>) -> Result<BTreeMap<String, String>, Fault> {
    let mut settings = BTreeMap::new();
    for (name, value) in given {
        if settings.insert(name.clone(), value).is_some() {
            return Err(Fault::Wrong(format!("{name} is given twice")));
        }
    }
    Ok(settings)
}

/// Says what this host permits.
#[derive(clap::Args)]
pub struct Check {
    #[command(flatten)]
    at: Where,
    /// How long to look at what else goes on.
    #[arg(long, default_value = "500ms", value_parser = parse_duration)]
    look: u64,
}

impl Check {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        let root = Root::at(&self.at.root);
        let tried = recover(&root, &self.at.journal);
        let mut undone = tried.unwrap_or_else(|why| Undo::failed(why.to_string()));
        undone.strays.extend(strays::look(&root, &self.at.journal));
        print(&check::check(&root, Duration::from_nanos(self.look), &undone))
    }
}

/// Lists the tunables with their present values.
#[derive(clap::Args)]
pub struct List {
    /// Some only: swappiness, elevator@vda.
    names: Vec<String>,
    /// A tree of another kernel's files, for tests.
    #[arg(long, hide = true, default_value = "/")]
    root: PathBuf,
}

impl List {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        print(&listing::list(&Root::at(self.root), &self.names, &folder())?)
    }
}

/// Sets tunables and takes them back unless confirmed in time.
#[derive(clap::Args)]
pub struct Apply {
    /// swappiness=10, elevator@vda=mq-deadline, rr_slice=36ms.
    #[arg(value_parser = setting)]
    settings: Vec<(String, String)>,
    /// Read the settings from standard input, a JSON object of names and values.
    #[arg(long, conflicts_with = "settings")]
    json_settings: bool,
    /// Take them back unless confirmed within this time.
    #[arg(long, default_value = "60s", value_parser = parse_duration)]
    confirm_within: u64,
    /// Change nothing; print the commands that would do it, and those that would take it back.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    at: Where,
}

impl Apply {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        let settings = if self.json_settings {
            let read = serde_json::from_reader(std::io::stdin().take(1 << 20));
            read.map_err(|why| Fault::Wrong(format!("the settings on standard input: {why}")))?
        } else {
            table(self.settings)?
        };
        if settings.is_empty() {
            return Err(Fault::Wrong("no settings: write NAME=VALUE, as in swappiness=10".to_owned()));
        }
        let root = Root::at(&self.at.root);
        if self.dry_run {
            let commands: Script = script(&root, &steps::plan(&root, &settings, &folder())?);
            return print(&commands);
        }
        // A refusal is the same in both processes; here it comes with nothing started.
        steps::plan(&root, &settings, &folder())?;
        print(&trial::begin(&root, &self.at.journal, &settings, Duration::from_nanos(self.confirm_within))?)
    }
}

/// Makes the settings of a trial stay.
#[derive(clap::Args)]
pub struct Confirm {
    #[command(flatten)]
    at: Where,
}

impl Confirm {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        let confirmed = decide(&self.at.journal, Verdict::Keep)?;
        if confirmed.is_empty() {
            return Err(Fault::Wrong("nothing waits to be confirmed: it was taken back, or never set".to_owned()));
        }
        print(&BTreeMap::from([("confirmed", confirmed)]))
    }
}

/// Puts back what dead runs have left changed, and ends trials.
#[derive(clap::Args)]
pub struct Restore {
    /// Change nothing; say what would be put back.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    at: Where,
}

impl Restore {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        let root = Root::at(&self.at.root);
        if self.dry_run {
            return print(&would_undo(&root, &self.at.journal)?);
        }
        decide(&self.at.journal, Verdict::End)?;
        let mut undone = recover(&root, &self.at.journal)?;
        undone.strays.extend(strays::look(&root, &self.at.journal));
        print(&undone.succeeded()?)
    }
}

/// Holds settings until its standard input ends, then puts them back.
#[derive(clap::Args)]
pub struct Hold {
    /// swappiness=10, elevator@vda=mq-deadline, rr_slice=36ms.
    #[arg(value_parser = setting)]
    settings: Vec<(String, String)>,
    #[command(flatten)]
    at: Where,
    /// Kill itself at this step, for a test.
    #[arg(long, hide = true)]
    stop_after: Option<u32>,
    /// Start no restorer, for a test.
    #[arg(long, hide = true)]
    no_restorer: bool,
}

impl Hold {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        let root = Root::at(&self.at.root);
        if self.no_restorer {
            restorer::disable(journal::Journal::open(&self.at.journal)?.folder());
        }
        if let Some(steps) = self.stop_after {
            stop::after(steps);
        }
        let applied = AppliedSettings::apply(&root, &table(self.settings)?, &self.at.journal)?;
        print(&BTreeMap::from([("rounded", applied.rounded())]))?;
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let changed = applied.check();
        let undo: Undo = applied.restore()?;
        print(&serde_json::json!({ "changed_meanwhile": changed, "undone": undo }))
    }
}

/// Prints a systemd unit that puts back at boot what a run could not.
#[derive(clap::Args)]
pub struct Unit {}

impl Unit {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        let program =
            std::env::current_exe().map_err(|why| Fault::Call { doing: "cannot find this program".to_owned(), why })?;
        print(&BTreeMap::from([("unit", unit(&program.to_string_lossy()))]))
    }
}

fn unit(program: &str) -> String {
    let program = stay::escaped(program);
    format!(
        "[Unit]\n\
         Description=Put back what schedlab could not before the machine stopped\n\
         ConditionDirectoryNotEmpty=/var/lib/schedlab/journal\n\
         After=local-fs.target systemd-sysctl.service\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         ExecStart=\"{program}\" restore\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n"
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_unit_runs_a_program_of_any_name() {
        let text = super::unit("/opt/a b/100%/schedlab-agent");
        assert!(text.contains("ExecStart=\"/opt/a b/100%%/schedlab-agent\" restore\n"), "{text}");
    }
}
