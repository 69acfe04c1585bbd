//! The swap area: which of its places are taken.

use schedlab_model::page::SwapSlot;

/// Places of one page each. The lowest free one is taken first, so that pages evicted together lie together.
#[derive(Debug, Default)]
pub struct SwapArea {
    taken: Vec<bool>,
    free: u32,
    /// No place below this one is free.
    low: SwapSlot,
}

impl SwapArea {
    /// An area of `places` slots, all free.
    pub fn new(places: u32) -> SwapArea {
        SwapArea { taken: vec![false; places as usize], free: places, low: 0 }
    }

    /// How many places are free.
    pub fn free(&self) -> u32 {
        self.free
    }

    /// How many places are taken.
    pub fn used(&self) -> u32 {
        self.taken.len() as u32 - self.free
    }

    /// Takes the lowest free place.
    pub fn take(&mut self) -> Option<SwapSlot> {
        if self.free == 0 {
            return None;
        }
        while self.taken[self.low as usize] {
            self.low += 1;
        }
        self.taken[self.low as usize] = true;
        self.free -= 1;
        Some(self.low)
    }

    /// Gives a place back.
    pub fn give_back(&mut self, slot: SwapSlot) {
        debug_assert!(self.taken[slot as usize]);
        self.taken[slot as usize] = false;
        self.free += 1;
        self.low = self.low.min(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_lowest_free_place_and_every_place_once() {
        let mut area = SwapArea::new(3);
        assert_eq!([area.take(), area.take(), area.take(), area.take()], [Some(0), Some(1), Some(2), None]);
        area.give_back(2);
        area.give_back(0);
        assert_eq!((area.take(), area.free(), area.used()), (Some(0), 1, 2));
    }
}
