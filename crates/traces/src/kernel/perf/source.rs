//! A file or pipe that is read once, from one end to the other, in large pieces.

use std::io::{self, Read};

/// Bytes that are read at once. Every record (64 KiB at most) fits.
const BUFFER: usize = 1 << 20;

/// What was read and not used yet.
pub(super) struct Source<R> {
    from: R,
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
    /// Bytes that were used.
    pub position: u64,
}

impl<R: Read> Source<R> {
    /// Reads from there; its first byte is at that place of the file.
    pub fn new(from: R, position: u64) -> Self {
        Source { from, buffer: vec![0; BUFFER], begin: 0, end: 0, position }
    }

    /// What is there.
    #[inline]
    pub fn unused(&self) -> &[u8] {
        &self.buffer[self.begin..self.end]
    }

    /// So many of these were used.
    pub fn used(&mut self, count: usize) {
        self.begin += count;
        self.position += count as u64;
    }

    /// Reads more; false at the end of the file.
    pub fn more(&mut self) -> io::Result<bool> {
        self.buffer.copy_within(self.begin..self.end, 0);
        (self.begin, self.end) = (0, self.end - self.begin);
        loop {
            match self.from.read(&mut self.buffer[self.end..]) {
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
                Ok(count) => {
                    self.end += count;
                    return Ok(count > 0);
                }
            }
        }
    }
}

/// For what is no record: bytes in their order.
impl<R: Read> Read for Source<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.begin == self.end && !self.more()? {
            return Ok(0);
        }
        let count = into.len().min(self.end - self.begin);
        into[..count].copy_from_slice(&self.buffer[self.begin..][..count]);
        self.used(count);
        Ok(count)
    }
}
