//! The peak rate of the drive, as bfq estimates it from the requests that it gives to it.
//!
//! ```text
//!   rate     =  sectors / time,  over a second of dispatches, or up to a pause of 100 ms
//!   counts   if  32 requests or more in 300 ms or more, and most were sequential or the rate is higher than the estimate
//!   weight   =  9 * sequential / requests * time / 1 s,  at most 8
//!   peak     =  peak * (9 - weight) / (10 - weight)  +  rate / (10 - weight)
//! ```

use schedlab_model::{MILLISECOND, Nanos, SECOND};

/// Rates are in sectors a microsecond, times this.
const SCALE: u64 = 1 << 16;
/// The reference drives of the kernel: rate, and for how long an application that starts there is helped.
const REFERENCE: [(u64, Nanos); 2] = [(33_000, 2_500 * MILLISECOND), (14_000, 7 * SECOND)];
/// However fast or slow the drive, not shorter or longer than this.
const RAISED: [Nanos; 2] = [3 * SECOND, 25 * SECOND];
const INTERVAL: Nanos = SECOND;
const PAUSE: Nanos = 100 * MILLISECOND;
const ENOUGH: (u64, Nanos) = (32, 300 * MILLISECOND);
/// What comes so soon after a completion may have been waiting in the drive.
const SOON: Nanos = 2 * MILLISECOND;

/// The estimate.
#[derive(Debug)]
pub(in crate::elevators) struct Rate {
    peak: u64,
    reference: (u64, Nanos),
    began: Nanos,
    last_dispatch: Nanos,
    last_completion: Nanos,
    requests: u64,
    sequential: u64,
    sectors: u64,
}

impl Rate {
    /// Starts at two thirds of the reference drive's.
    pub(in crate::elevators) fn new(rotational: bool) -> Self {
        let reference = REFERENCE[usize::from(rotational)];
        let peak = reference.0 * 2 / 3;
        let (began, last_dispatch, last_completion) = (0, 0, 0);
        Rate { peak, reference, began, last_dispatch, last_completion, requests: 0, sequential: 0, sectors: 0 }
    }

    /// Sectors in the given time.
    pub(in crate::elevators) fn sectors_in(&self, time: Nanos) -> u64 {
        self.peak * (time / 1000) / SCALE
    }

    /// How long a queue is raised that starts to load something.
    pub(in crate::elevators) fn raised_for(&self) -> Nanos {
        let (rate, time) = self.reference;
        (rate * time / self.peak).clamp(RAISED[0], RAISED[1])
    }

    pub(in crate::elevators) fn dispatched(&mut self, now: Nanos, sectors: u32, seeky: bool, in_drive: u32) {
        if self.requests > 0 && now - self.last_dispatch > PAUSE && in_drive == 0 {
            self.update();
        }
        if self.requests == 0 {
            self.began = now;
        } else if !seeky && (in_drive > 0 || now - self.last_completion < SOON) {
            self.sequential += 1;
        }
        self.requests += 1;
        self.sectors += u64::from(sectors);
        self.last_dispatch = now;
        if now - self.began >= INTERVAL {
            self.update();
        }
    }

    pub(in crate::elevators) fn completed(&mut self, now: Nanos) {
        self.last_completion = now;
    }

    fn update(&mut self) {
        let time = self.last_dispatch.max(self.last_completion) - self.began;
        let (requests, sequential) = (self.requests, self.sequential);
        let rate = self.sectors * SCALE / (time / 1000).max(1);
        (self.requests, self.sequential, self.sectors) = (0, 0, 0);
        let enough = requests >= ENOUGH.0 && time >= ENOUGH.1;
        if !enough || sequential < requests * 3 / 4 && rate <= self.peak {
            return;
        }
        let weight = (9 * sequential / requests * time.min(INTERVAL) / INTERVAL).min(8);
        let divisor = 10 - weight;
        self.peak = (self.peak * (divisor - 1) / divisor + rate / divisor).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_near_the_rate_of_a_drive_that_is_read_without_seeks() {
        let mut rate = Rate::new(true);
        let before = rate.raised_for();
        // 256 sectors a millisecond: 0.256 a microsecond, above the 0.14 that it starts from.
        for n in 0..20_000 {
            rate.dispatched(n * MILLISECOND, 256, false, 1);
            rate.completed((n + 1) * MILLISECOND);
        }
        let in_a_second = rate.sectors_in(SECOND);
        assert!((250_000..=256_500).contains(&in_a_second), "{in_a_second}");
        assert!(rate.raised_for() < before);
    }

    #[test]
    fn seeks_do_not_make_a_drive_slow() {
        let mut rate = Rate::new(true);
        let before = rate.sectors_in(SECOND);
        for n in 0..2000 {
            rate.dispatched(n * 10 * MILLISECOND, 8, true, 1);
        }
        assert_eq!(rate.sectors_in(SECOND), before);
    }
}
