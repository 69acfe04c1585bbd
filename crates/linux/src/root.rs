//! Where the kernel's files are: `/` on a host, a folder of recorded files in a test.

use crate::Fault;
use std::path::{Path, PathBuf};

/// The folder under which `proc`, `sys` and the rest are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Default for Root {
    /// The running kernel's own files.
    fn default() -> Self {
        Root(PathBuf::from("/"))
    }
}

impl Root {
    /// A tree elsewhere.
    pub fn at(folder: impl Into<PathBuf>) -> Root {
        Root(folder.into())
    }

    /// The place of a file that the kernel calls by an absolute path.
    pub fn path(&self, absolute: impl AsRef<Path>) -> PathBuf {
        let path = absolute.as_ref();
        self.0.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The text of such a file.
    pub fn read(&self, absolute: impl AsRef<Path>) -> Result<String, Fault> {
        let path = self.path(absolute);
        std::fs::read_to_string(&path).map_err(|why| Fault::file(path, "read", why))
    }
}
