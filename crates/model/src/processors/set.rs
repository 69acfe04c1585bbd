//! A set of processors: a word for the first 64, which is all that most machines have, and shared words for those beyond.
//!
//! Long, because every operation on sets stands once for a word and once for many, next to its tests.

use super::MOST_PROCESSORS;
use crate::task::CpuId;
use std::{cmp::Ordering, fmt, sync::Arc};

/// Processors to a word.
const WORD: usize = u64::BITS as usize;
/// Words of the processors beyond the first one.
const BEYOND: usize = MOST_PROCESSORS / WORD - 1;

/// Some of the processors of a machine, by number, which is below [`MOST_PROCESSORS`].
///
/// Of processors below 64 it is a word, and nothing is allocated. Sets with others share what they copy until one changes.
#[derive(Clone, Default)]
pub struct CpuSet {
    first: u64,
    rest: Option<Arc<Beyond>>,
}

/// The processors from 64 on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Beyond {
    words: [u64; BEYOND],
    /// Which words are not zero, a bit each.
    filled: u16,
}

impl Beyond {
    fn set(&mut self, word: usize, bits: u64) {
        self.words[word] = bits;
        self.filled = self.filled & !(1 << word) | u16::from(bits != 0) << word;
    }
}

impl CpuSet {
    /// No processor.
    pub const fn none() -> CpuSet {
        CpuSet { first: 0, rest: None }
    }

    /// All processors of a machine with that number of them.
    pub fn all(processors: usize) -> CpuSet {
        let mut all = CpuSet::none();
        for word in 0..processors.min(MOST_PROCESSORS).div_ceil(WORD) {
            all.set_word(word, u64::MAX >> (WORD - (processors - word * WORD).min(WORD)));
        }
        all
    }

    /// One processor.
    pub fn only(cpu: CpuId) -> CpuSet {
        CpuSet::from_iter([cpu])
    }

    /// Whether it has a processor.
    #[inline(always)]
    pub fn has(&self, cpu: CpuId) -> bool {
        if usize::from(cpu) < WORD { self.first >> cpu & 1 == 1 } else { self.has_beyond(cpu) }
    }

    #[inline(never)]
    fn has_beyond(&self, cpu: CpuId) -> bool {
        self.word(usize::from(cpu) / WORD) >> (usize::from(cpu) % WORD) & 1 == 1
    }

