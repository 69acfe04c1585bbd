//! The nouns of the lab: time, tasks, machines, programs, events, scenarios. Data only: no behaviour of a
//! kernel and no input or output. Every other crate depends on this one.

pub mod attention;
pub mod event;
pub mod experiment;
pub mod info;
pub mod machine;
pub mod names;
pub mod nice;
pub mod page;
pub mod processors;
pub mod program;
pub mod real;
pub mod replay;
pub mod request;
pub mod rng;
pub mod scenario;
pub mod task;
pub mod topology;
pub mod units;

/// A point in time or a length of time, in whole nanoseconds. Time is never a float.
pub type Nanos = u64;
/// One microsecond in [`Nanos`].
pub const MICROSECOND: Nanos = 1_000;
/// One millisecond in [`Nanos`].
pub const MILLISECOND: Nanos = 1_000_000;
/// One second in [`Nanos`].
pub const SECOND: Nanos = 1_000_000_000;
