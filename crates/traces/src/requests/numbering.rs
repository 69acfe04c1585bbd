//! Keys to numbers: 0 for the first that is met, 1 for the next new one, and so on.

use super::{Key, Request};
use hashbrown::{HashMap, HashTable, hash_table};
use std::hash::BuildHasher;

/// Most requests that are read: the number of each fits into 32 bits, and 4,294,967,295 stands for none.
pub const MOST_REQUESTS: usize = u32::MAX as usize - 1;

/// A trace as numbers.
///
/// Memory while reading: 4 bytes a request; for each different key 19 to 37 bytes and, if it is text, its length. Afterwards:
/// 4 bytes a request.
#[derive(Debug, PartialEq, Eq)]
pub struct Numbered {
    /// For each request the number of the thing asked for.
    pub keys: Vec<u32>,
    /// How many different things there are: the numbers go from 0 to one less.
    pub objects: u32,
    /// Name of the format it was read in.
    pub format: &'static str,
    /// The smallest and the largest size of a thing, bytes, if the trace tells sizes.
    pub sizes: Option<(u64, u64)>,
}

#[derive(Default)]
pub(super) struct Numbering {
    keys: Vec<u32>,
    objects: u32,
    numbers: HashMap<u64, u32>,
    texts: HashTable<Text>,
    /// All texts, one after the other.
    content: Vec<u8>,
    hasher: hashbrown::DefaultHashBuilder,
    sizes: Option<(u64, u64)>,
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
    pub(super) fn add(&mut self, request: &Request<'_>) -> Result<(), String> {
        if self.keys.len() == MOST_REQUESTS {
            return Err(format!("has more than {MOST_REQUESTS} requests: read the first of them only"));
        }
        let number = match request.key {
            Key::Number(key) => *self.numbers.entry(key).or_insert(self.objects),
            Key::Text(key) => self.number_of_text(key),
        };
        self.objects = self.objects.max(number + 1);
        self.keys.push(number);
        if let Some(size) = request.size {
            let (low, high) = self.sizes.unwrap_or((size, size));
            self.sizes = Some((low.min(size), high.max(size)));
        }
        Ok(())
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
        self.keys.is_empty()
    }

    pub(super) fn finish(self, format: &'static str) -> Numbered {
        Numbered { keys: self.keys, objects: self.objects, format, sizes: self.sizes }
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
