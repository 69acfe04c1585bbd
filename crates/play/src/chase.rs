//! Work that uses memory: a walk from line to line of a footprint, each line naming the next, in an order that no processor
//! foresees. Alone, with the footprint in the cache, it takes the asked time; after others have run it takes what loading the
//! footprint again costs, which is what short slices cost.
//!
//! ```text
//!   steps  =  asked time * pace        pace = the median of MEASUREMENTS measured walks, by the thread's own clock
//! ```
//!
//! The pace is measured for each job on its first processor before any task exists, over a footprint that has just been gone
//! through: tasks that did it themselves would disturb each other. A footprint larger than the cache has the pace of the
//! memory, and so costs the same under every slice.

use crate::work::{CHUNK_NS, GapDetector};
use schedlab_linux::{Fault, clock::thread_time, mapping::Mapping, sched};
use schedlab_model::{rng::Rng, scenario::Job};
use std::io;

/// Bytes of a line of the processor's cache: on every processor that Linux's 64-bit kernels run on, nearly.
const LINE: usize = 64;
/// Footprints are numbered in 32 bits; no cache is this large.
const MOST: usize = 1 << 30;
/// Walks that are measured, and how long each takes, ns.
const MEASUREMENTS: usize = 25;
const LENGTH_NS: f64 = 4e6;
/// Lines in a nanosecond, for the first walk.
const GUESS: f64 = 0.2;

/// How fast a footprint is gone through.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Bytes.
    footprint: usize,
    /// Lines a nanosecond.
    steps_per_ns: f64,
}

/// A footprint, and where its walk is.
#[derive(Debug)]
pub(crate) struct Chase {
    memory: Mapping,
    at: usize,
    pace: Pace,
}

impl Chase {
    /// The pace of a job's footprint on the first of those processors; none for a job without one.
    pub fn rate_of(job: &Job, processors: &[u16]) -> Result<Option<Pace>, Fault> {
        let Some(footprint) = job.footprint else { return Ok(None) };
        let fault = |doing: String| move |why| Fault::Call { doing, why };
        let before = sched::allowed();
        sched::pin(&processors[..1]).map_err(fault(format!("moving to processor {}", processors[0])))?;
        let guess = Pace { footprint: (footprint.0 as usize).min(MOST), steps_per_ns: GUESS };
        let measured = Chase::new(guess).map(|mut chase| chase.measure());
        sched::pin(&before).map_err(fault("moving back to all processors".to_owned()))?;
        measured.map(Some).map_err(fault(format!("getting a footprint of {} bytes", footprint.0)))
    }

    /// A footprint whose lines form one circle, in the same order each time.
    pub fn new(pace: Pace) -> io::Result<Chase> {
        let lines = (pace.footprint / LINE).max(1);
        let memory = Mapping::own(lines * LINE)?;
        // Sattolo's shuffle makes one circle of all.
        let (mut next, mut rng): (Vec<u32>, _) = ((0..lines as u32).collect(), Rng::stream(1, lines as u64));
        for last in (1..lines).rev() {
            next.swap(last, rng.below(last as u64) as usize);
        }
        for (line, &next) in next.iter().enumerate() {
            memory.put(line * LINE, next);
        }
        Ok(Chase { memory, at: 0, pace })
    }

    fn measure(&mut self) -> Pace {
        let mut paces = Vec::with_capacity(MEASUREMENTS);
        let mut steps_per_ns = self.pace.steps_per_ns;
        // Once around brings it into the cache.
        self.walk((self.pace.footprint / LINE) as u64);
        for _ in 0..MEASUREMENTS {
            let (steps, before) = ((LENGTH_NS * steps_per_ns) as u64 + 1, thread_time());
            self.walk(steps);
            steps_per_ns = steps as f64 / (thread_time() - before).max(1) as f64;
            paces.push(steps_per_ns);
        }
        paces.sort_by(f64::total_cmp);
        Pace { steps_per_ns: paces[paces.len() / 2], ..self.pace }
    }

    /// Runs for that nominal time, ns, reading the clock regularly.
    pub fn follow(&mut self, length: u64, gaps: &mut GapDetector<'_>) {
        let chunk = ((CHUNK_NS as f64 * self.pace.steps_per_ns) as u64).max(1);
        let mut left = (length as f64 * self.pace.steps_per_ns).round() as u64;
        while left > 0 {
            let steps = left.min(chunk);
            self.walk(steps);
            left -= steps;
            gaps.look((steps as f64 / self.pace.steps_per_ns) as u64);
        }
    }

    /// Each step needs the one before.
    #[inline(never)]
    fn walk(&mut self, steps: u64) {
        let mut at = self.at;
        for _ in 0..steps {
            at = self.memory.get(at * LINE) as usize;
        }
        self.at = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_comes_to_every_line_before_it_comes_back() {
        let lines = 1000;
        let mut chase = Chase::new(Pace { footprint: lines * LINE, steps_per_ns: 1.0 }).unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..lines {
            chase.walk(1);
            seen.insert(chase.at);
        }
        assert_eq!((seen.len(), chase.at), (lines, 0));
    }
}
