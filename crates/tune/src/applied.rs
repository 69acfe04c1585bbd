//! Settings that are applied for a limited time: written, checked, restored.

use crate::{
    change::Change,
    journal::{Entry, Journal, Lock},
    marker,
    object::Object,
    place::DEBUGFS,
    reading::{read_bounded, write_once},
    restorer,
    steps::{Plan, Step, plan},
    stop,
    undo::{Undo, recover},
    undone::Mismatch,
};
use schedlab_linux::{Fault, Root};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Settings in force, restored on drop.
#[derive(Debug)]
pub struct AppliedSettings {
    root: Root,
    /// None when nothing had to be changed.
    journal: Option<Journal>,
    entries: Vec<Entry>,
    watched: BTreeMap<(PathBuf, String), Change>,
    rounded: Vec<Mismatch>,
    recovered: Undo,
    /// Whether other runs may hold the same values, see [`share`](Self::share).
    shared: bool,
}

impl AppliedSettings {
    /// Applies settings by the names of the table (`swappiness`, `elevator@vda`), as users write the values. Devices that are not
    /// named are those of the current folder. On a fault nothing is changed.
    pub fn apply(root: &Root, settings: &BTreeMap<String, String>, journal: &Path) -> Result<AppliedSettings, Fault> {
        let folder = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        AppliedSettings::apply_at(root, settings, journal, &folder)
    }

    /// The same for what only turns a counting of the kernel on. Other runs that share the same value with this journal hold it, too, and the
    /// last of them puts it back. It is not to be kept.
    pub fn share(root: &Root, settings: &BTreeMap<String, String>, journal: &Path) -> Result<AppliedSettings, Fault> {
        AppliedSettings::apply_as(root, settings, journal, Path::new("/"), true)
    }

    /// The same with the devices of another folder.
    pub fn apply_at(
        root: &Root,
        settings: &BTreeMap<String, String>,
        journal: &Path,
        folder: &Path,
    ) -> Result<AppliedSettings, Fault> {
        AppliedSettings::apply_as(root, settings, journal, folder, false)
    }

    fn apply_as(
        root: &Root,
        settings: &BTreeMap<String, String>,
        journal: &Path,
        folder: &Path,
        shared: bool,
    ) -> Result<AppliedSettings, Fault> {
        let (entries, watched, rounded) = (Vec::new(), BTreeMap::new(), Vec::new());
        let recovered = recover(root, journal)?;
        let mut applied =
            AppliedSettings { root: root.clone(), journal: None, entries, watched, rounded, recovered, shared };
        if settings.is_empty() {
            return Ok(applied);
        }
        let first = plan(root, settings, folder)?;
        let journal = Journal::open(journal)?;
        restorer::ensure_started(root, journal.folder())?;
        let lock = journal.lock()?;
        refuse_what_others_hold(&journal, &first, shared)?;
        applied.journal = Some(journal);
        let done = applied.carry_out(&lock, first, settings, folder);
        let Err(fault) = done else { return Ok(applied) };
        let undo = applied.undo();
        drop(lock);
        match undo.succeeded() {
            Ok(_) => Err(fault),
            Err(worse) => Err(Fault::Wrong(format!("{fault}; and then {worse}"))),
        }
    }

    fn carry_out(
        &mut self,
        lock: &Lock,
        first: Plan,
        settings: &BTreeMap<String, String>,
        folder: &Path,
    ) -> Result<(), Fault> {
        let plan = if first.unmounted {
            self.mount_debugfs(lock)?;
            let plan = plan(&self.root, settings, folder)?;
            refuse_what_others_hold(self.journal(), &plan, self.shared)?;
            plan
        } else {
            self.share_debugfs(lock, &first)?;
            first
        };
        plan.stages.into_iter().try_for_each(|stage| self.stage(lock, stage))
    }

    fn journal(&self) -> &Journal {
        self.journal.as_ref().expect("there are settings, so there is a journal")
    }

    /// Shares debugfs where another run has mounted it.
    fn share_debugfs(&mut self, lock: &Lock, plan: &Plan) -> Result<(), Fault> {
        if !plan.steps().any(|step| step.path.starts_with(DEBUGFS)) {
            return Ok(());
        }
        self.join(lock, |object| matches!(object, Object::Mount { path, .. } if path == Path::new(DEBUGFS)))
    }

