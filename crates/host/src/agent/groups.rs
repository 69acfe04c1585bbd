//! Groups of tasks as control groups: of version 1 where the controller is mounted so, else of version 2. Made before the
//! tasks, and removed after them on every way out.
//!
//! The weights and limits are written only when all tasks are in their groups and wait for the start, and lifted before they
//! are killed: a task in a group with next to no share can neither get ready nor die.
//!
//! They stand beside the agent's own control group's other contents, so that a group competes with the tasks that have none, as
//! in a scenario.

use super::{memory::PAGE, system::own_pid};
use crate::Root;
use schedlab_model::{scenario::GroupSpec, units::Size};
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
    /// By controller, as [`CONTROLLERS`]; one folder for both in version 2.
    folders: [Option<PathBuf>; 2],
}

/// The controllers that are used: the second one only where memory is limited.
const CONTROLLERS: [&str; 2] = ["cpu", "memory"];

/// All groups of a run.
#[derive(Debug)]
pub(super) struct Groups {
    hierarchies: [Option<Hierarchy>; 2],
    /// Parents before their children.
    made: Vec<Made>,
    /// What could not be done, in words.
    pub refused: Vec<String>,
}

impl Groups {
    /// Makes them. What this host does not permit is told in `refused`, and the tasks run without.
    pub fn new(root: &Root, specs: &BTreeMap<String, GroupSpec>) -> Groups {
        let hierarchies = CONTROLLERS.map(|controller| hierarchy(root, controller));
        hierarchies.iter().flatten().for_each(|hierarchy| sweep(&hierarchy.base));
        let mut groups = Groups { hierarchies, made: Vec::new(), refused: Vec::new() };
        let wanted = [true, specs.values().any(|spec| spec.memory.is_some())];
        let mut left: Vec<&String> = specs.keys().collect();
        // A parent may stand behind its child in the alphabet.
        while let Some(at) = left.iter().position(|name| groups.parent_is_made(&specs[*name])) {
            let name = left.remove(at);
            let folders = [0, 1].map(|which| if wanted[which] { groups.make(name, &specs[name], which) } else { None });
            groups.made.push(Made { name: name.clone(), spec: specs[name].clone(), folders });
        }
        groups
    }

    fn parent_is_made(&self, spec: &GroupSpec) -> bool {
        spec.parent.as_ref().is_none_or(|parent| self.made.iter().any(|made| made.name == *parent))
    }

    /// The group's folder under that controller.
    fn make(&mut self, name: &str, spec: &GroupSpec, which: usize) -> Option<PathBuf> {
        let number = self.made.len();
        let parent = self.made.iter().find(|made| Some(&made.name) == spec.parent.as_ref());
        let made = match (&self.hierarchies[which], parent.map(|parent| &parent.folders[which])) {
            (None, _) => Err(format!("no control groups with the controller {:?} are mounted", CONTROLLERS[which])),
            (Some(_), Some(None)) => Err("its parent could not be made".to_owned()),
            (Some(hierarchy), Some(Some(folder))) => make_below(hierarchy, which, folder, &format!("g{number}")),
            (Some(hierarchy), None) => {
                make_below(hierarchy, which, &hierarchy.base, &format!("{PREFIX}{}-g{number}", own_pid()))
            }
        };
        made.map_err(|why| self.refused.push(format!("group {name}: {why}"))).ok()
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

    /// Takes weights and limits away, so that everybody can die.
    pub fn lift(&self) {
        for (which, unified, folder, _) in self.folders() {
            for (file, value) in free(which, unified) {
                // A file that this kernel does not have limits nobody.
                let _ = fs::write(folder.join(file), value);
            }
        }
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        self.lift();
        for (_, _, folder, _) in self.folders().rev() {
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

fn make_below(hierarchy: &Hierarchy, which: usize, folder: &Path, name: &str) -> Result<PathBuf, String> {
    let path = folder.join(name);
    if hierarchy.unified {
        // Said already is as good; refused shows when the group's files are missing.
        let _ = fs::write(folder.join("cgroup.subtree_control"), format!("+{}", CONTROLLERS[which]));
    }
    if path.is_dir() {
        return Ok(path);
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
pub(super) fn sweep_all(root: &Root) {
    CONTROLLERS.iter().filter_map(|controller| hierarchy(root, controller)).for_each(|found| sweep(&found.base));
}

/// The same in one place.
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
