//! The clocks: when they tick.

use schedlab_model::{Nanos, SECOND, rng::Seeded};

/// The time in which there are `millihertz` ticks.
const SPAN: Nanos = 1000 * SECOND;

/// The periodic clock: tick k comes at phase + k / hz, in whole ns and without drift.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    /// Length of a tick, rounded.
    pub tick: Nanos,
    /// A thousand times the ticks per second.
    pub millihertz: u64,
    pub phase: Seeded,
    /// What of a tick is shorter than a ns and has not been counted yet, in parts of which `millihertz` make a ns.
    pub fraction: u64,
    /// The time of the next tick; never, if ticks are not needed.
    pub next: Nanos,
}

impl Clock {
    /// From now on, it ticks.
    pub fn start(&mut self) -> Nanos {
        self.next = self.phase.get();
        self.next
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn advance(&mut self) {
        self.fraction += SPAN - self.tick * self.millihertz;
        let whole = u64::from(self.fraction >= self.millihertz);
        self.fraction -= whole * self.millihertz;
        self.next += self.tick + whole;
    }

    /// Advances by a number of ticks in one step; returns the time of the last of them.
    pub fn pass(&mut self, ticks: u64) -> Option<Nanos> {
        let before = ticks.checked_sub(1)?;
        let fraction = self.fraction + before * (SPAN - self.tick * self.millihertz);
        let last = self.next + before * self.tick + fraction / self.millihertz;
        (self.next, self.fraction) = (last, fraction % self.millihertz);
        self.advance();
        Some(last)
    }

    /// How many ticks come before a time; of a time too far away for 64 bits, some of them.
    ///
    ///   next + k ticks < time    while    k * SPAN < (time - next) * millihertz - fraction
    pub fn ticks_before(&self, time: Nanos) -> u64 {
        let ahead = time.saturating_sub(self.next).saturating_mul(self.millihertz);
        ahead.saturating_sub(self.fraction).div_ceil(SPAN)
    }

    /// As [`Clock::ticks_before`], but at most `most`: where there are more, `time` becomes that of the first one beyond.
    pub fn quiet_before(&self, time: &mut Nanos, most: u64) -> u64 {
        let ticks = self.ticks_before(*time);
        if ticks <= most {
            return ticks;
        }
        let mut clock = self.clone();
        clock.pass(most);
        *time = clock.next;
        most
    }

    /// The times of the next `ticks` ticks.
    pub fn times(&self, ticks: u64) -> impl ExactSizeIterator<Item = Nanos> + Clone + use<> {
        let mut clock = self.clone();
        (0..ticks as usize).map(move |_| {
            let time = clock.next;
            clock.advance();
            time
        })
    }

    /// The length of a number of ticks, in ns.
    fn length_of(&self, ticks: u64) -> Nanos {
        (u128::from(ticks) * u128::from(SPAN) / u128::from(self.millihertz)) as Nanos
    }

    /// The first tick at or after a time.
    pub fn tick_from(&self, time: Nanos) -> Nanos {
        let phase = self.phase.get();
        let Some(since) = time.checked_sub(phase) else { return phase };
        let ticks = (u128::from(since) * u128::from(self.millihertz) / u128::from(SPAN)) as u64;
        let before = self.length_of(ticks);
        phase.saturating_add(if before == since { before } else { self.length_of(ticks + 1) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn ticks_do_not_drift_at_rates_that_divide_no_second() {
        for millihertz in [1, 7, 18_207, 60_000, 99_999, 1_024_000, 1_193_182_000, 999_999_999] {
            let mut clock =
                Clock { tick: SPAN / millihertz, millihertz, phase: Seeded::fixed(5), fraction: 0, next: 5 };
            for count in 1..3000 {
                clock.advance();
                assert_eq!(clock.next, 5 + clock.length_of(count), "tick {count} of {millihertz}");
            }
        }
    }

    #[test]
    fn ticks_that_are_passed_over_are_those_that_would_have_come() {
        for millihertz in [1_000, 60_000, 127_000, 999_999, 1_024_000, 10_000_000] {
            let mut clock =
                Clock { tick: SPAN / millihertz, millihertz, phase: Seeded::fixed(5), fraction: 0, next: 5 };
            for most in [0, 1, 2, 7, 1000] {
                let (mut all, mut passed) = (clock.clone(), clock.clone());
                let times: Vec<_> = clock.times(most).collect();
                (0..most).for_each(|_| all.advance());
                assert_eq!(passed.pass(most), times.last().copied());
                assert_eq!((passed.next, passed.fraction), (all.next, all.fraction));
                for (before, &time) in (0..).zip(&times) {
                    assert_eq!([0, 1].map(|later| clock.ticks_before(time + later)), [before, before + 1]);
                }
                let mut until = all.next + 1;
                assert_eq!((clock.quiet_before(&mut until, most), until), (most, all.next));
                clock.advance();
            }
        }
    }
}
