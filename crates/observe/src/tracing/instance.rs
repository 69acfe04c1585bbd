//! An instance of tracefs that is ours alone.
//!
//! An instance has buffers, a clock and switches of its own, so that what others trace is neither seen nor disturbed.
//! After SIGKILL the instance can be left: it is in the journal before it is made, and carries the entry's marker.

use schedlab_linux::{
    Fault,
    tracefs::{Tracefs, advice, refused},
};
use schedlab_tune::{Cleanup, Object, RunJournal, marker::mark_instance};
use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
};

/// An instance of our own. It stops and goes when this is dropped.
#[derive(Debug)]
pub struct Instance {
    folder: PathBuf,
    _tracefs: Tracefs,
    /// Removes it.
    _cleanup: Cleanup,
}

impl Instance {
    /// Makes one.
    pub fn make(tracefs: Tracefs, journal: &RunJournal) -> Result<Instance, Fault> {
        let (name, id) = journal.name()?;
        let folder = tracefs.path("instances").join(&name);
        let memory = journal.enter(Object::Instance { name, id: id.clone() })?;
        let made = fs::create_dir(&folder).and_then(|()| mark_instance(&folder, &id));
        made.map_err(|why| refused(&format!("{}: {why}", folder.display()), advice(&why)))?;
        Ok(Instance { folder, _tracefs: tracefs, _cleanup: memory })
    }

    /// Writes a setting of it.
    pub fn set(&self, name: &str, value: &str) -> Result<(), Fault> {
        let path = self.folder.join(name);
        fs::write(&path, value).map_err(|why| Fault::file(path, "write", why))
    }

    /// The text of a file of it.
    pub fn read(&self, name: &str) -> Result<String, Fault> {
        let path = self.folder.join(name);
        fs::read_to_string(&path).map_err(|why| Fault::file(path, "read", why))
    }

    /// The numbers of the processors that it has buffers for, in order.
    pub fn processors(&self) -> Result<Vec<u16>, Fault> {
        let path = self.folder.join("per_cpu");
        let entries = fs::read_dir(&path).map_err(|why| Fault::file(path, "list", why))?;
        let number = |entry: fs::DirEntry| entry.file_name().to_str()?.strip_prefix("cpu")?.parse().ok();
        let mut all: Vec<u16> = entries.flatten().filter_map(number).collect();
        all.sort_unstable();
        Ok(all)
    }

    /// The pages of a processor's buffer, as the kernel has them. Reading what is not there yet fails instead of waiting.
    pub fn pages(&self, processor: u16) -> Result<File, Fault> {
        let path = self.folder.join(format!("per_cpu/cpu{processor}/trace_pipe_raw"));
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
        options.open(&path).map_err(|why| Fault::file(path, "open", why))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.set("tracing_on", "0");
    }
}
