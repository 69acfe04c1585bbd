//! A file of the kernel, open_file open and read again from its beginning into a buffer that stays: no allocation, no search
//! for the path.

use schedlab_linux::Root;
use serde::Serialize;
use std::{fs::File, io, os::unix::fs::FileExt, path::PathBuf};

/// Bytes that a buffer has at first: more than all but /proc/stat and /proc/interrupts of a large machine.
const FIRST: usize = 16 << 10;
/// Bytes of a file that are read at most.
const MOST: usize = 4 << 20;

/// What a kernel does not report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// The file.
    pub what: String,
    /// The system's reason.
    pub why: String,
}

/// A file that is read again and again.
#[derive(Debug)]
pub(super) struct OpenFile {
    path: PathBuf,
    file: Option<File>,
    text: Vec<u8>,
    /// Whether it is looked for again when it could not be read, as of a group that may come back.
    again: bool,
}

impl OpenFile {
    /// Opens it and reads it once: some files exist and cannot be read.
    pub(super) fn open(root: &Root, path: &str) -> io::Result<OpenFile> {
        let mut open_file = OpenFile { path: root.path(path), file: None, text: vec![0; FIRST], again: false };
        let file = File::open(&open_file.path)?;
        fill(&file, &mut open_file.text)?;
        open_file.file = Some(file);
        Ok(open_file)
    }

    /// One that may be missing now, and later be there.
    pub(super) fn perhaps(path: PathBuf) -> OpenFile {
        OpenFile { path, file: None, text: vec![0; FIRST], again: true }
    }

    /// What it holds now; nothing if it cannot be read.
    pub(super) fn read(&mut self) -> Option<&[u8]> {
        if self.file.is_none() && self.again {
            self.file = File::open(&self.path).ok();
        }
        match fill(self.file.as_ref()?, &mut self.text) {
            Ok(length) => Some(&self.text[..length]),
            Err(_) => {
                if self.again {
                    self.file = None;
                }
                None
            }
        }
    }
}

/// Reads a file from its beginning to its end; its length. The buffer grows, where a file has, and never shrinks.
pub(super) fn fill(file: &File, text: &mut Vec<u8>) -> io::Result<usize> {
    let mut length = 0;
    loop {
        if length == text.len() {
            if length >= MOST {
                return Ok(length);
            }
            text.resize(length * 2, 0);
        }
        match file.read_at(&mut text[length..], length as u64) {
            // The kernel's files end a read where their own buffer does: only an empty one is the end.
            Ok(0) => return Ok(length),
            Ok(read) => length += read,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
    }
}
