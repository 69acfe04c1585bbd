//! A profile in place: its files where the system reads them, its settings in force; and all of it taken back.
//!
//! ```text
//! install    the settings, by the journal; the manifest with their old values on disk; the files; done
//! uninstall  files that are still as they were put there; settings that still read as ours, latest first; folders; the manifest
//! ```
//! A crash in between leaves a manifest that says what may be there: uninstalling takes that back, and an install is refused until then.

use super::{
    files::{Files, Form, SystemFile, files},
    manifest::{Manifest, Manifests},
    profile::Profile,
};
use crate::{AppliedSettings, Mismatch, journal, stop, undo::Undo};
use nix::sys::signal::Signal::{SIGHUP, SIGINT, SIGTERM};
use schedlab_linux::{Fault, Root, signals::ignore};
use serde::Serialize;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

/// A profile in place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Installed {
    /// Which.
    pub profile: Profile,
    /// Who makes its settings at boot.
    pub form: Form,
    /// Seconds since 1970.
    pub since: u64,
    /// Whether it was finished.
    pub complete: bool,
    /// Its files.
    pub files: Vec<PathBuf>,
    /// What the kernel took differently.
    pub rounded: Vec<Mismatch>,
    /// What may not turn out as expected.
    pub notes: Vec<String>,
    /// What is left to be done by hand.
    pub commands: Vec<String>,
}

/// What was taken back.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Uninstalled {
    /// Files and folders.
    pub removed: Vec<PathBuf>,
    /// Files that were not there any more.
    pub gone: Vec<PathBuf>,
    /// Files that another hand has changed; they were left alone.
    pub changed: Vec<PathBuf>,
    /// Settings.
    pub undone: Undo,
    /// Whether nothing of the profile is left.
    pub complete: bool,
    /// What may not turn out as expected.
    pub notes: Vec<String>,
}

/// Every profile that is in place, by name.
pub fn installed(journal: &Path) -> Result<Vec<Installed>, Fault> {
    Ok(Manifests::of(journal).all()?.iter().map(|manifest| shown(manifest, Files::default(), Vec::new())).collect())
}

fn shown(manifest: &Manifest, files: Files, rounded: Vec<Mismatch>) -> Installed {
    Installed {
        profile: manifest.profile.clone(),
        form: manifest.form,
        since: manifest.since,
        complete: manifest.complete,
        files: manifest.files.iter().map(|file| file.path.clone()).collect(),
        rounded,
        notes: files.notes,
        commands: files.commands,
    }
}

/// Puts a profile in place. On a fault nothing is left of it.
pub fn install(root: &Root, journal: &Path, profile: &Profile, form: Form, folder: &Path) -> Result<Installed, Fault> {
    let (manifests, made) = (Manifests::of(journal), files(root, profile, form, folder)?);
    let manifest = Manifest {
        profile: profile.clone(),
        form,
        since: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        complete: false,
        folders: missing_folders(root, &made.files),
        files: made.files.clone(),
        changes: Vec::new(),
        journal: !journal.exists(),
    };
    let _lock = manifests.lock()?;
    carry_out(root, journal, &manifests, manifest, folder, made).inspect_err(|_| manifests.sweep(&profile.name))
}

/// Under the lock.
fn carry_out(
    root: &Root,
    journal: &Path,
    manifests: &Manifests,
    mut manifest: Manifest,
    folder: &Path,
    mut made: Files,
) -> Result<Installed, Fault> {
    refuse_others(manifests, &manifest.profile)?;
    refuse_what_is_there(root, &made.files)?;
    // It takes milliseconds, and half of it is worse than all of it.
    ignore(&[SIGINT, SIGHUP, SIGTERM]);
    let put = put(root, journal, manifests, &mut manifest, folder);
    if put.is_err() && !take_files(root, &manifest.files, &manifest.folders, &mut Uninstalled::default()) {
        // What could not be removed stays known.
        let _ = manifests.remove(&manifest.profile.name);
    }
    let rounded = put?;
    if manifest.form == Form::Systemd {
        let commands = std::mem::take(&mut made.commands);
        made.notes.extend(reload(root, &commands));
        if !is_at_work(root) {
            made.notes.push("systemd does not run here: nothing reads these files until it does".to_owned());
        }
    }
    Ok(shown(&manifest, made, rounded))
}

