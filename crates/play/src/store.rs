//! The files of a run: made and filled before it in a folder of its own, written to the drive, dropped from the page
//! cache, and deleted with the folder afterwards, on every way out. The folder is in the journal and carries its marker.

use schedlab_linux::{
    Fault,
    files::{drop_cached, open_at},
};
use schedlab_tune::{Cleanup, RunJournal};
use schedlab_workloads::{Instruction, Programs, program::Files};
use std::{
    ffi::CStr,
    fs::{self, File},
    io::{self, Write},
    os::fd::{AsRawFd, OwnedFd},
    path::{Path, PathBuf},
};

/// Bytes written at a time.
const BLOCK: usize = 1 << 20;

/// The files of a run.
#[derive(Default)]
pub(crate) struct Store {
    /// A folder for each file set.
    pub sets: Vec<OwnedFd>,
    pub images: Vec<File>,
    /// Deletes the folder; last, so that nothing in it is open.
    _cleanup: Option<Cleanup>,
}

impl Store {
    /// Makes the files that programs expect to find, for that number of tasks; nothing where no program uses any. `settle` is called
    /// when they are filled and none of them is open.
    pub fn new(
        journal: &RunJournal,
        scratch: &Path,
        programs: &Programs,
        tasks: usize,
        settle: impl FnOnce() -> Result<(), Fault>,
    ) -> Result<Store, Fault> {
        if programs.files.is_empty() && programs.images.is_empty() {
            return settle().map(|()| Store::default());
        }
        check_space(scratch, programs, tasks)?;
        let (folder, memory) = journal.folder(scratch)?;
        let set_folder = |folder: &Path, index: usize| folder.join(format!("set{index}"));
        let image = |folder: &Path, index: usize| folder.join(format!("image{index}"));
        for (index, set) in programs.files.iter().enumerate() {
            let path = set_folder(&folder, index);
            fs::create_dir(&path).map_err(|why| Fault::file(&path, "make a folder", why))?;
            if is_opened(programs, index as u16) {
                let copies = if set.own { tasks as u64 } else { 1 };
                (0..copies * u64::from(set.files)).try_for_each(|n| fill(&path.join(n.to_string()), set.size))?;
            }
        }
        for (index, &size) in programs.images.iter().enumerate() {
            fill(&image(&folder, index), size)?;
        }
        settle()?;
        let open = |path: PathBuf| File::open(&path).map_err(|why| Fault::file(path, "open", why));
        let sets = (0..programs.files.len()).map(|index| open(set_folder(&folder, index)).map(OwnedFd::from));
        let sets = sets.collect::<Result<_, _>>()?;
        let images = (0..programs.images.len()).map(|n| open(image(&folder, n))).collect::<Result<_, _>>()?;
        Ok(Store { sets, images, _cleanup: Some(memory) })
    }
}

/// Bytes of the files that programs use, for that number of tasks; a file takes whole blocks.
pub(crate) fn bytes(programs: &Programs, tasks: usize) -> u64 {
    let whole = |size: u64| size.div_ceil(4096).saturating_mul(4096);
    let of_set = |set: &Files| {
        whole(set.size).saturating_mul(u64::from(set.files)).saturating_mul(if set.own { tasks as u64 } else { 1 })
    };
    let all = programs.files.iter().map(of_set).chain(programs.images.iter().map(|&size| whole(size)));
    all.fold(0, u64::saturating_add)
}

/// Refuses what the file system has no room for, before anything is written.
fn check_space(scratch: &Path, programs: &Programs, tasks: usize) -> Result<(), Fault> {
    let wanted = bytes(programs, tasks);
    let room = nix::sys::statvfs::statvfs(scratch)
        .map_err(|why| Fault::file(scratch, "look at the free space of", why.into()))?;
    let free = room.blocks_available().saturating_mul(room.fragment_size());
    if wanted > free {
        let why =
            format!("{} has {} MiB free, and the run's files need {}", scratch.display(), free >> 20, wanted >> 20);
        let advice = "name another folder with --scratch, or have fewer or smaller files".to_owned();
        return Err(Fault::Refused { what: "the run's files".to_owned(), why, advice });
    }
    Ok(())
}

/// Whether any program opens files of the set, which must be there then.
fn is_opened(programs: &Programs, set: u16) -> bool {
    programs.programs.iter().flatten().any(|instruction| *instruction == Instruction::Open(set))
}

/// A file of that size, on the drive and not in the block cache: runs begin with files that no task has read.
fn fill(path: &Path, size: u64) -> Result<(), Fault> {
    let write = || -> io::Result<()> {
        let mut file = File::create(path)?;
        let block = vec![0x5A; BLOCK.min(size as usize)];
        let mut left = size;
        while left > 0 {
            let part = (block.len() as u64).min(left) as usize;
            file.write_all(&block[..part])?;
            left -= part as u64;
        }
        file.sync_data()?;
        drop_cached(&file);
        Ok(())
    };
    write().map_err(|why| Fault::file(path, "fill", why))
}

/// A file's name in its folder, written without allocating.
pub(crate) struct Name([u8; 12]);

impl Name {
    pub fn new(number: u32) -> Name {
        let mut text = [0; 12];
        // Ten digits are the most that a u32 has.
        let _ = write!(&mut text[..11], "{number}");
        Name(text)
    }

    pub fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or_default()
    }
}

/// A file of a set, opened.
pub(crate) fn open(folder: &OwnedFd, number: u32, flags: i32) -> io::Result<OwnedFd> {
    open_at(folder.as_raw_fd(), Name::new(number).as_c_str(), flags)
}
