//! Mappings: anonymous memory, and files that are read. A file's pages are read from the drive when they are missing; anonymous pages
//! may be paged out.

use std::{fs::File, io, os::fd::AsRawFd};

/// A mapping, unmapped when it is dropped.
#[derive(Debug)]
pub struct Mapping {
    start: *mut u8,
    length: usize,
    writable: bool,
}

/// Bytes of a page: what the kernel maps and counts in.
pub const PAGE: usize = 4096;

impl Mapping {
    /// Nothing.
    pub const NONE: Mapping = Mapping { start: std::ptr::null_mut(), length: 0, writable: false };

    /// Anonymous memory of this process, zero. Pages of the common size, each with a fault of its own, as the steps count them.
    pub fn own(length: usize) -> io::Result<Mapping> {
        let mapping = map(length, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
        // SAFETY: the range is the mapping just made. A kernel without huge pages says no, which is as good.
        unsafe { libc::madvise(mapping.start.cast(), length, libc::MADV_NOHUGEPAGE) };
        Ok(mapping)
    }

    /// A file, to be read.
    pub fn of_file(file: &File, length: usize) -> io::Result<Mapping> {
        let mapping = map(length, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd())?;
        // SAFETY: the range is the mapping just made. Read-ahead of whole neighbourhoods would hide the faults.
        unsafe { libc::madvise(mapping.start.cast(), length, libc::MADV_RANDOM) };
        Ok(mapping)
    }

    /// Touches the page with that number; beyond the end, nothing is done.
    #[inline]
    pub fn touch(&self, page: usize, write: bool) {
        let at = page * PAGE;
        if at >= self.length {
            return;
        }
        // SAFETY: within the mapping, which is there as long as this value; writing only where it is writable. Volatile, because
        // only the access matters; and one access, because two may be two faults.
        unsafe {
            match write && self.writable {
                true => self.start.add(at).write_volatile(page as u8),
                false => drop(self.start.add(at).read_volatile()),
            }
        }
    }

    /// The number at that offset, which must be within the mapping and a multiple of four.
    #[inline]
    pub fn get(&self, at: usize) -> u32 {
        assert!(at.is_multiple_of(4) && at + 4 <= self.length);
        // SAFETY: within the mapping, which is there as long as this value, and aligned.
        unsafe { self.start.add(at).cast::<u32>().read() }
    }

    /// Stores a number there; the mapping must be anonymous memory.
    pub fn put(&self, at: usize, number: u32) {
        assert!(self.writable && at.is_multiple_of(4) && at + 4 <= self.length);
        // SAFETY: as in `get`, and writable.
        unsafe { self.start.add(at).cast::<u32>().write(number) };
    }
}

fn map(length: usize, protection: i32, flags: i32, file: i32) -> io::Result<Mapping> {
    if length == 0 {
        return Ok(Mapping::NONE);
    }
    // SAFETY: a new mapping of the kernel's choice; it replaces no other.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags | libc::MAP_NORESERVE, file, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(Mapping { start: start.cast(), length, writable: protection & libc::PROT_WRITE != 0 })
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.length > 0 {
            // SAFETY: the range is a mapping made in this module, and this value was its only owner.
            unsafe { libc::munmap(self.start.cast(), self.length) };
        }
    }
}

/// A buffer of reads and writes, page-aligned as direct I/O requires.
#[derive(Debug)]
pub struct Buffer {
    bytes: Vec<u8>,
    first: usize,
    length: usize,
}

impl Buffer {
    /// One of that length.
    pub fn new(length: usize) -> Buffer {
        let bytes = vec![0x5A; length + PAGE];
        let first = bytes.as_ptr().align_offset(PAGE);
        Buffer { bytes, first, length }
    }

    /// Its first `length` bytes, or all it has.
    pub fn part(&mut self, length: usize) -> &mut [u8] {
        &mut self.bytes[self.first..self.first + length.min(self.length)]
    }
}

/// Faults in all memory that this process has now, and keeps it from being paged out.
pub fn lock_memory() -> io::Result<()> {
    // SAFETY: takes a number.
    crate::call::checked(unsafe { libc::mlockall(libc::MCL_CURRENT) }.into()).map(drop)
}
