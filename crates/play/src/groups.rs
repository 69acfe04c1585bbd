//! Groups of tasks as control groups: of version 1 where the controller is mounted so, else of version 2. Made before the
//! tasks, and removed after them on every way out: each that does not lie in another is in the journal and carries its marker.
//!
//! The weights and limits are written only when all tasks are in their groups and wait for the start, and lifted before they
//! are killed: a task in a group with next to no share can neither get ready nor die.
//!
//! They are made in the agent's own control group, so that a group competes with the tasks that have none, as in a scenario.

use schedlab_linux::{Root, mapping::PAGE, mounts};
use schedlab_model::{scenario::GroupSpec, units::Size};
use schedlab_tune::{Cleanup, Object, RunJournal, marker::mark_group};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Where a controller is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hierarchy {
    /// Whether it is of version 2.
    unified: bool,
    /// The agent's own control group in it.
    base: PathBuf,
}

/// A group's folders.
#[derive(Debug)]
struct Made {
    name: String,
    spec: GroupSpec,
    /// By controller, as [`CONTROLLERS`]; one folder for both in version 2.
    folders: [Option<PathBuf>; 2],
}

/// The controllers that are used: the second one only where memory is limited.
const CONTROLLERS: [&str; 2] = ["cpu", "memory"];

/// All groups of a run.
#[derive(Debug)]
pub(crate) struct Groups {
    hierarchies: [Option<Hierarchy>; 2],
    /// Parents before their children.
    made: Vec<Made>,
    /// Remove them.
    cleanups: Vec<Cleanup>,
    /// What could not be done, in words.
    pub refused: Vec<String>,
}

impl Groups {
    /// Makes them. What this host does not permit is reported in `refused`, and the tasks run without.
    pub fn new(journal: &RunJournal, specs: &BTreeMap<String, GroupSpec>) -> Groups {
        let hierarchies = CONTROLLERS.map(|controller| hierarchy(journal.root(), controller));
        let mut groups = Groups { hierarchies, made: Vec::new(), cleanups: Vec::new(), refused: Vec::new() };
        let wanted = [true, specs.values().any(|spec| spec.memory.is_some())];
        let mut left: Vec<&String> = specs.keys().collect();
        // A parent may follow its child in alphabetical order.
        while let Some(at) = left.iter().position(|name| groups.parent_is_made(&specs[*name])) {
            let name = left.remove(at);
            let mut folders = [None, None];
            for which in [0, 1].into_iter().filter(|&which| wanted[which]) {
                folders[which] = groups.make(journal, name, &specs[name], which, &folders);
            }
            groups.made.push(Made { name: name.clone(), spec: specs[name].clone(), folders });
        }
        groups
    }

    fn parent_is_made(&self, spec: &GroupSpec) -> bool {
        spec.parent.as_ref().is_none_or(|parent| self.made.iter().any(|made| made.name == *parent))
    }

    /// The group's folder under that controller; `folders` are those that it has under others.
    fn make(
        &mut self,
        journal: &RunJournal,
        name: &str,
        spec: &GroupSpec,
        which: usize,
        folders: &[Option<PathBuf>],
    ) -> Option<PathBuf> {
        let number = self.made.len();
        let parent = self.made.iter().find(|made| Some(&made.name) == spec.parent.as_ref());
        let parent = parent.map(|parent| parent.folders[which].clone());
        let made = match (self.hierarchies[which].clone(), parent) {
            (None, _) => Err(format!("no control groups with the controller {:?} are mounted", CONTROLLERS[which])),
            (Some(_), Some(None)) => Err("its parent could not be made".to_owned()),
            (Some(hierarchy), Some(Some(folder))) => {
                delegate(&hierarchy, which, &folder);
                create(&folder.join(format!("g{number}")))
            }
            (Some(hierarchy), None) => {
                delegate(&hierarchy, which, &hierarchy.base);
                let there = folders.iter().flatten().find(|folder| folder.parent() == Some(&hierarchy.base));
                there.cloned().map_or_else(|| self.make_marked(journal, &hierarchy.base), Ok)
            }
        };
        made.map_err(|why| self.refused.push(format!("group {name}: {why}"))).ok()
    }

