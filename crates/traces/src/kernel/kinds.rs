//! Events counted by their names, without hashing one per event: the common ones move to the front of a list.

use super::Recorded;
use std::collections::BTreeMap;

/// Most names that are counted one by one.
const MOST: usize = 1000;
/// Under what name the others are counted.
const OTHERS: &str = "(others)";

/// The kinds of events of a file, each with what its reader wants to know of it.
#[derive(Debug, Default)]
pub(super) struct Kinds<T> {
    entries: Vec<(Box<[u8]>, Recorded, T)>,
    others: u64,
}

impl<T: Copy> Kinds<T> {
    /// The entry of a name; `None` where there are too many. What is to be known is asked for at the first event.
    #[inline]
    pub(super) fn find(&mut self, name: &[u8], first: impl FnOnce() -> (bool, T)) -> Option<(&mut Recorded, T)> {
        let place = match self.entries.iter().position(|(other, ..)| **other == *name) {
            Some(place) => {
                self.entries.swap(place, place / 2);
                place / 2
            }
            None if self.entries.len() < MOST => {
                let (known, of) = first();
                self.entries.push((name.into(), Recorded { events: 0, known }, of));
                self.entries.len() - 1
            }
            None => {
                self.others += 1;
                return None;
            }
        };
        let (_, recorded, of) = &mut self.entries[place];
        Some((recorded, *of))
    }

    /// The counts, for a head. A name of which nothing was read is left out.
    pub(super) fn finish(self) -> BTreeMap<String, Recorded> {
        let named = |(name, recorded, _): (Box<[u8]>, _, _)| (String::from_utf8_lossy(&name).into_owned(), recorded);
        let mut all: BTreeMap<_, _> = self.entries.into_iter().map(named).collect();
        all.retain(|_, recorded| recorded.events > 0);
        if self.others > 0 {
            all.insert(OTHERS.to_owned(), Recorded { events: self.others, known: false });
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_order_of_names_is_counted_and_those_beyond_the_limit_together() {
        let mut kinds = Kinds::default();
        for n in 0..10_000u64 {
            let name = if n < 5000 { n * 7 % 13 } else { n };
            if let Some((recorded, of)) = kinds.find(name.to_string().as_bytes(), || (name == 3, name)) {
                recorded.events += 1;
                assert_eq!(of, name);
            }
        }
        let counted = kinds.finish();
        assert_eq!(counted.values().map(|recorded| recorded.events).sum::<u64>(), 10_000);
        assert_eq!(counted.len(), MOST + 1);
        assert_eq!(
            counted["3"],
            Recorded { events: (0..5000).filter(|n| n * 7 % 13 == 3).count() as u64, known: true }
        );
    }
}
