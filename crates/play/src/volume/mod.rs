//! A volume: a fresh file system of the run's own, so that what the block cache holds, what the queue holds and what the
//! drive does are this run's alone.
//!
//! ```text
//! scratch/schedlab-PID-NUMBER/
//!   image            a sparse file                   or   slow/disk   on a modelled disk (see server)
//!     shown as /dev/loopN, direct I/O, its queue cut where an elevator is to have something to sort
//!   files            ext4 without a journal on it
//! ```
//!
//! Everything is journalled before it is made and taken down, latest first, on every way out; after SIGKILL the restorer does it.
//! The outer of the agent's two processes makes it and takes it down; the inner one fills it, mounts it anew so that caches are
//! cold, and runs the tasks. `ext4` without a journal, because a journal's writes belong to no task; mounted anew rather than
//! `drop_caches`, which would empty all caches. A guest's may lie on a drive in its memory (`in_memory`), and its file system
//! comes in pieces (`blank`): there are no programs in a guest.

mod attach;
mod blank;
pub mod counts;
pub mod drive;
mod fuse;
mod in_memory;
pub mod server;
mod swap_area;

use counts::Counts;
use drive::Drive;
use nix::{
    errno::Errno,
    mount::{MntFlags, MsFlags, mount, umount2},
};
use schedlab_linux::{Fault, Root, clock, detached, proc::task::start_of, swap};
use schedlab_model::{
    machine::{Disk, DiskQueue},
    scenario::Scenario,
    units::{Duration as Length, Size},
};
use schedlab_tune::{Cleanup, Object, RunJournal, owner::Owner};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// A drive of hundreds of gigabytes is used so far, if the files do not want more: making the file system writes to all of it.
const USED_OF_DRIVE: u64 = 1 << 30;
/// What the file system itself takes: so much, and a part of each file.
const OWN_BYTES: u64 = 64 << 20;
const OWN_PART: u64 = 10;
/// How long the last user of a mount is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// Requests that the device of a modelled disk is given at a time. A loop device takes 128, so that an elevator above has
/// nothing left to sort; the simulated drive takes one. The least that Linux allows.
const PLACES: u32 = 4;
/// The program that makes a file system.
const MAKER: &str = "mkfs.ext4";
/// What a queue without an elevator is said to have.
const NONE: &str = "none";

/// The volume that a plan asks for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Volume {
    /// Its size; if not given, that of the drive, up to a gigabyte or what the run's files need; without a drive, that.
    pub size: Option<Size>,
    /// The drive that it is modelled on; as fast as the host's, without one.
    pub disk: Option<Disk>,
    /// A swap area on it, of that size.
    pub swap: Option<Size>,
    /// In place of a disk, a drive in a guest's memory that takes so long for each request.
    pub request: Option<Length>,
    /// The folder with the pieces of an empty file system of that size, where no program makes one.
    pub blank: Option<PathBuf>,
}

/// How much of a volume there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Extent {
    /// Bytes it has.
    pub size: u64,
    /// Bytes of it that a run fills at most.
    pub used: u64,
}

impl Volume {
    /// Its extent, for a number of bytes of files.
    pub fn extent(&self, files: u64) -> Result<Extent, Fault> {
        let swap = self.swap.map_or(0, |swap| swap.0);
        let used = files.saturating_add(files / OWN_PART).saturating_add(swap);
        let wanted = used.saturating_add(OWN_BYTES);
        let drive = self.disk.as_ref().map(|disk| Drive::new(disk).capacity());
        let of_drive = drive.map(|drive| drive.min(wanted.max(USED_OF_DRIVE)));
        let size = self.size.map(|size| size.0).or(of_drive).unwrap_or(wanted) & !4095;
        if let Some(drive) = drive.filter(|&drive| size > drive) {
            return Err(Fault::Wrong(format!(
                "the volume: {} MiB are more than the {} MiB of its disk",
                size >> 20,
                drive >> 20
            )));
        }
        if size < files.saturating_add(swap) {
            return Err(Fault::Wrong(format!(
                "the volume: it has {} MiB, and the run's files and swap area need {}; give it a larger size or disk",
                size >> 20,
                (files + swap) >> 20
            )));
        }
        Ok(Extent { size, used: used.min(size) })
    }

