//! Where a tunable is on this host: its file, of the device or group that the user named, and whether it may be written.

use crate::{
    entry::{Encoding, Place, Tunable},
    reading::{MOST_BYTES, Reading, read_bounded},
};
use nix::unistd::{AccessFlags, access};
use schedlab_linux::{
    Fault, Root,
    mounts::{self, Mount, has_entries},
};
use serde::Serialize;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Where debugfs belongs.
pub const DEBUGFS: &str = "/sys/kernel/debug";

/// A tunable as the user named it: `elevator@vda`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked<'a> {
    /// Name of the tunable.
    pub name: &'a str,
    /// Device or group.
    pub of: Option<&'a str>,
}

impl<'a> Asked<'a> {
    /// Splits what the user wrote.
    pub fn read(text: &'a str) -> Asked<'a> {
        match text.split_once('@') {
            Some((name, of)) => Asked { name, of: Some(of) },
            None => Asked { name: text, of: None },
        }
    }
}

/// What the kernel lets us do with a tunable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// It can be changed.
    Writable,
    /// It is there, and cannot be changed.
    ReadOnly,
    /// It is there, or may be, and this user may not look.
    Forbidden,
    /// Its file system is not mounted, and this user may mount it.
    Unmounted,
    /// This kernel, or this device with its present settings, does not have it.
    Missing,
    /// Each task requests it for itself.
    PerTask,
}

/// A tunable's file on this host.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// By the kernel's absolute name.
    pub path: PathBuf,
    /// How its text is read.
    pub reading: Reading,
    /// Which of the places it is.
    pub place: Place,
    /// What may be done with it.
    pub access: Access,
}

/// Finds the file of a tunable: the first place that this kernel has; else the first, as missing.
pub fn find(root: &Root, tunable: &Tunable, of: Option<&str>, folder: &Path) -> Result<Found, Fault> {
    let device = if tunable.of_device() { Some(device(root, tunable, of, folder)?) } else { None };
    let group = if tunable.of_group() { Some(group(tunable, of)?) } else { None };
    if device.is_none() && group.is_none() && of.is_some() {
        return Err(Fault::Wrong(format!("{}: is of the whole host; write it without @", tunable.name)));
    }
    let mut first = None;
    for place in tunable.places {
        let Some(path) = file(root, *place, device.as_deref(), group) else { continue };
        let access = reach(root, *place, &path);
        let found = Found { reading: reading(tunable.encoding, *place), path, place: *place, access };
        let found = Found { access: offered(root, &found), ..found };
        if found.access != Access::Missing {
            return Ok(found);
        }
        first.get_or_insert(found);
    }
    first.ok_or_else(|| Fault::Refused {
        what: tunable.name.to_owned(),
        why: "this host has none of the control groups that it belongs to".to_owned(),
        advice: "mount them, or leave it out".to_owned(),
    })
}

fn reading(encoding: Encoding, place: Place) -> Reading {
    match (encoding, place) {
        (Encoding::Chosen, _) => Reading::Chosen,
        (Encoding::Flag(name), _) => Reading::Flag(name.to_owned()),
        (_, Place::Group2(_)) => Reading::First,
        _ => Reading::Plain,
    }
}

/// A flag that the file does not list is missing though the file is there.
fn offered(root: &Root, found: &Found) -> Access {
    if !matches!(found.reading, Reading::Flag(_)) || matches!(found.access, Access::Missing | Access::Unmounted) {
        return found.access;
    }
    match read_bounded(&root.path(&found.path)) {
        Ok(text) if found.reading.of(&text).is_none() => Access::Missing,
        _ => found.access,
    }
}

fn file(root: &Root, place: Place, device: Option<&str>, group: Option<&str>) -> Option<PathBuf> {
    let queue = || Path::new("/sys/block").join(device.unwrap_or_default()).join("queue");
    Some(match place {
        Place::Sysctl(name) => Path::new("/proc/sys").join(name),
        Place::Sysfs(path) => PathBuf::from(path),
        Place::Debug(name) => Path::new(DEBUGFS).join(name),
        Place::Queue(name) => queue().join(name),
        Place::Depth => queue().join("nr_requests"),
        Place::Iosched(_, name) => queue().join("iosched").join(name),
        Place::Group1(controller, file) => controller_mount(root, Some(controller))?.join(group?).join(file),
        Place::Group2(file) => controller_mount(root, None)?.join(group?).join(file),
        Place::Task => PathBuf::new(),
    })
}

