//! Events into numbers: one definition of every metric, for the simulator, foreign traces and recordings of a live host.
//!
//! A [`Collector`] listens to a run and keeps sums and histograms, never the events. [`METRICS`] is the table of what
//! can be asked of it; the names that people write, the lists, the checks and the rows of a [`Report`] derive from it.

mod collector;
mod distribution;
mod fairness;
mod histogram;
mod jain;
mod job;
mod load;
mod processor;
mod report;
mod storage;
mod summary;
mod table;
mod warnings;
mod wasted;

pub use collector::{Collector, Setup};
pub use distribution::Distribution;
pub use histogram::{CLASSES, Histogram, class_of};
pub use jain::Jain;
pub use job::{bounded_slowdown, slowdown};
pub use processor::Totals;
pub use report::{Report, Row, Warning};
pub use table::{METRICS, find};
