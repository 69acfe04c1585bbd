//! How long something took, again and again: count, sum, extremes and percentiles.
//!
//! The first [`EXACT`] values are kept as they are. Of more, a histogram is kept whose cells have a width of 1/1024 of their
//! values, so a percentile is exact to 0.05 %.

/// Values that are kept one by one.
const EXACT: usize = 4096;
/// Cells for the values from one power of two to the next.
const CELLS: usize = 1 << BITS;
const BITS: u32 = 10;

/// The cells of an octave: values from a power of two to the next. Of the first octave: values below [`CELLS`], each its own.
type Octave = Box<[u32; CELLS]>;

/// Durations, ns.
#[derive(Debug, Clone, Default)]
pub(crate) struct Distribution {
    count: u64,
    sum: u64,
    max: u64,
    max_at: u64,
    exact: Vec<u64>,
    octaves: Vec<Option<Octave>>,
}

impl Distribution {
    /// Adds a duration that ended at a time.
    #[inline]
    pub fn record(&mut self, value: u64, at: u64) {
        self.sum = self.sum.saturating_add(value);
        if value >= self.max {
            (self.max, self.max_at) = (value, at);
        }
        self.count += 1;
        self.keep(value);
    }

    #[inline]
    fn keep(&mut self, value: u64) {
        if !self.octaves.is_empty() {
            self.put(value, 1);
        } else if self.exact.len() < EXACT {
            self.exact.push(value);
        } else {
            self.spread();
            self.put(value, 1);
        }
    }

    /// Turns the values into a histogram.
    #[cold]
    fn spread(&mut self) {
        self.octaves.resize_with((u64::BITS - BITS + 1) as usize, || None);
        for value in std::mem::take(&mut self.exact) {
            self.put(value, 1);
        }
    }

    fn put(&mut self, value: u64, times: u32) {
        let (octave, cell) = place(value);
        let cells = self.octaves[octave].get_or_insert_with(|| Box::new([0; CELLS]));
        cells[cell] = cells[cell].saturating_add(times);
    }

    /// Adds all that another one has.
    pub fn merge(&mut self, other: &Distribution) {
        if other.max >= self.max && other.count > 0 {
            (self.max, self.max_at) = (other.max, other.max_at);
        }
        self.sum = self.sum.saturating_add(other.sum);
        self.count += other.count;
        if self.octaves.is_empty() && other.octaves.is_empty() && self.exact.len() + other.exact.len() <= EXACT {
            self.exact.extend_from_slice(&other.exact);
            return;
        }
        if self.octaves.is_empty() {
            self.spread();
        }
        for value in &other.exact {
            self.put(*value, 1);
        }
        for (octave, cells) in other.octaves.iter().enumerate() {
            for (cell, times) in cells.iter().flat_map(|cells| cells.iter().enumerate()).filter(|it| *it.1 > 0) {
                self.put(value_of(octave, cell).0, *times);
            }
        }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest, ns, and when it ended.
    pub fn max(&self) -> Option<(u64, u64)> {
        (self.count > 0).then_some((self.max, self.max_at))
    }

    /// Their mean, ns.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The least value that so many thousandths of all values do not exceed, ns: of n values the ⌈n·p/1000⌉-th.
    pub fn percentiles<const N: usize>(&self, thousandths: [u64; N]) -> Option<[f64; N]> {
        let n = self.count;
        let rank = |p: u64| (n as u128 * p as u128).div_ceil(1000).clamp(1, n.max(1) as u128) as u64;
        if n == 0 {
            return None;
        }
        if self.octaves.is_empty() {
            let mut sorted = self.exact.clone();
            sorted.sort_unstable();
            return Some(thousandths.map(|p| sorted[(rank(p) - 1) as usize] as f64));
        }
        let cells = self.octaves.iter().enumerate().filter_map(|(octave, cells)| Some((octave, cells.as_ref()?)));
        let filled = cells.flat_map(|(octave, cells)| {
            cells.iter().enumerate().filter(|it| *it.1 > 0).map(move |(cell, times)| (octave, cell, u64::from(*times)))
        });
        let mut found = [self.max as f64; N];
        let mut before = 0;
        for (octave, cell, times) in filled {
            for (found, p) in found.iter_mut().zip(thousandths) {
                if before < rank(p) && rank(p) <= before + times {
                    let (low, width) = value_of(octave, cell);
                    *found = (low as f64 + (width - 1) as f64 / 2.0).min(self.max as f64);
                }
            }
            before += times;
        }
        Some(found)
    }
}

/// Octave and cell of a value.
fn place(value: u64) -> (usize, usize) {
    let octave = (u64::BITS - value.leading_zeros()).saturating_sub(BITS);
    // The highest bit of a value is that of its octave, and is masked off.
    let shift = octave.saturating_sub(1);
    (octave as usize, (value >> shift) as usize & (CELLS - 1))
}

/// The least value of a cell, and how many values it has.
fn value_of(octave: usize, cell: usize) -> (u64, u64) {
    if octave == 0 {
        return (cell as u64, 1);
    }
    let shift = octave as u32 - 1;
    (((CELLS + cell) as u64) << shift, 1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Distribution {
        let mut all = Distribution::default();
        values.into_iter().enumerate().for_each(|(at, value)| all.record(value, at as u64));
        all
    }

    #[test]
    fn a_percentile_is_the_value_of_its_rank() {
        let all = of(1..=1000);
        assert_eq!(all.percentiles([1, 500, 990, 1000]), Some([1.0, 500.0, 990.0, 1000.0]));
        assert_eq!((all.mean(), all.max()), (Some(500.5), Some((1000, 999))));
        assert_eq!(of([7]).percentiles([500, 990]), Some([7.0, 7.0]));
        assert_eq!(of([]).percentiles([500]), None);
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_cell(value: u64) {
            let (octave, cell) = place(value);
            let (low, width) = value_of(octave, cell);
            prop_assert!(low <= value && value - low < width);
            prop_assert!(width <= (low >> BITS).max(1));
        }

        #[test]
        fn percentiles_of_many_values_are_exact_to_a_two_thousandth(
            values in prop::collection::vec(0u64..1 << 40, EXACT..3 * EXACT),
        ) {
            let found = of(values.iter().copied()).percentiles([500, 900, 990]).unwrap();
            let mut sorted = values;
            sorted.sort_unstable();
            for (found, p) in found.into_iter().zip([500, 900, 990]) {
                let truth = sorted[(sorted.len() * p).div_ceil(1000) - 1] as f64;
                prop_assert!((found - truth).abs() <= truth / 2000.0 + 0.5, "{found} {truth}");
            }
        }

        #[test]
        fn parts_merged_are_the_whole(values in prop::collection::vec(0u64..1 << 34, 0..2 * EXACT), at in 0usize..EXACT) {
            let at = at.min(values.len());
            let mut merged = of(values[..at].iter().copied());
            merged.merge(&of(values[at..].iter().copied()));
            let whole = of(values);
            prop_assert_eq!(merged.percentiles([1, 500, 999]), whole.percentiles([1, 500, 999]));
            prop_assert_eq!((merged.count(), merged.sum), (whole.count(), whole.sum));
            prop_assert_eq!(merged.max().map(|it| it.0), whole.max().map(|it| it.0));
        }
    }
}
