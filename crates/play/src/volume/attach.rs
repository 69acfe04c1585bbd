//! Loop devices: a file shown as a block device, without the block cache between (direct I/O).

use super::Made;
use schedlab_linux::{Fault, Root, loop_device};
use schedlab_tune::Object;
use std::{
    fs::{File, OpenOptions},
    path::{Path, PathBuf},
};

/// Attempts: another process may take the free one first.
const TRIES: u32 = 20;

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
        let number = loop_device::free(&control)
            .map_err(|why| Fault::Call { doing: "finding a free loop device".to_owned(), why })?;
        let device = PathBuf::from(format!("/dev/loop{number}"));
        let read_ahead = root.read(format!("/sys/block/loop{number}/queue/read_ahead_kb")).ok();
        let read_ahead = read_ahead.map(|text| text.trim().to_owned());
        made.enter(Object::Loop { device: device.clone(), file: file.to_owned(), read_ahead })?;
        let open = OpenOptions::new().read(true).write(true).open(&device);
        match open.and_then(|open| loop_device::attach(&open, &shown)) {
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

/// Refuses a file that the kernel caches a second time below the device.
fn direct(root: &Root, device: &Path, file: &Path) -> Result<PathBuf, Fault> {
    let name = device.file_name().unwrap_or_default();
    let direct = root.read(Path::new("/sys/block").join(name).join("loop/dio"))?;
    if direct.trim() == "1" {
        return Ok(device.to_owned());
    }
    Err(Fault::Refused {
        what: "a volume".to_owned(),
        why: format!("{} lies on a file system without direct I/O", file.display()),
        advice: "name a folder on a drive with --scratch".to_owned(),
    })
}
