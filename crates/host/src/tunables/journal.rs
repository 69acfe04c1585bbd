//! The journal: what has to be undone, on disk before it is done.
//!
//! A folder with a file an entry, written under another name, flushed, renamed, the folder flushed. An entry goes only when what it
//! tells of is undone. Entries belong to a process ([`Owner`]); those of a living one are nobody else's affair, those of a
//! dead one are undone by its warden, or by whoever uses the journal next. A lock on the folder's file `lock` keeps two from
//! undoing the same.

use super::owner::Owner;
use super::stop;
use super::thing::{Mismatch, Thing, Undone};
use crate::{Fault, Root};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// No entry of ours is longer: two settings' worth of text, escaped.
const MOST_BYTES: u64 = 128 << 10;
/// More entries than any run makes.
const MOST_ENTRIES: usize = 4096;
/// How long the lock is waited for: whoever has it writes a few settings.
const PATIENCE: Duration = Duration::from_secs(20);
/// Of the entries of this process, in order.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// An entry on disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Whose.
    pub owner: Owner,
    /// Order among its owner's.
    pub sequence: u64,
    /// When, by the wall clock: order among owners.
    pub unix_ns: u64,
    /// What has to be undone.
    pub thing: Thing,
}

impl Entry {
    fn file_name(&self) -> String {
        format!("{}-{}-{:08}.json", self.owner.pid, self.owner.start, self.sequence)
    }
}

/// What came of undoing entries.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Undo {
    /// What is as it was.
    pub back: Vec<String>,
    /// What was not there any more, or had reset itself when the machine was started anew.
    pub gone: Vec<String>,
    /// What somebody else has changed meanwhile; it was left alone.
    pub foreign: Vec<Mismatch>,
    /// What could not be undone, and why; it stays in the journal.
    pub failed: Vec<String>,
    /// What living processes hold, and which.
    pub living: Vec<String>,
    /// Files of the journal that cannot be read.
    pub unreadable: Vec<String>,
}

impl Undo {
    /// A fault, if something could not be undone.
    pub fn succeeded(self) -> Result<Undo, Fault> {
        if self.failed.is_empty() {
            return Ok(self);
        }
        Err(Fault::Refused {
            what: "putting back".to_owned(),
            why: self.failed.join("; "),
            advice: "the journal keeps it: mend that and say schedlab host restore".to_owned(),
        })
    }
}

/// The journal, as its process sees it.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    owner: Owner,
}

