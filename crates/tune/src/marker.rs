//! Ownership markers. Nothing is removed because of its name: an entry of the journal holds a random number, and its object
//! carries the same number. What another process creates under the same name, before or after, is left alone.
//!
//! ```text
//!   folder      a file in it: number, owner (boot, process, start), user, device and inode (a copy is not the folder)
//!   group       an extended attribute
//!   instance    tracefs has neither: the time of its folder's last change, set to the number
//! ```
//!
//! The process can be killed between the creation and the marking. An unmarked object is removed only if nothing is lost with
//! it: an empty folder, a group without tasks, an instance that records nothing.

use crate::{owner::Owner, undone::Undone};
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;
use nix::unistd::{UnlinkatFlags, unlinkat};
use schedlab_linux::{Fault, xattr};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The marker's file in a folder.
pub const FILE: &str = ".schedlab-made";
/// A marker is not longer.
const MOST_BYTES: u64 = 4096;
/// The attribute of a group: the first needs privilege, the second a kernel from 5.7.
const ATTRIBUTES: [&std::ffi::CStr; 2] = [c"trusted.schedlab", c"user.schedlab"];

/// The random number of an entry and of its object: 16 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Id(String);

impl Id {
    /// Another one.
    pub fn fresh() -> Result<Id, Fault> {
        let mut bytes = [0; 8];
        let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
        read.map_err(|why| Fault::file("/dev/urandom", "read", why))?;
        Ok(Id(format!("{:016x}", u64::from_ne_bytes(bytes))))
    }

    /// Its digits.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The same as a time.
    fn time(&self) -> SystemTime {
        let number = u64::from_str_radix(&self.0, 16).unwrap_or(0);
        SystemTime::UNIX_EPOCH + Duration::new(number >> 32, (number as u32) % 1_000_000_000)
    }
}

/// The contents of a folder's marker file.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct OwnershipMarker {
    id: Id,
    owner: Owner,
    uid: u32,
    device: u64,
    inode: u64,
}

impl OwnershipMarker {
    fn of(folder: &File, id: &Id, owner: &Owner) -> io::Result<OwnershipMarker> {
        let about = folder.metadata()?;
        let (uid, owner) = (nix::unistd::geteuid().as_raw(), owner.clone());
        Ok(OwnershipMarker { id: id.clone(), owner, uid, device: about.dev(), inode: about.ino() })
    }
}

/// Makes a folder that carries the marker; one that is there already is a fault.
pub fn make_folder(path: &Path, id: &Id, owner: &Owner) -> Result<(), Fault> {
    fs::create_dir(path).map_err(|why| Fault::file(path, "make a folder", why))?;
    let marked = open_folder(path).and_then(|folder| {
        let text = serde_json::to_vec(&OwnershipMarker::of(&folder, id, owner)?)?;
        let flags = OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_WRONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mut file = File::from(openat(&folder, FILE, flags, Mode::S_IRUSR | Mode::S_IWUSR)?);
        file.write_all(&text)?;
        file.sync_all()
    });
    marked.map_err(|why| Fault::file(path, "mark the folder", why))
}

/// Removes a folder with its contents if it carries the marker; an empty one in any case. What is mounted in it stays.
pub fn remove_folder(path: &Path, id: &Id, owner: &Owner) -> Result<Undone, Fault> {
    let fault = |why| Fault::file(path, "remove", why);
    let folder = match open_folder(path) {
        Ok(folder) => folder,
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(Undone::Gone),
        Err(why) if matches!(why.raw_os_error(), Some(libc::ELOOP | libc::ENOTDIR)) => return Ok(not_ours(path)),
        Err(why) => return Err(fault(why)),
    };
    if carries(&folder, id, owner) {
        let device = folder.metadata().map_err(fault)?.dev();
        // The marker goes last: an undo that is killed on the way can be repeated.
        empty(&folder, device, Some(OsStr::new(FILE))).map_err(fault)?;
        unlinkat(&folder, FILE, UnlinkatFlags::NoRemoveDir).map_err(|why| fault(why.into()))?;
    }
    match fs::remove_dir(path) {
        Ok(()) => Ok(Undone::Back),
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(Undone::Gone),
        Err(why) if why.kind() == ErrorKind::DirectoryNotEmpty => Ok(not_ours(path)),
        Err(why) => Err(fault(why)),
    }
}

fn not_ours(path: &Path) -> Undone {
    Undone::NotOurs(format!("{}: it does not carry our marker", path.display()))
}

/// A folder itself, never what a link points to.
fn open_folder(path: &Path) -> io::Result<File> {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

fn carries(folder: &File, id: &Id, owner: &Owner) -> bool {
    let found = (|| -> io::Result<OwnershipMarker> {
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let file = File::from(openat(folder, FILE, flags, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Err(ErrorKind::InvalidData.into());
        }
        let mut text = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut text)?;
        Ok(serde_json::from_slice(&text)?)
    })();
    let wanted = OwnershipMarker::of(folder, id, owner);
    let own = folder.metadata().is_ok_and(|about| about.uid() == nix::unistd::geteuid().as_raw());
    own && found.is_ok_and(|found| wanted.is_ok_and(|wanted| found == wanted))
}

/// Removes what is in a folder by descriptors, so that no link and no exchange of a folder leads elsewhere.
fn empty(folder: &File, device: u64, spared: Option<&OsStr>) -> io::Result<()> {
    for entry in fs::read_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()))? {
        let entry = entry?;
        let name = entry.file_name();
        if Some(name.as_os_str()) == spared {
            continue;
        }
        let kind = if entry.file_type()?.is_dir() {
            let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_RDONLY | OFlag::O_CLOEXEC;
            let inner = File::from(openat(folder, name.as_os_str(), flags, Mode::empty())?);
            if inner.metadata()?.dev() != device {
                return Err(io::Error::other(format!("something is mounted on {:?} in it", name)));
            }
            empty(&inner, device, None)?;
            UnlinkatFlags::RemoveDir
        } else {
            UnlinkatFlags::NoRemoveDir
        };
        unlinkat(folder, name.as_os_str(), kind)?;
    }
    Ok(())
}

/// Marks a group.
pub fn mark_group(path: &Path, id: &Id) -> io::Result<()> {
    let mut last = Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
    for attribute in ATTRIBUTES {
        last = xattr::create(path, attribute, id.text().as_bytes());
        if last.is_ok() {
            break;
        }
    }
    last
}

/// Whether a group carries the marker.
pub fn group_carries(path: &Path, id: &Id) -> bool {
    let carries = |attribute| xattr::read(path, attribute, &mut [0; 64]) == Some(id.text().as_bytes());
    ATTRIBUTES.into_iter().any(carries)
}

/// Marks a tracefs instance.
pub fn mark_instance(path: &Path, id: &Id) -> io::Result<()> {
    let times = fs::FileTimes::new().set_modified(id.time());
    open_folder(path)?.set_times(times)
}

/// Whether a tracefs instance carries the marker.
pub fn instance_carries(path: &Path, id: &Id) -> bool {
    fs::symlink_metadata(path).and_then(|about| about.modified()).is_ok_and(|modified| modified == id.time())
}

/// The name of something that a process makes: `schedlab-PID-NUMBER`.
pub fn name(owner: &Owner, id: &Id) -> PathBuf {
    PathBuf::from(format!("schedlab-{}-{}", owner.pid, id.text()))
}
