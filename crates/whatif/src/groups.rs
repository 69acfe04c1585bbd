//! Control groups of a recording as groups of an experiment: their names and what they limit.

use schedlab_model::units::spell_duration;
use schedlab_traces::kernel::state;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
};

/// Longest name but for a number: a name may have 64 characters.
const LONGEST: usize = 56;
/// Levels of groups in groups. What lies deeper counts as part of the group at this level.
const MOST_LEVELS: usize = 16;
/// `cpu.weight` of a group that has none of its own, and what version 1 calls the same.
const USUAL_WEIGHT: u64 = 100;
pub(crate) const USUAL_SHARES: u64 = 1024;

/// Names by paths, for each path another: "/user.slice/a" is "user_slice-a". Of a long path the end is the name, where paths differ.
#[derive(Debug, Default)]
pub(crate) struct GroupNames<'a>(BTreeMap<&'a str, String>);

impl<'a> GroupNames<'a> {
    /// Of groups of these paths, and of those that contain them.
    pub fn of(paths: impl Iterator<Item = &'a str>) -> GroupNames<'a> {
        let all: BTreeSet<&str> =
            paths.flat_map(|path| iter::successors(down_to_deepest(path), |path| above(path))).collect();
        let (mut names, mut used) = (BTreeMap::new(), BTreeSet::new());
        // By name, the number that is tried next.
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        for path in all {
            let plain = plain(path);
            let mut name = plain.clone();
            while !used.insert(name.clone()) {
                let number = numbers.entry(plain.clone()).or_insert(2);
                name = format!("{plain}-{number}");
                *number += 1;
            }
            names.insert(path, name);
        }
        GroupNames(names)
    }

    /// The name of the group of a path.
    pub fn get(&self, path: &str) -> Option<&str> {
        self.0.get(down_to_deepest(path)?).map(String::as_str)
    }

    /// The name of the group that contains the one of a path; none for those at the top.
    pub fn above(&self, path: &str) -> Option<&str> {
        self.get(above(path)?)
    }
}

/// The path, down to the deepest level; none of the root.
fn down_to_deepest(path: &str) -> Option<&str> {
    let end = path.match_indices('/').nth(MOST_LEVELS).map_or(path.len(), |(at, _)| at);
    Some(&path[..end]).filter(|path| !path.trim_matches('/').is_empty())
}

/// A path in letters that the name of a group may have.
fn plain(path: &str) -> String {
    let fits = |c: char| match c {
        '/' => '-',
        c if c.is_alphanumeric() || c == '-' => c,
        _ => '_',
    };
    let path = path.trim_matches('/');
    let before = path.chars().count().saturating_sub(LONGEST);
    path.chars().skip(before).map(fits).collect()
}

/// The path above; none above those at the top.
fn above(path: &str) -> Option<&str> {
    let (above, _) = path.trim_end_matches('/').rsplit_once('/')?;
    (!above.trim_matches('/').is_empty()).then_some(above)
}

/// A group as an experiment describes it.
pub(crate) fn described(group: &state::Group, parent: Option<&str>) -> Value {
    let weight = match (group.shares, group.weight) {
        (Some(shares), _) => shares,
        (None, Some(weight)) => (weight.saturating_mul(USUAL_SHARES) / USUAL_WEIGHT).max(2),
        (None, None) => USUAL_SHARES,
    };
    let mut found = json!({ "weight": weight });
    if let Some(parent) = parent {
        found["parent"] = json!(parent);
    }
    if let (Some(quota), Some(period)) = (group.quota_ns, group.period_ns) {
        found["quota"] = json!(spell_duration(quota));
        found["period"] = json!(spell_duration(period));
        if let Some(burst) = group.burst_ns {
            found["burst"] = json!(spell_duration(burst));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const POD: &str = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod5f0c.slice/cri-containerd-";

    #[test]
    fn groups_are_named_by_their_paths_and_by_the_ends_of_long_ones() {
        let names = GroupNames::of(["/user.slice/app 1", "/a/b/c"].into_iter());
        assert_eq!(names.get("/user.slice/app 1"), Some("user_slice-app_1"));
        assert_eq!((names.above("/a/b/c"), names.above("/a")), (Some("a-b"), None));
        let (one, two) = (format!("{POD}1.scope"), format!("{POD}2.scope"));
        let names = GroupNames::of([one.as_str(), &two].into_iter());
        assert!(names.get(&one).unwrap().ends_with("-cri-containerd-1_scope"));
        assert_ne!(names.get(&one), names.get(&two));
        assert_eq!(names.above(&one), names.above(&two));
        assert_ne!(names.above(&one), names.get(&one));
    }

    #[test]
    fn paths_that_are_spelled_alike_have_numbers() {
        let names = GroupNames::of(["/a/b", "/a-b", "/a.b", "/a_b", "/a-b-2"].into_iter());
        let of = |path: &str| names.get(path).unwrap();
        assert_eq!((of("/a-b"), of("/a-b-2"), of("/a/b")), ("a-b", "a-b-2", "a-b-3"));
        assert_eq!((of("/a.b"), of("/a_b")), ("a_b", "a_b-2"));
    }

    #[test]
    fn what_lies_very_deep_counts_as_part_of_the_group_above() {
        let deep = "/a".repeat(MOST_LEVELS + 2);
        let names = GroupNames::of([deep.as_str()].into_iter());
        assert_eq!(names.0.len(), MOST_LEVELS);
        assert_eq!(names.get(&deep), names.get(&"/a".repeat(MOST_LEVELS)));
    }

    proptest! {
        #[test]
        fn every_path_has_a_name_of_its_own_that_fits(paths in prop::collection::vec("(/[ab./ -]{0,30}[ab]){1,4}", 0..20)) {
            let names = GroupNames::of(paths.iter().map(String::as_str));
            let all: BTreeSet<&String> = names.0.values().collect();
            prop_assert_eq!(all.len(), names.0.len());
            prop_assert!(all.iter().all(|name| name.chars().count() <= 64));
            prop_assert!(paths.iter().all(|path| names.get(path).is_some()));
        }
    }
}
