//! # fifo
//!
//! Promises that keys are evicted in order of admission, whatever is requested meanwhile.
//!
//! ## The idea
//!
//!     One list. A new key goes to its front; the victim is at its back. A hit changes nothing.
//!
//! ## A schedule
//!
//! ```text
//! slots 3
//! ask   1 2 3 1 4 1 5
//! hit   . . . * . . .
//! out   . . . . 1 2 3
//! ```
//!
//! Key 1 is requested again and is still evicted first.
//!
//! ## Cost
//!
//! A hit costs nothing, a miss is constant.
//!
//! ## Good for, not for
//!
//! Where a hit must not write: flash, many processors. More slots can mean more misses (Belady's anomaly): the
//! requests 1 2 3 4 1 2 5 1 2 3 4 5 miss nine times with three slots and ten times with four.
//!
//! ## Departures
//!
//! None.
//!
//! ## References
//!
//! - L. Belady, R. Nelson, G. Shedler, An anomaly in space-time characteristics of certain programs running in a
//!   paging machine, CACM 12(6), 1969.

use super::{Context, Entry, Eviction, Key, Slot, kit::links::Lists};
use schedlab_model::info::{Info, Params};

/// First in, first out.
#[derive(Debug)]
pub struct Fifo {
    /// Slots, the youngest first.
    arrivals: Lists<1>,
}

impl Entry for Fifo {
    const INFO: Info = Info {
        name: "fifo",
        summary: "the one that came first goes",
        year: 1966,
        origin: "paging",
        promises: &[],
        parameters: &[],
        source: schedlab_model::documentation!("fifo.rs"),
    };

    fn new(_: &Params, slots: u32) -> Self {
        Fifo { arrivals: Lists::new(slots) }
    }
}

impl Eviction for Fifo {
    #[inline(always)]
    fn hit(&mut self, _: &mut Context<'_>, _: Slot) {}

    #[inline(always)]
    fn victim(&mut self, _: &mut Context<'_>, _: Key) -> Slot {
        self.arrivals.pop(0)
    }

    #[inline(always)]
    fn admit(&mut self, _: &mut Context<'_>, slot: Slot, _: Key) {
        self.arrivals.push(0, slot);
    }

    fn remove(&mut self, _: &mut Context<'_>, slot: Slot) {
        self.arrivals.remove(0, slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caches::kit::trial::Trial;

    #[test]
    fn a_hit_does_not_lengthen_a_stay() {
        assert_eq!(Trial::<Fifo>::new(3).ask(&[1, 2, 3, 1, 1, 4]).out, [1]);
    }

    #[test]
    fn belady_s_anomaly_is_nine_misses_with_three_slots_and_ten_with_four() {
        let asked = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5];
        assert_eq!(Trial::<Fifo>::new(3).ask(&asked).misses, 9);
        assert_eq!(Trial::<Fifo>::new(4).ask(&asked).misses, 10);
    }

    #[test]
    fn a_slot_that_was_freed_out_of_turn_counts_from_its_new_arrival() {
        let mut trial = Trial::<Fifo>::new(3);
        trial.ask(&[1, 2, 3]);
        trial.delete(2);
        assert_eq!(trial.ask(&[4, 5, 6, 7]).out, [1, 3, 4]);
    }
}
