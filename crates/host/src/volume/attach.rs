//! Loop devices: a file shown as a block device, without the block cache between (direct I/O).

use super::Made;
use crate::{Fault, Root, tunables::Thing};
use std::{
    fs::{File, OpenOptions},
    os::fd::AsRawFd,
    path::{Path, PathBuf},
};

/// linux/loop.h.
const CONFIGURE: libc::c_ulong = 0x4C0A;
const GET_FREE: libc::c_ulong = 0x4C82;
const DIRECT: u32 = 16;
/// Somebody else may take the free one before us; not so often.
const TRIES: u32 = 20;

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

/// Shows the file as a block device, which is journalled first. Gives the device.
pub(super) fn attach(root: &Root, made: &mut Made, file: &Path) -> Result<PathBuf, Fault> {
    let shown = OpenOptions::new().read(true).write(true).open(file).map_err(|why| Fault::file(file, "open", why))?;
    let control = File::open("/dev/loop-control").map_err(|why| Fault::Refused {
        what: "a volume".to_owned(),
        why: format!("/dev/loop-control: {why}"),
        advice: "run as root, on a kernel with loop devices".to_owned(),
    })?;
    let mut last = std::io::Error::from_raw_os_error(libc::EBUSY);
    for _ in 0..TRIES {
        // SAFETY: the descriptor is open for the time of the call, and the request takes no pointer.
        let number = unsafe { libc::ioctl(control.as_raw_fd(), GET_FREE as _) };
        if number < 0 {
            return Err(Fault::last("finding a free loop device"));
        }
        let device = PathBuf::from(format!("/dev/loop{number}"));
        made.remember(Thing::Loop { device: device.clone(), file: file.to_owned() })?;
        match configure(&device, &shown) {
            Ok(()) => return direct(root, &device, file),
            Err(why) => last = why,
        }
        made.undo_last();
        if last.raw_os_error() != Some(libc::EBUSY) {
            break;
        }
    }
    Err(Fault::file(file, "show as a block device", last))
}

fn configure(device: &Path, shown: &File) -> std::io::Result<()> {
    let device = OpenOptions::new().read(true).write(true).open(device)?;
    let config = Config {
        file: shown.as_raw_fd() as u32,
        block_size: 0,
        numbers: [0; 5],
        unused: [0; 3],
        flags: DIRECT,
        names: [0; 160],
        init: [0; 2],
        reserved: [0; 8],
    };
    // SAFETY: both descriptors are open for the time of the call; the pointer is of a structure of the kernel's layout that
    // outlives it and is only read.
    let done = unsafe { libc::ioctl(device.as_raw_fd(), CONFIGURE as _, &config) };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Refuses a file that the kernel caches a second time below the device.
fn direct(root: &Root, device: &Path, file: &Path) -> Result<PathBuf, Fault> {
    let name = device.file_name().unwrap_or_default();
    let told = root.read(Path::new("/sys/block").join(name).join("loop/dio"))?;
    if told.trim() == "1" {
        return Ok(device.to_owned());
    }
    Err(Fault::Refused {
        what: "a volume".to_owned(),
        why: format!("{} lies on a file system without direct I/O", file.display()),
        advice: "name a folder on a drive with --scratch".to_owned(),
    })
}
