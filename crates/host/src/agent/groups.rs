//! Groups of tasks as control groups: of version 1 where the controller is mounted so, else of version 2. Made before the
//! tasks, and removed after them on every way out.
//!
//! The weights and limits are written only when all tasks are in their groups and wait for the start, and lifted before they
//! are killed: a task in a group with next to no share can neither get ready nor die.
//!
//! They stand beside the agent's own control group's other contents, so that a group competes with the tasks that have none, as
//! in a scenario.

use super::system::own_pid;
use crate::Root;
use schedlab_model::scenario::GroupSpec;
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// What every control group of ours is called, before the agent's number.
const PREFIX: &str = "schedlab-";
/// How often a group is tried to be removed, and with what pauses: the kernel needs a moment to forget dead tasks.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

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
    cpu: Option<PathBuf>,
}

/// All groups of a run.
#[derive(Debug)]
pub(super) struct Groups {
    cpu: Option<Hierarchy>,
    /// Parents before their children.
    made: Vec<Made>,
    /// What could not be done, in words.
    pub refused: Vec<String>,
}

impl Groups {
    /// Makes them. What this host does not permit is told in `refused`, and the tasks run without.
    pub fn new(root: &Root, specs: &BTreeMap<String, GroupSpec>) -> Groups {
        let cpu = hierarchy(root, "cpu");
        cpu.iter().for_each(|hierarchy| sweep(&hierarchy.base));
        let mut groups = Groups { cpu, made: Vec::new(), refused: Vec::new() };
        let mut left: Vec<&String> = specs.keys().collect();
        // A parent may stand behind its child in the alphabet.
        while let Some(at) = left.iter().position(|name| groups.parent_is_made(&specs[*name])) {
            let name = left.remove(at);
            groups.make(name, &specs[name]);
        }
        groups
    }

    fn parent_is_made(&self, spec: &GroupSpec) -> bool {
        spec.parent.as_ref().is_none_or(|parent| self.made.iter().any(|made| made.name == *parent))
    }

    fn make(&mut self, name: &str, spec: &GroupSpec) {
        let number = self.made.len();
        let parent = self.made.iter().find(|made| Some(&made.name) == spec.parent.as_ref());
        let cpu = match (&self.cpu, parent) {
            (None, _) => Err("no control groups with the controller \"cpu\" are mounted".to_owned()),
            (Some(_), Some(Made { cpu: None, .. })) => Err("its parent could not be made".to_owned()),
            (Some(hierarchy), Some(Made { cpu: Some(folder), .. })) => {
                make_below(hierarchy, folder, &format!("g{number}"))
            }
            (Some(hierarchy), None) => {
                make_below(hierarchy, &hierarchy.base, &format!("{PREFIX}{}-g{number}", own_pid()))
            }
        };
        let cpu = cpu.map_err(|why| self.refused.push(format!("group {name}: {why}"))).ok();
        self.made.push(Made { name: name.to_owned(), spec: spec.clone(), cpu });
    }

    /// Moves the calling process into the group.
    pub fn join(&self, name: &str) -> io::Result<()> {
        let made = self.made.iter().find(|made| made.name == name);
        match made.and_then(|made| made.cpu.as_ref()) {
            Some(folder) => fs::write(folder.join("cgroup.procs"), "0"),
            None => Err(io::Error::from_raw_os_error(libc::ENOENT)),
        }
    }

    /// Lets weights and limits hold.
    pub fn limit(&mut self) {
        let Some(unified) = self.cpu.as_ref().map(|hierarchy| hierarchy.unified) else { return };
        for made in &self.made {
            let Some(folder) = &made.cpu else { continue };
            for (file, value) in settings(unified, &made.spec) {
                if let Err(why) = set(&folder.join(file), &value) {
                    self.refused.push(format!("group {}: {file} = {value:?}: {why}", made.name));
                }
            }
        }
    }

