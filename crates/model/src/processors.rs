//! One of something for each processor, found without a check of bounds: masks of processors have a bit for each, so that
//! there are no more than bits.

use std::ops::{Deref, DerefMut, Index, IndexMut};

/// Processors there can be.
pub const MOST_PROCESSORS: usize = u64::BITS as usize;

/// One of each processor's, by number. As a slice, it is of those that there are.
#[derive(Debug, Clone)]
pub struct PerProcessor<T> {
    all: [T; MOST_PROCESSORS],
    count: usize,
}

impl<T> PerProcessor<T> {
    /// For a number of processors, at most [`MOST_PROCESSORS`], each made for its number.
    pub fn new(count: u16, make: impl FnMut(usize) -> T) -> PerProcessor<T> {
        PerProcessor { all: std::array::from_fn(make), count: usize::from(count).min(MOST_PROCESSORS) }
    }

    /// How many there are: the slice's length, without making the slice.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.count
    }
}

impl<T: Default> Default for PerProcessor<T> {
    fn default() -> Self {
        PerProcessor::new(0, |_| T::default())
    }
}

impl<T> Deref for PerProcessor<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.all[..self.count]
    }
}

impl<T> DerefMut for PerProcessor<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.all[..self.count]
    }
}

/// A processor's number is below [`MOST_PROCESSORS`]: the remainder lets the compiler omit the bounds check.
impl<T> Index<usize> for PerProcessor<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, cpu: usize) -> &T {
        &self.all[cpu % MOST_PROCESSORS]
    }
}

impl<T> IndexMut<usize> for PerProcessor<T> {
    #[inline(always)]
    fn index_mut(&mut self, cpu: usize) -> &mut T {
        &mut self.all[cpu % MOST_PROCESSORS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_for_each_processor() {
        let mut numbers = PerProcessor::new(3, |cpu| cpu * 10);
        numbers[2] += 1;
        assert_eq!((numbers.count(), &*numbers), (3, &[0, 10, 21][..]));
        assert_eq!(PerProcessor::<u8>::default().len(), 0);
    }
}
