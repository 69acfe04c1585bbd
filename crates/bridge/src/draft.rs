//! Files that are there whole or not at all: written under a temporary name and then renamed.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

/// A file that has no name of its own until it is published, and is removed if it never is.
pub struct Draft {
    /// Its temporary name.
    pub path: PathBuf,
    /// Where it is written.
    pub out: BufWriter<File>,
}

impl Draft {
    /// Begins a file that will have that name.
    pub fn new(target: &Path) -> io::Result<Draft> {
        let name = target.file_name().ok_or_else(|| io::Error::other("is not the name of a file"))?;
        let path = target.with_file_name(format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id()));
        Ok(Draft { out: BufWriter::new(File::create(&path)?), path })
    }

    /// A file next to the target that is never published.
    pub fn next_to(target: &Path) -> io::Result<Draft> {
        Draft::new(&target.with_extension("recording"))
    }

    /// Gives it its name, once it is on the disk.
    pub fn publish(mut self, target: &Path) -> io::Result<()> {
        self.out.flush()?;
        self.out.get_ref().sync_all()?;
        fs::rename(&self.path, target)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After publishing there is nothing left under this name, which is no error.
        let _ = fs::remove_file(&self.path);
    }
}
