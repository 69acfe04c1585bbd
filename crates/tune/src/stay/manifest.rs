//! What a profile has put on this host, on disk before it is put there: so that all of it can be taken back, also after a crash.

use super::{files::Form, files::SystemFile, profile::Profile};
use crate::{Change, stop};
use schedlab_linux::Fault;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// No manifest of ours is longer.
const MOST_BYTES: u64 = 8 << 20;

/// What was put where, and what was there before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) profile: Profile,
    pub(super) form: Form,
    /// Seconds since 1970.
    pub(super) since: u64,
    /// Whether everything was put in place.
    pub(super) complete: bool,
    pub(super) files: Vec<SystemFile>,
    /// Folders that were not there before, outermost first.
    pub(super) folders: Vec<PathBuf>,
    /// Whether the journal was not there before.
    #[serde(default)]
    pub(super) journal: bool,
    /// The kernel's values, with those before.
    pub(super) changes: Vec<Change>,
}

/// The folder of manifests.
pub(super) struct Manifests {
    folder: PathBuf,
}

impl Manifests {
    /// Next to the journal.
    pub(super) fn of(journal: &Path) -> Manifests {
        Manifests { folder: journal.parent().unwrap_or(Path::new("/")).join("profiles") }
    }

    /// Whether there may be any.
    pub(super) fn is_there(&self) -> bool {
        self.folder.is_dir()
    }

    /// Waits until no other process installs or uninstalls. The lock is the folder's, which goes with the last manifest: then it is made anew.
    pub(super) fn lock(&self) -> Result<File, Fault> {
        loop {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
            made.map_err(|why| Fault::file(&self.folder, "make", why))?;
            let Ok(folder) = File::open(&self.folder) else { continue };
            folder.lock().map_err(|why| Fault::file(&self.folder, "lock", why))?;
            let of = |about: fs::Metadata| (about.dev(), about.ino());
            if folder.metadata().map(of).ok() == fs::metadata(&self.folder).map(of).ok() {
                return Ok(folder);
            }
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    /// That of a profile; none if it is not installed.
    pub(super) fn read(&self, name: &str) -> Result<Option<Manifest>, Fault> {
        if !Profile::may_be_called(name) {
            return Ok(None);
        }
        let path = self.path(name);
        let file = match OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(&path) {
            Ok(file) => file,
            Err(why) if why.kind() == ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(Fault::file(path, "read", why)),
        };
        let about = file.metadata().map_err(|why| Fault::file(&path, "read", why))?;
        if !about.is_file() || about.uid() != nix::unistd::geteuid().as_raw() {
            return Err(Fault::Wrong(format!("{}: is not a file of this user", path.display())));
        }
        let mut text = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut text).map_err(|why| Fault::file(&path, "read", why))?;
        let read = serde_json::from_slice(&text);
        read.map(Some).map_err(|why| Fault::Refused {
            what: path.display().to_string(),
            why: format!(
                "is not a manifest of schedlab ({why}), so what the profile has put on this host is not known"
            ),
            advice: format!("look for files called *schedlab-{name}*, remove them by hand, then this file"),
        })
    }

    /// All of them, by name.
    pub(super) fn all(&self) -> Result<Vec<Manifest>, Fault> {
        let found = match fs::read_dir(&self.folder) {
            Ok(found) => found,
            Err(why) if why.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(why) => return Err(Fault::file(&self.folder, "read", why)),
        };
        let names = found.flatten().filter_map(|e| e.file_name().to_str()?.strip_suffix(".json").map(str::to_owned));
        let mut names: Vec<String> = names.collect();
        names.sort();
        names.iter().filter_map(|name| self.read(name).transpose()).collect()
    }

    /// Puts it on disk, whole or not at all.
    pub(super) fn write(&self, manifest: &Manifest) -> Result<(), Fault> {
        let (path, text) = (self.path(&manifest.profile.name), serde_json::to_vec_pretty(manifest));
        let text = text.map_err(|why| Fault::Wrong(why.to_string()))?;
        let temporary = path.with_extension("new");
        let written = (|| {
            let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&temporary)?;
            file.write_all(&text)?;
            file.sync_all()?;
            stop::point();
            fs::rename(&temporary, &path)?;
            File::open(&self.folder)?.sync_all()
        })();
        written.map_err(|why| {
            let _ = fs::remove_file(&temporary);
            Fault::file(&path, "write", why)
        })
    }

    /// Removes what a crash has left of one that was never written, and folders in which nothing is left.
    pub(super) fn sweep(&self, name: &str) {
        if Profile::may_be_called(name) {
            let _ = fs::remove_file(self.path(name).with_extension("new"));
        }
        let empty = fs::remove_dir(&self.folder).is_ok();
        let _ = self.folder.parent().filter(|_| empty).map(fs::remove_dir);
    }

    /// Removes it, and the folder with the last one.
    pub(super) fn remove(&self, name: &str) -> Result<(), Fault> {
        let path = self.path(name);
        fs::remove_file(&path).map_err(|why| Fault::file(path, "remove", why))?;
        self.sweep(name);
        Ok(())
    }
}
