//! Which random numbers a job's tasks draw: the same ones wherever the tasks run, simulated or real.

use schedlab_model::{Nanos, program::Span, rng::Rng};

/// Owner of the stream of a job's start times, counted downwards by job; tasks own streams by their job's name.
const START_STREAM: u64 = u64::MAX - 2;

/// The numbers of a job's task: the same ones whatever other jobs there are.
pub fn of_task(seed: u64, job: &str, copy: u32) -> Rng {
    Rng::stream(seed, stream_of(job) ^ u64::from(copy))
}

/// The numbers for which a pool serves a request, counted from 0: the same ones whichever task serves it, and those of the task of
/// that number in a job with a task for each request.
pub fn of_request(seed: u64, job: &str, request: u32) -> Rng {
    of_task(seed, job, request)
}

/// The numbers of the arrivals of a job's requests.
pub fn of_arrivals(seed: u64, job: &str) -> Rng {
    Rng::stream(seed, stream_of(job) ^ u64::from(u32::MAX))
}

/// The numbers of the start times of the job with that index.
pub fn of_starts(seed: u64, index: usize) -> Rng {
    Rng::stream(seed, START_STREAM - index as u64)
}

/// The numbers of a child. Its parent names them: they must not depend on which parent forks first.
pub fn of_child(seed: u64, parent: &mut Rng) -> Rng {
    parent.child(seed)
}

/// A length of time from its distribution.
#[inline(always)]
pub fn draw(span: Span, rng: &mut Rng) -> Nanos {
    match span {
        Span::Fixed(length) => length.0,
        Span::Exp { exp } => rng.exponential(exp.0),
        Span::Uniform { uniform: [low, high] } => low.0 + rng.below(high.0 - low.0 + 1),
    }
}

/// A number of its own for each name of a job.
fn stream_of(name: &str) -> u64 {
    // FNV-1a, 64 bits; the low half is left to number the tasks.
    let hash = name
        .bytes()
        .fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3));
    hash << 32
}
