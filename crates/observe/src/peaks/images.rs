//! Which program each living process runs: read from /proc when it begins, since afterwards it may be gone. The table is
//! bounded; a process that finds no room in it has unknown arguments.

use super::{events::Event, line::File};
use schedlab_linux::{Root, proc::task::TaskStat};
use std::{
    collections::{HashMap, HashSet},
    fs,
    io::Read,
    os::unix::fs::MetadataExt,
    rc::Rc,
};

/// Processes that are kept at most, and files of programs.
const MOST: usize = 1 << 16;
const MOST_FILES: usize = 1 << 14;
/// The kernel cuts names of tasks to this.
const NAME: usize = 15;
/// Bytes and words of arguments that are read at most, and bytes of a path.
const LONGEST: u64 = 4096;
const MOST_WORDS: usize = 64;

/// A program with its arguments, which forked processes share.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Image {
    pub path: Option<String>,
    pub file: Option<File>,
    pub arguments: Option<Vec<String>>,
    pub folder: Option<String>,
    pub group: Option<String>,
}

/// What a process runs.
#[derive(Debug, Clone, Default)]
pub struct Running {
    pub image: Rc<Image>,
    pub forked: bool,
    /// Name of the program that made it.
    pub parent: Option<Rc<str>>,
}

/// All that are known.
#[derive(Debug)]
pub struct Images {
    root: Root,
    table: HashMap<u32, Running>,
    /// Path and identity of programs' files by inode: of a process that was gone when it was looked at, the kernel's record has
    /// that number.
    files: HashMap<u64, (String, File)>,
}

impl Images {
    /// Those of the processes that live now.
    pub fn of_living(root: &Root) -> Images {
        let mut images = Images { root: root.clone(), table: HashMap::new(), files: HashMap::new() };
        images.scan();
        images
    }

    /// Takes an event.
    pub fn take(&mut self, event: Event) {
        match event {
            Event::Fork { parent, child } => {
                let parent = self.table.get(&parent).cloned().unwrap_or_default();
                let name = parent.image.path.as_deref().map(|path| Rc::from(last_part(path)));
                self.put(child, Running { image: parent.image, forked: true, parent: name });
            }
            Event::Exec(pid) => {
                let parent = self.table.get(&pid).and_then(|before| before.parent.clone());
                let image = self.look(pid);
                self.put(pid, Running { image, forked: false, parent });
            }
        }
    }

    /// Takes up processes that are not known yet, and forgets those that are gone.
    pub fn scan(&mut self) {
        let living: HashSet<u32> = numbers(&self.root).collect();
        self.table.retain(|pid, _| living.contains(pid));
        let made: Vec<u32> = living.into_iter().filter(|pid| !self.table.contains_key(pid)).collect();
        for &pid in &made {
            let image = self.look(pid);
            self.put(pid, Running { image, ..Running::default() });
        }
        for pid in made {
            let parent = parent(&self.root, pid).and_then(|parent| self.table.get(&parent));
            let name = parent.and_then(|parent| parent.image.path.as_deref()).map(|path| Rc::from(last_part(path)));
            self.table.entry(pid).and_modify(|running| running.parent = name);
        }
    }

    /// Takes a process that has ended out of the table.
    pub fn remove(&mut self, pid: u32) -> Option<Running> {
        self.table.remove(&pid)
    }

    /// The program of a process by the inode of its file and the name of its task; its arguments are not known.
    pub fn by_file(&self, inode: u64, name: &[u8]) -> Option<Image> {
        let (path, file) = self.files.get(&inode)?;
        let own = last_part(path).as_bytes();
        let same = own[..own.len().min(NAME)] == *name;
        same.then(|| Image { path: Some(path.clone()), file: Some(*file), ..Image::default() })
    }

    /// What a process runs now.
    fn look(&mut self, pid: u32) -> Rc<Image> {
        let image = read(&self.root, pid);
        if let (Some(path), Some(file)) = (&image.path, image.file)
            && (self.files.len() < MOST_FILES || self.files.contains_key(&file.inode))
            && self.files.get(&file.inode).is_none_or(|known| known.1 != file)
        {
            self.files.insert(file.inode, (path.clone(), file));
        }
        Rc::new(image)
    }

    fn put(&mut self, pid: u32, running: Running) {
        if self.table.len() < MOST || self.table.contains_key(&pid) {
            self.table.insert(pid, running);
        }
    }
}