    /// One that lies in none of ours: what is in it goes with it.
    fn make_marked(&mut self, journal: &RunJournal, base: &Path) -> Result<PathBuf, String> {
        let (name, id) = journal.name().map_err(|why| why.to_string())?;
        let path = base.join(name);
        let object = Object::Cgroup { path: path.clone(), id: id.clone() };
        let memory = journal.enter(object).map_err(|why| why.to_string())?;
        create(&path)?;
        mark_group(&path, &id).map_err(|why| format!("{} cannot be marked as ours: {why}", path.display()))?;
        self.cleanups.push(memory);
        Ok(path)
    }

    /// Moves the calling process into the group.
    pub fn join(&self, name: &str) -> io::Result<()> {
        let made = self.made.iter().find(|made| made.name == name);
        let folders: Vec<&PathBuf> = made.iter().flat_map(|made| made.folders.iter().flatten()).collect();
        if folders.is_empty() {
            return Err(io::Error::from_raw_os_error(libc::ENOENT));
        }
        folders.into_iter().try_for_each(|folder| fs::write(folder.join("cgroup.procs"), "0"))
    }

    /// The way into the group for tasks at work; there is none, if it could not be made.
    pub fn entrance(&self, name: &str) -> Entrance {
        let made = self.made.iter().find(|made| made.name == name);
        Entrance::to(made.iter().flat_map(|made| made.folders.iter().flatten()).map(PathBuf::as_path))
    }

    /// The way back to where tasks without a group are.
    pub fn way_out(&self) -> Entrance {
        let used = |which: &usize| self.made.iter().any(|made| made.folders[*which].is_some());
        let bases = (0..CONTROLLERS.len()).filter(used).filter_map(|which| self.hierarchies[which].as_ref());
        let bases: Vec<&Path> = bases.map(|hierarchy| hierarchy.base.as_path()).collect();
        match bases.is_empty() {
            // Where there are no groups, all tasks are outside.
            true => Entrance { lists: Vec::new(), nowhere: false },
            false => Entrance::to(bases.into_iter()),
        }
    }

    /// Each folder with the number of its controller, whether it is of version 2, and its group.
    fn folders(&self) -> impl DoubleEndedIterator<Item = (usize, bool, &Path, &Made)> {
        let of_group = |made| CONTROLLERS.iter().enumerate().map(move |(which, _)| (which, made));
        self.made.iter().flat_map(of_group).filter_map(|(which, made): (usize, &Made)| {
            let unified = self.hierarchies[which].as_ref()?.unified;
            Some((which, unified, made.folders[which].as_deref()?, made))
        })
    }

    /// Lets weights and limits hold.
    pub fn limit(&mut self) {
        let mut refused = Vec::new();
        for (which, unified, folder, made) in self.folders() {
            for (file, value) in settings(which, unified, &made.spec) {
                if let Err(why) = set(&folder.join(file), &value) {
                    refused.push(format!("group {}: {file} = {value:?}: {why}", made.name));
                }
            }
        }
        self.refused.extend(refused);
    }

    /// Lifts weights and limits, so that all tasks can die.
    pub fn lift(&self) {
        for (which, unified, folder, _) in self.folders() {
            for (file, value) in free(which, unified) {
                // A file that this kernel does not have limits nothing.
                let _ = fs::write(folder.join(file), value);
            }
        }
    }
}

/// A way into a control group: the lists of its processes, open.
#[derive(Debug)]
pub(crate) struct Entrance {
    lists: Vec<File>,
    /// Whether there is no such group.
    nowhere: bool,
}

impl Entrance {
    fn to<'a>(folders: impl Iterator<Item = &'a Path>) -> Entrance {
        let mut folders: Vec<&Path> = folders.collect();
        folders.dedup();
        let lists = folders.iter().map(|folder| File::options().write(true).open(folder.join("cgroup.procs")));
        let lists: Vec<File> = lists.filter_map(Result::ok).collect();
        Entrance { nowhere: folders.is_empty() || lists.len() < folders.len(), lists }
    }

    /// Moves the calling process there. The kernel has done it when the call returns. Allocates nothing.
    pub fn enter(&self) -> io::Result<()> {
        if self.nowhere {
            return Err(io::Error::from_raw_os_error(libc::ENOENT));
        }
        self.lists.iter().try_for_each(|mut list| list.write_all(b"0"))
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        self.lift();
        while self.cleanups.pop().is_some() {}
    }
}

