//! Which process writes into the kernel's files, by fanotify: as root only.
//!
//! A mount is marked, not a file: the kernel makes the inodes of /proc anew as it likes, and the mark of one would go with it.
//! What the kernel changes by itself is no write, and is not reported.

use crate::Fault;
use nix::{
    fcntl::AT_FDCWD,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::fanotify::{EventFFlags, Fanotify, InitFlags, MarkFlags, MaskFlags},
};
use std::{
    os::fd::{AsFd, AsRawFd},
    path::{Path, PathBuf},
    time::Duration,
};

/// A write into a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The file, as the kernel names it.
    pub path: PathBuf,
    /// The process that wrote.
    pub pid: i32,
}

/// The writes into all files of some mounts.
#[derive(Debug)]
pub struct Writes(Fanotify);

impl Writes {
    /// From now on, those into the mounts of these folders.
    pub fn of(folders: &[impl AsRef<Path>]) -> Result<Writes, Fault> {
        let failed = |why: nix::Error| Fault::Call { doing: "watching writes".to_owned(), why: why.into() };
        let flags = InitFlags::FAN_CLASS_NOTIF | InitFlags::FAN_CLOEXEC | InitFlags::FAN_NONBLOCK;
        let group = Fanotify::init(flags, EventFFlags::O_RDONLY | EventFFlags::O_CLOEXEC).map_err(failed)?;
        for folder in folders {
            let add = MarkFlags::FAN_MARK_ADD | MarkFlags::FAN_MARK_MOUNT;
            group.mark(add, MaskFlags::FAN_MODIFY, AT_FDCWD, Some(folder.as_ref())).map_err(failed)?;
        }
        Ok(Writes(group))
    }

    /// Waits for writes, for at most that long, and gives them in their order; none when the time is over.
    pub fn wait(&self, at_most: Duration) -> Vec<Write> {
        let limit = PollTimeout::try_from(at_most).unwrap_or(PollTimeout::MAX);
        // An error here is a signal, after which the caller looks at its clock.
        let _ = poll(&mut [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)], limit);
        let events = self.0.read_events().unwrap_or_default();
        let named = |event: &nix::sys::fanotify::FanotifyEvent| {
            let path = std::fs::read_link(format!("/proc/self/fd/{}", event.fd()?.as_raw_fd())).ok()?;
            Some(Write { path, pid: event.pid() })
        };
        events.iter().filter_map(named).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_names_its_file_and_its_process() {
        let folder = tempfile::tempdir().unwrap();
        // Not permitted without root.
        let Ok(writes) = Writes::of(&[folder.path()]) else { return };
        let file = folder.path().join("a");
        let mut child = std::process::Command::new("sh").arg("-c").arg("echo x > \"$0\"").arg(&file).spawn().unwrap();
        let (pid, began, mut seen) = (child.id() as i32, std::time::Instant::now(), false);
        while !seen && began.elapsed().as_secs() < 20 {
            let found = writes.wait(Duration::from_millis(100));
            seen = found.contains(&Write { path: file.canonicalize().unwrap_or_default(), pid });
        }
        child.wait().unwrap();
        assert!(seen);
        assert!(Writes::of(&["/no such folder"]).is_err());
    }
}
