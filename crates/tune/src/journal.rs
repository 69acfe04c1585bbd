//! The journal: what has to be undone, on disk before it is done.
//!
//! A folder with a file an entry, written under another name, flushed, renamed, the folder flushed. An entry is removed only when its
//! change is undone. Entries belong to a process ([`Owner`]); only a living owner undoes its own, those of a
//! dead one are undone by its restorer, or by the next user of the journal ([`super::undo`]).
//!
//! Entries of all processes are numbered in one sequence: the next number is one more than the largest that is there, found under the
//! lock of the folder's file `lock`. They are undone in the order of these numbers and of nothing else; clocks step.

use crate::{object::Object, owner::Owner, stop};
use schedlab_linux::Fault;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// No entry of ours is longer: two settings' worth of text, escaped.
const MOST_BYTES: u64 = 128 << 10;
/// More entries than any run makes.
const MOST_ENTRIES: usize = 4096;
/// A name with a larger number is none of ours.
const LARGEST_SEQUENCE: u64 = 1 << 52;
/// How long to wait for the lock: its holder writes a few settings, or waits for a mount or a group to become unused.
const PATIENCE: Duration = Duration::from_secs(20);
/// The largest number that this process has given, also where the entry is gone again.
static LARGEST: AtomicU64 = AtomicU64::new(0);

/// An entry on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Whose.
    pub owner: Owner,
    /// Order among all entries of the journal.
    pub sequence: u64,
    /// What has to be undone.
    #[serde(rename = "thing")]
    pub object: Object,
}

impl Entry {
    fn file_name(&self) -> String {
        format!("{}-{}-{:08}.json", self.owner.pid, self.owner.start, self.sequence)
    }

    /// The order in which entries were made. Journals of earlier versions numbered each process's own: then the
    /// start of the process decides.
    pub(crate) fn order(&self) -> (u64, u64, i32) {
        (self.sequence, self.owner.start, self.owner.pid)
    }
}

/// The journal, as its process sees it.
#[derive(Debug, Clone)]
pub struct Journal {
    folder: PathBuf,
    owner: Owner,
}

/// The lock of a journal; it goes with its process too.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Whether the locked file is the one with this name.
    fn is_at(&self, path: &Path) -> bool {
        let of = |about: fs::Metadata| (about.dev(), about.ino());
        let (ours, there) = (self.file.metadata().map(of), fs::symlink_metadata(path).map(of));
        ours.is_ok_and(|ours| there.is_ok_and(|there| ours == there))
    }
}

