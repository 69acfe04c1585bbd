//! What a run leaves on a host unless somebody takes it away again, and how each is undone.

use super::reading::{Reading, read_bounded, write_once};
use crate::{Fault, Root};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a group is given to lose its last task, or a mount its last user.
const PATIENCE: Duration = Duration::from_secs(5);
/// Groups lie in groups; ours not deeper than this.
const DEEPEST: usize = 8;
/// Linux: BLKDEV_MIN_RQ.
const SHORTEST_QUEUE: u32 = 4;

/// Something that has to be undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Thing {
    /// A setting of the kernel.
    Value(Change),
    /// A control group: its tasks are killed, then it is removed.
    Cgroup {
        /// Its folder.
        path: PathBuf,
    },
    /// A tracefs instance, or any other folder that goes with rmdir.
    Instance {
        /// Its folder.
        path: PathBuf,
    },
    /// Something mounted.
    Mount {
        /// Where.
        path: PathBuf,
    },
    /// A file that the kernel pages out to.
    Swap {
        /// Which.
        path: PathBuf,
    },
    /// A loop device, if it still shows this file.
    Loop {
        /// `/dev/loopN`.
        device: PathBuf,
        /// What it shows.
        file: PathBuf,
    },
    /// A process of ours that outlives us.
    Process {
        /// Its number.
        pid: i32,
        /// When it began, in ticks since boot: another process of that number is none of ours.
        start: u64,
    },
    /// A file.
    File {
        /// Which.
        path: PathBuf,
    },
    /// A folder with all that is in it.
    Folder {
        /// Which.
        path: PathBuf,
    },
}

/// A changed setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// As the user named it.
    pub setting: String,
    /// The kernel's file.
    pub path: PathBuf,
    /// How its text is read.
    pub reading: Reading,
    /// What it held before, every byte.
    pub old: String,
    /// What it reads while it is ours; none until it has been written and read back, and for what merely follows another.
    pub expected: Option<String>,
    /// It comes back by itself when the partner's old value is written.
    pub by: Option<PathBuf>,
    /// It follows this other setting, and makes sense only when that has come back.
    pub follows: Option<PathBuf>,
}

/// A setting that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    /// As the user named it.
    pub setting: String,
    /// The kernel's file.
    pub path: PathBuf,
    /// What it should read.
    pub expected: String,
    /// What it reads.
    pub actual: String,
}

/// What came of undoing.
#[derive(Debug, PartialEq, Eq)]
pub enum Undone {
    /// It is as it was.
    Back,
    /// There is nothing left to undo.
    Gone,
    /// Somebody else has changed it meanwhile; it was left alone.
    Foreign(Mismatch),
}

impl Thing {
    /// Whether it is still there after the machine has been started anew.
    pub fn outlives_a_boot(&self) -> bool {
        matches!(self, Thing::File { .. } | Thing::Folder { .. })
    }

    /// What it is, for a message.
    pub fn name(&self) -> String {
        match self {
            Thing::Value(change) => format!("{} ({})", change.setting, change.path.display()),
            Thing::Cgroup { path } => format!("group {}", path.display()),
            Thing::Instance { path } | Thing::File { path } | Thing::Folder { path } => path.display().to_string(),
            Thing::Mount { path } => format!("mount {}", path.display()),
            Thing::Swap { path } => format!("swap area {}", path.display()),
            Thing::Loop { device, file } => format!("{} on {}", device.display(), file.display()),
            Thing::Process { pid, .. } => format!("process {pid}"),
        }
    }

