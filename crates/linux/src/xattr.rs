//! Extended attributes of a path: of itself, links not followed, or of what it leads to.

use crate::call::checked;
use std::{
    ffi::{CStr, CString},
    io,
    os::unix::ffi::OsStrExt,
    path::Path,
};

fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

/// Creates an attribute; one that exists is an error.
pub fn create(path: &Path, name: &CStr, value: &[u8]) -> io::Result<()> {
    let (path, bytes, length) = (c_path(path)?, value.as_ptr().cast(), value.len());
    // SAFETY: terminated strings, and bytes with their length, all alive for the call, which only reads them.
    checked(unsafe { libc::lsetxattr(path.as_ptr(), name.as_ptr(), bytes, length, libc::XATTR_CREATE) }.into())
        .map(drop)
}

/// Reads an attribute into that room; none if there is no such attribute, or more of it than room.
pub fn read<'a>(path: &Path, name: &CStr, room: &'a mut [u8]) -> Option<&'a [u8]> {
    let path = c_path(path).ok()?;
    // SAFETY: terminated strings, and room of the length given, all alive for the call.
    let length = unsafe { libc::lgetxattr(path.as_ptr(), name.as_ptr(), room.as_mut_ptr().cast(), room.len()) };
    room.get(..usize::try_from(length).ok()?)
}

/// Reads an attribute of what a path leads to, as of a descriptor by its name in /proc.
pub fn read_behind<'a>(path: &Path, name: &CStr, room: &'a mut [u8]) -> Option<&'a [u8]> {
    let path = c_path(path).ok()?;
    // SAFETY: terminated strings, and room of the length given, all alive for the call.
    let length = unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), room.as_mut_ptr().cast(), room.len()) };
    room.get(..usize::try_from(length).ok()?)
}
