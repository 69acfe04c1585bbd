//! Where the kernel's tracefs is, and an instance in it that is ours alone.
//!
//! An instance has buffers, a clock and switches of its own, so that what others trace is neither seen nor disturbed.
//! Where tracefs is not mounted, it is opened without being mounted anywhere: the kernel lets it go with the last file
//! descriptor, so that even after SIGKILL no mount is left. What can be left then is the instance: it is in the journal before it
//! is made, and carries the entry's marker.

use crate::{
    Fault, Root,
    tunables::{
        Book, Memory, Thing,
        mark::{Id, instance_carries, mark_instance},
        remove::until,
        thing::Undone,
    },
};
use std::{
    fs::{self, File, OpenOptions},
    io,
    os::{fd::AsRawFd, fd::FromRawFd, fd::OwnedFd, unix::fs::OpenOptionsExt},
    path::{Path, PathBuf},
};

/// Where distributions mount it, newest custom first.
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
        let mounted = MOUNTED.iter().map(|place| root.path(place)).find(|place| place.join("events/sched").exists());
        if let Some(folder) = mounted {
            return Ok(Tracefs { folder, _open: None });
        }
        if *root != Root::default() {
            return Err(refused("this tree has no tracefs", "mount it: mount -t tracefs tracefs /sys/kernel/tracing"));
        }
        let open = open_unmounted().map_err(|why| refused(&why.to_string(), advice(&why)))?;
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

fn refused(why: &str, advice: &str) -> Fault {
    Fault::Refused {
        what: "recording the scheduler's events through tracefs".to_owned(),
        why: why.to_owned(),
        advice: advice.to_owned(),
    }
}

fn advice(why: &io::Error) -> &'static str {
    match why.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => "run as root; in a container, with CAP_SYS_ADMIN and tracefs allowed",
        Some(libc::ENOSYS) => "mount it first: mount -t tracefs tracefs /sys/kernel/tracing",
        Some(libc::ENODEV) => "use a kernel with CONFIG_FTRACE",
        _ => "mount it first: mount -t tracefs tracefs /sys/kernel/tracing",
    }
}

/// Opens tracefs without a mount point (Linux 5.2: fsopen, fsconfig, fsmount).
fn open_unmounted() -> io::Result<OwnedFd> {
    let checked = |result: libc::c_long| if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) };
    /// Of fsopen and fsmount: close on exec.
    const CLOEXEC: libc::c_uint = 1;
    /// Of fsconfig: make the file system from what was configured.
    const CREATE: libc::c_uint = 6;
    // SAFETY: the name is a constant that ends in zero; the result is checked and owned by nobody else.
    let context =
        unsafe { OwnedFd::from_raw_fd(checked(libc::syscall(libc::SYS_fsopen, c"tracefs".as_ptr(), CLOEXEC))?) };
    let none = std::ptr::null::<libc::c_char>();
    // SAFETY: the descriptor is open; this command takes no key and no value, so both may be null.
    checked(unsafe { libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), CREATE, none, none, 0) })?;
    // SAFETY: the descriptor is open; the result is checked and owned by nobody else.
    unsafe {
        let mount = checked(libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), CLOEXEC, 0))?;
        Ok(OwnedFd::from_raw_fd(mount))
    }
}

/// An instance of our own. It stops and goes when this is dropped.
#[derive(Debug)]
pub struct Instance {
    folder: PathBuf,
    _tracefs: Tracefs,
    /// Removes it.
    _memory: Memory,
}

impl Instance {
    /// Makes one.
    pub fn make(tracefs: Tracefs, book: &Book) -> Result<Instance, Fault> {
        let (name, id) = book.name()?;
        let folder = tracefs.path("instances").join(&name);
        let memory = book.remember(Thing::Instance { name, id: id.clone() })?;
        let made = fs::create_dir(&folder).and_then(|()| mark_instance(&folder, &id));
        made.map_err(|why| refused(&format!("{}: {why}", folder.display()), advice(&why)))?;
        Ok(Instance { folder, _tracefs: tracefs, _memory: memory })
    }

    /// Writes a setting of it.
    pub fn set(&self, name: &str, value: &str) -> Result<(), Fault> {
        let path = self.folder.join(name);
        fs::write(&path, value).map_err(|why| Fault::file(path, "write", why))
    }

    /// The text of a file of it.
    pub fn read(&self, name: &str) -> Result<String, Fault> {
        let path = self.folder.join(name);
        fs::read_to_string(&path).map_err(|why| Fault::file(path, "read", why))
    }

    /// The numbers of the processors that it has buffers for, in order.
    pub fn processors(&self) -> Result<Vec<u16>, Fault> {
        let path = self.folder.join("per_cpu");
        let entries = fs::read_dir(&path).map_err(|why| Fault::file(path, "list", why))?;
        let number = |entry: fs::DirEntry| entry.file_name().to_str()?.strip_prefix("cpu")?.parse().ok();
        let mut all: Vec<u16> = entries.flatten().filter_map(number).collect();
        all.sort_unstable();
        Ok(all)
    }

    /// The pages of a processor's buffer, as the kernel has them. Reading what is not there yet fails instead of waiting.
    pub fn pages(&self, processor: u16) -> Result<File, Fault> {
        let path = self.folder.join(format!("per_cpu/cpu{processor}/trace_pipe_raw"));
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
        options.open(&path).map_err(|why| Fault::file(path, "open", why))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.set("tracing_on", "0");
    }
}

/// Removes an instance that carries the marker; one that does not, only if it records nothing. One that is open is waited for.
pub(crate) fn remove_instance(root: &Root, name: &str, id: &Id) -> Result<Undone, Fault> {
    if name.is_empty() || name.contains('/') || name.starts_with('.') {
        return Err(Fault::Wrong(format!("{name:?} is no name of a tracing instance")));
    }
    let tracefs = Tracefs::open(root)?;
    let folder = tracefs.path("instances").join(name);
    if !folder.exists() {
        return Ok(Undone::Gone);
    }
    let records = || fs::read_to_string(folder.join("events/enable")).map_or(true, |text| text.trim() != "0");
    if !instance_carries(&folder, id) && records() {
        return Ok(Undone::NotOurs(format!("tracing instance {name}: it does not carry our marker")));
    }
    let mut last = Ok(());
    until(|| {
        last = fs::remove_dir(&folder);
        last.as_ref().err().is_none_or(|why| why.kind() != io::ErrorKind::ResourceBusy)
    });
    match last {
        Err(why) if why.kind() != io::ErrorKind::NotFound => Err(Fault::file(folder, "remove", why)),
        _ => Ok(Undone::Back),
    }
}
