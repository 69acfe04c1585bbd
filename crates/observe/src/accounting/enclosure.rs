//! A control group around the command, for the sake of its counter of processor time: it counts every task that was ever in
//! it, waited for or not. It limits nothing and changes no task's share: it is made only in a hierarchy in which a new group
//! is not a party of its own to the scheduler.
//!
//! It is in the journal before it is made, and carries the entry's marker. Whatever ends this process, the tasks that are left
//! in it go back to the group above, and it is removed.

use super::usage::Usage;
use nix::unistd::{AccessFlags, access};
use schedlab_linux::{Fault, Root, mounts};
use schedlab_tune::{Cleanup, Object, RunJournal, marker::mark_group};
use std::{
    fs::{self, File, OpenOptions},
    path::{Path, PathBuf},
};

/// The group. It goes when this is dropped.
pub(super) struct Enclosure {
    folder: PathBuf,
    _cleanup: Cleanup,
}

impl Enclosure {
    /// Makes one, empty. None where this user may not, or where it would change the shares of tasks.
    pub(super) fn make(root: &Root, journal: &Path) -> Option<Enclosure> {
        let place = place(root).filter(|place| access(place, AccessFlags::W_OK).is_ok())?;
        let made = (|| {
            let journal = RunJournal::open(root, journal);
            let (name, id) = journal.name()?;
            let folder = place.join(name);
            let memory = journal.enter(Object::Enclosure { path: folder.clone(), id: id.clone() })?;
            let made = fs::create_dir(&folder).and_then(|()| mark_group(&folder, &id));
            made.map_err(|why| Fault::file(&folder, "make", why))?;
            Ok::<_, Fault>(Enclosure { folder, _cleanup: memory })
        })();
        made.ok()
    }

    /// The file into which a process writes `0` to enter.
    pub(super) fn door(&self) -> Option<File> {
        OpenOptions::new().write(true).open(self.folder.join("cgroup.procs")).ok()
    }

    /// The usage of all tasks that were ever in it.
    pub(super) fn usage(&self) -> Option<Usage> {
        let read = |name: &str| fs::read_to_string(self.folder.join(name)).ok();
        match read("cpu.stat") {
            Some(text) => {
                let us = |name| keyed(&text, name).map(|us| us.saturating_mul(1000));
                Some(Usage { ran_ns: us("usage_usec")?, ticks: [us("user_usec")?, us("system_usec")?] })
            }
            None => {
                let ticks = read("cpuacct.stat").unwrap_or_default();
                let ticks = ["user", "system"].map(|name| keyed(&ticks, name).unwrap_or(0));
                Some(Usage { ran_ns: read("cpuacct.usage")?.trim().parse().ok()?, ticks })
            }
        }
    }
}

fn keyed(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// This process's own group in a hierarchy that counts processor time and in which a group below it has no share of its
/// own: of version 2, where the groups below have no controller `cpu`; else of version 1, where `cpuacct` is without `cpu`.
fn place(root: &Root) -> Option<PathBuf> {
    let own = root.read("/proc/self/cgroup").ok()?;
    let places = mounts::all(root).into_iter().filter_map(|mount| {
        let unified = mount.is_unified()?;
        if !unified && (!mount.has("cpuacct") || mount.has("cpu")) {
            return None;
        }
        let folder = mounts::own_group(root, &own, &mount, "cpuacct")?;
        let shared = fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
        let counts = !unified || folder.join("cpu.stat").exists();
        (counts && !shared.split_whitespace().any(|name| name == "cpu")).then_some((unified, folder))
    });
    places.max_by_key(|(unified, _)| *unified).map(|(_, folder)| folder)
}
