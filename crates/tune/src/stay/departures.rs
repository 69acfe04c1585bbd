//! What on this host is not as a profile says.

use super::profile::Profile;
use crate::{
    entry::Place,
    place::present,
    steps::{Wanted, judge},
};
use schedlab_linux::{Fault, Root};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// How a setting stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// As the profile says.
    Same,
    /// Another value.
    Differs,
    /// This kernel, device or elevator does not have it.
    Missing,
    /// It cannot be read: by this user, or (of `depth`) while an elevator is at work.
    Unreadable,
}

/// A setting of a profile, and what it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Departure {
    /// As the profile names it.
    pub setting: String,
    /// The kernel's file.
    pub path: PathBuf,
    /// As users write it.
    pub wanted: String,
    /// The present value; none if there is none.
    pub now: Option<String>,
    /// How it stands.
    pub standing: Standing,
}

/// Every setting of a profile with what it is now. Nothing is changed, and what cannot be set is no fault here.
pub fn departures(root: &Root, profile: &Profile, folder: &Path) -> Result<Vec<Departure>, Fault> {
    let wanted = wanted(root, profile, folder)?;
    Ok(wanted.iter().map(|one| departure(root, one)).collect())
}

pub(super) fn wanted(root: &Root, profile: &Profile, folder: &Path) -> Result<Vec<Wanted>, Fault> {
    profile.tunables.iter().map(|(setting, value)| judge(root, setting, value, folder)).collect()
}

pub(super) fn departure(root: &Root, one: &Wanted) -> Departure {
    // The file of the depth reads as the elevator's own length while there is one.
    let now = present(root, &one.found).map(|(raw, _)| raw).filter(|_| one.found.place != Place::Depth);
    let standing = match &now {
        Some(now) if *now == one.text => Standing::Same,
        Some(_) => Standing::Differs,
        None if root
            .path(&one.found.path)
            .symlink_metadata()
            .is_err_and(|why| why.kind() == std::io::ErrorKind::NotFound) =>
        {
            Standing::Missing
        }
        None => Standing::Unreadable,
    };
    Departure {
        setting: one.setting.clone(),
        path: one.found.path.clone(),
        wanted: one.tunable.decode(&one.text),
        now: now.map(|raw| one.tunable.decode(&raw)),
        standing,
    }
}
