//! Undoing what a journal holds: the latest first, each read back before its entry is forgotten, and nothing claimed that is not so.

use crate::{
    change::Change,
    journal::{Entry, Journal},
    object::Object,
    owner::Owner,
    remove, stop, strays,
    undone::{Mismatch, Undone},
};
use schedlab_linux::{Fault, Root};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The result of undoing entries.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Undo {
    /// What is as it was.
    pub back: Vec<String>,
    /// What was not there any more, had reset itself when the machine was started anew, or stays because another run uses it.
    pub gone: Vec<String>,
    /// What another process has changed meanwhile; it was left alone.
    pub foreign: Vec<Mismatch>,
    /// What could not be undone, and why.
    pub failed: Vec<String>,
    /// What is undone, and whose entry could not be taken off the journal.
    pub stuck: Vec<String>,
    /// What living processes hold, and which.
    pub living: Vec<String>,
    /// Files of the journal that cannot be read: their objects may be left.
    pub unreadable: Vec<String>,
    /// What looks like ours and is in no entry, or does not carry the entry's marker; it was left alone.
    pub strays: Vec<String>,
    /// Whether something of `failed` is in no journal any more.
    #[serde(skip)]
    pub lost: bool,
}

impl Undo {
    /// Nothing could be undone.
    pub fn failed(why: String) -> Undo {
        Undo { failed: vec![why], ..Undo::default() }
    }

    /// A fault, if something could not be undone, or it cannot be known.
    pub fn succeeded(self) -> Result<Undo, Fault> {
        let unread =
            self.unreadable.iter().map(|file| format!("{file} cannot be read: what it held may still be changed"));
        let why: Vec<String> = self.failed.iter().chain(&self.stuck).cloned().chain(unread).collect();
        let advice = match self {
            _ if why.is_empty() => return Ok(self),
            Undo { lost: true, .. } => "no journal keeps it: mend that, and write the old value back by hand",
            Undo { ref failed, .. } if !failed.is_empty() => {
                "the journal keeps it: mend that and say schedlab host restore"
            }
            Undo { ref stuck, .. } if !stuck.is_empty() => "make the journal writable, then say schedlab host restore",
            _ => "look at that file, put back by hand what it names, and remove it",
        };
        Err(Fault::Refused { what: "putting back".to_owned(), why: why.join("; "), advice: advice.to_owned() })
    }
}

/// One value of the kernel: a file, and the flag in it.
type Key = (PathBuf, String);

/// An undoing under way.
struct Undoing<'a> {
    journal: &'a Journal,
    root: &'a Root,
    /// Settings that another process has changed: what follows them is left alone too.
    theirs: BTreeSet<PathBuf>,
    /// Values that could not be put back: what was set before them waits.
    blocked: BTreeSet<Key>,
}

impl Journal {
    /// Undoes entries, the latest first, and forgets those that are undone. Gives those that are not.
    pub(crate) fn undo(&self, root: &Root, mut entries: Vec<Entry>, report: &mut Undo) -> Vec<Entry> {
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.order()));
        let waits = |e: &Entry| matches!(&e.object, Object::Value(change) if change.by.is_some());
        let (later, first): (Vec<_>, Vec<_>) = entries.into_iter().partition(waits);
        let mut undoing = Undoing { journal: self, root, theirs: BTreeSet::new(), blocked: BTreeSet::new() };
        let (mut left, mut folders) = (Vec::new(), Vec::new());
        for entry in first.into_iter().chain(later) {
            match undoing.one(&entry, report) {
                Ok(()) => {}
                // On a volume whose drive has died nothing can be removed; the folder goes with the volume, whose turn comes later.
                Err(_) if matches!(entry.object, Object::Folder { .. }) => folders.push(entry),
                Err(why) => left.push(undoing.fail(entry, &why, report)),
            }
        }
        for entry in folders {
            if let Err(why) = undoing.one(&entry, report) {
                left.push(undoing.fail(entry, &why, report));
            }
        }
        left.sort_by_key(Entry::order);
        left
    }

    /// Whether another owner relies on the same mount or the same counting, and will undo it.
    fn shared(&self, entry: &Entry) -> bool {
        let is_other = |e: &Entry| e.object == entry.object && (&e.owner, e.sequence) != (&entry.owner, entry.sequence);
        let may_be = match &entry.object {
            Object::Mount { .. } => true,
            Object::Value(change) => change.shared,
            _ => false,
        };
        may_be && self.entries().is_ok_and(|(all, _)| all.iter().any(|e| is_other(e) && e.owner.lives()))
    }
}