    /// Whether it has no processor at all.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.first == 0 && self.filled() == 0
    }

    /// How many processors it has.
    #[inline]
    pub fn count(&self) -> u32 {
        let beyond = self.rest.as_ref().map_or(0, |rest| rest.words.iter().map(|word| word.count_ones()).sum());
        self.first.count_ones() + beyond
    }

    /// The least of them.
    #[inline(always)]
    pub fn first(&self) -> Option<CpuId> {
        if self.first != 0 { Some(self.first.trailing_zeros() as CpuId) } else { self.first_beyond() }
    }

    fn first_beyond(&self) -> Option<CpuId> {
        let rest = self.rest.as_ref().filter(|rest| rest.filled != 0)?;
        let word = rest.filled.trailing_zeros() as usize;
        Some(((word + 1) * WORD) as CpuId + rest.words[word].trailing_zeros() as CpuId)
    }

    /// The least of them, which is taken out.
    #[inline(always)]
    pub fn take_first(&mut self) -> Option<CpuId> {
        if self.first == 0 {
            let cpu = self.first_beyond()?;
            self.remove(cpu);
            return Some(cpu);
        }
        let cpu = self.first.trailing_zeros() as CpuId;
        self.first &= self.first - 1;
        Some(cpu)
    }

    /// As [`CpuSet::take_first`], by index; with `ONE` processor, the number is a constant for the compiler.
    #[inline(always)]
    pub fn take_one<const ONE: bool>(&mut self) -> Option<usize> {
        if ONE { (std::mem::take(&mut self.first) != 0).then_some(0) } else { self.take_first().map(usize::from) }
    }

    /// A processor joins.
    #[inline(always)]
    pub fn insert(&mut self, cpu: CpuId) {
        if usize::from(cpu) < WORD {
            self.first |= 1 << cpu;
        } else {
            self.change_beyond(cpu, true);
        }
    }

    /// A processor joins, if that holds; which is not guessed.
    #[inline(always)]
    pub fn insert_if(&mut self, cpu: CpuId, there: bool) {
        if usize::from(cpu) < WORD {
            self.first |= u64::from(there) << cpu;
        } else if there {
            self.change_beyond(cpu, true);
        }
    }

    /// A processor leaves.
    #[inline(always)]
    pub fn remove(&mut self, cpu: CpuId) {
        if usize::from(cpu) < WORD {
            self.first &= !(1 << cpu);
        } else {
            self.change_beyond(cpu, false);
        }
    }

    /// A processor joins or leaves.
    #[inline(always)]
    pub fn set(&mut self, cpu: CpuId, there: bool) {
        if there { self.insert(cpu) } else { self.remove(cpu) }
    }

    #[inline(never)]
    fn change_beyond(&mut self, cpu: CpuId, there: bool) {
        if self.has_beyond(cpu) != there {
            let (word, bit) = (usize::from(cpu) / WORD, 1 << (usize::from(cpu) % WORD));
            self.set_word(word, self.word(word) ^ bit);
        }
    }

    /// The least processor that both have.
    pub fn first_of_both(&self, other: &CpuSet) -> Option<CpuId> {
        match self.first & other.first {
            0 => self.iter_both(other).next(),
            both => Some(both.trailing_zeros() as CpuId),
        }
    }

    /// Whether they have a processor in common.
    #[inline(always)]
    pub fn meets(&self, other: &CpuSet) -> bool {
        self.first & other.first != 0 || self.iter_both(other).next().is_some()
    }

    /// Its processors, ascending.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> {
        members(self.first, self.filled(), |word| self.word(word))
    }

    /// Its processors, ascending from one on, beginning again after the last.
    pub fn around(&self, first: CpuId) -> impl Iterator<Item = CpuId> {
        let (word_of_first, rest) = (usize::from(first) / WORD, u64::MAX << (usize::from(first) % WORD));
        let from = move |word: usize| match word.cmp(&word_of_first) {
            Ordering::Less => 0,
            Ordering::Equal => rest,
            Ordering::Greater => u64::MAX,
        };
        let behind = members(self.first & from(0), self.filled(), move |word| self.word(word) & from(word));
        let before = members(self.first & !from(0), self.filled(), move |word| self.word(word) & !from(word));
        behind.chain(before)
    }

    /// The processors that both have, ascending.
    pub fn iter_both(&self, other: &CpuSet) -> impl Iterator<Item = CpuId> {
        members(self.first & other.first, self.filled() & other.filled(), |word| self.word(word) & other.word(word))
    }

    /// Its processors that the other one has not, ascending.
    pub fn iter_without(&self, other: &CpuSet) -> impl Iterator<Item = CpuId> {
        members(self.first & !other.first, self.filled(), |word| self.word(word) & !other.word(word))
    }

    /// The processors that both have.
    pub fn and(&self, other: &CpuSet) -> CpuSet {
        self.with(other, |own, other| own & other)
    }

    /// The processors that at least one has.
    pub fn or(&self, other: &CpuSet) -> CpuSet {
        self.with(other, |own, other| own | other)
    }

    /// Its processors that the other one has not.
    pub fn and_not(&self, other: &CpuSet) -> CpuSet {
        self.with(other, |own, other| own & !other)
    }

    /// Those of another set join.
    #[inline(always)]
    pub fn add(&mut self, other: &CpuSet) {
        self.first |= other.first;
        if other.filled() != 0 {
            *self = self.or(other);
        }
    }

    #[inline(always)]
    fn with(&self, other: &CpuSet, make: impl Fn(u64, u64) -> u64) -> CpuSet {
        let mut made = CpuSet { first: make(self.first, other.first), rest: None };
        for word in bits((self.filled() | other.filled()).into()) {
            made.set_word(word + 1, make(self.word(word + 1), other.word(word + 1)));
        }
        made
    }

    /// The processors from 64 times `word` on, a bit each: what an event has room for.
    #[inline(always)]
    pub fn word(&self, word: usize) -> u64 {
        match (word, &self.rest) {
            (0, _) => self.first,
            (_, None) => 0,
            (_, Some(rest)) => rest.words.get(word - 1).copied().unwrap_or(0),
        }
    }

    /// The processors from 64 times `word` on are these. Words that no processor has are left out.
    pub fn set_word(&mut self, word: usize, bits: u64) {
        match (word, &mut self.rest) {
            (0, _) => self.first = bits,
            (1..=BEYOND, rest) if bits != 0 || rest.is_some() => {
                Arc::make_mut(rest.get_or_insert_default()).set(word - 1, bits)
            }
            _ => {}
        }
    }

    /// Words in which there are processors, from the first one to the last.
    pub fn words(&self) -> usize {
        (u16::BITS - self.filled().leading_zeros()) as usize + 1
    }

    /// Which words beyond the first one are not zero, a bit each.
    #[inline(always)]
    fn filled(&self) -> u16 {
        self.rest.as_ref().map_or(0, |rest| rest.filled)
    }
}

/// The bits of a word, ascending.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(bit)
    })
}

/// The processors of a first word, and of those of the words beyond that may not be zero.
#[inline(always)]
fn members(first: u64, filled: u16, word: impl Fn(usize) -> u64) -> impl Iterator<Item = CpuId> {
    let (mut left, mut filled, mut at) = (first, filled, 0);
    std::iter::from_fn(move || {
        while left == 0 {
            if filled == 0 {
                return None;
            }
            at = filled.trailing_zeros() as usize + 1;
            filled &= filled - 1;
            left = word(at);
        }
        let bit = left.trailing_zeros() as usize;
        left &= left - 1;
        Some((at * WORD + bit) as CpuId)
    })
}