    /// Undoes it. A fault means that it is still there.
    pub fn undo(&self, root: &Root) -> Result<Undone, Fault> {
        match self {
            Thing::Value(change) => change.undo(root),
            Thing::Cgroup { path } => remove_group(&root.path(path), 0),
            Thing::Instance { path } => gone_or(std::fs::remove_dir(root.path(path)), &root.path(path), "remove"),
            Thing::Mount { path } => unmount(&root.path(path)),
            Thing::Swap { path } => swap_off(&root.path(path)),
            Thing::Loop { device, file } => detach(root, device, file),
            Thing::Process { pid, start } => end(*pid, *start),
            Thing::File { path } => gone_or(std::fs::remove_file(root.path(path)), &root.path(path), "remove"),
            Thing::Folder { path } => gone_or(std::fs::remove_dir_all(root.path(path)), &root.path(path), "remove"),
        }
    }
}

impl Change {
    /// What it reads now.
    pub fn now(&self, root: &Root) -> Result<Option<String>, Fault> {
        let path = root.path(&self.path);
        match read_bounded(&path) {
            Ok(text) => Ok(self.reading.of(&text)),
            Err(why) if why.kind() == ErrorKind::NotFound => Ok(None),
            Err(why) => Err(Fault::file(path, "read", why)),
        }
    }

    fn undo(&self, root: &Root) -> Result<Undone, Fault> {
        let Some(now) = self.now(root)? else { return Ok(Undone::Gone) };
        let old = self.reading.of(&self.old).unwrap_or_default();
        if now == old {
            return Ok(Undone::Back);
        }
        if let Some(expected) = self.expected.as_ref().filter(|e| **e != now) {
            return Ok(Undone::Foreign(self.mismatch(expected.clone(), now)));
        }
        let path = root.path(&self.path);
        if self.by.is_none() {
            let text = self.reading.back(&self.old).unwrap_or_default();
            write_once(&path, &text).map_err(|why| Fault::file(&path, "write the old value back", why))?;
        }
        let actual = self.now(root)?.unwrap_or_default();
        if actual == old || self.is_shortest_queue(&old, &actual) {
            return Ok(Undone::Back);
        }
        Err(Fault::Wrong(format!("{}: wrote {old:?} back, and it reads {actual:?}", path.display())))
    }

    /// Linux gives a device that takes one request at a time a queue of two, and nobody may write fewer than four.
    fn is_shortest_queue(&self, old: &str, actual: &str) -> bool {
        let fewer = old.parse().is_ok_and(|requests: u32| requests < SHORTEST_QUEUE);
        self.path.ends_with("queue/nr_requests") && fewer && actual == SHORTEST_QUEUE.to_string()
    }

    fn mismatch(&self, expected: String, actual: String) -> Mismatch {
        Mismatch { setting: self.setting.clone(), path: self.path.clone(), expected, actual }
    }

    /// The mismatch, if it is not what it should be.
    pub fn check(&self, root: &Root) -> Option<Mismatch> {
        let expected = self.expected.as_ref()?;
        let actual = match self.now(root) {
            Ok(now) => now.unwrap_or_else(|| "nothing: it is not there any more".to_owned()),
            Err(fault) => fault.to_string(),
        };
        (actual != *expected).then(|| self.mismatch(expected.clone(), actual))
    }
}

fn gone_or(done: std::io::Result<()>, path: &Path, doing: &'static str) -> Result<Undone, Fault> {
    match done {
        Ok(()) => Ok(Undone::Back),
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(Undone::Gone),
        Err(why) => Err(Fault::file(path, doing, why)),
    }
}

