//! The processes there are. A look reads the names in /proc, and /proc/PID/stat of those that are new, twice: at first they may still be
//! what they were forked from. All others are only known to be there.
//!
//! Where no number was given to a task since the last look, nothing is new, and a short look leaves the names alone: then a process that is
//! gone is missed until the next whole look. The kernel shows the number that it gave last in /proc/loadavg. A task whose number was asked
//! for (`clone3` with `set_tid`) does not show there; a whole look finds it.

use schedlab_linux::{Root, proc::task::of_stat};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::MetadataExt,
};

/// Fields of /proc/PID/stat.
const PARENT: usize = 4;
const SESSION: usize = 6;
const FLAGS: usize = 9;
const START: usize = 22;
/// The flag of a thread of the kernel (PF_KTHREAD).
const KERNEL: u64 = 0x0020_0000;

/// A process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) start: u64,
    /// The one that it came from; it stays that also when the kernel gives it another parent.
    pub(crate) parent: i32,
    pub(crate) session: i32,
    pub(crate) user: u32,
    pub(crate) name: String,
    pub(crate) is_kernel: bool,
}

/// All of them by number.
#[derive(Debug)]
pub(crate) struct Processes {
    root: Root,
    all: BTreeMap<i32, Process>,
    fresh: BTreeSet<i32>,
    /// The number that was given last before the last whole look.
    last: Option<u64>,
}

/// What a look has found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// New ones, and those that have become another program or process.
    pub(crate) new: Vec<i32>,
    /// Those that are gone, or whose number is another's now.
    pub(crate) gone: Vec<i32>,
}

impl Processes {
    pub(crate) fn new(root: &Root) -> Processes {
        Processes { root: root.clone(), all: BTreeMap::new(), fresh: BTreeSet::new(), last: None }
    }

    pub(crate) fn get(&self, pid: i32) -> Option<&Process> {
        self.all.get(&pid)
    }

    pub(crate) fn numbers(&self) -> impl Iterator<Item = i32> {
        self.all.keys().copied()
    }

    /// The process and all that it came from, the nearest first.
    pub(crate) fn line(&self, pid: i32) -> impl Iterator<Item = i32> {
        let up = |pid: &i32| self.all.get(pid).map(|process| process.parent).filter(|parent| *parent > 0);
        // What is gone has no parent any more; and a number that was given anew makes no circle longer than all there are.
        std::iter::successors(Some(pid), up).take(self.all.len() + 1)
    }

    /// Looks at what is new, if something can be.
    pub(crate) fn look_shortly(&mut self) -> Found {
        if self.last.is_some() && self.last == self.given_last() {
            let mut found = Found::default();
            for pid in self.fresh.clone() {
                self.read(pid, &mut found);
            }
            return found;
        }
        self.look()
    }

    /// Looks at what is new and at what is gone.
    pub(crate) fn look(&mut self) -> Found {
        let mut found = Found::default();
        // Read first: a number that is given meanwhile asks for another look.
        self.last = self.given_last();
        let there: BTreeSet<i32> = self.there();
        let gone: Vec<i32> = self.all.keys().filter(|pid| !there.contains(pid)).copied().collect();
        for pid in gone {
            self.forget(pid, &mut found);
        }
        let unsure: Vec<i32> =
            there.into_iter().filter(|pid| !self.all.contains_key(pid) || self.fresh.contains(pid)).collect();
        for pid in unsure {
            self.read(pid, &mut found);
        }
        found
    }

    /// A process is another than was thought: it is looked at anew.
    pub(crate) fn doubt(&mut self, pid: i32) {
        self.fresh.insert(pid);
    }

    /// The number that the kernel gave to a task last: the last word of /proc/loadavg.
    fn given_last(&self) -> Option<u64> {
        self.root.read("/proc/loadavg").ok()?.split_whitespace().last()?.parse().ok()
    }

