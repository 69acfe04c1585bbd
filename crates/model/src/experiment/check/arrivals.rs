//! Rules of open loads: when requests arrive, and how many.

use super::{LONGEST, between, bounded, jobs::span, lasting};
use crate::{
    experiment::{path::Path, problem::Fault},
    program::{Span, Times},
    scenario::{Arrivals, Job, Scenario},
    units::{Duration, spell_rate},
};

/// Most requests a second.
const MOST_ARRIVALS: f64 = 1e9;
/// Most times that are written out, and most requests of a burst.
pub(crate) const MOST_RECORDED: usize = 1_000_000;

/// Checks the requests of all jobs.
pub(super) fn check(scenario: &Scenario) -> Result<(), Fault> {
    let all = Path::top("workload");
    scenario.workload.iter().try_for_each(|(title, job)| requests(&all.key(title), job))
}

/// The requests of a job, if it is a pool.
fn requests(at: &Path, job: &Job) -> Result<(), Fault> {
    let Some(arrivals) = &job.arrivals else {
        return match job.requests {
            Some(_) => Err(Fault::new(at.key("requests"), "is for a job with arrivals; give when they arrive")),
            None => Ok(()),
        };
    };
    if job.passes != Times::Count(1) {
        return Err(Fault::new(at.key("passes"), "is not for a job with arrivals: it makes one pass for each request"));
    }
    job.requests.map_or(Ok(()), |requests| between(|| at.key("requests"), requests.into(), 1, u32::MAX.into()))?;
    let at_arrivals = at.key("arrivals");
    match arrivals {
        Arrivals::Poisson(rate) if !(rate.0 > 0.0 && rate.0 <= MOST_ARRIVALS) => {
            let reason = format!("{} is out of range: more than 0/s, up to {MOST_ARRIVALS}/s", spell_rate(rate.0));
            Err(Fault::new(at_arrivals.key("poisson"), reason))
        }
        Arrivals::Poisson(_) => Ok(()),
        Arrivals::Every(gap) => lasting_span(&at_arrivals.key("every"), *gap),
        Arrivals::Bursts(bursts) => {
            let at = at_arrivals.key("bursts");
            between(|| at.key("size"), bursts.size.into(), 1, MOST_RECORDED as u64)?;
            lasting_span(&at.key("every"), bursts.every)
        }
        Arrivals::Recorded(times) => recorded(&at_arrivals.key("recorded"), times, job),
    }
}

/// A time that passes between two arrivals.
fn lasting_span(at: &Path, length: Span) -> Result<(), Fault> {
    span(at, length)?;
    let longest = match length {
        Span::Fixed(length) => length,
        Span::Exp { exp } => exp,
        Span::Uniform { uniform } => uniform[1],
    };
    lasting(at, longest)
}

fn recorded(at: &Path, times: &[Duration], job: &Job) -> Result<(), Fault> {
    if job.requests.is_some() {
        return Err(Fault::new(at.clone(), "has as many requests as there are times: leave out requests"));
    }
    between(|| at.clone(), times.len() as u64, 1, MOST_RECORDED as u64)
        .map_err(|fault| Fault::new(fault.at, format!("{} times: from 1 to {MOST_RECORDED}", times.len())))?;
    times.iter().enumerate().try_for_each(|(i, time)| bounded(&at.index(i), *time, LONGEST))?;
    match times.windows(2).position(|pair| pair[0] > pair[1]) {
        Some(i) => Err(Fault::new(at.index(i + 1), "is earlier than the one before: write the times in order")),
        None => Ok(()),
    }
}