    /// Settings of its device, where the user has none: the device of a modelled disk is cut to few places, and the queue above it
    /// has as many as the scenario says, if that is not what Linux has anyway. A drive in memory takes one request at a time,
    /// for which Linux would keep a queue of two: its queue is as long as the scenario says, unless it has no elevator.
    pub fn settings(&self, scenario: &Scenario, elevator: Option<&str>) -> Vec<(&'static str, String)> {
        let (given, usual) = (scenario.machine.queue.requests.get(), DiskQueue::default().requests.get());
        if self.disk.is_none() {
            let queued = self.request.is_some() && elevator != Some(NONE);
            return queued.then(|| ("nr_requests", given.to_string())).into_iter().collect();
        }
        let queue = (given != usual).then(|| ("nr_requests", given.max(PLACES).to_string()));
        [("depth", PLACES.to_string())].into_iter().chain(queue).collect()
    }
}

/// What was made so far; undone latest first.
struct Made {
    journal: RunJournal,
    all: Vec<Cleanup>,
}

impl Made {
    fn enter(&mut self, object: Object) -> Result<(), Fault> {
        self.all.push(self.journal.enter(object)?);
        Ok(())
    }

    fn undo_last(&mut self) {
        self.all.pop();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        while self.all.pop().is_some() {}
    }
}

/// A volume that is there.
pub struct Mounted {
    root: Root,
    device: PathBuf,
    /// Where its file system is mounted.
    pub files: PathBuf,
    /// The modelled disk's, if it is one.
    control: Option<PathBuf>,
    swap: Option<(PathBuf, u64)>,
    /// Undone when this goes.
    _made: Made,
}

impl Mounted {
    /// Makes it below `scratch`, with room for a number of bytes of files.
    pub fn new(journal: &RunJournal, wish: &Volume, scratch: &Path, files: u64) -> Result<Mounted, Fault> {
        let root = journal.root();
        let Extent { size, .. } = wish.extent(files)?;
        let scratch = scratch.canonicalize().map_err(|why| Fault::file(scratch, "find", why))?;
        if wish.request.is_none() {
            room(&scratch, size.min(files.saturating_add(wish.swap.map_or(0, |swap| swap.0))))?;
        }
        let mut made = Made { journal: journal.clone(), all: Vec::new() };
        let (folder, memory) = journal.folder(&scratch)?;
        made.all.push(memory);
        let (device, control) = device(root, &mut made, wish, &scratch, &folder, size)?;
        match &wish.blank {
            Some(pieces) => blank::lay(pieces, &device)?,
            None => make_file_system(&device)?,
        }
        let files = folder.join("files");
        make_folder(&files)?;
        made.enter(Object::Mount { path: files.clone(), source: device.to_string_lossy().into_owned() })?;
        let swap = wish.swap.map(|size| (files.join("swap"), size.0));
        if let Some((path, _)) = &swap {
            made.enter(Object::Swap { path: path.clone() })?;
        }
        let mounted = Mounted { root: root.clone(), device, files, control, swap, _made: made };
        mounted.mount()?;
        Ok(mounted)
    }

