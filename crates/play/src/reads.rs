//! What tasks read: bytes that their calls requested, and bytes that were requested from drives because of them. The kernel
//! counts both for each process (`/proc/PID/io`), with children that were waited for.

use crate::{setup::Setup, shared::Slot};
use schedlab_linux::files::open_at;
use std::sync::atomic::Ordering::Relaxed;

/// The file is half as long.
const MOST: usize = 1024;

/// This process's own so far; none where the kernel does not count. Allocates nothing.
pub(crate) fn own() -> Option<[u64; 2]> {
    read(c"/proc/self/io")
}

fn read(path: &std::ffi::CStr) -> Option<[u64; 2]> {
    let file = open_at(libc::AT_FDCWD, path, libc::O_RDONLY).ok()?;
    let mut text = [0; MOST];
    let length = nix::unistd::read(&file, &mut text).ok()?;
    parse(std::str::from_utf8(&text[..length]).ok()?)
}

fn parse(text: &str) -> Option<[u64; 2]> {
    let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some([line("rchar:")?, line("read_bytes:")?])
}

/// Notes what a task has read since it began.
pub(crate) fn note(slot: &Slot, now: Option<[u64; 2]>, before: [u64; 2]) {
    let Some(now) = now else { return };
    for ((place, now), before) in slot.reads.iter().zip(now).zip(before) {
        place.store(now.saturating_sub(before), Relaxed);
    }
}

/// The same for those tasks of the workload that have not ended.
pub(crate) fn of_the_living(setup: &Setup) {
    for slot in setup.shared.slots.iter().take(setup.workload.tasks.len()) {
        if slot.ended.load(Relaxed) == 0
            && let Ok(path) = std::ffi::CString::new(format!("/proc/{}/io", slot.pid.load(Relaxed)))
        {
            // What it had read before it began is next to nothing.
            note(slot, read(&path), [0; 2]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_does_not_count_reads_of_drives_reports_none() {
        assert_eq!(parse("rchar: 12\nwchar: 3\nread_bytes: 4096\n"), Some([12, 4096]));
        assert_eq!(parse("rchar: 12\nread_bytes: -\n"), None);
    }
}
