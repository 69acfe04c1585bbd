//! Removes the objects that a run has made in a kernel: each only if it is the one of its entry. An object counts as removed
//! only when it is really gone.

use crate::{
    marker::{Id, group_carries, instance_carries},
    reading::{read_bounded, write_once},
    undone::Undone,
};
use nix::{errno::Errno, mount as mounts};
use schedlab_linux::{
    Fault, Root, loop_device, mounts::source_on, proc::task::start_of, swap as swaps, tracefs::Tracefs,
};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a group is given to lose its last task, a mount its last user, a process to die.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);
/// Groups lie in groups; ours not deeper than this.
const DEEPEST: usize = 8;

/// What keeps a task from dying: next to no share, a quota used up, a memory limit, being frozen. Files that this kernel does
/// not have are skipped.
const FREEING: &[(&str, &str)] = &[
    ("cpu.shares", "1024"),
    ("cpu.weight", "100"),
    ("cpu.cfs_quota_us", "-1"),
    ("cpu.max", "max"),
    ("memory.limit_in_bytes", "-1"),
    ("memory.max", "max"),
    ("freezer.state", "THAWED"),
    ("cgroup.freeze", "0"),
];

/// Tries until it is done or the patience is over.
pub(crate) fn until(mut done: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    loop {
        if done() {
            return true;
        }
        if began.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Kills what is in a group and in those below it, and removes them. A group without the marker goes only if it is empty.
pub(crate) fn group(path: &Path, id: &Id) -> Result<Undone, Fault> {
    marked(path, id, |path| remove_group(path, 0))
}

/// Moves the tasks of a group into the one above it, and removes it. A group without the marker goes only if it is empty.
pub(crate) fn enclosure(path: &Path, id: &Id) -> Result<Undone, Fault> {
    marked(path, id, let_out)
}

fn marked(path: &Path, id: &Id, remove: impl Fn(&Path) -> Result<(), Fault>) -> Result<Undone, Fault> {
    if !path.is_dir() {
        return Ok(Undone::Gone);
    }
    if group_carries(path, id) {
        return remove(path).map(|()| Undone::Back);
    }
    match fs::remove_dir(path) {
        Ok(()) => Ok(Undone::Back),
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(Undone::Gone),
        Err(_) => Ok(Undone::NotOurs(format!("group {}: it does not carry our marker", path.display()))),
    }
}

fn let_out(path: &Path) -> Result<(), Fault> {
    let Some(above) = path.parent() else { return Ok(()) };
    let mut last = Ok(());
    until(|| {
        // A group below, that the command has made, lets its tasks out too.
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let _ = let_out(&entry.path());
            }
        }
        let tasks = fs::read_to_string(path.join("cgroup.procs")).unwrap_or_default();
        for pid in tasks.lines() {
            // One that has ended meanwhile is out.
            let _ = write_once(&above.join("cgroup.procs"), pid);
        }
        last = removed(path);
        last.is_ok()
    });
    last
}

fn removed(path: &Path) -> Result<(), Fault> {
    match fs::remove_dir(path) {
        Err(why) if why.kind() != ErrorKind::NotFound => Err(Fault::file(path, "remove", why)),
        _ => Ok(()),
    }
}

fn remove_group(path: &Path, depth: usize) -> Result<(), Fault> {
    let inner = fs::read_dir(path).map_err(|why| Fault::file(path, "read", why))?;
    for entry in inner.flatten().filter(|e| depth < DEEPEST && e.file_type().is_ok_and(|t| t.is_dir())) {
        remove_group(&entry.path(), depth + 1)?;
    }
    for (file, text) in FREEING {
        let file = path.join(file);
        let _ = file.exists().then(|| write_once(&file, text));
    }
    let mut last = Ok(());
    until(|| {
        kill_all(path);
        last = removed(path);
        last.is_ok()
    });
    last
}

fn kill_all(group: &Path) {
    if group.join("cgroup.kill").exists() && write_once(&group.join("cgroup.kill"), "1").is_ok() {
        return;
    }
    let own = std::process::id() as i32;
    let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    for pid in text.lines().filter_map(|l| l.trim().parse::<i32>().ok()).filter(|pid| *pid > 1 && *pid != own) {
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
    }
}

/// Unmounts what has that source.
pub(crate) fn mount(path: &Path, source: &str) -> Result<Undone, Fault> {
    match source_on(path) {
        None => return Ok(Undone::Gone),
        Some(other) if other != source => {
            let what = format!("{}: {other} is mounted there, and ours was {source}", path.display());
            return Ok(Undone::NotOurs(what));
        }
        Some(_) => {}
    }
    let mut last = Ok(());
    until(|| {
        last = mounts::umount2(path, mounts::MntFlags::UMOUNT_NOFOLLOW);
        last != Err(Errno::EBUSY)
    });
    match last {
        // Nothing is mounted there any more.
        Ok(()) | Err(Errno::EINVAL | Errno::ENOENT) => Ok(Undone::Back),
        Err(why) => Err(Fault::file(path, "unmount", why.into())),
    }
}

