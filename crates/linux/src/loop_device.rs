//! Loop devices: a file as a block device (linux/loop.h).

use crate::call::checked;
use std::{fs::File, io, os::fd::AsRawFd};

const CONFIGURE: libc::c_ulong = 0x4C0A;
const CLEAR: libc::c_ulong = 0x4C01;
const GET_FREE: libc::c_ulong = 0x4C82;
const DIRECT: u32 = 16;

/// `struct loop_config`.
#[repr(C)]
struct Config {
    file: u32,
    block_size: u32,
    /// Device, inode, rdevice, offset, size limit.
    numbers: [u64; 5],
    /// Number, encryption, length of its key.
    unused: [u32; 3],
    flags: u32,
    names: [u8; 160],
    init: [u64; 2],
    reserved: [u64; 8],
}

/// The number of a free device, by `/dev/loop-control`. Another process may take it first.
pub fn free(control: &File) -> io::Result<libc::c_long> {
    // SAFETY: the descriptor is open for the call, and the request takes no pointer.
    checked(unsafe { libc::ioctl(control.as_raw_fd(), GET_FREE as _) }.into())
}

/// Attaches a file to a device, with direct I/O: no second copy of it in the page cache.
pub fn attach(device: &File, file: &File) -> io::Result<()> {
    let config = Config {
        file: file.as_raw_fd() as u32,
        block_size: 0,
        numbers: [0; 5],
        unused: [0; 3],
        flags: DIRECT,
        names: [0; 160],
        init: [0; 2],
        reserved: [0; 8],
    };
    // SAFETY: both descriptors are open for the call; the pointer is to a structure of the kernel's layout that outlives it and is
    // only read.
    checked(unsafe { libc::ioctl(device.as_raw_fd(), CONFIGURE as _, &config) }.into()).map(drop)
}

/// Detaches a device from its file.
pub fn detach(device: &File) -> io::Result<()> {
    // SAFETY: the descriptor is open for the call, and the request takes no pointer.
    checked(unsafe { libc::ioctl(device.as_raw_fd(), CLEAR as _, 0) }.into()).map(drop)
}