    /// The device's name, such as `loop3`.
    fn name(&self) -> &str {
        self.device.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    fn mount(&self) -> Result<(), Fault> {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOATIME;
        mount(Some(&self.device), &self.files, Some("ext4"), flags, None::<&str>)
            .map_err(|why| Fault::file(&self.files, "mount", why.into()))
    }

    /// Makes the swap area's file. Before [`Mounted::chill`].
    pub fn make_swap(&self) -> Result<(), Fault> {
        self.swap.as_ref().map_or(Ok(()), |(path, size)| swap_area::make(path, *size))
    }

    /// Mounts it anew, so that nothing of it is in any cache, and lets the swap area be used.
    pub fn chill(&self) -> Result<(), Fault> {
        let began = Instant::now();
        while let Err(why) = umount2(&self.files, MntFlags::UMOUNT_NOFOLLOW) {
            if why != Errno::EBUSY || began.elapsed() > PATIENCE {
                return Err(Fault::file(&self.files, "unmount", why.into()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.mount()?;
        self.swap.as_ref().map_or(Ok(()), |(path, _)| swap_on(path))
    }

    /// From now on the modelled disk, if it is one, takes its time. Gives the counters as they are.
    pub fn begin(&self) -> Result<Counts, Fault> {
        self.pace(server::AS_THE_DRIVE)?;
        Ok(self.counts())
    }

    /// The counters; from now on it takes no time any more.
    pub fn end(&self) -> Counts {
        let counts = self.counts();
        // One that does not answer is gone; taking it down will find out.
        let _ = self.pace(server::AT_ONCE);
        counts
    }

    fn counts(&self) -> Counts {
        let text = self.control.as_ref().and_then(|control| fs::read_to_string(control).ok());
        Counts::read(&self.root, self.name(), text.as_deref(), clock::now())
    }

    fn pace(&self, pace: &str) -> Result<(), Fault> {
        let Some(control) = &self.control else { return Ok(()) };
        fs::OpenOptions::new()
            .write(true)
            .open(control)
            .and_then(|mut file| std::io::Write::write_all(&mut file, pace.as_bytes()))
            .map_err(|why| Fault::file(control, "set the pace of", why))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // What was made goes after this.
        let _ = self.pace(server::AT_ONCE);
    }
}

/// What the volume lies on: a drive in memory, or a file shown as a device, on a modelled disk if one is wanted. And that disk's
/// control.
fn device(
    root: &Root,
    made: &mut Made,
    wish: &Volume,
    scratch: &Path,
    folder: &Path,
    size: u64,
) -> Result<(PathBuf, Option<PathBuf>), Fault> {
    let (image, control) = match (&wish.disk, wish.request) {
        (None, Some(request)) => return Ok((in_memory::make(root, size, request.0)?, None)),
        (None, None) => (plain(&folder.join("image"), size)?, None),
        (Some(disk), _) => {
            let at = folder.join("slow");
            serve(made, &at, scratch, size, disk)?;
            (at.join(fuse::DISK_NAME), Some(at.join(fuse::CONTROL_NAME)))
        }
    };
    Ok((attach::attach(root, made, &image)?, control))
}

/// Refuses what the file system has no room for.
fn room(scratch: &Path, wanted: u64) -> Result<(), Fault> {
    let room = nix::sys::statvfs::statvfs(scratch)
        .map_err(|why| Fault::file(scratch, "look at the free space of", why.into()))?;
    let free = room.blocks_available().saturating_mul(room.fragment_size());
    if wanted <= free {
        return Ok(());
    }
    Err(Fault::Refused {
        what: "the volume".to_owned(),
        why: format!("{} has {} MiB free, and its files need {}", scratch.display(), free >> 20, wanted >> 20),
        advice: "name another folder with --scratch, or have fewer or smaller files".to_owned(),
    })
}

fn make_folder(path: &Path) -> Result<(), Fault> {
    fs::create_dir(path).map_err(|why| Fault::file(path, "make a folder", why))
}

/// A sparse file.
fn plain(path: &Path, size: u64) -> Result<PathBuf, Fault> {
    let file = fs::File::create_new(path).and_then(|file| file.set_len(size));
    file.map_err(|why| Fault::file(path, "make", why))?;
    Ok(path.to_owned())
}

/// Has a modelled disk mounted there.
fn serve(made: &mut Made, at: &Path, scratch: &Path, size: u64, disk: &Disk) -> Result<(), Fault> {
    make_folder(at)?;
    let (source, _) = made.journal.name()?;
    made.enter(Object::Mount { path: at.to_owned(), source: source.clone() })?;
    let (own, text) = (Owner::own(), serde_json::to_string(disk).map_err(|why| Fault::Wrong(why.to_string()))?);
    let mut command = Command::new(detached::OWN_PROGRAM);
    command.arg("slow-disk").arg("--at").arg(at).arg("--folder").arg(scratch).args(["--size", &size.to_string()]);
    command.args(["--source", &source]);
    command.args(["--disk", &text, "--owner", &own.pid.to_string(), "--start", &own.start.to_string()]);
    let said = detached::run(command)?;
    let words: Vec<&str> = said.split_ascii_whitespace().collect();
    let ["ready", pid, start] = words[..] else {
        return Err(Fault::Refused {
            what: "a modelled disk".to_owned(),
            why: said.trim().to_owned(),
            advice: "run as root, on a kernel with FUSE".to_owned(),
        });
    };
    let (pid, start) = (pid.parse().unwrap_or(0), start.parse().unwrap_or(0));
    debug_assert_eq!(start_of(pid), Some(start));
    made.enter(Object::Process { pid, start })
}

/// Makes an empty file system with the host's program.
fn make_file_system(device: &Path) -> Result<(), Fault> {
    let words = "-q -F -b 4096 -m 0 -O ^has_journal -E lazy_itable_init=0,nodiscard".split_ascii_whitespace();
    let mut command = Command::new(MAKER);
    command.args(words).arg(device).stdin(Stdio::null());
    let refused = |why: String| Fault::Refused {
        what: format!("{MAKER} {}", device.display()),
        why,
        advice: "install e2fsprogs".to_owned(),
    };
    let done = command.output().map_err(|why| refused(why.to_string()))?;
    if done.status.success() {
        return Ok(());
    }
    Err(refused(format!("{}: {}", done.status, String::from_utf8_lossy(&done.stderr).trim())))
}

/// Lets the kernel page out to that file.
fn swap_on(path: &Path) -> Result<(), Fault> {
    swap::enable(path).map_err(|why| Fault::file(path, "swap to", why))
}
