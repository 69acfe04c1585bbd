//! The result of a system call as a value.

use std::{
    io,
    os::fd::{FromRawFd, OwnedFd, RawFd},
};

/// The number that a call returned, or why it failed.
pub(crate) fn checked(returned: libc::c_long) -> io::Result<libc::c_long> {
    if returned == -1 { Err(io::Error::last_os_error()) } else { Ok(returned) }
}

/// The descriptor that a call has just opened, or why it failed.
pub(crate) fn opened(returned: libc::c_long) -> io::Result<OwnedFd> {
    let fd = checked(returned)? as RawFd;
    // SAFETY: the callers pass the result of a call that opens a descriptor, so it is open and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
