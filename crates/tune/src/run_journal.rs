//! What a run creates on a host: entered into the journal before it is created, undone when its guard is dropped, and otherwise by
//! the restorer or the next user of the journal.

use crate::{
    journal::{Entry, Journal},
    marker::{self, Id},
    object::Object,
    owner::Owner,
    restorer,
    undo::Undo,
};
use schedlab_linux::{Fault, Root, shown};
use std::path::{Path, PathBuf};

/// Where the objects of one run are entered. After a fork both processes write into the same one: what the child makes is its
/// parent's, and undone when the parent has died.
#[derive(Debug, Clone)]
pub struct RunJournal {
    root: Root,
    /// Or why nothing can be entered: then nothing can be made that has to be undone.
    journal: Result<Journal, String>,
}

impl RunJournal {
    /// Opens the journal in a folder, with a restorer for what this process will enter.
    pub fn open(root: &Root, folder: &Path) -> RunJournal {
        let journal = Journal::open(folder).and_then(|journal| {
            restorer::ensure_started(root, journal.folder())?;
            // What can be locked can mostly be written; the rest is found out by the first entry.
            journal.lock().map(drop)?;
            Ok(journal)
        });
        RunJournal { root: root.clone(), journal: journal.map_err(|why| why.to_string()) }
    }

    /// A journal in which nothing can be entered, for that reason.
    pub fn closed(root: &Root, why: &str) -> RunJournal {
        RunJournal { root: root.clone(), journal: Err(why.to_owned()) }
    }

    /// Where the kernel's files are.
    pub fn root(&self) -> &Root {
        &self.root
    }

    fn journal(&self) -> Result<&Journal, Fault> {
        self.journal.as_ref().map_err(|why| Fault::Refused {
            what: "what has to be undone after a run".to_owned(),
            why: format!("it cannot be journalled first: {why}"),
            advice: "make the journal's folder writable".to_owned(),
        })
    }

    /// Enters something that is about to be made.
    pub fn enter(&self, object: Object) -> Result<Cleanup, Fault> {
        let journal = self.journal()?;
        let entry = journal.enter(&journal.lock()?, object)?;
        Ok(Cleanup { root: self.root.clone(), journal: journal.clone(), entry: Some(entry) })
    }

    /// Makes a folder of this run's own below another, which is removed with its contents.
    pub fn folder(&self, below: &Path) -> Result<(PathBuf, Cleanup), Fault> {
        let below = below.canonicalize().map_err(|why| Fault::file(below, "find", why))?;
        let (id, owner) = (Id::fresh()?, self.journal()?.owner().clone());
        let path = below.join(marker::name(&owner, &id));
        let cleanup = self.enter(Object::Folder { path: path.clone(), id: id.clone() })?;
        marker::make_folder(&self.root.path(&path), &id, &owner)?;
        Ok((path, cleanup))
    }

    /// Enters this process as one that acts for the owner: it is ended before anything of a dead owner is undone.
    pub fn join(&self) -> Result<Cleanup, Fault> {
        let own = Owner::own();
        self.enter(Object::Member { pid: own.pid, start: own.start })
    }

    /// The name of something that is about to be made, and its marker.
    pub fn name(&self) -> Result<(String, Id), Fault> {
        let id = Id::fresh()?;
        Ok((marker::name(self.journal()?.owner(), &id).to_string_lossy().into_owned(), id))
    }

    /// A moment, for [`RunJournal::undo_since`].
    pub fn moment(&self) -> u64 {
        Journal::largest()
    }

    /// Undoes what was entered in this run's name since then and is still there: what a child has made that was killed.
    pub fn undo_since(&self, moment: u64) -> Undo {
        let mut report = Undo::default();
        let Ok(journal) = &self.journal else { return report };
        let _lock = journal.lock_to_undo();
        journal.sweep(|owner| owner == journal.owner());
        match journal.entries() {
            Ok((entries, _)) => {
                let since = |e: &Entry| e.owner == *journal.owner() && e.sequence > moment;
                journal.undo(&self.root, entries.into_iter().filter(since).collect(), &mut report);
            }
            Err(fault) => report.failed.push(fault.to_string()),
        }
        report
    }
}

/// An object created on the host. Dropping this undoes it.
#[derive(Debug)]
pub struct Cleanup {
    root: Root,
    journal: Journal,
    entry: Option<Entry>,
}

impl Cleanup {
    /// Undoes it now.
    pub fn undo(mut self) -> Result<Undo, Fault> {
        self.undo_now().succeeded()
    }

    /// Changes what the entry says, before what it says is done.
    pub fn amend(&mut self, object: Object) -> Result<(), Fault> {
        let Some(entry) = &mut self.entry else { return Ok(()) };
        entry.object = object;
        self.journal.amend(entry)
    }

    /// Takes the entry off without undoing anything: its object is gone by itself.
    pub fn forget(mut self) -> Result<(), Fault> {
        self.entry.take().map_or(Ok(()), |entry| self.journal.forget(&entry))
    }

    fn undo_now(&mut self) -> Undo {
        let mut report = Undo::default();
        let Some(entry) = self.entry.take() else { return report };
        let _lock = self.journal.lock_to_undo();
        self.journal.undo(&self.root, vec![entry], &mut report);
        report
    }
}

impl Drop for Cleanup {
    /// What fails here stays in the journal; the restorer tries again when this process has ended.
    fn drop(&mut self) {
        if let Err(fault) = self.undo_now().succeeded() {
            eprintln!("warning: {}", shown(&fault.to_string()));
        }
    }
}