/// Settings and files, in an order in which a crash leaves nothing unknown.
fn put(
    root: &Root,
    journal: &Path,
    manifests: &Manifests,
    manifest: &mut Manifest,
    folder: &Path,
) -> Result<Vec<Mismatch>, Fault> {
    // TuneD keeps the values that it finds and puts them back itself: it has to find the old ones.
    let none = Default::default();
    let wanted = if manifest.form == Form::Systemd { &manifest.profile.tunables } else { &none };
    let applied = AppliedSettings::apply_at(root, wanted, journal, folder)?;
    manifest.changes = applied.changes();
    manifests.write(manifest)?;
    for file in &manifest.files {
        stop::point();
        create(root, file)?;
    }
    manifest.complete = true;
    manifests.write(manifest)?;
    let rounded = applied.rounded().to_vec();
    applied.keep()?;
    Ok(rounded)
}

/// A profile that is in place.
pub fn installed_profile(journal: &Path, name: &str) -> Result<Profile, Fault> {
    known(&Manifests::of(journal), name).map(|manifest| manifest.profile)
}

fn known(manifests: &Manifests, name: &str) -> Result<Manifest, Fault> {
    if let Some(manifest) = manifests.read(name)? {
        return Ok(manifest);
    }
    let names: Vec<_> = manifests.all()?.into_iter().map(|m| m.profile.name).collect();
    let there = if names.is_empty() { "none is".to_owned() } else { format!("installed: {}", names.join(", ")) };
    Err(Fault::Wrong(format!("{name:?} is no file, and no profile of that name is installed; {there}")))
}

/// Takes a profile back. With `force`, also files that were changed since.
pub fn uninstall(root: &Root, journal: &Path, name: &str, force: bool) -> Result<Uninstalled, Fault> {
    let manifests = Manifests::of(journal);
    let there = manifests.is_there();
    let _lock = if there { Some(manifests.lock()?) } else { None };
    let mut manifest = known(&manifests, name).inspect_err(|_| manifests.sweep(name))?;
    ignore(&[SIGINT, SIGHUP, SIGTERM]);
    let mut done = Uninstalled::default();
    if force {
        manifest.files.iter_mut().for_each(|file| as_it_is(root, file));
    }
    let left = take_files(root, &manifest.files, &manifest.folders, &mut done);
    // Entered anew, so that a crash from here on is made good by the restorer.
    let taken = AppliedSettings::adopt(root, journal, manifest.changes.clone())?;
    done.undone = taken.restore()?;
    done.complete = !left;
    if left {
        manifest.files.retain(|file| done.changed.contains(&file.path));
        manifest.changes.clear();
        manifests.write(&manifest)?;
    } else {
        manifests.remove(name)?;
    }
    if manifest.form == Form::Systemd {
        done.notes = reload(root, &commands_for(&manifest.files, &done.removed));
    }
    if manifest.journal && !left {
        leave_journal(&manifests, journal)?;
    }
    Ok(done)
}

/// The journal goes with the last profile, if the first one made it.
fn leave_journal(manifests: &Manifests, journal: &Path) -> Result<(), Fault> {
    match manifests.all()?.into_iter().next() {
        Some(heir) => manifests.write(&Manifest { journal: true, ..heir }),
        None => {
            journal::leave(journal);
            Ok(())
        }
    }
}

/// Two profiles that hold the same setting would each take back the other's.
fn refuse_others(manifests: &Manifests, profile: &Profile) -> Result<(), Fault> {
    for other in manifests.all()? {
        let name = &other.profile.name;
        if *name == profile.name {
            let state = if other.complete { "is installed" } else { "is installed in part, after a crash" };
            return Err(Fault::Wrong(format!("profile {name:?} {state}: first say schedlab host uninstall {name}")));
        }
        if let Some(setting) = profile.tunables.keys().find(|setting| other.profile.tunables.contains_key(*setting)) {
            return Err(Fault::Wrong(format!("{setting}: the profile {name:?}, which is installed, sets it too")));
        }
    }
    Ok(())
}

