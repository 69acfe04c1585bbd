//! Policies of textbooks and papers: shares, deadlines, priorities.

mod edf;
mod fifo;
mod lottery;
mod mlfq;
mod rate_monotonic;
mod refresh_cycle;
mod round_robin;
mod srtf;
mod stride;

pub use edf::Edf;
pub use fifo::Fifo;
pub use lottery::Lottery;
pub use mlfq::Mlfq;
pub use rate_monotonic::RateMonotonic;
pub use refresh_cycle::RefreshCycle;
pub use round_robin::RoundRobin;
pub use srtf::Srtf;
pub use stride::Stride;
