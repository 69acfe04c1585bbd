//! The table of mounts (`/proc/PID/mountinfo`), and where control groups are in it.

use crate::Root;
use std::path::{Path, PathBuf};

/// A line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// What of the file system is mounted there: `/`, or a folder in it.
    pub part: String,
    /// Where.
    pub point: PathBuf,
    /// Its type, such as `cgroup2`.
    pub kind: String,
    /// Its source.
    pub source: String,
    /// Options of the file system; for control groups of version 1 its controllers are among them.
    pub options: String,
}

impl Mount {
    /// Parses a line: `36 35 98:0 /part /point rw,noatime master:1 - ext3 /dev/source rw,errors=continue`.
    pub fn of(line: &str) -> Option<Mount> {
        let (left, right) = line.split_once(" - ")?;
        let (mut left, mut right) = (left.split(' ').skip(3), right.split(' '));
        Some(Mount {
            part: unescaped(left.next()?),
            point: PathBuf::from(unescaped(left.next()?)),
            kind: right.next()?.to_owned(),
            source: unescaped(right.next().filter(|source| !source.is_empty())?),
            options: right.next().unwrap_or_default().to_owned(),
        })
    }

    /// Parses a line of `/proc/mounts`: `/dev/source /point ext3 rw,noatime 0 0`. It does not state the part.
    fn of_short(line: &str) -> Option<Mount> {
        let words: Vec<&str> = line.split(' ').collect();
        let [source, point, kind, options, ..] = words[..] else { return None };
        Some(Mount {
            part: "/".to_owned(),
            point: PathBuf::from(unescaped(point)),
            kind: kind.to_owned(),
            source: unescaped(source),
            options: options.to_owned(),
        })
    }

    /// Whether it is a hierarchy of control groups: of version 2 if `Some(true)`.
    pub fn is_unified(&self) -> Option<bool> {
        match self.kind.as_str() {
            "cgroup2" => Some(true),
            "cgroup" => Some(false),
            _ => None,
        }
    }

    /// Whether an option, such as a controller of version 1, is among its options.
    pub fn has(&self, option: &str) -> bool {
        self.options.split(',').any(|it| it == option)
    }
}

/// All mounts that this process sees, the latest last.
pub fn all(root: &Root) -> Vec<Mount> {
    let table = std::fs::read(root.path("/proc/self/mountinfo")).unwrap_or_default();
    String::from_utf8_lossy(&table).lines().filter_map(Mount::of).collect()
}

/// The mounts by the shorter table, `/proc/mounts`, which older recorded trees have.
pub fn short(root: &Root) -> Vec<Mount> {
    root.read("/proc/mounts").unwrap_or_default().lines().filter_map(Mount::of_short).collect()
}

/// The folder of this process's own control group in a hierarchy; `own` is the text of `/proc/self/cgroup`. In a hierarchy of version
/// 1 it is looked up by a controller.
pub fn own_group(root: &Root, own: &str, mount: &Mount, controller: &str) -> Option<PathBuf> {
    let unified = mount.is_unified()?;
    let path = own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (names, path) = (fields.next()?, fields.next()?);
        let this = if unified { names.is_empty() } else { names.split(',').any(|name| name == controller) };
        this.then_some(path)
    })?;
    let below = path.strip_prefix(mount.part.trim_end_matches('/')).unwrap_or(path).trim_start_matches('/');
    Some(root.path(&mount.point).join(below))
}

/// The kernel writes blanks and backslashes as a backslash and three octal digits.
pub fn unescaped(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.extend(digits);
        bytes.extend_from_slice(part.get(if digits.is_some() { 3.. } else { 0.. }).unwrap_or_default().as_bytes());
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether a folder that is empty when nothing is mounted on it has entries, or may not be read.
pub fn has_entries(root: &Root, folder: &str) -> bool {
    match std::fs::read_dir(root.path(folder)) {
        Ok(mut entries) => entries.next().is_some(),
        Err(why) => why.kind() == std::io::ErrorKind::PermissionDenied,
    }
}

/// The source of what is mounted on a folder of this host, the last one on top.
pub fn source_on(path: &Path) -> Option<String> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    all(&Root::default()).into_iter().rfind(|mount| mount.point == path).map(|mount| mount.source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_known_by_its_place_and_its_source() {
        let line = r"36 35 98:0 /mnt1 /a\040b rw,noatime master:1 - ext3 /dev/x\134y rw,errors=continue";
        let mount = Mount::of(line).unwrap();
        assert_eq!((mount.point.to_str(), mount.source.as_str()), (Some("/a b"), r"/dev/x\y"));
        assert_eq!((mount.part.as_str(), mount.has("errors=continue"), mount.is_unified()), ("/mnt1", true, None));
        assert_eq!(Mount::of(""), None);
        assert_eq!(Mount::of("36 35 98:0 / /a rw - "), None);
    }

    #[test]
    fn hierarchies_of_both_versions_are_distinguished() {
        let one = Mount::of("30 24 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct").unwrap();
        assert_eq!((one.is_unified(), one.has("cpuacct"), one.has("memory")), (Some(false), true, false));
        let two = Mount::of("30 24 0:26 /user /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate").unwrap();
        assert_eq!((two.is_unified(), two.part.as_str()), (Some(true), "/user"));
    }
}
