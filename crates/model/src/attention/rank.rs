//! Recent attention of a program.
//!
//! ```text
//! attention = the sum over all past moments in focus of 2^-(age / half-life), as a share of what an unbroken focus would have given
//!           = attention * kept                         while it is out of focus
//!           = attention * kept + (1 - kept)            while it is in focus,       kept = 2^-(time / half-life)
//! ```
//!
//! So it is from 0 to 1, half of the way to 1 after a half-life in focus, and the same whether it is computed in one step or in many, but
//! for the last digits.

use crate::{Nanos, real::exp2};

/// The part of old attention that is left after a time.
pub(super) fn kept(time: Nanos, half_life: Nanos) -> f64 {
    exp2(-(time as f64) / half_life as f64)
}

/// Attention after a time with or without the focus.
pub(super) fn after(attention: f64, kept: f64, in_focus: bool) -> f64 {
    let new = if in_focus { 1.0 - kept } else { 0.0 };
    (attention * kept + new).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_it_is_there_after_a_half_life_in_focus_and_gone_after_one_out_of_it() {
        let half = after(0.0, kept(20, 20), true);
        assert!((half - 0.5).abs() < 1e-12);
        assert!((after(half, kept(20, 20), false) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn steps_add_up() {
        let whole = after(0.3, kept(90, 20), true);
        let parts = (0..90).fold(0.3, |now, _| after(now, kept(1, 20), true));
        assert!((whole - parts).abs() < 1e-9);
    }
}