/// Where the controller of version 1, or else version 2, is mounted.
pub fn controller_mount(root: &Root, controller: Option<&str>) -> Option<PathBuf> {
    let fits = |mount: &Mount| match (mount.is_unified(), controller) {
        (Some(false), Some(name)) => mount.has(name),
        (Some(true), None) => true,
        _ => false,
    };
    mounts::short(root).into_iter().find(fits).map(|mount| mount.point)
}

fn reach(root: &Root, place: Place, path: &Path) -> Access {
    if place == Place::Task {
        return Access::PerTask;
    }
    let real = root.path(path);
    match std::fs::metadata(&real) {
        // Under lockdown root sees the files of debugfs and may not open them.
        Ok(_) if matches!(place, Place::Debug(_)) && is_closed(&real) => Access::Forbidden,
        Ok(about) if about.permissions().mode() & 0o222 == 0 => Access::ReadOnly,
        Ok(_) if access(&real, AccessFlags::W_OK).is_ok() => Access::Writable,
        Ok(_) => Access::ReadOnly,
        Err(why) if why.kind() == std::io::ErrorKind::PermissionDenied => Access::Forbidden,
        Err(_) if matches!(place, Place::Debug(_)) && !has_entries(root, DEBUGFS) => {
            if nix::unistd::geteuid().is_root() { Access::Unmounted } else { Access::Forbidden }
        }
        Err(_) => Access::Missing,
    }
}

fn is_closed(path: &Path) -> bool {
    std::fs::File::open(path).is_err_and(|why| why.kind() == std::io::ErrorKind::PermissionDenied)
}

fn group<'a>(tunable: &Tunable, of: Option<&'a str>) -> Result<&'a str, Fault> {
    let name = of.map(|g| g.trim_matches('/')).filter(|g| !g.is_empty());
    let name = name.ok_or_else(|| {
        Fault::Wrong(format!(
            "{}: of which group? Write {}@GROUP, its path below the controller",
            tunable.name, tunable.name
        ))
    })?;
    if name.len() > 1000 || name.split('/').any(|part| part == ".." || part == "." || part.is_empty()) {
        return Err(Fault::Wrong(format!("{}: {name:?} is no group's path", tunable.name)));
    }
    Ok(name)
}

fn device(root: &Root, tunable: &Tunable, of: Option<&str>, folder: &Path) -> Result<String, Fault> {
    let Some(name) = of else { return device_of(root, folder).ok_or_else(|| nameless(root, tunable, folder)) };
    let name = name.strip_prefix("/dev/").unwrap_or(name);
    let plain = !name.is_empty() && name.len() < 64 && !name.starts_with('.') && !name.contains('/');
    if plain && root.path("/sys/block").join(name).join("queue").is_dir() {
        return Ok(name.to_owned());
    }
    let known = devices(root).join(", ");
    Err(Fault::Wrong(format!("{}: no block device {name:?}; this host has {known}", tunable.name)))
}

fn nameless(root: &Root, tunable: &Tunable, folder: &Path) -> Fault {
    Fault::Refused {
        what: tunable.name.to_owned(),
        why: format!("no block device lies directly below {}", folder.display()),
        advice: format!("name one, as in {}@{}", tunable.name, devices(root).join(" or @")),
    }
}

/// The block devices with a queue, by name.
pub fn devices(root: &Root) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(root.path("/sys/block")) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|e| e.path().join("queue").is_dir())
        .filter_map(|e| e.file_name().into_string().ok())
        .take(256)
        .collect();
    names.sort();
    names
}

/// The block device under a folder's file system; the whole disk of a partition.
pub fn device_of(root: &Root, folder: &Path) -> Option<String> {
    let number = std::fs::metadata(folder).ok()?.dev();
    let (major, minor) = (nix::sys::stat::major(number), nix::sys::stat::minor(number));
    let place = std::fs::canonicalize(root.path(format!("/sys/dev/block/{major}:{minor}"))).ok()?;
    let whole = if place.join("partition").exists() { place.parent()? } else { &place };
    let name = whole.file_name()?.to_str()?.to_owned();
    root.path("/sys/block").join(&name).join("queue").is_dir().then_some(name)
}

/// What a file holds now, as its reading has it, and the words that it offers. None if it cannot be read.
pub fn present(root: &Root, found: &Found) -> Option<(String, Vec<String>)> {
    let text = read_bounded(&root.path(&found.path)).ok()?;
    debug_assert!(text.len() <= MOST_BYTES);
    Some((found.reading.of(&text)?, found.reading.offers(&text)))
}
