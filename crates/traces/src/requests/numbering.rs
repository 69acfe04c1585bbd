//! Keys to numbers: 0 for the first that is met, 1 for the next new one, and so on.

use super::{Key, Request, known::Known};
use hashbrown::{HashTable, hash_table};
use std::hash::BuildHasher;

/// Most requests that are read: the number of each fits into 32 bits, and 4,294,967,295 means none.
pub const MOST_REQUESTS: usize = u32::MAX as usize - 1;

/// A trace as numbers.
///
/// Memory while reading: 4 bytes a request; for each different key 32 to 64 bytes and, if it is text, its length. Afterwards:
/// 4 bytes a request. With bytes counted, 8 more for each request.
#[derive(Debug, PartialEq, Eq)]
pub struct Numbered {
    /// For each request the number of its object.
    pub keys: Vec<u32>,
    /// How many different objects there are: the numbers go from 0 to one less.
    pub objects: u32,
    /// Name of the format it was read in.
    pub format: &'static str,
    /// The sizes of the objects, if the trace has sizes.
    pub sizes: Option<Sizes>,
    /// For each request its bytes, if they were wanted.
    pub bytes: Option<Vec<u64>>,
    /// Requests of no size, which are left out where bytes are counted.
    pub left_out: u64,
}

/// Sizes of the objects of a trace, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// The smallest.
    pub smallest: u64,
    /// The largest.
    pub largest: u64,
    /// Of all objects together, each with the size of its first request.
    pub footprint: u64,
    /// Of all requests together.
    pub requested: u64,
}

#[derive(Default)]
pub(super) struct Numbering {
    keys: Vec<u32>,
    /// As many as there are keys and keys that wait for their numbers.
    requests: usize,
    objects: u32,
    numbers: Known,
    texts: HashTable<Text>,
    /// All texts, one after the other.
    content: Vec<u8>,
    hasher: hashbrown::DefaultHashBuilder,
    sizes: Option<Sizes>,
    bytes: Option<Vec<u64>>,
    /// Bytes of all objects.
    footprint: u64,
    left_out: u64,
}

/// A key that is text, and its number.
struct Text {
    start: usize,
    length: u32,
    number: u32,
}

impl Text {
    fn of<'a>(&self, content: &'a [u8]) -> &'a [u8] {
        &content[self.start..self.start + self.length as usize]
    }
}

impl Numbering {
    pub(super) fn new(bytes: bool) -> Self {
        Numbering { bytes: bytes.then(Vec::new), ..Numbering::default() }
    }

    #[inline]
    pub(super) fn add(&mut self, request: &Request<'_>) -> Result<(), String> {
        if self.requests == MOST_REQUESTS {
            return Err(format!("has more than {MOST_REQUESTS} requests: read the first of them only"));
        }
        if let Some(bytes) = &mut self.bytes {
            match request.size {
                None => return Err("has no sizes: bytes cannot be counted".to_owned()),
                Some(0) => {
                    self.left_out += 1;
                    return Ok(());
                }
                Some(size) => bytes.push(size),
            }
        }
        self.requests += 1;
        if let Some(size) = request.size {
            let none = Sizes { smallest: size, largest: size, footprint: 0, requested: 0 };
            let sizes = self.sizes.get_or_insert(none);
            sizes.smallest = sizes.smallest.min(size);
            sizes.largest = sizes.largest.max(size);
            sizes.requested = sizes.requested.saturating_add(size);
        }
        let size = request.size.unwrap_or(0);
        match request.key {
            Key::Number(key) => {
                if self.numbers.wait(key, size) {
                    self.settle();
                }
            }
            Key::Text(key) => {
                // Numbers are given in order.
                self.settle();
                let number = self.number_of_text(key);
                let new = number == self.objects;
                self.objects += u32::from(new);
                self.keys.push(number);
                if new {
                    self.footprint = self.footprint.saturating_add(size);
                }
            }
        }
        Ok(())
    }

    /// Numbers the keys that wait.
    fn settle(&mut self) {
        let Numbering { keys, numbers, objects, footprint, .. } = self;
        numbers.number(objects, |number, size, new| {
            keys.push(number);
            *footprint = footprint.saturating_add(if new { size } else { 0 });
        });
    }

    fn number_of_text(&mut self, key: &[u8]) -> u32 {
        let (content, hasher) = (&mut self.content, &self.hasher);
        let hash = hasher.hash_one(key);
        let same = |text: &Text| text.of(content) == key;
        match self.texts.entry(hash, same, |text| hasher.hash_one(text.of(content))) {
            hash_table::Entry::Occupied(known) => known.get().number,
            hash_table::Entry::Vacant(place) => {
                place.insert(Text { start: content.len(), length: key.len() as u32, number: self.objects });
                content.extend_from_slice(key);
                self.objects
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.requests == 0
    }

    pub(super) fn finish(mut self, format: &'static str) -> Numbered {
        self.settle();
        let Numbering { keys, objects, sizes, bytes, footprint, left_out, .. } = self;
        let sizes = sizes.map(|sizes| Sizes { footprint, ..sizes });
        Numbered { keys, objects, format, sizes, bytes, left_out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbers(keys: &[Key<'_>]) -> Vec<u32> {
        let mut numbering = Numbering::default();
        keys.iter().for_each(|&key| numbering.add(&Request { key, size: None, operation: b"" }).unwrap());
        numbering.finish("").keys
    }

    #[test]
    fn numbers_and_texts_are_numbered_together_in_the_order_in_which_they_come() {
        let (seven, text) = (Key::Number(7), Key::Text(b"seven"));
        assert_eq!(numbers(&[seven, text, Key::Number(0), text, seven, Key::Text(b"")]), [0, 1, 2, 1, 0, 3]);
    }

    #[test]
    fn only_the_usual_spelling_of_a_number_is_that_number() {
        assert_eq!(Key::read(b"7"), Key::Number(7));
        assert_eq!(Key::read(b"0"), Key::Number(0));
        assert_eq!(Key::read(b"18446744073709551615"), Key::Number(u64::MAX));
        for text in ["007", "00", "+7", "7.0", "18446744073709551616", "", "a"] {
            assert_eq!(Key::read(text.as_bytes()), Key::Text(text.as_bytes()));
        }
    }

    proptest! {
        #[test]
        fn equal_keys_and_only_they_have_equal_numbers(keys in prop::collection::vec("[a-c]{0,3}|[0-9]{1,2}", 1..200)) {
            let read: Vec<Key<'_>> = keys.iter().map(|key| Key::read(key.as_bytes())).collect();
            let numbers = numbers(&read);
            for (i, key) in keys.iter().enumerate() {
                let first = keys.iter().position(|other| other == key).unwrap();
                prop_assert_eq!(numbers[i], numbers[first]);
                let met: std::collections::BTreeSet<&String> = keys[..first].iter().collect();
                prop_assert_eq!(numbers[first] as usize, met.len());
            }
        }
    }
}
