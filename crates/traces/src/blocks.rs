//! Blocks of bytes of a fixed size, filled from the front with one store for each value, and written when they are full.

use std::io::{self, Write};

/// Bytes that are gathered before they are written.
const GATHERED: usize = 1 << 16;
/// Bytes of one store, whatever its value takes of them; the next store overwrites the rest.
const STORE: usize = 8;

/// Up to eight bytes: the lowest `width` of `bits`, the lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Word {
    pub bits: u64,
    pub width: usize,
}

/// `N` bytes at most, of which the last store's eight are room.
#[derive(Debug)]
pub(crate) struct Block<const N: usize> {
    bytes: Box<[u8; N]>,
    at: usize,
}

impl<const N: usize> Default for Block<N> {
    fn default() -> Self {
        // By way of a vector, so that memory which is never used is never touched.
        let bytes = vec![0; N].into_boxed_slice().try_into().expect("it has that length");
        Block { bytes, at: 0 }
    }
}

impl<const N: usize> Block<N> {
    /// Appends a word. The block must have room for eight bytes.
    #[inline(always)]
    pub fn put(&mut self, word: Word) {
        assert!(self.at <= N - STORE, "a block that has no room is written before");
        self.bytes[self.at..self.at + STORE].copy_from_slice(&word.bits.to_le_bytes());
        self.at += word.width;
    }

    /// What was appended.
    pub fn filled(&self) -> &[u8] {
        &self.bytes[..self.at]
    }

    pub fn clear(&mut self) {
        self.at = 0;
    }

    /// Appends as many of these bytes as there is room for; returns the others.
    fn fill<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let (now, later) = bytes.split_at(bytes.len().min(N - self.at));
        self.bytes[self.at..][..now.len()].copy_from_slice(now);
        self.at += now.len();
        later
    }
}

/// Gathers bytes in a block, and writes it to `out` whenever it is full. After a failed write it writes no more, and
/// [`Blocks::finish`] returns the error.
#[derive(Debug)]
pub(crate) struct Blocks<W> {
    out: W,
    block: Block<GATHERED>,
    error: Option<io::Error>,
}

impl<W: Write> Blocks<W> {
    pub fn new(out: W) -> Self {
        Blocks { out, block: Block::default(), error: None }
    }

    /// The block, with room for a number of bytes.
    #[inline(always)]
    pub fn room(&mut self, bytes: usize) -> &mut Block<GATHERED> {
        if self.block.at > GATHERED - bytes {
            self.write();
        }
        &mut self.block
    }

    /// Appends bytes, however many.
    pub fn append(&mut self, mut bytes: &[u8]) {
        loop {
            bytes = self.block.fill(bytes);
            if bytes.is_empty() {
                return;
            }
            self.write();
        }
    }

    #[cold]
    #[inline(never)]
    fn write(&mut self) {
        if self.error.is_none() {
            self.error = self.out.write_all(self.block.filled()).err();
        }
        self.block.clear();
    }

    /// Writes what is left, and gives `out` back.
    pub fn finish(mut self) -> io::Result<W> {
        self.write();
        match self.error {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_one_behind_the_other_without_what_is_beyond_their_width() {
        let mut block = Block::<64>::default();
        for (bits, width) in [(0x0201, 2), (0xff03, 1), (u64::MAX, 0), (0x04, 1)] {
            block.put(Word { bits, width });
        }
        assert_eq!(block.filled(), [1, 2, 3, 4]);
    }

    #[test]
    fn what_is_longer_than_a_block_arrives_whole_and_in_order() {
        let bytes: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut blocks = Blocks::new(Vec::new());
        for part in bytes.chunks(150_001) {
            blocks.append(part);
        }
        blocks.room(8).put(Word { bits: 7, width: 1 });
        let written = blocks.finish().unwrap();
        assert!(written[..bytes.len()] == bytes && written[bytes.len()..] == [7]);
    }
}