    /// Enters what another run has made or set, so that it stays until both have ended. One that has just died has not undone it, since this
    /// one holds the lock.
    fn join(&mut self, lock: &Lock, is_it: impl Fn(&Object) -> bool) -> Result<(), Fault> {
        let (all, _) = self.journal().entries()?;
        if let Some(theirs) = all.into_iter().find(|e| is_it(&e.object) && e.owner.of_this_boot()) {
            let shared = self.journal().enter(lock, theirs.object)?;
            self.entries.push(shared);
        }
        Ok(())
    }

    /// Under a name of our own, which distinguishes it from another mount there.
    fn mount_debugfs(&mut self, lock: &Lock) -> Result<(), Fault> {
        use nix::mount::{MsFlags, mount};
        let name = marker::name(self.journal().owner(), &marker::Id::fresh()?);
        let source = name.to_string_lossy().into_owned();
        let entry = self.journal().enter(lock, Object::Mount { path: PathBuf::from(DEBUGFS), source })?;
        self.entries.push(entry);
        let path = self.root.path(DEBUGFS);
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        mount(Some(&name), &path, Some("debugfs"), flags, None::<&str>).map_err(|why| Fault::Refused {
            what: format!("mounting {}", path.display()),
            why: std::io::Error::from(why).to_string(),
            advice: "leave out the scheduler's own numbers and flags, which are there".to_owned(),
        })
    }

    /// Reads, journals and writes the steps of a stage. All are on disk before the first is written.
    fn stage(&mut self, lock: &Lock, steps: Vec<Step>) -> Result<(), Fault> {
        let mut changes = Vec::new();
        for step in steps {
            let path = self.root.path(&step.path);
            let text = match read_bounded(&path) {
                Ok(text) => text,
                // What merely follows need not be readable: this device has no such object.
                Err(_) if step.follows.is_some() => continue,
                Err(why) => return Err(Fault::file(path, "read", why)),
            };
            let change = Change { shared: self.shared, ..as_change(&step, text) };
            if step.text.is_some() && step.text == change.reading.of(&change.old) {
                if self.shared {
                    let is_it = |theirs: &Change| theirs.shared && step.is_of(theirs) && theirs.expected == step.text;
                    self.join(lock, |object| matches!(object, Object::Value(theirs) if is_it(theirs)))?;
                }
                self.watch(&step, Change { expected: step.text.clone(), ..change });
                continue;
            }
            if step.text.is_some() && change.reading.back(&change.old).is_none() {
                let why = format!("it reads {:?}, which could not be put back", change.old.trim_end());
                let advice = "leave it out".to_owned();
                return Err(Fault::Refused { what: step.setting, why, advice });
            }
            let entry = self.journal().enter(lock, Object::Value(change))?;
            self.entries.push(entry);
            changes.push((step, self.entries.len() - 1));
        }
        for (step, _) in &changes {
            self.write(step)?;
        }
        for (step, index) in changes {
            self.settle(&step, index)?;
        }
        Ok(())
    }

    fn write(&self, step: &Step) -> Result<(), Fault> {
        let Some(text) = &step.text else { return Ok(()) };
        stop::point();
        let path = self.root.path(&step.path);
        write_once(&path, text).map_err(|why| Fault::Refused {
            what: format!("{} = {text}", step.setting),
            why: format!("{}: {why}", path.display()),
            advice: step.advice.unwrap_or("what had been set before it was put back").to_owned(),
        })?;
        stop::point();
        Ok(())
    }

    /// Reads a step's file back and enters the value into the journal: any other value later is another writer's.
    fn settle(&mut self, step: &Step, index: usize) -> Result<(), Fault> {
        if step.follows.is_some() {
            return Ok(());
        }
        let Object::Value(change) = &mut self.entries[index].object else { return Ok(()) };
        let got = change.now(&self.root)?.unwrap_or_default();
        let wanted = step.text.clone().unwrap_or_else(|| got.clone());
        let old = change.reading.of(&change.old).unwrap_or_default();
        change.expected = Some(got.clone());
        let change = change.clone();
        self.journal().amend(&self.entries[index])?;
        if got != wanted {
            if got == old {
                return Err(Fault::Refused {
                    what: format!("{} = {wanted}", step.setting),
                    why: format!("{} was written and still reads {old}", self.root.path(&step.path).display()),
                    advice: step.advice.unwrap_or("this kernel does not take that value").to_owned(),
                });
            }
            let (setting, path) = (step.setting.clone(), step.path.clone());
            self.rounded.push(Mismatch { setting, path, expected: wanted, actual: got });
        }
        self.watch(step, change);
        Ok(())
    }

