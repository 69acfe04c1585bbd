//! Peaks without root: the own user's processes are looked at every so often. What one used after the last look is missed, and
//! so is a process that lived between two looks: peaks are lower bounds.

use super::{
    images::{Image, numbers, read},
    line::{End, Line},
};
use schedlab_linux::{
    Root,
    clock::{now, wall_clock},
    proc::{
        keyed,
        task::TaskStat,
        text::{lines, words},
    },
};
use std::{collections::HashMap, fs, os::unix::fs::MetadataExt, path::Path};

/// Processes that are kept at most.
const MOST: usize = 1 << 14;
const PEAKS: [keyed::Key; 2] = [("VmHWM", 0), ("VmPeak", 1)];
/// Number of the field of /proc/PID/stat that has the start, in clock ticks since boot.
const START: usize = 22;

/// The processes as they were last seen.
#[derive(Debug)]
pub struct Polled {
    root: Root,
    user: u32,
    seen: HashMap<u32, Seen>,
    looks: u64,
    /// Processes that ended, and of them those whose arguments were not known.
    pub counted: [u64; 2],
}

/// A process as it was last seen.
#[derive(Debug)]
struct Seen {
    start: u64,
    name: Vec<u8>,
    /// Resident and mapped memory, bytes.
    peaks: [u64; 2],
    image: Image,
    first: u64,
    last: u64,
    look: u64,
}

impl Polled {
    /// Those of a user; of all users for root.
    pub fn new(root: &Root, user: u32) -> Polled {
        Polled { root: root.clone(), user, seen: HashMap::new(), looks: 0, counted: [0; 2] }
    }

    /// Looks at all of them, and gives those that have ended or execute another program.
    pub fn look(&mut self, mut give: impl FnMut(&Line<'_>)) {
        self.looks += 1;
        for pid in numbers(&self.root).collect::<Vec<u32>>() {
            let folder = self.root.path(format!("/proc/{pid}"));
            let Some((start, name, peaks)) = self.state(&folder) else { continue };
            let before = self.seen.get_mut(&pid);
            match before {
                // A peak never falls: a smaller one is another program's. The name is that of the program, or set by it.
                Some(seen) if seen.start == start && seen.name == name && seen.peaks[0] <= peaks[0] => {
                    (seen.peaks, seen.last, seen.look) = (peaks, now(), self.looks);
                }
                _ => self.begin(pid, Seen::new(start, name, peaks, read(&self.root, pid), self.looks), &mut give),
            }
        }
        let gone: Vec<u32> = self.seen.iter().filter(|(_, seen)| seen.look < self.looks).map(|(pid, _)| *pid).collect();
        for pid in gone {
            let seen = self.seen.remove(&pid);
            self.end(pid, seen, &mut give);
        }
    }

    fn begin(&mut self, pid: u32, mut seen: Seen, give: &mut impl FnMut(&Line<'_>)) {
        let before = self.seen.remove(&pid);
        if let Some(before) = &before
            && before.start == seen.start
            && before.image == seen.image
        {
            // The same program under another name.
            seen.first = before.first;
        } else {
            self.end(pid, before, give);
        }
        if self.seen.len() < MOST {
            self.seen.insert(pid, seen);
        }
    }

    fn end(&mut self, pid: u32, seen: Option<Seen>, give: &mut impl FnMut(&Line<'_>)) {
        let Some(Seen { name, peaks, image, first, last, .. }) = seen else { return };
        self.counted[0] += 1;
        self.counted[1] += u64::from(image.arguments.is_none());
        give(&Line::Process(End {
            time_ns: wall_clock(),
            pid,
            user: self.user,
            name: String::from_utf8_lossy(&name).into_owned(),
            path: image.path.as_deref(),
            file: image.file,
            arguments: image.arguments.as_deref(),
            folder: image.folder.as_deref(),
            forked: false,
            parent: None,
            group: image.group.as_deref(),
            peak_bytes: peaks[0],
            peak_virtual_bytes: peaks[1],
            elapsed_ns: last - first,
            status: None,
            how: "polled",
        }));
    }

    /// Start, name and peaks of a process, if it is one of the user's and not a zombie nor the kernel's.
    fn state(&self, folder: &Path) -> Option<(u64, Vec<u8>, [u64; 2])> {
        if self.user != 0 && fs::metadata(folder).ok()?.uid() != self.user {
            return None;
        }
        let text = fs::read(folder.join("status")).ok()?;
        let [resident, mapped] = keyed::read(&text, &PEAKS);
        let stat = fs::read(folder.join("stat")).ok()?;
        let start = TaskStat::of(&stat)?.number(START)?;
        let name = lines(&text).next().and_then(|line| words(line).nth(1)).unwrap_or_default();
        Some((start, name.to_vec(), [resident?.saturating_mul(1024), mapped.unwrap_or(0).saturating_mul(1024)]))
    }
}

impl Seen {
    fn new(start: u64, name: Vec<u8>, peaks: [u64; 2], image: Image, look: u64) -> Seen {
        let time = now();
        Seen { start, name, peaks, image, first: time, last: time, look }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, pid: u32, start: u64, name: &str, peak_kib: u64) {
        let folder = root.join(format!("proc/{pid}"));
        fs::create_dir_all(&folder).unwrap();
        let fields = " 0".repeat(START - 4);
        fs::write(folder.join("stat"), format!("{pid} ({name}) S{fields} {start} 0")).unwrap();
        fs::write(folder.join("status"), format!("Name:\t{name}\nVmPeak:\t9 kB\nVmHWM:\t{peak_kib} kB\n")).unwrap();
        fs::write(folder.join("cmdline"), format!("{name}\0-x\0")).unwrap();
    }

    fn ended(polled: &mut Polled) -> Vec<(u32, String, u64)> {
        let mut found = Vec::new();
        polled.look(|line| {
            if let Line::Process(end) = line {
                assert_eq!((end.how, end.arguments.map(|words| words.len())), ("polled", Some(2)));
                found.push((end.pid, end.name.clone(), end.peak_bytes));
            }
        });
        found
    }

    #[test]
    fn the_last_peak_seen_counts_and_another_program_or_process_is_another_end() {
        let tree = tempfile::tempdir().unwrap();
        let mut polled = Polled::new(&Root::at(tree.path()), 0);
        put(tree.path(), 4, 100, "sh", 10);
        assert!(ended(&mut polled).is_empty());
        put(tree.path(), 4, 100, "sh", 20);
        assert!(ended(&mut polled).is_empty());
        put(tree.path(), 4, 100, "cc", 15);
        assert_eq!(ended(&mut polled), [(4, "sh".to_owned(), 20 << 10)]);
        put(tree.path(), 4, 200, "cc", 30);
        assert_eq!(ended(&mut polled), [(4, "cc".to_owned(), 15 << 10)]);
        fs::remove_dir_all(tree.path().join("proc/4")).unwrap();
        assert_eq!(ended(&mut polled), [(4, "cc".to_owned(), 30 << 10)]);
        assert!(ended(&mut polled).is_empty());
        assert_eq!(polled.counted, [3, 0]);
    }

    #[test]
    fn a_zombie_and_a_task_of_the_kernel_have_no_peak() {
        let tree = tempfile::tempdir().unwrap();
        let folder = tree.path().join("proc/5");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("status"), "Name:\tkthreadd\n").unwrap();
        let mut polled = Polled::new(&Root::at(tree.path()), 0);
        polled.look(|_| panic!());
        assert!(polled.seen.is_empty());
    }
}
