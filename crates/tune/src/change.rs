//! A changed setting, and how it goes back.

use crate::{
    reading::{Reading, read_bounded, write_once},
    undone::{Mismatch, Undone},
};
use schedlab_linux::{Fault, Root};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Linux: BLKDEV_MIN_RQ.
const SHORTEST_QUEUE: u32 = 4;

/// A changed setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// As the user named it.
    pub setting: String,
    /// The kernel's file.
    pub path: PathBuf,
    /// How its text is read.
    pub reading: Reading,
    /// What it held before, every byte.
    pub old: String,
    /// What it reads while it is ours; none until it has been written and read back, and for what merely follows another.
    pub expected: Option<String>,
    /// It comes back by itself when the partner's old value is written.
    pub by: Option<PathBuf>,
    /// It follows this other setting, and makes sense only when that has come back.
    pub follows: Option<PathBuf>,
    /// Runs that share it set the same value, and the last of them puts it back.
    #[serde(default)]
    pub shared: bool,
}

impl Change {
    /// A change of a file that reads as it was written.
    pub fn plain(setting: &str, path: &Path, old: String, expected: String) -> Change {
        let setting = setting.to_owned();
        let (path, expected) = (path.to_owned(), Some(expected));
        Change { setting, path, reading: Reading::Plain, old, expected, by: None, follows: None, shared: false }
    }

    /// What it reads now; none if there is no such file.
    pub fn now(&self, root: &Root) -> Result<Option<String>, Fault> {
        let path = root.path(&self.path);
        match read_bounded(&path) {
            Ok(text) => match self.reading.of(&text) {
                Some(now) => Ok(Some(now)),
                None => Err(Fault::Wrong(format!("{}: reads {text:?}, which names no value", path.display()))),
            },
            Err(why) if why.kind() == ErrorKind::NotFound => Ok(None),
            Err(why) => Err(Fault::file(path, "read", why)),
        }
    }

    /// Writes the old value back and reads it. A fault means that it does not read as before.
    pub(crate) fn undo(&self, root: &Root) -> Result<Undone, Fault> {
        let Some(now) = self.now(root)? else { return Ok(Undone::Gone) };
        let nameless = || Fault::Wrong(format!("its entry holds {:?}, which names no value", self.old));
        let old = self.reading.of(&self.old).ok_or_else(nameless)?;
        if now == old {
            return Ok(Undone::Back);
        }
        if let Some(expected) = self.expected.as_ref().filter(|e| **e != now) {
            return Ok(Undone::Foreign(self.mismatch(expected.clone(), now)));
        }
        let path = root.path(&self.path);
        if self.by.is_none() {
            let text = self.reading.back(&self.old).ok_or_else(nameless)?;
            write_once(&path, &text).map_err(|why| Fault::file(&path, "write the old value back", why))?;
        }
        let actual = self.now(root)?.unwrap_or_default();
        if actual == old || self.is_shortest_queue(&old, &actual) {
            return Ok(Undone::Back);
        }
        Err(Fault::Wrong(format!("{}: wrote {old:?} back, and it reads {actual:?}", path.display())))
    }

    /// Linux gives a device that takes one request at a time a queue of two, and does not let fewer than four be written.
    fn is_shortest_queue(&self, old: &str, actual: &str) -> bool {
        let fewer = old.parse().is_ok_and(|requests: u32| requests < SHORTEST_QUEUE);
        self.path.ends_with("queue/nr_requests") && fewer && actual == SHORTEST_QUEUE.to_string()
    }

    /// Which value it is: one file may hold many flags.
    pub(crate) fn key(&self) -> (PathBuf, String) {
        let flag = if let Reading::Flag(name) = &self.reading { name.clone() } else { String::new() };
        (self.path.clone(), flag)
    }

    fn mismatch(&self, expected: String, actual: String) -> Mismatch {
        Mismatch { setting: self.setting.clone(), path: self.path.clone(), expected, actual }
    }

    /// The mismatch, if it is not what it should be.
    pub fn check(&self, root: &Root) -> Option<Mismatch> {
        let expected = self.expected.as_ref()?;
        let actual = match self.now(root) {
            Ok(now) => now.unwrap_or_else(|| "nothing: it is not there any more".to_owned()),
            Err(fault) => fault.to_string(),
        };
        (actual != *expected).then(|| self.mismatch(expected.clone(), actual))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_shorter_than_can_be_written_is_restored_as_near_as_possible() {
        let change = |path: &str| Change {
            setting: "nr_requests".to_owned(),
            path: path.into(),
            reading: Reading::Plain,
            old: "2".to_owned(),
            expected: None,
            by: None,
            follows: None,
            shared: false,
        };
        let queue = change("/sys/block/nullb0/queue/nr_requests");
        assert!(queue.is_shortest_queue("2", "4"));
        assert!(!queue.is_shortest_queue("2", "128"));
        assert!(!queue.is_shortest_queue("64", "4"));
        assert!(!change("/proc/sys/vm/swappiness").is_shortest_queue("2", "4"));
    }
}
