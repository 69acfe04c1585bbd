//! Descriptors of processes: readable once the process has ended.

use crate::call::opened;
use std::{io, os::fd::OwnedFd};

/// Opens one; fails before Linux 5.3, and where there is no such process.
pub fn open(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes two numbers.
    opened(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })
}