    fn watch(&mut self, step: &Step, change: Change) {
        let key = change.key();
        if step.passing {
            self.watched.remove(&key);
        } else {
            self.watched.insert(key, change);
        }
    }

    /// Settings that differ from what was written: another process has changed them, and measurements since then are void.
    pub fn check(&self) -> Vec<Mismatch> {
        self.watched.values().filter_map(|change| change.check(&self.root)).collect()
    }

    /// Settings that the kernel changed when they were written, mostly by rounding.
    pub fn rounded(&self) -> &[Mismatch] {
        &self.rounded
    }

    /// What dead runs had left, and the result of undoing it before these settings were applied.
    pub fn recovered(&self) -> &Undo {
        &self.recovered
    }

    /// Restores everything, latest first, from the values in this process's memory; the journal is not needed. A setting that
    /// another process has changed meanwhile is left alone and reported; a fault names what could not be restored.
    pub fn restore(mut self) -> Result<Undo, Fault> {
        self.undo_locked().succeeded()
    }

    /// Takes over changes that were kept earlier, so that they are put back by [`restore`](Self::restore), or if this process dies.
    pub(crate) fn adopt(root: &Root, journal: &Path, changes: Vec<Change>) -> Result<AppliedSettings, Fault> {
        let mut adopted = AppliedSettings::apply(root, &BTreeMap::new(), journal)?;
        if changes.is_empty() {
            return Ok(adopted);
        }
        let journal = Journal::open(journal)?;
        restorer::ensure_started(root, journal.folder())?;
        let lock = journal.lock()?;
        for change in changes {
            adopted.entries.push(journal.enter(&lock, Object::Value(change))?);
        }
        adopted.journal = Some(journal);
        Ok(adopted)
    }

    /// What was changed, with the values before.
    pub(crate) fn changes(&self) -> Vec<Change> {
        let value = |entry: &Entry| if let Object::Value(change) = &entry.object { Some(change.clone()) } else { None };
        self.entries.iter().filter_map(value).collect()
    }

    /// Keeps all changes permanently.
    pub fn keep(mut self) -> Result<(), Fault> {
        let entries = std::mem::take(&mut self.entries);
        let Some(journal) = &self.journal else { return Ok(()) };
        let _lock = journal.lock_to_undo();
        entries.iter().try_for_each(|entry| journal.forget(entry))
    }

    fn undo_locked(&mut self) -> Undo {
        let Some(journal) = self.journal.as_ref().filter(|_| !self.entries.is_empty()) else { return Undo::default() };
        let _lock = journal.lock_to_undo();
        self.undo()
    }

    /// What cannot be undone stays remembered.
    fn undo(&mut self) -> Undo {
        let mut report = Undo::default();
        let entries = std::mem::take(&mut self.entries);
        if let Some(journal) = &self.journal {
            self.entries = journal.undo(&self.root, entries, &mut report);
        }
        report
    }
}

impl Drop for AppliedSettings {
    /// What fails here remains in the journal; the restorer tries again when this process has ended.
    fn drop(&mut self) {
        self.undo_locked();
    }
}

fn as_change(step: &Step, old: String) -> Change {
    Change {
        setting: step.setting.clone(),
        path: step.path.clone(),
        reading: step.reading.clone(),
        old,
        expected: None,
        by: step.by.clone(),
        follows: step.follows.clone(),
        shared: false,
    }
}

/// Two runs that change the same setting would each restore the other's value, unless both share it.
fn refuse_what_others_hold(journal: &Journal, plan: &Plan, shared: bool) -> Result<(), Fault> {
    for entry in journal.entries()?.0.iter().filter(|e| e.owner.lives()) {
        let Object::Value(theirs) = &entry.object else { continue };
        let is_joined = |step: &Step| shared && theirs.shared && theirs.expected == step.text;
        let Some(step) = plan.steps().find(|step| step.is_of(theirs) && !is_joined(step)) else { continue };
        return Err(Fault::Refused {
            what: step.setting.clone(),
            why: format!("{} is held by process {} of schedlab", theirs.path.display(), entry.owner.pid),
            advice: "wait until it has ended, or end it; a trial is ended by schedlab host restore".to_owned(),
        });
    }
    Ok(())
}