/// The files of a group and their contents.
///
///   weight of version 2 = weight of version 1 * 100 / 1024, from 1 to 10000
fn settings(which: usize, unified: bool, spec: &GroupSpec) -> Vec<(&'static str, String)> {
    if which == 1 {
        let file = if unified { "memory.max" } else { "memory.limit_in_bytes" };
        // The kernel counts in pages.
        let pages = |size: Size| (size.0 & !(PAGE as u64 - 1)).to_string();
        return spec.memory.map(|size| (file, pages(size))).into_iter().collect();
    }
    let us = |ns: u64| (ns / 1000).max(1);
    let period = us(spec.period.0);
    let quota = spec.quota.map(|quota| us(quota.0));
    let burst = spec.burst.map(|burst| us(burst.0).to_string());
    if unified {
        let weight = ((u64::from(spec.weight) * 100 + 512) / 1024).clamp(1, 10_000);
        let mut all = vec![("cpu.weight", weight.to_string())];
        all.extend(quota.map(|quota| ("cpu.max", format!("{quota} {period}"))));
        all.extend(burst.map(|burst| ("cpu.max.burst", burst)));
        return all;
    }
    let mut all = vec![("cpu.shares", spec.weight.to_string())];
    if let Some(quota) = quota {
        all.extend([("cpu.cfs_period_us", period.to_string()), ("cpu.cfs_quota_us", quota.to_string())]);
        all.extend(burst.map(|burst| ("cpu.cfs_burst_us", burst)));
    }
    all
}

/// The value that means no limit.
fn free(which: usize, unified: bool) -> &'static [(&'static str, &'static str)] {
    match (which, unified) {
        (1, true) => &[("memory.max", "max")],
        (1, false) => &[("memory.limit_in_bytes", "-1")],
        (_, true) => &[("cpu.weight", "100"), ("cpu.max", "max")],
        (_, false) => &[("cpu.shares", "1024"), ("cpu.cfs_quota_us", "-1")],
    }
}

/// Writes a value and looks whether it took.
fn set(file: &Path, value: &str) -> Result<(), String> {
    fs::write(file, value).map_err(|why| why.to_string())?;
    let found = fs::read_to_string(file).map_err(|why| why.to_string())?;
    match found.trim() == value {
        true => Ok(()),
        false => Err(format!("it is {:?} instead", found.trim())),
    }
}

/// Has groups in this folder have the controller.
fn delegate(hierarchy: &Hierarchy, which: usize, folder: &Path) {
    if hierarchy.unified {
        // Said already is as good; refused shows when the group's files are missing.
        let _ = fs::write(folder.join("cgroup.subtree_control"), format!("+{}", CONTROLLERS[which]));
    }
}

/// Makes a group's folder. One that lies in a group of ours may be there: under version 2 both controllers have the same.
fn create(path: &Path) -> Result<PathBuf, String> {
    match fs::create_dir(path) {
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => Ok(path.to_owned()),
        Err(why) => Err(format!("{} cannot be made: {why}", path.display())),
        Ok(()) => Ok(path.to_owned()),
    }
}

/// Where a controller is, as this process sees it.
fn hierarchy(root: &Root, controller: &str) -> Option<Hierarchy> {
    let own = root.read("/proc/self/cgroup").ok()?;
    mounts::all(root).into_iter().find_map(|mount| {
        let unified = mount.is_unified()?;
        let controllers = match unified {
            true => fs::read_to_string(root.path(&mount.point).join("cgroup.controllers")).ok()?,
            false => mount.options.replace(',', " "),
        };
        controllers.split_whitespace().find(|name| *name == controller)?;
        Some(Hierarchy { unified, base: mounts::own_group(root, &own, &mount, controller)? })
    })
}
