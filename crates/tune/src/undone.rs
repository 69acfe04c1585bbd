//! The result of undoing an entry, and a setting that differs from its expected value.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The result of undoing.
#[derive(Debug, PartialEq, Eq)]
pub enum Undone {
    /// It is as it was.
    Back,
    /// There is nothing left to undo.
    Gone,
    /// Another process has changed it meanwhile; it was left alone.
    Foreign(Mismatch),
    /// What was still ours is as it was; this has another process changed meanwhile, and it was left alone.
    Partly(Vec<Mismatch>),
    /// Something else is there under the same name; it was left alone.
    NotOurs(String),
}

/// A setting that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    /// As the user named it.
    pub setting: String,
    /// The kernel's file.
    pub path: PathBuf,
    /// What it should read.
    pub expected: String,
    /// What it reads.
    pub actual: String,
}
