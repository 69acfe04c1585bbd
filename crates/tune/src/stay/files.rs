//! A profile as the files that this system reads at boot. Nothing of schedlab is needed then.
//!
//! ```text
//! /proc/sys                 /etc/sysctl.d/90-schedlab-NAME.conf
//! /sys/block                /etc/udev/rules.d/90-schedlab-NAME.rules
//! groups of systemd         /etc/systemd/system/UNIT.d/90-schedlab-NAME.conf
//! the rest of /sys          /etc/systemd/system/schedlab-NAME.service, and its link in multi-user.target.wants
//! all of it, for TuneD      /etc/tuned/schedlab-NAME/tuned.conf; since TuneD 2.23 /etc/tuned/profiles/...
//! ```

use super::{group, overridden, profile::Profile, sysctl, tuned, udev, unit};
use crate::steps::{Plan, plan};
use schedlab_linux::{Fault, Root};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const UNITS: &str = "/etc/systemd/system";
const TUNED: &str = "/etc/tuned";

/// Who makes the settings at boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// systemd: sysctl.d, udev, units.
    Systemd,
    /// TuneD.
    Tuned,
}

/// A file of the system's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemFile {
    /// Where.
    pub path: PathBuf,
    /// What it holds; of a link, what it names.
    pub text: String,
    /// Whether it is a symbolic link.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub link: bool,
}

/// The files of a profile.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Files {
    /// In the order in which they are put in place.
    pub files: Vec<SystemFile>,
    /// What may not turn out as expected.
    pub notes: Vec<String>,
    /// What has the system read them without a boot.
    pub commands: Vec<String>,
}

/// The files of a profile on this host. What can be refused is refused as by `schedlab host apply`.
pub fn files(root: &Root, profile: &Profile, form: Form, folder: &Path) -> Result<Files, Fault> {
    let plan = plan(root, &profile.tunables, folder)?;
    let mut files = match form {
        Form::Systemd => for_systemd(root, profile, &plan)?,
        Form::Tuned => for_tuned(root, profile, &plan)?,
    };
    if plan.unmounted {
        files.notes.push("debugfs is not mounted: names of files below it are those of the newest kernels".to_owned());
    }
    Ok(files)
}

fn head(profile: &Profile) -> String {
    format!("From the schedlab profile {0}; schedlab host uninstall {0} removes what it installed.", profile.name)
}

/// Every file of the kernel with what is written into it: (setting, file, text).
fn writes(plan: &Plan) -> impl Iterator<Item = (&str, &Path, &str)> {
    plan.steps().filter_map(|step| Some((step.setting.as_str(), step.path.as_path(), step.text.as_deref()?)))
}

fn is_of_group(path: &Path) -> bool {
    !path.starts_with("/proc/sys") && !path.starts_with("/sys") || path.starts_with("/sys/fs/cgroup")
}

fn for_systemd(root: &Root, profile: &Profile, plan: &Plan) -> Result<Files, Fault> {
    let (mut sysctls, mut attributes, mut others) = (Vec::new(), Vec::new(), Vec::new());
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (setting, path, value) in writes(plan) {
        if let Some(key) = sysctl::key(path) {
            sysctls.push((key, value.to_owned()));
        } else if let Some(attribute) = udev::attribute(path, value) {
            attributes.push(attribute);
        } else if is_of_group(path) {
            let property = group::property(root, setting, path, value)?;
            groups.entry(property.unit).or_default().push(property.line);
        } else {
            others.push((path.to_owned(), value.to_owned()));
        }
    }
    let (name, head, mut made) = (&profile.name, head(profile), Files::default());
    if !sysctls.is_empty() {
        let path = format!("/etc/sysctl.d/90-schedlab-{name}.conf");
        made.notes.extend(overridden::notes(root, Path::new(&path), &sysctls));
        made.put(path, sysctl::text(&head, &sysctls));
    }
    if !attributes.is_empty() {
        let (text, notes) = udev::text(root, &head, &attributes);
        made.notes.extend(notes);
        made.put(format!("/etc/udev/rules.d/90-schedlab-{name}.rules"), text);
        made.commands.push("udevadm control --reload".to_owned());
    }
    for (unit, lines) in &groups {
        made.put(format!("{UNITS}/{unit}.d/90-schedlab-{name}.conf"), group::text(&head, unit, lines));
    }
    if !others.is_empty() {
        let unit = format!("schedlab-{name}.service");
        made.put(format!("{UNITS}/{unit}"), unit::text(&head, name, &others));
        let path = PathBuf::from(format!("{UNITS}/multi-user.target.wants/{unit}"));
        made.files.push(SystemFile { path, text: format!("../{unit}"), link: true });
    }
    if !groups.is_empty() || !others.is_empty() {
        made.commands.push("systemctl daemon-reload".to_owned());
    }
    Ok(made)
}

fn for_tuned(root: &Root, profile: &Profile, plan: &Plan) -> Result<Files, Fault> {
    if let Some((setting, ..)) = writes(plan).find(|(_, path, _)| is_of_group(path)) {
        return Err(Fault::Refused {
            what: setting.to_owned(),
            why: "TuneD makes its settings before there are groups".to_owned(),
            advice: "leave it out, or install the profile for systemd".to_owned(),
        });
    }
    // TuneD writes each file once, in an order of its own: what is in force only for the next step cannot be said.
    if let Some(step) = plan.steps().find(|step| step.passing) {
        return Err(Fault::Refused {
            what: step.setting.clone(),
            why: "the elevator has to go while it is written, which TuneD cannot do".to_owned(),
            advice: "leave it out, or install the profile for systemd".to_owned(),
        });
    }
    let writes: Vec<_> = writes(plan).map(|(_, path, value)| (path.to_owned(), value.to_owned())).collect();
    let below = Path::new(TUNED).join("profiles");
    let folder = if root.path(&below).is_dir() { below } else { PathBuf::from(TUNED) };
    let (name, mut made) = (format!("schedlab-{}", profile.name), Files::default());
    let path = folder.join(&name).join("tuned.conf");
    made.put(path, tuned::text(&head(profile), &profile.name, &profile.about, &writes));
    made.commands.push(format!("tuned-adm profile {name}"));
    Ok(made)
}

impl Files {
    fn put(&mut self, path: impl Into<PathBuf>, text: String) {
        self.files.push(SystemFile { path: path.into(), text, link: false });
    }
}
