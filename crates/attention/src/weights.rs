//! The weight of a program's control group (version 2), where it has one of its own: none is made, and one that holds other processes is
//! left alone. A desktop on systemd has one for each program, `app-NAME-PID.scope`.

use crate::programs::{About, group_of};
use schedlab_linux::{Fault, Root, mounts};
use schedlab_model::attention::Level;
use schedlab_tune::{Change, Cleanup, Object, RunJournal};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// How groups of one program are called.
const ENDS: [&str; 2] = [".scope", ".service"];

/// The weights that were changed, by the group's folder.
pub(crate) struct Weights {
    journal: RunJournal,
    /// Where version 2 is mounted, if a level has a weight.
    mount: Option<PathBuf>,
    changed: BTreeMap<PathBuf, (Change, Cleanup)>,
}

impl Weights {
    pub(crate) fn new(journal: RunJournal, levels: &[Level]) -> Weights {
        let wanted = levels.iter().any(|level| level.weight.is_some());
        let all = if wanted { mounts::short(journal.root()) } else { Vec::new() };
        let mount = all.into_iter().find(|mount| mount.is_unified() == Some(true)).map(|mount| mount.point);
        Weights { journal, mount, changed: BTreeMap::new() }
    }

    /// Gives the program's group the weight of its level, or what it had by itself.
    pub(crate) fn apply(&mut self, about: &About, level: &Level) -> Result<(), Fault> {
        let Some(group) = self.mount.as_deref().and_then(|mount| own_group(self.journal.root(), mount, about)) else {
            return Ok(());
        };
        let path = group.join("cpu.weight");
        let now = fs::read_to_string(&path).map_err(|why| Fault::file(&path, "read", why))?.trim().to_owned();
        let known = self.changed.get(&group);
        if known.is_some_and(|(change, _)| change.expected.as_deref() != Some(&now)) {
            return Ok(());
        }
        let own = known.map_or(now.clone(), |(change, _)| change.old.clone());
        let wanted = level.weight.map_or(own.clone(), |weight| weight.to_string());
        if wanted == now {
            return Ok(());
        }
        let change = Change::plain("cpu.weight", &path, own, wanted.clone());
        match self.changed.get_mut(&group) {
            Some((known, entry)) => {
                entry.amend(Object::Value(change.clone()))?;
                *known = change;
            }
            None => {
                let entry = self.journal.enter(Object::Value(change.clone()))?;
                self.changed.insert(group, (change, entry));
            }
        }
        fs::write(&path, wanted).map_err(|why| Fault::file(path, "write", why))
    }

    /// Puts all back; of a group that is gone nothing is left to put back.
    pub(crate) fn finish(&mut self) {
        self.changed.clear();
    }
}

/// The group that holds all processes of a program and no others.
fn own_group(root: &Root, mount: &Path, about: &About) -> Option<PathBuf> {
    let first = about.members.first()?;
    let group = group_of(&root.read(format!("/proc/{first}/cgroup")).ok()?);
    if !ENDS.iter().any(|end| group.ends_with(end)) {
        return None;
    }
    let folder = mount.join(group.trim_start_matches('/'));
    let listed = fs::read_to_string(folder.join("cgroup.procs")).ok()?;
    let mut all = listed.split_whitespace().map(|pid| pid.parse().unwrap_or(0));
    (folder.join("cpu.weight").exists() && all.all(|pid: i32| about.members.contains(&pid))).then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn group(folder: &Path, procs: &str) -> Root {
        let group = folder.join("cg/user.slice/app-player-10.scope");
        fs::create_dir_all(folder.join("proc/10")).unwrap();
        fs::write(folder.join("proc/10/cgroup"), "0::/user.slice/app-player-10.scope\n").unwrap();
        fs::create_dir_all(&group).unwrap();
        fs::write(group.join("cgroup.procs"), procs).unwrap();
        fs::write(group.join("cpu.weight"), "100\n").unwrap();
        let mounts = format!("cgroup2 {} cgroup2 rw 0 0\n", folder.join("cg").display());
        fs::write(folder.join("proc/mounts"), mounts).unwrap();
        Root::at(folder)
    }

    fn level(weight: Option<u64>) -> Level {
        Level { name: "x".to_owned(), nice: 0, slice: None, policy: None, weight, io: None }
    }

    fn about(members: &[i32]) -> About {
        About::of("player", members.iter().copied().collect::<BTreeSet<i32>>())
    }

    #[test]
    fn a_group_of_the_programs_own_has_the_weight_of_its_level_until_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let root = group(folder.path(), "10\n11\n");
        let weight = folder.path().join("cg/user.slice/app-player-10.scope/cpu.weight");
        let read = || fs::read_to_string(&weight).unwrap().trim().to_owned();
        let mut weights = Weights::new(RunJournal::open(&root, &folder.path().join("journal")), &[level(Some(400))]);
        weights.mount = Some(folder.path().join("cg"));
        weights.apply(&about(&[10]), &level(Some(400))).unwrap();
        assert_eq!(read(), "100", "the group holds a process of another program");
        weights.apply(&about(&[10, 11, 12]), &level(Some(400))).unwrap();
        assert_eq!(read(), "400");
        weights.apply(&about(&[10, 11]), &level(None)).unwrap();
        assert_eq!(read(), "100");
        weights.apply(&about(&[10, 11]), &level(Some(50))).unwrap();
        fs::write(&weight, "70").unwrap();
        weights.apply(&about(&[10, 11]), &level(Some(400))).unwrap();
        assert_eq!(read(), "70", "another process has changed it");
    }
}