/// Stops paging out to a file.
pub(crate) fn swap(path: &Path) -> Result<Undone, Fault> {
    if !swaps::is_enabled(path) {
        return Ok(Undone::Gone);
    }
    match swaps::disable(path) {
        Ok(()) => Ok(Undone::Back),
        // It does not exist, or is no swap area any more.
        Err(why) if matches!(why.raw_os_error(), Some(libc::EINVAL | libc::ENOENT)) => Ok(Undone::Gone),
        Err(why) => Err(Fault::file(path, "stop swapping to", why)),
    }
}

/// Detaches a loop device from its file, waits until its last user has closed it, and puts its read-ahead back.
pub(crate) fn attachment(root: &Root, device: &Path, file: &Path, read_ahead: Option<&str>) -> Result<Undone, Fault> {
    let folder = root.path("/sys/block").join(device.file_name().unwrap_or_default());
    let attached = || Attached::of(&folder, file);
    let was_ours = attached() == Attached::Ours;
    if was_ours {
        let path = root.path(device);
        let open = File::open(&path).map_err(|why| Fault::file(&path, "open", why))?;
        match loop_device::detach(&open) {
            // ENXIO: another process was faster.
            Err(why) if why.raw_os_error() != Some(libc::ENXIO) => return Err(Fault::file(path, "detach", why)),
            _ => {}
        }
    }
    if !until(|| matches!(attached(), Attached::Nothing | Attached::Another)) {
        return Err(Fault::file(root.path(device), "detach", ErrorKind::ResourceBusy.into()));
    }
    if let (Attached::Nothing, Some(before)) = (attached(), read_ahead) {
        put_back(&folder.join("queue/read_ahead_kb"), before)?;
    }
    Ok(if was_ours { Undone::Back } else { Undone::Gone })
}

/// What a loop device shows.
#[derive(PartialEq)]
enum Attached {
    Nothing,
    Ours,
    /// A name that is empty: it is being detached.
    Ending,
    Another,
}

impl Attached {
    fn of(folder: &Path, file: &Path) -> Attached {
        let Ok(text) = read_bounded(&folder.join("loop/backing_file")) else { return Attached::Nothing };
        // The file may have been deleted.
        match text.trim_end_matches('\n').trim_end_matches(" (deleted)") {
            "" => Attached::Ending,
            shown if Path::new(shown) == file => Attached::Ours,
            _ => Attached::Another,
        }
    }
}

/// Writes a setting of a device as it was, unless it is so or the device is gone.
fn put_back(path: &Path, before: &str) -> Result<(), Fault> {
    let done = match read_bounded(path) {
        Ok(now) if now.trim() != before => write_once(path, before),
        Ok(_) => Ok(()),
        Err(why) => Err(why),
    };
    match done {
        Err(why) if why.kind() != ErrorKind::NotFound => Err(Fault::file(path, "write", why)),
        _ => Ok(()),
    }
}

/// Removes an instance that carries the marker; one that does not, only if it records nothing. One that is open is waited for.
pub(crate) fn instance(root: &Root, name: &str, id: &Id) -> Result<Undone, Fault> {
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
        last.as_ref().err().is_none_or(|why| why.kind() != ErrorKind::ResourceBusy)
    });
    match last {
        Err(why) if why.kind() != ErrorKind::NotFound => Err(Fault::file(folder, "remove", why)),
        _ => Ok(Undone::Back),
    }
}

/// Kills a process.
pub(crate) fn process(pid: i32, start: u64) -> Result<Undone, Fault> {
    if pid <= 1 || start_of(pid) != Some(start) {
        return Ok(Undone::Gone);
    }
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL)
        .map_err(|why| Fault::Call { doing: format!("cannot end process {pid}"), why: why.into() })?;
    if until(|| start_of(pid) != Some(start)) {
        return Ok(Undone::Back);
    }
    Err(Fault::Wrong(format!("process {pid} was killed and does not end")))
}

/// A process that acted for its owner was ended before ([`end_member`]); a fault if it lives and does not say so itself.
pub(crate) fn member(pid: i32, start: u64) -> Result<Undone, Fault> {
    if pid != std::process::id() as i32 && start_of(pid) == Some(start) {
        Err(Fault::Wrong(format!("process {pid} still runs")))
    } else {
        Ok(Undone::Gone)
    }
}

/// Has a process that acted for a dead owner end: in order, so that it puts back itself, or else by force.
pub(crate) fn end_member(pid: i32, start: u64) {
    let lives = || start_of(pid) == Some(start);
    let signal = |signal| nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal);
    if pid > 1 && lives() {
        let _ = signal(nix::sys::signal::Signal::SIGTERM);
        if !until(|| !lives()) {
            let _ = signal(nix::sys::signal::Signal::SIGKILL);
            until(|| !lives());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_another_beginning_is_left_alone() {
        let own = std::process::id() as i32;
        let start = start_of(own).unwrap();
        assert_eq!(process(own, start + 1).unwrap(), Undone::Gone);
        assert_eq!(member(own, start + 1).unwrap(), Undone::Gone);
        assert_eq!(member(own, start).unwrap(), Undone::Gone, "it leaves by itself");
        let parent = std::os::unix::process::parent_id() as i32;
        assert!(member(parent, start_of(parent).unwrap()).is_err());
    }
}
