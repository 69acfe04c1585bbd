//! Kernel modules.

use crate::call::checked;
use std::{ffi::CStr, fs::File, io, os::fd::AsRawFd};

/// Loads a module from its file, with those parameters.
pub fn load(file: &File, parameters: &CStr) -> io::Result<()> {
    // SAFETY: the descriptor is open and the text is terminated, both for the duration of the call.
    checked(unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), parameters.as_ptr(), 0) }).map(drop)
}
