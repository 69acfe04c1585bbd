//! Swap areas.

use crate::{call::checked, mounts::unescaped};
use std::{ffi::CString, fs, io, path::Path};

/// Lets the kernel page out to that file.
pub fn enable(path: &Path) -> io::Result<()> {
    let name = CString::new(path.as_os_str().as_encoded_bytes())?;
    // SAFETY: the name is a terminated string, alive for the call.
    checked(unsafe { libc::swapon(name.as_ptr(), 0) }.into()).map(drop)
}

/// Stops paging out to that file.
pub fn disable(path: &Path) -> io::Result<()> {
    let name = CString::new(path.as_os_str().as_encoded_bytes())?;
    // SAFETY: the name is a terminated string, alive for the call.
    checked(unsafe { libc::swapoff(name.as_ptr()) }.into()).map(drop)
}

/// Whether the kernel pages out to that file. The path is compared as text: where the drive below it is dead, it could not be
/// looked up.
pub fn is_enabled(path: &Path) -> bool {
    let table = fs::read_to_string("/proc/swaps").unwrap_or_default();
    let is_it = |line: &str| line.split_whitespace().next().is_some_and(|name| Path::new(&unescaped(name)) == path);
    table.lines().any(is_it)
}
