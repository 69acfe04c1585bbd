//! An empty file system in pieces, for where no program makes one: each file of a folder has the contents of the device from
//! the offset that is its name, in hexadecimal digits; all else is zero.

use schedlab_linux::Fault;
use std::{
    fs::{self, OpenOptions},
    os::unix::fs::FileExt,
    path::Path,
};

/// Writes the pieces to a device that holds nothing.
pub(super) fn lay(folder: &Path, device: &Path) -> Result<(), Fault> {
    let opened = OpenOptions::new().write(true).open(device).map_err(|why| Fault::file(device, "open", why))?;
    let pieces = fs::read_dir(folder).map_err(|why| Fault::file(folder, "read", why))?;
    for piece in pieces {
        let path = piece.map_err(|why| Fault::file(folder, "read", why))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let offset = u64::from_str_radix(name, 16)
            .map_err(|_| Fault::Wrong(format!("{}: its name is no number of a byte", path.display())))?;
        let bytes = fs::read(&path).map_err(|why| Fault::file(&path, "read", why))?;
        opened.write_all_at(&bytes, offset).map_err(|why| Fault::file(device, "write", why))?;
    }
    opened.sync_all().map_err(|why| Fault::file(device, "write", why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_piece_comes_to_where_its_name_says() {
        let place = tempfile::tempdir().unwrap();
        let (pieces, device) = (place.path().join("pieces"), place.path().join("device"));
        fs::create_dir(&pieces).unwrap();
        fs::write(pieces.join("2"), "ab").unwrap();
        fs::write(pieces.join("10"), "c").unwrap();
        fs::write(&device, [0; 20]).unwrap();
        lay(&pieces, &device).unwrap();
        let held = fs::read(&device).unwrap();
        assert_eq!((&held[..5], held[16], held.len()), (&b"\0\0ab\0"[..], b'c', 20));
        fs::write(pieces.join("x"), "d").unwrap();
        assert!(lay(&pieces, &device).unwrap_err().to_string().contains("no number of a byte"));
    }
}
