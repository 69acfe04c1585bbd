//! What can go wrong on a host, in words for the person in front of it.

use std::{io, path::PathBuf};

/// A fault that the user, or the host's owner, can correct. Its text says where, what was found, and what is allowed.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// A file of the kernel, or one of ours, could not be used.
    #[error("{path}: cannot {doing}: {why}", path = path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// "read", "write", ...
        doing: &'static str,
        /// The system's reason.
        why: io::Error,
    },
    /// This kernel, or this user's rights, do not allow the request.
    #[error("{what}: {why}; {advice}")]
    Refused {
        /// The request.
        what: String,
        /// Why not.
        why: String,
        /// What to do about it.
        advice: String,
    },
    /// The request is invalid.
    #[error("{0}")]
    Wrong(String),
    /// A system call failed.
    #[error("{doing}: {why}")]
    Call {
        /// What was being done.
        doing: String,
        /// The system's reason.
        why: io::Error,
    },
}

impl Fault {
    /// A file that could not be used.
    pub fn file(path: impl Into<PathBuf>, doing: &'static str, why: io::Error) -> Fault {
        Fault::File { path: path.into(), doing, why }
    }

    /// The last system call failed.
    pub fn last(doing: impl Into<String>) -> Fault {
        Fault::Call { doing: doing.into(), why: io::Error::last_os_error() }
    }
}
