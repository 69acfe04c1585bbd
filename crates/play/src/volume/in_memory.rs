//! A drive in the kernel's memory (`null_blk`): every request takes the same time, one after the other, whatever it moves and
//! wherever. It is for guests, whose time is their own and which have no files below them; it goes with the kernel.
//!
//! ```text
//!   time  =  requests * time of a request          seeks and bytes cost nothing
//! ```
//!
//! It is set up through configfs: kernels before 6.0 take `memory_backed` nowhere else.

use nix::mount::{MsFlags, mount};
use schedlab_linux::{Fault, Root};
use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

const CONFIGFS: &str = "/sys/kernel/config";
const FOLDER: &str = "/sys/kernel/config/nullb";
/// Kernels before 5.19 count their devices, later ones call them what the folder is called: this is both.
const NAME: &str = "nullb0";
/// How long its node in /dev is waited for: so often, with a pause between.
const LOOKS: u32 = 200;
const PAUSE: Duration = Duration::from_millis(5);

/// What never changes: multi-queue, of one queue and one request at a time, completed by a timer, kept in memory.
const FIXED: &[(&str, u64)] =
    &[("queue_mode", 2), ("submit_queues", 1), ("hw_queue_depth", 1), ("irqmode", 2), ("memory_backed", 1)];

/// Kernels since 5.15 have a second queue, for polling, unless it is turned off.
const FIXED_IF_THERE: &[(&str, u64)] = &[("poll_queues", 0)];

/// Makes it, with a size in bytes and the time of a request, ns. Returns the device.
pub(super) fn make(root: &Root, size: u64, request_ns: u64) -> Result<PathBuf, Fault> {
    let folder = root.path(FOLDER);
    if !folder.exists() {
        // If this fails, what is missing is said below.
        let _ = mount(Some("configfs"), &root.path(CONFIGFS), Some("configfs"), MsFlags::empty(), None::<&str>);
    }
    if !folder.exists() {
        return Err(Fault::Refused {
            what: "a drive in memory".to_owned(),
            why: format!("this kernel has no {FOLDER}"),
            advice: "it needs null_blk and configfs, built in or as modules".to_owned(),
        });
    }
    let own = folder.join(NAME);
    fs::create_dir(&own).map_err(|why| Fault::file(&own, "make", why))?;
    let given = [("size", size.div_ceil(1 << 20)), ("completion_nsec", request_ns)];
    let there = FIXED_IF_THERE.iter().filter(|(name, _)| own.join(name).exists());
    for (name, value) in FIXED.iter().chain(there).chain(&given).chain(&[("power", 1)]) {
        let file = own.join(name);
        fs::write(&file, value.to_string()).map_err(|why| Fault::file(file, "write", why))?;
    }
    appeared(&root.path(Path::new("/dev").join(NAME)))
}

/// Waits until it is there.
fn appeared(device: &Path) -> Result<PathBuf, Fault> {
    for _ in 0..LOOKS {
        if device.exists() {
            return Ok(device.to_owned());
        }
        thread::sleep(PAUSE);
    }
    Err(Fault::file(device, "find", std::io::ErrorKind::NotFound.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_null_blk_is_refused_with_what_it_lacks() {
        let empty = tempfile::tempdir().unwrap();
        let fault = make(&Root::at(empty.path()), 1 << 20, 1000).unwrap_err().to_string();
        assert!(fault.contains("null_blk and configfs"), "{fault}");
    }
}