    fn there(&self) -> BTreeSet<i32> {
        let entries = fs::read_dir(self.root.path("/proc")).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    fn forget(&mut self, pid: i32, found: &mut Found) {
        self.all.remove(&pid);
        self.fresh.remove(&pid);
        found.gone.push(pid);
    }

    fn read(&mut self, pid: i32, found: &mut Found) {
        let Some(mut now) = self.process(pid) else {
            if self.all.contains_key(&pid) {
                self.forget(pid, found);
            }
            return;
        };
        match self.all.get(&pid) {
            None => drop(self.fresh.insert(pid)),
            Some(known) if known.start != now.start => {
                self.forget(pid, found);
                self.fresh.insert(pid);
            }
            Some(known) => {
                self.fresh.remove(&pid);
                now.parent = known.parent;
                if *known == now {
                    return;
                }
            }
        }
        self.all.insert(pid, now);
        found.new.push(pid);
    }

    fn process(&self, pid: i32) -> Option<Process> {
        let folder = self.root.path(format!("/proc/{pid}"));
        of_stat(folder.join("stat"), |stat| {
            if matches!(stat.state()?, b'Z' | b'X') {
                return None;
            }
            let number = |field| stat.number(field).and_then(|number| i32::try_from(number).ok());
            Some(Process {
                start: stat.number(START)?,
                parent: number(PARENT)?,
                session: number(SESSION)?,
                user: fs::metadata(folder).ok()?.uid(),
                name: String::from_utf8_lossy(stat.name).into_owned(),
                is_kernel: stat.number(FLAGS)? & KERNEL != 0,
            })
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::path::Path;

    /// Writes a process into a tree of files.
    pub(crate) fn process(folder: &Path, pid: i32, name: &str, parent: i32, start: u64) {
        let place = folder.join(format!("proc/{pid}"));
        fs::create_dir_all(&place).unwrap();
        let rest = "0 -1 4194304 0 0 0 0 5 5 0 0 20 0 1 0";
        fs::write(place.join("stat"), format!("{pid} ({name}) S {parent} {pid} {parent} {rest} {start} 0 0\n"))
            .unwrap();
        fs::write(place.join("cmdline"), format!("/usr/bin/{name}\0-x\0")).unwrap();
        fs::write(place.join("cgroup"), "0::/app.slice\n").unwrap();
    }

    #[test]
    fn a_process_is_new_once_and_again_when_it_has_become_another_program() {
        let folder = tempfile::tempdir().unwrap();
        let mut all = Processes::new(&Root::at(folder.path()));
        process(folder.path(), 10, "sh", 1, 100);
        process(folder.path(), 11, "sh", 10, 110);
        assert_eq!(all.look().new, [10, 11]);
        process(folder.path(), 11, "make", 1, 110);
        assert_eq!(all.look(), Found { new: vec![11], gone: vec![] });
        assert_eq!((all.get(11).unwrap().parent, all.get(11).unwrap().name.as_str()), (10, "make"));
        assert_eq!(all.look(), Found::default());
        assert_eq!(all.line(11).collect::<Vec<_>>(), [11, 10, 1]);
        fs::remove_dir_all(folder.path().join("proc/11")).unwrap();
        assert_eq!(all.look(), Found { new: vec![], gone: vec![11] });
    }

    #[test]
    fn a_number_that_was_given_anew_is_another_process() {
        let folder = tempfile::tempdir().unwrap();
        let mut all = Processes::new(&Root::at(folder.path()));
        process(folder.path(), 10, "sh", 1, 100);
        all.look();
        all.look();
        process(folder.path(), 10, "sh", 1, 900);
        assert_eq!(all.look(), Found::default(), "it is not read again by itself");
        all.doubt(10);
        assert_eq!(all.look(), Found { new: vec![10], gone: vec![10] });
    }

    #[test]
    fn a_short_look_sees_what_is_new_only_where_a_number_was_given() {
        let folder = tempfile::tempdir().unwrap();
        let gave =
            |pid: i32| fs::write(folder.path().join("proc/loadavg"), format!("0.1 0.1 0.1 1/90 {pid}\n")).unwrap();
        let mut all = Processes::new(&Root::at(folder.path()));
        process(folder.path(), 10, "sh", 1, 100);
        assert_eq!(all.look_shortly().new, [10], "nothing is known of the kernel's numbers");
        gave(10);
        assert_eq!(all.look_shortly(), Found::default());
        process(folder.path(), 11, "cc", 10, 110);
        assert_eq!(all.look_shortly(), Found::default());
        gave(11);
        assert_eq!(all.look_shortly().new, [11]);
        process(folder.path(), 11, "make", 10, 110);
        assert_eq!(all.look_shortly().new, [11], "what is new is read twice");
        process(folder.path(), 12, "as", 10, 120);
        assert_eq!(all.look().new, [12], "a whole look finds a task whose number was asked for");
    }
}