    /// Takes weights and limits away, so that everybody can die.
    pub fn lift(&self) {
        let Some(hierarchy) = &self.cpu else { return };
        for folder in self.made.iter().filter_map(|made| made.cpu.as_ref()) {
            for (file, value) in free(hierarchy.unified) {
                // A file that this kernel does not have limits nobody.
                let _ = fs::write(folder.join(file), value);
            }
        }
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        self.lift();
        for folder in self.made.iter().rev().filter_map(|made| made.cpu.as_ref()) {
            for _ in 0..TRIES {
                match fs::remove_dir(folder) {
                    Err(why) if why.kind() != io::ErrorKind::NotFound => thread::sleep(PAUSE),
                    _ => break,
                }
            }
        }
    }
}

/// The files of a group and what is to stand in them.
///
///   weight of version 2 = weight of version 1 * 100 / 1024, from 1 to 10000
fn settings(unified: bool, spec: &GroupSpec) -> Vec<(&'static str, String)> {
    let us = |ns: u64| (ns / 1000).max(1);
    let period = us(spec.period.0);
    let quota = spec.quota.map(|quota| us(quota.0));
    if unified {
        let weight = ((u64::from(spec.weight) * 100 + 512) / 1024).clamp(1, 10_000);
        let mut all = vec![("cpu.weight", weight.to_string())];
        all.extend(quota.map(|quota| ("cpu.max", format!("{quota} {period}"))));
        return all;
    }
    let mut all = vec![("cpu.shares", spec.weight.to_string())];
    if let Some(quota) = quota {
        all.extend([("cpu.cfs_period_us", period.to_string()), ("cpu.cfs_quota_us", quota.to_string())]);
    }
    all
}

/// What limits nobody.
fn free(unified: bool) -> &'static [(&'static str, &'static str)] {
    match unified {
        true => &[("cpu.weight", "100"), ("cpu.max", "max")],
        false => &[("cpu.shares", "1024"), ("cpu.cfs_quota_us", "-1")],
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

fn make_below(hierarchy: &Hierarchy, folder: &Path, name: &str) -> Result<PathBuf, String> {
    let path = folder.join(name);
    if hierarchy.unified {
        // Said already is as good; refused shows when the group's files are missing.
        let _ = fs::write(folder.join("cgroup.subtree_control"), "+cpu");
    }
    fs::create_dir(&path).map_err(|why| format!("{} cannot be made: {why}", path.display()))?;
    Ok(path)
}

/// Where a controller is, as this process sees it.
fn hierarchy(root: &Root, controller: &str) -> Option<Hierarchy> {
    let own = root.read("/proc/self/cgroup").ok()?;
    let mounts = root.read("/proc/self/mountinfo").ok()?;
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (mounted, point) = (place.next()?, place.next()?);
        let mut kind = kind.split(' ');
        let unified = match kind.next()? {
            "cgroup" => false,
            "cgroup2" => true,
            _ => return None,
        };
        let folder = root.path(point);
        let controllers = match unified {
            true => fs::read_to_string(folder.join("cgroup.controllers")).ok()?.replace(char::is_whitespace, ","),
            false => kind.nth(1)?.to_owned(),
        };
        controllers.split(',').find(|name| *name == controller)?;
        let path = own.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (names, path) = (fields.next()?, fields.next()?);
            let this = if unified { names.is_empty() } else { names.split(',').any(|name| name == controller) };
            this.then_some(path)
        })?;
        let below = path.strip_prefix(mounted.trim_end_matches('/')).unwrap_or(path).trim_start_matches('/');
        Some(Hierarchy { unified, base: folder.join(below) })
    })
}

/// Removes what agents have left that were killed.
fn sweep(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let owner = rest.and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            remove_with_children(&entry.path());
        }
    }
}

fn remove_with_children(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_with_children(&entry.path());
        }
    }
    let _ = fs::remove_dir(folder);
}
