//! How often the daemon looks.
//!
//! ```text
//! debt               = what the daemon has used x 1000, less the time that has passed, never less than nothing
//! length of a period = the debt, from two to sixteen seconds
//! ```
//!
//! So it uses at most a thousandth of a processor, however many processes there are, as long as periods of sixteen seconds are enough for that:
//! longer ones would miss what goes on. What a start or a new focus costs is paid back, and what a quiet hour has saved is not
//! spent. A length that was asked for is kept, whatever it costs.

use schedlab_model::{Nanos, SECOND};

/// The length of a period at least.
const USUAL: Nanos = 2 * SECOND;
/// The length of a period at most.
const LONGEST: Nanos = 16 * SECOND;
/// The share of a processor that the daemon may use itself is one in so much.
const OWN: Nanos = 1000;

/// The length of periods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pace {
    is_fixed: bool,
    used: Nanos,
    debt: Nanos,
    length: Nanos,
}

impl Pace {
    /// Periods as long as they have to be, by a daemon that has used so much processor time so far.
    pub(crate) fn new(used: Nanos) -> Pace {
        Pace { is_fixed: false, used, debt: 0, length: USUAL }
    }

    /// Periods of that length.
    pub(crate) fn fixed(length: Nanos) -> Pace {
        Pace { is_fixed: true, used: 0, debt: 0, length }
    }

    /// The length of the period at hand.
    pub(crate) fn length(&self) -> Nanos {
        self.length
    }

    /// A period begins; the daemon has used so much in all.
    pub(crate) fn begin(&mut self, used: Nanos) {
        let costs = used.saturating_sub(self.used).saturating_mul(OWN);
        self.used = used;
        self.debt = self.debt.saturating_add(costs).saturating_sub(self.length);
        if !self.is_fixed {
            self.length = self.debt.clamp(USUAL, LONGEST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::MILLISECOND;

    #[test]
    fn a_daemon_that_uses_more_looks_less_often() {
        let mut pace = Pace::new(7 * MILLISECOND);
        pace.begin(8 * MILLISECOND);
        assert_eq!(pace.length(), 2 * SECOND, "a millisecond in two seconds is half of what it may use");
        pace.begin(16 * MILLISECOND);
        assert_eq!(pace.length(), 6 * SECOND, "two of eight seconds have passed");
        pace.begin(17 * MILLISECOND);
        assert_eq!(pace.length(), 2 * SECOND);
        pace.begin(SECOND);
        assert_eq!(pace.length(), 16 * SECOND, "longer ones would miss what goes on");
    }

    #[test]
    fn its_share_is_a_thousandth_however_much_a_look_costs() {
        for look in [1, 5, 12].map(|ms| ms * MILLISECOND) {
            let (mut pace, mut at, mut used) = (Pace::new(0), 0, 30 * MILLISECOND);
            while at < 600 * SECOND {
                at += pace.length();
                used += look;
                pace.begin(used);
            }
            assert!(used * OWN <= at + 2 * LONGEST, "{used} in {at}");
        }
    }

    #[test]
    fn a_length_that_was_asked_for_is_kept() {
        let mut fixed = Pace::fixed(200 * MILLISECOND);
        fixed.begin(SECOND);
        assert_eq!(fixed.length(), 200 * MILLISECOND);
    }
}
