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

/// Bytes that are being filled. A loop that fills some keeps their end in a register, and so a value of this type in a variable.
#[derive(Debug)]
pub(crate) struct Filling<'a, const N: usize> {
    bytes: &'a mut [u8; N],
    at: usize,
}

impl<'a, const N: usize> Filling<'a, N> {
    pub fn new(bytes: &'a mut [u8; N]) -> Self {
        Filling { bytes, at: 0 }
    }

    /// Appends a word. There must be room for eight bytes.
    #[inline(always)]
    pub fn put(&mut self, word: Word) {
        assert!(self.at <= N - STORE, "bytes that have no room are written before");
        self.bytes[self.at..self.at + STORE].copy_from_slice(&word.bits.to_le_bytes());
        self.at += word.width;
    }

    /// What was appended.
    pub fn filled(self) -> &'a [u8] {
        &self.bytes[..self.at]
    }
}

/// As many bytes. Memory that is never used is never touched.
pub(crate) fn block<const N: usize>() -> Box<[u8; N]> {
    vec![0; N].into_boxed_slice().try_into().expect("it has that length")
}

/// Gathers bytes in a block, and writes it to `out` whenever it is full. After a failed write it writes no more, and
/// [`Blocks::finish`] returns the error.
#[derive(Debug)]
pub(crate) struct Blocks<W> {
    out: W,
    block: Box<[u8; GATHERED]>,
    at: usize,
    error: Option<io::Error>,
}

impl<W: Write> Blocks<W> {
    pub fn new(out: W) -> Self {
        Blocks { out, block: block(), at: 0, error: None }
    }

    /// Appends what `fill` does: words of that many bytes together, each with the store beyond them.
    #[inline(always)]
    pub fn fill(&mut self, bytes: usize, fill: impl FnOnce(&mut Filling<'_, GATHERED>)) {
        if self.at > GATHERED - bytes {
            self.write();
        }
        let mut filling = Filling { bytes: &mut self.block, at: self.at };
        fill(&mut filling);
        self.at = filling.at;
    }

    /// Appends bytes, however many.
    pub fn append(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.at == GATHERED {
                self.write();
            }
            let (now, later) = bytes.split_at(bytes.len().min(GATHERED - self.at));
            self.block[self.at..][..now.len()].copy_from_slice(now);
            self.at += now.len();
            bytes = later;
        }
    }

    #[cold]
    #[inline(never)]
    fn write(&mut self) {
        if self.error.is_none() {
            self.error = self.out.write_all(&self.block[..self.at]).err();
        }
        self.at = 0;
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
        let mut bytes = block::<64>();
        let mut filling = Filling::new(&mut bytes);
        for (bits, width) in [(0x0201, 2), (0xff03, 1), (u64::MAX, 0), (0x04, 1)] {
            filling.put(Word { bits, width });
        }
        assert_eq!(filling.filled(), [1, 2, 3, 4]);
    }

    #[test]
    fn what_is_longer_than_a_block_arrives_whole_and_in_order() {
        let bytes: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut blocks = Blocks::new(Vec::new());
        for part in bytes.chunks(150_001) {
            blocks.append(part);
        }
        blocks.fill(8, |block| block.put(Word { bits: 7, width: 1 }));
        let written = blocks.finish().unwrap();
        assert!(written[..bytes.len()] == bytes && written[bytes.len()..] == [7]);
    }
}
