//! Protobuf's wire format, as far as a trace needs it: numbers and what has a length.

use crate::blocks::{Filling, Word};

const VARINT: u64 = 0;
const LENGTH: u64 = 2;
/// Numbers below this are encoded in eight bytes at most.
pub const SHORT: u64 = 1 << 56;
/// Set in each byte of a number but its last.
const MORE: u64 = 0x8080_8080_8080_8080;

/// Bytes of the largest number.
pub const LONGEST: usize = 10;

/// A number below 2^56 in groups of seven bits, the lowest first. No loop: all groups are moved apart at once.
#[inline(always)]
pub const fn word(value: u64) -> Word {
    let groups = if value < 1 << 28 {
        value & 0x7f | (value & 0x3f80) << 1 | (value & 0x1f_c000) << 2 | (value & 0xfe0_0000) << 3
    } else {
        let pairs = value & 0x0fff_ffff | (value & 0x00ff_ffff_f000_0000) << 4;
        let pairs = pairs & 0x0000_3fff_0000_3fff | (pairs & 0x0fff_c000_0fff_c000) << 2;
        pairs & 0x007f_007f_007f_007f | (pairs & 0x3f80_3f80_3f80_3f80) << 1
    };
    let width = length(value);
    Word { bits: groups | CONTINUED[width & 15], width }
}

/// By the bytes of a number, the bits that are set in those which are followed by another.
const CONTINUED: [u64; 16] = {
    let mut of = [0; 16];
    let mut width = 2;
    while width <= 8 {
        of[width] = of[width - 1] << 8 | 0x80;
        width += 1;
    }
    of
};

/// A number below 2^14, encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Short(u16);

impl Short {
    #[inline(always)]
    pub const fn new(value: u32) -> Short {
        Short((value & 0x7f | (value & 0x3f80) << 1 | ((value > 0x7f) as u32) << 7) as u16)
    }

    #[inline(always)]
    pub const fn word(self) -> Word {
        Word { bits: self.0 as u64, width: 1 + (self.0 >> 7 & 1) as usize }
    }
}

/// Appends a number. There must be room for eighteen bytes.
#[inline(always)]
pub fn put<const N: usize>(bytes: &mut Filling<'_, N>, mut value: u64) {
    if value >= SHORT {
        bytes.put(Word { bits: word(value & (SHORT - 1)).bits | MORE, width: 8 });
        value >>= 56;
    }
    bytes.put(word(value));
}

/// Appends a number, where it is rare.
pub fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The bytes of a number.
#[inline(always)]
pub const fn length(value: u64) -> usize {
    ((63 - (value | 1).leading_zeros()) / 7) as usize + 1
}

/// Appends the fields of a message. Its texts are UTF-8, and its numbers not negative.
pub trait Message {
    /// A whole number, a truth value or a member of an enum.
    fn number(&mut self, field: u32, value: u64);
    /// What stands before that many bytes of a text, a message or a packed list.
    fn head(&mut self, field: u32, length: usize);
    /// A text, bytes, or a packed list that is encoded already.
    fn bytes(&mut self, field: u32, value: &[u8]);
    /// A message within this one.
    fn message(&mut self, field: u32, write: impl FnOnce(&mut Self));
}

impl Message for Vec<u8> {
    #[inline]
    fn number(&mut self, field: u32, value: u64) {
        varint(self, u64::from(field) << 3 | VARINT);
        varint(self, value);
    }

    fn head(&mut self, field: u32, length: usize) {
        varint(self, u64::from(field) << 3 | LENGTH);
        varint(self, length as u64);
    }

    fn bytes(&mut self, field: u32, value: &[u8]) {
        self.head(field, value.len());
        self.extend_from_slice(value);
    }

    #[inline]
    fn message(&mut self, field: u32, write: impl FnOnce(&mut Self)) {
        varint(self, u64::from(field) << 3 | LENGTH);
        // The length is known last and stands first: in the byte that is kept for it, or in more, which are moved there.
        self.push(0);
        let start = self.len();
        write(self);
        let end = self.len();
        let length = (end - start) as u64;
        self[start - 1] = length as u8;
        if length >= 0x80 {
            varint(self, length);
            let more = self.len() - end;
            self[start - 1..].rotate_right(more);
            self.remove(start - 1 + more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_the_format_documents_them() {
        let encoded = |value| {
            let mut out = Vec::new();
            varint(&mut out, value);
            out
        };
        assert_eq!((encoded(0), encoded(1), encoded(127)), (vec![0], vec![1], vec![127]));
        assert_eq!((encoded(150), encoded(300)), (vec![0x96, 0x01], vec![0xac, 0x02]));
        assert_eq!(encoded(u64::MAX), [[0xff; 9].as_slice(), &[1]].concat());
    }

    #[test]
    fn a_number_has_the_same_bytes_with_and_without_a_loop() {
        let edges = (0..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1, 0x5555_5555_5555_5555 >> bit]);
        for value in edges.chain([u64::MAX]) {
            let mut bytes = [0; 32];
            let mut filling = Filling::new(&mut bytes);
            put(&mut filling, value);
            let mut looped = Vec::new();
            varint(&mut looped, value);
            assert_eq!((filling.filled(), length(value)), (looped.as_slice(), looped.len()), "{value:#x}");
        }
    }

    #[test]
    fn a_message_stands_behind_its_length_however_long() {
        for length in [0, 1, 127, 128, 20_000] {
            let mut out = Vec::new();
            out.message(1, |inner| inner.extend(vec![7; length]));
            let mut expected = vec![0x0a];
            varint(&mut expected, length as u64);
            expected.extend(vec![7; length]);
            assert_eq!(out, expected);
        }
    }
}
