//! The largest memory of control groups: `memory.peak` of version 2 (Linux 5.19), `memory.max_usage_in_bytes` of version 1.
//!
//! Groups are looked at every so often and their peaks reported when they are gone, as of the last look, and at the end of the
//! recording.

use super::line::{Group, Line};
use schedlab_linux::{
    Root,
    clock::{now, wall_clock},
};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Groups that are looked at at most, and how deep.
const MOST: usize = 4096;
const DEEPEST: usize = 16;
/// Where a hierarchy may be mounted, and the file that has the peak there.
const PLACES: [(&str, &str); 3] = [
    ("/sys/fs/cgroup", "memory.peak"),
    ("/sys/fs/cgroup/unified", "memory.peak"),
    ("/sys/fs/cgroup/memory", "memory.max_usage_in_bytes"),
];

/// The groups as they were last seen.
#[derive(Debug)]
pub struct Groups {
    root: Root,
    began: u64,
    seen: BTreeMap<PathBuf, Seen>,
    looks: u64,
}

#[derive(Debug)]
struct Seen {
    place: usize,
    peak: u64,
    first: u64,
    last: u64,
    look: u64,
}

impl Groups {
    /// None seen yet.
    pub fn new(root: &Root) -> Groups {
        Groups { root: root.clone(), began: now(), seen: BTreeMap::new(), looks: 0 }
    }

    /// Looks at all of them, and gives those that are gone.
    pub fn look(&mut self, mut give: impl FnMut(&Line<'_>)) {
        self.looks += 1;
        for (place, (top, _)) in PLACES.iter().enumerate() {
            let top = self.root.path(top);
            self.walk(&top, place, 0);
        }
        let looks = self.looks;
        let (kept, gone) = std::mem::take(&mut self.seen).into_iter().partition(|(_, seen)| seen.look == looks);
        self.seen = kept;
        self.report(&gone, &mut give);
    }

    /// Gives those that are still there.
    pub fn finish(&mut self, mut give: impl FnMut(&Line<'_>)) {
        self.look(&mut give);
        let left = std::mem::take(&mut self.seen);
        self.report(&left, &mut give);
    }

    fn walk(&mut self, folder: &Path, place: usize, depth: usize) {
        if self.seen.len() >= MOST || depth > DEEPEST {
            return;
        }
        let text = fs::read_to_string(folder.join(PLACES[place].1)).ok();
        let time = now();
        // The first group is the whole host. A group that was there before has an older peak, which is its peak all the same.
        if let Some(peak) = text.and_then(|text| text.trim().parse::<u64>().ok()).filter(|&peak| peak > 0 && depth > 0)
        {
            let first = if self.looks == 1 { self.began } else { time };
            let seen = self.seen.entry(folder.to_owned()).or_insert(Seen { place, peak, first, last: time, look: 0 });
            (seen.peak, seen.last, seen.look) = (seen.peak.max(peak), time, self.looks);
        }
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_another = PLACES.iter().any(|(top, _)| path == self.root.path(top));
            if !is_another && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.walk(&path, place, depth + 1);
            }
        }
    }

    fn report(&self, groups: &BTreeMap<PathBuf, Seen>, give: &mut impl FnMut(&Line<'_>)) {
        for (folder, seen) in groups {
            let (top, how) = PLACES[seen.place];
            let Ok(path) = folder.strip_prefix(self.root.path(top)) else { continue };
            let path = format!("/{}", path.to_string_lossy());
            let elapsed_ns = seen.last - seen.first;
            give(&Line::Group(Group { time_ns: wall_clock(), path: &path, peak_bytes: seen.peak, elapsed_ns, how }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(look: impl FnOnce(&mut dyn FnMut(&Line<'_>))) -> Vec<(String, u64, &'static str)> {
        let mut found = Vec::new();
        look(&mut |line| {
            if let Line::Group(group) = line {
                found.push((group.path.to_owned(), group.peak_bytes, group.how));
            }
        });
        found
    }

    #[test]
    fn a_group_is_reported_once_it_is_gone_and_all_others_at_the_end() {
        let tree = tempfile::tempdir().unwrap();
        let put = |path: &str, file: &str, peak: &str| {
            let folder = tree.path().join("sys/fs/cgroup").join(path);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(file), peak).unwrap();
        };
        put("", "memory.peak", "9\n");
        put("a.slice/b.service", "memory.peak", "4096\n");
        put("memory/old", "memory.max_usage_in_bytes", "8192\n");
        put("broken", "memory.peak", "much\n");
        let mut groups = Groups::new(&Root::at(tree.path()));
        assert!(given(|give| groups.look(give)).is_empty());
        put("a.slice/b.service", "memory.peak", "5000\n");
        assert!(given(|give| groups.look(give)).is_empty());
        fs::remove_dir_all(tree.path().join("sys/fs/cgroup/a.slice")).unwrap();
        let gone = ("/a.slice/b.service".to_owned(), 5000, "memory.peak");
        assert_eq!(given(|give| groups.look(give)), [gone]);
        let left = ("/old".to_owned(), 8192, "memory.max_usage_in_bytes");
        assert_eq!(given(|give| groups.finish(give)), [left]);
    }
}
