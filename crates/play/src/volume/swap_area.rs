//! A swap area as the kernel knows it: a page that says what follows, and the pages to swap to. What `mkswap` would write.
//!
//! ```text
//!   first page   1024 bytes that the kernel leaves to boot loaders, then version 1 and the number of the last page;
//!                its last ten bytes are SWAPSPACE2                             linux/swap.h: union swap_header
//! ```

use nix::fcntl::{FallocateFlags, fallocate};
use schedlab_linux::Fault;
use std::{
    fs::OpenOptions,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
};

const PAGE: u64 = 4096;
const VERSION_AT: usize = 1024;
const VERSION: u32 = 1;
const MAGIC: &[u8] = b"SWAPSPACE2";

/// Makes a swap area of that size: a file with all its blocks.
pub(super) fn make(path: &Path, size: u64) -> Result<(), Fault> {
    let fault = |doing| move |why| Fault::file(path, doing, why);
    let file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(path).map_err(fault("make"))?;
    let pages = size / PAGE;
    let length = i64::try_from(pages * PAGE).unwrap_or(i64::MAX);
    fallocate(&file, FallocateFlags::empty(), 0, length).map_err(|why| fault("make")(why.into()))?;
    file.write_all_at(&head(pages), 0).and_then(|()| file.sync_all()).map_err(fault("write"))
}

/// The first page of an area with a number of pages.
fn head(pages: u64) -> Vec<u8> {
    let mut head = vec![0; PAGE as usize];
    let last = u32::try_from(pages.saturating_sub(1)).unwrap_or(u32::MAX);
    head[VERSION_AT..VERSION_AT + 4].copy_from_slice(&VERSION.to_ne_bytes());
    head[VERSION_AT + 4..VERSION_AT + 8].copy_from_slice(&last.to_ne_bytes());
    let magic_at = head.len() - MAGIC.len();
    head[magic_at..].copy_from_slice(MAGIC);
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_says_which_page_is_the_last() {
        let head = head(256);
        assert_eq!((&head[1024..1032], &head[4086..]), (&[1, 0, 0, 0, 255, 0, 0, 0][..], MAGIC));
        assert_eq!(head.len(), 4096);
    }
}
