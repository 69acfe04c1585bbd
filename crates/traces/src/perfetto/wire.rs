//! Protobuf's wire format, as far as a trace needs it: numbers and what has a length.

const VARINT: u64 = 0;
const LENGTH: u64 = 2;

/// Appends a number in groups of seven bits, the lowest first.
#[inline]
pub fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends the fields of a message. Its texts are UTF-8, and its numbers not negative.
pub trait Message {
    /// A whole number, a truth value or a member of an enum.
    fn number(&mut self, field: u32, value: u64);
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

    fn bytes(&mut self, field: u32, value: &[u8]) {
        varint(self, u64::from(field) << 3 | LENGTH);
        varint(self, value.len() as u64);
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