impl Undoing<'_> {
    /// Undoes it, or says why not.
    fn one(&mut self, entry: &Entry, report: &mut Undo) -> Result<(), String> {
        let name = entry.object.name();
        if self.journal.shared(entry) {
            report.gone.push(format!("{name}: another run uses it"));
        } else if !entry.owner.of_this_boot() && !entry.object.outlives_a_boot() {
            report.gone.push(format!("{name}: reset when the machine was started anew"));
        } else if self.follows_theirs(entry) {
            report.gone.push(format!("{name}: belongs to a setting that another process has changed"));
        } else if self.waits(entry) {
            return Err("what was set after it could not be put back".to_owned());
        } else {
            stop::point();
            let outcome = entry.object.undo(self.root, &entry.owner);
            stop::point();
            match outcome {
                Ok(Undone::Back) => report.back.push(name),
                Ok(Undone::Gone) => report.gone.push(name),
                Ok(Undone::NotOurs(what)) => report.strays.push(what),
                Ok(Undone::Partly(mismatches)) => report.foreign.extend(mismatches),
                Ok(Undone::Foreign(mismatch)) => {
                    self.theirs.insert(mismatch.path.clone());
                    report.foreign.push(mismatch);
                }
                Err(fault) => return Err(fault.to_string()),
            }
        }
        if let Err(fault) = self.journal.forget(entry) {
            report.stuck.push(format!("{}: it is done, and its entry stays: {fault}", entry.object.name()));
        }
        Ok(())
    }

    /// It stays, and so does what was set before it.
    fn fail(&mut self, entry: Entry, why: &str, report: &mut Undo) -> Entry {
        let old = if let Object::Value(change) = &entry.object {
            self.blocked.insert(change.key());
            format!("; before, it read {:?}", change.old.trim_end())
        } else {
            String::new()
        };
        report.failed.push(format!("{}: {why}{old}", entry.object.name()));
        report.lost |= !self.journal.holds(&entry);
        entry
    }

    fn follows_theirs(&self, entry: &Entry) -> bool {
        let Object::Value(change) = &entry.object else { return false };
        leaders(change).any(|leader| self.theirs.contains(leader))
    }

    fn waits(&self, entry: &Entry) -> bool {
        let Object::Value(change) = &entry.object else { return false };
        self.blocked.contains(&change.key())
            || leaders(change).any(|leader| self.blocked.iter().any(|(path, _)| path == leader))
    }
}

/// The settings with which a change comes back.
fn leaders(change: &Change) -> impl Iterator<Item = &PathBuf> {
    change.follows.iter().chain(&change.by)
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
    let is_dead = |entry: &Entry| whose(&entry.owner) && !entry.owner.lives();
    // Before the lock is taken: they need it to put back what is theirs.
    for entry in journal.entries()?.0.iter().filter(|entry| is_dead(entry)) {
        if let (Object::Member { pid, start }, true) = (&entry.object, entry.owner.of_this_boot()) {
            remove::end_member(*pid, *start);
        }
    }
    let _lock = journal.lock_to_undo();
    let mut report = Undo::default();
    journal.sweep(|owner| !owner.lives());
    let (entries, unreadable) = journal.entries()?;
    report.unreadable = unreadable;
    let busy = busy_owners(&entries);
    let (living, dead): (Vec<_>, Vec<_>) =
        entries.into_iter().filter(|e| whose(&e.owner)).partition(|e| e.owner.lives() || busy.contains(&e.owner));
    report.living = living.iter().map(held_by).collect();
    journal.undo(root, dead, &mut report);
    Ok(report)
}

/// Whether a process still acts for an owner, be that one dead or not.
fn is_busy_member(entry: &Entry) -> bool {
    let Object::Member { pid, start } = &entry.object else { return false };
    entry.owner.of_this_boot() && schedlab_linux::proc::task::start_of(*pid) == Some(*start)
}

/// Owners for whom a process still acts.
fn busy_owners(entries: &[Entry]) -> BTreeSet<Owner> {
    entries.iter().filter(|e| is_busy_member(e)).map(|e| e.owner.clone()).collect()
}

fn held_by(entry: &Entry) -> String {
    format!("{}, held by process {}", entry.object.name(), entry.owner.pid)
}

/// The contents of a journal: what is held by living processes, and what would be undone.
pub fn would_undo(root: &Root, folder: &Path) -> Result<Undo, Fault> {
    let mut report = Undo { strays: strays::look(root, folder), ..Undo::default() };
    if !folder.exists() {
        return Ok(report);
    }
    let journal = Journal::open(folder)?;
    let (entries, unreadable) = journal.entries()?;
    report.unreadable = unreadable;
    let busy = busy_owners(&entries);
    for entry in entries.iter().rev() {
        if entry.owner.lives() || busy.contains(&entry.owner) {
            report.living.push(held_by(entry));
        } else if journal.shared(entry) {
            report.gone.push(format!("{}: another run uses it", entry.object.name()));
        } else if !matches!(entry.object, Object::Member { .. }) {
            // A process of a dead owner that has ended has left nothing of itself.
            let old = if let Object::Value(change) = &entry.object {
                format!(" to {}", change.old.trim_end())
            } else {
                String::new()
            };
            report.back.push(format!("{}{old}", entry.object.name()));
        }
    }
    Ok(report)
}
