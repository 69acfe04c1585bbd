//! The subcommands of profiles: settings that stay. A profile comes as JSON on standard input: its text, and the name of its file.

use super::settings::{Where, folder, print};
use schedlab_linux::{Fault, Root};
use schedlab_model::units::parse_duration;
use schedlab_tune::{
    listing,
    stay::{self, Form, Profile, Watch},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The largest profile that is read.
const LARGEST: u64 = 1 << 20;
/// The shortest period of a watch: reading takes some microseconds a setting.
const SHORTEST: u64 = 10_000_000;

/// A profile: its file, or the name of one that is in place.
#[derive(Deserialize)]
#[serde(untagged)]
enum Given {
    File { text: String, called: String },
    Installed { name: String },
}

/// Does something with the profile on standard input. What is wrong with its settings is said of its file.
fn with_given<T>(at: &Where, work: impl FnOnce(&Root, &Profile) -> Result<T, Fault>) -> Result<T, Fault> {
    let read: Result<Given, _> = serde_json::from_reader(std::io::stdin().take(LARGEST));
    let root = Root::at(&at.root);
    match read.map_err(|why| Fault::Wrong(format!("the profile on standard input: {why}")))? {
        Given::File { text, called } => {
            let profile = Profile::read(&text, &called)?;
            work(&root, &profile).map_err(|fault| Fault::Wrong(format!("{called}: {fault}")))
        }
        Given::Installed { name } => work(&root, &stay::installed_profile(&at.journal, &name)?),
    }
}

/// Who makes the settings at boot.
#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum As {
    /// systemd: sysctl.d, udev, units.
    #[default]
    Systemd,
    /// TuneD.
    Tuned,
}

impl From<As> for Form {
    fn from(form: As) -> Form {
        match form {
            As::Systemd => Form::Systemd,
            As::Tuned => Form::Tuned,
        }
    }
}

/// Makes a profile of settings: those with a value as given, the others as they are now.
#[derive(clap::Args)]
pub struct New {
    /// Name of the profile.
    name: String,
    /// swappiness=10, or swappiness for its present value.
    #[arg(required = true)]
    settings: Vec<String>,
    /// What is said of it.
    #[arg(long, default_value = "")]
    about: String,
    /// A tree of another kernel's files, for tests.
    #[arg(long, hide = true, default_value = "/")]
    root: PathBuf,
}

impl New {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        let root = Root::at(&self.root);
        let mut tunables = BTreeMap::new();
        for setting in &self.settings {
            let (name, value) = read(&root, setting)?;
            if tunables.insert(name.clone(), value).is_some() {
                return Err(Fault::Wrong(format!("{name} is given twice")));
            }
        }
        let profile = Profile::new(&self.name, &self.about, tunables)?;
        // What no host like this one could set is refused before it is in a file.
        stay::departures(&root, &profile, &folder())?;
        print(&serde_json::json!({ "profile": profile, "text": profile.text() }))
    }
}

/// A setting, of a device by its name, and its value.
fn read(root: &Root, text: &str) -> Result<(String, String), Fault> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value.trim())),
        None => (text.trim(), None),
    };
    let rows = listing::list(root, &[name.to_owned()], &folder())?;
    let row = rows.into_iter().next().ok_or_else(|| Fault::Wrong(format!("no such tunable: {name:?}")))?;
    let value = value.map(str::to_owned).or(row.value).ok_or_else(|| Fault::Refused {
        what: row.name.clone(),
        why: format!("{} cannot be read", row.path.display()),
        advice: format!("give its value, as in {}=VALUE", row.name),
    })?;
    Ok((row.name, value))
}

/// Prints the files that a profile becomes.
#[derive(clap::Args)]
pub struct Print {
    /// Who makes the settings at boot.
    #[arg(long = "as", value_enum, default_value_t)]
    form: As,
    #[command(flatten)]
    at: Where,
}

impl Print {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        let form = self.form.into();
        print(&with_given(&self.at, |root, profile| stay::files(root, profile, form, &folder()))?)
    }
}

/// Puts a profile in place.
#[derive(clap::Args)]
pub struct Install {
    /// Who makes the settings at boot.
    #[arg(long = "as", value_enum, default_value_t)]
    form: As,
    #[command(flatten)]
    at: Where,
    /// Kill itself at this step, for a test.
    #[arg(long, hide = true)]
    stop_after: Option<u32>,
}

impl Install {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        if let Some(steps) = self.stop_after {
            schedlab_tune::stop::after(steps);
        }
        let (form, journal) = (self.form.into(), &self.at.journal);
        print(&with_given(&self.at, |root, profile| stay::install(root, journal, profile, form, &folder()))?)
    }
}

/// Takes a profile back.
#[derive(clap::Args)]
pub struct Uninstall {
    /// Its name.
    name: String,
    /// Also files that were changed since.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    at: Where,
}

impl Uninstall {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        print(&stay::uninstall(&Root::at(&self.at.root), &self.at.journal, &self.name, self.force)?)
    }
}

/// Lists the profiles in place.
#[derive(clap::Args)]
pub struct Installed {
    #[command(flatten)]
    at: Where,
}

impl Installed {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        print(&stay::installed(&self.at.journal)?)
    }
}

/// Compares a profile with this host.
#[derive(clap::Args)]
pub struct Departures {
    #[command(flatten)]
    at: Where,
}

impl Departures {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        print(&with_given(&self.at, |root, profile| {
            let found = stay::departures(root, profile, &folder())?;
            Ok(serde_json::json!({ "profile": profile, "settings": found }))
        })?)
    }
}

/// Watches the settings of a profile: a line of JSON with all of them, then one for each change.
#[derive(clap::Args)]
pub struct WatchSettings {
    /// How often they are read.
    #[arg(long, default_value = "1s", value_parser = parse_duration)]
    every: u64,
    /// For how long; for ever by default.
    #[arg(long = "for", value_parser = parse_duration)]
    lasting: Option<u64>,
    #[command(flatten)]
    at: Where,
}

/// A line: when, in seconds since 1970, and what.
#[derive(Serialize)]
struct Line {
    at: f64,
    #[serde(flatten)]
    what: stay::Altered,
}

impl WatchSettings {
    /// Does it.
    pub fn run(self) -> Result<ExitCode, Fault> {
        if self.every < SHORTEST {
            return Err(Fault::Wrong("--every: the shortest period is 10ms".to_owned()));
        }
        let mut watch = with_given(&self.at, |root, profile| Watch::begin(root, profile, &folder()))?;
        print(&serde_json::json!({ "settings": watch.standing(), "names_writers": watch.names_writers() }))?;
        let period = Duration::from_nanos(self.every);
        let end = self.lasting.map(|ns| Instant::now() + Duration::from_nanos(ns));
        let left = || end.map_or(period, |end| end.saturating_duration_since(Instant::now()));
        while !left().is_zero() {
            for what in watch.next(period.min(left())) {
                let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
                print(&Line { at, what })?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
