//! Files of sysctl.d that are read after ours and set the same keys: their values are in force, not ours.
//!
//! sysctl.d(5): files of all folders are sorted by name, and the last one decides; of files with the same name only that of the first
//! folder is read. `/etc/sysctl.conf` is read last of all by procps' `sysctl --system`, and by systemd where it has a link to it.

use schedlab_linux::Root;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

const FOLDERS: [&str; 5] =
    ["/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d"];
const LAST: &str = "/etc/sysctl.conf";
/// No file of sysctl.d is longer.
const MOST_BYTES: u64 = 1 << 20;

/// A line for each of our keys that a later file sets to another value.
pub(super) fn notes(root: &Root, ours: &Path, settings: &[(String, String)]) -> Vec<String> {
    let mut notes = Vec::new();
    for file in later(root, ours) {
        for (key, value) in lines(&text(root, &file)) {
            if let Some((ours, _)) = settings.iter().find(|(k, v)| fits(&key, &slashed(k)) && *v != value) {
                notes.push(format!("{ours}: {} is read later and sets it to {value}", file.display()));
            }
        }
    }
    notes
}

/// The files that are read after ours, in that order.
fn later(root: &Root, ours: &Path) -> Vec<PathBuf> {
    let mut found: BTreeMap<String, PathBuf> = BTreeMap::new();
    for folder in FOLDERS {
        for entry in std::fs::read_dir(root.path(folder)).into_iter().flatten().flatten().take(1000) {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".conf") {
                let path = Path::new(folder).join(&name);
                found.entry(name).or_insert(path);
            }
        }
    }
    let name = ours.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let after = found.into_iter().filter(|(n, _)| *n > name).map(|(_, path)| path);
    after.chain([PathBuf::from(LAST)]).collect()
}

fn text(root: &Root, file: &Path) -> String {
    let mut bytes = Vec::new();
    // One that cannot be read sets nothing that could be said here.
    if let Ok(file) = File::open(root.path(file)) {
        let _ = file.take(MOST_BYTES).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Keys, with slashes, and values of a file.
fn lines(text: &str) -> impl Iterator<Item = (String, String)> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';']));
    lines.filter_map(|line| {
        let (key, value) = line.trim_start_matches('-').split_once('=')?;
        Some((slashed(key.trim()), value.trim().to_owned()))
    })
}

/// A key with slashes between its parts: where the first sign that parts is a dot, dots and slashes have changed places.
fn slashed(key: &str) -> String {
    match key.find(['.', '/']).map(|at| &key[at..=at]) {
        Some(".") => key
            .chars()
            .map(|c| {
                if c == '.' {
                    '/'
                } else if c == '/' {
                    '.'
                } else {
                    c
                }
            })
            .collect(),
        _ => key.to_owned(),
    }
}

/// Whether a key is meant by a pattern, in which `*` is anything but a slash.
fn fits(pattern: &str, key: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == key,
        Some((head, tail)) => key.strip_prefix(head).is_some_and(|rest| {
            let ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            ends.take_while(|at| !rest[..*at].contains('/')).any(|at| fits(tail, &rest[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_pattern_means_keys_of_one_folder() {
        assert!(
            fits("vm/swap*", "vm/swappiness")
                && fits("*/swappiness", "vm/swappiness")
                && fits("vm/*p*s", "vm/swappiness")
        );
        assert!(!fits("vm/*x", "vm/swappiness") && !fits("*", "vm/swappiness") && !fits("vm/swap", "vm/swappiness"));
    }

    #[test]
    fn a_later_file_with_another_value_is_named() {
        let tree = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = tree.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("etc/sysctl.d/10-early.conf", "vm.swappiness = 1\n");
        put("usr/lib/sysctl.d/99-late.conf", "# vm.swappiness = 2\n-vm/swappiness=60\nvm.page-cluster = 3\n");
        put("etc/sysctl.d/99-same.conf", "vm.swappiness = 10\n");
        put("usr/lib/sysctl.d/99-same.conf", "vm.swappiness = 77\n");
        put("etc/sysctl.conf", "vm.swappiness=30\n");
        let ours = Path::new("/etc/sysctl.d/90-schedlab-web.conf");
        let found = notes(&Root::at(tree.path()), ours, &[("vm.swappiness".to_owned(), "10".to_owned())]);
        let wanted = [
            "vm.swappiness: /usr/lib/sysctl.d/99-late.conf is read later and sets it to 60",
            "vm.swappiness: /etc/sysctl.conf is read later and sets it to 30",
        ];
        assert_eq!(found, wanted);
    }
}
