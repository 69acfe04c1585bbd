//! The kernel's tracefs, mounted or not.
//!
//! Where it is not mounted, it is opened without a mount point: the kernel releases it with the last descriptor, so that no mount is
//! left even after SIGKILL.

use crate::{
    Fault, Root,
    call::{checked, opened},
};
use std::{
    ffi::CStr,
    io,
    os::fd::{AsRawFd, OwnedFd},
    path::{Path, PathBuf},
};

/// Where distributions mount it, the newer place first.
const MOUNTED: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// A tracefs that can be used.
#[derive(Debug)]
pub struct Tracefs {
    folder: PathBuf,
    /// Keeps it alive where it is mounted nowhere.
    _open: Option<OwnedFd>,
}

impl Tracefs {
    /// The one of this host, mounted or not.
    pub fn open(root: &Root) -> Result<Tracefs, Fault> {
        let mounted = MOUNTED.iter().map(|path| root.path(path)).find(|path| path.join("events/sched").exists());
        if let Some(folder) = mounted {
            return Ok(Tracefs { folder, _open: None });
        }
        if *root != Root::default() {
            return Err(refused("this tree has no tracefs", "mount it: mount -t tracefs tracefs /sys/kernel/tracing"));
        }
        let open = open_unmounted(c"tracefs").map_err(|why| refused(&why.to_string(), advice(&why)))?;
        // The descriptor of a file system that is mounted nowhere is a folder like any other.
        let folder = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
        if !folder.join("events/sched").exists() {
            return Err(refused("its folder of scheduler events is missing", "use a kernel with CONFIG_SCHED_TRACER"));
        }
        Ok(Tracefs { folder, _open: Some(open) })
    }

    /// A file of it.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.join(name)
    }
}

/// The fault of a tracefs that cannot be used.
pub fn refused(why: &str, advice: &str) -> Fault {
    Fault::Refused {
        what: "recording the scheduler's events through tracefs".to_owned(),
        why: why.to_owned(),
        advice: advice.to_owned(),
    }
}

/// What to do about a system error.
pub fn advice(why: &io::Error) -> &'static str {
    match why.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => "run as root; in a container, with CAP_SYS_ADMIN and tracefs allowed",
        Some(libc::ENOSYS) => "mount it first: mount -t tracefs tracefs /sys/kernel/tracing",
        Some(libc::ENODEV) => "use a kernel with CONFIG_FTRACE",
        _ => "mount it first: mount -t tracefs tracefs /sys/kernel/tracing",
    }
}

/// Opens a file system of the kernel's, such as tracefs or debugfs, without a mount point (Linux 5.2: fsopen, fsconfig, fsmount).
pub fn open_unmounted(kind: &CStr) -> io::Result<OwnedFd> {
    /// Of fsopen and fsmount: close on exec.
    const CLOEXEC: libc::c_uint = 1;
    /// Of fsconfig: create the file system from what was configured.
    const CREATE: libc::c_uint = 6;
    // SAFETY: the name is a terminated string, alive for the call.
    let context = opened(unsafe { libc::syscall(libc::SYS_fsopen, kind.as_ptr(), CLOEXEC) })?;
    let none = std::ptr::null::<libc::c_char>();
    // SAFETY: the descriptor is open; this command takes no key and no value, so both may be null.
    checked(unsafe { libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), CREATE, none, none, 0) })?;
    // SAFETY: the descriptor is open; the call takes numbers only.
    opened(unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), CLOEXEC, 0) })
}
