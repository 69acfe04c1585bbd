//! The statistics that the anticipating elevators keep of a task: its mean think time between requests, and the mean
//! distance of these.
//!
//! ```text
//!   samples  =  (7 * samples + 256) / 8            towards 256: 80 are about three requests
//!   total    =  (7 * total + 256 * x) / 8
//!   mean     =  total / samples                    a mean that forgets an eighth at each sample
//! ```

use schedlab_model::{
    Nanos,
    request::{Request, Sector},
};

/// A mean over recent values.
#[derive(Debug, Default, Clone, Copy)]
pub(in crate::elevators) struct Fading {
    samples: u64,
    total: u64,
}

impl Fading {
    pub(in crate::elevators) fn add(&mut self, value: u64) {
        self.samples = (7 * self.samples + 256) / 8;
        self.total = (7 * self.total + 256 * value) / 8;
    }

    /// Whether anything has been added.
    pub(in crate::elevators) fn any(&self) -> bool {
        self.samples > 0
    }

    /// Whether enough has been added to go by.
    pub(in crate::elevators) fn valid(&self) -> bool {
        self.samples > 80
    }

    pub(in crate::elevators) fn mean(&self) -> u64 {
        (self.total + self.samples / 2) / self.samples.max(1)
    }
}

/// How far apart a task's requests are, in sectors.
#[derive(Debug, Default, Clone, Copy)]
pub(in crate::elevators) struct Seeks {
    /// Where its last request ended.
    end: Sector,
    pub(in crate::elevators) distance: Fading,
}

impl Seeks {
    /// Far seeks are cut, more so once there are some samples, so that an odd fragment does not spoil the mean. The
    /// bounds are those of Linux 2.6.20, 1 GiB and 64 MiB beyond four times the mean.
    pub(in crate::elevators) fn add(&mut self, request: &Request) {
        let beyond = if self.distance.samples <= 60 { 2 * 1024 * 1024 } else { 2 * 1024 * 64 };
        let distance = self.end.abs_diff(request.first).min(self.distance.mean() * 4 + beyond);
        self.distance.add(distance);
        self.end = request.end();
    }

    /// Notes a request whose distance is not to be counted.
    pub(in crate::elevators) fn begin(&mut self, request: &Request) {
        self.end = request.end();
    }
}

/// How long a task thinks.
#[derive(Debug, Default, Clone, Copy)]
pub(in crate::elevators) struct Thinking {
    /// When its last request was completed.
    pub(in crate::elevators) since: Nanos,
    pub(in crate::elevators) time: Fading,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_of_equal_values_is_that_value_and_valid_after_three() {
        let mut mean = Fading::default();
        for n in 1..=20 {
            mean.add(8_000_000);
            assert_eq!(mean.valid(), n >= 3);
            assert!(mean.mean().abs_diff(8_000_000) < 800_000, "{n}: {}", mean.mean());
        }
    }
}
