//! Watches the settings of a profile: what changes, from what to what, and who wrote it.
//!
//! The values are read again every period, which notices whatever changed them. As root the kernel also says at once which process
//! has written into a file of /proc or /sys ([`Writes`]): its name is read then, before it ends. Of several writes that come at once the last one
//! counts; a value that is again what it was is no change.

use super::{
    departures::{Departure, departure, wanted},
    profile::Profile,
};
use crate::{place::DEBUGFS, steps::Wanted};
use schedlab_linux::{Fault, Root, proc::task, writes::Writes};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Who has written a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Writer {
    /// The process.
    pub pid: i32,
    /// Its name; none if it had ended when it was looked up.
    pub comm: Option<String>,
    /// Its command line, as far as it is known.
    pub command: Option<String>,
}

/// A change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Altered {
    /// What it is now.
    #[serde(flatten)]
    pub now: Departure,
    /// What it was; none if it could not be read.
    pub was: Option<String>,
    /// Who wrote it; none where that is not known.
    pub by: Option<Writer>,
}

/// A watch of the settings of a profile.
pub struct Watch {
    root: Root,
    wanted: Vec<Wanted>,
    /// As the kernel names the file of an open descriptor.
    real: Vec<PathBuf>,
    last: Vec<Departure>,
    writes: Option<Writes>,
}

impl Watch {
    /// Begins it.
    pub fn begin(root: &Root, profile: &Profile, folder: &Path) -> Result<Watch, Fault> {
        let wanted = wanted(root, profile, folder)?;
        let real =
            |one: &Wanted| root.path(&one.found.path).canonicalize().unwrap_or_else(|_| root.path(&one.found.path));
        let mut mounts = vec![root.path("/proc"), root.path("/sys")];
        mounts.extend(wanted.iter().any(|one| one.found.path.starts_with(DEBUGFS)).then(|| root.path(DEBUGFS)));
        Ok(Watch {
            real: wanted.iter().map(real).collect(),
            last: wanted.iter().map(|one| departure(root, one)).collect(),
            writes: Writes::of(&mounts).ok(),
            root: root.clone(),
            wanted,
        })
    }

    /// How every setting stood when it was last read.
    pub fn standing(&self) -> &[Departure] {
        &self.last
    }

    /// Whether writers are known.
    pub fn names_writers(&self) -> bool {
        self.writes.is_some()
    }

    /// Waits for up to `period`, and gives what has changed then.
    pub fn next(&mut self, period: Duration) -> Vec<Altered> {
        let (end, mut altered) = (Instant::now() + period, Vec::new());
        while let Some(writes) = &self.writes {
            let left = end.saturating_duration_since(Instant::now());
            let mut last = BTreeMap::new();
            // What is read then is what the last of them has written.
            let mut found = writes.wait(left);
            while !found.is_empty() {
                last.extend(found.into_iter().map(|write| (write.path, write.pid)));
                found = writes.wait(Duration::ZERO);
            }
            for (path, pid) in last {
                let at = self.real.iter().position(|real| *real == path);
                altered.extend(at.and_then(|index| self.look(index, Some(pid))));
            }
            if !altered.is_empty() {
                return altered;
            }
            if left.is_zero() {
                break;
            }
        }
        if self.writes.is_none() {
            std::thread::sleep(period);
        }
        (0..self.wanted.len()).filter_map(|index| self.look(index, None)).collect()
    }

    /// Reads a setting again; what has changed.
    fn look(&mut self, index: usize, pid: Option<i32>) -> Option<Altered> {
        let by = pid.map(writer);
        let now = departure(&self.root, &self.wanted[index]);
        let was = std::mem::replace(&mut self.last[index], now.clone());
        (was.now != now.now).then_some(Altered { was: was.now, by, now })
    }
}

fn writer(pid: i32) -> Writer {
    Writer { pid, comm: task::comm_of(pid), command: task::command_of(pid) }
}
