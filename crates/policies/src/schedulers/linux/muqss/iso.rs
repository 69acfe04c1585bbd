//! SCHED_ISO: real time without privilege, up to a share of the processor.

/// iso_cpu: percent of the processor that real-time tasks and these may use together before these become ordinary ones.
const ISO_CPU: u64 = 70;
/// They are real-time again below this percentage: ten percent less, as the kernel computes it.
const RECOVERED: u64 = ISO_CPU * 115 / 128;
/// The time over which the use is averaged, s.
const PERIOD: u64 = 5;

/// The use of a processor, or of all of them, by real-time tasks.
#[derive(Debug, Clone)]
pub struct Limit {
    /// Ticks of a period.
    period: u64,
    /// A hundred for each tick of use, less what is forgotten.
    ticks: u64,
    /// MuQSS forgets while there is use, too; BFS only while there is none.
    rolling: bool,
    /// More was used than is allowed, and not enough of it is forgotten yet.
    pub refractory: bool,
}

impl Limit {
    /// For a clock of the given ticks a second that the given number of processors count.
    pub fn new(hz: u64, processors: u64, rolling: bool) -> Limit {
        Limit { period: PERIOD * hz * processors + u64::from(!rolling), ticks: 0, rolling, refractory: false }
    }

    /// A tick that found a real-time task, or not.
    pub fn tick(&mut self, real_time: bool) {
        // Most often there is nothing to forget.
        if !real_time && self.ticks == 0 && !self.refractory {
            return;
        }
        if self.rolling {
            self.ticks = self.ticks * (self.period - 1) / self.period;
        } else if !real_time {
            self.ticks = self.ticks.saturating_sub(self.ticks / self.period + 1);
        }
        if real_time {
            self.ticks = (self.ticks + 100).min(self.period * 100);
        }
        self.refractory = match self.refractory {
            true => self.ticks >= self.period * RECOVERED,
            false => self.ticks > self.period * ISO_CPU,
        };
    }

    /// As many ticks that found no real-time task, until all is forgotten.
    pub fn rest(&mut self, ticks: u64) {
        let mut left = ticks;
        while left > 0 && (self.ticks > 0 || self.refractory) {
            self.tick(false);
            left -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds until a limit changes its mind.
    fn seconds(limit: &mut Limit, real_time: bool) -> f64 {
        let before = limit.refractory;
        let ticks = (1..20_000).find(|_| {
            limit.tick(real_time);
            limit.refractory != before
        });
        f64::from(ticks.expect("it changes")) / 1000.0
    }

    #[test]
    fn a_limit_is_reached_and_forgotten_in_seconds() {
        let mut bfs = Limit::new(1000, 1, false);
        assert_eq!(seconds(&mut bfs, true), 3.501);
        let mut muqss = Limit::new(1000, 1, true);
        // The average of constant use approaches it exponentially, and whole numbers hold it back a little.
        let (reached, forgotten) = (5.0 * -(1.0f64 - 0.7).ln(), 5.0 * (70.0f64 / 62.0).ln());
        let (up, down) = (seconds(&mut muqss, true), seconds(&mut muqss, false));
        assert!((up - reached).abs() < 0.15 && (down - forgotten).abs() < 0.02, "{up} {down}");
    }
}