impl Journal {
    /// Opens the journal in a folder, which is made if need be. A folder that others may write is refused: its contents
    /// are written into the kernel.
    pub fn open(folder: &Path) -> Result<Journal, Fault> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|why| Fault::file(folder, "make", why))?;
        let about = fs::symlink_metadata(folder).map_err(|why| Fault::file(folder, "read", why))?;
        let own = nix::unistd::geteuid().as_raw();
        if !about.is_dir() || about.uid() != own || about.mode() & 0o022 != 0 {
            return Err(Fault::Refused {
                what: format!("the journal {}", folder.display()),
                why: "it is not a folder that only this user may write".to_owned(),
                advice: format!("remove it, or chown {own} and chmod 700 it"),
            });
        }
        let folder = folder.canonicalize().map_err(|why| Fault::file(folder, "read", why))?;
        Ok(Journal { folder, owner: Owner::own() })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whose entries are written: the process that opened it, also after a fork.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Waits until no other process writes or undoes entries.
    pub fn lock(&self) -> Result<Lock, Fault> {
        // Another process may leave the folder meanwhile, with this very file: then both are made anew.
        loop {
            match self.lock_once() {
                Ok(lock) if lock.is_at(&self.folder.join("lock")) => return Ok(lock),
                Err(Fault::File { why, .. }) if why.kind() == ErrorKind::NotFound => {}
                Err(fault) => return Err(fault),
                Ok(_) => {}
            }
            Journal::open(&self.folder)?;
        }
    }

    fn lock_once(&self) -> Result<Lock, Fault> {
        let path = self.folder.join("lock");
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NOFOLLOW).mode(0o600);
        // Where nothing can be written any more, a lock that is there still serves.
        let file = options.open(&path).or_else(|_| options.create(true).write(true).truncate(false).open(&path));
        let file = file.map_err(|why| Fault::file(&path, "open", why))?;
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { file }),
                Err(fs::TryLockError::WouldBlock) if began.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(why) => return Err(Fault::file(path, "lock", why.into())),
            }
        }
    }

    /// The same for undoing, which must go on without a lock where there can be none: the folder was removed, or it cannot be
    /// written any more, or the holder of the lock is stuck. To undo the same object twice does no harm; two
    /// runs that undo what they share at once, both without the lock, would leave it.
    pub(crate) fn lock_to_undo(&self) -> Option<Lock> {
        self.lock().ok()
    }

    /// Puts something on disk that has to be undone. When this returns, it is there whatever happens.
    pub fn enter(&self, _lock: &Lock, object: Object) -> Result<Entry, Fault> {
        let entry = Entry { owner: self.owner.clone(), sequence: self.next()?, object };
        stop::point();
        self.write(&entry, entry.object.is_flushed())?;
        stop::point();
        Ok(entry)
    }

    /// The next number. The lock must be held.
    fn next(&self) -> Result<u64, Fault> {
        let found = fs::read_dir(&self.folder).map_err(|why| Fault::file(&self.folder, "read", why))?;
        let there = found.flatten().filter_map(|entry| sequence_of(entry.file_name().to_str()?)).max().unwrap_or(0);
        let next = LARGEST.load(Ordering::Relaxed).max(there) + 1;
        LARGEST.store(next, Ordering::Relaxed);
        Ok(next)
    }

    /// The largest number given by this process so far.
    pub(crate) fn largest() -> u64 {
        LARGEST.load(Ordering::Relaxed)
    }

    /// Changes what an entry says. Not flushed: it distinguishes our own values from others', which matters in this boot only.
    pub fn amend(&self, entry: &Entry) -> Result<(), Fault> {
        stop::point();
        self.write(entry, false)
    }

    fn write(&self, entry: &Entry, flushed: bool) -> Result<(), Fault> {
        let path = self.folder.join(entry.file_name());
        let temporary = path.with_extension("new");
        let text = serde_json::to_vec(entry).map_err(|why| Fault::Wrong(format!("the journal's entry: {why}")))?;
        let written = (|| {
            let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&temporary)?;
            file.write_all(&text)?;
            if flushed {
                file.sync_all()?;
            }
            stop::point();
            fs::rename(&temporary, &path)?;
            if flushed { self.flush() } else { Ok(()) }
        })();
        written.map_err(|why| {
            let _ = fs::remove_file(&temporary);
            Fault::file(&path, "write the journal's entry", why)
        })
    }

    fn flush(&self) -> std::io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }

    /// Takes an entry off that is undone. One that is not there any more is no fault.
    pub fn forget(&self, entry: &Entry) -> Result<(), Fault> {
        let path = self.folder.join(entry.file_name());
        match fs::remove_file(&path) {
            Err(why) if why.kind() == ErrorKind::NotFound => Ok(()),
            Err(why) => Err(Fault::file(path, "remove", why)),
            Ok(()) if entry.object.is_flushed() => self.flush().map_err(|why| Fault::file(&self.folder, "flush", why)),
            Ok(()) => Ok(()),
        }
    }

    /// Whether the entry can be read from disk.
    pub(crate) fn holds(&self, entry: &Entry) -> bool {
        read_entry(&self.folder.join(entry.file_name())).is_some()
    }

    /// Removes entries of these owners that were never finished: their objects were never created. The lock must
    /// be held.
    pub(crate) fn sweep(&self, whose: impl Fn(&Owner) -> bool) {
        let unfinished = |name: &str| {
            let (pid, start, _) = parts(name.strip_suffix(".new")?)?;
            Some(whose(&Owner { pid, start, ..self.owner.clone() }))
        };
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if entry.file_name().to_str().and_then(unfinished) == Some(true) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// All entries, oldest first, and the files that are none.
    pub fn entries(&self) -> Result<(Vec<Entry>, Vec<String>), Fault> {
        let found = match fs::read_dir(&self.folder) {
            Ok(found) => found,
            // Left meanwhile, because nothing was in it.
            Err(why) if why.kind() == ErrorKind::NotFound => return Ok((Vec::new(), Vec::new())),
            Err(why) => return Err(Fault::file(&self.folder, "read", why)),
        };
        let (mut entries, mut unreadable) = (Vec::new(), Vec::new());
        for path in found.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "json")) {
            match read_entry(&path) {
                Some(entry) if entries.len() < MOST_ENTRIES => entries.push(entry),
                _ if path.symlink_metadata().is_ok() => unreadable.push(path.display().to_string()),
                _ => {}
            }
        }
        entries.sort_by_key(Entry::order);
        unreadable.sort();
        Ok((entries, unreadable))
    }
}

/// Removes a journal's folder if nothing but its lock is in it, and the one above if that is empty then. A later use makes them anew.
pub(crate) fn leave(folder: &Path) {
    let Ok(journal) = Journal::open(folder) else { return };
    let Ok(_lock) = journal.lock() else { return };
    let is_other = |entry: fs::DirEntry| entry.file_name() != "lock";
    if fs::read_dir(folder).is_ok_and(|found| !found.flatten().any(is_other)) {
        let _ = fs::remove_file(folder.join("lock"));
        let gone = fs::remove_dir(folder).is_ok();
        let _ = folder.parent().filter(|_| gone).map(fs::remove_dir);
    }
}

/// Process, start and number in the name of an entry's file without its end.
fn parts(name: &str) -> Option<(i32, u64, u64)> {
    let mut parts = name.splitn(3, '-');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn sequence_of(name: &str) -> Option<u64> {
    parts(name.strip_suffix(".json")?).map(|(_, _, sequence)| sequence).filter(|number| *number < LARGEST_SEQUENCE)
}

fn read_entry(path: &Path) -> Option<Entry> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path).ok()?;
    let about = file.metadata().ok()?;
    if !about.is_file() || about.uid() != nix::unistd::geteuid().as_raw() {
        return None;
    }
    let mut text = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut text).ok()?;
    let entry: Entry = serde_json::from_slice(&text).ok()?;
    (path.file_name()?.to_str()? == entry.file_name()).then_some(entry)
}