/// Kills what is in a group and in those below it, and removes them.
fn remove_group(path: &Path, depth: usize) -> Result<Undone, Fault> {
    if !path.is_dir() {
        return Ok(Undone::Gone);
    }
    let inner = std::fs::read_dir(path).map_err(|why| Fault::file(path, "read", why))?;
    for entry in inner.flatten().filter(|e| depth < DEEPEST && e.file_type().is_ok_and(|t| t.is_dir())) {
        remove_group(&entry.path(), depth + 1)?;
    }
    // A group with next to no share would not even get the time to die in; a frozen one would not die.
    let _ = write_once(&path.join("cpu.shares"), "1024");
    let _ = write_once(&path.join("freezer.state"), "THAWED");
    let began = Instant::now();
    loop {
        kill_all(path);
        match std::fs::remove_dir(path) {
            Ok(()) => return Ok(Undone::Back),
            Err(why) if why.kind() == ErrorKind::NotFound => return Ok(Undone::Gone),
            Err(why) if began.elapsed() > PATIENCE => return Err(Fault::file(path, "remove", why)),
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

fn kill_all(group: &Path) {
    if write_once(&group.join("cgroup.kill"), "1").is_ok() {
        return;
    }
    let own = std::process::id() as i32;
    let text = std::fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    for pid in text.lines().filter_map(|l| l.trim().parse::<i32>().ok()).filter(|pid| *pid > 1 && *pid != own) {
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
    }
}

fn unmount(path: &Path) -> Result<Undone, Fault> {
    use nix::{errno::Errno, mount};
    let began = Instant::now();
    loop {
        match mount::umount2(path, mount::MntFlags::UMOUNT_NOFOLLOW) {
            Ok(()) => return Ok(Undone::Back),
            // Nothing is mounted there.
            Err(Errno::EINVAL | Errno::ENOENT) => return Ok(Undone::Gone),
            Err(Errno::EBUSY) if began.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(20)),
            Err(why) => return Err(Fault::file(path, "unmount", why.into())),
        }
    }
}

fn swap_off(path: &Path) -> Result<Undone, Fault> {
    let Ok(name) = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()) else { return Ok(Undone::Gone) };
    // SAFETY: the name is a string with its end, alive for the call.
    if unsafe { libc::swapoff(name.as_ptr()) } == 0 {
        return Ok(Undone::Back);
    }
    match std::io::Error::last_os_error() {
        // It is not there, or nobody pages out to it.
        why if matches!(why.raw_os_error(), Some(libc::EINVAL | libc::ENOENT)) => Ok(Undone::Gone),
        why => Err(Fault::file(path, "stop swapping to", why)),
    }
}

fn detach(root: &Root, device: &Path, file: &Path) -> Result<Undone, Fault> {
    let name = device.file_name().unwrap_or_default();
    let shown = root.path("/sys/block").join(name).join("loop/backing_file");
    match read_bounded(&shown) {
        Ok(text) if Path::new(text.trim_end()) == file => {}
        _ => return Ok(Undone::Gone),
    }
    let path = root.path(device);
    let open = File::open(&path).map_err(|why| Fault::file(&path, "open", why))?;
    /// linux/loop.h, LOOP_CLR_FD.
    const CLEAR: libc::c_ulong = 0x4C01;
    // SAFETY: the descriptor is open for the time of the call, and the request takes no pointer.
    let done = unsafe { libc::ioctl(open.as_raw_fd(), CLEAR as _, 0) };
    if done == 0 { Ok(Undone::Back) } else { Err(Fault::file(path, "detach", std::io::Error::last_os_error())) }
}

fn end(pid: i32, start: u64) -> Result<Undone, Fault> {
    if pid <= 1 || super::owner::start_of(pid) != Some(start) {
        return Ok(Undone::Gone);
    }
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL)
        .map_err(|why| Fault::Call { doing: format!("cannot end process {pid}"), why: why.into() })?;
    Ok(Undone::Back)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_shorter_than_anybody_may_write_is_back_as_near_as_it_gets() {
        let change = |path: &str| Change {
            setting: "nr_requests".to_owned(),
            path: path.into(),
            reading: Reading::Plain,
            old: "2".to_owned(),
            expected: None,
            by: None,
            follows: None,
        };
        let queue = change("/sys/block/nullb0/queue/nr_requests");
        assert!(queue.is_shortest_queue("2", "4"));
        assert!(!queue.is_shortest_queue("2", "128"));
        assert!(!queue.is_shortest_queue("64", "4"));
        assert!(!change("/proc/sys/vm/swappiness").is_shortest_queue("2", "4"));
    }
}
