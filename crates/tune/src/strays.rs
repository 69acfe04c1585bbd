//! Objects that look like a run's and have no entry in the journal, because it was removed or is another one. They are named
//! and left alone, since a name proves nothing.

use crate::{journal::Journal, object::Object};
use schedlab_linux::{Root, mounts, tracefs::Tracefs};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// How the names of what runs make begin; the process follows.
const PREFIX: &str = "schedlab-";
/// Greatest depth at which groups are looked for, and their greatest number.
const DEEPEST: usize = 6;
const MOST: usize = 4096;

/// Everything of dead processes that is in no entry, a line each.
pub fn look(root: &Root, journal: &Path) -> Vec<String> {
    if *root != Root::default() {
        return Vec::new();
    }
    let known = known(journal);
    let mut all = Vec::new();
    for name in instances(root).into_iter().filter(|name| !known.contains(name) && is_stray(name)) {
        all.push(format!("tracing instance {name}: rmdir it below instances/ of tracefs"));
    }
    for group in groups(root).into_iter().filter(|path| !known.contains(&path.to_string_lossy().into_owned())) {
        all.push(format!("group {0}: rmdir {0}", group.display()));
    }
    let lines = |file: &str| root.read(file).unwrap_or_default();
    let named = |text: &str| text.split(['/', ' ']).find(|part| is_stray(part)).map(str::to_owned);
    let unknown = |text: &&str| named(text).is_some() && !known.iter().any(|known| text.contains(known.as_str()));
    for line in lines("/proc/mounts").lines().filter(unknown) {
        all.push(format!("mount {0}: umount {0}", line.split(' ').nth(1).unwrap_or(line)));
    }
    for line in lines("/proc/swaps").lines().filter(unknown) {
        all.push(format!("swap area {0}: swapoff {0}", line.split(' ').next().unwrap_or(line)));
    }
    for device in fs::read_dir(root.path("/sys/block")).into_iter().flatten().flatten() {
        let shown = fs::read_to_string(device.path().join("loop/backing_file")).unwrap_or_default();
        if unknown(&shown.trim()) {
            let name = device.file_name();
            all.push(format!("/dev/{0} on {1}: losetup -d /dev/{0}", name.to_string_lossy(), shown.trim()));
        }
    }
    all
}

/// Names and paths in the journal's entries.
fn known(journal: &Path) -> BTreeSet<String> {
    let text = |path: &PathBuf| path.to_string_lossy().into_owned();
    let of = |object: &Object| match object {
        Object::Instance { name, .. } => Some(name.clone()),
        Object::Cgroup { path, .. }
        | Object::Enclosure { path, .. }
        | Object::Mount { path, .. }
        | Object::Folder { path, .. } => Some(text(path)),
        _ => None,
    };
    let entries = journal.exists().then(|| Journal::open(journal).and_then(|journal| journal.entries()));
    entries.and_then(Result::ok).into_iter().flat_map(|(all, _)| all).filter_map(|entry| of(&entry.object)).collect()
}

/// Whether it is called as what a process makes that is no more.
fn is_stray(name: &str) -> bool {
    let owner = name.strip_prefix(PREFIX).map(|rest| rest.trim_start_matches("volume-").split('-').next());
    let owner = owner.flatten().and_then(|pid| pid.parse::<u32>().ok());
    owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists())
}

fn instances(root: &Root) -> Vec<String> {
    let Ok(tracefs) = Tracefs::open(root) else { return Vec::new() };
    let entries = fs::read_dir(tracefs.path("instances")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn groups(root: &Root) -> Vec<PathBuf> {
    let hierarchies = mounts::short(root).into_iter().filter(|mount| mount.is_unified().is_some());
    let mut left: Vec<(PathBuf, usize)> = hierarchies.map(|mount| (mount.point, 0)).collect();
    let (mut found, mut seen) = (Vec::new(), 0);
    while let Some((folder, depth)) = left.pop() {
        seen += 1;
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if seen > MOST || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if entry.file_name().to_str().is_some_and(is_stray) {
                found.push(entry.path());
            } else if depth < DEEPEST {
                left.push((entry.path(), depth + 1));
            }
        }
    }
    found
}
