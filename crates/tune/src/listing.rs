//! The tunables with what they are on this host.

use crate::{
    entry::{Family, Place, Tunable},
    place::{Access, Asked, find, present},
    table,
};
use schedlab_linux::{Fault, Root};
use schedlab_model::info::Domain;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// One tunable on this host.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// As to be typed.
    pub name: String,
    /// What it governs.
    pub family: Family,
    /// One line.
    pub meaning: &'static str,
    /// Present value as users write it; none if it cannot be read.
    pub value: Option<String>,
    /// What the file holds.
    pub raw: Option<String>,
    /// Allowed values in words.
    pub allowed: String,
    /// And as data.
    pub domain: Domain,
    /// What may be done.
    pub access: Access,
    /// Its file.
    pub path: PathBuf,
    /// What else depends on it.
    pub coupled: Option<&'static str>,
    /// The same tunable on other kernels, or why it is gone.
    pub elsewhere: Option<String>,
    /// First and last kernel that has it, empty where it is not known.
    pub kernels: (&'static str, &'static str),
}

/// All tunables of this host, or the requested ones; devices are those named, else the one of `folder`.
pub fn list(root: &Root, asked: &[String], folder: &Path) -> Result<Vec<Row>, Fault> {
    if asked.is_empty() {
        return Ok(table::all().filter_map(|t| row(root, t, None, folder).ok()).collect());
    }
    let one = |text: &String| {
        let asked = Asked::read(text);
        let tunable = table::named(asked.name).ok_or_else(|| {
            Fault::Wrong(format!("no such tunable: {:?}; schedlab host tunables lists them", asked.name))
        })?;
        row(root, tunable, asked.of, folder)
    };
    asked.iter().map(one).collect()
}

fn row(root: &Root, tunable: &'static Tunable, of: Option<&str>, folder: &Path) -> Result<Row, Fault> {
    let found = find(root, tunable, of, folder)?;
    let now = present(root, &found);
    let offered = now.as_ref().map(|n| n.1.join(", ")).filter(|o| !o.is_empty());
    let device = of.map(str::to_owned).or_else(|| device(tunable, &found.path));
    let value = now.map(|(raw, _)| (tunable.decode(&raw), raw));
    let elsewhere =
        tunable.gone.map(str::to_owned).or_else(|| tunable.also.map(|other| format!("the same as {other}")));
    Ok(Row {
        name: device.map_or_else(|| tunable.name.to_owned(), |d| format!("{}@{d}", tunable.name)),
        family: tunable.family,
        meaning: tunable.meaning,
        allowed: offered.unwrap_or_else(|| tunable.allowed()),
        domain: tunable.domain,
        access: found.access,
        path: found.path,
        coupled: tunable.coupled,
        elsewhere: elsewhere.filter(|_| found.access == Access::Missing),
        kernels: tunable.kernels,
        // The depth reads as the elevator's own length while there is one.
        value: value.as_ref().filter(|_| found.place != Place::Depth).map(|v| v.0.clone()),
        raw: value.map(|v| v.1),
    })
}

fn device(tunable: &Tunable, path: &Path) -> Option<String> {
    let name = path.strip_prefix("/sys/block").ok().filter(|_| tunable.of_device())?.iter().next()?;
    Some(name.to_string_lossy().into_owned())
}
