//! # random_two
//!
//! Promises nothing.
//!
//! ## The idea
//!
//!     Two slots in use are drawn at random; the one that was used longer ago is evicted.
//!
//! ## A schedule
//!
//! With one slot there is no choice:
//!
//! ```text
//! slots 1
//! ask   1 1 2 1
//! hit   . * . .
//! out   . . 1 2
//! ```
//!
//! ## Cost
//!
//! A hit writes one number; a miss draws two. A deletion is linear in the slots.
//!
//! ## Good for, not for
//!
//! Close to `lru` without a list to keep. It needs a good source of random numbers.
//!
//! ## Departures
//!
//! None.
//!
//! ## References
//!
//! - M. Mitzenmacher, The power of two choices in randomized load balancing, 1996.

use schedlab_model::info::{Info, Params};
use schedlab_policies::caches::{Context, Entry, Eviction, Key, Slot};

/// Of two at random, the one used longer ago.
#[derive(Debug)]
pub struct RandomTwo {
    /// Slots in use, in any order.
    used: Vec<Slot>,
    /// When each slot was last used.
    last: Vec<u64>,
}

impl Entry for RandomTwo {
    const INFO: Info = Info {
        name: "random_two",
        summary: "the older of two drawn at random is evicted",
        year: 1996,
        origin: "M. Mitzenmacher",
        promises: &[],
        parameters: &[],
        source: include_str!("random_two.rs"),
    };

    fn new(_: &Params, slots: u32) -> Self {
        RandomTwo { used: Vec::new(), last: vec![0; slots as usize] }
    }
}

impl Eviction for RandomTwo {
    fn hit(&mut self, cx: &mut Context<'_>, slot: Slot) {
        self.last[slot as usize] = cx.now;
    }

    fn victim(&mut self, cx: &mut Context<'_>, _: Key) -> Slot {
        let drawn = [(); 2].map(|()| cx.rng.below(self.used.len() as u64) as usize);
        let older = drawn.into_iter().min_by_key(|&place| self.last[self.used[place] as usize]);
        self.used.swap_remove(older.expect("two were drawn"))
    }

    fn admit(&mut self, cx: &mut Context<'_>, slot: Slot, _: Key) {
        self.last[slot as usize] = cx.now;
        self.used.push(slot);
    }

    fn remove(&mut self, _: &mut Context<'_>, slot: Slot) {
        self.used.retain(|other| *other != slot);
    }
}
