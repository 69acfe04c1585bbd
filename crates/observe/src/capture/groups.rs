//! Control groups that divide processor time: which hierarchy that is, its groups with weights and quotas, and which a task is in.

use schedlab_linux::{
    Root,
    mounts::{self, Mount},
};
use schedlab_traces::kernel::state::{Group, MOST_GROUPS};
use std::{
    collections::VecDeque,
    fs,
    path::{Path, PathBuf},
};

/// ns of a microsecond, in which the kernel counts quotas.
const US: u64 = 1000;

/// The hierarchy that divides processor time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hierarchy {
    /// Where it is mounted, as this process opens it.
    folder: PathBuf,
    /// What of it is mounted there: `/`, or a group.
    part: String,
    /// Whether it is of version 2.
    unified: bool,
}

impl Hierarchy {
    /// The one of version 1 with the controller `cpu`, or else that of version 2.
    pub(super) fn of(root: &Root) -> Option<Hierarchy> {
        let fits = |mount: &Mount| match mount.is_unified()? {
            false => mount.has("cpu").then_some((1, false)),
            true => Some((0, true)),
        };
        let found = mounts::all(root).into_iter().filter_map(|mount| Some((fits(&mount)?, mount)));
        let ((_, unified), mount) = found.max_by_key(|((first, _), _)| *first)?;
        Some(Hierarchy { folder: root.path(&mount.point), part: mount.part, unified })
    }

    /// The group of a task, by the text of its `cgroup` file.
    pub(super) fn group_of<'a>(&self, text: &'a str) -> Option<&'a str> {
        text.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            let this =
                if self.unified { controllers.is_empty() } else { controllers.split(',').any(|one| one == "cpu") };
            this.then_some(path)
        })
    }

    /// The path of a folder below that of the hierarchy, as tasks have it.
    fn path(&self, folder: &Path) -> Option<String> {
        let below = folder.strip_prefix(&self.folder).ok()?.to_str()?;
        let path = format!("{}/{below}", self.part.trim_end_matches('/'));
        Some(if path.len() > 1 { path.trim_end_matches('/').to_owned() } else { path })
    }

    fn group(&self, folder: &Path, path: String) -> Group {
        let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
        let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
        if !self.unified {
            // -1 is no limit, and no number here.
            let (quota, period) = (number("cpu.cfs_quota_us"), number("cpu.cfs_period_us"));
            return Group {
                path,
                shares: number("cpu.shares"),
                quota_ns: quota.map(ns),
                period_ns: period.map(ns),
                burst_ns: number("cpu.cfs_burst_us").map(ns),
                idle: number("cpu.idle") == Some(1),
                ..Group::default()
            };
        }
        let limit = read("cpu.max").unwrap_or_default();
        let mut words = limit.split_whitespace().map(|word| word.parse::<u64>().ok().map(ns));
        Group {
            path,
            weight: number("cpu.weight"),
            quota_ns: words.next().flatten(),
            period_ns: words.next().flatten(),
            burst_ns: number("cpu.max.burst").map(ns),
            idle: number("cpu.idle") == Some(1),
            ..Group::default()
        }
    }
}

/// ns of these microseconds.
fn ns(us: u64) -> u64 {
    us.saturating_mul(US)
}

/// All groups, those above first, and how many found no room.
pub(super) fn all(hierarchy: &Hierarchy) -> (Vec<Group>, u64) {
    let (mut found, mut left_out) = (Vec::new(), 0);
    let mut folders = VecDeque::from([hierarchy.folder.clone()]);
    while let Some(folder) = folders.pop_front() {
        let Some(path) = hierarchy.path(&folder) else { continue };
        if found.len() == MOST_GROUPS {
            left_out += 1;
            continue;
        }
        found.push(hierarchy.group(&folder, path));
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let inner = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let mut inner: Vec<PathBuf> = inner.map(|entry| entry.path()).collect();
        inner.sort_unstable();
        folders.extend(inner);
    }
    (found, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn hierarchy(unified: bool, files: &[(&str, &str)]) -> (TempDir, Hierarchy) {
        let folder = TempDir::new().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let hierarchy = Hierarchy { folder: folder.path().to_owned(), part: "/".to_owned(), unified };
        (folder, hierarchy)
    }

    #[test]
    fn weights_and_quotas_of_version_2_are_those_of_its_files() {
        let files = [
            ("a/cpu.weight", "50\n"),
            ("a/cpu.max", "20000 100000\n"),
            ("a/cpu.max.burst", "5000\n"),
            ("a/b/cpu.max", "max 100000\n"),
            ("a/b/cpu.idle", "1\n"),
        ];
        let (_folder, hierarchy) = hierarchy(true, &files);
        let a = Group {
            path: "/a".to_owned(),
            weight: Some(50),
            quota_ns: Some(20_000_000),
            period_ns: Some(100_000_000),
            burst_ns: Some(5_000_000),
            ..Group::default()
        };
        let b = Group { path: "/a/b".to_owned(), period_ns: Some(100_000_000), idle: true, ..Group::default() };
        let top = Group { path: "/".to_owned(), ..Group::default() };
        assert_eq!(all(&hierarchy), (vec![top, a, b], 0));
    }

    #[test]
    fn in_version_1_a_quota_of_minus_one_is_none() {
        let files = [
            ("cpu.shares", "1024\n"),
            ("cpu.cfs_quota_us", "-1\n"),
            ("x/cpu.cfs_quota_us", "7\n"),
            ("x/cpu.shares", "2"),
        ];
        let (_folder, hierarchy) = hierarchy(false, &files);
        let found = all(&hierarchy).0;
        assert_eq!((found[0].shares, found[0].quota_ns), (Some(1024), None));
        assert_eq!((found[1].path.as_str(), found[1].shares, found[1].quota_ns), ("/x", Some(2), Some(7000)));
    }

    #[test]
    fn the_group_of_a_task_is_that_of_the_hierarchy_that_divides_processor_time() {
        let text = "3:cpuset:/sets\n2:cpu,cpuacct:/one\n0::/two\n";
        let (_folder, version_2) = hierarchy(true, &[]);
        let (_other, version_1) = hierarchy(false, &[]);
        assert_eq!((version_2.group_of(text), version_1.group_of(text)), (Some("/two"), Some("/one")));
        assert_eq!(version_1.group_of("nonsense\n::\n"), None);
    }
}