/// The lock of a journal; it goes with its process too.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Journal {
    /// Opens the journal in a folder, which is made if need be. A folder that others may write is refused: what stands in it
    /// is written into the kernel.
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

    /// Waits until nobody else writes or undoes entries.
    pub fn lock(&self) -> Result<Lock, Fault> {
        let path = self.folder.join("lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let file = file.map_err(|why| Fault::file(&path, "open", why))?;
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(fs::TryLockError::WouldBlock) if began.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(why) => return Err(Fault::file(path, "lock", why.into())),
            }
        }
    }

    /// Puts something on disk that has to be undone. When this returns, it is there whatever happens.
    pub fn remember(&self, thing: Thing) -> Result<Entry, Fault> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let entry = Entry {
            owner: self.owner.clone(),
            sequence: NEXT.fetch_add(1, Ordering::Relaxed),
            unix_ns: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX),
            thing,
        };
        stop::point();
        self.write(&entry, true)?;
        stop::point();
        Ok(entry)
    }

    /// Changes what an entry says. Not flushed: it tells our own values from others', which matters to this boot only.
    pub fn amend(&self, entry: &Entry) -> Result<(), Fault> {
        stop::point();
        self.write(entry, false)
    }

    fn write(&self, entry: &Entry, flushed: bool) -> Result<(), Fault> {
        let path = self.folder.join(entry.file_name());
        let beside = path.with_extension("new");
        let text = serde_json::to_vec(entry).map_err(|why| Fault::Wrong(format!("the journal's entry: {why}")))?;
        let written = (|| {
            let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&beside)?;
            file.write_all(&text)?;
            if flushed {
                file.sync_all()?;
            }
            stop::point();
            fs::rename(&beside, &path)?;
            if flushed { self.flush() } else { Ok(()) }
        })();
        written.map_err(|why| {
            let _ = fs::remove_file(&beside);
            Fault::file(&path, "write the journal's entry", why)
        })
    }

    fn flush(&self) -> std::io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }

    /// Takes an entry off that is undone.
    pub fn forget(&self, entry: &Entry) -> Result<(), Fault> {
        let path = self.folder.join(entry.file_name());
        match fs::remove_file(&path) {
            Err(why) if why.kind() != ErrorKind::NotFound => Err(Fault::file(path, "remove", why)),
            _ => self.flush().map_err(|why| Fault::file(&self.folder, "flush", why)),
        }
    }

    /// Removes entries that were never finished: what they would have told of was never done. The lock must be held.
    fn sweep(&self) {
        let unfinished = |name: &str| {
            let (pid, rest) = name.strip_suffix(".new")?.split_once('-')?;
            let (start, _) = rest.split_once('-')?;
            let owner = Owner { pid: pid.parse().ok()?, start: start.parse().ok()?, ..self.owner.clone() };
            Some(!owner.lives())
        };
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if entry.file_name().to_str().and_then(unfinished) == Some(true) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// All entries, oldest first, and the files that are none.
    pub fn entries(&self) -> Result<(Vec<Entry>, Vec<String>), Fault> {
        let found = fs::read_dir(&self.folder).map_err(|why| Fault::file(&self.folder, "read", why))?;
        let (mut entries, mut unreadable) = (Vec::new(), Vec::new());
        for path in found.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "json")) {
            match read_entry(&path) {
                Some(entry) if entries.len() < MOST_ENTRIES => entries.push(entry),
                _ if path.symlink_metadata().is_ok() => unreadable.push(format!("{} (remove it)", path.display())),
                _ => {}
            }
        }
        entries.sort_by_key(|e| (e.unix_ns, e.sequence));
        Ok((entries, unreadable))
    }

    /// Undoes entries, the latest first, and forgets those that are undone. The lock must be held.
    pub fn undo(&self, root: &Root, mut entries: Vec<Entry>, report: &mut Undo) {
        entries.sort_by_key(|e| std::cmp::Reverse((e.unix_ns, e.sequence)));
        let waits = |e: &Entry| matches!(&e.thing, Thing::Value(change) if change.by.is_some());
        let (later, first): (Vec<_>, Vec<_>) = entries.into_iter().partition(waits);
        let mut lost = BTreeSet::new();
        for entry in first.into_iter().chain(later) {
            self.undo_one(root, &entry, &mut lost, report);
        }
    }

    /// Whether somebody else relies on the same mount, who will take it away.
    fn shared(&self, entry: &Entry) -> bool {
        let is_other = |e: &Entry| e.thing == entry.thing && (&e.owner, e.sequence) != (&entry.owner, entry.sequence);
        matches!(entry.thing, Thing::Mount { .. })
            && self.entries().is_ok_and(|(all, _)| all.iter().any(|e| is_other(e) && e.owner.lives()))
    }

    /// `lost` are the settings that are somebody else's now: what follows them is left alone too.
    fn undo_one(&self, root: &Root, entry: &Entry, lost: &mut BTreeSet<PathBuf>, report: &mut Undo) {
        let name = entry.thing.name();
        if self.shared(entry) {
            report.gone.push(format!("{name}: another run uses it"));
        } else if !entry.owner.of_this_boot() && !entry.thing.outlives_a_boot() {
            report.gone.push(format!("{name}: reset when the machine was started anew"));
        } else if let Thing::Value(change) = &entry.thing
            && change.follows.iter().chain(&change.by).any(|leader| lost.contains(leader))
        {
            report.gone.push(format!("{name}: goes with a setting that somebody else has changed"));
        } else {
            stop::point();
            let outcome = entry.thing.undo(root);
            stop::point();
            match outcome {
                Ok(Undone::Back) => report.back.push(name),
                Ok(Undone::Gone) => report.gone.push(name),
                Ok(Undone::Foreign(mismatch)) => {
                    lost.insert(mismatch.path.clone());
                    report.foreign.push(mismatch);
                }
                Err(fault) => return report.failed.push(format!("{name}: {fault}")),
            }
        }
        if let Err(fault) = self.forget(entry) {
            report.failed.push(fault.to_string());
        }
    }
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

/// Undoes what dead processes have left. What living ones hold is left alone.
pub fn recover(root: &Root, folder: &Path) -> Result<Undo, Fault> {
    recover_those(root, folder, |_| true)
}

/// The same for some owners only.
pub fn recover_those(root: &Root, folder: &Path, whose: impl Fn(&Owner) -> bool) -> Result<Undo, Fault> {
    if !folder.exists() {
        return Ok(Undo::default());
    }
    let journal = Journal::open(folder)?;
    let _lock = journal.lock()?;
    let mut report = Undo::default();
    journal.sweep();
    let (entries, unreadable) = journal.entries()?;
    report.unreadable = unreadable;
    let (living, dead): (Vec<_>, Vec<_>) =
        entries.into_iter().filter(|e| whose(&e.owner)).partition(|e| e.owner.lives());
    report.living = living.iter().map(|e| format!("{}, held by process {}", e.thing.name(), e.owner.pid)).collect();
    journal.undo(root, dead, &mut report);
    Ok(report)
}

/// What stands in a journal: what is held by living processes, and what would be undone.
pub fn would_undo(folder: &Path) -> Result<Undo, Fault> {
    let mut report = Undo::default();
    if !folder.exists() {
        return Ok(report);
    }
    let (entries, unreadable) = Journal::open(folder)?.entries()?;
    report.unreadable = unreadable;
    for entry in entries.iter().rev() {
        let name = entry.thing.name();
        if entry.owner.lives() {
            report.living.push(format!("{name}, held by process {}", entry.owner.pid));
        } else {
            let old = if let Thing::Value(change) = &entry.thing {
                format!(" to {}", change.old.trim_end())
            } else {
                String::new()
            };
            report.back.push(format!("{name}{old}"));
        }
    }
    Ok(report)
}
