//! One of something for each processor, and sets of processors.

use std::ops::{Index, IndexMut};

mod set;

pub use set::CpuSet;

/// Processors there can be.
pub const MOST_PROCESSORS: usize = 1024;

/// Processors whose own are in place; those of the others are in a list.
const IN_PLACE: usize = u64::BITS as usize;

/// One of each processor's, by number. Those of small machines are found without a check of bounds.
#[derive(Debug, Clone)]
pub struct PerProcessor<T> {
    all: [T; IN_PLACE],
    beyond: Box<[T]>,
    count: usize,
}

impl<T> PerProcessor<T> {
    /// For a number of processors, at most [`MOST_PROCESSORS`], each made for its number.
    pub fn new(count: u16, mut make: impl FnMut(usize) -> T) -> PerProcessor<T> {
        let count = usize::from(count).min(MOST_PROCESSORS);
        let all = std::array::from_fn(&mut make);
        PerProcessor { all, beyond: (IN_PLACE..count).map(make).collect(), count }
    }

    /// How many there are.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Those that there are, by number.
    #[inline(always)]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.all[..self.count.min(IN_PLACE)].iter().chain(&self.beyond)
    }

    /// Those that there are, by number, to be changed.
    #[inline(always)]
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> {
        self.all[..self.count.min(IN_PLACE)].iter_mut().chain(&mut self.beyond)
    }
}

impl<T: Default> Default for PerProcessor<T> {
    fn default() -> Self {
        PerProcessor::new(0, |_| T::default())
    }
}

/// Where the number is a constant, as in runs of one processor, nothing is compared.
impl<T> Index<usize> for PerProcessor<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, cpu: usize) -> &T {
        if cpu < IN_PLACE { &self.all[cpu] } else { &self.beyond[cpu - IN_PLACE] }
    }
}

impl<T> IndexMut<usize> for PerProcessor<T> {
    #[inline(always)]
    fn index_mut(&mut self, cpu: usize) -> &mut T {
        if cpu < IN_PLACE { &mut self.all[cpu] } else { &mut self.beyond[cpu - IN_PLACE] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_for_each_processor() {
        for count in [0, 1, 3, 64, 65, 130, 1024] {
            let mut numbers = PerProcessor::new(count, |cpu| cpu * 10);
            numbers.iter_mut().for_each(|number| *number += 1);
            let all = 0..usize::from(count);
            assert_eq!(numbers.len(), all.len());
            assert!(numbers.iter().copied().eq(all.clone().map(|cpu| cpu * 10 + 1)));
            assert!(all.into_iter().all(|cpu| numbers[cpu] == cpu * 10 + 1));
        }
        assert_eq!(PerProcessor::<u8>::default().len(), 0);
    }
}