/// Two sets are equal if they have the same processors.
impl PartialEq for CpuSet {
    #[inline]
    fn eq(&self, other: &CpuSet) -> bool {
        self.first == other.first
            && match (&self.rest, &other.rest) {
                (Some(own), Some(other)) => Arc::ptr_eq(own, other) || own == other,
                (one, other) => one.as_ref().or(other.as_ref()).is_none_or(|rest| rest.filled == 0),
            }
    }
}

impl Eq for CpuSet {}

impl FromIterator<CpuId> for CpuSet {
    fn from_iter<I: IntoIterator<Item = CpuId>>(cpus: I) -> CpuSet {
        let mut set = CpuSet::none();
        cpus.into_iter().for_each(|cpu| set.insert(cpu));
        set
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn set(cpus: &BTreeSet<CpuId>) -> CpuSet {
        cpus.iter().copied().collect()
    }

    /// Some processors, often none beyond the first 64, often next to a boundary of words.
    fn cpus() -> impl Strategy<Value = BTreeSet<CpuId>> {
        let one = prop_oneof![0..64u16, 60..70u16, 0..1024u16, 1020..1024u16];
        prop_oneof![prop::collection::btree_set(0..64u16, 0..20), prop::collection::btree_set(one, 0..40)]
    }

    proptest! {
        #[test]
        fn a_set_has_what_joined_and_did_not_leave(steps in prop::collection::vec((0..1024u16, any::<bool>()), 0..200)) {
            let (mut set, mut model) = (CpuSet::none(), BTreeSet::new());
            for (cpu, joins) in steps {
                let cpu = if cpu % 2 == 0 { cpu % 70 } else { cpu };
                if cpu % 3 == 0 {
                    set.insert_if(cpu, joins);
                    joins.then(|| model.insert(cpu));
                } else {
                    set.set(cpu, joins);
                    if joins { model.insert(cpu) } else { model.remove(&cpu) };
                }
                prop_assert_eq!(set.has(cpu), model.contains(&cpu));
                prop_assert!(set.iter().eq(model.iter().copied()));
                prop_assert_eq!((set.count() as usize, set.is_empty()), (model.len(), model.is_empty()));
                prop_assert_eq!(set.first(), model.first().copied());
                prop_assert_eq!(set.words(), model.last().map_or(1, |last| usize::from(last / 64) + 1));
            }
        }

        #[test]
        fn a_copy_does_not_change_with_the_original(own in cpus(), cpu in 0..1024u16) {
            let mut changed = set(&own);
            let copy = changed.clone();
            changed.set(cpu, !own.contains(&cpu));
            prop_assert!(copy.iter().eq(own.iter().copied()) && copy != changed);
            changed.set(cpu, own.contains(&cpu));
            prop_assert_eq!(copy, changed);
        }

        #[test]
        fn the_least_is_taken_first_until_none_is_left(own in cpus()) {
            let mut left = set(&own);
            let taken: Vec<CpuId> = std::iter::from_fn(|| left.take_first()).collect();
            prop_assert!(taken.iter().eq(own.iter()) && left.is_empty());
            prop_assert_eq!(left, CpuSet::none());
        }

        #[test]
        fn two_sets_have_in_common_what_both_have(one in cpus(), two in cpus()) {
            let (a, b) = (set(&one), set(&two));
            let both: BTreeSet<CpuId> = &one & &two;
            prop_assert_eq!(a.and(&b), set(&both));
            prop_assert_eq!(a.or(&b), set(&(&one | &two)));
            prop_assert_eq!(a.and_not(&b), set(&(&one - &two)));
            prop_assert!(a.iter_both(&b).eq(both.iter().copied()));
            prop_assert!(a.iter_without(&b).eq((&one - &two).iter().copied()));
            prop_assert_eq!((a.meets(&b), a.first_of_both(&b)), (!both.is_empty(), both.first().copied()));
            let mut sum = a.clone();
            sum.add(&b);
            prop_assert_eq!((sum, a == b), (a.or(&b), one == two));
        }

        #[test]
        fn around_a_processor_are_those_from_it_on_and_then_those_before(own in cpus(), first in 0..1025u16) {
            let (before, behind): (Vec<CpuId>, Vec<CpuId>) = own.iter().partition(|&&cpu| cpu < first);
            prop_assert!(set(&own).around(first).eq(behind.into_iter().chain(before)));
        }

        #[test]
        fn a_set_is_made_of_its_words(own in cpus()) {
            let own = set(&own);
            let mut again = CpuSet::all(1024);
            (0..16).for_each(|word| again.set_word(word, own.word(word)));
            prop_assert_eq!(again, own);
        }

        #[test]
        fn all_processors_are_as_many_as_there_are(count in prop_oneof![0..1025usize, 62..67usize, 1022..1025usize]) {
            prop_assert!(CpuSet::all(count).iter().eq(0..count as CpuId));
        }
    }

    #[test]
    fn it_is_two_words_and_allocates_nothing_for_64_processors() {
        assert_eq!(size_of::<CpuSet>(), 16);
        assert!(CpuSet::all(64).rest.is_none() && CpuSet::only(63).rest.is_none() && CpuSet::only(64).rest.is_some());
    }
}
