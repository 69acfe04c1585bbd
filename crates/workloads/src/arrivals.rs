//! When the requests of an open load arrive: the same times wherever it runs, simulated or real.

use crate::draws::{draw, of_arrivals, of_starts};
use schedlab_model::{
    Nanos, SECOND,
    program::Span,
    rng::Rng,
    scenario::{Arrivals, Bursts, Job},
    units::Duration,
};

/// The times at which the requests of a job arrive, ns after the start of the run, in order.
#[derive(Debug, Clone)]
pub struct ArrivalTimes {
    law: Law,
    rng: Rng,
    /// Time of the last arrival; at first, the job's start.
    last: Nanos,
    /// Requests so far.
    done: u64,
    /// Requests in all, if there is an end.
    requests: Option<u64>,
}

#[derive(Debug, Clone)]
enum Law {
    /// `size` requests at once, `every` after those before them.
    Bursts {
        size: u64,
        every: Span,
    },
    Recorded {
        start: Nanos,
        times: Vec<Duration>,
    },
}

impl ArrivalTimes {
    /// Those of the job with that name and index, if it is a pool.
    pub fn of(seed: u64, index: usize, name: &str, job: &Job) -> Option<ArrivalTimes> {
        let start = job.start.map_or(0, |span| draw(span, &mut of_starts(seed, index)));
        let one = |every| Law::Bursts { size: 1, every };
        let law = match job.arrivals.clone()? {
            // Gaps of a Poisson process are exponential; their mean is whole nanoseconds.
            Arrivals::Poisson(rate) => {
                one(Span::Exp { exp: Duration(((SECOND as f64 / rate.0).round() as Nanos).max(1)) })
            }
            Arrivals::Every(gap) => one(gap),
            Arrivals::Bursts(Bursts { size, every }) => Law::Bursts { size: size.into(), every },
            Arrivals::Recorded(times) => Law::Recorded { start, times },
        };
        let requests = match &law {
            Law::Recorded { times, .. } => Some(times.len() as u64),
            Law::Bursts { .. } => job.requests.map(u64::from),
        };
        Some(ArrivalTimes { law, rng: of_arrivals(seed, name), last: start, done: 0, requests })
    }
}

impl Iterator for ArrivalTimes {
    type Item = Nanos;

    fn next(&mut self) -> Option<Nanos> {
        if self.requests.is_some_and(|requests| self.done >= requests) {
            return None;
        }
        match &self.law {
            Law::Bursts { size, every } if self.done.is_multiple_of(*size) => {
                self.last = self.last.saturating_add(draw(*every, &mut self.rng));
            }
            Law::Bursts { .. } => {}
            Law::Recorded { start, times } => self.last = start.saturating_add(times[self.done as usize].0),
        }
        self.done += 1;
        Some(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(arrivals: &str, seed: u64) -> ArrivalTimes {
        let job: Job = toml::from_str(&format!("steps = []\nstart = '5ns'\n{arrivals}")).unwrap();
        ArrivalTimes::of(seed, 0, "pool", &job).unwrap()
    }

    #[test]
    fn requests_arrive_as_written_from_the_start_of_the_job_on() {
        let every = times("arrivals = { every = '10ns' }", 1);
        assert_eq!(every.take(3).collect::<Vec<_>>(), [15, 25, 35]);
        let bursts = times("arrivals = { bursts = { size = 2, every = '10ns' } }\nrequests = 5", 1);
        assert_eq!(bursts.collect::<Vec<_>>(), [15, 15, 25, 25, 35]);
        let recorded = times("arrivals = { recorded = ['1ns', '1ns', '7ns'] }", 1);
        assert_eq!(recorded.collect::<Vec<_>>(), [6, 6, 12]);
    }

    /// Of 100,000 arrivals, the mean gap and its coefficient of variation (1 for a Poisson process) are known to 0.3 %; five times
    /// that is allowed.
    #[test]
    fn poisson_arrivals_have_the_rate_and_the_variation_of_a_poisson_process() {
        let all: Vec<Nanos> = times("arrivals = { poisson = '1200/s' }", 7).take(100_001).collect();
        let gaps: Vec<f64> = all.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e9).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean * 1200.0 - 1.0).abs() < 0.016, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.016, "{}", variance.sqrt() / mean);
        assert_ne!(times("arrivals = { poisson = '1200/s' }", 8).next(), Some(all[0]));
    }

    #[test]
    fn a_job_without_arrivals_has_none() {
        let job: Job = toml::from_str("load = 'spin'").unwrap();
        assert!(ArrivalTimes::of(1, 0, "spin", &job).is_none());
    }
}