/// The numbers of all processes.
pub fn numbers(root: &Root) -> impl Iterator<Item = u32> {
    let entries = fs::read_dir(root.path("/proc")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// What a process runs now; of one that is gone, nothing is known.
pub fn read(root: &Root, pid: u32) -> Image {
    let folder = root.path(format!("/proc/{pid}"));
    let link = |name: &str| fs::read_link(folder.join(name)).ok().map(|path| path.to_string_lossy().into_owned());
    // What is left of a process that has ended is in no folder and in no group of its own.
    let arguments = beginning(&folder.join("cmdline")).map(|text| arguments(&text)).filter(|words| !words.is_empty());
    if arguments.is_none() {
        return Image::default();
    }
    Image {
        path: link("exe").map(|path| path.trim_end_matches(" (deleted)").to_owned()),
        file: fs::metadata(folder.join("exe")).ok().map(|file| File {
            device: file.dev(),
            inode: file.ino(),
            size: file.size(),
            modified_ns: file.mtime().saturating_mul(1_000_000_000).saturating_add(file.mtime_nsec()),
        }),
        arguments,
        folder: link("cwd"),
        group: beginning(&folder.join("cgroup")).and_then(|text| group(&String::from_utf8_lossy(&text))),
    }
}

fn beginning(path: &std::path::Path) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    fs::File::open(path).ok()?.take(LONGEST).read_to_end(&mut text).ok()?;
    Some(text)
}

/// The words of /proc/PID/cmdline, each with a zero behind it.
fn arguments(text: &[u8]) -> Vec<String> {
    let text = text.strip_suffix(b"\0").unwrap_or(text);
    let words = text.split(|&byte| byte == 0).take(if text.is_empty() { 0 } else { MOST_WORDS });
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// The group that memory is charged to, of /proc/PID/cgroup: of version 1 if that has the controller.
fn group(text: &str) -> Option<String> {
    let mut parts = text.lines().map(|line| line.splitn(3, ':').skip(1));
    let found: Vec<(&str, &str)> = parts.by_ref().filter_map(|mut it| Some((it.next()?, it.next()?))).collect();
    let old = found.iter().find(|(names, _)| names.split(',').any(|name| name == "memory"));
    old.or_else(|| found.iter().find(|(names, _)| names.is_empty())).map(|(_, path)| (*path).to_owned())
}

fn parent(root: &Root, pid: u32) -> Option<u32> {
    let text = beginning(&root.path(format!("/proc/{pid}/stat")))?;
    u32::try_from(TaskStat::of(&text)?.number(4)?).ok()
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn arguments_are_words_between_zeros_and_bounded() {
        assert_eq!(arguments(b"cc\0-O2\0\0a b\0"), ["cc", "-O2", "", "a b"]);
        assert_eq!(arguments(b"cut\0in the mid"), ["cut", "in the mid"]);
        assert!(arguments(b"").is_empty());
        assert_eq!(arguments(&b"x\0".repeat(1000)).len(), MOST_WORDS);
    }

    #[test]
    fn the_group_is_that_of_the_memory_controller() {
        assert_eq!(group("5:cpu:/a\n4:memory:/m\n0::/u\n").as_deref(), Some("/m"));
        assert_eq!(group("1:name=systemd:/s\n0::/user.slice/a:b\n").as_deref(), Some("/user.slice/a:b"));
        assert_eq!(group("nonsense\n"), None);
    }

    #[test]
    fn a_forked_process_has_its_parents_program_until_it_executes_one() {
        let own = std::process::id();
        let mut images = Images::of_living(&Root::default());
        images.take(Event::Fork { parent: own, child: u32::MAX });
        let child = images.remove(u32::MAX).unwrap();
        let this = images.table[&own].clone();
        assert!(child.forked && Rc::ptr_eq(&child.image, &this.image));
        assert_eq!(child.parent.as_deref(), this.image.path.as_deref().map(last_part));
        assert_eq!(this.image.arguments.as_ref().unwrap()[0], std::env::args().next().unwrap());
        // One that is gone when it is looked at.
        images.take(Event::Exec(u32::MAX));
        assert_eq!(*images.remove(u32::MAX).unwrap().image, Image::default());
        let (path, file) = (this.image.path.clone().unwrap(), this.image.file.unwrap());
        let name = &last_part(&path).as_bytes()[..NAME];
        assert_eq!(images.by_file(file.inode, name).unwrap().path, Some(path.clone()));
        assert_eq!(images.by_file(file.inode, b"other"), None);
    }

    proptest! {
        #[test]
        fn files_of_any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(arguments(&bytes).len() <= MOST_WORDS);
            group(&String::from_utf8_lossy(&bytes));
        }
    }
}