fn refuse_what_is_there(root: &Root, files: &[SystemFile]) -> Result<(), Fault> {
    let there = files.iter().map(|file| root.path(&file.path)).find(|path| path.symlink_metadata().is_ok());
    there.map_or(Ok(()), |path| {
        let why = "it is there, and no profile in place has put it there".to_owned();
        Err(Fault::Refused {
            what: path.display().to_string(),
            why,
            advice: "remove it, or rename the profile".to_owned(),
        })
    })
}

/// Folders that have to be made, outermost first.
fn missing_folders(root: &Root, files: &[SystemFile]) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> = Vec::new();
    for file in files {
        let above: Vec<_> = file.path.ancestors().skip(1).take_while(|folder| !root.path(folder).is_dir()).collect();
        for folder in above.into_iter().rev() {
            if !missing.iter().any(|known| known == folder) {
                missing.push(folder.to_owned());
            }
        }
    }
    missing
}

fn create(root: &Root, file: &SystemFile) -> Result<(), Fault> {
    let path = root.path(&file.path);
    let made = (|| {
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
        if file.link {
            return symlink(&file.text, &path);
        }
        // Whole or not at all: the system may read it at any time. A link fails where something is there.
        let temporary = path.with_extension("schedlab-new");
        let mut new = OpenOptions::new().write(true).create(true).truncate(true).mode(0o644).open(&temporary)?;
        let written = new.write_all(file.text.as_bytes()).and_then(|()| new.sync_all());
        let linked = written.and_then(|()| fs::hard_link(&temporary, &path));
        fs::remove_file(&temporary)?;
        linked
    })();
    made.map_err(|why| Fault::file(path, "make", why))
}

/// What is there in the file's place; none if nothing is.
fn held(path: &Path, link: bool) -> std::io::Result<Option<String>> {
    let found = if link {
        fs::read_link(path).map(|names| names.to_string_lossy().into_owned())
    } else {
        fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    match found {
        Ok(text) => Ok(Some(text)),
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(None),
        Err(why) => Err(why),
    }
}

fn as_it_is(root: &Root, file: &mut SystemFile) {
    if let Ok(Some(text)) = held(&root.path(&file.path), file.link) {
        file.text = text;
    }
}

/// Removes files that are as they were put there, and folders that are empty then. Whether files are left.
fn take_files(root: &Root, files: &[SystemFile], folders: &[PathBuf], done: &mut Uninstalled) -> bool {
    for file in files.iter().rev() {
        let path = root.path(&file.path);
        // What a crash has left half-written.
        let _ = fs::remove_file(path.with_extension("schedlab-new"));
        match held(&path, file.link) {
            Ok(None) => done.gone.push(file.path.clone()),
            Ok(Some(text)) if text == file.text && fs::remove_file(&path).is_ok() => {
                done.removed.push(file.path.clone())
            }
            _ => done.changed.push(file.path.clone()),
        }
    }
    for folder in folders.iter().rev() {
        if fs::remove_dir(root.path(folder)).is_ok() {
            done.removed.push(folder.clone());
        }
    }
    !done.changed.is_empty()
}

fn commands_for(files: &[SystemFile], removed: &[PathBuf]) -> Vec<String> {
    let some = |part: &str| files.iter().map(|f| &f.path).chain(removed).any(|path| path.starts_with(part));
    let of = [("/etc/udev", "udevadm control --reload"), ("/etc/systemd", "systemctl daemon-reload")];
    of.iter().filter(|(part, _)| some(part)).map(|(_, command)| (*command).to_owned()).collect()
}

/// Has the system read its files again, where it is one that does. What it says against it.
fn reload(root: &Root, commands: &[String]) -> Vec<String> {
    if !is_at_work(root) {
        return Vec::new();
    }
    if root.path("/") != Path::new("/") {
        return Vec::new();
    }
    commands.iter().filter_map(|command| run(command).err().map(|why| format!("{command}: {why}"))).collect()
}

/// sd_booted(3).
fn is_at_work(root: &Root) -> bool {
    root.path("/run/systemd/system").is_dir()
}

fn run(command: &str) -> Result<(), String> {
    let mut words = command.split(' ');
    let mut child = Command::new(words.next().unwrap_or_default());
    let done = child.args(words).stdin(Stdio::null()).output().map_err(|why| why.to_string())?;
    let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
    if done.status.success() { Ok(()) } else { Err(if said.is_empty() { done.status.to_string() } else { said }) }
}
