//! Protobuf's wire format, as far as a reader of traces needs it: fields one by one, without a copy.

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// A number, whatever its type; a negative one as in 64 bits.
    Number(u64),
    /// A text, bytes, a message, or a packed list.
    Bytes(&'a [u8]),
}

/// The fields of a message, up to its end or to what is no field.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
    /// Whether what is left is no field.
    damaged: bool,
}

impl<'a> Fields<'a> {
    pub(super) fn new(message: &'a [u8]) -> Self {
        Fields { rest: message, damaged: false }
    }

    /// Whether the fields ended before the message did. Known after the last one.
    pub(super) fn damaged(&self) -> bool {
        self.damaged
    }

    #[inline]
    fn field(&mut self) -> Option<(u32, Value<'a>)> {
        let tag = varint(&mut self.rest)?;
        let value = match tag & 7 {
            0 => Value::Number(varint(&mut self.rest)?),
            1 => Value::Number(u64::from_le_bytes(*self.take(8)?.first_chunk()?)),
            2 => {
                let length = varint(&mut self.rest)?;
                Value::Bytes(self.take(usize::try_from(length).ok()?)?)
            }
            5 => Value::Number(u32::from_le_bytes(*self.take(4)?.first_chunk()?).into()),
            _ => return None,
        };
        Some((u32::try_from(tag >> 3).ok().filter(|field| *field > 0)?, value))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() || self.damaged {
            return None;
        }
        let field = self.field();
        self.damaged = field.is_none();
        field
    }
}

/// Takes a number from the beginning. At most ten bytes.
#[inline]
pub(super) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for (at, byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            *bytes = &bytes[at + 1..];
            return Some(value);
        }
    }
    None
}

/// The numbers of a packed list, up to its end or to what is no number.
pub(super) fn packed(mut list: &[u8]) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || varint(&mut list))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_as_the_format_documents_them() {
        let message = [0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x1d, 1, 0, 0, 0, 0x21, 2, 0, 0, 0, 0, 0, 0, 0];
        let mut fields = Fields::new(&message);
        let all: Vec<_> = fields.by_ref().collect();
        assert_eq!(
            all,
            [(1, Value::Number(150)), (2, Value::Bytes(b"hi")), (3, Value::Number(1)), (4, Value::Number(2))]
        );
        assert!(!fields.damaged());
        assert_eq!(packed(&[3, 0x8e, 0x02, 0x9e, 0xa7, 0x05]).collect::<Vec<_>>(), [3, 270, 86942]);
    }

    #[test]
    fn a_field_that_is_longer_than_its_message_ends_it() {
        for message in [&[0x12, 3, b'h', b'i'][..], &[0x80], &[0x0b], &[0x00, 0], &[0x1d, 1, 2, 3]] {
            let mut fields = Fields::new(message);
            assert_eq!((fields.by_ref().count(), fields.damaged()), (0, true), "{message:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_fields_up_to_some_place(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut fields = Fields::new(&bytes);
            prop_assert!(fields.by_ref().count() <= bytes.len());
            prop_assert!(packed(&bytes).count() <= bytes.len());
        }
    }
}
