//! How evenly something is divided: Jain's index.
//!
//! ```text
//!          (sum of x)^2
//! jain  =  --------------        x: what each of n tasks got; 1 if all got the same, 1/n if one got everything
//!          n * sum of x^2
//! ```
//!
//! R. Jain, D. Chiu, W. Hawe: A Quantitative Measure of Fairness and Discrimination for Resource Allocation in Shared Computer
//! Systems, DEC-TR-301, 1984.

/// The sums of the index.
#[derive(Debug, Clone, Copy, Default)]
pub struct Jain {
    n: u64,
    sum: f64,
    squares: f64,
}

impl Jain {
    /// One more got x.
    pub fn add(&mut self, x: f64) {
        self.n += 1;
        self.sum += x;
        self.squares += x * x;
    }

    /// What these and those got.
    pub fn plus(self, other: &Jain) -> Jain {
        Jain { n: self.n + other.n, sum: self.sum + other.sum, squares: self.squares + other.squares }
    }

    /// The index; none where fewer than two share, or there was nothing to divide.
    pub fn index(&self) -> Option<f64> {
        (self.n > 1 && self.squares > 0.0).then(|| self.sum * self.sum / (self.n as f64 * self.squares))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(got: &[f64]) -> Option<f64> {
        let mut jain = Jain::default();
        got.iter().for_each(|&x| jain.add(x));
        jain.index()
    }

    #[test]
    fn the_index_is_one_for_equal_parts_and_one_nth_if_one_has_everything() {
        assert_eq!(of(&[3.0; 7]), Some(1.0));
        assert_eq!(of(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
        // (1 + 1 + 4)^2 = 36, 3 * (1 + 1 + 16) = 54
        assert_eq!(of(&[1.0, 1.0, 4.0]), Some(36.0 / 54.0));
    }

    #[test]
    fn one_alone_and_nothing_to_divide_have_no_index() {
        assert_eq!([of(&[]), of(&[2.0]), of(&[0.0, 0.0])], [None; 3]);
    }
}
